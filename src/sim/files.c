/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - node_files.txt, which says what its lines mean, carried out
 *
 * The text is part of the program (muster_sim_node_files, which CMake makes of the file). muster_sim_files_make() goes
 * through all of it for each thing: a line "[...]" says whether the lines after it are wanted, a line that begins with
 * '@' is one of the log, and any other one is a file, a folder or a link. Lines that begin with a tab belong to the
 * file before them. A file is never written twice: fopen() with 'x' fails where two lines have one path.
 */
#include "sim/files.h"

#include "node_files.h" /* made by CMake from node_files.txt */
#include "util/array.h"
#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Note the first failure, of a system call: errno is the reason. */
static void fail(struct muster_sim_files *f, const char *what, const char *path)
{
	if (!f->failed)
		muster_fail(f->err, MUSTER_EIO, "%s %s: %s", what, path, strerror(errno));
	f->failed = true;
}

void muster_sim_files_refuse(struct muster_sim_files *f, const char *what, const char *text, const char *why)
{
	if (!f->failed)
		muster_fail(f->err, MUSTER_EUSAGE, "%s \"%s\": %s", what, text, why);
	f->failed = true;
}

/* -- names -- */

/* A field as text; NULL: an array, or of a type that has none. */
static const char *field_text(const struct muster_field *field, const void *object, char buffer[64])
{
	const void *at = (const char *)object + field->offset;
	if (field->many)
		return NULL;
	switch (field->type) {
	case MUSTER_FIELD_TEXT: return *(const char *const *)at;
	case MUSTER_FIELD_BOOLEAN: return *(const bool *)at ? "1" : "0";
	case MUSTER_FIELD_INT: snprintf(buffer, 64, "%d", *(const int *)at); return buffer;
	case MUSTER_FIELD_NUMBER: snprintf(buffer, 64, "%.0f", *(const double *)at); return buffer;
	default: return NULL;
	}
}

/* The text of a name, from the innermost scope that has it; buffer is used for numbers. NULL: there is no such name. */
static const char *find(const struct muster_sim_scope *scope, const char *name, char buffer[64])
{
	for (; scope; scope = scope->around) {
		for (size_t i = 0; scope->names && scope->names[i][0]; i++)
			if (strcmp(scope->names[i][0], name) == 0)
				return scope->names[i][1];
		for (size_t i = 0; scope->type && i < scope->type->count; i++)
			if (strcmp(scope->type->fields[i].key, name) == 0)
				return field_text(&scope->type->fields[i], scope->object, buffer);
		if (strcmp(name, "index") == 0) {
			snprintf(buffer, 64, "%zu", scope->index);
			return buffer;
		}
	}
	return NULL;
}

/* Print the text from `from` to `to`, where ${NAME} becomes what the name is. ${NAME:WIDTH} is filled up with blanks in
 * front of it, or behind it when WIDTH is negative, as "%*s" of printf does it. */
static void expand(
	struct muster_sim_files *f, const struct muster_sim_scope *scope, const char *from, const char *to, FILE *out)
{
	for (const char *at = from, *dollar; at < to; at = dollar) {
		char name[64] = "", buffer[64];
		int length = 0, width = 0;
		dollar = memchr(at, '$', (size_t)(to - at));
		fwrite(at, 1, (size_t)((dollar ? dollar : to) - at), out);
		if (!dollar)
			return;
		sscanf(dollar, "${%63[a-z0-9_]%n:%d%n", name, &length, &width, &length);
		const char *text = find(scope, name, buffer);
		if (!text)
			muster_sim_files_refuse(f, "node_files.txt", name, "there is no such name");
		else
			fprintf(out, "%*s", width, text);
		dollar += length + 1; /* behind the brace */
	}
}

/* The same as a text in the arena. */
static const char *expanded(
	struct muster_sim_files *f, const struct muster_sim_scope *scope, const char *from, const char *to)
{
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	expand(f, scope, from, to, out);
	muster_memory_close(out);
	const char *kept = muster_arena_string_n(f->arena, text, length);
	free(text);
	return kept;
}

/* -- files -- */

/* Make the folder that a file at path is in, and those above it. Path from the root. The files of a thing mostly are in
 * one folder, so the last one is remembered, and one mkdir() is tried before those of all folders above.
 */
static void make_folders(struct muster_sim_files *f, const char *path)
{
	char folder[sizeof f->folder];
	int length = snprintf(folder, sizeof folder, "%s/%.*s/", f->root, (int)(strrchr(path, '/') - path), path);
	if (f->failed || strcmp(folder, f->folder) == 0)
		return;
	if (length < 0 || (size_t)length >= sizeof folder) {
		errno = ENAMETOOLONG;
		fail(f, "mkdir", path);
		return;
	}
	memcpy(f->folder, folder, sizeof folder);
	if (mkdir(folder, 0777) == 0 || errno == EEXIST)
		return;
	for (char *end = folder + strlen(f->root); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		if (mkdir(folder, 0777) < 0 && errno != EEXIST)
			fail(f, "mkdir", folder);
		*end = '/';
	}
}

/* The path on this machine, in the arena; its folder is made. */
static const char *whole(struct muster_sim_files *f, const char *path)
{
	if (strchr(path, '/'))
		make_folders(f, path);
	return muster_arena_printf(f->arena, "%s/%s", f->root, path);
}

FILE *muster_sim_files_start(struct muster_sim_files *f, const char *path)
{
	const char *file = whole(f, path);
	FILE *out = f->failed ? NULL : fopen(file, "wx");
	if (!out && !f->failed)
		fail(f, "create", file);
	return out;
}

void muster_sim_files_finish(struct muster_sim_files *f, const char *path, FILE *out)
{
	bool bad = out && ferror(out);
	if (out && (fclose(out) != 0 || bad))
		fail(f, "write", path);
}

void muster_sim_files_log(struct muster_sim_files *f, double seconds, const char *text)
{
	struct muster_sim_log_line line = { seconds, f->log_count, text };
	MUSTER_ARRAY_PUSH(f->log, f->log_count, f->log_room, line);
}

/* -- lines of node_files.txt -- */

/* Where the word is in the line, which ends at `end`; NULL: nowhere. */
static const char *find_word(const char *line, const char *end, const char *word)
{
	return memmem(line, (size_t)(end - line), word, strlen(word));
}

/* The lines below "PATH <<", each without the tab at its beginning. */
static void put_lines(struct muster_sim_files *f, const struct muster_sim_scope *scope, const char *line, FILE *out)
{
	for (const char *end; *line == '\t'; line = end + 1) {
		end = strchr(line, '\n');
		expand(f, scope, line + 1, end + 1, out);
	}
}

/* "@SECONDS TEXT", or "@SECONDS+STEP TEXT", where a thing with index i comes i steps later. */
static void put_log(struct muster_sim_files *f, const struct muster_sim_scope *scope, const char *line, const char *end)
{
	char *at;
	double seconds = strtod(line + 1, &at);
	if (*at == '+')
		seconds += strtod(at, &at) * (double)scope->index;
	muster_sim_files_log(f, seconds, expanded(f, scope, at + 1, end));
}

/* Make the file, folder or link of one line. A path of the list `missing` (which device-missing and
 * module-missing add to) is not made, nor is what lies below it. */
static void put(struct muster_sim_files *f, const struct muster_sim_scope *scope, const char *line, const char *end)
{
	const char *text = find_word(line, end, " = "), *link = find_word(line, end, " -> ");
	const char *lines = find_word(line, end, " <<");
	const char *path = expanded(f, scope, line, text ? text : link ? link : lines ? lines : end);
	for (size_t i = 0; i < f->missing_count; i++)
		if (muster_path_is_below(path, f->missing[i] + 1)) /* without the / in front */
			return;
	const char *file = whole(f, path);
	if (f->failed || file[strlen(file) - 1] == '/')
		return;
	if (link) {
		if (symlink(expanded(f, scope, link + strlen(" -> "), end), file) < 0)
			fail(f, "link", file);
		return;
	}
	FILE *out = muster_sim_files_start(f, path);
	if (out && text)
		expand(f, scope, text + strlen(" = "), end + 1, out);
	else if (out && lines)
		put_lines(f, scope, end + 1, out);
	muster_sim_files_finish(f, path, out);
}

/* Whether the line, [THING], [THING NAME] or [THING !NAME], is for this thing. A NAME that is "" or "0" counts as
 * having no value. */
static bool is_wanted(
	struct muster_sim_files *f, const struct muster_sim_scope *scope, const char *thing, const char *line)
{
	char name[64] = "", buffer[64];
	size_t length = strlen(thing);
	if (strncmp(line + 1, thing, length) != 0)
		return false;
	if (line[length + 1] == ']')
		return true;
	bool without = line[length + 1] == ' ' && line[length + 2] == '!';
	if (line[length + 1] != ' ' || sscanf(line + length + 2 + without, "%63[a-z0-9_]]", name) != 1)
		return false;
	const char *text = find(scope, name, buffer);
	if (!text)
		muster_sim_files_refuse(f, "node_files.txt", name, "there is no such name");
	return text && (*text && strcmp(text, "0") != 0) != without;
}

void muster_sim_files_make(struct muster_sim_files *f, const char *thing, const struct muster_sim_scope *scope)
{
	bool wanted = false;
	for (const char *line = muster_sim_node_files, *end; *line && !f->failed; line = end + 1) {
		end = strchr(line, '\n');
		if (*line == '[')
			wanted = is_wanted(f, scope, thing, line);
		else if (wanted && *line == '@')
			put_log(f, scope, line, end);
		else if (wanted && !strchr("\n\t#", *line))
			put(f, scope, line, end);
	}
}

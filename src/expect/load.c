/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - expectation files: found, read, merged
 *
 * A file's parents come first, then the file, then the overlay: each a merge patch (RFC 7386) on what is there. What a
 * patch wants to remove must be there, or a mistyped name would silently remove nothing.
 *
 * The way of a file, with `--sku Standard_ND96asr_v4 --overlay site.json`:
 *   find_file     the name is a file of the configuration folder, or a vmSize that one of these files identifies
 *   read_chain    that file, then what it extends, then what this one extends: events.json is read last, and is on top
 *                 of the stack of layers, which therefore grows downwards
 *   read_layer    the overlay, behind the file
 *   merge_layers  {} <- events.json <- common.json <- family-azure.json <- family-nd.json <- ...
 *                 <- Standard_ND96asr_v4.json <- site.json
 *   parse.c       the merged tree becomes checks. The layers stay until then: a problem names the file that said the
 *                 value last, and a check remembers which file changed which of its keys
 *
 * Afterwards trees and layers are freed. All that a struct muster_expect points to is in its arena, regular expressions
 * apart, which muster_expect_done frees.
 */
#include "expect/parse.h"
#include "muster/probe.h"
#include "util/file.h"
#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CHAIN_MAX 8                /* a file and its parents */
#define LAYERS_MAX (CHAIN_MAX + 1) /* and the overlay */
#define MEMBERS_MAX 1024           /* of one object or array */
#define TEXT_BYTES_MAX 4096        /* of one key or string */

/* The files of one loading: parents first, then the file, then the overlay. Parents are read after the file, so the
 * stack grows downwards. */
struct stack {
	struct muster_layer layers[LAYERS_MAX];
	size_t first, end;
	struct muster_problems *problems; /* NULL: the first one ends the reading */
};
#define STACK_EMPTY .first = CHAIN_MAX, .end = CHAIN_MAX

static void free_stack(struct stack *stack)
{
	for (size_t i = stack->first; i < stack->end; i++) {
		free(stack->layers[i].path);
		muster_json_free(stack->layers[i].json);
	}
}

/* "site.json < a.json < b.json": the layer before `end`, and those that it is laid over. The arena's. */
static const char *chain_text(const struct stack *stack, size_t end, struct muster_arena *arena)
{
	const char *text = stack->layers[end - 1].path;
	for (size_t i = end - 1; i-- > stack->first;)
		text = muster_arena_printf(arena, "%s < %s", text, stack->layers[i].path);
	return muster_arena_string(arena, text);
}

/* Limits of a file: within them, reading, merging and printing problems needs little time and memory for every
 * content. Goes through the whole tree, and is its own reader for the members. `none` is not used. */
static int check_sizes(struct muster_json_reader *r, void *none, const struct muster_json *json)
{
	enum muster_json_type type = muster_json_type(json);
	if (type == MUSTER_JSON_STRING && muster_utf8_has_control(muster_json_string(json)))
		return muster_json_reader_fail(r, "a control character");
	if (type != MUSTER_JSON_ARRAY && type != MUSTER_JSON_OBJECT)
		return muster_json_need(r, json, MUSTER_JSON_SCALAR);
	if (muster_json_size(json) > MEMBERS_MAX)
		return muster_json_reader_fail(r, "more than %d members", MEMBERS_MAX);
	for (const struct muster_json *m = muster_json_first(json); m && type == MUSTER_JSON_OBJECT;
		m = muster_json_next(m))
		if (strlen(muster_json_key(m)) > TEXT_BYTES_MAX)
			return muster_json_reader_fail(r, "a key of more than %d bytes", TEXT_BYTES_MAX);
		else if (muster_utf8_has_control(muster_json_key(m)))
			return muster_json_reader_fail(r, "a control character in a key");
	return muster_json_each_read(r, json, check_sizes, none, 0);
}

/* What each file must say for itself, whatever it inherits. An overlay may leave it out, but not say anything else. */
static int check_layer(struct muster_json_reader *r, const struct muster_layer *layer)
{
	if (muster_json_need(r, layer->json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0)
		return -1;
	const struct muster_json *version = muster_json_member(layer->json, "schema_version");
	const struct muster_json *name = muster_json_member(layer->json, "name");
	const struct {
		bool wrong;
		const char *key, *text;
	} problems[] = {
		{ !version && !layer->overlay, "schema_version", "missing, this muster reads version 1" },
		{ name ? muster_json_type(name) == MUSTER_JSON_NULL : !layer->overlay, "name",
			"missing, each file needs its own name" },
		{ layer->overlay && muster_json_member(layer->json, "extends"), "extends",
			"not allowed in an overlay, which is applied to the file of the machine type" },
	};
	if (version && (muster_json_type(version) != MUSTER_JSON_NUMBER || muster_json_number(version) < 1 ||
			       muster_json_number(version) > 1))
		return muster_json_reader_fail_member(r, "schema_version", "this muster reads version 1 only");
	for (size_t i = 0; i < PARSE_COUNT(problems); i++) {
		if (!problems[i].wrong)
			continue;
		muster_json_reader_say_member(r, problems[i].key, "%s", problems[i].text);
		if (muster_json_reader_go_on(r) < 0)
			return -1;
	}
	return 0;
}

int muster_layer_read(const char *path, struct muster_json **ret, struct muster_error *err)
{
	if (muster_json_parse_file(path, MUSTER_EXPECT_BYTES_MAX, ret, err) == 0)
		return 0;
	err->code = MUSTER_EUSAGE;
	return -1;
}

/* Read one file and put it on the stack: an overlay at the end, any other file below its child. The file stays on the
 * stack, for free_stack, when it is refused after it was parsed. */
static int read_layer(struct stack *stack, const char *path, bool overlay, struct muster_error *err)
{
	struct muster_layer layer = { .overlay = overlay };
	if (muster_layer_read(path, &layer.json, err) < 0)
		return -1;
	layer.path = muster_strdup(path);
	stack->layers[overlay ? stack->end++ : --stack->first] = layer;
	struct muster_expect_parser p = muster_expect_parser_make(&layer, 1, NULL, NULL, err);
	p.json.text_max = TEXT_BYTES_MAX;
	if (check_sizes(&p.json, &layer, layer.json) < 0)
		return -1;
	p.problems = stack->problems; /* only a file within the limits is read on after a problem */
	return check_layer(&p.json, &layer);
}

int muster_overlay_check(const char *path, struct muster_error *err)
{
	struct stack stack = { STACK_EMPTY };
	int result = read_layer(&stack, path, true, err);
	free_stack(&stack);
	return result;
}

static bool same_file(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];
	return realpath(a, real_a) && realpath(b, real_b) && strcmp(real_a, real_b) == 0;
}

/* The path of the file that `layer` extends, malloc'd: relative to the directory of the layer. *ret is NULL for
 * none. */
static int parent_path(const struct muster_layer *layer, char **ret, struct muster_error *err)
{
	const struct muster_json *extends = muster_json_member(layer->json, "extends");
	const char *parent, *slash = strrchr(layer->path, '/');
	*ret = NULL;
	if (!extends)
		return 0;
	if (muster_json_type(extends) != MUSTER_JSON_STRING || !*muster_json_string(extends))
		return muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: the path of a file is needed", layer->path);
	parent = muster_json_string(extends);
	if (parent[0] == '/')
		*ret = muster_strdup(parent);
	else
		*ret = muster_asprintf("%.*s%s", slash ? (int)(slash - layer->path) + 1 : 0, layer->path, parent);
	if (access(*ret, R_OK) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: %s: %s", layer->path, *ret, strerror(errno));
	return 0;
}

/* -1 when `path` is on the stack already, or the stack has no room for it. */
static int check_loop(const struct stack *stack, const char *path, struct muster_error *err)
{
	const char *child = stack->layers[stack->first].path;
	for (size_t i = stack->first; i < stack->end; i++) {
		if (!same_file(path, stack->layers[i].path))
			continue;
		struct muster_arena *arena = muster_arena_new();
		muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: a loop: %s < %s", child,
			chain_text(stack, i + 1, arena), path);
		muster_arena_free(arena);
		return -1;
	}
	return stack->first > 0 ? 0
				: muster_fail(err, MUSTER_EUSAGE, "%s: $.extends: more than %d files extend each other",
					  child, CHAIN_MAX);
}

/* The file and all its parents. A file is checked for a loop before it is read: the same file under another path counts
 * (realpath). */
static int read_chain(struct stack *stack, const char *path, struct muster_error *err)
{
	char *next = muster_strdup(path);
	int result = 0;
	while (next && result == 0) {
		char *at = next;
		next = NULL;
		if (check_loop(stack, at, err) < 0 || read_layer(stack, at, false, err) < 0 ||
			parent_path(&stack->layers[stack->first], &next, err) < 0)
			result = -1;
		free(at);
	}
	free(next);
	return result;
}

static void key_hint(const struct muster_json *object, const char *key, char out[MUSTER_SUGGEST_MAX])
{
	const char **keys = muster_calloc(muster_json_size(object), sizeof *keys);
	size_t count = 0;
	for (const struct muster_json *m = muster_json_first(object); m; m = muster_json_next(m))
		keys[count++] = muster_json_key(m);
	muster_suggest(key, keys, count, sizeof *keys, out);
	free(keys);
}

/* Every null in a patch must have something to remove. target: const struct muster_json **, what is patched; NULL where
 * the patch adds the object, so every null in it is a mistake. */
static int check_removals(struct muster_json_reader *r, void *target, const struct muster_json *patch)
{
	const struct muster_json *object = *(const struct muster_json **)target;
	if (object && muster_json_type(object) != MUSTER_JSON_OBJECT)
		object = NULL;
	if (muster_json_type(patch) != MUSTER_JSON_OBJECT)
		return 0;
	for (const struct muster_json *m = muster_json_first(patch); m; m = muster_json_next(m)) {
		const char *key = muster_json_key(m);
		const struct muster_json *old = object ? muster_json_member(object, key) : NULL;
		char hint[MUSTER_SUGGEST_MAX] = "";
		if (muster_json_type(m) != MUSTER_JSON_NULL || old) {
			if (muster_json_member_read(r, key, 0, check_removals, &old, m) < 0)
				return -1;
			continue;
		}
		if (object)
			key_hint(object, key, hint);
		muster_json_reader_say(r, "cannot remove \"%.80s\": it does not exist%s", key, hint);
		if (muster_json_reader_go_on(r) < 0)
			return -1;
	}
	return 0;
}

bool muster_expect_is_path(const char *name)
{
	size_t length = strlen(name);
	return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

int muster_expect_names(const char *config_dir, struct muster_arena *arena, const char ***ret, size_t *ret_count,
	struct muster_error *err)
{
	struct muster_names names;
	if (muster_file_names(config_dir, ".json", alphasort, &names, err) < 0)
		return muster_fail(err, MUSTER_EUSAGE, "%s: %s", config_dir, strerror(errno));
	*ret = muster_arena_alloc(arena, (names.count + 1) * sizeof **ret);
	for (size_t i = 0; i < names.count; i++)
		(*ret)[i] = muster_arena_string_n(arena, names.items[i], strlen(names.items[i]) - strlen(".json"));
	*ret_count = names.count;
	muster_names_done(&names);
	return 0;
}

/* The member of that type; NULL when there is none. */
static const struct muster_json *member_of(const struct muster_json *json, const char *key, enum muster_json_type type)
{
	const struct muster_json *member =
		json && muster_json_type(json) == MUSTER_JSON_OBJECT ? muster_json_member(json, key) : NULL;
	return member && muster_json_type(member) == type ? member : NULL;
}

/* Whether the file's own identify gives its machine this name. A file that cannot be read answers to none: it is no
 * reason to refuse another. */
static bool answers_to(const char *path, const char *name)
{
	struct muster_json *json = NULL;
	struct muster_error ignored;
	bool found = false;
	if (muster_layer_read(path, &json, &ignored) < 0)
		return false;
	const struct muster_json *sizes =
		member_of(member_of(json, "identify", MUSTER_JSON_OBJECT), "vm_size", MUSTER_JSON_ARRAY);
	for (const struct muster_json *e = sizes ? muster_json_first(sizes) : NULL; e; e = muster_json_next(e))
		found = found ||
			(muster_json_type(e) == MUSTER_JSON_STRING && strcasecmp(muster_json_string(e), name) == 0);
	muster_json_free(json);
	return found;
}

/* Find the file of `name`; *ret is malloc'd. The first of these that there is, in upper or lower case:
 *   a path                         `name` as it is, whether or not it can be read
 *   a file of the directory        NAME.json; one in the same case wins
 *   a vmSize (answers_to)          the first file, by name, whose own identify lists it. All files are read for this
 * MUSTER_ENOTSUPPORTED with the nearest name when there is none. */
static int find_file(const char *config_dir, const char *name, char **ret, struct muster_error *err)
{
	if (muster_expect_is_path(name)) {
		*ret = muster_strdup(name);
		return 0;
	}
	struct muster_arena *arena = muster_arena_new();
	const char *found = NULL, **names;
	size_t count;
	char near[MUSTER_SUGGEST_MAX];
	int result = muster_expect_names(config_dir, arena, &names, &count, err);
	for (size_t i = 0; result == 0 && i < count; i++)
		if (strcasecmp(names[i], name) == 0 && (!found || strcmp(names[i], name) == 0))
			found = names[i];
	for (size_t i = 0; result == 0 && i < count && !found; i++)
		if (answers_to(muster_arena_printf(arena, "%s/%s.json", config_dir, names[i]), name))
			found = names[i];
	if (result == 0 && !found)
		muster_suggest(name, names, count, sizeof *names, near);
	if (found)
		*ret = muster_asprintf("%s/%s.json", config_dir, found);
	else if (result == 0)
		result = muster_fail(err, MUSTER_ENOTSUPPORTED,
			"no machine type \"%.80s\" in %s%s (muster skus lists all)", name, config_dir, near);
	muster_arena_free(arena);
	return result;
}

/* Parents first, each laid over what is there. */
static int merge_layers(const struct stack *stack, struct muster_json **ret, struct muster_error *err)
{
	struct muster_json *merged = NULL;
	int failed = muster_json_parse("{}", strlen("{}"), &merged, err);
	for (size_t i = stack->first; i < stack->end && !failed; i++) {
		const struct muster_layer *layer = &stack->layers[i];
		struct muster_expect_parser p = muster_expect_parser_make(layer, 1, NULL, stack->problems, err);
		const struct muster_json *target = merged;
		failed = check_removals(&p.json, &target, layer->json);
		if (!failed)
			merged = muster_json_merge(merged, layer->json);
	}
	*ret = merged;
	return failed;
}

/* The files' paths, the overlay first, then the file, then its parents. */
static void name_files(struct muster_expect *expect, const struct stack *stack)
{
	expect->origin = chain_text(stack, stack->end, expect->arena);
	expect->files = muster_arena_alloc(expect->arena, (stack->end - stack->first) * sizeof *expect->files);
	for (size_t i = stack->end; i-- > stack->first;)
		expect->files[expect->file_count++] = muster_arena_string(expect->arena, stack->layers[i].path);
}

/* Read, merge and parse. problems: NULL, or the receiver for lint. All but *ret is freed here, also on failure. */
static int load(const char *config_dir, const char *name, const char *overlay, struct muster_problems *problems,
	struct muster_expect *ret, struct muster_error *err)
{
	struct stack stack = { STACK_EMPTY, .problems = problems };
	struct muster_json *merged = NULL;
	struct muster_expect expect = { 0 };
	char *path = NULL;
	if (find_file(config_dir, name, &path, err) < 0)
		return -1;
	expect.arena = muster_arena_new();
	bool failed = read_chain(&stack, path, err) < 0 || (overlay && read_layer(&stack, overlay, true, err) < 0) ||
		      merge_layers(&stack, &merged, err) < 0 ||
		      muster_expect_parse(
			      merged, &stack.layers[stack.first], stack.end - stack.first, &expect, problems, err) < 0;
	if (!failed) {
		name_files(&expect, &stack);
		*ret = expect;
	} else {
		muster_expect_done(&expect);
	}
	free(path);
	muster_json_free(merged);
	free_stack(&stack);
	return failed ? -1 : 0;
}

/* Called for the options of a run, before any check is needed. A merge patch replaces an array as a whole, so the last
 * layer with "paths" says them all, and a null there removes them. */
int muster_expect_paths_load(const char *config_dir, const char *name, const char *overlay, struct muster_arena *arena,
	const char ***ret, size_t *ret_count, struct muster_error *err)
{
	struct stack stack = { STACK_EMPTY };
	struct muster_expect expect = { 0 };
	const struct muster_json *paths = NULL;
	char *path = NULL;
	int result = name ? find_file(config_dir, name, &path, err) : 0;
	if ((path && read_chain(&stack, path, err) < 0) || (overlay && read_layer(&stack, overlay, true, err) < 0))
		result = -1;
	for (size_t i = stack.first; i < stack.end; i++) {
		const struct muster_json *said = muster_json_member(stack.layers[i].json, "paths");
		paths = said ? said : paths;
	}
	if (result == 0 && paths && muster_json_type(paths) != MUSTER_JSON_NULL) {
		struct muster_expect_parser p = muster_expect_parser_make(
			&stack.layers[stack.first], stack.end - stack.first, arena, NULL, err);
		result = muster_json_member_read(&p.json, "paths", 0, muster_expect_paths_read, &expect, paths);
	}
	if (result == 0) {
		*ret = expect.paths;
		*ret_count = expect.path_count;
	}
	free(path);
	free_stack(&stack);
	return result;
}

int muster_expect_load(const char *config_dir, const char *name, const char *overlay, struct muster_expect *ret,
	struct muster_error *err)
{
	return load(config_dir, name, overlay, NULL, ret, err);
}

size_t muster_expect_lint(
	const char *config_dir, const char *name, const char *overlay, muster_problem_fn *tell, void *arg)
{
	struct muster_problems problems = { .tell = tell, .arg = arg };
	struct muster_expect expect = { 0 };
	struct muster_error err;

	/* What ends the reading even for lint (no file, bad syntax, one problem too many) is the last problem. */
	if (load(config_dir, name, overlay, &problems, &expect, &err) < 0) {
		problems.count++;
		tell(arg, err.text);
	}
	if (problems.count == MUSTER_PROBLEMS_MAX) {
		muster_fail(&err, MUSTER_EUSAGE, "%s: there may be more problems: the check stops after %d", name,
			MUSTER_PROBLEMS_MAX);
		tell(arg, err.text);
	}
	muster_expect_done(&expect);
	return problems.count;
}

void muster_expect_done(struct muster_expect *expect)
{
	for (size_t i = 0; i < expect->check_count; i++)
		muster_check_done(&expect->checks[i]);
	muster_arena_free(expect->arena);
	*expect = (struct muster_expect){ 0 };
}

/* ---- "paths" of an expectation file: what must be there on all nodes ---- */

enum { PATHS_MAX = 64 };

struct entry {
	const char *path;
	bool content;
};
static const struct muster_field entry_fields[] = {
	{ MUSTER_FIELD(entry, path, TEXT) },
	{ MUSTER_FIELD(entry, content, BOOLEAN), .optional = true },
};
static const struct muster_object_type entry_type = MUSTER_OBJECT_TYPE(entry, entry_fields);

int muster_expect_path_check(const char *path, struct muster_error *err)
{
	if (path[0] != '/')
		return muster_fail(err, MUSTER_EUSAGE, "an absolute path is needed, found \"%.80s\"", path);
	if (strlen(path) >= PATH_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "a path has less than %d bytes", PATH_MAX);
	return muster_utf8_has_control(path) ? muster_fail(err, MUSTER_EUSAGE, "a control character in a path") : 0;
}

/* const char *: the path, with the mark before it where the content of its files counts too. */
static int read_path(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct entry entry = { 0 };
	struct muster_error why;
	const bool is_object = muster_json_type(json) == MUSTER_JSON_OBJECT;
	int result = is_object ? muster_object_read(r, json, &entry_type, &entry)
			       : muster_json_text_read(r, &entry.path, json);
	if (result < 0)
		return -1;
	if (entry.path && muster_expect_path_check(entry.path, &why) < 0)
		return is_object ? muster_json_reader_fail_member(r, "path", "%s", why.text)
				 : muster_json_reader_fail(r, "%s", why.text);
	*(const char **)into = muster_arena_printf(
		r->arena, "%s%s", entry.content ? MUSTER_PATH_CONTENT : "", entry.path ? entry.path : "/");
	return 0;
}

int muster_expect_paths_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_ARRAY)) < 0)
		return -1;
	if (muster_json_size(json) > PATHS_MAX)
		return muster_json_reader_fail(r, "more than %d paths", PATHS_MAX);
	expect->paths = muster_arena_alloc(r->arena, (muster_json_size(json) + 1) * sizeof *expect->paths);
	if (muster_json_each_read(r, json, read_path, expect->paths, sizeof *expect->paths) < 0)
		return -1;
	expect->path_count = muster_json_size(json);
	return 0;
}

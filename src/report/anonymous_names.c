/* anonymous_names.c - replacements of names, and where a text holds a name
 *
 * A text is read from left to right. At the start of each word the longest form is tried first: path, UUID, address,
 * name. What is no name stays as it is, byte for byte.
 */
#include "report/anonymous_names.h"

#include "slurm/hostlist.h"
#include "util/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct name {
	struct name *next; /* of the same slot */
	enum muster_name_kind kind;
	const char *from, *to;
};

struct muster_anonymous_names {
	struct muster_arena *arena;
	struct name **slots;
	size_t slot_count, count;
	size_t kinds[MUSTER_NAME_KIND_COUNT];
};

enum { SLOTS_FIRST = 1024, UUID_LENGTH = MUSTER_UUID_TEXT_SIZE - 1, DEFAULT_PARTITION = 0x7fff };

/* What a number follows. NULL: the replacement has another form. */
static const char *const words[MUSTER_NAME_KIND_COUNT] = {
	[MUSTER_NAME_NODE] = "node",
	[MUSTER_NAME_VM] = "vm",
	[MUSTER_NAME_GROUP] = "placement-group",
	[MUSTER_NAME_REGION] = "region",
	[MUSTER_NAME_SWITCH] = "switch",
	[MUSTER_NAME_ADDRESS] = "address",
	[MUSTER_NAME_FOLDER] = "/folder",
	[MUSTER_NAME_FILE] = "file",
	[MUSTER_NAME_HOST] = "host",
	[MUSTER_NAME_USER] = "user",
	[MUSTER_NAME_VALUE] = "value",
	[MUSTER_NAME_PROCESS] = "process",
	[MUSTER_NAME_SERIAL] = "serial",
};

struct muster_anonymous_names *muster_anonymous_names_new(struct muster_arena *arena)
{
	struct muster_anonymous_names *names = muster_arena_alloc(arena, sizeof *names);
	names->arena = arena;
	names->slot_count = SLOTS_FIRST;
	names->slots = muster_arena_alloc(arena, names->slot_count * sizeof *names->slots);
	return names;
}

static size_t hash_of(enum muster_name_kind kind, const char *text, size_t length)
{
	return (size_t)(muster_hash(text, length) ^ (uint64_t)kind);
}

static void grow(struct muster_anonymous_names *names)
{
	size_t count = 4 * names->slot_count;
	struct name **slots = muster_arena_alloc(names->arena, count * sizeof *slots);
	for (size_t i = 0; i < names->slot_count; i++) {
		for (struct name *next, *name = names->slots[i]; name; name = next) {
			struct name **slot = &slots[hash_of(name->kind, name->from, strlen(name->from)) % count];
			next = name->next;
			name->next = *slot;
			*slot = name;
		}
	}
	names->slots = slots;
	names->slot_count = count;
}

static const char *make(struct muster_arena *arena, enum muster_name_kind kind, size_t number)
{
	if (kind == MUSTER_NAME_UUID)
		return muster_arena_printf(arena, "00000000-0000-0000-0000-%012zu", number);
	if (kind == MUSTER_NAME_PARTITION)
		return muster_arena_printf(arena, "0x%04zx", number);
	return muster_arena_printf(arena, "%s-%zu", words[kind], number);
}

const char *muster_anonymous_name_known(
	const struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text, size_t length)
{
	const struct name *name = names->slots[hash_of(kind, text, length) % names->slot_count];
	while (name && (name->kind != kind || strlen(name->from) != length || memcmp(name->from, text, length) != 0))
		name = name->next;
	return name ? name->to : NULL;
}

static const char *replace(
	struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text, size_t length)
{
	const char *known = muster_anonymous_name_known(names, kind, text, length);
	if (known)
		return known;
	if (names->count >= names->slot_count)
		grow(names);
	struct name *name = muster_arena_alloc(names->arena, sizeof *name);
	struct name **slot = &names->slots[hash_of(kind, text, length) % names->slot_count];
	*name = (struct name){ *slot, kind, muster_arena_string_n(names->arena, text, length),
		make(names->arena, kind, ++names->kinds[kind]) };
	*slot = name;
	names->count++;
	return name->to;
}

const char *muster_anonymous_name(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text)
{
	return replace(names, kind, text, strlen(text));
}

const char *muster_anonymous_pkeys(struct muster_anonymous_names *names, const char *keys)
{
	const char *text = "";
	for (const char *at = keys; *at;) {
		size_t length = strcspn(at, " ");
		char *end;
		unsigned long key = strtoul(at, &end, 16), partition = key & DEFAULT_PARTITION;
		const char *key_text = muster_arena_string_n(names->arena, at, length);
		if (end == at + length && key <= 0xffff && partition != 0 && partition != DEFAULT_PARTITION) {
			char from[16];
			snprintf(from, sizeof from, "0x%04lx", partition);
			unsigned long to = strtoul(muster_anonymous_name(names, MUSTER_NAME_PARTITION, from), NULL, 16);
			key_text = muster_arena_printf(names->arena, "0x%04lx", (key & 0x8000) | to);
		}
		text = muster_arena_printf(names->arena, "%s%s%s", text, *text ? " " : "", key_text);
		at += length;
		at += *at == ' ';
	}
	return text;
}

/* ---- paths ---- */

/* What every machine has, and what the cloud's images have. Below these nothing is a user's choice. */
static const char *const common_folders[] = { "/usr/", "/lib/", "/lib64/", "/etc/", "/proc/", "/sys/", "/dev/",
	"/opt/microsoft/", NULL };

static bool begins_with_one_of(const char *text, const char *const *starts)
{
	while (*starts && strncmp(text, *starts, strlen(*starts)) != 0)
		starts++;
	return *starts != NULL;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t count = strlen(end);
	return length >= count && memcmp(text + length - count, end, count) == 0;
}

/* Names of files that say what a file is, and nothing of who has it. */
static bool is_common_file(const char *name, size_t length)
{
	static const char *const starts[] = { "lib", "Standard_", "family-", "common.json", "generic-nvidia.json",
		NULL };
	static const char *const ends[] = { "topo.xml", "graph.xml", NULL };
	for (const char *const *end = ends; *end; end++)
		if (ends_with(name, length, *end))
			return true;
	return begins_with_one_of(name, starts);
}

static const char *replace_path(struct muster_anonymous_names *names, const char *text, size_t length)
{
	const char *path = muster_arena_string_n(names->arena, text, length), *slash = strrchr(path, '/');
	if (begins_with_one_of(path, common_folders) || slash == path)
		return path;
	size_t folder = (size_t)(slash - path), rest = length - folder - 1;
	const char *extension = strrchr(slash, '.');
	if (rest == 0 || is_common_file(slash + 1, rest))
		return muster_arena_printf(
			names->arena, "%s/%s", replace(names, MUSTER_NAME_FOLDER, path, folder), slash + 1);
	return muster_arena_printf(names->arena, "%s/%s%s", replace(names, MUSTER_NAME_FOLDER, path, folder),
		replace(names, MUSTER_NAME_FILE, slash + 1, rest), extension ? extension : "");
}

/* ---- what stands at a place of a text: the length of each form, 0 when it is none ---- */

/* before: the character before text, NUL at the start. What follows a word, as in "GB/s", is no path. */
static size_t path_at(const char *text, char before)
{
	size_t length = strcspn(text, " \t\n'\"(),;<>|:");
	if (before && !strchr(" \t\n'\"=(:,;[<|", before))
		return 0;
	while (length > 0 && text[length - 1] == '.')
		length--;
	return (*text == '/' && length > 1 && text[1] != '/') || (*text == '~' && text[1] == '/') ? length : 0;
}

static size_t uuid_at(const char *text)
{
	for (size_t i = 0; i < UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return 0;
	}
	return isalnum((unsigned char)text[UUID_LENGTH]) ? 0 : UUID_LENGTH;
}

static size_t ipv4_at(const char *text)
{
	size_t at = 0;
	for (int part = 0; part < 4; part++) {
		size_t digits = strspn(text + at, "0123456789");
		long number = digits > 0 && digits <= 3 ? strtol(text + at, NULL, 10) : 256;
		if (number > 255 || (part == 0 && number < 2) || (part < 3 && text[at + digits] != '.'))
			return 0;
		at += digits + (part < 3);
	}
	return isalnum((unsigned char)text[at]) || (text[at] == '.' && isdigit((unsigned char)text[at + 1])) ? 0 : at;
}

/* An IPv6 or MAC address, a GID or GUID: three colons at least, where a PCI address and a time have two. */
static size_t colons_at(const char *text)
{
	size_t length = *text == ':' ? 0 : strspn(text, "0123456789abcdefABCDEF:"), colons = 0;
	for (size_t i = 0; i < length; i++)
		colons += text[i] == ':';
	while (length > 0 && text[length - 1] == ':')
		length--;
	return colons >= 3 && !isalnum((unsigned char)text[length]) ? length : 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.-", c)) || (unsigned char)c >= 0x80;
}

/* A word, or a list of host names as Slurm writes them: brackets with numbers belong to the word. */
static size_t word_at(const char *text)
{
	size_t at = 0;
	for (;;) {
		while (is_word(text[at]))
			at++;
		size_t inside = text[at] == '[' && at > 0 ? strspn(text + at + 1, "0123456789,-") : 0;
		if (inside == 0 || text[at + 1 + inside] != ']')
			break;
		at += inside + 2;
	}
	while (at > 0 && (text[at - 1] == '.' || text[at - 1] == '-'))
		at--;
	return at;
}

/* The list with each name replaced; NULL unless all of them are nodes. */
static const char *replace_list(struct muster_anonymous_names *names, const char *text, size_t length)
{
	struct muster_error err;
	const char *const *hosts;
	size_t count;
	if (muster_hostlist_expand(
		    muster_arena_string_n(names->arena, text, length), names->arena, &hosts, &count, &err) < 0)
		return NULL;
	const char **news = muster_arena_alloc(names->arena, (count + 1) * sizeof *news);
	for (size_t i = 0; i < count; i++)
		if (!(news[i] = muster_anonymous_name_known(names, MUSTER_NAME_NODE, hosts[i], strlen(hosts[i]))))
			return NULL;
	char *list = muster_hostlist_compress(news, count);
	const char *kept = muster_arena_string(names->arena, list);
	free(list);
	return kept;
}

/* ":1234:5678 [" after a word: a line of NCCL's log, which begins with the host. */
static bool is_log_prefix(const char *text)
{
	for (int i = 0; i < 2; i++) {
		size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;
		if (digits == 0)
			return false;
		text += 1 + digits;
	}
	return strncmp(text, " [", 2) == 0;
}

/* What replaces the word; NULL when it stays. */
static const char *replace_word(
	struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text, size_t length)
{
	const char *to = muster_anonymous_name_known(names, MUSTER_NAME_NODE, text, length);
	const char *dot = memchr(text, '.', length);
	if (!to && dot) /* with its domain */
		to = muster_anonymous_name_known(names, MUSTER_NAME_NODE, text, (size_t)(dot - text));
	if (!to && memchr(text, '[', length))
		to = replace_list(names, text, length);
	if (!to && kind == MUSTER_NAME_PARTITION && length == 6 && strncmp(text, "0x", 2) == 0)
		to = muster_anonymous_pkeys(names, muster_arena_string_n(names->arena, text, length));
	else if (!to && kind != MUSTER_NAME_NODE)
		to = muster_anonymous_name_known(names, kind, text, length);
	if (!to && is_log_prefix(text + length))
		to = replace(names, MUSTER_NAME_HOST, text, length);
	if (!to && text[length] == '@')
		to = replace(names, MUSTER_NAME_USER, text, length);
	return to;
}

const char *muster_anonymous_text(struct muster_anonymous_names *names, enum muster_name_kind kind, const char *text)
{
	char *result = NULL;
	size_t length;
	if (!text)
		return NULL;
	FILE *out = muster_memory_open(&result, &length);
	for (const char *at = text; *at;) {
		const char *to = NULL;
		if ((length = path_at(at, at > text ? at[-1] : '\0')) > 0)
			to = replace_path(names, at, length);
		else if ((length = uuid_at(at)) > 0)
			to = strspn(at, "0-") >= length ? NULL : replace(names, MUSTER_NAME_UUID, at, length);
		else if ((length = ipv4_at(at)) > 0 || (length = colons_at(at)) > 0)
			to = replace(names, MUSTER_NAME_ADDRESS, at, length);
		else if ((length = word_at(at)) > 0)
			to = replace_word(names, kind, at, length);
		if (strncmp(at, "GPU-", 4) == 0 || strncmp(at, "MIG-", 4) == 0) {
			to = NULL; /* and then a UUID */
			length = 4;
		}
		if (length == 0)
			length = 1;
		if (to)
			fputs(to, out);
		else
			fwrite(at, 1, length, out);
		at += length;
	}
	muster_memory_close(out);
	const char *kept = muster_arena_string(names->arena, result);
	free(result);
	return kept;
}

const char *muster_anonymous_switches(struct muster_anonymous_names *names, const char *path)
{
	const char *text = "";
	for (const char *at = path; *at;) {
		size_t length = strcspn(at, ".");
		text = muster_arena_printf(
			names->arena, "%s%s%s", text, *text ? "." : "", replace(names, MUSTER_NAME_SWITCH, at, length));
		at += length;
		at += *at == '.';
	}
	return text;
}

/* A process begins with its number; the name is the next word, and the user the one in parentheses. */
const char *muster_anonymous_processes(struct muster_anonymous_names *names, const char *list)
{
	const char *text = "";
	for (const char *at = list; *at;) {
		size_t digits = strspn(at, "0123456789"), length = strcspn(at, ";");
		const char *name = at + digits + 1, *user = memchr(at, '(', length);
		if (digits > 0 && at[digits] == ' ' && *name != '?')
			replace(names, MUSTER_NAME_PROCESS, name, strcspn(name, " ;"));
		if (user && strncmp(user + 1, "uid", 3) == 0)
			replace(names, MUSTER_NAME_PROCESS, user + 1, strcspn(user + 1, ");"));
		text = muster_arena_printf(names->arena, "%s%s", text,
			muster_anonymous_text(
				names, MUSTER_NAME_PROCESS, muster_arena_string_n(names->arena, at, length)));
		at += length;
		for (; *at == ';' || *at == ' '; at++)
			text = muster_arena_printf(names->arena, "%s%c", text, *at);
	}
	return text;
}

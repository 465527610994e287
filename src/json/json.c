/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - trees of JSON; the only file that knows cJSON
 *
 * Reading a text has three steps, since cJSON alone takes more than JSON allows:
 *
 *    muster_json_scan         (scan.c) the bytes: UTF-8, control characters, numbers such as 01 or 1e999, depth
 *    cJSON_ParseWithLength    the tree
 *    check_keys               (below) each key once in its object
 *
 * The first step also bounds cJSON's recursion, which has one call for each level of nesting, and the number of values.
 *
 * Memory: a tree is one arena. cJSON takes its allocation functions (hooks) for the whole process, so that the hooks
 * here look at a variable of the thread: during muster_json_parse and muster_json_merge they allocate from the tree's
 * arena, at all other times they are malloc and free. Nothing of a tree is freed alone. The root has no key, and its
 * member `string`, where cJSON keeps a key, keeps the pointer to the arena.
 */
#include "json/json.h"

#include "json/scan.h"
#include "util/input.h"
#include "util/array.h"
#include "muster/arena.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(MUSTER_JSON_DEPTH_MAX < CJSON_NESTING_LIMIT, "our limit answers first");

static const cJSON *node(const struct muster_json *json)
{
	return (const cJSON *)json;
}

static const struct muster_json *json_of(const cJSON *item)
{
	return (const struct muster_json *)item;
}

/* The arena of the tree that this thread is making; NULL: none. `asked` is set by our hook, and shows whether the hooks
 * of cJSON are still ours. */
static _Thread_local struct muster_arena *arena_at_hand;
static _Thread_local bool asked;

static void *arena_malloc(size_t size)
{
	asked = true;
	return arena_at_hand ? muster_arena_alloc(arena_at_hand, size) : malloc(size);
}

static void arena_free(void *memory)
{
	if (!arena_at_hand)
		free(memory);
}

/* From here to arena_end() cJSON allocates from the arena in this thread. The hooks are process-wide and are not reset
 * at the end, because another thread may be in the middle of a parse. A stand-in library of the simulator has a copy of
 * this file, and may have set its own hooks. A trial allocation of one byte shows whether the hooks are ours: if
 * arena_malloc was not called, they are set again. */
static void arena_begin(struct muster_arena *arena)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	arena_at_hand = arena;
	asked = false;
	pthread_mutex_lock(&lock);
	void *memory = cJSON_malloc(1);
	if (!asked) {
		cJSON_Hooks hooks = { .malloc_fn = arena_malloc, .free_fn = arena_free };
		cJSON_free(memory);
		cJSON_InitHooks(&hooks);
	}
	pthread_mutex_unlock(&lock);
}

static void arena_end(void)
{
	arena_at_hand = NULL;
}

/* -1 with the path of the object and the key that occurs twice. Up to 16 keys are compared pairwise; more are sorted,
 * so that an object of a million keys does not take a million times a million comparisons. */
static int check_duplicates(const cJSON *object, const struct muster_json_path *at, struct muster_error *err)
{
	size_t count = 0;
	for (const cJSON *child = object->child; child; child = child->next)
		count++;
	if (count < 2)
		return 0;
	const char *few[16];
	const char **keys = count <= 16 ? few : muster_calloc(count, sizeof *keys);
	size_t filled = 0;
	for (const cJSON *child = object->child; child; child = child->next)
		keys[filled++] = child->string;
	const char *twice = NULL;
	if (count <= 16) {
		for (size_t i = 1; i < count && !twice; i++)
			for (size_t j = 0; j < i && !twice; j++)
				twice = keys[i][0] == keys[j][0] && strcmp(keys[i], keys[j]) == 0 ? keys[i] : NULL;
	} else {
		qsort(keys, count, sizeof *keys, muster_by_text);
		for (size_t i = 1; i < count && !twice; i++)
			twice = strcmp(keys[i], keys[i - 1]) == 0 ? keys[i] : NULL;
	}
	if (keys != few)
		free(keys);
	if (!twice)
		return 0;
	char text[MUSTER_JSON_PATH_MAX];
	const char *path = muster_json_path_text(at, text) + 1; /* callers that know the whole path begin it with $ */
	path += *path == '.';
	return muster_fail(err, MUSTER_EUSAGE, "%s%sthe key \"%.200s\" occurs twice in one object", path,
		*path ? ": " : "", twice);
}

/* Check every object of the tree for duplicate keys. cJSON keeps both members of a duplicate, and RFC 8259 does
 * not say which one counts: two programs may read different values. */
static int check_keys(const cJSON *item, const struct muster_json_path *at, struct muster_error *err)
{
	struct muster_json_path here = { .up = at };
	if (cJSON_IsObject(item) && check_duplicates(item, at, err) < 0)
		return -1;
	for (const cJSON *child = item->child; child; child = child->next, here.index++) {
		here.key = child->string;
		if (child->child && check_keys(child, &here, err) < 0)
			return -1;
	}
	return 0;
}

/* cJSON may stop before the end of the text. `end` is then the byte at which it failed, or the first byte behind the
 * value; blanks there are allowed and all else is an error. The message shows at most 20 bytes of the text from there.
 */
int muster_json_parse(const char *text, size_t length, struct muster_json **ret, struct muster_error *err)
{
	if (muster_json_scan(text, length, err) < 0)
		return -1;
	struct muster_arena *arena = muster_arena_new();
	const char *end = NULL;
	arena_begin(arena);
	cJSON *root = cJSON_ParseWithLengthOpts(text, length, &end, 0);
	arena_end();
	size_t at = end ? (size_t)(end - text) : 0;
	while (root && at < length && strchr(" \t\r\n", text[at]))
		at++;
	if (!root || at < length) {
		muster_arena_free(arena);
		if (at >= length)
			return muster_json_fail_at(text, length, err, "the text ends too early");
		return muster_json_fail_at(text, at, err, "%s: '%.*s'",
			root ? "more text behind the end" : "not JSON from here",
			(int)strnlen(text + at, length - at < 20 ? length - at : 20), text + at);
	}
	if (check_keys(root, NULL, err) < 0) {
		muster_arena_free(arena);
		return -1;
	}
	root->string = (char *)arena;
	*ret = (struct muster_json *)root;
	return 0;
}

int muster_json_parse_file(const char *path, size_t limit, struct muster_json **ret, struct muster_error *err)
{
	char *text;
	size_t length;
	if (muster_input_read_file(path, limit, &text, &length, err) < 0)
		return -1;
	int rc = muster_json_parse(text, length, ret, err);
	free(text);
	return rc < 0 ? muster_wrap(err, "%s", path) : 0;
}

void muster_json_free(struct muster_json *json)
{
	if (json)
		muster_arena_free((struct muster_arena *)((cJSON *)json)->string);
}

enum muster_json_type muster_json_type(const struct muster_json *json)
{
	switch (node(json)->type & 0xff) {
	case cJSON_True:
	case cJSON_False: return MUSTER_JSON_BOOLEAN;
	case cJSON_Number: return MUSTER_JSON_NUMBER;
	case cJSON_String: return MUSTER_JSON_STRING;
	case cJSON_Array: return MUSTER_JSON_ARRAY;
	case cJSON_Object: return MUSTER_JSON_OBJECT;
	default: return MUSTER_JSON_NULL;
	}
}

const char *muster_json_type_name(enum muster_json_type type)
{
	static const char *const names[] = {
		[MUSTER_JSON_NULL] = "null",
		[MUSTER_JSON_BOOLEAN] = "true or false",
		[MUSTER_JSON_NUMBER] = "a number",
		[MUSTER_JSON_STRING] = "a string",
		[MUSTER_JSON_ARRAY] = "an array",
		[MUSTER_JSON_OBJECT] = "an object",
	};
	return names[type];
}

const struct muster_json *muster_json_first(const struct muster_json *json)
{
	return json_of(node(json)->child);
}

const struct muster_json *muster_json_next(const struct muster_json *json)
{
	return json_of(node(json)->next);
}

const char *muster_json_key(const struct muster_json *json)
{
	return node(json)->string;
}

size_t muster_json_size(const struct muster_json *json)
{
	return (size_t)cJSON_GetArraySize(node(json));
}

const struct muster_json *muster_json_member(const struct muster_json *json, const char *key)
{
	for (const cJSON *child = node(json)->child; child; child = child->next)
		if (child->string && strcmp(child->string, key) == 0)
			return json_of(child);
	return NULL;
}

double muster_json_number(const struct muster_json *json)
{
	return node(json)->valuedouble;
}

const char *muster_json_string(const struct muster_json *json)
{
	return node(json)->valuestring;
}

bool muster_json_boolean(const struct muster_json *json)
{
	return cJSON_IsTrue(node(json));
}

/* RFC 7386, section 2. What the patch says of a member, and what becomes of it:
 *
 *    null             the member is removed
 *    an object        it is merged into the member, which becomes an object if it was none
 *    another value    the member is replaced by a copy
 *
 * What is replaced or removed is only detached: its memory is the arena's until the whole tree is freed. Values of the
 * patch are copied, so patch and target may be freed in any order. */
static cJSON *merge(cJSON *target, const cJSON *patch)
{
	if (!cJSON_IsObject(patch))
		return cJSON_Duplicate(patch, 1);
	if (!target || !cJSON_IsObject(target))
		target = cJSON_CreateObject();
	for (const cJSON *change = patch->child; change; change = change->next) {
		cJSON *old = cJSON_GetObjectItemCaseSensitive(target, change->string);
		if (cJSON_IsNull(change)) {
			if (old)
				cJSON_DetachItemViaPointer(target, old);
			continue;
		}
		cJSON *merged = merge(old, change);
		if (old && merged != old)
			cJSON_ReplaceItemInObjectCaseSensitive(target, change->string, merged);
		else if (!old)
			cJSON_AddItemToObject(target, change->string, merged);
	}
	return target;
}

/* The root's `string` holds the arena and not a key. It is taken out while cJSON works on the tree, and put into the
 * root of the result, which is a new node when target or patch is no object. */
struct muster_json *muster_json_merge(struct muster_json *target, const struct muster_json *patch)
{
	struct muster_arena *arena = (struct muster_arena *)((cJSON *)target)->string;
	((cJSON *)target)->string = NULL;
	arena_begin(arena);
	cJSON *merged = merge((cJSON *)target, node(patch));
	arena_end();
	merged->string = (char *)arena;
	return (struct muster_json *)merged;
}

/* ---- where a value stands in its text, as a message shows it ---- */

/* A key that can follow a dot in a path: letters, digits and "_", not beginning with a digit. */
static bool is_plain_key(const char *key)
{
	if (!isalpha((unsigned char)*key) && *key != '_')
		return false;
	while (isalnum((unsigned char)*key) || *key == '_')
		key++;
	return *key == '\0';
}

/* The chain leads from the value up to the root, and the text goes down from the root: the recursion prints the upper
 * steps first. A depth of MUSTER_JSON_DEPTH_MAX bounds it. snprintf cuts a path that is longer than `out`. */
const char *muster_json_path_text(const struct muster_json_path *at, char out[MUSTER_JSON_PATH_MAX])
{
	if (!at) {
		snprintf(out, MUSTER_JSON_PATH_MAX, "$");
		return out;
	}
	size_t used = strlen(muster_json_path_text(at->up, out));
	if (!at->key)
		snprintf(out + used, MUSTER_JSON_PATH_MAX - used, "[%zu]", at->index);
	else if (is_plain_key(at->key))
		snprintf(out + used, MUSTER_JSON_PATH_MAX - used, ".%.100s", at->key);
	else
		snprintf(out + used, MUSTER_JSON_PATH_MAX - used, "[\"%.100s\"]", at->key);
	return out;
}

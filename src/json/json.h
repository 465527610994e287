/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - reading JSON; the only header that stands for cJSON
 *
 * A text becomes a tree of const nodes. Trees become structs by object.h, whose errors name the JSON path. A large text
 * becomes one tree after the other: stream.h.
 *
 * A tree is one block of memory: muster_json_free frees all of it, and no node alone. Strings and keys that these
 * functions return are the tree's. Readers of object.h copy what they keep into the reader's arena, where equal strings
 * are one; only a field of the type JSON keeps a node, and lives as long as the tree.
 */
#ifndef MUSTER_JSON_JSON_H
#define MUSTER_JSON_JSON_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_json; /* a node of a parsed text */

#define MUSTER_JSON_DEPTH_MAX 64
#define MUSTER_JSON_VALUES_MAX (1 << 20) /* of one tree: about 100 MiB of memory */

/* Parse a whole text (need not end in NUL). Rejected, with "line L, column C: ..." in err and code MUSTER_EUSAGE: bad
 * syntax, anything after the value, invalid UTF-8, an embedded NUL, duplicate keys, numbers that are not finite,
 * nesting beyond MUSTER_JSON_DEPTH_MAX, more than MUSTER_JSON_VALUES_MAX values. The caller frees the result. */
int muster_json_parse(const char *text, size_t length, struct muster_json **ret, struct muster_error *err);
void muster_json_free(struct muster_json *json);

/* The same of a file of at most `limit` bytes, which may be one of gzip (util/input.h); errors name the path. */
int muster_json_parse_file(const char *path, size_t limit, struct muster_json **ret, struct muster_error *err);

enum muster_json_type {
	MUSTER_JSON_NULL,
	MUSTER_JSON_BOOLEAN,
	MUSTER_JSON_NUMBER,
	MUSTER_JSON_STRING,
	MUSTER_JSON_ARRAY,
	MUSTER_JSON_OBJECT
};
enum muster_json_type muster_json_type(const struct muster_json *json);
const char *muster_json_type_name(enum muster_json_type type); /* "an object", "a number", ... */

/* Members and elements in their order; NULL ends. For an object's member, muster_json_key is its key. */
const struct muster_json *muster_json_first(const struct muster_json *json);
const struct muster_json *muster_json_next(const struct muster_json *json);
const char *muster_json_key(const struct muster_json *json);
size_t muster_json_size(const struct muster_json *json);
/* NULL when absent, and when json is not an object. */
const struct muster_json *muster_json_member(const struct muster_json *json, const char *key);

/* The value; the node must be of that type. Strings live as long as the tree. */
double muster_json_number(const struct muster_json *json);
const char *muster_json_string(const struct muster_json *json);
bool muster_json_boolean(const struct muster_json *json);

/* RFC 7386 merge patch: target is changed (and may be replaced); patch stays. Returns the result, which the caller owns
 * in target's stead. (Debian's cJSON comes without cJSON_Utils, which has this.) */
struct muster_json *muster_json_merge(struct muster_json *target, const struct muster_json *patch);

/* A path is a chain of steps on the stack of what walks a tree, and is spelled out only for a message. */
struct muster_json_path {
	const struct muster_json_path *up; /* NULL: directly in the root */
	const char *key;                   /* of an object's member; NULL: an element of an array */
	size_t index;                      /* of an element */
};

enum { MUSTER_JSON_PATH_MAX = 256 };

/* "$.run.nodes[3].ranks[0]", "$.checks[\"gpu.count\"]"; NULL is the root. A longer path is cut. Returns out. */
const char *muster_json_path_text(const struct muster_json_path *at, char out[MUSTER_JSON_PATH_MAX]);

#endif

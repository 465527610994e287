/* json.h - reading and writing JSON; the only door to cJSON
 *
 * Reading gives a tree of const nodes. Every reader checks types through the _get functions, which name the JSON path
 * of what is wrong. Writing streams: nothing is built in memory, so a report of 100,000 ranks costs no more than its
 * text.
 */
#ifndef MUSTER_JSON_H
#define MUSTER_JSON_H

#include "muster/error.h"
#include "muster/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct muster_json; /* a node of a parsed text */

#define MUSTER_JSON_DEPTH_MAX 64
#define MUSTER_JSON_VALUES_MAX (1 << 20) /* of one tree: about 100 MiB of memory */

/* Parse a whole text (need not end in NUL). Rejected, with "line L, column C: ..." in err and code MUSTER_EUSAGE: bad
 * syntax, anything after the value, invalid UTF-8, an embedded NUL, duplicate keys, numbers that are not finite,
 * nesting beyond MUSTER_JSON_DEPTH_MAX, more than MUSTER_JSON_VALUES_MAX values. The caller frees the result. */
int muster_json_parse(const char *text, size_t length, struct muster_json **ret, struct muster_error *err);
void muster_json_free(struct muster_json *json);

/* Read a file of at most limit bytes into a malloc'd, NUL-terminated buffer. Errors name the path. */
int muster_file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length, struct muster_error *err);

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
const struct muster_json *muster_json_member(const struct muster_json *object, const char *key); /* NULL if absent */

/* The value; the node must be of that type. Strings live as long as the tree. */
double muster_json_number(const struct muster_json *json);
const char *muster_json_string(const struct muster_json *json);
bool muster_json_boolean(const struct muster_json *json);

/* Typed members: 1 when found, 0 when absent (ret untouched), -1 with err when it has another type. `path` is the JSON
 * path of the object, for the message ("$.checks.gpu.count"). */
int muster_json_get_string(const struct muster_json *object, const char *path, const char *key, const char **ret,
	struct muster_error *err);
int muster_json_get_number(
	const struct muster_json *object, const char *path, const char *key, double *ret, struct muster_error *err);
int muster_json_get_int(const struct muster_json *object, const char *path, const char *key, int *ret,
	struct muster_error *err); /* a whole number in int's range */
int muster_json_get_boolean(
	const struct muster_json *object, const char *path, const char *key, bool *ret, struct muster_error *err);
int muster_json_get_object(const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret, struct muster_error *err);
int muster_json_get_array(const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret, struct muster_error *err);

/* -1 with err naming the first member of object whose key is not in the NULL-terminated list, and what is allowed. */
int muster_json_only_keys(
	const struct muster_json *object, const char *path, const char *const *keys, struct muster_error *err);

/* RFC 7386 merge patch: target is changed (and may be replaced); patch stays. Returns the result, which the caller owns
 * in target's stead. (Debian's cJSON comes without cJSON_Utils, which has this.) */
struct muster_json *muster_json_merge(struct muster_json *target, const struct muster_json *patch);

/* Split without building a tree: call member() for each member of the object that text holds, with the raw text of its
 * value; element() likewise for an array. A callback that returns -1 ends the walk with -1. Syntax inside the values is
 * not checked here: the callback parses them. Memory stays bounded by the largest part. */
int muster_json_split_object(const char *text, size_t length,
	int (*member)(void *arg, const char *key, const char *value, size_t value_length, struct muster_error *err),
	void *arg, struct muster_error *err);
int muster_json_split_array(const char *text, size_t length,
	int (*element)(void *arg, size_t index, const char *value, size_t value_length, struct muster_error *err),
	void *arg, struct muster_error *err);

/* Streaming writer. Keys and strings are escaped, and so is every character that could drive a terminal; bytes that are
 * not UTF-8 become U+FFFD. Numbers are written so that they read back exactly; NaN and infinity become null. */
struct muster_writer {
	FILE *out;
	int depth;
	int indent_depth; /* levels that are broken into lines; deeper ones stay on their line. 0: all on one line */
	bool first[MUSTER_JSON_DEPTH_MAX];
	bool after_key;
};

void muster_writer_init(struct muster_writer *w, FILE *out, int indent_depth);
void muster_writer_object(struct muster_writer *w);
void muster_writer_object_end(struct muster_writer *w);
void muster_writer_array(struct muster_writer *w);
void muster_writer_array_end(struct muster_writer *w);
void muster_writer_key(struct muster_writer *w, const char *key);
void muster_writer_string(struct muster_writer *w, const char *string); /* NULL writes null */
void muster_writer_number(struct muster_writer *w, double number);
void muster_writer_boolean(struct muster_writer *w, bool boolean);
void muster_writer_null(struct muster_writer *w);
void muster_writer_value(struct muster_writer *w, struct muster_value value);
void muster_writer_raw(struct muster_writer *w, const char *json); /* a value that is JSON already */
/* key and value in one */
void muster_writer_pair(struct muster_writer *w, const char *key, struct muster_value value);

#endif

/* fields.h - strict reading of JSON objects: which keys, of which types, and the JSON path of whatever is wrong
 *
 * A path is only spelled out when something is wrong, so that reading a million samples does not print a million paths.
 */
#ifndef MUSTER_JSON_FIELDS_H
#define MUSTER_JSON_FIELDS_H

#include "json/json.h"
#include "muster/arena.h"
#include "muster/sample.h"

/* Where a value stands: the root has no `up`; a member has a key, an element of an array an index. */
struct muster_json_path {
	const struct muster_json_path *up;
	const char *key;
	size_t index;
};

enum { MUSTER_JSON_PATH_TEXT_MAX = 256 };

/* "$.run.nodes[3].ranks[0]"; returns out. */
const char *muster_json_path_text(const struct muster_json_path *at, char out[MUSTER_JSON_PATH_TEXT_MAX]);

/* "<path>: <text>" with code MUSTER_EUSAGE. place_fail is also -1, for the compiler and its analyzer to see. */
void muster_json_path_fail(const struct muster_json_path *at, struct muster_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define place_fail(...) (muster_json_path_fail(__VA_ARGS__), -1)

/* Types that a member may have, as bits. */
#define FIELD_NULL (1u << MUSTER_JSON_NULL)
#define FIELD_BOOLEAN (1u << MUSTER_JSON_BOOLEAN)
#define FIELD_NUMBER (1u << MUSTER_JSON_NUMBER)
#define FIELD_STRING (1u << MUSTER_JSON_STRING)
#define FIELD_ARRAY (1u << MUSTER_JSON_ARRAY)
#define FIELD_OBJECT (1u << MUSTER_JSON_OBJECT)
#define FIELD_LONG (1u << 16) /* beside FIELD_STRING: no limit on its length */
#define FIELD_SCALAR (FIELD_NULL | FIELD_BOOLEAN | FIELD_NUMBER | FIELD_STRING)

struct muster_json_field {
	const char *key;
	unsigned int types;
	bool required;
};

/* ret[i] becomes the member for fields[i], NULL when absent. -1 when json is no object, has a key that is not in the
 * table, a member of another type or a string of more than MUSTER_RUN_STRING_MAX bytes, or lacks a required one. */
int muster_json_fields_read(const struct muster_json *json, const struct muster_json_path *at,
	const struct muster_json_field *fields, size_t count, const struct muster_json **ret, struct muster_error *err);

/* -1 unless the value's type is among `types` and, for a string, its length within the limit. */
int muster_json_field_check(const struct muster_json *json, const struct muster_json_path *at, unsigned int types,
	struct muster_error *err);

/* A string's text, NULL for no node; a scalar's value. Strings are copied to the arena. */
const char *muster_json_field_text(struct muster_arena *arena, const struct muster_json *json);
struct muster_value muster_json_field_value(struct muster_arena *arena, const struct muster_json *json);

/* A whole number in [low, high]. */
int muster_json_field_int(const struct muster_json *json, const struct muster_json_path *at, int low, int high,
	int *ret, struct muster_error *err);

#endif

/* struct_json.h - structs of the simulation as JSON objects: a table of fields for each, and what reads and writes by
 * it
 *
 * A key that no table has, and a field that the object does not have, are errors: a simulation that quietly ran with a
 * default would prove nothing.
 */
#ifndef MUSTER_SIM_STRUCT_JSON_H
#define MUSTER_SIM_STRUCT_JSON_H

#include "json/json.h"
#include "json/writer.h"
#include "muster/arena.h"

enum muster_sim_kind {
	MUSTER_SIM_INT,
	MUSTER_SIM_NUMBER,
	MUSTER_SIM_BOOLEAN,
	MUSTER_SIM_WORD, /* unsigned long long, to 2^53 */
	MUSTER_SIM_STRING,
	MUSTER_SIM_STRING_OR_NULL,
	MUSTER_SIM_STRINGS,
	MUSTER_SIM_STRUCTS,
};

struct muster_sim_struct;

struct muster_sim_field {
	const char *key;
	enum muster_sim_kind kind;
	size_t offset;
	size_t count_offset;                   /* of several: where the number of elements goes */
	const struct muster_sim_struct *items; /* of MUSTER_SIM_STRUCTS */
};

struct muster_sim_struct {
	size_t size;
	const struct muster_sim_field *fields;
	size_t count;
};

#define MUSTER_SIM_KEYS_MAX 96

/* NULL: the type has no such field. */
const struct muster_sim_field *muster_sim_field_find(const struct muster_sim_struct *type, const char *key);

/* Read the fields that the NULL-terminated list names (NULL: all of the type) from the object into the struct at ret.
 * Other keys of the object are not looked at. Texts and arrays are the arena's. -1 with err: MUSTER_EUSAGE and the
 * path.
 */
int muster_sim_fields_read(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_struct *type, const char *const *keys, void *ret, struct muster_error *err);

/* The whole struct from an object that has nothing else. */
int muster_sim_struct_read(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_struct *type, void *ret, struct muster_error *err);

int muster_sim_struct_write(struct muster_json_writer *writer, const struct muster_sim_struct *type, const void *from,
	struct muster_error *err);

#endif

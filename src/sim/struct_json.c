/* struct_json.c - read and write structs by their tables of fields */
#include "sim/struct_json.h"

#include <math.h>
#include <string.h>

/* -- reading -- */

static int wrong_type(
	const char *path, size_t index, const char *wanted, const struct muster_json *json, struct muster_error *err)
{
	return muster_fail(err, MUSTER_EUSAGE, "%s[%zu]: must be %s, not %s", path, index, wanted,
		muster_json_type_name(muster_json_type(json)));
}

static int read_strings(struct muster_arena *arena, const struct muster_json *array, const char *path, const char **ret,
	struct muster_error *err)
{
	size_t i = 0;
	for (const struct muster_json *item = muster_json_first(array); item; item = muster_json_next(item), i++) {
		if (muster_json_type(item) != MUSTER_JSON_STRING)
			return wrong_type(path, i, "a string", item, err);
		ret[i] = muster_arena_string(arena, muster_json_string(item));
	}
	return 0;
}

static int read_structs(struct muster_arena *arena, const struct muster_json *array, const char *path,
	const struct muster_sim_struct *type, char *ret, struct muster_error *err)
{
	size_t i = 0;
	for (const struct muster_json *item = muster_json_first(array); item; item = muster_json_next(item), i++) {
		const char *item_path = muster_arena_printf(arena, "%s[%zu]", path, i);
		if (muster_json_type(item) != MUSTER_JSON_OBJECT)
			return wrong_type(path, i, "an object", item, err);
		if (muster_sim_struct_read(arena, item, item_path, type, ret + i * type->size, err) < 0)
			return -1;
	}
	return 0;
}

static int read_many(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_field *field, char *ret, struct muster_error *err)
{
	const struct muster_json *array;
	int found = muster_json_get_array(object, path, field->key, &array, err);
	if (found <= 0)
		return found;
	const char *array_path = muster_arena_printf(arena, "%s.%s", path, field->key);
	size_t count = muster_json_size(array);
	size_t size = field->kind == MUSTER_SIM_STRUCTS ? field->items->size : sizeof(const char *);
	void *items = muster_arena_alloc(arena, count * size);
	if ((field->kind == MUSTER_SIM_STRUCTS ? read_structs(arena, array, array_path, field->items, items, err)
					       : read_strings(arena, array, array_path, items, err)) < 0)
		return -1;
	memcpy(ret + field->offset, &items, sizeof items);
	memcpy(ret + field->count_offset, &count, sizeof count);
	return 1;
}

/* 1 when read, 0 when absent, -1 on error. */
static int read_field(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_field *field, char *ret, struct muster_error *err)
{
	void *to = ret + field->offset;
	const struct muster_json *member;
	const char *text;
	double number;
	int found;

	switch (field->kind) {
	case MUSTER_SIM_INT: return muster_json_get_int(object, path, field->key, to, err);
	case MUSTER_SIM_NUMBER: return muster_json_get_number(object, path, field->key, to, err);
	case MUSTER_SIM_BOOLEAN: return muster_json_get_boolean(object, path, field->key, to, err);
	case MUSTER_SIM_WORD:
		found = muster_json_get_number(object, path, field->key, &number, err);
		if (found <= 0)
			return found;
		if (number < 0 || number > 9007199254740992.0 || number != floor(number))
			return muster_fail(
				err, MUSTER_EUSAGE, "%s.%s: must be a whole number from 0 to 2^53", path, field->key);
		*(unsigned long long *)to = (unsigned long long)number;
		return 1;
	case MUSTER_SIM_STRING_OR_NULL:
		member = muster_json_member(object, field->key);
		if (member && muster_json_type(member) == MUSTER_JSON_NULL) {
			*(const char **)to = NULL;
			return 1;
		}
		/* fallthrough */
	case MUSTER_SIM_STRING:
		found = muster_json_get_string(object, path, field->key, &text, err);
		if (found > 0)
			*(const char **)to = muster_arena_string(arena, text);
		return found;
	case MUSTER_SIM_STRINGS:
	case MUSTER_SIM_STRUCTS: return read_many(arena, object, path, field, ret, err);
	}
	return muster_fail(err, MUSTER_EUSAGE, "%s.%s: a field of no known kind", path, field->key);
}

const struct muster_sim_field *muster_sim_field_find(const struct muster_sim_struct *type, const char *key)
{
	for (size_t i = 0; i < type->count; i++)
		if (strcmp(type->fields[i].key, key) == 0)
			return &type->fields[i];
	return NULL;
}

static int read_required(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_field *field, char *ret, struct muster_error *err)
{
	int found = read_field(arena, object, path, field, ret, err);
	return found == 0 ? muster_fail(err, MUSTER_EUSAGE, "%s.%s: missing", path, field->key) : found;
}

int muster_sim_fields_read(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_struct *type, const char *const *keys, void *ret, struct muster_error *err)
{
	for (size_t i = 0; !keys && i < type->count; i++)
		if (read_required(arena, object, path, &type->fields[i], ret, err) < 0)
			return -1;
	for (; keys && *keys; keys++) {
		const struct muster_sim_field *field = muster_sim_field_find(type, *keys);
		if (!field)
			return muster_fail(
				err, MUSTER_EUSAGE, "%s.%s: a field that the struct does not have", path, *keys);
		if (read_required(arena, object, path, field, ret, err) < 0)
			return -1;
	}
	return 0;
}

int muster_sim_struct_read(struct muster_arena *arena, const struct muster_json *object, const char *path,
	const struct muster_sim_struct *type, void *ret, struct muster_error *err)
{
	const char *keys[MUSTER_SIM_KEYS_MAX + 1] = { NULL };
	for (size_t i = 0; i < type->count && i < MUSTER_SIM_KEYS_MAX; i++)
		keys[i] = type->fields[i].key;
	if (muster_json_only_keys(object, path, keys, err) < 0)
		return -1;
	return muster_sim_fields_read(arena, object, path, type, NULL, ret, err);
}

/* -- writing -- */

static int write_many(
	struct muster_json_writer *w, const struct muster_sim_field *field, const char *from, struct muster_error *err)
{
	const void *items;
	size_t count;
	memcpy(&items, from + field->offset, sizeof items);
	memcpy(&count, from + field->count_offset, sizeof count);
	muster_json_writer_array(w);
	for (size_t i = 0; i < count; i++) {
		if (field->kind == MUSTER_SIM_STRINGS)
			muster_json_writer_string(w, ((const char *const *)items)[i]);
		else if (muster_sim_struct_write(w, field->items, (const char *)items + i * field->items->size, err) <
			 0)
			return -1;
	}
	muster_json_writer_array_end(w);
	return 0;
}

static int write_field(
	struct muster_json_writer *w, const struct muster_sim_field *field, const char *base, struct muster_error *err)
{
	const void *from = base + field->offset;
	const char *text;
	switch (field->kind) {
	case MUSTER_SIM_INT: muster_json_writer_number(w, *(const int *)from); return 0;
	case MUSTER_SIM_NUMBER: muster_json_writer_number(w, *(const double *)from); return 0;
	case MUSTER_SIM_BOOLEAN: muster_json_writer_boolean(w, *(const bool *)from); return 0;
	case MUSTER_SIM_WORD: muster_json_writer_number(w, (double)*(const unsigned long long *)from); return 0;
	case MUSTER_SIM_STRING:
	case MUSTER_SIM_STRING_OR_NULL:
		text = *(const char *const *)from;
		if (!text && field->kind == MUSTER_SIM_STRING)
			return muster_fail(err, MUSTER_EUSAGE, "\"%s\" has no value", field->key);
		muster_json_writer_string(w, text);
		return 0;
	case MUSTER_SIM_STRINGS:
	case MUSTER_SIM_STRUCTS: return write_many(w, field, base, err);
	}
	return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is of no known kind", field->key);
}

int muster_sim_struct_write(
	struct muster_json_writer *w, const struct muster_sim_struct *type, const void *from, struct muster_error *err)
{
	muster_json_writer_object(w);
	for (size_t i = 0; i < type->count; i++) {
		muster_json_writer_key(w, type->fields[i].key);
		if (write_field(w, &type->fields[i], from, err) < 0)
			return -1;
	}
	muster_json_writer_object_end(w);
	return 0;
}

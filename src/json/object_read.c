/* SPDX-License-Identifier: Apache-2.0 */
/* object_read.c - structs from JSON objects, by a table of fields
 *
 * The table is one array of struct muster_field for each struct. muster_object_read walks the members of the JSON
 * object, looks each key up in the table, and reads the value into the struct at the field's offset:
 *
 *    member of the object                what happens
 *    a key of the table                  read_field: an array (`many`), labels, or one value
 *    no key of the table                 an error with the nearest key, unless the type is `open` or the key is r->note
 *    a key of the table is missing       an error, unless the field is `optional`; then the struct keeps what it had
 *
 * r->at is the chain of steps that lead to the value at hand. Each function that goes down to a member or an element
 * adds a step on its own stack, and takes the step off before it returns. So a reader is called with r->at at its
 * value, and no function needs the path as an argument.
 *
 * An error is put into r->err by the function that finds it, once. The function around it can skip the value, and asks
 * whether to go on (muster_json_reader_go_on): read_field and muster_json_member_read for a member, read_many and
 * muster_json_each_read for an element. Readers of reports have no r->go_on, and end at the first error. The readers of
 * expectation files collect all errors of a file.
 *
 * Texts are copied into r->arena. Only a field of the type JSON points into the tree, which must then live as long as
 * the struct.
 */
#include "json/object.h"

#include "util/text.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: a double holds every whole number up to it */

/* ---- what is wrong, and where ---- */

/* Set r->err to "FILE: $.path: text". The text is formatted before muster_fail is called, since an argument may point
 * into r->err. */
static void say(struct muster_json_reader *r, const char *format, va_list args)
{
	char path[MUSTER_JSON_PATH_MAX], text[MUSTER_ERROR_TEXT_MAX];
	const char *file = r->file ? r->file(r) : "";
	vsnprintf(text, sizeof text, format, args);
	muster_fail(
		r->err, MUSTER_EUSAGE, "%s%s%s: %s", file, *file ? ": " : "", muster_json_path_text(r->at, path), text);
}

void muster_json_reader_say(struct muster_json_reader *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(r, format, args);
	va_end(args);
}

void muster_json_reader_say_member(struct muster_json_reader *r, const char *key, const char *format, ...)
{
	const struct muster_json_path member = { .up = r->at, .key = key };
	va_list args;
	r->at = &member;
	va_start(args, format);
	say(r, format, args);
	va_end(args);
	r->at = member.up;
}

int muster_json_reader_go_on(struct muster_json_reader *r)
{
	return r->go_on ? r->go_on(r) : -1;
}

/* ---- single values ---- */

const char *muster_json_shown(const struct muster_json *json, char *out, size_t size)
{
	enum muster_json_type type = muster_json_type(json);
	if (type == MUSTER_JSON_STRING)
		snprintf(out, size, "\"%.60s\"", muster_json_string(json));
	else if (type == MUSTER_JSON_NUMBER)
		snprintf(out, size, "%.10g", muster_json_number(json));
	else if (type == MUSTER_JSON_BOOLEAN)
		snprintf(out, size, "%s", muster_json_boolean(json) ? "true" : "false");
	else
		snprintf(out, size, "%s", muster_json_type_name(type));
	return out;
}

/* "<what> is needed, found 7" */
static int fail_found(struct muster_json_reader *r, const struct muster_json *json, const char *what)
{
	char found[96];
	return muster_json_reader_fail(r, "%s is needed, found %s", what, muster_json_shown(json, found, sizeof found));
}

static int check_length(struct muster_json_reader *r, const struct muster_json *json, size_t most)
{
	if (most == 0 || muster_json_type(json) != MUSTER_JSON_STRING)
		return 0;
	size_t length = strlen(muster_json_string(json));
	return length <= most
		       ? 0
		       : muster_json_reader_fail(r, "a string of %zu bytes, at most %zu are allowed", length, most);
}

/* Append an item to a list of texts, with the separator before each item but the first. What does not fit into `size`
 * bytes is cut: the lists are for messages only. */
static void join(char *list, size_t size, const char *separator, const char *item)
{
	size_t used = strlen(list);
	snprintf(list + used, size - used, "%s%s", used > 0 ? separator : "", item);
}

/* 0 when the type of the value is among the MUSTER_JSON_BIT()s. Otherwise -1 with "null or a number is needed, found
 * \"x\"". Unlike muster_json_need this does not check the length of a string. */
static int need(struct muster_json_reader *r, const struct muster_json *json, unsigned int types)
{
	if (types & MUSTER_JSON_BIT(muster_json_type(json)))
		return 0;
	char allowed[128] = "";
	for (enum muster_json_type type = MUSTER_JSON_NULL; type <= MUSTER_JSON_OBJECT; type++)
		if (types & MUSTER_JSON_BIT(type))
			join(allowed, sizeof allowed, " or ", muster_json_type_name(type));
	return fail_found(r, json, allowed);
}

int muster_json_need(struct muster_json_reader *r, const struct muster_json *json, unsigned int types)
{
	return need(r, json, types) < 0 ? -1 : check_length(r, json, r->text_max);
}

int muster_json_boolean_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	if (need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_BOOLEAN)) < 0)
		return -1;
	*(bool *)into = muster_json_boolean(json);
	return 0;
}

int muster_json_number_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	if (need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_NUMBER)) < 0)
		return -1;
	*(double *)into = muster_json_number(json);
	return 0;
}

/* A whole number in [low, high] into *ret. type_low and type_high are the limits of the C type: the message names only
 * those limits that are narrower than the type's. */
static int read_whole(struct muster_json_reader *r, const struct muster_json *json, double low, double high,
	double type_low, double type_high, double *ret)
{
	char what[96];
	if (need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_NUMBER)) < 0)
		return -1;
	double number = muster_json_number(json);
	if (number >= low && number <= high && number >= trunc(number) && number <= trunc(number)) {
		*ret = number;
		return 0;
	}
	if (low >= high)
		snprintf(what, sizeof what, "%.0f", low);
	else if (low <= type_low && high >= type_high && low < 0)
		snprintf(what, sizeof what, "a whole number");
	else if (high >= type_high)
		snprintf(what, sizeof what, "a whole number from %.0f", low);
	else
		snprintf(what, sizeof what, "a whole number from %.0f to %.0f", low, high);
	return fail_found(r, json, what);
}

int muster_json_int_read(struct muster_json_reader *r, const struct muster_json *json, int low, int high, int *ret)
{
	double number;
	if (read_whole(r, json, low, high, INT_MIN, INT_MAX, &number) < 0)
		return -1;
	*ret = (int)number;
	return 0;
}

/* An INT field. In the table, low and high both 0 mean any int; high 0 with another low means no upper limit. */
static int read_int(
	struct muster_json_reader *r, const struct muster_field *field, int *into, const struct muster_json *json)
{
	int low = field->low, high = field->high ? field->high : INT_MAX;
	return muster_json_int_read(r, json, low || field->high ? low : INT_MIN, high, into);
}

/* Into a size_t or a uint64_t, which are of one size here (see the assertion below). memcpy, since the field may be an
 * unsigned long or an unsigned long long, and neither pointer type may stand for the other. */
static int read_word(
	struct muster_json_reader *r, const struct muster_field *field, void *into, const struct muster_json *json)
{
	double number, high = field->high ? field->high : WHOLE_MAX;
	if (read_whole(r, json, field->low, high, 0, WHOLE_MAX, &number) < 0)
		return -1;
	uint64_t word = (uint64_t)number;
	memcpy(into, &word, sizeof word);
	return 0;
}
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "both are read as one");

/* A string of `least` to `most` bytes (most 0: r->text_max), interned in r->arena. With or_null a JSON null gives NULL.
 */
static int read_text(struct muster_json_reader *r, const char **into, const struct muster_json *json, size_t least,
	size_t most, bool or_null)
{
	unsigned int types = MUSTER_JSON_BIT(MUSTER_JSON_STRING) | (or_null ? MUSTER_JSON_BIT(MUSTER_JSON_NULL) : 0);
	if (need(r, json, types) < 0 || check_length(r, json, most ? most : r->text_max) < 0)
		return -1;
	const char *text = muster_json_type(json) == MUSTER_JSON_STRING ? muster_json_string(json) : NULL;
	if (text && strlen(text) < least)
		return least == 1 ? muster_json_reader_fail(r, "must not be empty")
				  : muster_json_reader_fail(r, "a string of at least %zu bytes is needed", least);
	*into = muster_arena_string(r->arena, text);
	return 0;
}

int muster_json_text_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return read_text(r, into, json, 1, 0, false);
}

int muster_json_name_read(
	struct muster_json_reader *r, const struct muster_json *json, const char *const *names, size_t count)
{
	char list[256] = "", what[300];
	for (size_t i = 0; muster_json_type(json) == MUSTER_JSON_STRING && i < count; i++)
		if (strcmp(names[i], muster_json_string(json)) == 0)
			return (int)i;
	for (size_t i = 0; i < count; i++)
		join(list, sizeof list, ", ", names[i]);
	snprintf(what, sizeof what, "one of %s", list);
	return fail_found(r, json, what);
}

int muster_json_value_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_value *value = into;
	if (muster_json_need(r, json, MUSTER_JSON_SCALAR) < 0)
		return -1;
	switch (muster_json_type(json)) {
	case MUSTER_JSON_NUMBER: *value = muster_number(muster_json_number(json)); break;
	case MUSTER_JSON_STRING: *value = muster_string(muster_arena_string(r->arena, muster_json_string(json))); break;
	case MUSTER_JSON_BOOLEAN: *value = muster_boolean(muster_json_boolean(json)); break;
	default: *value = muster_null(); break;
	}
	return 0;
}

/* ---- objects ---- */

static int read_object(struct muster_json_reader *r, const struct muster_json *json,
	const struct muster_object_type *type, unsigned int part, void *into);

size_t muster_field_size(const struct muster_field *field)
{
	static const size_t sizes[] = {
		[MUSTER_FIELD_BOOLEAN] = sizeof(bool),
		[MUSTER_FIELD_INT] = sizeof(int),
		[MUSTER_FIELD_SIZE] = sizeof(size_t),
		[MUSTER_FIELD_WORD] = sizeof(uint64_t),
		[MUSTER_FIELD_NUMBER] = sizeof(double),
		[MUSTER_FIELD_TEXT] = sizeof(const char *),
		[MUSTER_FIELD_NAME] = sizeof(int),
		[MUSTER_FIELD_VALUE] = sizeof(struct muster_value),
		[MUSTER_FIELD_JSON] = sizeof(const struct muster_json *),
	};
	if (field->read || field->size)
		return field->size;
	return field->type == MUSTER_FIELD_OBJECT ? field->object->size : sizes[field->type];
}

int muster_field_read(
	struct muster_json_reader *r, const struct muster_field *field, void *into, const struct muster_json *json)
{
	int name;
	if (field->read)
		return field->read(r, into, json);
	switch (field->type) {
	case MUSTER_FIELD_BOOLEAN: return muster_json_boolean_read(r, into, json);
	case MUSTER_FIELD_INT: return read_int(r, field, into, json);
	case MUSTER_FIELD_SIZE:
	case MUSTER_FIELD_WORD: return read_word(r, field, into, json);
	case MUSTER_FIELD_NUMBER: return muster_json_number_read(r, into, json);
	case MUSTER_FIELD_TEXT:
		return read_text(
			r, into, json, field->many ? 0 : field->least, field->many ? 0 : field->most, field->or_null);
	case MUSTER_FIELD_NAME:
		name = muster_json_name_read(r, json, field->names, field->name_count);
		if (name >= 0)
			*(int *)into = name;
		return name < 0 ? -1 : 0;
	case MUSTER_FIELD_VALUE: return muster_json_value_read(r, into, json);
	case MUSTER_FIELD_JSON:
		if (need(r, json, field->types) < 0 ||
			check_length(r, json, field->most ? field->most : r->text_max) < 0)
			return -1;
		*(const struct muster_json **)into = json;
		return 0;
	case MUSTER_FIELD_LABELS: break; /* has two fields, and comes alone */
	case MUSTER_FIELD_OBJECT: return read_object(r, json, field->object, field->object_part, into);
	}
	return muster_json_reader_fail(r, "a field of no known type");
}

/* What an element of an array has before it is read: the `initial` struct of its type, the base's first. A type without
 * `initial` leaves the zeros of the arena. */
static void set_initial(void *to, const struct muster_object_type *type)
{
	if (type->base)
		set_initial(to, type->base);
	if (type->initial)
		memcpy(to, type->initial, type->size);
}

/* An array, or with `members` an object, into a new array in the arena. The number of elements is known from the tree,
 * so that the items are allocated at once, zeroed. When reading goes on after an error, the array has its whole length
 * and the element with the error is half filled. The pointer and the count are written by memcpy because the table
 * knows only their offsets, not their types. */
static int read_many(
	struct muster_json_reader *r, const struct muster_field *field, void *base, const struct muster_json *json)
{
	if (need(r, json, MUSTER_JSON_BIT(field->members ? MUSTER_JSON_OBJECT : MUSTER_JSON_ARRAY)) < 0)
		return -1;
	size_t count = muster_json_size(json), size = muster_field_size(field);
	if (count < field->least)
		return field->least == 1 ? muster_json_reader_fail(r, "must not be empty")
					 : muster_json_reader_fail(r, "at least %zu elements are needed, found %zu",
						   field->least, count);
	if (field->most && count > field->most)
		return muster_json_reader_fail(r, "at most %zu elements are allowed, found %zu", field->most, count);
	char *items = muster_arena_alloc(r->arena, count * size);
	for (size_t i = 0; field->object && i < count; i++)
		set_initial(items + i * size, field->object);
	struct muster_json_path element = { .up = r->at };
	int rc = 0;
	for (json = muster_json_first(json); json && rc == 0; json = muster_json_next(json), element.index++) {
		element.key = muster_json_key(json);
		r->at = &element;
		if (muster_field_read(r, field, items + element.index * size, json) < 0)
			rc = muster_json_reader_go_on(r);
	}
	r->at = element.up;
	memcpy((char *)base + field->offset, &items, sizeof items);
	memcpy((char *)base + field->count_offset, &count, sizeof count);
	return rc;
}

static int read_label(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_label *label = into;
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_STRING) | MUSTER_JSON_BIT(MUSTER_JSON_NUMBER)) < 0)
		return -1;
	label->key = muster_arena_string(r->arena, muster_json_key(json));
	return muster_json_value_read(r, &label->value, json);
}

/* An object of labels: at most MUSTER_LABELS_MAX members, each a string or a number. No label gives NULL and 0. */
static int read_labels(
	struct muster_json_reader *r, const struct muster_field *field, void *base, const struct muster_json *json)
{
	if (need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0)
		return -1;
	size_t count = muster_json_size(json);
	if (count > MUSTER_LABELS_MAX)
		return muster_json_reader_fail(r, "%zu labels, at most %d are allowed", count, MUSTER_LABELS_MAX);
	struct muster_label *labels = count ? muster_arena_alloc(r->arena, count * sizeof *labels) : NULL;
	memcpy((char *)base + field->offset, &labels, sizeof labels);
	memcpy((char *)base + field->count_offset, &count, sizeof count);
	return muster_json_each_read(r, json, read_label, labels, sizeof *labels);
}

/* Read the member that belongs to a field, with the member's key as a step of the path. `present` is set even if the
 * value has an error. */
static int read_field(
	struct muster_json_reader *r, const struct muster_field *field, void *base, const struct muster_json *json)
{
	const struct muster_json_path member = { .up = r->at, .key = field->key };
	r->at = &member;
	int rc = field->many                          ? read_many(r, field, base, json)
		 : field->type == MUSTER_FIELD_LABELS ? read_labels(r, field, base, json)
						      : muster_field_read(r, field, (char *)base + field->offset, json);
	if (field->present)
		*(bool *)(void *)((char *)base + field->present) = true;
	if (rc < 0)
		rc = muster_json_reader_go_on(r);
	r->at = member.up;
	return rc;
}

static size_t field_count(const struct muster_object_type *type)
{
	return type->count + (type->base ? field_count(type->base) : 0);
}

/* The fields of a type, those of its base first, by number; NULL for one that is not in the part. */
static const struct muster_field *field_at(const struct muster_object_type *type, unsigned int part, size_t index)
{
	size_t before = type->base ? field_count(type->base) : 0;
	if (index < before)
		return field_at(type->base, type->base_part, index);
	const struct muster_field *field = &type->fields[index - before];
	return !part || field->part & part ? field : NULL;
}

/* The field with this key, in the base first, and its number by the count of field_at. The first letters are compared
 * before strcmp: a report has millions of keys. */
static const struct muster_field *find_field(
	const struct muster_object_type *type, unsigned int part, const char *key, size_t *ret_index)
{
	const struct muster_field *field = type->base ? find_field(type->base, type->base_part, key, ret_index) : NULL;
	if (field)
		return field;
	for (size_t i = 0; i < type->count; i++) {
		field = &type->fields[i];
		if (field->key[0] != key[0] || (part && !(field->part & part)) || strcmp(field->key, key) != 0)
			continue;
		*ret_index = field_count(type) - type->count + i;
		return field;
	}
	return NULL;
}

/* The nearest key is the one with the fewest letters to change, if these are at most a third of the key's length.
 * `limit` falls with each nearer key, so that of equally near keys the first one in the table is named. */
int muster_json_unknown_fail(
	struct muster_json_reader *r, const struct muster_object_type *type, unsigned int part, const char *key)
{
	char allowed[640] = "";
	const char *nearest = NULL;
	size_t limit = strlen(key) / 3 + 1; /* letters that differ: fewer than this */
	for (size_t i = 0; i < field_count(type); i++) {
		const struct muster_field *field = field_at(type, part, i);
		if (!field)
			continue;
		join(allowed, sizeof allowed, ", ", field->key);
		size_t distance = muster_suggest_distance(key, field->key);
		nearest = distance < limit ? field->key : nearest;
		limit = distance < limit ? distance : limit;
	}
	if (nearest)
		return muster_json_reader_fail_member(
			r, key, "unknown key; did you mean \"%s\"? Allowed are %s", nearest, allowed);
	return muster_json_reader_fail_member(r, key, "unknown key, allowed are %s", allowed);
}

/* Two passes: over the members of the JSON object, and over the table for keys that are missing. `seen` has one bit for
 * each field in the order of field_at. The parser has refused duplicate keys, so that no field is read twice. */
static int read_object(struct muster_json_reader *r, const struct muster_json *json,
	const struct muster_object_type *type, unsigned int part, void *into)
{
	uint64_t seen[MUSTER_FIELDS_MAX / 64] = { 0 };
	size_t count = field_count(type), i;
	if (need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0)
		return -1;
	if (count > MUSTER_FIELDS_MAX)
		return muster_json_reader_fail(r, "%zu fields, at most %d are allowed", count, MUSTER_FIELDS_MAX);
	for (json = muster_json_first(json); json; json = muster_json_next(json)) {
		const char *key = muster_json_key(json);
		const struct muster_field *field = find_field(type, part, key, &i);
		if (field) {
			seen[i / 64] |= (uint64_t)1 << i % 64;
			if (read_field(r, field, into, json) < 0)
				return -1;
		} else if (!type->open && !(r->note && strcmp(r->note, key) == 0)) {
			muster_json_unknown_fail(r, type, part, key);
			if (muster_json_reader_go_on(r) < 0)
				return -1;
		}
	}
	for (i = 0; i < count; i++) {
		const struct muster_field *field = field_at(type, part, i);
		if (!field || field->optional || seen[i / 64] & (uint64_t)1 << i % 64)
			continue;
		muster_json_reader_say(r, "the key \"%s\" is missing", field->key);
		if (muster_json_reader_go_on(r) < 0)
			return -1;
	}
	return 0;
}

int muster_object_read(
	struct muster_json_reader *r, const struct muster_json *json, const struct muster_object_type *type, void *into)
{
	return read_object(r, json, type, 0, into);
}

int muster_json_member_read(struct muster_json_reader *r, const char *key, size_t index, muster_field_read_fn *read,
	void *into, const struct muster_json *json)
{
	const struct muster_json_path here = { .up = r->at, .key = key, .index = index };
	r->at = &here;
	int rc = read(r, into, json);
	if (rc < 0)
		rc = muster_json_reader_go_on(r);
	r->at = here.up;
	return rc;
}

int muster_json_each_read(struct muster_json_reader *r, const struct muster_json *json, muster_field_read_fn *read,
	void *items, size_t size)
{
	size_t index = 0;
	for (json = muster_json_first(json); json; json = muster_json_next(json), index++)
		if (muster_json_member_read(r, muster_json_key(json), index, read, (char *)items + index * size, json) <
			0)
			return -1;
	return 0;
}

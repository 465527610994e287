/* SPDX-License-Identifier: Apache-2.0 */
/* object_write.c - JSON objects from structs, by the table of fields that reads them
 *
 * The inverse of object_read.c: each field of the table is written under its key, in the table's order, those of the
 * base first.
 *
 *    type of the field     an optional field is left out when it is
 *    BOOLEAN               false
 *    INT                   not above `absent` (0 unless the row says so)
 *    SIZE, WORD            0
 *    NUMBER                0 or not finite
 *    TEXT                  NULL
 *    many, LABELS          of no elements
 *    with `present`        not present, whatever its value
 *    NAME, VALUE, OBJECT   never, unless the row has `present`
 *    JSON                  always: such a field borrows from a tree, and is not written
 *
 * For an absent member the reader leaves the field as it was: readers begin with a struct in which the field has a
 * value that is left out.
 */
#include "json/object.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static void write_object(
	struct muster_json_writer *w, const struct muster_object_type *type, unsigned int part, const void *from);

/* A size_t or a uint64_t, as of read_word in object_read.c. */
static uint64_t word_at(const void *from)
{
	uint64_t word;
	memcpy(&word, from, sizeof word);
	return word;
}

static size_t count_at(const struct muster_field *field, const char *base)
{
	size_t count;
	memcpy(&count, base + field->count_offset, sizeof count);
	return count;
}

/* A text that must be there and is NULL is written as null, which no reader would take back. w->incomplete keeps the
 * first such key, so that the caller can refuse to publish the file. */
static void write_text(struct muster_json_writer *w, const struct muster_field *field, const char *text)
{
	if (!text && !field->or_null && !w->incomplete)
		w->incomplete = field->key;
	muster_json_writer_string(w, text);
}

/* One value, or one element of an array, by the field's own `write` or by its type. LABELS and JSON are handled by the
 * callers (write_labels, is_absent). */
static void write_one(struct muster_json_writer *w, const struct muster_field *field, const void *from)
{
	int saved;
	if (field->write) {
		field->write(w, from);
		return;
	}
	switch (field->type) {
	case MUSTER_FIELD_BOOLEAN: muster_json_writer_boolean(w, *(const bool *)from); break;
	case MUSTER_FIELD_INT: muster_json_writer_number(w, *(const int *)from); break;
	case MUSTER_FIELD_SIZE:
	case MUSTER_FIELD_WORD: muster_json_writer_number(w, (double)word_at(from)); break;
	case MUSTER_FIELD_NUMBER: muster_json_writer_number(w, *(const double *)from); break;
	case MUSTER_FIELD_TEXT: write_text(w, field, *(const char *const *)from); break;
	case MUSTER_FIELD_NAME: muster_json_writer_string(w, field->names[*(const int *)from]); break;
	case MUSTER_FIELD_VALUE: muster_json_writer_value(w, *(const struct muster_value *)from); break;
	case MUSTER_FIELD_OBJECT:
		saved = field->one_line ? muster_json_writer_line_begin(w) : w->indent_depth;
		write_object(w, field->object, field->object_part, from);
		muster_json_writer_line_end(w, saved);
		break;
	case MUSTER_FIELD_LABELS:
	case MUSTER_FIELD_JSON: break;
	}
}

/* Whether the member is left out; the table in the file's head lists the cases. */
static bool is_absent(const struct muster_field *field, const char *base)
{
	const void *from = base + field->offset;
	if (field->type == MUSTER_FIELD_JSON)
		return true;
	if (!field->optional)
		return false;
	if (field->present)
		return !*(const bool *)(const void *)(base + field->present);
	if (field->many || field->type == MUSTER_FIELD_LABELS)
		return count_at(field, base) == 0;
	switch (field->type) {
	case MUSTER_FIELD_BOOLEAN: return !*(const bool *)from;
	case MUSTER_FIELD_INT: return *(const int *)from <= field->absent;
	case MUSTER_FIELD_SIZE:
	case MUSTER_FIELD_WORD: return word_at(from) == 0;
	case MUSTER_FIELD_NUMBER:
		return !isfinite(*(const double *)from) || fpclassify(*(const double *)from) == FP_ZERO;
	case MUSTER_FIELD_TEXT: return !*(const char *const *)from;
	default: return false;
	}
}

/* Always an array: tables with `members` (an object of named items) are only read, never written. */
static void write_many(struct muster_json_writer *w, const struct muster_field *field, const char *base)
{
	const char *items;
	size_t count = count_at(field, base), size = muster_field_size(field);
	memcpy(&items, base + field->offset, sizeof items);
	/* numbers and texts fit on a line */
	int saved = field->type != MUSTER_FIELD_OBJECT ? muster_json_writer_line_begin(w) : w->indent_depth;
	muster_json_writer_array(w);
	for (size_t i = 0; i < count; i++)
		write_one(w, field, items + i * size);
	muster_json_writer_array_end(w);
	muster_json_writer_line_end(w, saved);
}

static void write_labels(struct muster_json_writer *w, const struct muster_field *field, const char *base)
{
	const struct muster_label *labels;
	size_t count = count_at(field, base);
	memcpy(&labels, base + field->offset, sizeof labels);
	muster_json_writer_labels(w, labels, count);
}

static void write_members(
	struct muster_json_writer *w, const struct muster_object_type *type, unsigned int part, const char *from)
{
	if (type->base)
		write_members(w, type->base, type->base_part, from);
	for (size_t i = 0; i < type->count; i++) {
		const struct muster_field *field = &type->fields[i];
		if ((part && !(field->part & part)) || is_absent(field, from))
			continue;
		muster_json_writer_key(w, field->key);
		if (field->many)
			write_many(w, field, from);
		else if (field->type == MUSTER_FIELD_LABELS)
			write_labels(w, field, from);
		else
			write_one(w, field, from + field->offset);
	}
}

static void write_object(
	struct muster_json_writer *w, const struct muster_object_type *type, unsigned int part, const void *from)
{
	muster_json_writer_object(w);
	write_members(w, type, part, from);
	muster_json_writer_object_end(w);
}

void muster_object_write(struct muster_json_writer *w, const struct muster_object_type *type, const void *from)
{
	write_object(w, type, 0, from);
}

void muster_members_write(struct muster_json_writer *w, const struct muster_object_type *type, const void *from)
{
	write_members(w, type, 0, from);
}

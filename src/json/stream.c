/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - a text of any length, of which one part at a time is in memory and becomes a tree
 *
 * A report of 4,096 nodes is read as many small trees, each of which the strict parser of json.c checks. Only the
 * objects and arrays around them are read here, byte by byte. The pieces and how they are used:
 *
 *    muster_json_stream_object    an object that is too large for a tree: "run", a node
 *    muster_json_stream_array     an array of any length: nodes, ranks, samples
 *    muster_json_stream_take      the text of one value, found by its brackets and quotes alone
 *    muster_json_part_read        such a text becomes a tree, and is read by the table of fields
 *
 * A byte that breaks the grammar inside a part is found by the parser, one between parts here.
 *
 * The buffer holds the part at hand and what was read ahead:
 *
 *    text: [ done | part at hand | read ahead | room ]
 *          0      start          at           length   room
 *
 * Bytes before `start` may be overwritten by the next read (fill), which moves the rest to the front. So the text of a
 * part is there only until the stream is read again, and an offset that a caller keeps must be handed to fill as `at`,
 * which corrects it.
 *
 * A member that needs another one (`needs`), as the run of a report needs the version of the schema, is kept as text
 * when it comes first: the members of an object have no order in JSON.
 */
#include "json/stream.h"

#include "json/json.h"
#include "json/number.h"
#include "json/scan.h"
#include "muster/arena.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 1 << 18, KEY_MAX = 256 };
enum { FAILED = -1, ENDED = -2 }; /* in place of a byte */

void muster_json_stream_init(struct muster_json_stream *s, muster_json_more_fn *more, void *from)
{
	*s = (struct muster_json_stream){ .more = more, .from = from };
}

void muster_json_stream_done(struct muster_json_stream *s)
{
	free(s->buffer);
	*s = (struct muster_json_stream){ .text = NULL };
}

/* ---- errors ---- */

/* Line and column move over the first bytes of the text. */
static void move_over(const char *text, size_t length, size_t *line, size_t *column)
{
	const char *end = text + length, *next;
	while ((next = memchr(text, '\n', (size_t)(end - text)))) {
		++*line;
		*column = 0;
		text = next + 1;
	}
	*column += (size_t)(end - text);
}

/* -1 with "PATH: line L, column C: ...", of the byte text[at]. */
static int fail_at(struct muster_json_reader *r, const struct muster_json_stream *s, size_t at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int fail_at(struct muster_json_reader *r, const struct muster_json_stream *s, size_t at, const char *format, ...)
{
	char what[128], path[MUSTER_JSON_PATH_MAX];
	size_t line = s->line, column = s->column;
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	move_over(s->text, at, &line, &column);
	return muster_fail(r->err, MUSTER_EUSAGE, "%s%sline %zu, column %zu: %s",
		r->at ? muster_json_path_text(r->at, path) : "", r->at ? ": " : "", line + 1, column + 1, what);
}

/* ---- bytes ---- */

/* Get more of the text: 1 when some came, 0 when there is no more, -1 with r->err. What stands before s->start goes,
 * and *at stays at its byte. The buffer doubles when less than half of it is free. */
static int fill(struct muster_json_reader *r, struct muster_json_stream *s, size_t *at)
{
	if (!s->more)
		return 0;
	if (s->start > 0) {
		move_over(s->text, s->start, &s->line, &s->column);
		s->length -= s->start;
		s->at -= s->start;
		*at -= s->start;
		memmove(s->buffer, s->buffer + s->start, s->length);
		s->start = 0;
	}
	if (s->room - s->length < s->room / 2 || s->room == 0) {
		s->room = s->room ? s->room * 2 : ROOM_FIRST;
		s->buffer = muster_realloc(s->buffer, s->room, 1);
		s->text = s->buffer;
	}
	ssize_t got = s->more(s->from, s->buffer + s->length, s->room - s->length, r->err);
	if (got <= 0)
		return got < 0 ? -1 : 0;
	s->length += (size_t)got;
	return 1;
}

/* Whether text[*at] is there, after more was read if need be. -1: reading failed. */
static int has(struct muster_json_reader *r, struct muster_json_stream *s, size_t *at)
{
	return *at < s->length ? 1 : fill(r, s, at);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The first byte that is no blank, which stays; or FAILED, or ENDED. */
static int peek(struct muster_json_reader *r, struct muster_json_stream *s)
{
	size_t at = s->at;
	int there;
	do {
		while (at < s->length && is_blank(s->text[at]))
			at++;
		s->start = s->at = at;
	} while ((there = has(r, s, &at)) > 0 && is_blank(s->text[at]));
	return there > 0 ? (unsigned char)s->text[at] : there < 0 ? FAILED : ENDED;
}

/* -1 at the byte of peek(): something else is needed there. */
static int fail_peek(struct muster_json_reader *r, const struct muster_json_stream *s, int byte, const char *needed)
{
	return byte == FAILED ? -1 : fail_at(r, s, s->at, "%s", needed);
}

/* ---- values by their brackets and quotes alone ---- */

/* Move *at from the opening quote behind the closing one. A quote is the closing one when an even number of backslashes
 * stands before it. The string may end in a later read: the offset of the opening quote from s->start stays valid,
 * since fill moves both by the same distance. */
static int pass_string(struct muster_json_reader *r, struct muster_json_stream *s, size_t *at)
{
	size_t open = *at - s->start; /* the start stays in memory */
	for (++*at;; ++*at) {
		const char *quote = memchr(s->text + *at, '"', s->length - *at);
		if (!quote) {
			*at = s->length;
			int there = fill(r, s, at);
			if (there <= 0)
				return there < 0 ? -1 : fail_at(r, s, s->start + open, "string without an end");
			--*at;
			continue;
		}
		const char *before = quote;
		while (before[-1] == '\\') /* ends at the opening quote at the latest */
			before--;
		*at = (size_t)(quote - s->text);
		if ((quote - before) % 2 == 0)
			break;
	}
	++*at;
	return 0;
}

/* Bytes at which pass_stretch stops. [0] is for a number or a word outside of brackets, which also ends at a comma or a
 * blank; [1] is for the inside of brackets, where only brackets and quotes matter. */
static const bool stops[2][256] = {
	{ ['"'] = 1,
		['{'] = 1,
		['}'] = 1,
		['['] = 1,
		[']'] = 1,
		[','] = 1,
		[' '] = 1,
		['\t'] = 1,
		['\r'] = 1,
		['\n'] = 1 },
	{ ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1 },
};

/* Move *at to the next byte that stops, reading more if need be. 0 at the end of the text, -1 with an error. */
static int pass_stretch(struct muster_json_reader *r, struct muster_json_stream *s, size_t *at, const bool stop[256])
{
	int there;
	do {
		while (*at < s->length && !stop[(unsigned char)s->text[*at]])
			++*at;
	} while ((there = has(r, s, at)) > 0 && !stop[(unsigned char)s->text[*at]]);
	return there;
}

/* Brackets are only counted: whether each one closes its own kind is the parser's business. A ',' or a '}' in the place
 * of a value moves nothing, and is an error here. */
int muster_json_stream_take(struct muster_json_reader *r, struct muster_json_stream *s, struct muster_json_part *ret)
{
	int there, byte = peek(r, s);
	size_t depth = 0, at = s->at;
	if (byte == FAILED)
		return -1;
	while ((there = has(r, s, &at)) > 0) {
		const char c = s->text[at];
		if (c == '"') {
			if (pass_string(r, s, &at) < 0)
				return -1;
		} else if (c == '{' || c == '[') {
			depth++;
			at++;
		} else if (c == '}' || c == ']') {
			at += depth > 0;
			depth -= depth > 0;
		} else if (pass_stretch(r, s, &at, stops[depth > 0]) < 0) {
			return -1;
		}
		if (depth == 0)
			break;
	}
	if (there < 0)
		return -1;
	if (depth > 0 || at == s->start)
		return fail_at(r, s, s->start, depth > 0 ? "never closed" : "a value is needed");
	s->at = at;
	*ret = (struct muster_json_part){ s->text + s->start, at - s->start };
	return 0;
}

/* These three look only at what is in memory and never read more: false may also mean that the text ends too early
 * there. Then the caller reads the value in the ordinary way, which is always right and only slower (known.c). Since
 * nothing is read, a caller may copy the struct before, and copy it back to undo. */
bool muster_json_stream_pass(struct muster_json_stream *s, struct muster_json_part value)
{
	size_t at = s->at;
	while (at < s->length && is_blank(s->text[at]))
		at++;
	if (s->length - at < value.length || memcmp(s->text + at, value.text, value.length) != 0)
		return false;
	s->at = s->start = at + value.length;
	return true;
}

bool muster_json_stream_pass_text(struct muster_json_stream *s, const char *text)
{
	return muster_json_stream_pass(s, (struct muster_json_part){ text, strlen(text) });
}

/* False for a number that ends where the memory ends: more digits may follow in the next read. */
bool muster_json_stream_pass_number(struct muster_json_stream *s, double *ret)
{
	if (s->at >= s->length)
		return false;
	const size_t end = muster_json_number_at(s->text, s->at, s->length, ret);
	if (end == s->at || end == s->length || end - s->at >= MUSTER_JSON_NUMBER_MAX || !isfinite(*ret))
		return false;
	s->at = s->start = end;
	return true;
}

/* ---- trees ---- */

/* A part as a tree. Line and column in the parser's message count from the start of the part, and the message says so.
 */
static int parse_part(struct muster_json_reader *r, struct muster_json_part part, struct muster_json **ret)
{
	char path[MUSTER_JSON_PATH_MAX];
	if (r->part_max && part.length > r->part_max)
		return muster_json_reader_fail(r, "%zu bytes, at most %zu are allowed", part.length, r->part_max);
	if (muster_json_parse(part.text, part.length, ret, r->err) == 0)
		return 0;
	return !r->err ? -1
		       : muster_wrap(r->err, "%s, lines counted from its start", muster_json_path_text(r->at, path));
}

int muster_json_part_read(
	struct muster_json_reader *r, struct muster_json_part part, muster_field_read_fn *read, void *into)
{
	struct muster_json *json = NULL;
	if (parse_part(r, part, &json) < 0)
		return -1;
	int rc = read(r, into, json);
	muster_json_free(json);
	return rc;
}

/* The field that a tree is read into, for read_tree, which gets one pointer. */
struct place {
	const struct muster_field *field;
	void *into;
};

static int read_tree(struct muster_json_reader *r, void *into, struct muster_json_stream *s)
{
	const struct place *place = into;
	struct muster_json_part part;
	struct muster_json *json = NULL;
	if (muster_json_stream_take(r, s, &part) < 0 || parse_part(r, part, &json) < 0)
		return -1;
	int rc = muster_field_read(r, place->field, place->into, json);
	muster_json_free(json);
	return rc;
}

/* With `many`, each element is read into the field itself and none is collected: such a field needs a `read` that puts
 * the element where it belongs, as muster_trial_read adds a trial to the run. */
int muster_json_stream_field(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	struct place place = { field, (char *)base + field->offset };
	return field->many ? muster_json_stream_array(r, s, field->most, read_tree, &place) : read_tree(r, &place, s);
}

/* ---- arrays and objects ---- */

static int read_needed(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_json_need(r, json, *(const unsigned int *)into);
}

/* Pass the bracket that opens the object or array which comes next. Where another value stands, that value is read as a
 * tree, so that the message is the one that muster_object_read gives: "an object is needed, found 7". At the root there
 * is no path, and the message has line and column instead. */
static int enter(struct muster_json_reader *r, struct muster_json_stream *s, char bracket)
{
	unsigned int type = MUSTER_JSON_BIT(bracket == '{' ? MUSTER_JSON_OBJECT : MUSTER_JSON_ARRAY);
	struct muster_json_part part;
	int byte = peek(r, s);
	if (byte == bracket) {
		s->at++;
		return 0;
	}
	if (byte < 0 || !r->at)
		return fail_peek(r, s, byte, bracket == '{' ? "an object is needed" : "an array is needed");
	return muster_json_stream_take(r, s, &part) < 0 || muster_json_part_read(r, part, read_needed, &type) < 0
		       ? -1
		       : fail_at(r, s, s->at, "a value is needed");
}

/* Behind a member or an element: 1 when another one follows, 0 when the bracket closes, else -1. */
static int go_on(struct muster_json_reader *r, struct muster_json_stream *s, char bracket)
{
	int byte = peek(r, s);
	if (byte != ',' && byte != bracket)
		return fail_peek(r, s, byte, bracket == '}' ? "a ',' or '}' is needed" : "a ',' or ']' is needed");
	s->at++;
	return byte == ',';
}

/* Whether the object or array at hand is empty; its end is passed then. */
static bool is_empty(struct muster_json_reader *r, struct muster_json_stream *s, char bracket)
{
	bool empty = peek(r, s) == bracket;
	s->at += empty;
	return empty;
}

/* here.index is the element's place in error messages. element() must read or take exactly one value. */
int muster_json_stream_array(struct muster_json_reader *r, struct muster_json_stream *s, size_t most,
	muster_json_element_fn *element, void *into)
{
	struct muster_json_path here = { .up = r->at };
	int more = 1;
	if (enter(r, s, '[') < 0)
		return -1;
	if (is_empty(r, s, ']'))
		return 0;
	for (; more > 0; here.index++) {
		if (here.index >= most)
			return muster_json_reader_fail(r, "more than %zu elements", most);
		r->at = &here;
		int rc = element(r, into, s);
		r->at = here.up;
		more = rc < 0 ? -1 : go_on(r, s, ']');
	}
	return more;
}

static int copy_key(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	(void)r;
	snprintf(into, KEY_MAX + 1, "%s", muster_json_string(json));
	return 0;
}

/* The key of the member that comes next, up to KEY_MAX bytes of it; the ':' behind it is passed. A key without escapes,
 * as nearly all are, is copied from the text. One with a backslash, or with bytes that are not allowed in a string,
 * goes through the parser, which decodes it or says what is wrong. A cut key is longer than any key of a table, so that
 * it is unknown. */
static int read_key(struct muster_json_reader *r, struct muster_json_stream *s, char key[KEY_MAX + 1])
{
	struct muster_json_part part;
	size_t end;
	int byte = peek(r, s);
	if (byte != '"')
		return fail_peek(r, s, byte, byte == ENDED ? "the text ends too early" : "a key in quotes is needed");
	if (muster_json_stream_take(r, s, &part) < 0)
		return -1;
	if (memchr(part.text, '\\', part.length)) {
		if (muster_json_part_read(r, part, copy_key, key) < 0)
			return -1;
	} else if (muster_json_string_end(part.text, 0, part.length, &end, NULL) < 0) {
		return muster_json_part_read(r, part, copy_key, key); /* says what is wrong */
	} else {
		snprintf(key, KEY_MAX + 1, "%.*s", (int)(part.length - 2 < KEY_MAX ? part.length - 2 : KEY_MAX),
			part.text + 1);
	}
	byte = peek(r, s);
	if (byte != ':')
		return fail_peek(r, s, byte, "a ':' is needed");
	s->at++;
	return 0;
}

/* A member that came before the one that it needs: its text, with the line and column of its first byte, for messages.
 */
struct kept {
	char *text; /* NULL: none */
	size_t length, line, column;
};

struct object {
	const struct muster_object_type *type;
	void *base;
	bool there[MUSTER_FIELDS_MAX], done[MUSTER_FIELDS_MAX]; /* of the fields: came, was read */
	struct kept kept[MUSTER_FIELDS_MAX];
};

/* Whether the member that the field needs was read. A `needs` that is no key of the table does not hold the field back.
 */
static bool is_its_turn(const struct object *object, size_t index)
{
	const char *needs = object->type->fields[index].needs;
	for (size_t i = 0; needs && i < object->type->count; i++)
		if (strcmp(object->type->fields[i].key, needs) == 0)
			return object->done[i];
	return true;
}

static int read_member(struct muster_json_reader *r, struct muster_json_stream *s, struct object *object, size_t index)
{
	const struct muster_field *field = &object->type->fields[index];
	const struct muster_json_path here = { .up = r->at, .key = field->key };
	r->at = &here;
	int rc = field->parts ? field->parts(r, s, field, object->base)
			      : muster_json_stream_field(r, s, field, object->base);
	r->at = here.up;
	object->done[index] = true;
	return rc;
}

/* Copy the text of the member, since the buffer has it only until the next read. */
static int keep_member(struct muster_json_reader *r, struct muster_json_stream *s, const char *key, struct kept *kept)
{
	const struct muster_json_path here = { .up = r->at, .key = key };
	struct muster_json_part part;
	r->at = &here;
	int rc = muster_json_stream_take(r, s, &part);
	r->at = here.up;
	if (rc < 0)
		return -1;
	*kept = (struct kept){ .text = muster_realloc(NULL, part.length + 1, 1),
		.length = part.length,
		.line = s->line,
		.column = s->column };
	memcpy(kept->text, part.text, part.length);
	move_over(s->text, s->start, &kept->line, &kept->column);
	return 0;
}

/* Read what was kept, each when the member that it needs is read. */
static int read_kept(struct muster_json_reader *r, struct object *object)
{
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < object->type->count; i++) {
			const struct kept *kept = &object->kept[i];
			if (!kept->text || object->done[i] || !is_its_turn(object, i))
				continue;
			struct muster_json_stream s = {
				.text = kept->text, .length = kept->length, .line = kept->line, .column = kept->column
			};
			if (read_member(r, &s, object, i) < 0)
				return -1;
			again = true;
		}
	}
	return 0;
}

/* Keys in any order, each once. Each member is read at once or kept; what is kept is read when the object has ended. */
static int read_members(struct muster_json_reader *r, struct muster_json_stream *s, struct object *object)
{
	const struct muster_object_type *type = object->type;
	char key[KEY_MAX + 1];
	int more = is_empty(r, s, '}') ? 0 : 1;
	while (more > 0) {
		size_t i = 0;
		if (read_key(r, s, key) < 0)
			return -1;
		while (i < type->count && strcmp(type->fields[i].key, key) != 0)
			i++;
		if (i == type->count)
			return muster_json_unknown_fail(r, type, 0, key);
		if (object->there[i])
			return muster_json_reader_fail(r, "the key \"%s\" occurs twice in one object", key);
		object->there[i] = true;
		if ((is_its_turn(object, i) ? read_member(r, s, object, i) : keep_member(r, s, key, &object->kept[i])) <
			0)
			return -1;
		more = go_on(r, s, '}');
	}
	for (size_t i = 0; more == 0 && i < type->count; i++)
		if (!type->fields[i].optional && !object->there[i])
			return muster_json_reader_fail(r, "the key \"%s\" is missing", type->fields[i].key);
	return more < 0 ? -1 : read_kept(r, object);
}

int muster_json_stream_object(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_object_type *type, void *base)
{
	if (type->count > MUSTER_FIELDS_MAX)
		return muster_json_reader_fail(r, "%zu fields, at most %d are allowed", type->count, MUSTER_FIELDS_MAX);
	if (enter(r, s, '{') < 0)
		return -1;
	struct object *object = muster_calloc(1, sizeof *object);
	object->type = type;
	object->base = base;
	int rc = read_members(r, s, object);
	for (size_t i = 0; i < type->count; i++)
		free(object->kept[i].text);
	free(object);
	return rc;
}

int muster_json_stream_end(struct muster_json_reader *r, struct muster_json_stream *s)
{
	int byte = peek(r, s);
	return byte == ENDED ? 0 : fail_peek(r, s, byte, "more text behind the end");
}

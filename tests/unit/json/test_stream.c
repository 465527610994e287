/* SPDX-License-Identifier: Apache-2.0 */
/* test_stream.c - a text that comes bit by bit is read as the whole text is, in the memory of its largest part */
#include "json/stream.h"
#include "muster/arena.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

/* Hands out `step` bytes at a time. */
struct source {
	const char *text;
	size_t left, step;
};

static ssize_t more(void *from, char *into, size_t room, struct muster_error *err)
{
	struct source *source = from;
	size_t length = source->step < source->left ? source->step : source->left;
	(void)err;
	length = length < room ? length : room;
	memcpy(into, source->text, length);
	source->text += length;
	source->left -= length;
	return (ssize_t)length;
}

struct thing {
	int number;
	const char *text;
	double sum;
	size_t elements;
};

static int add(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct thing *thing = into;
	double number;
	if (muster_json_number_read(r, &number, json) < 0)
		return -1;
	thing->sum = thing->sum * thing->number + number;
	thing->elements++;
	return 0;
}

/* The sum needs the number, wherever the two stand. */
static const struct muster_field fields[] = {
	{ MUSTER_FIELD(thing, number, INT), .low = 1, .high = 100 },
	{ MUSTER_FIELD(thing, text, TEXT), .optional = true, .most = 1 << 20 },
	{ .key = "sum", .needs = "number", .read = add, .many = true, .most = 1 << 20, .optional = true },
};
static const struct muster_object_type type = MUSTER_OBJECT_TYPE(thing, fields);

static int read_thing(
	const char *text, size_t length, size_t step, struct thing *ret, size_t *ret_room, struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_json_reader r = { .arena = arena, .err = err };
	struct source source = { text, length, step };
	struct muster_json_stream s;
	*ret = (struct thing){ .number = 0 };
	muster_json_stream_init(&s, more, &source);
	int rc = muster_json_stream_object(&r, &s, &type, ret);
	if (rc == 0)
		rc = muster_json_stream_end(&r, &s);
	if (ret_room)
		*ret_room = s.room;
	if (ret->text)
		ret->text = strcmp(ret->text, "a, ]} \\\" b") == 0 ? "as it was" : "another one";
	muster_json_stream_done(&s);
	muster_arena_free(arena);
	return rc;
}

static const struct {
	const char *text; /* with ' in place of " */
	double sum;       /* 0: refused */
	const char *error;
} cases[] = {
	{ "{'number': 10, 'text': 'a, ]} \\\\\\' b', 'sum': [1, 2, 3]}", 123, NULL },
	{ "  {'text':'a, ]} \\\\\\' b','sum' :[1 ,2,\n3 ] , 'number':10}\n ", 123, NULL },
	{ "{'sum': [7], 'n\\u0075mber': 10}", 7, NULL },
	{ "{'sum': [1, 2, 'x'], 'number': 10}", 0, "$.sum[2]: a number is needed, found \"x\"" },
	{ "{'sum': [1,\n 2 3], 'number': 10}", 0, "$.sum: line 2, column 4: a ',' or ']' is needed" },
	{ "{'number': 10,\n 'sum': [1,\n  2 3]}", 0, "$.sum: line 3, column 5: a ',' or ']' is needed" },
	{ "{'number': 10,\n 'sum': [1,\n  2, }", 0, "$.sum[2]: line 3, column 6: a value is needed" },
	{ "{'number': 10,\n 'sum': {}}", 0, "$.sum: an array is needed, found an object" },
	{ "{'number': 10,\n 'text': 'abc", 0, "$.text: line 2, column 10: string without an end" },
	{ "{'number': 10,\n 'number': 11}", 0, "$: the key \"number\" occurs twice in one object" },
	{ "{'number': 10,\n 'somme': 1}", 0, "$.somme: unknown key, allowed are number, text, sum" },
	{ "{'sum': [1]}", 0, "$: the key \"number\" is missing" },
	{ "{'number': 101}", 0, "$.number: a whole number from 1 to 100 is needed, found 101" },
	{ "{'number': 1}\n x", 0, "line 2, column 2: more text behind the end" },
	{ "{'number': 1", 0, "line 1, column 13: a ',' or '}' is needed" },
	{ "{'number': [1, {'a': ']'}", 0, "$.number: line 1, column 12: never closed" },
	{ "", 0, "line 1, column 1: an object is needed" },
};

TEST_EACH(the_steps_in_which_a_text_comes_make_no_difference, cases)
{
	char *text = muster_strdup(cases[_i].text);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	for (size_t step = 1; step <= strlen(text) + 1; step++) {
		struct thing thing;
		struct muster_error err = { 0 };
		int rc = read_thing(text, strlen(text), step, &thing, NULL, &err);
		if (cases[_i].error) {
			ck_assert_int_eq(rc, -1);
			ck_assert_str_eq(err.text, cases[_i].error);
			continue;
		}
		ck_assert_msg(rc == 0, "%zu bytes at a time: %s", step, err.text);
		ck_assert_double_eq(thing.sum, cases[_i].sum);
		ck_assert(!thing.text || strcmp(thing.text, "as it was") == 0);
	}
	free(text);
}

TEST(memory_is_that_of_one_part)
{
	enum { ELEMENTS = 500000 };
	static const char head[] = "{\"number\": 1, \"sum\": [1";
	char *text = muster_calloc(sizeof head + 3 * ELEMENTS + 2, 1), *end = text + sizeof head - 1;
	struct muster_error err;
	struct thing thing;
	size_t room;
	memcpy(text, head, sizeof head - 1);
	for (int i = 1; i < ELEMENTS; i++, end += 3)
		memcpy(end, ", 1", 3);
	memcpy(end, "]}", 2);
	ck_assert_msg(read_thing(text, strlen(text), 4096, &thing, &room, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(thing.elements, ELEMENTS);
	ck_assert_uint_lt(room, strlen(text) / 4);
	free(text);
}

TEST_MAIN(.setup = NULL)

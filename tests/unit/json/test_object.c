/* SPDX-License-Identifier: Apache-2.0 */
/* test_object.c - one table reads a struct from an object and writes it; whatever is wrong is named with its path
 */
#include "json/object.h"

#include "check_main.h"
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct muster_error err;
static struct muster_arena *arena;

static void setup(void)
{
	arena = muster_arena_new();
}

static void teardown(void)
{
	muster_arena_free(arena);
}

enum colour { RED, GREEN };
static const char *const colours[] = { "red", "green" };

struct inner {
	const char *name;
	int weight;
};

struct outer {
	struct inner base; /* its fields stand in the same object */
	bool on;
	int count, any;
	size_t size;
	unsigned long long word;
	double number, limit;
	const char *text, *maybe, *more;
	enum colour colour;
	struct muster_value value;
	const struct muster_json *json;
	struct inner inner;
	struct inner *inners;
	size_t inner_count;
	const char **texts;
	size_t text_count;
	int own; /* filled by a function of the test's */
};

enum { HEAVY = 1 << 0 };

static int read_own(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int number;
	if (muster_json_int_read(r, json, 1, INT_MAX, &number) < 0)
		return -1;
	if (number % 2)
		return muster_json_reader_fail(r, "%d is odd", number);
	*(int *)into = number;
	return 0;
}

static const struct muster_field inner_fields[] = {
	{ .key = "name", .type = MUSTER_FIELD_TEXT, .offset = offsetof(struct inner, name), .least = 1, .most = 8 },
	{ .key = "weight", .type = MUSTER_FIELD_INT, .offset = offsetof(struct inner, weight), .part = HEAVY },
};
static const struct muster_object_type inner_type = MUSTER_OBJECT_TYPE(inner, inner_fields);

#define F(name, kind) .key = #name, .type = MUSTER_FIELD_##kind, .offset = offsetof(struct outer, name)

static const struct muster_field outer_fields[] = {
	{ F(on, BOOLEAN) },
	{ F(count, INT), .low = 2, .high = 5 },
	{ F(any, INT), .optional = true },
	{ F(size, SIZE), .optional = true },
	{ F(word, WORD), .optional = true },
	{ F(number, NUMBER) },
	{ F(limit, NUMBER), .optional = true },
	{ F(text, TEXT) },
	{ F(maybe, TEXT), .or_null = true, .optional = true },
	{ F(more, TEXT), .most = 100, .optional = true },
	{ F(colour, NAME), .names = colours, .name_count = 2 },
	{ F(value, VALUE), .optional = true },
	{ F(inner, OBJECT), .object = &inner_type, .object_part = HEAVY },
	{ F(inners, OBJECT), .object = &inner_type, .many = true, .count_offset = offsetof(struct outer, inner_count),
		.most = 3, .optional = true },
	{ F(texts, TEXT), .many = true, .count_offset = offsetof(struct outer, text_count), .least = 1 },
	{ F(own, INT), .read = read_own, .optional = true },
};
static const struct muster_object_type outer_type = {
	.fields = outer_fields,
	.count = sizeof outer_fields / sizeof *outer_fields,
	.size = sizeof(struct outer),
	.base = &inner_type,
};

#define WHOLE                                                                                                          \
	"{'name': 'base', 'weight': 4, 'on': true, 'count': 3, 'number': 1.5, 'text': 'abc', 'colour': 'green', "      \
	"'inner': {'weight': 7}, 'texts': ['a', 'b']"

static struct muster_json *parse(const char *text)
{
	struct muster_json *json = NULL;
	char *quoted = muster_strdup(text);
	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	ck_assert_msg(muster_json_parse(quoted, strlen(quoted), &json, &err) == 0, "%s: %s", text, err.text);
	free(quoted);
	return json;
}

/* What reading the text says; "" when it is read into *ret. */
static const char *read_outer(const char *text, struct outer *ret)
{
	struct muster_json_reader reader = { .arena = arena, .err = &err, .text_max = 10, .note = "source" };
	struct muster_json *json = parse(text);
	int rc = muster_object_read(&reader, json, &outer_type, ret);
	muster_json_free(json);
	ck_assert_ptr_null(reader.at);
	ck_assert(rc == 0 || err.code == MUSTER_EUSAGE);
	return rc == 0 ? "" : muster_arena_string(arena, err.text);
}

TEST(every_field_is_read)
{
	struct outer o = { .limit = 9, .maybe = "default", .size = 1 };
	const char *said = read_outer(WHOLE
		", 'any': -7, 'word': 9007199254740992, 'maybe': null, 'more': '0123456789012345', 'source': 'x', "
		"'value': 'v', 'inners': [{'name': 'x', 'weight': 1}, {'name': 'y', 'weight': 2}], 'own': 4}",
		&o);
	ck_assert_str_eq(said, "");
	ck_assert_str_eq(o.base.name, "base");
	ck_assert_int_eq(o.base.weight, 4);
	ck_assert(o.on);
	ck_assert_int_eq(o.count, 3);
	ck_assert_int_eq(o.any, -7);
	ck_assert_uint_eq(o.size, 1); /* absent: as it was */
	ck_assert(o.word == 9007199254740992);
	ck_assert_double_eq(o.number, 1.5);
	ck_assert_double_eq(o.limit, 9);
	ck_assert_ptr_eq(o.text, muster_arena_string(arena, "abc"));
	ck_assert_ptr_null(o.maybe);
	ck_assert_str_eq(o.more, "0123456789012345");
	ck_assert_int_eq(o.colour, GREEN);
	ck_assert_str_eq(o.value.string, "v");
	ck_assert_int_eq(o.inner.weight, 7);
	ck_assert_uint_eq(o.inner_count, 2);
	ck_assert_str_eq(o.inners[1].name, "y");
	ck_assert_uint_eq(o.text_count, 2);
	ck_assert_str_eq(o.texts[1], "b");
	ck_assert_int_eq(o.own, 4);
}

static const struct {
	const char *text, *said;
} bad[] = {
	{ "[]", "$: an object is needed, found an array" },
	{ "{'name': 7}", "$.name: a string is needed, found 7" },
	{ "{'name': ''}", "$.name: must not be empty" },
	{ "{'name': '123456789'}", "$.name: a string of 9 bytes, at most 8 are allowed" },
	{ "{'text': '01234567890'}", "$.text: a string of 11 bytes, at most 10 are allowed" },
	{ "{'maybe': 1}", "$.maybe: null or a string is needed, found 1" },
	{ "{'on': 'yes'}", "$.on: true or false is needed, found \"yes\"" },
	{ "{'count': 1}", "$.count: a whole number from 2 to 5 is needed, found 1" },
	{ "{'count': 2.5}", "$.count: a whole number from 2 to 5 is needed, found 2.5" },
	{ "{'any': 5e9}", "$.any: a whole number is needed, found 5000000000" },
	{ "{'any': 0.5}", "$.any: a whole number is needed, found 0.5" },
	{ "{'size': -1}", "$.size: a whole number from 0 is needed, found -1" },
	{ "{'word': 9007199254740994}", "$.word: a whole number from 0 is needed, found 9.007199255e+15" },
	{ "{'number': null}", "$.number: a number is needed, found null" },
	{ "{'colour': 'blue'}", "$.colour: one of red, green is needed, found \"blue\"" },
	{ "{'colour': true}", "$.colour: one of red, green is needed, found true" },
	{ "{'value': {}}", "$.value: null or true or false or a number or a string is needed, found an object" },
	{ "{'value': '01234567890'}", "$.value: a string of 11 bytes, at most 10 are allowed" },
	{ "{'inner': {'weight': 1, 'name': 'not of this part'}}", "$.inner.name: unknown key, allowed are weight" },
	{ "{'inner': {'wieght': 1}}", "$.inner.wieght: unknown key; did you mean \"weight\"? Allowed are weight" },
	{ "{'inner': {'high': 1}}", "$.inner.high: unknown key, allowed are weight" },
	{ "{'text_': 1}",
		"$.text_: unknown key; did you mean \"text\"? Allowed are name, weight, on, count, any, size, "
		"word, number, limit, text, maybe, more, colour, value, inner, inners, texts, own" },
	{ "{'inner': {}}", "$.inner: the key \"weight\" is missing" },
	{ "{'inners': {}}", "$.inners: an array is needed, found an object" },
	{ "{'inners': [{'name': 'a', 'weight': 1}, 2]}", "$.inners[1]: an object is needed, found 2" },
	{ "{'inners': [{'name': 'a', 'weight': 'b'}]}", "$.inners[0].weight: a number is needed, found \"b\"" },
	{ "{'inners': [{}, {}, {}, {}]}", "$.inners: at most 3 elements are allowed, found 4" },
	{ "{'texts': []}", "$.texts: must not be empty" },
	{ "{'texts': ['a', null]}", "$.texts[1]: a string is needed, found null" },
	{ "{'own': 3}", "$.own: 3 is odd" },
	{ "{'own': 0}", "$.own: a whole number from 1 is needed, found 0" },
	{ "{'a.b': 1}",
		"$[\"a.b\"]: unknown key, allowed are name, weight, on, count, any, size, word, number, limit, text, "
		"maybe, more, colour, value, inner, inners, texts, own" },
	{ "{}", "$: the key \"name\" is missing" },
	{ "{'on': true, 'count': 3, 'number': 1.5, 'text': 'abc', 'colour': 'green', 'inner': {'weight': 7}, "
	  "'texts': ['a'], 'name': 'n'}",
		"$: the key \"weight\" is missing" },
};

TEST_EACH(what_is_wrong_is_named_with_its_path, bad)
{
	struct outer o = { .count = 0 };
	ck_assert_str_eq(read_outer(bad[_i].text, &o), bad[_i].said);
}

TEST(a_path_that_is_too_long_is_cut)
{
	char text[MUSTER_JSON_PATH_MAX];
	char key[300];
	memset(key, 'k', sizeof key - 1);
	key[sizeof key - 1] = '\0';
	struct muster_json_path a = { .key = key }, b = { .up = &a, .key = "a b" }, c = { .up = &b, .key = key },
				d = { .up = &c, .index = 7 }, e = { .up = &d, .key = key };
	ck_assert_str_eq(muster_json_path_text(NULL, text), "$");
	ck_assert_uint_eq(strlen(muster_json_path_text(&a, text)), 2 + 100);
	ck_assert_ptr_nonnull(strstr(muster_json_path_text(&d, text), "[\"a b\"]."));
	ck_assert_ptr_nonnull(strstr(text, "k[7]"));
	ck_assert_uint_eq(strlen(muster_json_path_text(&e, text)), sizeof text - 1);
}

/* ---- problems that are collected ---- */

struct collected {
	struct muster_json_reader reader;
	char text[512];
	int left; /* so many more are taken */
};

static int collect(struct muster_json_reader *r)
{
	struct collected *c = (struct collected *)r;
	if (c->left-- == 0)
		return -1;
	size_t used = strlen(c->text);
	snprintf(c->text + used, sizeof c->text - used, "%s\n", r->err->text);
	return 0;
}

static const char *the_file(const struct muster_json_reader *r)
{
	return r->at ? "x.json" : "";
}

TEST(reading_goes_on_behind_what_is_wrong)
{
	struct collected c = { .reader = { .arena = arena, .err = &err, .file = the_file, .go_on = collect },
		.left = 9 };
	struct muster_json *json = parse("{'on': 1, 'colour': 2, 'new': 3, 'count': 3, 'number': 1, 'text': 'a', "
					 "'inners': [1, {'name': 'n', 'weight': 2}], 'texts': ['a'], 'name': 'n', "
					 "'weight': 1}");
	struct outer o = { .count = 0 };
	ck_assert_int_eq(muster_object_read(&c.reader, json, &outer_type, &o), 0);
	ck_assert_str_eq(c.text, "x.json: $.on: true or false is needed, found 1\n"
				 "x.json: $.colour: one of red, green is needed, found 2\n"
				 "x.json: $.new: unknown key, allowed are name, weight, on, count, any, size, word, "
				 "number, limit, text, maybe, more, colour, value, inner, inners, texts, own\n"
				 "x.json: $.inners[0]: an object is needed, found 1\n"
				 "$: the key \"inner\" is missing\n");
	ck_assert_int_eq(o.inners[1].weight, 2);
	c.left = 1;
	ck_assert_int_eq(muster_object_read(&c.reader, json, &outer_type, &o), -1);
	ck_assert_str_eq(err.text, "x.json: $.colour: one of red, green is needed, found 2");
	muster_json_free(json);
}

TEST(an_open_object_has_keys_that_nobody_reads)
{
	struct muster_object_type open_type = inner_type;
	struct muster_json_reader reader = { .arena = arena, .err = &err };
	struct muster_json *json = parse("{'do': 'it', 'name': 'n', 'weight': 2}");
	struct inner inner;
	ck_assert_int_eq(muster_object_read(&reader, json, &inner_type, &inner), -1);
	open_type.open = true;
	ck_assert_int_eq(muster_object_read(&reader, json, &open_type, &inner), 0);
	ck_assert_int_eq(inner.weight, 2);
	muster_json_free(json);
}

/* ---- writing ---- */

static const char *written(const struct outer *o)
{
	struct muster_json_writer_text text;
	muster_json_writer_text_begin(&text);
	muster_object_write(&text.w, &outer_type, o);
	char *json = muster_json_writer_text_end(&text);
	const char *kept = text.w.incomplete ? muster_arena_printf(arena, "no %s", text.w.incomplete)
					     : muster_arena_string(arena, json);
	free(json);
	return kept;
}

TEST(what_was_written_is_read)
{
	static const char *texts[] = { "a", "b" };
	struct inner inners[] = { { "x", 1 }, { "y", 2 } };
	struct outer o = { .base = { "base", 4 },
		.on = true,
		.count = 3,
		.number = 1.5,
		.limit = 0.25,
		.size = 12,
		.word = 1,
		.text = "abc",
		.more = "\"",
		.colour = GREEN,
		.value = { .type = MUSTER_BOOLEAN, .boolean = true },
		.inner = { "unread", 7 },
		.inners = inners,
		.inner_count = 2,
		.texts = texts,
		.text_count = 2,
		.own = 6 };
	struct outer back = { .count = 0, .limit = NAN };
	ck_assert_str_eq(read_outer(written(&o), &back), "");
	ck_assert_str_eq(written(&back), written(&o));
}

TEST(an_optional_field_that_says_nothing_is_left_out)
{
	static const char *texts[] = { "a" };
	struct outer o = { .base = { "base", 4 }, .limit = NAN, .text = "t", .texts = texts, .text_count = 1 };
	ck_assert_str_eq(written(&o), "{\"name\": \"base\", \"weight\": 4, \"on\": false, \"count\": 0, "
				      "\"number\": 0, \"text\": \"t\", \"colour\": \"red\", \"value\": null, "
				      "\"inner\": {\"weight\": 0}, \"texts\": [\"a\"]}");
	o.text = NULL;
	ck_assert_str_eq(written(&o), "no text");
}

TEST_MAIN(.setup = setup, .teardown = teardown)

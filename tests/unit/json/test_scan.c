/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan.c - the JSON that cJSON would take and RFC 8259 does not allow is refused, with line and column */
#include "json/json.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, size_t length, struct muster_error *err)
{
	struct muster_json *json = NULL;
	int rc = muster_json_parse(text, length, &json, err);
	muster_json_free(json);
	return rc;
}

static const char *const good[] = {
	"0",
	"-0.0",
	" [1, -1, 10, 0.5, 1e5, 1E+5, 1.25e-7, 123456789012345678901234567890]\n",
	"\"\"",
	"\"a\\\"b\\\\ \\u00e9 \\ud83d\\ude00 \xc3\xa9\"",
	"{\"a\": {\"a\": [true, false, null]}, \"b\": {\"a\": []}}",
	"\t{\r\n}\t",
};

TEST_EACH(json_is_read, good)
{
	struct muster_error err;
	ck_assert_msg(parse(good[_i], strlen(good[_i]), &err) == 0, "%s: %s", good[_i], err.text);
}

static const struct {
	const char *text, *said;
} bad[] = {
	{ "", "line 1, column 1: the text ends too early" },
	{ "[1] 2", "line 1, column 5: more text behind the end: '2'" },
	{ "[01]", "line 1, column 2: malformed number" },
	{ "[-]", "line 1, column 2: malformed number" },
	{ "[1.]", "line 1, column 2: malformed number" },
	{ "[1.5e]", "line 1, column 2: malformed number" },
	{ "[1e+]", "line 1, column 2: malformed number" },
	{ "[\n -a]", "line 2, column 2: malformed number" },
	{ "[1e999]", "line 1, column 2: a number is too large for a double" },
	{ "{\"a\": -1e999}", "a number is too large for a double" },
	{ "[0.33333333333333333333333333333333333333333333333333333333333333333333333]",
		"column 2: a number of more than 63 characters" },
	{ "[NaN]", "line 1, column 2: JSON has no NaN" },
	{ "[-Infinity]", "line 1, column 2: malformed number" },
	{ "[Infinity]", "line 1, column 2: JSON has no infinity" },
	{ "['a']", "line 1, column 2: a string needs double quotes" },
	{ "[True]", "line 1, column 2: JSON writes true" },
	{ "{\n// why\n}", "line 2, column 1: JSON has no comments" },
	{ "\xef\xbb\xbf[]", "line 1, column 1: a byte order mark: save the file as UTF-8 without it" },
	{ "[N]", "line 1, column 2: unexpected character 'N'" },
	{ "[\x7f]", "line 1, column 2: unexpected character 0x7f" },
	{ "{\"a\": {\"b\": 1}\n", "line 2, column 1: the text ends too early: '}' is missing" },
	{ "{\"a\": [1}", "line 1, column 9: ']' is needed here, found '}'" },
	{ "[1]]", "line 1, column 4: nothing is open that ']' could close" },
	{ "[tru]", "line 1, column 2: not JSON from here: 'tru]'" },
	{ "\"a\nb\"", "line 1, column 3: control character 0x0a in a string (write it as \\u000a)" },
	{ "\"a", "line 1, column 1: string without an end" },
	{ "\"a\\\"", "line 1, column 1: string without an end" },
	{ "\"\\u0000\"", "line 1, column 2: NUL in a string" },
	{ "\"\xc3\"", "line 1, column 2: byte 0xc3 is not UTF-8" },
	{ "\"\xed\xa0\x80\"", "line 1, column 2: byte 0xed is not UTF-8" },
	{ "{\"a\": 1, \"b\": 2, \"a\": 3}", "the key \"a\" occurs twice in one object" },
	{ "[{\"a\": 1, \"\\u0061\": 3}]", "[0]: the key \"a\" occurs twice in one object" },
	{ "{\"checks\": {\"copy.h2d\": [0, {\"min\": 1, \"min\": 1}]}}",
		"checks[\"copy.h2d\"][1]: the key \"min\" occurs" },
	{ "{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"a\":0,\"b\":0,\"c\":0,"
	  "\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"3\":1}",
		"the key \"3\" occurs twice in one object" },
};

TEST_EACH(what_is_not_json_is_refused_with_its_place, bad)
{
	struct muster_error err = { 0 };
	ck_assert_int_eq(parse(bad[_i].text, strlen(bad[_i].text), &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, bad[_i].said) != NULL, "%s", err.text);
}

TEST(a_nul_byte_is_not_the_end)
{
	struct muster_error err;
	ck_assert_int_eq(parse("[1]\0[2]", 7, &err), -1);
	ck_assert_str_eq(err.text, "line 1, column 4: NUL byte");
	ck_assert_int_eq(parse("[1]x", 3, &err), 0); /* the length ends it */
}

TEST(nesting_has_a_limit)
{
	struct muster_error err;
	char text[2 * (MUSTER_JSON_DEPTH_MAX + 1)];
	for (size_t depth = MUSTER_JSON_DEPTH_MAX; depth <= MUSTER_JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		ck_assert_int_eq(parse(text, 2 * depth, &err), depth <= MUSTER_JSON_DEPTH_MAX ? 0 : -1);
	}
	ck_assert_str_eq(err.text, "line 1, column 65: nested deeper than 64 levels");
}

TEST(a_tree_has_a_limit_of_values)
{
	struct muster_error err;
	const size_t most = MUSTER_JSON_VALUES_MAX; /* the array is one of them; "[0,0]" are counted as 3 */
	for (size_t count = most - 1; count <= most; count++) {
		char *text = malloc(2 * count + 1);
		ck_assert_ptr_nonnull(text);
		memset(text, '0', 2 * count + 1);
		for (size_t i = 0; i < count; i++)
			text[2 * i] = ',';
		text[0] = '[';
		text[2 * count] = ']';
		ck_assert_int_eq(parse(text, 2 * count + 1, &err), count < most ? 0 : -1);
		free(text);
	}
	ck_assert_msg(strstr(err.text, "more than 1048576 values"), "%s", err.text);
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - characters of UTF-8, what is harmful among them, and errors that may be shown */
#include "util/text.h"
#include "muster/error.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *bytes;
	size_t length; /* 0: malformed */
	unsigned long point;
	bool harmful;
} characters[] = {
	{ "a", 1, 'a', false },
	{ "\x1b", 1, 0x1b, true },
	{ "\x7f", 1, 0x7f, true },
	{ "\xc2\xb5", 2, 0xb5, false },
	{ "\xc2\x9b", 2, 0x9b, true },  /* C1: the one-character form of ESC [ */
	{ "\xd8\x9c", 2, 0x61c, true }, /* Arabic letter mark */
	{ "\xe2\x82\xac", 3, 0x20ac, false },
	{ "\xe2\x80\xae", 3, 0x202e, true }, /* right-to-left override */
	{ "\xef\xbf\xbf", 3, 0xffff, false },
	{ "\xf0\x9f\x98\x80", 4, 0x1f600, false },
	{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff, false },
	{ "", 0, 0, false },
	{ "\x80", 0, 0, false },
	{ "\xff", 0, 0, false },
	{ "\xc1\x81", 0, 0, false },         /* overlong */
	{ "\xe0\x80\x9b", 0, 0, false },     /* overlong */
	{ "\xf0\x80\x80\x9b", 0, 0, false }, /* overlong */
	{ "\xed\xa0\x80", 0, 0, false },     /* a surrogate */
	{ "\xf4\x90\x80\x80", 0, 0, false }, /* beyond U+10FFFF */
	{ "\xf5\x80\x80\x80", 0, 0, false },
	{ "\xe2\x82", 0, 0, false }, /* cut short */
	{ "\xe2\x82"
	  "a",
		0, 0, false },
};

TEST_EACH(a_character_has_its_bytes_and_its_code_point, characters)
{
	unsigned long point = 0;
	size_t left = strlen(characters[_i].bytes);
	ck_assert_uint_eq(muster_utf8_next(characters[_i].bytes, left, &point), characters[_i].length);
	ck_assert_uint_eq(point, characters[_i].point);
	if (characters[_i].length > 0)
		ck_assert_int_eq(muster_utf8_is_harmful(point), characters[_i].harmful);
	for (size_t less = 0; less < characters[_i].length; less++)
		ck_assert_uint_eq(muster_utf8_next(characters[_i].bytes, less, &point), 0);
}

static const struct {
	const char *told, *shown;
} errors[] = {
	{ "plain \xc2\xb5", "plain \xc2\xb5" },
	{ "two\nlines\r\n", "two lines" },
	{ "a\tb", "a b" },
	{ "\x1b[31mred\x07", "?[31mred?" },
	{ "\xc2\x9b"
	  "2J\xe2\x80\xae\x7f",
		"?2J??" },
	{ "not \xff\xfe UTF-8", "not ?? UTF-8" },
	{ "cut \xe2\x82", "cut ??" },
};

TEST_EACH(an_error_is_one_plain_line_whatever_is_put_into_it, errors)
{
	struct muster_error err;
	ck_assert_int_eq(muster_fail(&err, MUSTER_EIO, "%s", errors[_i].told), -1);
	ck_assert_str_eq(err.text, errors[_i].shown);
	muster_fail(&err, MUSTER_EIO, "inner");
	muster_wrap(&err, "%s", "x\x1b");
	ck_assert_str_eq(err.text, "x?: inner");
}

TEST(a_long_error_is_cut_between_characters)
{
	char text[MUSTER_ERROR_TEXT_MAX + 100];
	for (size_t shift = 0; shift < 4; shift++) {
		struct muster_error err;
		size_t at = shift;
		memset(text, 'x', sizeof text);
		for (; at + 3 < sizeof text - 1; at += 3)
			memcpy(text + at, "\xe2\x82\xac", 3);
		text[at] = '\0';
		muster_fail(&err, MUSTER_EIO, "%s", text);
		size_t length = strlen(err.text), step;
		ck_assert_uint_lt(length, sizeof err.text);
		ck_assert_str_eq(err.text + length - 3, "...");
		unsigned long point;
		for (const char *c = err.text; *c; c += step) {
			step = muster_utf8_next(c, strlen(c), &point);
			ck_assert_uint_gt(step, 0);
		}
	}
}

TEST(a_name_is_found_by_its_place_or_all_are_named)
{
	static const char *const names[] = { "hang", "error", "slow" };
	struct muster_error err;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(muster_parse_name(names[i], names, 3, "VALUE", &err), i);
	ck_assert_int_eq(muster_parse_name("han", names, 3, "VALUE", &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_str_eq(err.text, "VALUE: hang, error or slow is needed, found \"han\"");
	ck_assert_int_eq(muster_parse_name("slow", names, 2, "--x", &err), -1);
	ck_assert_str_eq(err.text, "--x: hang or error is needed, found \"slow\"");
	ck_assert_int_eq(muster_parse_name("", names, 1, "--x", &err), -1);
	ck_assert_str_eq(err.text, "--x: hang is needed, found \"\"");
}

TEST(a_stream_into_memory_is_complete_when_it_is_closed)
{
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	fprintf(out, "%d of %s", 3, "four");
	muster_memory_close(out);
	ck_assert_str_eq(text, "3 of four");
	ck_assert_uint_eq(length, 9);
	free(text);
}

TEST(a_word_is_whole_in_a_list_and_a_name_in_a_path)
{
	ck_assert(muster_text_has_word("g1 g10 g2", "g1"));
	ck_assert(muster_text_has_word("g1 g10 g2", "g10"));
	ck_assert(muster_text_has_word("g1 g10 g2", "g2"));
	ck_assert(!muster_text_has_word("g10 ag1", "g1"));
	ck_assert(!muster_text_has_word("", "g1"));
	ck_assert(muster_path_is_below("/opt/openmpi/lib/libmpi.so", "/opt/openmpi"));
	ck_assert(muster_path_is_below("/opt/openmpi", "/opt/openmpi"));
	ck_assert(!muster_path_is_below("/opt/openmpi-4.1/lib/libmpi.so", "/opt/openmpi"));
}

TEST_MAIN(.setup = NULL)

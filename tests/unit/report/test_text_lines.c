/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_lines.c - long texts on lines that fit a terminal */
#include "report/text_summary.h"

#include "check_main.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TEN "123456789 "
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *text;
	size_t used, indent;
	const char *wanted;
} cases[] = {
	{ "", 0, 0, "\n" },
	{ "one two", 5, 2, "one two\n" },
	{ "  one   two  ", 0, 0, "one two\n" },
	/* exactly as wide as a line, and one more */
	{ HUNDRED "123456789 1234567890", 0, 3, HUNDRED "123456789 1234567890\n" },
	{ HUNDRED "123456789 1234567890", 1, 3, HUNDRED "123456789\n   1234567890\n" },
	{ HUNDRED HUNDRED, 20, 20, HUNDRED "\b\n                    " HUNDRED "\b\n" },
	/* a character is a column, whatever its bytes */
	{ HUNDRED "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 123456789", 0, 0,
		HUNDRED
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 123456789\n" },
	/* nothing drives a terminal */
	{ "a\x1b[2J b\nc", 0, 0, "a\\x1b[2J b\\nc\n" },
};

/* width 0: as many columns as usual. */
static char *lines_of(const char *text, size_t used, size_t indent, size_t width, size_t most)
{
	char *printed = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&printed, &length);
	const struct muster_text_page page = { .out = out, .layout.columns = width };
	muster_text_few_lines(&page, text, used, indent, most);
	fclose(out);
	return printed;
}

TEST_EACH(lines_are_broken_at_blanks, cases)
{
	char wanted[512];
	size_t at = 0;
	for (const char *c = cases[_i].wanted; *c; c++) { /* "\b" takes the blank before it back */
		if (*c == '\b')
			at--;
		else
			wanted[at++] = *c;
	}
	wanted[at] = '\0';
	char *text = lines_of(cases[_i].text, cases[_i].used, cases[_i].indent, 0, SIZE_MAX);
	ck_assert_str_eq(text, wanted);
	free(text);
}

TEST(a_word_without_end_is_broken_too)
{
	char word[301];
	memset(word, 'w', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	char *text = lines_of(word, 12, 12, 0, SIZE_MAX);
	ck_assert_uint_eq(strcspn(text, "\n"), 108);
	ck_assert_uint_eq(strcspn(text + 109, "\n"), 120);
	ck_assert_uint_eq(strlen(text + 109 + 121), 12 + 300 - 108 - 108 + 1);
	free(text);
	text = lines_of("short", 130, 4, 0, SIZE_MAX); /* what stands before it has no room left */
	ck_assert_str_eq(text, "\n    short\n");
	free(text);
}

static const struct {
	const char *text;
	size_t used, indent, width, most;
	const char *wanted;
} narrow[] = {
	{ "one two three", 0, 2, 9, 9, "one two\n  three\n" },
	/* a list is broken after its commas; one that fits a line is not broken */
	{ "on gpu-[1,22,333,4]", 0, 2, 12, 9, "on gpu-[1,\n  22,333,4]\n" },
	{ "on [1,22,3]", 0, 2, 12, 9, "on [1,22,3]\n" },
	{ "onto [1,22,3]", 0, 2, 12, 9, "onto\n  [1,22,3]\n" },
	/* dots in place of what does not fit, only where something does not fit */
	{ "one two three four", 0, 2, 13, 1, "one two ...\n" },
	{ "one two three", 0, 2, 13, 1, "one two three\n" },
	{ "one two three four", 0, 2, 10, 2, "one two\n  ...\n" },
	{ "one two three", 0, 2, 10, 2, "one two\n  three\n" },
	{ "[1,22,333,4444,5]", 0, 2, 12, 1, "[1,22, ...\n" },
	{ "wwwwwwwwwwwwwww", 0, 2, 10, 1, "wwwwww ...\n" },
};

TEST_EACH(a_narrow_page_has_as_many_lines_as_it_may, narrow)
{
	char *text = lines_of(narrow[_i].text, narrow[_i].used, narrow[_i].indent, narrow[_i].width, narrow[_i].most);
	ck_assert_str_eq(text, narrow[_i].wanted);
	free(text);
}

TEST_MAIN(.setup = NULL)

/* test_text_lines.c - long texts on lines that fit a terminal */
#include "report/text_summary.h"

#include "check_main.h"
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

static char *lines_of(const char *text, size_t used, size_t indent)
{
	char *printed = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&printed, &length);
	muster_text_lines(out, text, used, indent);
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
	char *text = lines_of(cases[_i].text, cases[_i].used, cases[_i].indent);
	ck_assert_str_eq(text, wanted);
	free(text);
}

TEST(a_word_without_end_is_broken_too)
{
	char word[301];
	memset(word, 'w', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	char *text = lines_of(word, 12, 12);
	ck_assert_uint_eq(strcspn(text, "\n"), 108);
	ck_assert_uint_eq(strcspn(text + 109, "\n"), 120);
	ck_assert_uint_eq(strlen(text + 109 + 121), 12 + 300 - 108 - 108 + 1);
	free(text);
	text = lines_of("short", 130, 4); /* what stands before it has no room left */
	ck_assert_uint_eq(strlen(text), strlen("short\n"));
	free(text);
}

TEST_MAIN(.setup = NULL)

/* test_suggest.c - what somebody who mistyped a name may have meant */
#include "util/text.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *names[6];
	size_t most;
	const char *found;
} cases[] = {
	{ "min", { "max", "min_of", "mine" }, 3, "\"mine\", \"max\" or \"min_of\"" },
	{ "equals", { "equal", "equals_by", "one_of" }, 3, "\"equal\" or \"equals_by\"" },
	/* the nearest first; of equally near ones the first */
	{ "abcd", { "abxy", "abcx", "abce", "abcd" }, 3, "\"abcd\", \"abcx\" or \"abce\"" },
	{ "abcd", { "abxy", "abcx", "abce", "abcd" }, 1, "\"abcd\"" },
	/* four at most, whatever is asked for */
	{ "abcd", { "abc1", "abc2", "abc3", "abc4", "abc5", "abcd" }, 9, "\"abcd\", \"abc1\", \"abc2\" or \"abc3\"" },
	{ "ABCD", { "abcd" }, 3, "\"abcd\"" },
	/* half of the letters and one may differ */
	{ "abcd", { "axyz", "wxyz" }, 3, "\"axyz\"" },
	{ "a", { "", "b", "bc" }, 3, "\"\" or \"b\"" },
	{ "abcd", { "wxyz" }, 3, "" },
	{ "ab", { "abcdefgh" }, 3, "" },
	/* a part of a long name, after the near ones */
	{ "h100", { "NC40_A100_v4", "NC40_H100_v5", "H101", "ND96_H100_v5" }, 3,
		"\"H101\", \"NC40_H100_v5\" or \"ND96_H100_v5\"" },
};

TEST_EACH(the_nearest_names_are_offered, cases)
{
	char out[256];
	size_t count = 0;
	while (count < 6 && cases[_i].names[count])
		count++;
	ck_assert_str_eq(
		muster_suggest(cases[_i].name, cases[_i].names, count, sizeof(char *), cases[_i].most, out, sizeof out),
		cases[_i].found);
}

TEST(what_does_not_fit_is_cut_and_long_names_are_left_out)
{
	char out[8], longer[200];
	const char *names[] = { "abcdefgh", longer };
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	ck_assert_str_eq(muster_suggest("abcdefgh", names, 2, sizeof *names, 3, out, sizeof out), "\"abcdef");
	ck_assert_str_eq(muster_suggest(longer, names, 2, sizeof *names, 3, out, sizeof out), "");
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_suggest.c - what somebody who mistyped a name may have meant */
#include "util/text.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *names[6], *found;
} cases[] = {
	/* first the names that begin with it, the shortest of them first */
	{ "min", { "max", "min_of", "mine" }, "; did you mean \"mine\", \"min_of\" or \"max\"?" },
	{ "gpu.h2d", { "gpu.ecc", "gpu.h2d_gbps", "gpu.mig" },
		"; did you mean \"gpu.h2d_gbps\", \"gpu.ecc\" or \"gpu.mig\"?" },
	{ "--profil", { "--progress", "--profile" }, "; did you mean \"--profile\"?" },
	{ "equals", { "equal", "equals_by", "one_of" }, "; did you mean \"equals_by\" or \"equal\"?" },
	/* the nearest first; of equally near ones the first */
	{ "abcd", { "abxy", "abcx", "abce", "abcd" }, "; did you mean \"abcd\", \"abcx\" or \"abce\"?" },
	/* three at most */
	{ "abcd", { "abc1", "abc2", "abc3", "abc4", "abc5", "abcd" },
		"; did you mean \"abcd\", \"abc1\" or \"abc2\"?" },
	{ "ABCD", { "abcd" }, "; did you mean \"abcd\"?" },
	/* a third of the letters and one may differ */
	{ "abcd", { "abyz", "axyz" }, "; did you mean \"abyz\"?" },
	{ "runn", { "lint", "run" }, "; did you mean \"run\"?" },
	{ "a", { "", "b", "bc" }, "; did you mean \"\" or \"b\"?" },
	{ "abcd", { "wxyz" }, "" },
	{ "ab", { "abcdefgh" }, "" },
	/* a part of a long name, after the near ones */
	{ "h100", { "NC40_A100_v4", "NC40_H100_v5", "H101", "ND96_H100_v5" },
		"; did you mean \"H101\", \"NC40_H100_v5\" or \"ND96_H100_v5\"?" },
};

TEST_EACH(the_nearest_names_are_offered, cases)
{
	char out[MUSTER_SUGGEST_MAX];
	size_t count = 0;
	while (count < 6 && cases[_i].names[count])
		count++;
	ck_assert_str_eq(muster_suggest(cases[_i].name, cases[_i].names, count, sizeof(char *), out), cases[_i].found);
}

TEST(what_does_not_fit_is_cut_and_names_too_long_to_compare_are_left_out)
{
	char out[MUSTER_SUGGEST_MAX], longer[400] = "abc";
	const char *names[] = { longer };
	memset(longer + 3, 'a', sizeof longer - 4);
	ck_assert_uint_eq(strlen(muster_suggest("abc", names, 1, sizeof *names, out)), sizeof out - 1);
	ck_assert_str_eq(muster_suggest(longer, names, 1, sizeof *names, out), "");
}

TEST_MAIN(.setup = NULL)

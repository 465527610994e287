/* SPDX-License-Identifier: Apache-2.0 */
/* test_regex_limits.c - what a regular expression may cost, and how one that is refused is told */
#include "expect/operators.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

TEST(a_regular_expression_is_judged_by_what_it_costs)
{
	static const struct {
		const char *pattern;
		bool fine;
	} patterns[] = {
		{ "^5[0-9]{2}\\.[0-9]+(\\.[0-9]+)?$", true },
		{ "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", true },
		{ "[[:alpha:]{99999}]{100}", true }, /* a class that holds digits and braces */
		{ "[]{99999}]", true },
		{ "a\\{99999}", true },
		{ "a{200}", true },
		{ "a{201}", false },
		{ "a{200,}", false },
		{ "a{100}b{101}", false },
		{ "(ab){100}", false },
		{ "a{2}{3}{4}{5}{6}", false },
		{ "(((a{6}){6}){6})", false },
		{ "a{99999999999999999999999}", false },
		{ "a{199,}", true },
		{ "a{3,200}", true },
		{ "a{3,201}", false },
		{ "a{0}b{200}", false }, /* what is repeated 0 times still counts once */
		{ "a{0}b{199}", true },
		{ "(a){100}", true }, /* the parentheses count, too */
		{ "(a){101}", false },
		{ "(a)b{198}", true },
		{ "(a)b{199}", false },
		{ "((a)){66}", true },
		{ "((a)){67}", false },
		{ "a+b{198}", true }, /* x+ is xx* */
		{ "a+b{199}", false },
		{ "a*b{199}", true },
		{ "a*b{200}", false },
		{ "a?b{199}", true },
		{ "[abc]{200}", true },
		{ "[^]abc]{200}", true },
		{ "[^]]{201}", false },
		{ "[[.-.]{9}x]{200}", true },
		{ "[[=a=]{999}]{200}", true },
		{ "[[:alpha:]]{201}", false },
		{ "[a", true },
		{ "[[:alpha", true },
		{ "\\{{200}", true },
		{ "\\{{201}", false },
		{ "a{150}({3}b)", true }, /* a repetition of nothing */
		{ "a{150}(+", true },
		{ "a)b", true },
		{ "(a", true },
		{ "\\0", false },
		{ "\\9", false },
		{ "\\:\\/", true },
		{ "\\(\\1", false },
	};
	char text[258] = "";

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
		ck_assert_msg((muster_regex_problem(patterns[i].pattern) == NULL) == patterns[i].fine, "%s",
			patterns[i].pattern);
	for (const char *c = "([\\+*{)^$"; *c; c++) {
		memset(text, *c, 256);
		(void)muster_regex_problem(text);
	}
	memset(text, 'a', 200);
	text[200] = '\0';
	ck_assert_ptr_null(muster_regex_problem(text));
	memset(text, '*', 256);
	text[256] = '\0';
	ck_assert_ptr_null(muster_regex_problem(text));
	memset(text, '*', 257);
	ck_assert_str_eq(muster_regex_problem(text), "it is longer than 256 bytes");
}

TEST(a_compiled_expression_matches_as_it_was_asked_to)
{
	char why[200] = "";
	regex_t *exact = muster_regex_compile("^a(b|c)+$", false, why, sizeof why);
	regex_t *any_case = muster_regex_compile("^a(b|c)+$", true, why, sizeof why);
	ck_assert_ptr_nonnull(exact);
	ck_assert_ptr_nonnull(any_case);
	ck_assert_int_eq(regexec(exact, "abcb", 0, NULL, 0), 0);
	ck_assert_int_ne(regexec(exact, "aBCb", 0, NULL, 0), 0);
	ck_assert_int_eq(regexec(any_case, "aBCb", 0, NULL, 0), 0);
	ck_assert_int_ne(regexec(any_case, "a", 0, NULL, 0), 0);
	regfree(exact);
	regfree(any_case);
	free(exact);
	free(any_case);
	ck_assert_str_eq(why, "");
	ck_assert_ptr_null(muster_regex_compile("a{201}", false, why, sizeof why));
	ck_assert_str_eq(why, "too large a regular expression: its repetitions multiply to more than 200 characters");
	ck_assert_ptr_null(muster_regex_compile("(", false, why, sizeof why));
	ck_assert_ptr_nonnull(strstr(why, "not a POSIX extended regular expression: "));
}

TEST_MAIN(.setup = NULL)

/* test_child.c - a program is run to its end or to its deadline, and what it printed is kept */
#include "util/child.h"
#include "util/text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int sh(const char *script, int deadline_ms, struct muster_child *ret, struct muster_error *err)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	return muster_child_run(argv, deadline_ms, ret, err);
}

static const struct {
	const char *script, *out, *error;
	int exit_code;
} cases[] = {
	{ "echo one; echo two >&2; exit 7", "one\n", "two\n", 7 }, { "exit 0", "", "", 0 },
	{ "cat", "", "", 0 }, /* nothing to read */
	{ "kill -9 $$", "", "", 137 }, { "echo a; sleep 0.1; echo b", "a\nb\n", "", 0 },
	{ "echo here; sleep 150 & exit 3", "here\n", "", 3 }, /* who inherits the pipe is not waited for */
};

START_TEST(what_a_program_prints_and_how_it_ends_are_told)
{
	struct muster_child child;
	struct muster_error err;
	ck_assert_msg(sh(cases[_i].script, 60000, &child, &err) == 0, "%s", err.text);
	ck_assert_str_eq(child.out, cases[_i].out);
	ck_assert_str_eq(child.error, cases[_i].error);
	ck_assert_int_eq(child.exit_code, cases[_i].exit_code);
	muster_child_done(&child);
}
END_TEST

/* The end may be seen before the last output or after it: often enough for both. */
START_TEST(no_end_is_missed)
{
	for (int i = 0; i < 200; i++) {
		struct muster_child child;
		struct muster_error err;
		const char *const argv[] = { "echo", "x", NULL };
		ck_assert_msg(muster_child_run(argv, 60000, &child, &err) == 0, "%s", err.text);
		ck_assert_str_eq(child.out, "x\n");
		muster_child_done(&child);
	}
}
END_TEST

START_TEST(a_program_past_its_deadline_is_killed_with_its_children)
{
	struct muster_child child;
	struct muster_error err;
	ck_assert_int_eq(sh("trap '' TERM; sleep 1000 & wait", 200, &child, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ETIME);
	ck_assert_str_eq(err.text, "/bin/sh gave no answer within 0.2 s");
}
END_TEST

START_TEST(a_flood_is_cut)
{
	struct muster_child child;
	struct muster_error err;
	ck_assert_msg(sh("head -c 5000000 /dev/zero | tr '\\0' x", 60000, &child, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(strlen(child.out), MUSTER_CHILD_OUTPUT_MAX);
	muster_child_done(&child);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_named)
{
	struct muster_child child;
	struct muster_error err;
	const char *const argv[] = { "muster-has-no-such-program", NULL };
	ck_assert_int_eq(muster_child_run(argv, 1000, &child, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_str_eq(err.text, "muster-has-no-such-program is not in PATH");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core_child");
	TCase *tcase = tcase_create("child");
	tcase_set_timeout(tcase, 100);
	tcase_add_loop_test(
		tcase, what_a_program_prints_and_how_it_ends_are_told, 0, (int)(sizeof cases / sizeof *cases));
	tcase_add_test(tcase, no_end_is_missed);
	tcase_add_test(tcase, a_program_past_its_deadline_is_killed_with_its_children);
	tcase_add_test(tcase, a_flood_is_cut);
	if (!getenv("MUSTER_TEST_EMULATED")) /* posix_spawn sees no exec that fails there */
		tcase_add_test(tcase, a_program_that_is_not_there_is_named);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

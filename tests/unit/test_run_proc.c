/* test_run_proc.c - a worker process that starts, or does not, and what is known of it afterwards */
#include "run/proc.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Start the program and wait until it is gone. What it printed last and how it ended. */
static void run(const char *program, char said[256], char how[64])
{
	struct muster_proc proc;
	struct muster_error err = { 0 };
	char *line;
	size_t length;
	int state;

	ck_assert_int_eq(muster_proc_start(&proc, program, environ, &err), 0);
	while ((state = muster_proc_next_line(&proc, &line, &length, &err)) == 0) {
		struct pollfd results = { .fd = proc.results, .events = POLLIN };
		poll(&results, 1, -1);
	}
	ck_assert_int_eq(state, 1);
	muster_proc_end(&proc, 1000, how, 64);
	muster_proc_last_words(&proc, said, 256);
}

START_TEST(a_program_that_the_kernel_does_not_run_is_not_given_to_a_shell)
{
	char folder[] = "/tmp/muster-proc-XXXXXX", program[64], trace[64], expected[256], said[256], how[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(program, sizeof program, "%s/program", folder);
	snprintf(trace, sizeof trace, "%s/trace", folder);
	FILE *out = fopen(program, "w");
	ck_assert_ptr_nonnull(out);
	fprintf(out, "echo a shell was here >%s\n", trace);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(chmod(program, 0755), 0);

	run(program, said, how);
	snprintf(expected, sizeof expected, "%s: Exec format error", program);
	ck_assert_str_eq(said, expected);
	ck_assert_str_eq(how, "exit status 127");
	ck_assert_int_ne(access(trace, F_OK), 0);
	unlink(program);
	rmdir(folder);
}
END_TEST

START_TEST(the_words_of_the_wrapper_come_before_the_program)
{
	char said[256], how[64];

	setenv("MUSTER_WORKER_WRAPPER", "  echo\tone  two ", 1);
	run("/somewhere/muster", said, how);
	ck_assert_str_eq(said, "one two /somewhere/muster worker");
	ck_assert_str_eq(how, "exit status 0");
}
END_TEST

START_TEST(a_wrapper_that_is_not_there_is_named)
{
	char said[256], how[64];

	setenv("MUSTER_WORKER_WRAPPER", "no-such-wrapper --quiet", 1);
	run("/somewhere/muster", said, how);
	ck_assert_str_eq(said, "no-such-wrapper: No such file or directory");
	ck_assert_str_eq(how, "exit status 127");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_proc");
	TCase *tests = tcase_create("proc");
	tcase_add_test(tests, a_program_that_the_kernel_does_not_run_is_not_given_to_a_shell);
	tcase_add_test(tests, the_words_of_the_wrapper_come_before_the_program);
	tcase_add_test(tests, a_wrapper_that_is_not_there_is_named);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

/* check_main.h - the end of a unit test with one test case: what main does
 */
#ifndef MUSTER_TESTS_CHECK_MAIN_H
#define MUSTER_TESTS_CHECK_MAIN_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For tcase_add_loop_test over a table. */
#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* Cases that read XML pass where muster was built with expat. */
#ifdef MUSTER_HAVE_EXPAT
enum { WITH_EXPAT = 1 };
#else
enum { WITH_EXPAT = 0 };
#endif

/* For tests of paths that root walks from "/" on: for an emulator with libraries of its own, "/" is the folder of
 * these. */
static inline void check_needs_root_folder(void)
{
	if (!getenv("MUSTER_TEST_EMULATED") || geteuid() != 0)
		return;
	puts("skipped: the emulator takes another folder for /");
	exit(77);
}

/* Runs the test case as CK_VERBOSITY and the like say; for main to return. */
static inline int check_main(TCase *tcase)
{
	Suite *suite = suite_create(program_invocation_short_name);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* check_main.h - tests that register themselves, and the main of a test program
 *
 *	TEST(a_name_is_a_sentence) { … }
 *	TEST_EACH(each_row_of_the_table, rows) { … rows[_i] … }
 *	TEST_LOOP(each_number, 0, 4) { … _i … }
 *	TEST_WITH(a_long_wait_ends, .end = 1, .fixture = &long_wait) { … }	what differs from the rest of the file
 *	TEST_MAIN(.setup = make_directory, .teardown = remove_directory)
 *
 * A test is a row in a section of its own, so that none can be forgotten, and a test case of Check, so that
 * CK_RUN_CASE=NAME runs it alone.
 */
#ifndef MUSTER_TESTS_CHECK_MAIN_H
#define MUSTER_TESTS_CHECK_MAIN_H

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The number of elements of an array, as Check counts. */
#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* Cases that read XML pass where muster was built with expat. */
#ifdef MUSTER_HAVE_EXPAT
enum { WITH_EXPAT = 1 };
#else
enum { WITH_EXPAT = 0 };
#endif

/* What surrounds a test, in its process. Each may be left out. */
struct test_fixture {
	void (*setup)(void);
	void (*teardown)(void);
	void (*begin)(int argc, char **argv); /* of TEST_MAIN: before all tests; may end the program */
	void (*finish)(void);                 /* of TEST_MAIN: after all tests */
	int timeout;                          /* seconds */
	bool once;                            /* of TEST_MAIN: setup and teardown for all tests together */
};

struct test_row {
	const TTest *function;
	int first, end;                     /* of _i */
	const struct test_fixture *fixture; /* NULL: that of TEST_MAIN */
	bool skip;                          /* does not apply to this build */
	bool not_emulated;                  /* an emulator of another processor cannot do this */
	int signal, status;                 /* how the test's process ends */
};

#define TEST(name) TEST_WITH(name, .end = 1)
#define TEST_EACH(name, array) TEST_WITH(name, .end = LENGTH(array))
#define TEST_LOOP(name, from, to) TEST_WITH(name, .first = (from), .end = (to))
#define TEST_WITH(name, ...)                                                                                           \
	static void name##_run(int _i CK_ATTRIBUTE_UNUSED);                                                            \
	static const TTest name##_test = { #name, name##_run, __FILE__, __LINE__ };                                    \
	static const struct test_row name##_row = { .function = &name##_test, __VA_ARGS__ };                           \
	__attribute__((section("test_rows"), used)) static const struct test_row *const name##_entry = &name##_row;    \
	static void name##_run(int _i CK_ATTRIBUTE_UNUSED)

#define TEST_MAIN(...)                                                                                                 \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		return check_main(argc, argv, &(const struct test_fixture){ __VA_ARGS__ });                            \
	}

/* The first row and the end, from the linker. */
extern const struct test_row *const __start_test_rows[], *const __stop_test_rows[];

static inline TCase *check_case(const char *name, const struct test_fixture *fixture)
{
	TCase *tcase = tcase_create(name);
	if (fixture->once)
		tcase_add_unchecked_fixture(tcase, fixture->setup, fixture->teardown);
	else if (fixture->setup || fixture->teardown)
		tcase_add_checked_fixture(tcase, fixture->setup, fixture->teardown);
	if (fixture->timeout > 0)
		tcase_set_timeout(tcase, fixture->timeout);
	return tcase;
}

/* Runs the tests as CK_VERBOSITY and the like say, in the order of the file. */
static inline int check_main(int argc, char **argv, const struct test_fixture *usual)
{
	const bool emulated = getenv("MUSTER_TEST_EMULATED") != NULL;
	const ptrdiff_t count = __stop_test_rows - __start_test_rows;
	const bool reversed = count > 1 && __start_test_rows[0]->function->line > __start_test_rows[1]->function->line;
	if (usual->begin)
		usual->begin(argc, argv);
	Suite *suite = suite_create(program_invocation_short_name);
	TCase *tcase = NULL;
	for (ptrdiff_t i = 0; i < count; i++) {
		const struct test_row *row = __start_test_rows[reversed ? count - 1 - i : i];
		if (row->skip || (row->not_emulated && emulated))
			continue;
		if (!tcase || !usual->once) {
			tcase = check_case(row->function->name, row->fixture ? row->fixture : usual);
			suite_add_tcase(suite, tcase);
		}
		_tcase_add_test(tcase, row->function, row->signal, row->status, row->first, row->end);
	}
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* For TEST_MAIN: tests of paths that root walks from "/" on. For an emulator with libraries of its own, "/" is the
 * folder of these. */
static inline void check_needs_root_folder(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!getenv("MUSTER_TEST_EMULATED") || geteuid() != 0)
		return;
	puts("skipped: the emulator takes another folder for /");
	exit(77);
}

#endif

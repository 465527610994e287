/* SPDX-License-Identifier: Apache-2.0 */
/* test_bundle.c - an MPI that an installation brings along */
#include "transport/module.h"

#include "check_main.h"
#include "temporary_root.h"
#include "muster/arena.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static struct muster_error err;

static void put(const char *name, const char *text, mode_t mode)
{
	char *path = muster_asprintf("%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
	chmod(path, mode);
	free(path);
}

static void make(const char *name)
{
	char *path = muster_asprintf("%s/%s", directory, name);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	free(path);
}

static void setup(void)
{
	temporary_root_make(directory, sizeof directory, "bundle");
	memset(&err, 0, sizeof err);
	unsetenv("MUSTER_MPI");
	unsetenv("TEST_PREFIX");
	unsetenv("TEST_WORD");
}

static void teardown(void)
{
	ck_assert_int_eq(temporary_root_remove(directory), 0);
}

TEST(a_path_is_below_the_folder_and_a_word_is_kept)
{
	make("own");
	put("own/environment", "# of a test\nTEST_PREFIX=./\n\nTEST_WORD=ob1,./x\n", 0644);
	setenv("TEST_PREFIX", "/of/another/mpi", 1);
	ck_assert_int_eq(muster_mpi_bundle_enter(directory, "own.so", &err), 0);
	char *folder = muster_asprintf("%s/own/", directory);
	ck_assert_str_eq(getenv("TEST_PREFIX"), folder);
	ck_assert_str_eq(getenv("TEST_WORD"), "ob1,./x");
	free(folder);
}

TEST(the_last_line_needs_no_newline)
{
	make("own");
	put("own/environment", "TEST_WORD=a\nTEST_PREFIX=./lib", 0644);
	ck_assert_int_eq(muster_mpi_bundle_enter(directory, "own", &err), 0);
	char *lib = muster_asprintf("%s/own/lib", directory);
	ck_assert_str_eq(getenv("TEST_PREFIX"), lib);
	free(lib);
}

TEST(a_module_without_a_folder_changes_nothing)
{
	make("own");
	put("own/environment", "TEST_WORD=a\n", 0644);
	ck_assert_int_eq(muster_mpi_bundle_enter(directory, "other.so", &err), 0);
	ck_assert_int_eq(muster_mpi_bundle_enter("/nowhere", "own", &err), 0);
	ck_assert_ptr_null(getenv("TEST_WORD"));
}

TEST(a_line_that_sets_nothing_is_an_error_that_names_the_file)
{
	make("own");
	put("own/environment", "TEST_WORD=a\nno variable\n", 0644);
	ck_assert_int_eq(muster_mpi_bundle_enter(directory, "own", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/own/environment: \"no variable\" is not VARIABLE=VALUE"));
	put("own/environment", "=a\n", 0644);
	ck_assert_int_eq(muster_mpi_bundle_enter(directory, "own", &err), -1);
}

TEST(the_programs_are_those_of_the_first_module_that_has_an_mpirun)
{
	put("a.so", "", 0644);
	put("b.so", "", 0644);
	put("c.so", "", 0644);
	ck_assert_ptr_null(muster_mpi_bundle_programs(directory));
	for (const char *const *name = (const char *const[]){ "a", "b", "c", NULL }; *name; name++) {
		char *bin = muster_asprintf("%s/bin", *name), *mpirun = muster_asprintf("%s/bin/mpirun", *name);
		make(*name);
		make(bin);
		put(mpirun, "", **name == 'a' ? 0644 : 0755); /* that of a cannot be run */
		free(mpirun);
		free(bin);
	}
	char *found = muster_mpi_bundle_programs(directory), *wanted = muster_asprintf("%s/b/bin", directory);
	ck_assert_str_eq(found, wanted);
	free(found);
	free(wanted);
	setenv("MUSTER_MPI", "c", 1);
	wanted = muster_asprintf("%s/c/bin", directory);
	found = muster_mpi_bundle_programs(directory);
	ck_assert_str_eq(found, wanted);
	free(found);
	free(wanted);
	setenv("MUSTER_MPI", "d", 1);
	ck_assert_ptr_null(muster_mpi_bundle_programs(directory));
	ck_assert_ptr_null(muster_mpi_bundle_programs("/nowhere"));
}

TEST_MAIN(.setup = setup, .teardown = teardown)

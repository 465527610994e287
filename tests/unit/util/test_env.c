/* SPDX-License-Identifier: Apache-2.0 */
/* test_env.c - the manual page has the public environment variables and no other */
#include "util/file.h"
#include "util/env.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *environment_section(void)
{
	char *text;
	size_t length;
	struct muster_error err;
	ck_assert_msg(muster_file_read(MUSTER_SOURCE_DIR "/docs/man/muster.1", 1 << 20, &text, &length, &err) == 0,
		"%s", err.text);
	char *start = strstr(text, "\n.SH ENVIRONMENT\n");
	ck_assert_ptr_nonnull(start);
	start++;
	char *end = strstr(start + 1, "\n.SH ");
	ck_assert_ptr_nonnull(end);
	end[1] = '\0';
	memmove(text, start, strlen(start) + 1);
	return text;
}

TEST_LOOP(a_variable_is_in_the_manual_page_when_it_is_public_and_only_then, 0, MUSTER_ENV_COUNT)
{
	const struct muster_env_variable *variable = &muster_env_variables[_i];
	char *section = environment_section(), line[128];
	snprintf(line, sizeof line, "\n.B %s\n", variable->name);
	ck_assert_msg(!strstr(section, line) == !variable->is_public, "%s", variable->name);
	ck_assert_ptr_nonnull(variable->what);
	free(section);
}

TEST(the_manual_page_has_no_variable_that_is_not_read)
{
	char *section = environment_section();
	size_t found = 0, public = 0;
	for (char *at = section; (at = strstr(at, "\n.B MUSTER_")); found++)
		at++;
	for (size_t i = 0; i < MUSTER_ENV_COUNT; i++)
	public += muster_env_variables[i].is_public;
	ck_assert_uint_eq(found, public);
	free(section);
}

TEST(a_variable_is_set_unless_the_users_value_is_kept)
{
	unsetenv("MUSTER_ROOT");
	ck_assert_ptr_null(muster_env(MUSTER_ENV_ROOT));
	muster_env_set(MUSTER_ENV_ROOT, "/host", true);
	ck_assert_str_eq(muster_env(MUSTER_ENV_ROOT), "/host");
	muster_env_set(MUSTER_ENV_ROOT, "/other", true);
	ck_assert_str_eq(getenv("MUSTER_ROOT"), "/host");
	muster_env_set(MUSTER_ENV_ROOT, "/other", false);
	ck_assert_str_eq(getenv("MUSTER_ROOT"), "/other");
}

static bool is_short(const char *entry, size_t name_length)
{
	return name_length == 4 && strncmp(entry, "MUT", 3) == 0;
}

TEST(what_is_chosen_is_unset_and_nothing_else)
{
	setenv("MUT1", "MUT2=x", 1);
	setenv("MUT2", "", 1);
	setenv("MUT34", "y", 1);
	muster_env_unset_if(is_short);
	ck_assert_ptr_null(getenv("MUT1"));
	ck_assert_ptr_null(getenv("MUT2"));
	ck_assert_str_eq(getenv("MUT34"), "y");
}

TEST(what_a_launcher_sets_for_a_job_is_told_from_what_users_set)
{
	static const char *const of_job[] = { "SLURM_JOB_ID=1", "PMI_RANK=0", "PMIX_NAMESPACE=slurm.pmix.1.0" };
	static const char *const of_user[] = { "OMPI_MCA_btl=self", "MYSLURM_=1", "PMIX=1", "PMI=1", "SLURM=1",
		"PATH=/bin" };
	for (size_t i = 0; i < sizeof of_job / sizeof *of_job; i++)
		ck_assert(muster_env_is_of_job(of_job[i], strcspn(of_job[i], "=")));
	for (size_t i = 0; i < sizeof of_user / sizeof *of_user; i++)
		ck_assert(!muster_env_is_of_job(of_user[i], strcspn(of_user[i], "=")));
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* caught_stderr.h - what is printed on standard error goes to a file that a test reads
 */
#ifndef MUSTER_TESTS_UNIT_COORD_CAUGHT_STDERR_H
#define MUSTER_TESTS_UNIT_COORD_CAUGHT_STDERR_H

#include <check.h>
#include <stdio.h>
#include <unistd.h>

static FILE *caught;
static char caught_text[4096];

/* From now on, to the end of the process. */
static inline void catch_stderr(void)
{
	caught = tmpfile();
	ck_assert_ptr_nonnull(caught);
	fflush(stderr);
	ck_assert_int_ge(dup2(fileno(caught), STDERR_FILENO), 0);
}

/* What was printed since the last call. */
static inline const char *printed(void)
{
	fflush(stderr);
	rewind(caught);
	caught_text[fread(caught_text, 1, sizeof caught_text - 1, caught)] = '\0';
	ck_assert_int_eq(ftruncate(fileno(caught), 0), 0);
	rewind(caught);
	return caught_text;
}

#endif

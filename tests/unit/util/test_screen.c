/* SPDX-License-Identifier: Apache-2.0 */
/* test_screen.c - how wide text is: the terminal, then $COLUMNS, then 120 */
#include "util/screen.h"

#include "check_main.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>

static const struct {
	unsigned short columns, lines; /* of the terminal */
	const char *variables[2];      /* COLUMNS and LINES */
	size_t wanted[2];
} cases[] = {
	{ 100, 40, { "90", "30" }, { 100, 40 } },
	{ 40, 10, { NULL, NULL }, { 80, 10 } },
	{ 999, 40, { NULL, NULL }, { 240, 40 } },
	/* a launcher's terminal has no size */
	{ 0, 0, { NULL, NULL }, { 120, 0 } },
	{ 0, 0, { "90", "30" }, { 90, 30 } },
	{ 0, 0, { "20", "0" }, { 80, 0 } },
	{ 0, 0, { "wide", "-3" }, { 120, 0 } },
	{ 0, 0, { "90 ", "" }, { 120, 0 } },
	{ 0, 0, { "100000", "7" }, { 240, 7 } },
};

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

TEST_EACH(the_terminal_tells_its_size_and_else_variables_do, cases)
{
	int ours = posix_openpt(O_RDWR | O_NOCTTY);
	ck_assert_int_ge(ours, 0);
	FILE *terminal = fdopen(ours, "w"); /* both ends of it have the same size */
	ck_assert_ptr_nonnull(terminal);
	const struct winsize size = { .ws_row = cases[_i].lines, .ws_col = cases[_i].columns };
	ck_assert_int_eq(ioctl(ours, TIOCSWINSZ, &size), 0);
	set("COLUMNS", cases[_i].variables[0]);
	set("LINES", cases[_i].variables[1]);
	struct muster_screen screen;
	muster_screen_of(terminal, &screen);
	ck_assert_uint_eq(screen.columns, cases[_i].wanted[0]);
	ck_assert_uint_eq(screen.lines, cases[_i].wanted[1]);
	fclose(terminal);
}

TEST(a_stream_into_memory_has_the_usual_width)
{
	char *text = NULL;
	size_t length;
	struct muster_screen screen;
	FILE *out = open_memstream(&text, &length);
	set("COLUMNS", NULL);
	set("LINES", NULL);
	muster_screen_of(out, &screen);
	ck_assert_uint_eq(screen.columns, 120);
	ck_assert_uint_eq(screen.lines, 0);
	fclose(out);
	free(text);
}

TEST_MAIN(.setup = NULL)

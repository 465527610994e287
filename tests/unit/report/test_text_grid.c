/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_grid.c - tables whose columns share the width of the page */
#include "report/text_grid.h"

#include "check_main.h"
#include "unit/report/printed.h"

enum { ROWS = 2, COLUMNS = 3 };

static const struct {
	const char *rows[ROWS][COLUMNS];
	size_t indent, width;
	bool cut; /* a word is */
	const char *wanted;
} cases[] = {
	{ { { "name", "GB/s", "result" }, { "gpu-1", "21.5", "pass" } }, 0, 80, false,
		"name   GB/s  result\n"
		"gpu-1  21.5  pass\n" },
	{ { { "name", "GB/s", "result" }, { "gpu-1", "121.55", "" } }, 2, 80, false,
		"  name     GB/s  result\n"
		"  gpu-1  121.55\n" },
	/* the widest column takes several lines, the others keep their place */
	{ { { "name", "1", "one two three four" }, { "a b", "22", "five" } }, 0, 18, false,
		"name   1  one two\n"
		"          three\n"
		"          four\n"
		"a b   22  five\n" },
	/* lists are broken after a comma, words only where no column has room to give */
	{ { { "n", "1", "gpu-[1,22,333,4444]" }, { "n", "2", "" } }, 0, 16, false,
		"n  1  gpu-[1,22,\n"
		"      333,4444]\n"
		"n  2\n" },
	{ { { "n", "1", "wwwwwwwwwwwwwww" }, { "n", "2", "" } }, 0, 14, true,
		"n  1  wwwwwwww\n"
		"      wwwwwww\n"
		"n  2\n" },
	/* a character is a column; nothing drives a terminal */
	{ { { "\xc2\xb0"
	      "C",
		    "1", "x" },
		  { "\x1b", "2", "y" } },
		0, 80, false,
		"\xc2\xb0"
		"C    1  x\n\\x1b  2  y\n" },
};

static int row;

static void print_grid(const struct muster_report *what, FILE *out)
{
	const struct muster_text_page page = { .report = what, .out = out };
	struct muster_text_grid grid = { .indent = cases[row].indent, .columns = COLUMNS, .right = { [1] = true } };
	for (size_t i = 0; i < ROWS; i++)
		muster_grid_measure(&grid, cases[row].rows[i]);
	ck_assert_int_eq(muster_grid_fit(&grid, cases[row].width), !cases[row].cut);
	for (size_t i = 0; i < ROWS; i++)
		muster_grid_print(&grid, &page, cases[row].rows[i], NULL);
}

TEST_EACH(columns_keep_their_place, cases)
{
	row = _i;
	ck_assert_str_eq(print_with(print_grid), cases[_i].wanted);
}

TEST_MAIN(.setup = NULL)

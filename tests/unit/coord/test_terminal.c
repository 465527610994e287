/* SPDX-License-Identifier: Apache-2.0 */
/* test_terminal.c - the terminal of mpirun: how it is found is tests/cli/progress.py's */
#include "coord/progress.h"

#include "check_main.h"

#include <sys/sysmacros.h>

TEST(a_process_is_read_as_the_kernel_writes_it)
{
	struct muster_process_stat stat;
	ck_assert(muster_process_stat_parse("4711 (mpirun) S 12 4711 12 34817 4711 4194304 1 2 3", &stat));
	ck_assert_str_eq(stat.name, "mpirun");
	ck_assert_int_eq(stat.parent, 12);
	ck_assert_int_eq(stat.group, 4711);
	ck_assert_int_eq(stat.foreground, 4711);
	ck_assert_uint_eq(stat.terminal, makedev(136, 1)); /* /dev/pts/1 */
	ck_assert(muster_process_stat_parse("1 (a) b) S 2 3 4 0 -1 0", &stat));
	ck_assert_str_eq(stat.name, "a) b");
	ck_assert_uint_eq(stat.terminal, 0);
	ck_assert(muster_process_stat_parse("1 (x) R 1 1 1 1083180 1 0", &stat));
	ck_assert_uint_eq(stat.terminal, makedev(135, 300)); /* a minor number above 255 */
}

static const char *const wrong[] = { "", "1", "1 (x", "1 )x( S 1 1 1 1 1", "1 (x) S 1 1 1", "1 (x) S a 1 1 1 1" };

TEST_EACH(what_is_no_such_line_is_none, wrong)
{
	struct muster_process_stat stat;
	ck_assert(!muster_process_stat_parse(wrong[_i], &stat));
}

TEST(a_process_without_a_launcher_has_none)
{
	struct muster_terminal terminal;
	muster_terminal_open(&terminal);
	ck_assert_int_eq(terminal.fd, -1);
	ck_assert(!muster_terminal_is_watched(&terminal));
	muster_terminal_close(&terminal);
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_strikes.c - when a soft finding drains a node, and when the node comes back */
#include "check_main.h"
#include "slurm/strikes.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BEGIN = 1764384010 }; /* 2025-11-29T02:40:10Z */

static const struct muster_finding slow = { .check = "copy.h2d", .status = MUSTER_FAIL, .gpu = "g0" };

static bool take(
	struct muster_strikes *strikes, const struct muster_finding *finding, int64_t after, const char **first)
{
	return muster_strikes_take(strikes, finding, "n1", BEGIN + after, MUSTER_DRAINED_BY_PROLOG, first);
}

/* A second look at so many seconds after the first. */
static const struct {
	int64_t after;
	bool known, drains;
} looks[] = {
	{ 0, true, false }, { 59, true, false }, { 60, true, true }, { 86400, true, true }, { 7 * 86400, true, true },
	{ 7 * 86400 + 1, false, false }, { -3600, false, false }, /* a clock that was set back, or an older report */
};

TEST_EACH(a_second_strike_counts_after_a_minute_and_within_a_week, looks)
{
	struct muster_strikes strikes;
	struct muster_error err;
	const char *first;
	ck_assert_int_eq(muster_strikes_read("/nonexistent/report.json", &strikes, &err), 0);
	ck_assert(!take(&strikes, &slow, 0, &first));
	ck_assert_ptr_null(first);
	ck_assert_int_eq(take(&strikes, &slow, looks[_i].after, &first), looks[_i].drains);
	if (looks[_i].known)
		ck_assert_str_eq(first, "2025-11-29T02:40:10Z");
	else
		ck_assert_ptr_null(first);
	ck_assert_uint_eq(strikes.strike_count, 1);
	muster_strikes_done(&strikes);
}

TEST(a_strike_is_of_one_check_at_one_part_of_one_node)
{
	static const struct muster_finding others[] = {
		{ .check = "copy.h2d", .status = MUSTER_FAIL, .gpu = "g1" },
		{ .check = "copy.d2h", .status = MUSTER_FAIL, .gpu = "g0" },
		{ .check = "copy.h2d", .status = MUSTER_FAIL },
	};
	struct muster_strikes strikes;
	struct muster_error err;
	const char *first;
	ck_assert_int_eq(muster_strikes_read("/nonexistent/report.json", &strikes, &err), 0);
	ck_assert(!take(&strikes, &slow, 0, &first));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert(!take(&strikes, &others[i], 600, &first));
	ck_assert(!muster_strikes_take(&strikes, &slow, "n2", BEGIN + 600, MUSTER_DRAINED_BY_HEALTH, &first));
	ck_assert(take(&strikes, &slow, 600, &first));
	ck_assert_uint_eq(strikes.strike_count, 5);
	muster_strikes_done(&strikes);
}

/* A second pass at so many seconds after the first. */
static const struct {
	int64_t after;
	bool returns;
} passes[] = { { 0, false }, { 599, false }, { 600, true }, { 7 * 86400, true }, { 7 * 86400 + 1, false },
	{ -600, false } };

TEST_EACH(a_node_comes_back_after_two_passes_ten_minutes_apart, passes)
{
	const struct muster_drain_reason reason = { .by = MUSTER_DRAINED_BY_HEALTH, .check = "copy.h2d", .part = "g0" };
	struct muster_strikes strikes;
	struct muster_error err;
	ck_assert_int_eq(muster_strikes_read("/nonexistent/report.json", &strikes, &err), 0);
	ck_assert(!muster_strikes_passed(&strikes, "n1", &reason, BEGIN));
	ck_assert_int_eq(muster_strikes_passed(&strikes, "n1", &reason, BEGIN + passes[_i].after), passes[_i].returns);
	ck_assert_uint_eq(strikes.pass_count, !passes[_i].returns);
	if (!passes[_i].returns)
		ck_assert(muster_strikes_passed(&strikes, "n1", &reason, BEGIN + passes[_i].after + 600));
	muster_strikes_done(&strikes);
}

TEST(a_fault_between_two_passes_begins_again)
{
	const struct muster_drain_reason reason = { .by = MUSTER_DRAINED_BY_HEALTH, .check = "copy.h2d", .part = "g0" };
	struct muster_strikes strikes;
	struct muster_error err;
	const char *first;
	ck_assert_int_eq(muster_strikes_read("/nonexistent/report.json", &strikes, &err), 0);
	ck_assert(!muster_strikes_passed(&strikes, "n1", &reason, BEGIN));
	ck_assert(!take(&strikes, &slow, 300, &first));
	ck_assert(!muster_strikes_passed(&strikes, "n1", &reason, BEGIN + 600));
	ck_assert(muster_strikes_passed(&strikes, "n1", &reason, BEGIN + 1200));
	muster_strikes_done(&strikes);
}

TEST(the_file_holds_what_waits_and_goes_with_the_last_of_it)
{
	struct muster_strikes strikes, back;
	struct muster_error err;
	const struct muster_drain_reason reason = { .by = MUSTER_DRAINED_BY_HEALTH, .check = "copy.d2h", .part = "g1" };
	const char *first;
	char folder[] = "/tmp/muster-strikes-XXXXXX", report[64], file[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(report, sizeof report, "%s/report.json", folder);
	snprintf(file, sizeof file, "%s/muster-strikes.json", folder);
	ck_assert_int_eq(muster_strikes_read(report, &strikes, &err), 0);
	ck_assert_int_eq(muster_strikes_write(report, &strikes, &err), 0);
	ck_assert_int_ne(access(file, F_OK), 0);
	ck_assert(!take(&strikes, &slow, 0, &first));
	ck_assert(!muster_strikes_passed(&strikes, "n2", &reason, BEGIN));
	ck_assert_int_eq(muster_strikes_write(report, &strikes, &err), 0);
	ck_assert_int_eq(muster_strikes_read(report, &back, &err), 0);
	ck_assert_uint_eq(back.strike_count, 1);
	ck_assert_uint_eq(back.pass_count, 1);
	ck_assert_str_eq(back.strikes[0].part, "g0");
	ck_assert_int_eq(back.strikes[0].by, MUSTER_DRAINED_BY_PROLOG);
	ck_assert(muster_strikes_passed(&back, "n2", &reason, BEGIN + 600));
	back.strike_count = 0;
	ck_assert_int_eq(muster_strikes_write(report, &back, &err), 0);
	ck_assert_int_ne(access(file, F_OK), 0);
	muster_strikes_done(&strikes);
	muster_strikes_done(&back);
	ck_assert_int_eq(rmdir(folder), 0);
}

TEST(a_folder_that_cannot_be_written_is_said)
{
	struct muster_strikes strikes;
	struct muster_error err;
	const char *first;
	ck_assert_int_eq(muster_strikes_read("/nonexistent/report.json", &strikes, &err), 0);
	ck_assert(!take(&strikes, &slow, 0, &first));
	ck_assert_int_eq(muster_strikes_write("/nonexistent/report.json", &strikes, &err), -1);
	ck_assert_msg(
		strncmp(err.text, "first strikes and passes are not kept: /nonexistent/", 51) == 0, "%s", err.text);
	muster_strikes_done(&strikes);
}

TEST_MAIN(.setup = NULL)

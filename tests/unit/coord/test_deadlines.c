/* SPDX-License-Identifier: Apache-2.0 */
/* test_deadlines.c - what must be over before what, in runs of every length and size */
#include "coord/deadlines.h"
#include "util/env.h"

#include "check_main.h"
#include <stdlib.h>

static struct muster_deadlines d;

static void setup(void)
{
	muster_deadlines_init(&d, 1);
	unsetenv("MUSTER_TEST_TIME_SCALE");
}

static const struct {
	const char *what;
	double start, whole, ready;
	int ranks;
	double until;
} hellos[] = {
	{ "MPI was quick: a third of the run", 0, 600e3, 2000, 16, 200e3 },
	{ "MPI took a third: a twelfth more", 0, 600e3, 200e3, 16, 250e3 },
	{ "MPI took longer: a twelfth more", 0, 600e3, 220e3, 16, 270e3 },
	{ "MPI took nearly a third: what ends later", 0, 600e3, 150e3, 16, 200e3 },
	{ "a short run: 5 s after MPI", 0, 30e3, 10e3, 16, 15e3 },
	{ "many ranks: a millisecond for each", 0, 60e3, 20e3, 65536, 85536 },
	{ "many ranks: the twelfth is more", 0, 1200e3, 400e3, 65536, 500e3 },
	{ "times are by the clock of the rank", 1e6, 600e3, 1e6 + 200e3, 16, 1e6 + 250e3 },
	{ "and so is the third", 1e6, 600e3, 1e6, 16, 1e6 + 200e3 },
};

TEST_EACH(hellos_have_their_time_after_mpi_too, hellos)
{
	double until =
		muster_deadlines_hello(&d, hellos[_i].start, hellos[_i].whole, hellos[_i].ready, hellos[_i].ranks);
	ck_assert_msg(
		until > hellos[_i].until - 0.01 && until < hellos[_i].until + 0.01, "%s: %f", hellos[_i].what, until);
}

TEST(the_report_has_more_time_for_more_ranks)
{
	ck_assert_double_eq_tol(muster_deadlines_report(&d, 0), 3500, 1e-9);
	ck_assert_double_eq_tol(muster_deadlines_report(&d, 1000), 3700, 1e-9);
	ck_assert_double_eq_tol(muster_deadlines_report(&d, 65536), 3500 + 65536 * 0.2, 1e-6);
}

TEST(who_is_waited_for_has_less_time_than_who_waits)
{
	/* before the run's end: aggregators give up first, then rank 0, then members, then records are over */
	ck_assert(d.gather_reserve >= d.barrier_aggregator);
	ck_assert(d.barrier_aggregator > d.barrier_coordinator);
	ck_assert(d.barrier_coordinator > d.barrier_member);
	ck_assert(d.barrier_member > d.record_aggregator);
	ck_assert(d.record_aggregator > d.record_coordinator);
	ck_assert(d.record_coordinator > 0);
	/* after it */
	ck_assert(d.report < d.leave);
	ck_assert(d.limit > 0);
	/* many heartbeats fit into a silence */
	ck_assert(d.silence >= 10 * d.heartbeat_every);
	/* a turn of the loop never takes so long that a rank seems dead */
	ck_assert(d.turn < d.heartbeat_every);
	ck_assert(d.start_share + d.hello_share < 0.5);
	ck_assert(d.trial_least < d.trial && d.command_least < d.command_short && d.command_short < d.command_open);
}

TEST(a_scale_multiplies_times_and_no_shares)
{
	static const double scale = 0.25;
	struct muster_deadlines s;
	muster_deadlines_init(&s, scale);
	const double times[][2] = {
		{ d.heartbeat_every, s.heartbeat_every },
		{ d.silence, s.silence },
		{ d.hello_least, s.hello_least },
		{ d.hello_per_rank, s.hello_per_rank },
		{ d.barrier_aggregator, s.barrier_aggregator },
		{ d.barrier_coordinator, s.barrier_coordinator },
		{ d.barrier_member, s.barrier_member },
		{ d.record_aggregator, s.record_aggregator },
		{ d.record_coordinator, s.record_coordinator },
		{ d.gather_reserve, s.gather_reserve },
		{ d.report, s.report },
		{ d.report_per_rank, s.report_per_rank },
		{ d.leave, s.leave },
		{ d.finalize, s.finalize },
		{ d.finalize_least, s.finalize_least },
		{ d.limit, s.limit },
		{ d.interrupted, s.interrupted },
		{ d.spool, s.spool },
		{ d.command_least, s.command_least },
		{ d.command_short, s.command_short },
		{ d.command_open, s.command_open },
		{ d.command_cancel, s.command_cancel },
		{ d.trial, s.trial },
		{ d.trial_least, s.trial_least },
		{ d.last_ring, s.last_ring },
		{ d.worker_margin, s.worker_margin },
	};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		ck_assert_msg(times[i][0] > 0, "%zu", i);
		ck_assert_msg(times[i][1] > times[i][0] * scale - 1e-9 && times[i][1] < times[i][0] * scale + 1e-9,
			"%zu: %f of %f", i, times[i][1], times[i][0]);
	}
	ck_assert_double_eq(s.hello_share, d.hello_share);
	ck_assert_double_eq(s.start_share, d.start_share);
	ck_assert_double_eq(s.ring_share, d.ring_share);
	ck_assert_double_eq(s.turn, d.turn);
	ck_assert_double_eq(s.scale, scale);
	ck_assert_double_eq(d.scale, 1);
}

static const struct {
	const char *text; /* NULL: not set */
	double scale;
} scales[] = {
	{ NULL, 1 },
	{ "0.2", 0.2 },
	{ "0.05", 0.05 },
	{ "1", 1 },
	{ "0.01", 0.05 },
	{ "0", 0.05 },
	{ "-3", 0.05 },
	{ "7", 1 },
	{ "quick", 1 },
	{ "0.2x", 1 },
	{ "", 1 },
};

TEST_EACH(the_scale_of_a_simulated_run_is_bounded, scales)
{
	if (scales[_i].text)
		setenv("MUSTER_TEST_TIME_SCALE", scales[_i].text, 1);
	ck_assert_double_eq_tol(muster_deadlines_scale(true), scales[_i].scale, 1e-12);
}

TEST(a_real_run_has_no_scale)
{
	setenv("MUSTER_TEST_TIME_SCALE", "0.2", 1);
	ck_assert_double_eq(muster_deadlines_scale(false), 1);
}

TEST_MAIN(.setup = setup)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_estimate.c - how long the rest of a run takes: never negative, and only as sure as it can be */
#include "coord/progress.h"

#include "check_main.h"

#include <math.h>

static struct muster_estimate estimate;

static void start(enum muster_profile profile, int soak_s, int steps)
{
	const struct muster_options options = {
		.profile = profile, .soak_s = soak_s, .steps = steps, .long_steps = profile == MUSTER_FULL
	};
	muster_estimate_init(&estimate, &options, 8, false, 1000);
}

static double left_s(double now_ms)
{
	return muster_estimate_left(&estimate, now_ms).ms / 1e3;
}

TEST(a_profile_takes_its_time)
{
	start(MUSTER_QUICK, 0, 0);
	double quick = left_s(1000);
	start(MUSTER_STANDARD, 0, 20);
	double standard = left_s(1000);
	start(MUSTER_FULL, 10, 200);
	double full = left_s(1000);
	ck_assert(quick > 1 && quick < standard && standard < 5);
	ck_assert(full > 14 && full < 25); /* 16 s on two H200 */
	start(MUSTER_STANDARD, 600, 20);
	ck_assert_double_eq_tol(left_s(1000), standard + 600, 1e-9);
	start(MUSTER_STANDARD, 0, 3020);
	ck_assert_double_eq_tol(left_s(1000), standard + 15, 1e-9);
}

TEST(disks_take_their_time)
{
	struct muster_options options = { .profile = MUSTER_STANDARD,
		.steps = 20,
		.storage = true,
		.storage_bytes = UINT64_C(5) * 1000 * 1000 * 1000 };
	start(MUSTER_STANDARD, 0, 20);
	double without = left_s(1000);
	muster_estimate_init(&estimate, &options, 8, false, 1000);
	ck_assert_double_eq_tol(left_s(1000), without + 8, 1e-9);
	options.measures = 1 << MUSTER_MEASURE_BROADCAST;
	muster_estimate_init(&estimate, &options, 8, false, 1000);
	ck_assert_double_eq_tol(left_s(1000), without + 9, 1e-9);
}

TEST(time_that_passes_is_taken_off)
{
	start(MUSTER_FULL, 10, 200);
	double at_first = left_s(1000);
	ck_assert_double_eq_tol(left_s(1100), at_first - 0.1, 1e-9);
	ck_assert(!muster_estimate_left(&estimate, 1100).at_least);
}

TEST(a_phase_that_takes_too_long_makes_it_a_lower_bound)
{
	start(MUSTER_STANDARD, 0, 20);
	muster_estimate_phase(&estimate, MUSTER_PHASE_TRAFFIC, 2000);
	ck_assert(left_s(2000) > 0);
	for (double now = 2000; now < 1e6; now += 1000)
		ck_assert(left_s(now) >= 0);
	struct muster_time_left left = muster_estimate_left(&estimate, 60000);
	ck_assert(left.at_least);
	ck_assert_double_eq(left.ms, 0);
	start(MUSTER_STANDARD, 0, 20);
	double later = estimate.usual[MUSTER_PHASE_LOAD] + estimate.usual[MUSTER_PHASE_RING] +
		       estimate.usual[MUSTER_PHASE_TRAFFIC] + estimate.asked[MUSTER_PHASE_TRAFFIC];
	muster_estimate_phase(&estimate, MUSTER_PHASE_COPIES, 1500);
	left = muster_estimate_left(&estimate, 9000);
	ck_assert(left.at_least);
	ck_assert(left.ms >= later * 0.5 - 1e-9);
}

TEST(a_machine_that_is_slower_takes_longer_to_the_end)
{
	start(MUSTER_STANDARD, 60, 20);
	double load = estimate.usual[MUSTER_PHASE_LOAD];
	muster_estimate_phase(&estimate, MUSTER_PHASE_INVENTORY, 31000); /* drivers that load say nothing */
	ck_assert_double_eq_tol(estimate.pace, 1, 1e-9);
	double usual = estimate.usual[MUSTER_PHASE_INVENTORY] + estimate.usual[MUSTER_PHASE_COPIES];
	muster_estimate_phase(&estimate, MUSTER_PHASE_LOAD, 31000 + 2 * usual);
	ck_assert_double_eq_tol(estimate.pace, 2, 1e-9);
	/* a soak is as long as the user asked, on every machine */
	double began = 31000 + 2 * usual;
	muster_estimate_phase(&estimate, MUSTER_PHASE_RING, began + 60000 + 2 * load);
	ck_assert_double_eq_tol(estimate.pace, 2, 1e-9);
	ck_assert_double_eq_tol(left_s(estimate.began_ms),
		(2 * (estimate.usual[MUSTER_PHASE_RING] + estimate.usual[MUSTER_PHASE_TRAFFIC]) +
			estimate.asked[MUSTER_PHASE_TRAFFIC]) /
			1e3,
		1e-9);
	muster_estimate_phase(&estimate, MUSTER_PHASE_TRAFFIC, 1e7); /* one slow phase does not make all others slow */
	ck_assert(estimate.pace <= 4);
	muster_estimate_phase(&estimate, MUSTER_PHASE_START, 2e7); /* never back */
	ck_assert_int_eq(estimate.phase, MUSTER_PHASE_TRAFFIC);
}

static const struct {
	struct muster_time_left left;
	const char *text;
} texts[] = {
	{ { 0, false }, "less than 1 s left" },
	{ { 499, false }, "less than 1 s left" },
	{ { 501, false }, "about 1 s left" },
	{ { 3400, false }, "about 3 s left" },
	{ { 119900, false }, "about 120 s left" },
	{ { 200000, false }, "about 3 min left" },
	{ { 0, true }, "longer than usual" },
	{ { 3400, true }, "at least 3 s left" },
	{ { 900000, true }, "at least 15 min left" },
};

TEST_EACH(it_is_said_in_words, texts)
{
	char text[MUSTER_TIME_LEFT_MAX];
	ck_assert_str_eq(muster_time_left_text(texts[_i].left, text), texts[_i].text);
}

TEST_MAIN(.setup = NULL)

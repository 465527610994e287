/* SPDX-License-Identifier: Apache-2.0 */
/* test_windows.c - how many windows a visit has, when the last one may begin, and what is yielded of them */
#include "probes/windows.h"

#include "check_main.h"
#include "probe_fake.h"
#include "util/text.h"

static const struct muster_metric metrics[] = {
	{ .name = "t.speed", .type = MUSTER_NUMBER, .better = MUSTER_BETTER_MORE, .windows = "" },
	{ .name = "t.time", .type = MUSTER_NUMBER, .better = MUSTER_BETTER_DRIFTS, .windows = "" },
};
static const struct muster_probe probe = { .name = "test", .metrics = metrics, .metric_count = 2 };
static struct probe_fake *context;

static void setup(void)
{
	context = fake_new(&probe);
}

static void teardown(void)
{
	fake_free(context);
}

static const struct {
	enum muster_profile profile;
	int repeats;
	size_t windows;
} counts[] = {
	{ MUSTER_QUICK, 0, 1 },
	{ MUSTER_QUICK, 5, 5 },
	{ MUSTER_STANDARD, 1, 3 },
	{ MUSTER_STANDARD, 20, 60 },
	{ MUSTER_FULL, 0, 9 },
	{ MUSTER_FULL, 2, 18 },
	{ MUSTER_FULL, 1000, MUSTER_WINDOWS_MOST },
};

TEST_EACH(the_profile_says_how_many_windows_a_visit_has, counts)
{
	context->ctx.env.profile = counts[_i].profile;
	context->ctx.env.repeats = counts[_i].repeats;
	ck_assert_uint_eq(muster_windows_count(&context->ctx), counts[_i].windows);
}

/* The first visit was `past` milliseconds ago: no test waits for long. */
static const struct {
	enum muster_profile profile;
	int visit;
	double past, apart; /* apart 0: it does not wait */
} waits[] = {
	{ MUSTER_QUICK, 2, 245, 250 },
	{ MUSTER_STANDARD, 2, 495, 500 },
	{ MUSTER_FULL, 2, 495, 500 },
	{ MUSTER_QUICK, 2, 250, 0 },
	{ MUSTER_STANDARD, 2, 1e4, 0 },
	{ MUSTER_STANDARD, 1, -1e8, 0 },
	{ MUSTER_STANDARD, 0, -1e8, 0 },
	{ MUSTER_STANDARD, MUSTER_VISITS, 1e4, 0 },
};

TEST_EACH(the_last_visit_is_a_while_after_the_first, waits)
{
	const double first_ms = muster_now_ms() - waits[_i].past;
	double kept = first_ms;
	context->ctx.env.profile = waits[_i].profile;
	context->ctx.env.visit = waits[_i].visit;
	muster_windows_wait(&context->ctx, &kept);
	ck_assert_double_eq(kept, first_ms);
	ck_assert_double_ge(muster_now_ms(), waits[_i].apart > 0 ? first_ms + waits[_i].apart : 0);
}

TEST(the_first_visit_is_remembered)
{
	double first_ms = 0, before_ms = muster_now_ms();
	muster_windows_wait(&context->ctx, &first_ms);
	ck_assert_double_ge(first_ms, before_ms);
	ck_assert_double_le(first_ms, muster_now_ms());
}

static const struct {
	const char *metric;
	size_t count;
	const char *expected;
} yields[] = {
	{ "t.speed", 3, "t.speed 2 | t.speed [1 2 0]" },
	{ "t.time", 3, "t.time 0 | t.time [1 2 0]" },
	{ "t.speed", 1, "t.speed [1]" },
	{ "t.speed", 0, "t.speed -nothing moved" },
};

TEST_EACH(the_best_window_is_yielded_with_all_of_them, yields)
{
	static const double windows[] = { 1, 2, 0 };
	muster_windows_emit(&context->ctx, yields[_i].metric, NULL, 0, windows, yields[_i].count, "nothing moved");
	fake_expect(context, yields[_i].expected, yields[_i].metric);
	ck_assert_uint_eq(context->samples.items[0].value_count, yields[_i].count > 1 ? yields[_i].count : 0);
}

TEST(of_too_many_windows_as_many_as_there_is_room_for_are_yielded_at_even_distances)
{
	static double many[2 * MUSTER_WINDOWS_MOST];
	for (size_t i = 0; i < LENGTH(many); i++)
		many[i] = (double)i;
	muster_windows_emit(&context->ctx, "t.speed", NULL, 0, many, LENGTH(many), NULL);
	const struct muster_sample *sample = &context->samples.items[0];
	ck_assert_double_eq(sample->value.number, (double)(LENGTH(many) - 1));
	ck_assert_uint_eq(sample->value_count, MUSTER_WINDOWS_MOST);
	for (size_t i = 0; i < MUSTER_WINDOWS_MOST; i++)
		ck_assert_double_eq(sample->values[i], (double)(2 * i));
}

TEST_MAIN(.setup = setup, .teardown = teardown)

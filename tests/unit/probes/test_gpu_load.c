/* test_gpu_load.c - what the probe gpu_load makes of its samples, rounds and reports */
#include "check_main.h"
#include "probes/gpu_load/load.h"

#include <string.h>

/* ---- reasons for throttling ---- */

#define BRAKE nvmlClocksThrottleReasonHwPowerBrakeSlowdown
#define CAP nvmlClocksThrottleReasonSwPowerCap

TEST(a_reason_counts_from_three_samples_in_a_row_on)
{
	static const struct {
		const char *samples; /* 'b' brake, 'c' cap, '2' both, '.' none */
		double brake, cap, brake_seen;
	} rows[] = {
		{ "..........", 0, 0, 0 },
		{ "b.b.bb.b.b", 0, 0, 0.6 },
		{ "bbb.......", 0.3, 0, 0.3 },
		{ ".bbbb.bb..", 0.4, 0, 0.6 },
		{ "bbb.bbbb..", 0.7, 0, 0.7 },
		{ "cc222ccc..", 0.3, 0.8, 0.3 },
		{ "b2c2b.....", 0, 0.3, 0.4 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct muster_sampler sampler = { 0 };
		for (const char *at = rows[i].samples; *at; at++)
			muster_sampler_count(&sampler, *at == 'b'   ? BRAKE
						       : *at == 'c' ? CAP
						       : *at == '2' ? BRAKE | CAP
								    : 0);
		ck_assert_double_eq_tol(
			muster_sampler_share(&sampler, MUSTER_THROTTLE_POWER_BRAKE), rows[i].brake, 1e-9);
		ck_assert_double_eq_tol(muster_sampler_share(&sampler, MUSTER_THROTTLE_POWER_CAP), rows[i].cap, 1e-9);
		ck_assert_double_eq_tol(
			muster_sampler_seen(&sampler, MUSTER_THROTTLE_POWER_BRAKE), rows[i].brake_seen, 1e-9);
		ck_assert_double_eq(muster_sampler_share(&sampler, MUSTER_THROTTLE_SW_THERMAL), 0);
	}
	struct muster_sampler none = { 0 };
	ck_assert_double_eq(muster_sampler_share(&none, MUSTER_THROTTLE_POWER_BRAKE), 0);
	ck_assert_double_eq(muster_sampler_seen(&none, MUSTER_THROTTLE_POWER_BRAKE), 0);
}

TEST(without_nvml_nothing_is_sampled)
{
	struct muster_sampler sampler;
	muster_sampler_init(&sampler, false, NULL);
	muster_sampler_start(&sampler);
	muster_sampler_take(&sampler);
	muster_sampler_stop(&sampler);
	ck_assert(!sampler.running);
	ck_assert_uint_eq(sampler.reasons_count, 0);
	for (size_t i = 0; i < MUSTER_SAMPLED_KINDS; i++)
		ck_assert(sampler.figures[i].count == 0 && *sampler.figures[i].why_none.text);
	ck_assert(*sampler.why_no_reasons.text);
}

/* ---- what was wrong ---- */

TEST(the_first_wrong_word_is_told_with_its_bit)
{
	struct muster_wrong wrong = { 0 };
	struct muster_kernel_report report = { .wrong = 3, .noted = 3 };
	report.noticed[0] = (struct muster_difference){ 0x500, { 1, 1 }, { 1, 9 } };
	report.noticed[1] = (struct muster_difference){ 0x20, { 0x7, 5 }, { 0x3, 5 } };
	report.noticed[2] = (struct muster_difference){ 0x21, { 0, 0 }, { 1, 1 } };
	muster_wrong_add(&wrong, &report, 0);
	ck_assert_uint_eq(wrong.words, 3);
	ck_assert_str_eq(wrong.first, "offset 0x200: expected 0x3, read 0x7, bit 2");
	report.noticed[0].place = 0; /* a later report does not change it */
	muster_wrong_add(&wrong, &report, 0);
	ck_assert_uint_eq(wrong.words, 6);
	ck_assert_str_eq(wrong.first, "offset 0x200: expected 0x3, read 0x7, bit 2");
	muster_wrong_note(&wrong, "something else");
	ck_assert_uint_eq(wrong.words, 7);
}

TEST(a_wrong_upper_half_and_several_bits)
{
	struct muster_wrong wrong = { 0 };
	struct muster_kernel_report report = { .wrong = 1000, .noted = 1000 }; /* more than there is room for */
	for (size_t i = 0; i < MUSTER_DIFFERENCES_MAX; i++)
		report.noticed[i] = (struct muster_difference){ 100 + i, { 4, UINT64_MAX }, { 4, 0 } };
	muster_wrong_add(&wrong, &report, 0);
	ck_assert_uint_eq(wrong.words, 1000);
	ck_assert_str_eq(wrong.first, "offset 0x648: expected 0x0, read 0xffffffffffffffff");
	struct muster_wrong none = { 0 };
	muster_wrong_add(&none, &(struct muster_kernel_report){ .wrong = 0 }, 0);
	ck_assert(none.words == 0 && !*none.first);
	muster_wrong_add(&none, &report, UINT64_C(0x100000000)); /* of a second range, which begins there */
	ck_assert_str_eq(none.first, "offset 0x100000648: expected 0x0, read 0xffffffffffffffff");
}

/* ---- rounds ---- */

TEST(medians_of_parts_of_a_series)
{
	struct muster_series series = { 0 };
	for (int i = 0; i < 1000; i++)
		muster_series_add(&series, 1000 - i);
	ck_assert_uint_eq(series.count, 1000);
	ck_assert_double_eq(muster_series_median(&series, 0, 1), 1000);
	ck_assert_double_eq(muster_series_median(&series, 0, 99), 951);
	ck_assert_double_eq(muster_series_median(&series, 901, 1000), 50);
	ck_assert_double_eq(series.values[0], 1000); /* in the order in which they came */
	muster_series_done(&series);
	ck_assert_ptr_null(series.values);
}

TEST_MAIN(.setup = NULL)

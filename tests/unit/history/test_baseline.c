/* SPDX-License-Identifier: Apache-2.0 */
/* test_baseline.c - median, MAD and number of earlier values, which of them teach, and the overlay of them */
#include "check_main.h"

#include "history/baseline.h"
#include "muster/probe.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2026-10-01T12:00:00Z, and so many days later */
static int64_t day(int days)
{
	int64_t time;
	ck_assert_int_eq(muster_utc_read("2026-10-01T12:00:00Z", &time), 0);
	return time + days * 24 * 3600LL;
}

static struct muster_history_report report_of(const char *machine_type, const char *profile, int days)
{
	return (struct muster_history_report){
		.started = day(days), .machine_type = machine_type, .profile = profile, .verdict = MUSTER_PASS
	};
}

static void take(
	struct muster_learning *learning, const struct muster_history_report *report, const char *key, double value)
{
	char name[128];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "{"), key);
	muster_learning_take(learning, &(struct muster_history_value){ .report = report,
					       .metric = muster_metric_find(name),
					       .key = key,
					       .node = "n",
					       .value = value });
}

/* Python's statistics: median(values), and median of abs(value - median) */
static const struct {
	double values[24];
	size_t count;
	double median, mad;
} series[] = {
	{ { 5 }, 1, 5, 0 },
	{ { 4, 5 }, 2, 4.5, 0.5 },
	{ { 3, 1, 100 }, 3, 3, 2 },
	{ { 7, 7, 7, 7, 1 }, 5, 7, 0 },
	{ { 26.1, 26.0, 25.8, 26.3, 26.2, 26.1, 25.9, 26.0, 26.4, 26.1, 26.05, 25.95, 26.15, 26.25, 25.85, 26.0, 26.1,
		  26.2, 25.7, 26.3 },
		20, 26.1, 0.1 },
	{ { 26.1, 26.0, 25.8, 26.3, 26.2, 26.1, 25.9, 26.0, 26.4, 26.1, 26.05, 25.95, 26.15, 26.25, 25.85, 26.0, 26.1,
		  26.2, 25.7, 26.3, 23.0 },
		21, 26.1, 0.1 },
};

TEST_EACH(median_and_mad_are_those_of_the_values, series)
{
	struct muster_learning learning = { 0 };
	struct muster_history_report report = report_of("type", "quick", 0);
	for (size_t i = 0; i < series[_i].count; i++)
		take(&learning, &report, "gpu.h2d_gbps", series[_i].values[i]);
	muster_learning_end(&learning);
	ck_assert_uint_eq(learning.count, 1);
	ck_assert_uint_eq(learning.items->count, series[_i].count);
	ck_assert_uint_eq(learning.items->reports, 1);
	ck_assert_double_eq_tol(learning.items->median, series[_i].median, 1e-9);
	ck_assert_double_eq_tol(learning.items->mad, series[_i].mad, 1e-9);
	ck_assert(muster_learned_enough(learning.items) == (series[_i].count >= 20));
	muster_learning_done(&learning);
}

TEST(machine_types_profiles_and_keys_are_kept_apart)
{
	static const char *const types[] = { "b", "a" }, *const profiles[] = { "standard", "quick" },
				 *const keys[] = { "gpu.h2d_gbps", "gpu.d2h_gbps" };
	static const char order[] = "a gpu.d2h_gbps quick 3, a gpu.d2h_gbps standard 1, a gpu.h2d_gbps quick 2, "
				    "a gpu.h2d_gbps standard 0, b gpu.d2h_gbps quick 3, b gpu.d2h_gbps standard 1, "
				    "b gpu.h2d_gbps quick 2, b gpu.h2d_gbps standard 0, ";
	struct muster_learning learning = { 0 };
	char text[512] = "";
	for (int i = 0; i < 24; i++) { /* each of the eight kinds in three reports */
		struct muster_history_report report = report_of(types[i % 2], profiles[i / 4 % 2], i);
		take(&learning, &report, keys[i / 2 % 2], i / 2 % 2 + 2 * (i / 4 % 2));
	}
	muster_learning_end(&learning);
	for (size_t i = 0; i < learning.count; i++) {
		const struct muster_learned *item = &learning.items[i];
		ck_assert_uint_eq(item->count, 3);
		ck_assert_uint_eq(item->reports, 3);
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s %s %s %g, ", item->machine_type,
			item->key, item->profile, item->median);
	}
	ck_assert_str_eq(text, order);
	ck_assert_str_eq(muster_learned_source(&learning, learning.items), "3 reports, 2026-10-08 to 2026-10-24");
	muster_learning_done(&learning);
}

TEST(reports_that_say_the_same_of_themselves_are_told_apart_by_the_caller)
{
	struct muster_learning learning = { 0 };
	struct muster_history_report report = report_of("type", "quick", 0);
	report.started = MUSTER_HISTORY_NEVER;
	report.simulated = true;
	for (int i = 0; i < 3; i++) {
		muster_learning_report(&learning);
		take(&learning, &report, "gpu.h2d_gbps", 1);
		take(&learning, &report, "gpu.h2d_gbps", 2);
	}
	muster_learning_end(&learning);
	ck_assert_uint_eq(learning.items->reports, 3);
	ck_assert_str_eq(muster_learned_source(&learning, learning.items), "3 simulated reports");
	muster_learning_done(&learning);
}

static const struct {
	const char *node, *machine_type;
	bool beside_jobs;
	enum muster_status status, verdict; /* of the node, of the run */
	bool teaches;
} values[] = {
	{ "n", "type", false, MUSTER_PASS, MUSTER_PASS, true },
	{ "n", "type", false, MUSTER_WARN, MUSTER_PASS, true },
	{ "n", "type", false, MUSTER_PASS, MUSTER_FAIL, true }, /* another node failed */
	{ "n", "type", false, MUSTER_FAIL, MUSTER_FAIL, false },
	{ "n", "type", false, MUSTER_INCONCLUSIVE, MUSTER_PASS, false },
	{ "n", "type", true, MUSTER_PASS, MUSTER_PASS, false },
	{ "n", "unknown", false, MUSTER_PASS, MUSTER_PASS, false },
	{ "n", NULL, false, MUSTER_PASS, MUSTER_PASS, false },
	{ NULL, "type", false, MUSTER_INCONCLUSIVE, MUSTER_PASS, true },
	{ NULL, "type", false, MUSTER_PASS, MUSTER_FAIL, false },
};

TEST_EACH(what_failed_does_not_teach, values)
{
	const struct muster_history_report report = { .machine_type = values[_i].machine_type,
		.profile = "quick",
		.beside_jobs = values[_i].beside_jobs,
		.verdict = values[_i].verdict };
	const struct muster_history_value value = { .report = &report, .node = values[_i].node };
	ck_assert(muster_baseline_teaches(&value, values[_i].status) == values[_i].teaches);
}

static const struct {
	const char *metric;
	bool wanted;
} metrics[] = {
	{ "gpu.h2d_gbps", true },
	{ "gpu.gemm_bf16_tflops", true },
	{ "nccl.allreduce_busbw_gbps", true },
	{ "pair.exchange_gbps", true },
	{ "gpu.nvlink_gbps", false },           /* a fact of the link */
	{ "port.rate_gbps", false },            /* likewise */
	{ "gpu.pcie_limit_gbps", false },       /* a limit */
	{ "nccl.allreduce_algbw_gbps", false }, /* busbw says the same */
	{ "nccl.allreduce_us", false },
	{ "gpu.nvlinks", false },
	{ "gpu.ecc_corrected_increase", false },
	{ "gpu.temperature_celsius", false },
};

TEST_EACH(measured_speeds_are_learned, metrics)
{
	ck_assert(muster_baseline_wanted(muster_metric_find(metrics[_i].metric)) == metrics[_i].wanted);
}

TEST(the_overlay_has_a_check_for_each_key_with_enough_values)
{
	struct muster_learning learning = { 0 };
	static const char ring[] = "nccl.allreduce_busbw_gbps{bytes=536870912,nodes=2,ranks=16}";
	static const char *const parts[] = { "\"baseline.gpu.h2d_gbps.quick\": {", "\"metric\": \"gpu.h2d_gbps\"",
		"\"when\": {\"profile\": \"quick\"}", "\"baseline\": {\"median\": 26.1, \"mad\": 0.1, \"n\": 20}",
		"\"min_of_baseline\": 0.93,", "\"warn_of_baseline\": 0.95,", "\"max_mad\": 5.2,",
		"\"certainty\": \"measured\"", "\"source\": \"learned from 20 reports, 2026-10-01 to 2026-10-20\"",
		"\"baseline.nccl.allreduce_busbw_gbps.536870912.2.16.quick\": {",
		"\"where\": {\"bytes\": 536870912, \"nodes\": 2, \"ranks\": 16}",
		"\"when\": {\"profile\": \"quick\", \"nodes\": 2, \"ranks\": 16}" };
	for (int i = 0; i < 20; i++) {
		struct muster_history_report report = report_of("type", "quick", i);
		take(&learning, &report, "gpu.h2d_gbps", i % 2 ? 26 : 26.2);
		take(&learning, &report, ring, 180);
		take(&learning, &report, "gpu.gemm_bf16_tflops", 0); /* 0 has no share */
		if (i > 0)
			take(&learning, &report, "gpu.d2h_gbps", 25);
		report.machine_type = "another";
		take(&learning, &report, "gpu.d2h_gbps", 25);
	}
	muster_learning_end(&learning);
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	ck_assert_uint_eq(muster_baseline_print(&learning, "type", NULL, out), 2);
	muster_memory_close(out);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		ck_assert_msg(strstr(text, parts[i]), "no %s in %s", parts[i], text);
	ck_assert_ptr_null(strstr(text, "d2h"));
	ck_assert_ptr_null(strstr(text, "gemm"));
	free(text);
	muster_learning_done(&learning);
}

/* What the worst of 100 values is, and the shares that follow. */
static const struct {
	const char *key;
	double usual, worst, another; /* 98 times, once, once */
	double fail, warn;
} tails[] = {
	{ "gpu.h2d_gbps", 50, 49.5, 50, 0.07, 0.05 },           /* 1 % */
	{ "gpu.h2d_gbps", 50, 47.5, 50, 0.10, 0.075 },          /* 5 % */
	{ "gpu.h2d_gbps", 50, 25, 50, 0.20, 0.15 },             /* may have been a bad part */
	{ "gpu.h2d_gbps", 50, 50, 60, 0.07, 0.05 },             /* better is not worse */
	{ "rank.allreduce_p99_us", 100, 105, 50, 0.10, 0.075 }, /* of times, more is worse */
};

TEST_EACH(values_that_are_seldom_much_worse_have_wider_shares, tails)
{
	struct muster_learning learning = { 0 };
	for (int i = 0; i < 100; i++) {
		struct muster_history_report report = report_of("type", "quick", i);
		take(&learning, &report, tails[_i].key,
			i == 0   ? tails[_i].worst
			: i == 1 ? tails[_i].another
				 : tails[_i].usual);
	}
	muster_learning_end(&learning);
	ck_assert_uint_eq(learning.count, 1);
	struct muster_baseline_shares shares = muster_learned_shares(&learning.items[0]);
	ck_assert_double_eq_tol(shares.fail, tails[_i].fail, 1e-9);
	ck_assert_double_eq_tol(shares.warn, tails[_i].warn, 1e-9);
	muster_learning_done(&learning);
}

TEST_MAIN(.setup = NULL)

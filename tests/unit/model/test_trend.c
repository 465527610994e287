/* test_trend.c - every figure has a trend, and repeated measurements become one sample */
#include "model/trend.h"
#include "muster/probe.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(whatever_is_a_speed_or_a_time_has_a_trend)
{
	for (size_t i = 0; i < muster_metric_count(); i++) {
		const struct muster_metric *metric = muster_metric_at(i);
		bool speed = strcmp(metric->unit, "GB/s") == 0 || strcmp(metric->unit, "Gb/s") == 0 ||
			     strcmp(metric->unit, "us") == 0 || strcmp(metric->unit, "ms") == 0;
		ck_assert_msg(!speed || muster_metric_trend(metric) != MUSTER_TREND_FACT, "%s", metric->name);
	}
}

/* A name that is misspelt or out of order would never be found: as many are found as the table has. */
TEST(every_name_of_the_table_is_a_metric)
{
	size_t count[4] = { 0 };
	for (size_t i = 0; i < muster_metric_count(); i++)
		count[muster_metric_trend(muster_metric_at(i))]++;
	ck_assert_uint_eq(count[MUSTER_TREND_MORE], 58);
	ck_assert_uint_eq(count[MUSTER_TREND_LESS], 29);
	ck_assert_uint_eq(count[MUSTER_TREND_DRIFTS], 86);
}

static const struct {
	const char *metric;
	enum muster_worse worse;
} sides[] = {
	{ "gpu.h2d_gbps", MUSTER_WORSE_BELOW },
	{ "gpu.gemm_bf16_tflops", MUSTER_WORSE_BELOW },
	{ "gpu.nvlinks", MUSTER_WORSE_BELOW },
	{ "nccl.allreduce_p99_us", MUSTER_WORSE_ABOVE },
	{ "rank.compute_ms", MUSTER_WORSE_ABOVE },
	{ "gpu.load_seconds", MUSTER_WORSE_ABOVE },
	{ "gpu.ecc_corrected_increase", MUSTER_WORSE_ABOVE },
	{ "gpu.temperature_celsius", MUSTER_WORSE_NEITHER },
	{ "gpu.pcie_limit_gbps", MUSTER_WORSE_NEITHER },
	{ "node.cpus", MUSTER_WORSE_NEITHER },
	{ "gpu.copy_intact", MUSTER_WORSE_NEITHER },
	{ "node.driver_version", MUSTER_WORSE_NEITHER },
};

TEST_EACH(a_value_is_worse_on_one_side, sides)
{
	ck_assert_int_eq(muster_metric_worse(muster_metric_find(sides[_i].metric)), sides[_i].worse);
}

enum { VALUES_MAX = 4 };

/* '-' is a null with the reason "why". What is left, and what of it stands in values. */
static const struct {
	const char *metric, *values[VALUES_MAX], *left, *kept;
} cases[] = {
	{ "gpu.h2d_gbps", { "10", "30", "20" }, "20", "10 30 20" },
	{ "gpu.h2d_gbps", { "10", "20" }, "15", "10 20" },
	{ "gpu.h2d_gbps", { "10", "-", "30", "40" }, "30", "10 30 40" },
	{ "gpu.h2d_gbps", { "-", "10" }, "10", "" },
	{ "gpu.h2d_gbps", { "-", "-" }, "-", "" },
	{ "gpu.h2d_gbps", { "10" }, "10", "" },
	{ "gpu.gemm_bf16_tflops", { "700", "780", "710" }, "710", "700 780 710" },
	{ "rank.allreduce_wrong", { "0", "0", "5" }, "5", "0 0 5" },
	{ "gpu.pcie_gen_loaded", { "4", "3", "4" }, "3", "4 3 4" },
	{ "gpu.h2d_spread", { "0.1", "0.3", "0.2" }, "0.2", "0.1 0.3 0.2" },
	{ "gpu.copy_intact", { "true", "true" }, "true", "" },
	{ "gpu.copy_intact", { "true", "false", "true" }, "true false", "" },
	{ "gpu.copy_mib", { "64", "64" }, "64", "" },
	{ "gpu.copy_mib", { "64", "32" }, "64 32", "" },
};

static struct muster_value value_of(const char *text)
{
	if (strcmp(text, "-") == 0)
		return muster_null();
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return muster_boolean(*text == 't');
	return muster_number(strtod(text, NULL));
}

static void append(char *out, size_t size, struct muster_value value)
{
	char text[64];
	size_t used = strlen(out);
	snprintf(out + used, size - used, "%s%s", used ? " " : "",
		value.type == MUSTER_NULL ? "-" : muster_value_text(value, text, sizeof text));
}

TEST_EACH(repeats_are_folded, cases)
{
	struct muster_run run;
	muster_run_init(&run);
	struct muster_rank *rank = muster_node_add_rank(muster_run_add_node(&run, "n"), 0);
	const struct muster_metric *metric = muster_metric_find(cases[_i].metric);
	const struct muster_label mine = { .key = "gpu", .value = muster_string("a") };
	const struct muster_label other = { .key = "gpu", .value = muster_string("b") };
	for (size_t i = 0; i < VALUES_MAX && cases[_i].values[i]; i++) {
		struct muster_value value = value_of(cases[_i].values[i]);
		muster_samples_add(&rank->samples, (struct muster_sample){
							   .metric = metric,
							   .labels = &mine,
							   .label_count = 1,
							   .value = value,
							   .reason = value.type == MUSTER_NULL ? "why" : NULL,
						   });
	}
	/* another thing's measurement is left alone */
	muster_samples_add(&rank->samples,
		(struct muster_sample){
			.metric = metric, .labels = &other, .label_count = 1, .value = muster_number(7) });
	muster_run_fold_repeats(&run);
	char left[128] = "", kept[128] = "";
	for (size_t i = 0; i < rank->samples.count; i++) {
		const struct muster_sample *sample = &rank->samples.items[i];
		if (sample->labels == &other) {
			ck_assert(sample->value.number == 7 && sample->value_count == 0);
			continue;
		}
		append(left, sizeof left, sample->value);
		ck_assert((sample->reason != NULL) == (sample->value.type == MUSTER_NULL));
		for (size_t j = 0; j < sample->value_count; j++)
			append(kept, sizeof kept, muster_number(sample->values[j]));
	}
	ck_assert_str_eq(left, cases[_i].left);
	ck_assert_str_eq(kept, cases[_i].kept);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

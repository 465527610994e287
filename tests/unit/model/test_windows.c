/* SPDX-License-Identifier: Apache-2.0 */
/* test_windows.c - windows of all visits, and repeated measurements, become one sample */
#include "model/windows.h"
#include "muster/probe.h"

#include "check_main.h"
#include "muster/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 4 };

/* A value is a number, several windows "1,3,2" whose best one it is, or '-': null with the reason "why". What is left,
 * and what of it stands in values. once: nothing was repeated. */
static const struct {
	const char *metric, *values[VALUES_MAX], *left, *kept;
	bool once;
} cases[] = {
	{ "gpu.h2d_gbps", { "10", "30", "20" }, "30", "10 30 20", false },
	{ "gpu.h2d_gbps", { "10,12,11", "14,9", "13" }, "14", "10 12 11 14 9 13", true },
	{ "gpu.h2d_gbps", { "10,12,11" }, "12", "10 12 11", true },
	{ "gpu.h2d_gbps", { "10", "-", "30,40" }, "40", "10 30 40", true },
	{ "gpu.h2d_gbps", { "-", "10,9" }, "10", "10 9", true },
	{ "gpu.h2d_gbps", { "-", "10" }, "10", "", false },
	{ "gpu.h2d_gbps", { "-", "-" }, "-", "", false },
	{ "gpu.h2d_gbps", { "10" }, "10", "", false },
	{ "gpu.gemm_bf16_tflops", { "700", "780", "710" }, "780", "700 780 710", false },
	{ "nccl.allreduce_us", { "30,20", "25,28" }, "20", "30 20 25 28", false },
	{ "gpu.gemm_sustained_tflops", { "700", "780", "710" }, "710", "700 780 710", false },
	{ "gpu.gemm_sustained_tflops", { "10", "20" }, "15", "10 20", false },
	{ "rank.allreduce_wrong", { "0", "0", "5" }, "5", "0 0 5", false },
	{ "gpu.memory_wrong", { "0", "5", "2" }, "5", "0 5 2", true },
	{ "gpu.pcie_gen_loaded", { "4", "3", "4" }, "3", "4 3 4", false },
	{ "gpu.pcie_gen_loaded", { "4", "3" }, "4 3", "", true },
	{ "gpu.gemm_drift", { "0.1", "0.3", "0.2" }, "0.2", "0.1 0.3 0.2", false },
	{ "gpu.copy_intact", { "true", "true" }, "true", "", false },
	{ "gpu.copy_intact", { "true", "false", "true" }, "true false", "", false },
	{ "gpu.copy_mib", { "64", "64" }, "64", "", false },
	{ "gpu.copy_mib", { "64", "32" }, "64 32", "", false },
};

static struct muster_value value_of(const char *text)
{
	if (strcmp(text, "-") == 0)
		return muster_null();
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return muster_boolean(*text == 't');
	return muster_number(strtod(text, NULL));
}

/* "1,3,2" */
static size_t windows_of(const char *text, double windows[VALUES_MAX])
{
	size_t count = 0;
	char *end;
	for (const char *at = text; strchr(text, ',') && *at; at = *end == ',' ? end + 1 : end)
		windows[count++] = strtod(at, &end);
	return count;
}

static void append(char *out, size_t size, struct muster_value value)
{
	char text[64];
	size_t used = strlen(out);
	snprintf(out + used, size - used, "%s%s", used ? " " : "",
		value.type == MUSTER_NULL ? "-" : muster_value_text(value, text, sizeof text));
}

static struct muster_sample sample_of(const char *metric, const char *text, double windows[VALUES_MAX])
{
	const struct muster_metric *of = muster_metric_find(metric);
	size_t count = windows_of(text, windows);
	struct muster_value value = count ? muster_number(muster_metric_best(of, windows, count)) : value_of(text);
	return (struct muster_sample){
		.metric = of, .value = value, .values = windows, .value_count = (unsigned short)count
	};
}

TEST_EACH(samples_of_one_thing_are_folded, cases)
{
	struct muster_run run;
	muster_run_init(&run);
	struct muster_rank *rank = muster_node_add_rank(muster_run_add_node(&run, "n"), 0);
	const struct muster_metric *metric = muster_metric_find(cases[_i].metric);
	const struct muster_label mine = { .key = "gpu", .value = muster_string("a") };
	const struct muster_label other = { .key = "gpu", .value = muster_string("b") };
	double windows[VALUES_MAX][VALUES_MAX];
	for (size_t i = 0; i < VALUES_MAX && cases[_i].values[i]; i++) {
		struct muster_sample sample = sample_of(cases[_i].metric, cases[_i].values[i], windows[i]);
		sample.labels = &mine;
		sample.label_count = 1;
		sample.reason = sample.value.type == MUSTER_NULL ? "why" : NULL;
		muster_samples_add(&rank->samples, sample);
	}
	/* another thing's measurement is left alone */
	muster_samples_add(&rank->samples,
		(struct muster_sample){
			.metric = metric, .labels = &other, .label_count = 1, .value = muster_number(7) });
	muster_samples_fold(&rank->samples, !cases[_i].once, run.arena);
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

/* Of so many windows in each of two visits; the last one is the best. */
TEST_LOOP(the_best_of_many_windows_counts_and_36_at_even_distances_are_kept, 0, 3)
{
	static const struct {
		size_t windows;
		double second, last; /* that is kept */
	} many[] = { { 18, 1, 35 }, { 36, 2, 70 }, { MUSTER_VALUES_MAX, 7, 248 } };
	static double values[2 * MUSTER_VALUES_MAX];
	struct muster_run run;
	const size_t count = many[_i].windows;
	muster_run_init(&run);
	for (size_t i = 0; i < 2 * count; i++)
		values[i] = (double)i;
	for (size_t visit = 0; visit < 2; visit++)
		muster_samples_add(&run.job.samples, (struct muster_sample){
							     .metric = muster_metric_find("gpu.h2d_gbps"),
							     .value = muster_number(values[(visit + 1) * count - 1]),
							     .values = values + visit * count,
							     .value_count = (unsigned short)count,
						     });
	muster_run_fold(&run);
	const struct muster_sample *sample = &run.job.samples.items[0];
	ck_assert_uint_eq(run.job.samples.count, 1);
	ck_assert_double_eq(sample->value.number, (double)(2 * count - 1));
	ck_assert_uint_eq(sample->value_count, MUSTER_VALUES_KEPT);
	ck_assert_double_eq(sample->values[1], many[_i].second);
	ck_assert_double_eq(sample->values[MUSTER_VALUES_KEPT - 1], many[_i].last);
	muster_run_done(&run);
}

TEST(a_fold_keeps_what_a_number_was_before_it_was_measured_once_more)
{
	struct muster_run run;
	double windows[2][VALUES_MAX];
	muster_run_init(&run);
	muster_samples_add(&run.job.samples, sample_of("gpu.h2d_gbps", "10,12", windows[0]));
	const struct muster_sample again = sample_of("gpu.h2d_gbps", "30,20", windows[1]);
	muster_samples_fold_again(&run.job.samples, &again, run.arena);
	muster_run_fold(&run);
	const double *tries = muster_sample_tries(&run.job.samples.items[0]);
	ck_assert_ptr_nonnull(tries);
	ck_assert_double_eq(tries[0], 12);
	ck_assert_double_eq(tries[1], 30);
	muster_run_done(&run);
}

/* Measured once more after the fold: what is left, the kept values, and both tries. */
static const struct {
	const char *metric, *before, *again, *left, *kept, *tries;
} agains[] = {
	{ "gpu.h2d_gbps", "10,12", "30,20", "30", "10 12 30 20", "12 30" },
	{ "gpu.h2d_gbps", "12", "9", "12", "12 9", "12 9" },
	{ "nccl.allreduce_us", "30,25", "20", "20", "30 25 20", "25 20" },
	{ "gpu.memory_wrong", "0", "5", "5", "0 5", "" },
	{ "gpu.memory_wrong", "5", "0", "5", "5 0", "" },
	{ "gpu.h2d_gbps", "12", "-", "12", "", "" },
	{ "gpu.h2d_gbps", "-", "12", "-", "", "" },
};

TEST_EACH(the_better_of_two_speeds_counts_and_the_worse_of_two_counts, agains)
{
	struct muster_run run;
	struct muster_samples samples = { 0 };
	double windows[2][VALUES_MAX];
	char left[64] = "", kept[64] = "", tries[64] = "";
	muster_run_init(&run);
	muster_samples_add(&samples, sample_of(agains[_i].metric, agains[_i].before, windows[0]));
	const struct muster_sample again = sample_of(agains[_i].metric, agains[_i].again, windows[1]);
	muster_samples_fold_again(&samples, &again, run.arena);
	ck_assert_uint_eq(samples.count, 1);
	append(left, sizeof left, samples.items[0].value);
	for (size_t i = 0; i < samples.items[0].value_count; i++)
		append(kept, sizeof kept, muster_number(samples.items[0].values[i]));
	for (size_t i = 0; i < 2 && samples.items[0].tried; i++)
		append(tries, sizeof tries, muster_number(muster_sample_tries(&samples.items[0])[i]));
	ck_assert_str_eq(left, agains[_i].left);
	ck_assert_str_eq(kept, agains[_i].kept);
	ck_assert_str_eq(tries, agains[_i].tries);
	samples.items[0].metric = muster_metric_find("gpu.copy_mib"); /* what was not measured before is added */
	muster_samples_fold_again(&samples, &again, run.arena);
	ck_assert_uint_eq(samples.count, 2);
	muster_samples_done(&samples);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

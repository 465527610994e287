/* test_windows.c - repeated measurements become one sample */
#include "model/windows.h"
#include "muster/probe.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	muster_run_fold(&run, true);
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

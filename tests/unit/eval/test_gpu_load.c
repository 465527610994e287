/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_load.c - the shipped checks of a GPU under load: healthy figures pass, and each fault is one finding where
 * it is
 */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run_data.h"

/* What a healthy H100 gave, at its power limit for a part of the time. */
static const struct figure {
	const char *metric, *label;
	struct muster_value value;
} healthy[] = {
#define NUMBER(name, given)                                                                                            \
	{                                                                                                              \
		name, "",                                                                                              \
		{                                                                                                      \
			.type = MUSTER_NUMBER, .number = (given)                                                       \
		}                                                                                                      \
	}
#define THROTTLED(reason, share)                                                                                       \
	{                                                                                                              \
		"gpu.throttled_share", " reason=" reason,                                                              \
		{                                                                                                      \
			.type = MUSTER_NUMBER, .number = (share)                                                       \
		}                                                                                                      \
	}
	NUMBER("gpu.memory_limit_gbps", 3352.3),
	NUMBER("gpu.matmul_bf16_limit_tflops", 1070.5),
	NUMBER("gpu.memory_held_mib", 1042),
	NUMBER("gpu.memory_tested_share", 0.981),
	NUMBER("gpu.memory_wrong", 0),
	NUMBER("gpu.memory_write_gbps", 3170),
	NUMBER("gpu.memory_read_gbps", 3073),
	NUMBER("gpu.gemm_bf16_tflops", 688),
	NUMBER("gpu.gemm_wrong", 0),
	NUMBER("gpu.temperature_loaded_celsius", 58),
	NUMBER("gpu.temperature_margin_celsius", 31),
	NUMBER("gpu.memory_temperature_loaded_celsius", 54),
	NUMBER("gpu.memory_temperature_limit_celsius", 95),
	NUMBER("gpu.ecc_corrected_increase", 0),
	NUMBER("gpu.ecc_uncorrected_increase", 0),
	THROTTLED("sw-power-cap", 0.41),
	THROTTLED("sw-thermal", 0),
	THROTTLED("hw-thermal", 0),
	THROTTLED("hw-power-brake", 0),
	THROTTLED("hw-slowdown", 0),
	NUMBER("gpu.hw_slowdown_share", 0),
	{ "gpu.gemm_drift", "", { .type = MUSTER_NULL } },
	{ "gpu.gemm_checksum", " precision=bf16 made_by=H100,8192", { .type = MUSTER_STRING, .string = "3587c3c2" } },
};

/* On one rank, or on all (-1). */
struct change {
	int rank;
	const char *metric, *label;
	double value;
	const char *text;
};

enum { CHANGES = 3 };
static const struct case_of {
	const char *sku;
	int ranks;
	struct change changes[CHANGES];
	const char *found; /* "fail load.x rank=1 " for each finding of the load */
} cases[] = {
	{ "generic-nvidia", 1, { { 0 } }, "" },
	{ "generic-nvidia", 8, { { 0 } }, "" },
	{ "Standard_ND96isr_H100_v5", 8, { { 0 } }, "" },
	/* at the power limit all the time */
	{ "Standard_ND96isr_H100_v5", 8,
		{ { -1, "gpu.throttled_share", " reason=sw-power-cap", 1, NULL },
			{ -1, "gpu.gemm_bf16_tflops", "", 650, NULL }, { -1, "gpu.gemm_drift", "", 0.93, NULL } },
		"" },
	{ "generic-nvidia", 8, { { 2, "gpu.memory_wrong", "", 1, NULL } }, "fail load.memory_wrong rank=2 " },
	/* wrong memory makes wrong products, and nobody asks for the speed of such a GPU */
	{ "generic-nvidia", 8,
		{ { 2, "gpu.memory_wrong", "", 9, NULL }, { 2, "gpu.gemm_wrong", "", 5, NULL },
			{ 2, "gpu.gemm_bf16_tflops", "", 200, NULL } },
		"fail load.memory_wrong rank=2 " },
	{ "generic-nvidia", 8, { { 3, "gpu.gemm_wrong", "", 1, NULL } }, "fail load.products_wrong rank=3 " },
	{ "generic-nvidia", 8,
		{ { 3, "gpu.gemm_checksum", " precision=bf16 made_by=H100,8192", 0, "dead" },
			{ 3, "gpu.gemm_wrong", "", 1, NULL } },
		"fail load.products_wrong rank=3 " },
	{ "generic-nvidia", 8, { { 7, "gpu.gemm_checksum", " precision=bf16 made_by=H100,8192", 0, "dead" } },
		"fail load.same_products rank=7 " },
	/* of two that differ neither is blamed */
	{ "generic-nvidia", 2, { { 1, "gpu.gemm_checksum", " precision=bf16 made_by=H100,8192", 0, "dead" } },
		"fail load.same_products rank=-1 " },
	/* another library may have another order of additions */
	{ "generic-nvidia", 2, { { 1, "gpu.gemm_checksum", " precision=bf16 made_by=H100,4096", 0, "dead" } }, "" },
	{ "generic-nvidia", 8,
		{ { 4, "gpu.memory_tested_share", "", 0.25, NULL }, { 4, "gpu.memory_held_mib", "", 61440, NULL } },
		"warn load.memory_tested rank=4 " },
	{ "generic-nvidia", 8, { { 5, "gpu.ecc_uncorrected_increase", "", 1, NULL } },
		"fail load.ecc_uncorrected rank=5 " },
	{ "generic-nvidia", 8, { { 5, "gpu.ecc_corrected_increase", "", 1, NULL } },
		"warn load.ecc_corrected rank=5 " },
	{ "generic-nvidia", 8,
		{ { 6, "gpu.throttled_share", " reason=hw-thermal", 0.3, NULL },
			{ 6, "gpu.throttled_share", " reason=hw-slowdown", 0.3, NULL },
			{ 6, "gpu.gemm_bf16_tflops", "", 300, NULL } },
		"fail load.hw_thermal rank=6 " },
	{ "generic-nvidia", 8,
		{ { 6, "gpu.throttled_share", " reason=sw-thermal", 0.02, NULL },
			{ 6, "gpu.temperature_margin_celsius", "", 1, NULL } },
		"fail load.sw_thermal rank=6 " },
	{ "generic-nvidia", 8, { { 6, "gpu.throttled_share", " reason=sw-thermal", 0.01, NULL } }, "" },
	{ "generic-nvidia", 2,
		{ { -1, "gpu.throttled_share", " reason=hw-power-brake", 1, NULL },
			{ -1, "gpu.throttled_share", " reason=hw-slowdown", 1, NULL },
			{ -1, "gpu.gemm_bf16_tflops", "", 200, NULL } },
		"fail load.power_brake rank=0 fail load.power_brake rank=1 " },
	{ "generic-nvidia", 1,
		{ { 0, "gpu.throttled_share", " reason=hw-slowdown", 0.5, NULL },
			{ 0, "gpu.hw_slowdown_share", "", 0.4, NULL } },
		"fail load.hw_slowdown rank=0 " },
	/* for a moment, as where the power jumps */
	{ "generic-nvidia", 1, { { 0, "gpu.throttled_share", " reason=hw-slowdown", 0.2, NULL } },
		"warn load.hw_slowdown_brief rank=0 " },
	{ "generic-nvidia", 1, { { 0, "gpu.temperature_margin_celsius", "", 3, NULL } },
		"warn load.temperature rank=0 " },
	{ "generic-nvidia", 1, { { 0, "gpu.memory_temperature_loaded_celsius", "", 94, NULL } },
		"warn load.memory_temperature rank=0 " },
	/* two thirds, of any figure */
	{ "generic-nvidia", 1, { { 0, "gpu.memory_write_gbps", "", 2113, NULL } }, "fail load.memory_write rank=0 " },
	{ "generic-nvidia", 1, { { 0, "gpu.memory_read_gbps", "", 2048, NULL } }, "fail load.memory_read rank=0 " },
	{ "generic-nvidia", 1, { { 0, "gpu.gemm_bf16_tflops", "", 229, NULL } }, "fail load.bf16 rank=0 " },
	{ "Standard_ND96isr_H100_v5", 2, { { -1, "gpu.gemm_bf16_tflops", "", 460, NULL } },
		"fail load.bf16 rank=0 fail load.bf16 rank=1 " },
	/* slower than the others */
	{ "generic-nvidia", 8, { { 1, "gpu.gemm_bf16_tflops", "", 590, NULL } }, "fail load.bf16_median rank=1 " },
	{ "generic-nvidia", 8, { { 1, "gpu.gemm_bf16_tflops", "", 630, NULL } }, "warn load.bf16_close rank=1 " },
	{ "generic-nvidia", 3, { { 1, "gpu.gemm_bf16_tflops", "", 655, NULL } }, "" },
	{ "generic-nvidia", 5, { { 1, "gpu.gemm_bf16_tflops", "", 590, NULL } }, "warn load.bf16_median rank=1 " },
	{ "generic-nvidia", 2, { { 1, "gpu.gemm_bf16_tflops", "", 590, NULL } }, "" },
	{ "generic-nvidia", 1, { { 0, "gpu.gemm_drift", "", 0.85, NULL } }, "warn load.drift rank=0 " },
	/* a GPU that does not say */
	{ "generic-nvidia", 1,
		{ { 0, "gpu.temperature_margin_celsius", "", 0, "-" }, { 0, "gpu.memory_limit_gbps", "", 0, "-" },
			{ 0, "gpu.matmul_bf16_limit_tflops", "", 0, "-" } },
		"" },
};

static struct muster_value value_of(const struct case_of *test, const struct figure *figure, int rank)
{
	for (size_t i = 0; i < CHANGES && test->changes[i].metric; i++) {
		const struct change *change = &test->changes[i];
		size_t length = strcspn(figure->label, ",");
		if ((change->rank >= 0 && change->rank != rank) || strcmp(change->metric, figure->metric) != 0 ||
			strncmp(change->label, figure->label, length) != 0)
			continue;
		return !change->text                    ? muster_number(change->value)
		       : strcmp(change->text, "-") == 0 ? muster_null()
							: muster_string(change->text);
	}
	return figure->value;
}

/* The labels of a changed checksum are the change's. */
static const char *label_of(const struct case_of *test, const struct figure *figure, int rank)
{
	for (size_t i = 0; i < CHANGES && test->changes[i].metric; i++)
		if (test->changes[i].rank == rank && strcmp(test->changes[i].metric, "gpu.gemm_checksum") == 0 &&
			strcmp(figure->metric, "gpu.gemm_checksum") == 0)
			return test->changes[i].label;
	return figure->label;
}

static struct muster_run *make(const struct case_of *test, size_t figures)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "n", test->ranks);
	for (int rank = 0; rank < test->ranks; rank++)
		for (size_t i = 0; i < figures; i++) {
			char labels[128];
			snprintf(labels, sizeof labels, "gpu=g%d%s", rank, label_of(test, &healthy[i], rank));
			fixture_sample(run, &node->ranks[rank].samples, healthy[i].metric, labels,
				value_of(test, &healthy[i], rank));
		}
	return run;
}

static struct muster_report *judge(const struct muster_run *run, const char *sku)
{
	struct muster_expect expect;
	struct muster_error err;
	ck_assert_msg(muster_expect_load(MUSTER_SOURCE_DIR "/configs", sku, NULL, &expect, &err) == 0, "%s", err.text);
	struct muster_report *report = fixture_new_report();
	muster_evaluate(run, &expect, false, report);
	muster_expect_done(&expect);
	return report;
}

static const char *found_in(const struct muster_report *report)
{
	static char text[1024];
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < report->finding_count && used < sizeof text - 128; i++) {
		const struct muster_finding *f = &report->findings[i];
		if (strncmp(f->check, "load.", 5) == 0 && f->status != MUSTER_SKIP)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s %s rank=%d ",
				muster_status_name(f->status), f->check, f->rank);
	}
	return text;
}

TEST_EACH(each_fault_is_one_finding_where_it_is, cases)
{
	struct muster_run *run = make(&cases[_i], LENGTH(healthy));
	struct muster_report *report = judge(run, cases[_i].sku);
	ck_assert_str_eq(found_in(report), cases[_i].found);
}

TEST(the_advice_says_which_word_and_bit_was_wrong)
{
	static const struct case_of wrong = { "generic-nvidia", 1, { { 0, "gpu.memory_wrong", "", 1, NULL } }, NULL };
	struct muster_run *run = make(&wrong, LENGTH(healthy));
	fixture_sample(run, &run->nodes[0].ranks[0].samples, "gpu.memory_wrong_at", "gpu=g0",
		muster_string("offset 0x1f00: expected 0x0, read 0x4, bit 2"));
	struct muster_report *report = judge(run, wrong.sku);
	const struct muster_finding *found = &report->findings[0];
	while (strcmp(found->check, "load.memory_wrong") != 0)
		ck_assert_ptr_ne(found++, &report->findings[report->finding_count]);
	ck_assert_msg(strstr(found->advice, "(gpu.memory_wrong_at: offset 0x1f00: expected 0x0, read 0x4, bit 2)"),
		"%s", found->advice);
}

/* The quick profile puts no load on the GPUs: none of its checks is inconclusive then. */
TEST(without_a_load_nothing_is_asked)
{
	static const struct case_of none = { "Standard_ND96isr_H100_v5", 8, { { 0 } }, NULL };
	struct muster_run *run = make(&none, 0);
	run->job.profile = "quick";
	struct muster_report *report = judge(run, none.sku);
	size_t checks = 0;
	for (size_t i = 0; i < report->tally_count; i++) {
		if (strncmp(report->tallies[i].check, "load.", 5) != 0)
			continue;
		ck_assert_msg(report->tallies[i].skipped != NULL, "%s", report->tallies[i].check);
		checks++;
	}
	ck_assert_uint_gt(checks, 15);
	ck_assert_str_eq(found_in(report), "");
}

TEST_MAIN(.teardown = fixture_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_context.c - what a probe may emit, and what ends its worker */
#include "check_main.h"
#include "probes/context.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	{ .name = "t.plain", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE },
	{ .name = "t.gpu", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_GPU, .labels = { "gpu" } },
	{ .name = "t.four",
		.type = MUSTER_BOOLEAN,
		.scope = MUSTER_SCOPE_JOB,
		.labels = { "kind", "bytes", "path", "nodes" } },
};
static const struct muster_probe probe = { .name = "test", .metrics = metrics, .metric_count = 3 };

static jmp_buf back;
static char words[2048];
static size_t samples;

static void take_sample(void *arg, const struct muster_sample *sample)
{
	char value[256];
	(void)arg;
	samples++;
	snprintf(words, sizeof words, "%s", sample->metric->name);
	for (size_t i = 0; i < sample->label_count; i++)
		snprintf(words + strlen(words), sizeof words - strlen(words), " %s=%s", sample->labels[i].key,
			muster_value_text(sample->labels[i].value, value, sizeof value));
	snprintf(words + strlen(words), sizeof words - strlen(words), ": %s%s%s",
		muster_value_text(sample->value, value, sizeof value), sample->reason ? ", " : "",
		sample->reason ? sample->reason : "");
}

static void take_text(void *arg, const char *text)
{
	(void)arg;
	snprintf(words, sizeof words, "%s", text);
}

static void broken(void *arg, const char *why)
{
	take_text(arg, why);
	longjmp(back, 1);
}

static const struct muster_probe_sink sink = {
	.sample = take_sample, .step = take_text, .evidence = take_text, .broken = broken
};
static struct muster_probe_ctx ctx;

static void setup(void)
{
	ctx = (struct muster_probe_ctx){ .probe = &probe, .env = { .root = "/root" }, .sink = &sink };
	samples = 0;
}

/* The shorthands, each with what the sink gets. */
static void emit(int which)
{
	switch (which) {
	case 0: muster_emit_for(&ctx, "t.plain", NULL, muster_number(2.5)); break;
	case 1: muster_emit_for(&ctx, "t.gpu", "g", muster_string("x")); break;
	case 2: muster_emit_null_for(&ctx, "t.plain", NULL, "no %s", "file"); break;
	case 3: muster_emit_null_for(&ctx, "t.gpu", "g", "code %d", 7); break;
	case 4: muster_emit_result(&ctx, "t.plain", NULL, 0, muster_number(3), "unused"); break;
	case 5: muster_emit_result(&ctx, "t.plain", NULL, -1, muster_number(3), "it failed"); break;
	case 6: muster_emit_result(&ctx, "t.gpu", "g", 1, muster_string("y"), "unused"); break;
	default: muster_emit_result(&ctx, "t.gpu", "g", -1, muster_null(), "100 % of it failed"); break;
	}
}

static const char *const emitted[] = {
	"t.plain: 2.5",
	"t.gpu gpu=g: x",
	"t.plain: no value, no file",
	"t.gpu gpu=g: no value, code 7",
	"t.plain: 3",
	"t.plain: no value, it failed",
	"t.gpu gpu=g: y",
	"t.gpu gpu=g: no value, 100 % of it failed",
};

TEST_EACH(a_sample_reaches_the_sink_with_labels_and_reason, emitted)
{
	emit(_i);
	ck_assert_str_eq(words, emitted[_i]);
	ck_assert_uint_eq(samples, 1);
}

TEST(labels_keep_the_order_of_the_table)
{
	const struct muster_value labels[] = { muster_string("1"), muster_number(2), muster_string("3"),
		muster_number(4) };
	muster_emit(&ctx, "t.four", labels, 4, muster_boolean(true));
	ck_assert_str_eq(words, "t.four kind=1 bytes=2 path=3 nodes=4: true");
}

static const struct {
	const char *metric;
	size_t labels;
	struct muster_value label, value;
	const char *why;
} breaks[] = {
	{ "t.other", 0, { .type = MUSTER_NULL }, { .type = MUSTER_NUMBER },
		"probe test yields t.other, which it does not list" },
	{ "t.plain", 1, { .type = MUSTER_NUMBER }, { .type = MUSTER_NUMBER },
		"probe test yields t.plain with 1 labels and a number; 0 and a number are listed" },
	{ "t.gpu", 0, { .type = MUSTER_NULL }, { .type = MUSTER_STRING, .string = "x" },
		"probe test yields t.gpu with 0 labels and a string; 1 and a string are listed" },
	{ "t.gpu", 1, { .type = MUSTER_NUMBER }, { .type = MUSTER_NUMBER },
		"probe test yields t.gpu with 1 labels and a number; 1 and a string are listed" },
	{ "t.gpu", 1, { .type = MUSTER_BOOLEAN }, { .type = MUSTER_STRING, .string = "x" },
		"probe test yields t.gpu with label gpu as a boolean" },
	{ "t.gpu", 1, { .type = MUSTER_NUMBER }, { .type = MUSTER_STRING, .string = "x" },
		"probe test yields t.gpu with label gpu as a number" },
	{ "t.gpu", 1, { .type = MUSTER_NULL }, { .type = MUSTER_STRING, .string = "x" },
		"probe test yields t.gpu with label gpu as a null" },
	{ "t.plain", 0, { .type = MUSTER_NULL }, { .type = MUSTER_NULL },
		"probe test yields t.plain as null without a reason" },
};

TEST_EACH(what_is_not_in_the_table_ends_the_worker, breaks)
{
	if (setjmp(back) == 0) {
		muster_emit(&ctx, breaks[_i].metric, &breaks[_i].label, breaks[_i].labels, breaks[_i].value);
		ck_abort_msg("%s was taken: %s", breaks[_i].metric, words);
	}
	ck_assert_str_eq(words, breaks[_i].why);
	ck_assert_uint_eq(samples, 0);
}

TEST(an_empty_reason_is_none)
{
	if (setjmp(back) == 0) {
		muster_emit_null_for(&ctx, "t.plain", NULL, "%s", "");
		ck_abort_msg("it was taken");
	}
	ck_assert_str_eq(words, "probe test yields t.plain as null without a reason");
}

TEST(paths_are_under_the_root_and_never_cut)
{
	char path[25];
	ck_assert_str_eq(muster_root_path(&ctx, path, sizeof path, "/sys/%s/%d", "class", 7), "/root/sys/class/7");
	ck_assert_str_eq(muster_root_path(&ctx, path, sizeof path, "/%018d", 7), "/root/000000000000000007");
	if (setjmp(back) == 0) {
		muster_root_path(&ctx, path, sizeof path - 1, "/%018d", 7);
		ck_abort_msg("it was cut: %s", path);
	}
	ck_assert_str_eq(words, "path too long: /root/000000000000000007");
}

TEST(evidence_is_one_plain_line)
{
	muster_evidence(&ctx, "NCCL's log: %s", "one\ntwo\033[31m");
	ck_assert_ptr_null(strpbrk(words, "\n\033"));
	ck_assert_ptr_nonnull(strstr(words, "NCCL's log: one"));
	muster_step(&ctx, "open %s", "libcuda.so.1");
	ck_assert_str_eq(words, "open libcuda.so.1");
}

TEST_MAIN(.setup = setup)

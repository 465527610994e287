/* SPDX-License-Identifier: Apache-2.0 */
/* probe_context.c - a probe's context for fuzzers: no worker, no pipe; its sink looks at each sample and keeps none */
#include "probe_context.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>

/* Every byte of a string is read, so that AddressSanitizer sees one without an end. */
static void take_sample(void *arg, const struct muster_sample *sample)
{
	struct fuzz_context *context = arg;
	const char *name = sample->metric->name;
	struct muster_value value = sample->value;
	for (size_t i = 0; i < sample->label_count; i++) {
		struct muster_value label = sample->labels[i].value;
		FUZZ_CHECK(label.type == MUSTER_NUMBER || (label.string && strlen(label.string) < 4096),
			"%s: label %zu", name, i);
	}
	FUZZ_CHECK(!sample->reason || *sample->reason, "%s", name);
	FUZZ_CHECK(value.type != MUSTER_NUMBER || isfinite(value.number), "%s is %g", name, value.number);
	FUZZ_CHECK(value.type != MUSTER_STRING || strlen(value.string) <= 4096, "%s", name);
	context->samples++;
}

static void take_step(void *arg, const char *text)
{
	(void)arg, (void)text;
}

static void evidence(void *arg, const char *text)
{
	(void)arg, (void)text;
}

static void failing(void *arg, const struct muster_error *err)
{
	(void)arg, (void)err;
}

static int cancelled(void *arg, struct muster_error *err)
{
	(void)arg, (void)err;
	return 0;
}

static void broken(void *arg, const char *why)
{
	(void)arg;
	FUZZ_CHECK(false, "%s", why);
}

static const struct muster_probe_sink sink = {
	.sample = take_sample,
	.step = take_step,
	.evidence = evidence,
	.failing = failing,
	.cancelled = cancelled,
	.broken = broken,
};

void context_init(struct fuzz_context *context, const char *root)
{
	*context = (struct fuzz_context){ .gpu = { .cuda_device = -1, .visible = -1, .choice = "none" } };
	context->ctx = (struct muster_probe_ctx){ .sink = &sink, .arg = context };
	context->ctx.env = (struct muster_probe_env){ .ranks = 1,
		.local_ranks = 1,
		.nodes = 1,
		.node_name = "node-1",
		.leader = true,
		.profile = MUSTER_QUICK,
		.root = root,
		.gpu = &context->gpu };
}

size_t context_run(struct fuzz_context *context, const struct muster_probe *probe,
	int (*callback)(struct muster_probe_ctx *ctx, struct muster_error *err))
{
	struct muster_error err = { 0 };
	context->ctx.probe = probe;
	context->samples = 0;
	if (callback(&context->ctx, &err) < 0)
		FUZZ_CHECK(err.code != MUSTER_OK && *err.text, "%s fails without a word", probe->name);
	return context->samples;
}

/* probe_context.c - a probe's context for fuzzers: no worker, no pipe; it checks each sample as a worker would */
#include "probe_context.h"

#include "fuzz.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void context_init(struct muster_probe_ctx *ctx, const char *root)
{
	*ctx = (struct muster_probe_ctx){ .gpu = { .cuda_device = -1, .visible = -1, .choice = "none" } };
	ctx->env = (struct muster_probe_env){ .ranks = 1,
		.local_ranks = 1,
		.nodes = 1,
		.node_name = "node-1",
		.leader = true,
		.profile = MUSTER_QUICK,
		.root = root,
		.gpu = &ctx->gpu };
}

size_t context_run(struct muster_probe_ctx *ctx, const struct muster_probe *probe,
	int (*callback)(struct muster_probe_ctx *ctx, struct muster_error *err))
{
	struct muster_error err = { 0 };
	ctx->probe = probe;
	ctx->samples = 0;
	if (callback(ctx, &err) < 0)
		FUZZ_CHECK(err.code != MUSTER_OK && *err.text, "%s fails without a word", probe->name);
	return ctx->samples;
}

const struct muster_probe_env *muster_probe_env(struct muster_probe_ctx *ctx)
{
	return &ctx->env;
}

void muster_step(struct muster_probe_ctx *ctx, const char *format, ...)
{
	(void)ctx, (void)format;
}

int muster_cancelled(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx, (void)err;
	return 0;
}

void muster_failing(struct muster_probe_ctx *ctx, const struct muster_error *err)
{
	(void)ctx, (void)err;
}

const char *muster_root_path(struct muster_probe_ctx *ctx, char *buf, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int used = snprintf(buf, size, "%s", ctx->env.root);
	int more = vsnprintf(buf + used, size - (size_t)used, format, args);
	va_end(args);
	FUZZ_CHECK((size_t)(used + more) < size, "a path longer than %zu bytes", size);
	return buf;
}

/* Every byte of a string is read, so that AddressSanitizer sees one without an end. */
static void take(struct muster_probe_ctx *ctx, const char *name, const struct muster_value *labels, size_t count,
	struct muster_value value, const char *reason)
{
	const struct muster_metric *metric = NULL;
	size_t wanted = 0;
	for (size_t i = 0; i < ctx->probe->metric_count && !metric; i++)
		if (strcmp(ctx->probe->metrics[i].name, name) == 0)
			metric = &ctx->probe->metrics[i];
	FUZZ_CHECK(metric != NULL, "%s does not list %s", ctx->probe->name, name);
	while (wanted < MUSTER_LABELS_MAX && metric->labels[wanted])
		wanted++;
	FUZZ_CHECK(count == wanted, "%s: %zu labels", name, count);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(labels[i].type == MUSTER_NUMBER || (labels[i].string && strlen(labels[i].string) < 4096),
			"%s: label %zu", name, i);
	FUZZ_CHECK(reason ? *reason != '\0' : value.type == metric->type, "%s", name);
	FUZZ_CHECK(value.type != MUSTER_NUMBER || isfinite(value.number), "%s is %g", name, value.number);
	FUZZ_CHECK(value.type != MUSTER_STRING || strlen(value.string) <= 4096, "%s", name);
	ctx->samples++;
}

static void take_null(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels, size_t count,
	const char *format, va_list args)
{
	char reason[MUSTER_ERROR_TEXT_MAX];
	vsnprintf(reason, sizeof reason, format, args);
	take(ctx, metric, labels, count, muster_null(), reason);
}

void muster_emit(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, struct muster_value value)
{
	take(ctx, metric, labels, label_count, value, NULL);
}

void muster_emit_null(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, const char *reason_format, ...)
{
	va_list args;
	va_start(args, reason_format);
	take_null(ctx, metric, labels, label_count, reason_format, args);
	va_end(args);
}

void muster_emit_plain(struct muster_probe_ctx *ctx, const char *metric, struct muster_value value)
{
	take(ctx, metric, NULL, 0, value, NULL);
}

void muster_emit_for(struct muster_probe_ctx *ctx, const char *metric, const char *label, struct muster_value value)
{
	struct muster_value labels[] = { muster_string(label) };
	take(ctx, metric, labels, 1, value, NULL);
}

void muster_emit_null_for(
	struct muster_probe_ctx *ctx, const char *metric, const char *label, const char *reason_format, ...)
{
	struct muster_value labels[] = { muster_string(label) };
	va_list args;
	va_start(args, reason_format);
	take_null(ctx, metric, labels, 1, reason_format, args);
	va_end(args);
}

void muster_emit_null_plain(struct muster_probe_ctx *ctx, const char *metric, const char *reason_format, ...)
{
	va_list args;
	va_start(args, reason_format);
	take_null(ctx, metric, NULL, 0, reason_format, args);
	va_end(args);
}

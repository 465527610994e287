/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - emit, step and root path: what muster/probe.h gives to every probe, wherever its samples go
 *
 * A probe that breaks its own table (a metric that is not listed, a wrong type or number of labels, a null without a
 * reason) ends the worker with a message: such a sample could not be judged, and the mistake is in the source. Texts
 * are borrowed for the call of the sink alone.
 *
 * All functions that yield a sample end in emit_all:
 *
 *   muster_emit, muster_emit_null           several labels
 *   muster_emit_for, muster_emit_null_for   one label that is a text, or none
 *   muster_emit_result, _result_with        a value, or where result is negative null with a text
 *   muster_emit_read, _read_with            the same with an error, whose code becomes sample.unread
 *   muster_windows_emit                     the best of several values, with these values
 */
#include "probes/context.h"
#include "probes/windows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the worker: the sink's function does not return. */
static _Noreturn __attribute__((format(printf, 2, 3))) void broken(
	struct muster_probe_ctx *ctx, const char *format, ...)
{
	char why[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	ctx->sink->broken(ctx->arg, why);
	abort();
}

const struct muster_probe_env *muster_probe_env(struct muster_probe_ctx *ctx)
{
	return &ctx->env;
}

void muster_step(struct muster_probe_ctx *ctx, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	ctx->sink->step(ctx->arg, text);
}

/* The root is "" on a real machine. A path that does not fit is a mistake in the source or in the root's length, and
 * ends the worker: a cut path would name another file. */
const char *muster_root_path(struct muster_probe_ctx *ctx, char *buf, size_t size, const char *format, ...)
{
	char path[4096];
	va_list args;
	va_start(args, format);
	vsnprintf(path, sizeof path, format, args);
	va_end(args);
	int length = snprintf(buf, size, "%s%s", ctx->env.root, path);
	if (length < 0 || (size_t)length >= size)
		broken(ctx, "path too long: %s%s", ctx->env.root, path);
	return buf;
}

int muster_cancelled(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	return ctx->sink->cancelled(ctx->arg, err);
}

/* The text passes through muster_fail, which makes of it one line of plain UTF-8: libraries put newlines and terminal
 * controls into their logs. */
void muster_evidence(struct muster_probe_ctx *ctx, const char *format, ...)
{
	char text[MUSTER_ERROR_TEXT_MAX];
	struct muster_error plain;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	muster_fail(&plain, MUSTER_EVENDOR, "%s", text);
	ctx->sink->evidence(ctx->arg, plain.text);
}

void muster_failing(struct muster_probe_ctx *ctx, const struct muster_error *err)
{
	ctx->sink->failing(ctx->arg, err);
}

/* The row of this name in the table of the probe that runs, never in the table of another probe. ctx->probe is NULL
 * while the worker calls `begin`, so that a sample there ends the worker. */
static const struct muster_metric *metric_of(struct muster_probe_ctx *ctx, const char *name)
{
	for (size_t i = 0; ctx->probe && i < ctx->probe->metric_count; i++)
		if (strcmp(ctx->probe->metrics[i].name, name) == 0)
			return &ctx->probe->metrics[i];
	broken(ctx, "probe %s yields %s, which it does not list", ctx->probe ? ctx->probe->name : "(none)", name);
}

/* Every sample passes through here. It is compared with the metric's row: the number of labels, the type of the value
 * (or null, which needs a reason), and the type of each label, where a text may stand for a number that is not known.
 * The labels' names come from the row, in its order; the caller gives values alone.
 *
 * windows: the values of which `value` is the best. Fewer than two say no more than `value` and are not handed on.
 * unread: only of a null, the short name of an error's code; see struct muster_sample. */
static void emit_all(struct muster_probe_ctx *ctx, const char *name, const struct muster_value *values, size_t count,
	struct muster_value value, const char *reason, const char *unread, const double *windows, size_t window_count)
{
	const struct muster_metric *metric = metric_of(ctx, name);
	size_t wanted = 0;
	while (wanted < MUSTER_LABELS_MAX && metric->labels[wanted])
		wanted++;
	if (count != wanted || (value.type != metric->type && value.type != MUSTER_NULL))
		broken(ctx, "probe %s yields %s with %zu labels and a %s; %zu and a %s are listed", ctx->probe->name,
			name, count, muster_type_name(value.type), wanted, muster_type_name(metric->type));
	if (value.type == MUSTER_NULL && (!reason || !*reason))
		broken(ctx, "probe %s yields %s as null without a reason", ctx->probe->name, name);
	struct muster_label labels[MUSTER_LABELS_MAX];
	for (size_t i = 0; i < count; i++) {
		const struct muster_label_row *row = muster_label_find(metric->labels[i]);
		if (!row || !muster_label_fits(row, values[i].type))
			broken(ctx, "probe %s yields %s with label %s as a %s", ctx->probe->name, name,
				metric->labels[i], muster_type_name(values[i].type));
		labels[i] = (struct muster_label){ .key = metric->labels[i], .value = values[i] };
	}
	struct muster_sample sample = { .metric = metric,
		.labels = labels,
		.label_count = (unsigned int)count,
		.value = value,
		.reason = reason,
		.value_count = (unsigned short)(window_count > 1 ? window_count : 0) };
	if (value.type == MUSTER_NULL)
		sample.unread = unread;
	else
		sample.values = windows;
	ctx->sink->sample(ctx->arg, &sample);
}

static void emit(struct muster_probe_ctx *ctx, const char *name, const struct muster_value *values, size_t count,
	struct muster_value value, const char *reason)
{
	emit_all(ctx, name, values, count, value, reason, NULL, NULL, 0);
}

/* The best value is taken of all windows, before those that are handed on are chosen: the best one need not be among
 * them. */
void muster_windows_emit(struct muster_probe_ctx *ctx, const char *name, const struct muster_value *labels,
	size_t label_count, const double *values, size_t count, const char *why_none)
{
	struct muster_value best =
		count ? muster_number(muster_metric_best(metric_of(ctx, name), values, count)) : muster_null();
	double kept[MUSTER_WINDOWS_MOST];
	size_t left = count < MUSTER_WINDOWS_MOST ? count : MUSTER_WINDOWS_MOST;
	for (size_t i = 0; i < left; i++)
		kept[i] = values[i * count / left];
	emit_all(ctx, name, labels, label_count, best, count ? NULL : why_none, NULL, kept, left);
}

static void emit_null(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, const char *format, va_list args)
{
	char reason[MUSTER_ERROR_TEXT_MAX];
	vsnprintf(reason, sizeof reason, format, args);
	emit(ctx, metric, labels, label_count, muster_null(), reason);
}

void muster_emit(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, struct muster_value value)
{
	emit(ctx, metric, labels, label_count, value, NULL);
}

void muster_emit_null(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, const char *reason_format, ...)
{
	va_list args;
	va_start(args, reason_format);
	emit_null(ctx, metric, labels, label_count, reason_format, args);
	va_end(args);
}

void muster_emit_for(struct muster_probe_ctx *ctx, const char *metric, const char *label, struct muster_value value)
{
	muster_emit_result(ctx, metric, label, 0, value, NULL);
}

void muster_emit_null_for(
	struct muster_probe_ctx *ctx, const char *metric, const char *label, const char *reason_format, ...)
{
	const struct muster_value labels[] = { muster_string(label) };
	va_list args;
	va_start(args, reason_format);
	emit_null(ctx, metric, labels, label != NULL, reason_format, args);
	va_end(args);
}

void muster_emit_result_with(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, int result, struct muster_value value, const char *why)
{
	emit(ctx, metric, labels, label_count, result < 0 ? muster_null() : value, result < 0 ? why : NULL);
}

void muster_emit_result(struct muster_probe_ctx *ctx, const char *metric, const char *label, int result,
	struct muster_value value, const char *why)
{
	const struct muster_value labels[] = { muster_string(label) };
	muster_emit_result_with(ctx, metric, labels, label != NULL, result, value, why);
}

/* A null has one of two meanings, which the code of `why` tells apart:
 *
 *   MUSTER_OK, MUSTER_ENOTSUPPORTED   the machine or the run has no such value; unread is NULL
 *   any other code                    there may be a value, and it could not be read; unread is the code's name
 *
 * muster_emit_result and muster_emit_null always mean the first. */
void muster_emit_read_with(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, int result, struct muster_value value, const struct muster_error *why)
{
	bool lacks = result < 0 && (why->code == MUSTER_OK || why->code == MUSTER_ENOTSUPPORTED);
	emit_all(ctx, metric, labels, label_count, result < 0 ? muster_null() : value, result < 0 ? why->text : NULL,
		result < 0 && !lacks ? muster_code_name(why->code) : NULL, NULL, 0);
}

void muster_emit_read(struct muster_probe_ctx *ctx, const char *metric, const char *label, int result,
	struct muster_value value, const struct muster_error *why)
{
	const struct muster_value labels[] = { muster_string(label) };
	muster_emit_read_with(ctx, metric, labels, label != NULL, result, value, why);
}

/* probe_fake.c - a probe's context without a worker: it records every sample, and refuses what a worker would refuse */
#include "probe_fake.h"

#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct muster_probe_ctx *fake_new(const struct muster_probe *probe)
{
	struct muster_probe_ctx *ctx = muster_calloc(1, sizeof *ctx);
	ctx->probe = probe;
	ctx->arena = muster_arena_new();
	snprintf(ctx->root, sizeof ctx->root, "/tmp/muster-probe-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(ctx->root));
	ctx->gpu = (struct muster_gpu){
		.cuda_device = -1, .visible = 0, .choice = "none", .why_none = "CUDA shows no GPU"
	};
	ctx->peers[0] = (struct muster_peer){ .gpu_bus_id = "", .gpu_uuid = "" };
	ctx->env = (struct muster_probe_env){ .ranks = 1,
		.local_ranks = 1,
		.nodes = 1,
		.node_name = "node-1",
		.leader = true,
		.in_job = true,
		.peers = ctx->peers,
		.peer_count = 1,
		.profile = MUSTER_QUICK,
		.root = ctx->root,
		.gpu = &ctx->gpu };
	return ctx;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

void fake_free(struct muster_probe_ctx *ctx)
{
	nftw(ctx->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	muster_samples_done(&ctx->samples);
	muster_arena_free(ctx->arena);
	free(ctx);
}

void fake_gpu(struct muster_probe_ctx *ctx, const char *bus_id, const char *uuid)
{
	ctx->gpu = (struct muster_gpu){ .cuda_device = 0, .visible = 1, .choice = "only-visible" };
	snprintf(ctx->gpu.bus_id, sizeof ctx->gpu.bus_id, "%s", bus_id);
	snprintf(ctx->gpu.uuid, sizeof ctx->gpu.uuid, "%s", uuid);
	ctx->peers[0].gpu_bus_id = ctx->gpu.bus_id;
	ctx->peers[0].gpu_uuid = ctx->gpu.uuid;
}

void fake_forget(struct muster_probe_ctx *ctx)
{
	muster_samples_done(&ctx->samples);
	ctx->samples = (struct muster_samples){ 0 };
}

void fake_file(struct muster_probe_ctx *ctx, const char *path, const char *text)
{
	char whole[4096];
	snprintf(whole, sizeof whole, "%s%s", ctx->root, path);
	for (char *slash = whole + strlen(ctx->root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
		*slash = '\0';
		mkdir(whole, 0755);
	}
	if (!text) {
		ck_assert_int_eq(mkdir(whole, 0755), 0);
		return;
	}
	FILE *out = fopen(whole, "we");
	ck_assert_msg(out != NULL, "%s cannot be written", whole);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
}

static bool is_label(const struct muster_sample *sample, size_t index, const char *text)
{
	return !text || (index < sample->label_count && sample->labels[index].value.type == MUSTER_STRING &&
				strcmp(sample->labels[index].value.string, text) == 0);
}

const struct muster_sample *fake_sample(
	struct muster_probe_ctx *ctx, const char *metric, const char *label, const char *other)
{
	for (size_t i = 0; i < ctx->samples.count; i++) {
		const struct muster_sample *sample = &ctx->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 && is_label(sample, 0, label) &&
			is_label(sample, 2, other))
			return sample;
	}
	ck_abort_msg("no sample of %s for %s", metric, label ? label : "anything");
	return NULL;
}

size_t fake_count(struct muster_probe_ctx *ctx, const char *metric)
{
	size_t count = 0;
	for (size_t i = 0; i < ctx->samples.count; i++)
		count += strcmp(ctx->samples.items[i].metric->name, metric) == 0;
	return count;
}

static struct muster_value value_of(
	struct muster_probe_ctx *ctx, const char *metric, const char *label, enum muster_type type)
{
	const struct muster_sample *sample = fake_sample(ctx, metric, label, NULL);
	ck_assert_msg(sample->value.type == type, "%s is %s (%s), not %s", metric, muster_type_name(sample->value.type),
		sample->reason ? sample->reason : "", muster_type_name(type));
	return sample->value;
}

double fake_number(struct muster_probe_ctx *ctx, const char *metric, const char *label)
{
	return value_of(ctx, metric, label, MUSTER_NUMBER).number;
}

const char *fake_string(struct muster_probe_ctx *ctx, const char *metric, const char *label)
{
	return value_of(ctx, metric, label, MUSTER_STRING).string;
}

bool fake_boolean(struct muster_probe_ctx *ctx, const char *metric, const char *label)
{
	return value_of(ctx, metric, label, MUSTER_BOOLEAN).boolean;
}

const char *fake_reason(struct muster_probe_ctx *ctx, const char *metric, const char *label)
{
	const struct muster_sample *sample = fake_sample(ctx, metric, label, NULL);
	ck_assert_msg(sample->value.type == MUSTER_NULL, "%s is not null", metric);
	return sample->reason;
}

void fake_complete(struct muster_probe_ctx *ctx, const char *const *except)
{
	for (size_t i = 0; i < ctx->probe->metric_count; i++) {
		const char *metric = ctx->probe->metrics[i].name;
		bool excepted = false;
		for (size_t j = 0; except && except[j]; j++)
			excepted = excepted || strcmp(except[j], metric) == 0;
		ck_assert_msg(excepted || fake_count(ctx, metric) > 0, "%s was left out", metric);
	}
}

/* From here on: what a worker gives to probes. */

const struct muster_probe_env *muster_probe_env(struct muster_probe_ctx *ctx)
{
	return &ctx->env;
}

static void emit(struct muster_probe_ctx *ctx, const char *name, const struct muster_value *values, size_t count,
	struct muster_value value, const char *reason)
{
	const struct muster_metric *metric = NULL;
	for (size_t i = 0; !metric && i < ctx->probe->metric_count; i++)
		if (strcmp(ctx->probe->metrics[i].name, name) == 0)
			metric = &ctx->probe->metrics[i];
	ck_assert_msg(metric != NULL, "%s does not list %s", ctx->probe->name, name);
	size_t wanted = 0;
	while (wanted < MUSTER_LABELS_MAX && metric->labels[wanted])
		wanted++;
	ck_assert_msg(count == wanted, "%s has %zu labels, not %zu", name, wanted, count);
	ck_assert_msg(reason ? value.type == MUSTER_NULL && *reason : value.type == metric->type,
		"%s: a value of type %s", name, muster_type_name(value.type));
	struct muster_label *labels = muster_arena_alloc(ctx->arena, (count + 1) * sizeof *labels);
	for (size_t i = 0; i < count; i++) {
		ck_assert_msg(values[i].type == MUSTER_STRING || values[i].type == MUSTER_NUMBER, "%s: label %s", name,
			metric->labels[i]);
		labels[i] = (struct muster_label){ .key = metric->labels[i], .value = values[i] };
		if (values[i].type == MUSTER_STRING)
			labels[i].value.string = muster_arena_string(ctx->arena, values[i].string);
	}
	for (size_t i = 0; i < ctx->samples.count; i++) {
		const struct muster_sample *old = &ctx->samples.items[i];
		bool same = old->metric == metric;
		for (size_t j = 0; same && j < count; j++)
			same = muster_value_equal(old->labels[j].value, labels[j].value);
		ck_assert_msg(!same, "%s was yielded twice", name);
	}
	if (value.type == MUSTER_STRING)
		value.string = muster_arena_string(ctx->arena, value.string);
	muster_samples_add(&ctx->samples, (struct muster_sample){ .metric = metric,
						  .labels = labels,
						  .label_count = count,
						  .value = value,
						  .reason = muster_arena_string(ctx->arena, reason) });
}

static void emit_null(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, const char *format, va_list arguments)
{
	char reason[MUSTER_ERROR_TEXT_MAX];
	vsnprintf(reason, sizeof reason, format, arguments);
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
	va_list arguments;
	va_start(arguments, reason_format);
	emit_null(ctx, metric, labels, label_count, reason_format, arguments);
	va_end(arguments);
}

void muster_emit_plain(struct muster_probe_ctx *ctx, const char *metric, struct muster_value value)
{
	emit(ctx, metric, NULL, 0, value, NULL);
}

void muster_emit_for(struct muster_probe_ctx *ctx, const char *metric, const char *label, struct muster_value value)
{
	struct muster_value labels[] = { muster_string(label) };
	emit(ctx, metric, labels, 1, value, NULL);
}

void muster_emit_null_for(
	struct muster_probe_ctx *ctx, const char *metric, const char *label, const char *reason_format, ...)
{
	struct muster_value labels[] = { muster_string(label) };
	va_list arguments;
	va_start(arguments, reason_format);
	emit_null(ctx, metric, labels, 1, reason_format, arguments);
	va_end(arguments);
}

void muster_emit_null_plain(struct muster_probe_ctx *ctx, const char *metric, const char *reason_format, ...)
{
	va_list arguments;
	va_start(arguments, reason_format);
	emit_null(ctx, metric, NULL, 0, reason_format, arguments);
	va_end(arguments);
}

void muster_step(struct muster_probe_ctx *ctx, const char *format, ...)
{
	char text[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	ck_assert_msg(*text, "a step without words");
	ctx->steps++;
}

int muster_cancelled(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	return ctx->cancelled ? muster_fail(err, MUSTER_ECALLEDOFF, "called off: %s", ctx->cancelled) : 0;
}

void muster_failing(struct muster_probe_ctx *ctx, const struct muster_error *err)
{
	ck_assert_int_ne(err->code, MUSTER_OK);
	ctx->given_up++;
}

const char *muster_root_path(struct muster_probe_ctx *ctx, char *buf, size_t size, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int used = snprintf(buf, size, "%s", ctx->env.root);
	int more = vsnprintf(buf + used, size - (size_t)used, format, arguments);
	va_end(arguments);
	ck_assert_msg((size_t)(used + more) < size, "a path longer than %zu bytes", size);
	return buf;
}

/* probe_fake.c - a probe's context without a worker: its sink keeps every sample */
#include "probe_fake.h"
#include "temporary_root.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void take_sample(void *arg, const struct muster_sample *sample)
{
	struct probe_fake *fake = arg;
	const char *name = sample->metric->name;
	struct muster_label *labels = muster_arena_alloc(fake->arena, (sample->label_count + 1) * sizeof *labels);
	for (size_t i = 0; i < sample->label_count; i++) {
		labels[i] = sample->labels[i];
		if (labels[i].value.type == MUSTER_STRING)
			labels[i].value.string = muster_arena_string(fake->arena, labels[i].value.string);
	}
	for (size_t i = 0; i < fake->samples.count; i++) {
		const struct muster_sample *old = &fake->samples.items[i];
		bool same = old->metric == sample->metric;
		for (size_t j = 0; same && j < sample->label_count; j++)
			same = muster_value_equal(old->labels[j].value, labels[j].value);
		ck_assert_msg(!same || fake->ctx.env.repeats > 1, "%s was yielded twice", name);
	}
	struct muster_sample kept = *sample;
	kept.labels = labels;
	kept.reason = muster_arena_string(fake->arena, sample->reason);
	if (kept.value.type == MUSTER_STRING)
		kept.value.string = muster_arena_string(fake->arena, kept.value.string);
	muster_samples_add(&fake->samples, kept);
}

static void take_step(void *arg, const char *text)
{
	struct probe_fake *fake = arg;
	ck_assert_msg(*text, "a step without words");
	fake->steps = muster_arena_printf(fake->arena, "%s%s\n", fake->steps, text);
}

static int cancelled(void *arg, struct muster_error *err)
{
	struct probe_fake *fake = arg;
	return fake->cancelled ? muster_fail(err, MUSTER_ECALLEDOFF, "cancelled: %s", fake->cancelled) : 0;
}

static void evidence(void *arg, const char *text)
{
	struct probe_fake *fake = arg;
	snprintf(fake->evidence, sizeof fake->evidence, "%s", text);
}

static void failing(void *arg, const struct muster_error *err)
{
	struct probe_fake *fake = arg;
	ck_assert_int_ne(err->code, MUSTER_OK);
	fake->given_up++;
}

static void broken(void *arg, const char *why)
{
	(void)arg;
	ck_abort_msg("%s", why);
}

static const struct muster_probe_sink sink = {
	.sample = take_sample,
	.step = take_step,
	.cancelled = cancelled,
	.evidence = evidence,
	.failing = failing,
	.broken = broken,
};

struct probe_fake *fake_new(const struct muster_probe *probe)
{
	struct probe_fake *fake = muster_calloc(1, sizeof *fake);
	fake->ctx = (struct muster_probe_ctx){ .probe = probe, .sink = &sink, .arg = fake };
	fake->arena = muster_arena_new();
	fake->steps = "";
	temporary_root_make_in_memory(fake->root, sizeof fake->root, "probe");
	fake->gpu = (struct muster_gpu){
		.cuda_device = -1, .visible = 0, .choice = "none", .why_none = "CUDA shows no GPU"
	};
	fake->peers[0] = (struct muster_peer){ .gpu_bus_id = "", .gpu_uuid = "" };
	fake->ctx.env = (struct muster_probe_env){ .ranks = 1,
		.local_ranks = 1,
		.nodes = 1,
		.node_name = "node-1",
		.leader = true,
		.in_job = true,
		.peers = fake->peers,
		.peer_count = 1,
		.profile = MUSTER_QUICK,
		.root = fake->root,
		.gpu = &fake->gpu };
	return fake;
}

void fake_free(struct probe_fake *fake)
{
	temporary_root_remove(fake->root);
	muster_samples_done(&fake->samples);
	muster_arena_free(fake->arena);
	free(fake);
}

void fake_gpu(struct probe_fake *fake, const char *bus_id, const char *uuid)
{
	fake->gpu = (struct muster_gpu){ .cuda_device = 0, .visible = 1, .choice = "only-visible" };
	snprintf(fake->gpu.bus_id, sizeof fake->gpu.bus_id, "%s", bus_id);
	snprintf(fake->gpu.uuid, sizeof fake->gpu.uuid, "%s", uuid);
	fake->peers[0].gpu_bus_id = fake->gpu.bus_id;
	fake->peers[0].gpu_uuid = fake->gpu.uuid;
}

void fake_forget(struct probe_fake *fake)
{
	muster_samples_done(&fake->samples);
	fake->samples = (struct muster_samples){ 0 };
	fake->steps = "";
}

void fake_file(struct probe_fake *fake, const char *path, const char *text)
{
	char whole[4096];
	snprintf(whole, sizeof whole, "%s%s", fake->root, path);
	temporary_root_make_folders(fake->root, whole);
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
	struct probe_fake *fake, const char *metric, const char *label, const char *other)
{
	for (size_t i = 0; i < fake->samples.count; i++) {
		const struct muster_sample *sample = &fake->samples.items[i];
		if (strcmp(sample->metric->name, metric) == 0 && is_label(sample, 0, label) &&
			is_label(sample, 2, other))
			return sample;
	}
	ck_abort_msg("no sample of %s for %s", metric, label ? label : "anything");
	return NULL;
}

size_t fake_count(struct probe_fake *fake, const char *metric)
{
	size_t count = 0;
	for (size_t i = 0; i < fake->samples.count; i++)
		count += strcmp(fake->samples.items[i].metric->name, metric) == 0;
	return count;
}

static struct muster_value value_of(
	struct probe_fake *fake, const char *metric, const char *label, enum muster_type type)
{
	const struct muster_sample *sample = fake_sample(fake, metric, label, NULL);
	ck_assert_msg(sample->value.type == type, "%s is %s (%s), not %s", metric, muster_type_name(sample->value.type),
		sample->reason ? sample->reason : "", muster_type_name(type));
	return sample->value;
}

double fake_number(struct probe_fake *fake, const char *metric, const char *label)
{
	return value_of(fake, metric, label, MUSTER_NUMBER).number;
}

const char *fake_string(struct probe_fake *fake, const char *metric, const char *label)
{
	return value_of(fake, metric, label, MUSTER_STRING).string;
}

bool fake_boolean(struct probe_fake *fake, const char *metric, const char *label)
{
	return value_of(fake, metric, label, MUSTER_BOOLEAN).boolean;
}

const char *fake_reason(struct probe_fake *fake, const char *metric, const char *label)
{
	const struct muster_sample *sample = fake_sample(fake, metric, label, NULL);
	ck_assert_msg(sample->value.type == MUSTER_NULL, "%s is not null", metric);
	return sample->reason;
}

void fake_complete(struct probe_fake *fake, const char *const *except)
{
	for (size_t i = 0; i < fake->ctx.probe->metric_count; i++) {
		const char *metric = fake->ctx.probe->metrics[i].name;
		bool excepted = false;
		for (size_t j = 0; except && except[j]; j++)
			excepted = excepted || strcmp(except[j], metric) == 0;
		ck_assert_msg(excepted || fake_count(fake, metric) > 0, "%s was left out", metric);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* derive_steady.c - the share of windows that are slow: a part that is slow most of the time has a best window as well
 *
 * A GPU's copies in all directions count together, as they use one path; so do the exchanges of a rank of one kind.
 *
 * By numbers: nine windows of a copy have 25.4, 12.1, 12.3, 25.1, 12.0, 12.2, 12.4, 12.1 and 12.2 GB/s. The best one,
 * 25.4, is what the speed is judged by, and it is good. Seven windows are below 0.8 x 25.4 = 20.3: the share is 0.78.
 */
#include "eval/derive.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdlib.h>
#include <string.h>

#define SLOW 0.8 /* of the best window */
#define ENOUGH 9 /* windows, to say that most of them are slow: of three, disturbances are 2 to 6 % of healthy runs */
#define PARTS_MOST 8

/* What is counted together. */
struct part {
	const char *name; /* the label kind of the samples ("edge"), else `windows` of their metric ("copies") */
	const struct muster_metric *metric; /* of the share */
	const struct muster_value *gpu;
	size_t windows, slow;
	double worst; /* the lowest share of a best value, and the two values of this share in words */
	const char *range;
};

/* The metric of the share, of what has this scope. */
static const struct muster_metric *share_of(enum muster_scope scope)
{
	for (size_t i = 0; i < muster_metric_count(); i++)
		if (muster_metric_at(i)->is_steadiness && muster_metric_at(i)->scope == scope)
			return muster_metric_at(i);
	return NULL;
}

static bool has_share(const struct muster_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].metric->is_steadiness)
			return true;
	return false;
}

static void count(struct part *part, const struct muster_sample *sample, struct muster_arena *arena)
{
	double best = sample->value.number;
	for (size_t i = 0; i < sample->value_count; i++) {
		bool more = sample->metric->better == MUSTER_BETTER_MORE;
		double share = more ? sample->values[i] / best : best / sample->values[i];
		part->slow += share < SLOW;
		if (part->range && share >= part->worst)
			continue;
		part->worst = share;
		part->range = muster_arena_printf(arena, "%.4g to %.4g%s%s", more ? sample->values[i] : best,
			more ? best : sample->values[i], *muster_metric_unit(sample->metric) ? " " : "",
			muster_metric_unit(sample->metric));
	}
	part->windows += sample->value_count;
}

static void emit(struct muster_samples *samples, const struct part *part, bool quick, struct muster_arena *arena)
{
	struct muster_label labels[] = { { "gpu", muster_null() }, { "part", muster_string(part->name) },
		{ "range", muster_string(part->range) } };
	size_t first = part->gpu ? 0 : 1, count = sizeof labels / sizeof *labels - first;
	const char *reason =
		!quick && part->windows < ENOUGH
			? muster_arena_printf(arena, "only %zu windows, %d are needed", part->windows, ENOUGH)
			: NULL;
	labels[0].value = part->gpu ? *part->gpu : labels[0].value;
	struct muster_label *kept = muster_arena_alloc(arena, count * sizeof *kept);
	memcpy(kept, labels + first, count * sizeof *kept);
	muster_derived_add(
		samples, part->metric, kept, count, (double)part->slow / (double)part->windows, reason, NULL);
}

static void derive(struct muster_samples *samples, bool quick, struct muster_arena *arena)
{
	struct part parts[PARTS_MOST];
	size_t used = 0, at;
	if (has_share(samples))
		return;
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		const char *group = sample->metric->windows, *kind = muster_sample_label_text(sample, "kind");
		if (!group || !*group || sample->value_count == 0 || !(sample->value.number > 0))
			continue;
		group = *kind ? kind : group;
		for (at = 0; at < used && strcmp(parts[at].name, group) != 0;)
			at++;
		if (at == PARTS_MOST)
			continue;
		if (at == used)
			parts[used++] = (struct part){ .name = group,
				.metric = share_of(sample->metric->scope),
				.gpu = muster_sample_label(sample, "gpu") };
		count(&parts[at], sample, arena);
	}
	for (at = 0; at < used; at++)
		emit(samples, &parts[at], quick, arena);
}

void muster_run_derive_steady(struct muster_run *run)
{
	bool quick = run->job.profile && strcmp(run->job.profile, muster_profile_names[MUSTER_QUICK]) == 0;
	derive(&run->job.samples, quick, run->arena);
	for (size_t i = 0; i < run->node_count; i++) {
		derive(&run->nodes[i].samples, quick, run->arena);
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			derive(&run->nodes[i].ranks[j].samples, quick, run->arena);
	}
}

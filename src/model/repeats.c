/* repeats.c - what becomes of measurements that were repeated */
#include "model/repeats.h"

#include "util/array.h"

#include <string.h>

static bool same_thing(const struct muster_sample *a, const struct muster_sample *b)
{
	return a->metric == b->metric &&
	       muster_labels_equal(a->labels, a->label_count, b->labels, b->label_count, NULL);
}

static double judged_of(const struct muster_metric *metric, const double *values, size_t count)
{
	double sorted[MUSTER_REPEATS_MAX];
	memcpy(sorted, values, count * sizeof *values);
	double median = muster_median_of(sorted, count);
	if (muster_metric_scatters(metric))
		return median;
	return metric->better == MUSTER_BETTER_MORE ? sorted[0] : sorted[count - 1];
}

/* Fold the samples after `first` with the same metric and labels into it; they are marked by a metric of NULL. */
static void fold_into(struct muster_samples *samples, size_t first, struct muster_arena *arena)
{
	struct muster_sample *sample = &samples->items[first];
	bool one_number = sample->metric->type == MUSTER_NUMBER && sample->metric->better != MUSTER_BETTER_FACT;
	double values[MUSTER_REPEATS_MAX];
	size_t count = 0;
	if (sample->value.type == MUSTER_NUMBER)
		values[count++] = sample->value.number;
	for (size_t i = first + 1; i < samples->count; i++) {
		struct muster_sample *other = &samples->items[i];
		if (!other->metric || !same_thing(sample, other))
			continue;
		if (sample->value.type == MUSTER_NULL && other->value.type != MUSTER_NULL) {
			sample->value = other->value;
			sample->reason = NULL;
		} else if (other->value.type != MUSTER_NULL && !one_number &&
			   !muster_value_equal(sample->value, other->value)) {
			continue;
		}
		if (other->value.type == MUSTER_NUMBER && count < MUSTER_REPEATS_MAX)
			values[count++] = other->value.number;
		other->metric = NULL;
	}
	if (count < 2 || !one_number)
		return;
	double *kept = muster_arena_alloc(arena, count * sizeof *kept);
	memcpy(kept, values, count * sizeof *kept);
	sample->values = kept;
	sample->value_count = count;
	sample->value = muster_number(judged_of(sample->metric, values, count));
}

static void fold(struct muster_samples *samples, struct muster_arena *arena)
{
	size_t kept = 0;
	for (size_t i = 0; i < samples->count; i++) {
		if (!samples->items[i].metric)
			continue;
		fold_into(samples, i, arena);
		samples->items[kept++] = samples->items[i];
	}
	samples->count = kept;
}

void muster_run_fold_repeats(struct muster_run *run)
{
	fold(&run->job.samples, run->arena);
	for (size_t i = 0; i < run->node_count; i++) {
		fold(&run->nodes[i].samples, run->arena);
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			fold(&run->nodes[i].ranks[j].samples, run->arena);
	}
}

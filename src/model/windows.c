/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - one sample of all that were taken of one thing
 *
 * One pass of muster_samples_fold over a list: each sample takes in the later ones with the same metric and labels.
 * What the value of the sample becomes:
 *
 *    metric                                          value of several measurements
 *    with windows (speeds, steadiness)               the best one
 *    whose values scatter (muster_metric_scatters)   the median
 *    other numbers that are better high              the lowest
 *    all other numbers                               the highest: of wrong values, the worst visit counts
 *    texts, booleans and facts, all equal            that value
 *    texts, booleans and facts that differ           each stays a sample of its own
 *
 * A null is replaced by any value. So a visit in which a value could not be read does no harm when another visit could.
 *
 * muster_samples_fold_again is for the one repeated measurement at the end of the run: the rules for numbers, of two
 * values.
 */
#include "model/windows.h"

#include "muster/run_data.h"
#include "util/array.h"

#include <string.h>

static bool same_thing(const struct muster_sample *a, const struct muster_sample *b)
{
	return a->metric == b->metric &&
	       muster_labels_equal(a->labels, a->label_count, b->labels, b->label_count, NULL);
}

/* What becomes the value of a sample. best: the best value, which the caller knows of all visits; it is used for
 * metrics with windows. Other metrics choose among the values. */
static double judged_of(const struct muster_metric *metric, const double *values, size_t count, double best)
{
	double sorted[MUSTER_VALUES_MAX];
	if (metric->windows)
		return best;
	memcpy(sorted, values, count * sizeof *values);
	double median = muster_median_of(sorted, count);
	if (muster_metric_scatters(metric))
		return median;
	return metric->better == MUSTER_BETTER_MORE ? sorted[0] : sorted[count - 1];
}

/* Append the values of a sample: all of its visits, or its one number; none of a null or a text. Returns the new count.
 * Values beyond MUSTER_VALUES_MAX are dropped. */
static size_t take(const struct muster_sample *sample, double values[MUSTER_VALUES_MAX], size_t count)
{
	bool many = sample->value_count > 0;
	const double *from = many ? sample->values : &sample->value.number;
	size_t left = MUSTER_VALUES_MAX - count, more = many ? sample->value_count : 1;
	if (sample->value.type != MUSTER_NUMBER)
		return count;
	more = more < left ? more : left;
	memcpy(values + count, from, more * sizeof *values);
	return count + more;
}

/* Give the sample an array of its own for its values: of more than MUSTER_VALUES_KEPT as many at even distances, in
 * their order. tries: NULL, or what the number was before it was measured once more, and then; they stand behind the
 * values. */
static void keep(struct muster_sample *sample, const double *values, size_t count, const double tries[2],
	struct muster_arena *arena)
{
	size_t kept = count < MUSTER_VALUES_KEPT ? count : MUSTER_VALUES_KEPT;
	double *own = muster_arena_alloc(arena, (kept + 2) * sizeof *own);
	for (size_t i = 0; i < kept; i++)
		own[i] = values[i * count / kept];
	if (tries)
		memcpy(own + kept, tries, 2 * sizeof *tries);
	sample->values = own;
	sample->value_count = (unsigned short)kept;
	sample->tried = tries != NULL;
}

/* Fold the samples after `first` with the same metric and labels into it. Folded ones are marked by a metric of NULL,
 * and muster_samples_fold takes them out. The order of samples stays, so that a report of the same run is the same. A
 * list has some hundred samples, and only those of metrics that are folded look through the rest of it. */
static void fold_into(struct muster_samples *samples, size_t first, struct muster_arena *arena)
{
	struct muster_sample *sample = &samples->items[first];
	const struct muster_metric *metric = sample->metric;
	bool one_number = metric->type == MUSTER_NUMBER && metric->better != MUSTER_BETTER_FACT;
	double values[MUSTER_VALUES_MAX], bests[2] = { sample->value.number };
	size_t count = take(sample, values, 0);
	for (size_t i = first + 1; i < samples->count; i++) {
		struct muster_sample *other = &samples->items[i];
		if (other->metric != metric || !same_thing(sample, other))
			continue;
		if (sample->value.type == MUSTER_NULL && other->value.type != MUSTER_NULL) {
			sample->value = other->value;
			sample->reason = NULL;
			sample->values = NULL;
			bests[0] = other->value.number;
		} else if (other->value.type != MUSTER_NULL && !one_number &&
			   !muster_value_equal(sample->value, other->value)) {
			continue;
		} else if (other->value.type == MUSTER_NUMBER) {
			bests[1] = other->value.number;
			bests[0] = muster_metric_best(metric, bests, 2);
		}
		count = take(other, values, count);
		other->metric = NULL;
	}
	if (count < 2 || !one_number)
		return;
	keep(sample, values, count, muster_sample_tries(sample), arena);
	sample->value = muster_number(judged_of(metric, values, count, bests[0]));
}

/* When one of the two measurements has no number, the first one stays. A sample that the list does not have is added.
 */
void muster_samples_fold_again(
	struct muster_samples *samples, const struct muster_sample *again, struct muster_arena *arena)
{
	double values[MUSTER_VALUES_MAX];
	size_t at = 0;
	while (at < samples->count && !same_thing(&samples->items[at], again))
		at++;
	struct muster_sample *sample = at < samples->count ? &samples->items[at] : NULL;
	if (!sample || sample->value.type != MUSTER_NUMBER || again->value.type != MUSTER_NUMBER) {
		if (!sample)
			muster_samples_add(samples, *again);
		return;
	}
	const double tries[2] = { sample->value.number, again->value.number };
	size_t count = take(again, values, take(sample, values, 0));
	keep(sample, values, count, sample->metric->windows ? tries : NULL, arena);
	sample->value =
		muster_number(judged_of(sample->metric, tries, 2, muster_metric_best(sample->metric, tries, 2)));
}

void muster_samples_fold(struct muster_samples *samples, bool repeated, struct muster_arena *arena)
{
	size_t kept = 0;
	for (size_t i = 0; i < samples->count; i++) {
		if (!samples->items[i].metric)
			continue;
		if (repeated || samples->items[i].metric->windows || samples->items[i].metric->counts_wrong)
			fold_into(samples, i, arena);
		samples->items[kept++] = samples->items[i];
	}
	samples->count = kept;
}

void muster_run_fold(struct muster_run *run)
{
	bool repeated = run->job.repeats > 1;
	muster_samples_fold(&run->job.samples, repeated, run->arena);
	for (size_t i = 0; i < run->node_count; i++)
		muster_samples_fold(&run->nodes[i].samples, repeated, run->arena);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* compare_baseline.c - compare a run with what earlier runs measured, where no report from before a change exists
 *
 * `muster diff AFTER --baseline FILE` has the baselines of an overlay (muster_learned_of); `muster diff AFTER --db
 * FILE` has those that the caller learns from a history. Both call muster_compare_learned(). Only numbers are compared:
 * a baseline has no versions, nodes or findings.
 */
#include "report/compare_match.h"

#include "expect/describe.h"
#include "muster/arena.h"
#include "muster/run_data.h"

#include <math.h>

/* Whether the sample has all the labels that the baseline is about. */
static bool is_about(const struct muster_learned_value *learned, const struct muster_sample *sample)
{
	for (size_t i = 0; i < learned->where_count; i++) {
		const struct muster_value *label = muster_sample_label(sample, learned->where[i].key);
		if (!label || !muster_value_equal(*label, learned->where[i].value))
			return false;
	}
	return true;
}

/* One number against the median that was learned: the same within the larger of the share and the multiple of the MAD.
 * The median is above 0 (expect/baseline.c refuses others in an overlay). */
static void compare_sample(
	struct muster_match *m, const struct muster_learned_value *learned, const struct muster_sample *sample)
{
	double median = learned->baseline.median, difference = sample->value.number - median;
	bool above = muster_metric_worse(sample->metric) == MUSTER_WORSE_ABOVE;
	const struct muster_sample before = { .metric = sample->metric, .value = muster_number(median) };
	struct muster_change change = muster_match_begin(m, &before, sample);
	change.kind = (difference > 0) == above ? MUSTER_CHANGE_WORSE : MUSTER_CHANGE_BETTER;
	change.about = MUSTER_ABOUT_FIGURE;
	change.share = difference / median;
	change.noise = fmax(learned->share, learned->mads * learned->baseline.mad / median);
	change.noise_from = MUSTER_NOISE_FROM_BASELINE;
	if (fabs(change.share) <= change.noise)
		m->to->same++;
	else
		muster_match_add(m, change);
}

static void compare_samples(struct muster_match *m, const struct muster_learned_value *learned, size_t count,
	const struct muster_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *sample = &samples->items[i];
		for (size_t j = 0; j < count && sample->value.type == MUSTER_NUMBER; j++)
			if (learned[j].metric == sample->metric && is_about(&learned[j], sample))
				compare_sample(m, &learned[j], sample);
	}
}

/* The share that a value may be off is what the check allows before it warns, or before it fails where it does not
 * warn: 0.95 of the median allows 0.05. A check whose `when` does not fit the run has no part in the comparison. */
size_t muster_learned_of(const struct muster_expect *expect, const struct muster_report *after,
	struct muster_arena *arena, struct muster_learned_value **ret)
{
	struct muster_learned_value *learned = muster_arena_alloc(arena, (expect->check_count + 1) * sizeof *learned);
	size_t count = 0;
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		const struct muster_operand *warn = muster_check_operand_named(check, "warn_of_baseline"),
					    *min = muster_check_operand_named(check, "min_of_baseline"),
					    *mads = muster_check_operand_named(check, "max_mad");
		if (check->baseline.count == 0 ||
			muster_describe_when(check, after->run, after->domains, arena) != NULL)
			continue;
		learned[count++] = (struct muster_learned_value){
			.metric = check->metric,
			.where = check->where,
			.where_count = check->where_count,
			.baseline = check->baseline,
			.share = warn  ? 1 - warn->value.number
				 : min ? 1 - min->value.number
				       : 0,
			.mads = mads ? mads->value.number : 0,
		};
	}
	*ret = learned;
	return count;
}

void muster_compare_learned(const struct muster_learned_value *learned, size_t count, const struct muster_report *after,
	struct muster_comparison *ret)
{
	struct muster_comparison comparison = { 0 };
	struct muster_match m = { .after = after, .to = &comparison };
	for (struct muster_run_walk at = { 0 }; muster_run_next(after->run, &at);) {
		m.node = at.node ? at.node->name : NULL;
		m.gpus_of = at.node;
		m.rank = at.rank ? at.rank->rank : -1;
		compare_samples(&m, learned, count, at.samples);
	}
	comparison.note = "versions, inventory and checks: a baseline has measured values only";
	if (comparison.change_count + comparison.same == 0)
		comparison.incomparable = "the baseline has none of the values of this run (profile, number of nodes)";
	muster_comparison_sort(&comparison);
	*ret = comparison;
}

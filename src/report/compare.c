/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - compare two evaluated runs of the same machines, before and after a change
 *
 * `muster diff` calls muster_compare() with two loaded reports. compare_match.h has the order of the steps, and
 * docs/reference/report.md the rules for users. What becomes of one sample:
 *
 *   the metric is better with    values                          change
 *   DRIFTS                       any                             none, and not counted as the same
 *   any other                    equal                           none, counted as the same
 *   FACT                         they differ                     changed
 *   MORE, LESS                   one of them is no number        changed
 *   MORE, LESS                   two numbers within the noise    none, counted as the same
 *   MORE, LESS                   two numbers beyond the noise    worse or better
 *   MORE, LESS                   a speed, not measured alike     changed (can_be_worse)
 *   any other                    only one run has the sample     changed, or none (compare_single)
 *
 * Values of a metric that does not scatter (a count of links, of errors) have no noise: each difference is worse or
 * better.
 */
#include "report/compare_match.h"

#include "model/gpu.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const muster_change_kind_names[MUSTER_CHANGE_COUNT] = {
	[MUSTER_CHANGE_WORSE] = "worse",
	[MUSTER_CHANGE_BETTER] = "better",
	[MUSTER_CHANGE_CHANGED] = "changed",
};

const char *const muster_change_about_names[MUSTER_ABOUT_COUNT] = {
	[MUSTER_ABOUT_FIGURE] = "figure",
	[MUSTER_ABOUT_FACT] = "fact",
	[MUSTER_ABOUT_JUDGEMENT] = "judgement",
	[MUSTER_ABOUT_PRESENCE] = "presence",
};

const char *muster_comparison_verdict(const struct muster_comparison *comparison)
{
	return comparison->incomparable                     ? "not_comparable"
	       : comparison->count[MUSTER_CHANGE_WORSE] > 0 ? "worse"
							    : "not_worse";
}

void muster_match_add(struct muster_match *m, struct muster_change change)
{
	struct muster_comparison *to = m->to;
	MUSTER_ARRAY_PUSH(to->changes, to->change_count, to->change_room, change);
	to->count[change.kind]++;
}

/* ---- samples ---- */

/* By the metric's index in the catalogue: whether the run has a sample of it anywhere, null values included. malloc'd
 */
static bool *find_known(const struct muster_run *run)
{
	bool *known = muster_calloc(muster_metric_count(), sizeof *known);
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = 0; i < at.samples->count; i++)
			known[muster_metric_index(at.samples->items[i].metric)] = true;
	return known;
}

/* The ranks of both samples are matched already: a bus id may differ between the runs, so the label "gpu" is ignored.
 */
static bool same_labels(const struct muster_sample *a, const struct muster_sample *b)
{
	return muster_labels_equal(a->labels, a->label_count, b->labels, b->label_count, "gpu");
}

/* The value at the end of the better third of the sample's windows: with the best one first, that of index count / 3,
 * of 3 windows the second best, of 9 the fourth best. Of a sample without windows, its value.
 *
 * The value that is judged is the best window. One fast window can make the best values of two runs differ; a loss that
 * lasts is also in this value. The slower windows say only how busy the host was. */
static double third_of(const struct muster_sample *sample)
{
	size_t count = sample->value_count;
	if (count < 2)
		return sample->value.number;
	double *sorted = muster_calloc(count, sizeof *sorted);
	memcpy(sorted, sample->values, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, muster_by_double);
	double third = sorted[sample->metric->better == MUSTER_BETTER_MORE ? count - 1 - count / 3 : count / 3];
	free(sorted);
	return third;
}

/* The difference as a share of the value before; 0 where that value is 0. */
static double share_of(double before, double after)
{
	return before != 0 ? (after - before) / fabs(before) : 0;
}

/* How far the better third of the windows are apart, as a share of the best one. */
static double spread_of(const struct muster_sample *sample)
{
	return fabs(share_of(sample->value.number, third_of(sample)));
}

/* Whether two numbers differ by more than they differ without a cause. Sets share, noise and noise_from of the change.
 *
 *   least = muster_metric_noise(): 8 %; 5 % where both runs repeated their measurements; 25 % where the metric varies
 *   noise = least + half of the larger spread_of() of the two
 *
 * Both of these must hold: the best values differ by more than `noise`, and the values of third_of() differ by more
 * than `least` in the same direction. The spread is no part of the second condition, because third_of() contains it
 * already. Where a sample has no windows, third_of() is the value itself. Always true of a metric that does not
 * scatter, and of a value that was 0, of which there is no share. */
static bool is_beyond_noise(const struct muster_match *m, const struct muster_sample *before,
	const struct muster_sample *after, struct muster_change *change)
{
	bool measured = before->value_count > 1 && after->value_count > 1;
	change->share = share_of(before->value.number, after->value.number);
	change->noise_from = measured ? MUSTER_NOISE_FROM_REPEATS : MUSTER_NOISE_FROM_ASSUMPTION;
	if (!muster_metric_scatters(before->metric))
		return true;
	bool repeated = measured && m->before->run->job.repeats > 1 && m->after->run->job.repeats > 1;
	double third = measured ? share_of(third_of(before), third_of(after)) : change->share,
	       least = muster_metric_noise(before->metric, repeated);
	change->noise = least + fmax(spread_of(before), spread_of(after)) / 2;
	return before->value.number == 0 ||
	       (fabs(change->share) > change->noise && copysign(third, change->share * third) > least);
}

struct muster_change muster_match_begin(
	const struct muster_match *m, const struct muster_sample *before, const struct muster_sample *after)
{
	static const char absent[] = "not measured";
	const struct muster_sample *any = after ? after : before;
	struct muster_change change = {
		.kind = MUSTER_CHANGE_CHANGED,
		.about = any->metric->better == MUSTER_BETTER_FACT ? MUSTER_ABOUT_FACT : MUSTER_ABOUT_FIGURE,
		.what = any->metric->name,
		.node = m->node,
		.rank = m->rank,
		.gpu = muster_label_string(any->labels, any->label_count, "gpu"),
		.port = muster_label_string(any->labels, any->label_count, "port"),
		.labels = any->labels,
		.label_count = any->label_count,
		.before = before ? before->value : muster_null(),
		.after = after ? after->value : muster_null(),
		.unit = muster_metric_unit(any->metric),
	};
	change.gpu_index = muster_node_gpu_index(m->gpus_of, change.gpu);
	if (change.before.type == MUSTER_NULL)
		change.before_reason = before ? before->reason : absent;
	if (change.after.type == MUSTER_NULL)
		change.after_reason = after ? after->reason : absent;
	return change;
}

/* Whether a difference of these samples can be called worse or better. A speed of which one run has windows and the
 * other one value (of a version before windows) proves nothing. Neither do two such single values where the metric
 * varies. */
static bool can_be_worse(const struct muster_sample *before, const struct muster_sample *after)
{
	bool was = before->value_count > 1, is = after->value_count > 1;
	return !before->metric->windows || (was == is && (is || !before->metric->varies));
}

/* Compare two samples of one metric with the same labels: the table at the top of this file. */
static void compare_pair(struct muster_match *m, const struct muster_sample *before, const struct muster_sample *after)
{
	enum muster_better better = before->metric->better;
	if (better == MUSTER_BETTER_DRIFTS)
		return;
	struct muster_change change = muster_match_begin(m, before, after);
	bool numbers = before->value.type == MUSTER_NUMBER && after->value.type == MUSTER_NUMBER;
	if (muster_value_equal(before->value, after->value)) {
		m->to->same++;
		return;
	}
	if (better != MUSTER_BETTER_FACT && numbers) {
		if (!is_beyond_noise(m, before, after, &change)) {
			m->to->same++;
			return;
		}
		if (can_be_worse(before, after))
			change.kind = (after->value.number > before->value.number) == (better == MUSTER_BETTER_MORE)
					      ? MUSTER_CHANGE_BETTER
					      : MUSTER_CHANGE_WORSE;
	}
	muster_match_add(m, change);
}

static bool same_size(const struct muster_sample *a, const struct muster_sample *b)
{
	return muster_label_number(a->labels, a->label_count, "nodes") ==
		       muster_label_number(b->labels, b->label_count, "nodes") &&
	       muster_label_number(a->labels, a->label_count, "ranks") ==
		       muster_label_number(b->labels, b->label_count, "ranks");
}

/* A sample that only one of the runs has is a change, with three exceptions. The metric drifts: its values are not
 * compared. The other run has no sample of this metric at all: then its version or its options did not measure the
 * metric, which says nothing of the machine. The metric is one of the whole job, and the other run's samples of it have
 * other labels "nodes" and "ranks", as those of an all-reduce do in a job of another size; the comparison's note says
 * so. */
static void compare_single(struct muster_match *m, const struct muster_sample *only, bool is_before)
{
	const struct muster_metric *metric = only->metric;
	const bool *known = is_before ? m->known_after : m->known_before;
	if (metric->better == MUSTER_BETTER_DRIFTS || !known[muster_metric_index(metric)])
		return;
	const struct muster_samples *others = &(is_before ? m->after : m->before)->run->job.samples;
	size_t i = 0;
	while (i < others->count && (others->items[i].metric != metric || !same_size(only, &others->items[i])))
		i++;
	if (metric->scope == MUSTER_SCOPE_JOB && i == others->count)
		m->to->note = "the all-reduces of the two runs have different numbers of ranks: their bandwidths are "
			      "not compared";
	else
		muster_match_add(m, muster_match_begin(m, is_before ? only : NULL, is_before ? NULL : only));
}

/* Pair the samples of one place (the job, a node or a rank) by metric and labels: of several that fit, the first that
 * is not taken yet. Then report samples after that have no partner. O(n * m) for n and m samples of the place. */
static void compare_samples(
	struct muster_match *m, const struct muster_samples *before, const struct muster_samples *after)
{
	bool *taken = muster_calloc(after->count + 1, sizeof *taken);
	for (size_t i = 0; i < before->count; i++) {
		const struct muster_sample *one = &before->items[i];
		size_t j = 0;
		while (j < after->count &&
			(taken[j] || after->items[j].metric != one->metric || !same_labels(one, &after->items[j])))
			j++;
		if (j < after->count) {
			taken[j] = true;
			compare_pair(m, one, &after->items[j]);
		} else {
			compare_single(m, one, true);
		}
	}
	for (size_t j = 0; j < after->count; j++)
		if (!taken[j])
			compare_single(m, &after->items[j], false);
	free(taken);
}

/* ---- nodes and ranks ---- */

/* A node or a rank that only one of the runs has. before: it is the run before that has it. */
static void add_presence(struct muster_match *m, const char *what, int rank, const char *gpu, bool before)
{
	static const char here[] = "there", gone[] = "absent";
	muster_match_add(m, (struct muster_change){
				    .kind = MUSTER_CHANGE_CHANGED,
				    .about = MUSTER_ABOUT_PRESENCE,
				    .what = what,
				    .node = m->node,
				    .rank = rank,
				    .gpu = gpu,
				    .gpu_index = muster_node_gpu_index(m->gpus_of, gpu),
				    .before = before ? muster_string(here) : muster_null(),
				    .after = before ? muster_null() : muster_string(here),
				    .before_reason = before ? NULL : gone,
				    .after_reason = before ? gone : NULL,
				    .unit = "",
			    });
}

/* By what the ranks of a node are matched, the most certain first. The last two are only for a rank whose GPU one of
 * the runs does not know: two known GPUs that differ are different places, whatever rank took them. */
enum pass { BY_UUID, BY_BUS_ID, BY_LOCAL_RANK, BY_RANK, PASSES };

static bool ranks_match(const struct muster_rank *a, const struct muster_rank *b, enum pass pass)
{
	switch (pass) {
	case BY_UUID: return a->gpu_uuid && b->gpu_uuid && strcmp(a->gpu_uuid, b->gpu_uuid) == 0;
	case BY_BUS_ID: return a->gpu && b->gpu && strcmp(a->gpu, b->gpu) == 0;
	case BY_LOCAL_RANK: return a->local_rank >= 0 && a->local_rank == b->local_rank && (!a->gpu || !b->gpu);
	default: return a->rank == b->rank && (!a->gpu || !b->gpu);
	}
}

/* Compare a node with itself: the node's samples, then those of each pair of ranks, then ranks without a partner.
 *
 * All ranks go through one pass before the next pass begins. Otherwise a rank without a UUID could take the partner
 * whose UUID is that of a later rank. A rank that sent nothing in one of the runs is a change of presence, and its
 * samples are not compared. m->gpus_of is the node of the run whose bus id the change has. */
static void compare_node(struct muster_match *m, const struct muster_node *before, const struct muster_node *after)
{
	const struct muster_rank **partner = muster_calloc(before->rank_count + 1, sizeof(*partner));
	bool *taken = muster_calloc(after->rank_count + 1, sizeof *taken);
	for (enum pass pass = BY_UUID; pass < PASSES; pass++)
		for (size_t i = 0; i < before->rank_count; i++)
			for (size_t j = 0; j < after->rank_count && !partner[i]; j++) {
				if (taken[j] || !ranks_match(&before->ranks[i], &after->ranks[j], pass))
					continue;
				partner[i] = &after->ranks[j];
				taken[j] = true;
			}
	m->node = after->name;
	m->gpus_of = after;
	m->rank = -1;
	compare_samples(m, &before->samples, &after->samples);
	for (size_t i = 0; i < before->rank_count; i++) {
		const struct muster_rank *rank = &before->ranks[i];
		bool was = !rank->missing, is = partner[i] && !partner[i]->missing;
		m->gpus_of = is ? after : before;
		if (was != is)
			add_presence(m, "rank", rank->rank, rank->gpu, was);
		if (was != is || !partner[i])
			continue;
		m->gpus_of = after;
		m->rank = partner[i]->rank;
		compare_samples(m, &rank->samples, &partner[i]->samples);
	}
	m->gpus_of = after;
	for (size_t j = 0; j < after->rank_count; j++)
		if (!taken[j] && !after->ranks[j].missing)
			add_presence(m, "rank", after->ranks[j].rank, after->ranks[j].gpu, false);
	free(partner);
	free(taken);
}

static int by_name(const void *a, const void *b)
{
	const struct muster_node *x = *(const struct muster_node *const *)a, *y = *(const struct muster_node *const *)b;
	return strcmp(x->name, y->name);
}

/* Nodes whose name is known, sorted by it. */
static const struct muster_node **sorted_nodes(const struct muster_run *run, size_t *ret_count)
{
	const struct muster_node **nodes = muster_calloc(run->node_count + 1, sizeof(*nodes));
	size_t count = 0;
	for (size_t i = 0; i < run->node_count; i++)
		if (strcmp(run->nodes[i].name, "?") != 0)
			nodes[count++] = &run->nodes[i];
	qsort(nodes, count, sizeof(*nodes), by_name);
	*ret_count = count;
	return nodes;
}

/* Walk the nodes of both runs in the order of their names. Returns how many nodes both have. Two runs of one node each
 * are compared whatever the nodes are called: an image is tried on a fresh machine. */
static size_t compare_nodes(struct muster_match *m)
{
	size_t before_count, after_count, pairs = 0;
	const struct muster_node **before = sorted_nodes(m->before->run, &before_count);
	const struct muster_node **after = sorted_nodes(m->after->run, &after_count);
	if (before_count == 1 && after_count == 1)
		m->alias = after[0]->name;
	for (size_t i = 0, j = 0; i < before_count || j < after_count;) {
		int order = i == before_count ? 1 : j == after_count ? -1 : strcmp(before[i]->name, after[j]->name);
		if (m->alias)
			order = 0;
		if (order == 0) {
			compare_node(m, before[i++], after[j++]);
			pairs++;
			continue;
		}
		m->node = order < 0 ? before[i++]->name : after[j++]->name;
		add_presence(m, "node", -1, NULL, order < 0);
	}
	free(before);
	free(after);
	return pairs;
}

/* ---- all of it ---- */

/* The text of the first sample of this metric in the run; NULL when there is none. */
static const char *machine_of(const struct muster_run *run, const char *metric)
{
	const struct muster_metric *wanted = muster_metric_find(metric);
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = 0; i < at.samples->count; i++) {
			const struct muster_sample *sample = &at.samples->items[i];
			if (sample->metric == wanted && sample->value.type == MUSTER_STRING)
				return sample->value.string;
		}
	return NULL;
}

static bool differ(const struct muster_report *before, const struct muster_report *after, const char *metric)
{
	const char *x = machine_of(before->run, metric), *y = machine_of(after->run, metric);
	return x && y && strcasecmp(x, y) != 0;
}

/* Whether the runs are of different machine types. The names of the types alone do not prove it: the same machine may
 * have been evaluated by another expectation file, such as a file of the site. So its VM size or its GPUs must differ,
 * too. */
static bool are_apart(const struct muster_report *before, const struct muster_report *after)
{
	return muster_text_order(before->sku, after->sku) != 0 &&
	       (differ(before, after, "node.vm_size") || differ(before, after, "gpu.name"));
}

/* A sentence without its full stop; NULL when the runs can be compared. */
static const char *why_incomparable(const struct muster_report *before, const struct muster_report *after)
{
	const struct muster_job *x = &before->run->job, *y = &after->run->job;
	if (x->simulated != y->simulated)
		return "one of the reports is simulated";
	if (strcmp(x->profile, y->profile) != 0)
		return "the reports have different profiles";
	return are_apart(before, after) ? "the reports are of different machine types" : NULL;
}

void muster_comparison_sort(struct muster_comparison *to)
{
	struct muster_change *sorted = muster_calloc(to->change_count + 1, sizeof *sorted);
	size_t count = 0;
	for (enum muster_change_kind kind = 0; kind < MUSTER_CHANGE_COUNT; kind++)
		for (size_t i = 0; i < to->change_count; i++)
			if (to->changes[i].kind == kind)
				sorted[count++] = to->changes[i];
	free(to->changes);
	to->changes = sorted;
}

void muster_compare(
	const struct muster_report *before, const struct muster_report *after, struct muster_comparison *ret)
{
	struct muster_comparison comparison = { .incomparable = why_incomparable(before, after) };
	struct muster_match m = { .before = before, .after = after, .to = &comparison, .rank = -1 };
	if (!comparison.incomparable) {
		m.known_before = find_known(before->run);
		m.known_after = find_known(after->run);
		compare_samples(&m, &before->run->job.samples, &after->run->job.samples);
		if (compare_nodes(&m) == 0)
			comparison.incomparable = "the reports have no node in common";
		else
			muster_compare_judgements(&m);
		free(m.known_before);
		free(m.known_after);
	}
	if (comparison.incomparable) {
		free(comparison.changes);
		comparison = (struct muster_comparison){ .incomparable = comparison.incomparable };
	}
	muster_comparison_sort(&comparison);
	*ret = comparison;
}

void muster_comparison_done(struct muster_comparison *comparison)
{
	free(comparison->changes);
	*comparison = (struct muster_comparison){ 0 };
}

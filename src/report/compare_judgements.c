/* SPDX-License-Identifier: Apache-2.0 */
/* compare_judgements.c - compare the findings of two evaluated runs
 *
 * muster_compare() calls muster_compare_judgements() last. Findings are matched by check and place (by_place). A pair,
 * one side of which may be absent, becomes at most one change, by the first rule that holds:
 *
 * 1. Both are as bad: the same. A skip and the absence of a finding are as bad as a pass: weight 0.
 * 2. The metric of the finding is already in a change of the same kind at the same place: nothing.
 * 3. The finding is gone, and a finding after blocks its check there: changed. What is not judged is not better.
 * 4. The finding is a warning that the noise of a speed explains: changed.
 * 5. One of the runs does not have the check, or has it with another limit: changed.
 * 6. A check that failed before is inconclusive after: changed.
 * 7. Else worse or better, as the weight of the status grew or fell.
 *
 * So a check that was blocked before and fails after is worse, although it may have been bad before, too.
 */
#include "report/compare_match.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* How bad the finding is, muster_status_weight(); 0 where there is none. */
static int weight(const struct muster_finding *finding)
{
	return finding ? muster_status_weight(finding->status) : 0;
}

/* By check, node, GPU, port and the values of the labels. Findings of one check have the same keys of labels. The rank
 * is no part of the place: it may differ between two runs of the same GPU. */
static int by_place(const void *a, const void *b)
{
	const struct muster_finding *x = a, *y = b;
	int order = strcmp(x->check, y->check);
	if (!order)
		order = muster_text_order(x->node, y->node);
	if (!order)
		order = muster_text_order(x->gpu, y->gpu);
	if (!order)
		order = muster_text_order(x->port, y->port);
	if (!order && x->label_count != y->label_count)
		return x->label_count < y->label_count ? -1 : 1;
	for (size_t i = 0; !order && i < x->label_count; i++) {
		char one[64], other[64];
		if (strcmp(x->labels[i].key, "when") == 0)
			continue; /* an event "during" one run is one "before" the next run: it is the same event */
		order = strcmp(muster_value_text(x->labels[i].value, one, sizeof one),
			muster_value_text(y->labels[i].value, other, sizeof other));
	}
	return order;
}

struct findings {
	struct muster_finding *items;
	size_t count;
};

/* Copies of the findings that are not skips, sorted by their place; of one place the worst alone. alias: the name of
 * the node in the other run, where each of the runs has one node; else NULL. The caller frees items. */
static struct findings sorted_findings(const struct muster_report *report, const char *alias)
{
	struct muster_finding *findings = muster_calloc(report->finding_count + 1, sizeof *findings);
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < report->finding_count; i++) {
		if (weight(&report->findings[i]) == 0)
			continue;
		findings[count] = report->findings[i];
		if (alias && findings[count].node)
			findings[count].node = alias;
		count++;
	}
	qsort(findings, count, sizeof *findings, by_place);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || by_place(&findings[kept - 1], &findings[i]) != 0)
			findings[kept++] = findings[i];
		else if (weight(&findings[i]) > weight(&findings[kept - 1]))
			findings[kept - 1] = findings[i];
	}
	return (struct findings){ findings, kept };
}

/* The finding that stands for several GPUs or ports of the node; NULL: there is none. */
static const struct muster_finding *of_node(const struct findings *findings, const struct muster_finding *one)
{
	const struct muster_finding node = { .check = one->check, .node = one->node };
	return findings->count ? bsearch(&node, findings->items, findings->count, sizeof node, by_place) : NULL;
}

/* The partner of a finding about one GPU or port that the other run has no finding about: the finding of the same check
 * about the node, which stands for several of its GPUs or ports (eval/drafts.h says when it is made). NULL when this
 * run has such a finding, too (then the findings about the node are a pair), or when the other run has none. */
static const struct muster_finding *counterpart(
	const struct findings *this, const struct findings *other, const struct muster_finding *one)
{
	return (one->gpu || one->port) && !of_node(this, one) ? of_node(other, one) : NULL;
}

/* Whether one of the first `until` changes, those of the samples, reports the metric of the finding at its place as
 * worse, or as better. */
static bool is_told(const struct muster_comparison *to, size_t until, const struct muster_finding *finding,
	enum muster_change_kind kind)
{
	for (size_t i = 0; i < until && finding->metric; i++) {
		const struct muster_change *change = &to->changes[i];
		if (change->kind == kind && strcmp(change->what, finding->metric) == 0 &&
			muster_text_order(change->node, finding->node) == 0 &&
			muster_text_order(change->gpu, finding->gpu) == 0 &&
			muster_text_order(change->port, finding->port) == 0)
			return true;
	}
	return false;
}

/* Whether the check of a finding that is gone is blocked on its node, or by a finding about the whole job. */
static bool is_blocked(const struct muster_report *report, const struct muster_finding *gone)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		bool here = !finding->node || muster_text_order(finding->node, gone->node) == 0;
		if (here && muster_text_among(gone->check, finding->blocked, finding->blocked_count))
			return true;
	}
	return false;
}

/* Whether any rank of the run ran the probe, or should have run it. */
static bool has_probe(const struct muster_run *run, const char *probe)
{
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		if (at.rank && muster_outcomes_find(&at.rank->outcomes, probe))
			return true;
	return false;
}

/* Whether both reports judge by the same rule. A check that only one of them has, or that has another limit in the
 * other one, proves no change of the machine. A check that no expectation file has (no tally) is about a probe, which
 * both runs must have, or one of muster's own, such as rank.missing. */
static bool same_rule(const struct muster_match *m, const char *check)
{
	const struct muster_tally *x = muster_report_tally(m->before, check), *y = muster_report_tally(m->after, check);
	if (!x && !y)
		return strncmp(check, "probe.", 6) != 0 ||
		       has_probe(m->before->run, check + 6) == has_probe(m->after->run, check + 6);
	/* an uncalibrated check compares with other parts of the run, so its text of what it expects differs from run
	 * to run */
	return x && y && x->uncalibrated == y->uncalibrated &&
	       (x->uncalibrated || muster_text_order(x->expected, y->expected) == 0);
}

/* Whether a warning may come from the noise alone. A warning about a speed does: is_told() has found no change of the
 * value that is as bad, so the value crossed the limit within its noise. So does one about how steady a speed is, or
 * about a time that drifts, such as a 99th percentile. A metric that drifts and has windows, such as rank.compute_ms,
 * is no noise: its values are not compared, so the warning alone shows a loss. */
static bool is_noise(const struct muster_finding *finding)
{
	const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
	if (finding->status != MUSTER_WARN || !metric || !muster_metric_scatters(metric))
		return false;
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	bool drifts = metric->better == MUSTER_BETTER_DRIFTS, timed = unit->speed || unit->transfer || unit->time;
	return metric->is_steadiness || (timed && !(drifts && metric->windows));
}

/* Compare what the two runs find by one check at one place: the rules at the top of this file. before or after may be
 * NULL, not both. until: the number of changes of samples. */
static void compare_judgement(
	struct muster_match *m, size_t until, const struct muster_finding *before, const struct muster_finding *after)
{
	const struct muster_finding *any = after ? after : before;
	int was = weight(before), is = weight(after);
	if (was == is) {
		m->to->same++;
		return;
	}
	const struct muster_finding *worst = is > was ? after : before;
	enum muster_change_kind kind = is > was ? MUSTER_CHANGE_WORSE : MUSTER_CHANGE_BETTER;
	if (is_told(m->to, until, any, kind))
		return;
	bool hidden = !after && is_blocked(m->after, before);
	if (hidden || is_noise(worst) || !same_rule(m, any->check) ||
		(is < was && after && after->status == MUSTER_INCONCLUSIVE))
		kind = MUSTER_CHANGE_CHANGED;
	const char *now = after    ? muster_status_name(after->status)
			  : hidden ? muster_status_name(MUSTER_BLOCKED)
				   : "no finding";
	muster_match_add(m, (struct muster_change){
				    .kind = kind,
				    .about = MUSTER_ABOUT_JUDGEMENT,
				    .what = any->check,
				    .node = any->node,
				    .rank = any->rank,
				    .gpu = any->gpu,
				    .gpu_index = any->gpu_index,
				    .port = any->port,
				    .labels = any->labels,
				    .label_count = any->label_count,
				    .before = muster_string(before ? muster_status_name(before->status) : "no finding"),
				    .after = muster_string(now),
				    .unit = "",
			    });
}

void muster_compare_judgements(struct muster_match *m)
{
	size_t until = m->to->change_count;
	struct findings before = sorted_findings(m->before, m->alias), after = sorted_findings(m->after, NULL);
	for (size_t i = 0, j = 0; i < before.count || j < after.count;) {
		const struct muster_finding *x = &before.items[i], *y = &after.items[j];
		int order = i == before.count ? 1 : j == after.count ? -1 : by_place(x, y);
		compare_judgement(m, until, order <= 0 ? x : counterpart(&after, &before, y),
			order >= 0 ? y : counterpart(&before, &after, x));
		i += order <= 0;
		j += order >= 0;
	}
	free(before.items);
	free(after.items);
}

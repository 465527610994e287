/* SPDX-License-Identifier: Apache-2.0 */
/* compare_judgements.c - compare the findings of two evaluated runs
 */
#include "report/compare_match.h"

#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

static int weight(const struct muster_finding *finding)
{
	return finding ? muster_status_weight(finding->status) : 0;
}

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
			continue; /* what came during one run came before the next */
		order = strcmp(muster_value_text(x->labels[i].value, one, sizeof one),
			muster_value_text(y->labels[i].value, other, sizeof other));
	}
	return order;
}

struct findings {
	struct muster_finding *items;
	size_t count;
};

/* Findings that are not skips, sorted by their place; of one place the worst alone. alias: what the node is called in
 * the other run, where each has one; else NULL. */
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

/* What the other run has for a GPU or a port that has a finding in this run alone: one for several of them. */
static const struct muster_finding *counterpart(
	const struct findings *this, const struct findings *other, const struct muster_finding *one)
{
	return (one->gpu || one->port) && !of_node(this, one) ? of_node(other, one) : NULL;
}

/* The metric itself is already reported as worse, or as better. */
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

/* A check that is blocked on a node, or, with node NULL, by a finding about the whole job. */
struct blocked {
	const char *check, *node;
};

struct blocked_set {
	struct blocked *items;
	size_t count, room;
};

static int by_blocked(const void *a, const void *b)
{
	const struct blocked *x = a, *y = b;
	int order = strcmp(x->check, y->check);
	return order ? order : muster_text_order(x->node, y->node);
}

static struct blocked_set sorted_blocked(const struct muster_report *report)
{
	struct blocked_set set = { 0 };
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		for (size_t j = 0; j < finding->blocked_count; j++)
			MUSTER_ARRAY_PUSH(set.items, set.count, set.room,
				((struct blocked){ finding->blocked[j], finding->node }));
	}
	if (set.count)
		qsort(set.items, set.count, sizeof *set.items, by_blocked);
	return set;
}

/* Whether the check of a finding that is gone is blocked at its place. */
static bool is_blocked(const struct blocked_set *set, const struct muster_finding *gone)
{
	const struct blocked here = { gone->check, gone->node }, job = { gone->check, NULL };
	return set->count && (bsearch(&here, set->items, set->count, sizeof here, by_blocked) ||
				     bsearch(&job, set->items, set->count, sizeof job, by_blocked));
}

static bool has_probe(const struct muster_run *run, const char *probe)
{
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = 0; at.rank && i < at.rank->outcomes.count; i++)
			if (strcmp(at.rank->outcomes.items[i].probe, probe) == 0)
				return true;
	return false;
}

/* Both reports judge by the same rule: a check that one does not know, or has with another limit, proves no change. */
static bool same_rule(const struct muster_match *m, const char *check)
{
	const struct muster_tally *x = muster_report_tally(m->before, check), *y = muster_report_tally(m->after, check);
	if (!x && !y)
		return strncmp(check, "probe.", 6) != 0 ||
		       has_probe(m->before->run, check + 6) == has_probe(m->after->run, check + 6);
	/* what others have differs from run to run */
	return x && y && x->uncalibrated == y->uncalibrated &&
	       (x->uncalibrated || muster_text_order(x->expected, y->expected) == 0);
}

/* A warning about a speed whose value is not reported as worse, or about how steady a speed is. */
static bool is_noise(const struct muster_finding *finding)
{
	const struct muster_metric *metric = finding->metric ? muster_metric_find(finding->metric) : NULL;
	if (finding->status != MUSTER_WARN || !metric || !muster_metric_scatters(metric))
		return false;
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	bool drifts = metric->better == MUSTER_BETTER_DRIFTS, timed = unit->speed || unit->transfer || unit->time;
	return metric->is_steadiness || (timed && !(drifts && metric->windows));
}

/* What was blocked before and fails now is worse, to be safe; what failed before and cannot be judged now is not
 * better. */
static void compare_judgement(struct muster_match *m, size_t until, const struct muster_finding *before,
	const struct muster_finding *after, const struct blocked_set *blocked)
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
	bool hidden = !after && is_blocked(blocked, before);
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
	struct blocked_set blocked = sorted_blocked(m->after);
	for (size_t i = 0, j = 0; i < before.count || j < after.count;) {
		const struct muster_finding *x = &before.items[i], *y = &after.items[j];
		int order = i == before.count ? 1 : j == after.count ? -1 : by_place(x, y);
		compare_judgement(m, until, order <= 0 ? x : counterpart(&after, &before, y),
			order >= 0 ? y : counterpart(&before, &after, x), &blocked);
		i += order <= 0;
		j += order >= 0;
	}
	free(before.items);
	free(after.items);
	free(blocked.items);
}

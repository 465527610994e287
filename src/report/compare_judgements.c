/* compare_judgements.c - compare the findings of two evaluated runs
 */
#include "report/compare_match.h"

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

/* Findings that are not skips, sorted by their place; of one place the worst alone. alias: what the node is called in
 * the other run, where each has one; else NULL. */
static struct muster_finding *sorted_findings(const struct muster_report *report, const char *alias, size_t *ret_count)
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
	*ret_count = kept;
	return findings;
}

/* The difference of the metric itself is already reported. */
static bool is_told(const struct muster_comparison *to, size_t until, const struct muster_finding *finding)
{
	for (size_t i = 0; i < until && finding->metric; i++) {
		const struct muster_change *change = &to->changes[i];
		if (strcmp(change->what, finding->metric) == 0 && muster_text_order(change->node, finding->node) == 0 &&
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

/* What was blocked before and fails now is worse, to be safe; what failed before and is blocked now is not better. */
static void compare_judgement(struct muster_match *m, size_t until, const struct muster_finding *before,
	const struct muster_finding *after, const struct blocked_set *blocked)
{
	const struct muster_finding *any = after ? after : before;
	int was = weight(before), is = weight(after);
	if (was == is) {
		m->to->same++;
		return;
	}
	if (is_told(m->to, until, any))
		return;
	bool hidden = !after && is_blocked(blocked, before);
	const char *now = after    ? muster_status_name(after->status)
			  : hidden ? muster_status_name(MUSTER_BLOCKED)
				   : "no finding";
	muster_match_add(m, (struct muster_change){
				    .kind = hidden     ? MUSTER_CHANGE_CHANGED
					    : is > was ? MUSTER_CHANGE_WORSE
						       : MUSTER_CHANGE_BETTER,
				    .about = MUSTER_ABOUT_JUDGEMENT,
				    .what = any->check,
				    .node = any->node,
				    .rank = any->rank,
				    .gpu = any->gpu,
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
	size_t before_count, after_count, until = m->to->change_count;
	struct muster_finding *before = sorted_findings(m->before, m->alias, &before_count);
	struct muster_finding *after = sorted_findings(m->after, NULL, &after_count);
	struct blocked_set blocked = sorted_blocked(m->after);
	for (size_t i = 0, j = 0; i < before_count || j < after_count;) {
		int order = i == before_count ? 1 : j == after_count ? -1 : by_place(&before[i], &after[j]);
		compare_judgement(m, until, order <= 0 ? &before[i] : NULL, order >= 0 ? &after[j] : NULL, &blocked);
		i += order <= 0;
		j += order >= 0;
	}
	free(before);
	free(after);
	free(blocked.items);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - drafts become the findings of the report, worst first, beside the tallies of all checks
 *
 * In the order of a run: muster_tallies_make before all checks, muster_tally_finish after each check,
 * muster_findings_add_asked and muster_findings_finish after all of them. muster_findings_finish sorts the drafts, so
 * the places by which other stages name drafts are of no use afterwards.
 */
#include "eval/findings.h"

#include "model/gpu.h"

#include <stdlib.h>
#include <string.h>

/* ---- tallies ---- */

/* The report outlives the expectations: what it keeps of them is copied into its arena. */
static const struct muster_label *copy_labels(
	const struct muster_label *labels, size_t count, struct muster_arena *arena)
{
	struct muster_label *copy = count ? muster_arena_alloc(arena, count * sizeof *copy) : NULL;
	for (size_t i = 0; i < count; i++) {
		copy[i] = labels[i];
		copy[i].key = muster_arena_string(arena, labels[i].key);
		if (labels[i].value.type == MUSTER_STRING)
			copy[i].value.string = muster_arena_string(arena, labels[i].value.string);
	}
	return copy;
}

static bool copy_limit(const struct muster_check *check, const char *operator, double * ret)
{
	const struct muster_operand *operand = muster_check_operand_named(check, operator);
	*ret = operand ? operand->value.number : 0;
	return operand != NULL;
}

/* The four fixed limits are copied, for reports that print them as numbers. share_of is named only beside such a limit:
 * without it the numbers are in the metric's unit. */
static void copy_limits(struct muster_tally *tally, const struct muster_check *check)
{
	tally->has_least = copy_limit(check, "min", &tally->least);
	tally->has_warn_below = copy_limit(check, "warn_below", &tally->warn_below);
	tally->has_most = copy_limit(check, "max", &tally->most);
	tally->has_warn_above = copy_limit(check, "warn_above", &tally->warn_above);
	bool any = tally->has_least || tally->has_warn_below || tally->has_most || tally->has_warn_above;
	tally->share_of = any && check->share_of ? check->share_of->name : NULL;
}

void muster_tallies_make(struct muster_eval *eval)
{
	const struct muster_expect *expect = eval->expect;
	struct muster_report *report = eval->report;
	report->tally_count = expect ? expect->check_count : 0;
	report->tallies = eval->tallies =
		muster_arena_alloc(eval->arena, (report->tally_count + 1) * sizeof *report->tallies);
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		const struct muster_operand *across = muster_check_operand_named(check, "same_across");
		report->tallies[i] = (struct muster_tally){
			.check = muster_arena_string(eval->arena, check->id),
			.metric = check->metric->name,
			.probe = muster_metric_probe(check->metric),
			.unit = muster_metric_unit(check->metric),
			.title = check->title ? muster_arena_string(eval->arena, check->title) : NULL,
			.expected = muster_describe_expected(check, NULL, eval->arena),
			.source = muster_arena_string(eval->arena, check->source),
			.certainty = muster_arena_string(eval->arena, check->certainty),
			.proof = check->proof,
			.uncalibrated = !muster_check_calibrated(check),
			.compares_nodes = across && across->peers == MUSTER_SCOPE_NODE,
			.skipped = muster_describe_when(check, eval->run, report->domains, eval->arena),
			.where = copy_labels(check->where, check->where_count, eval->arena),
			.where_count = check->where_count,
		};
		copy_limits(&report->tallies[i], check);
	}
}

/* "ib.state on sim-2", and how many more findings block the check. */
static const char *describe_block(const struct muster_eval *eval, const struct muster_check_results *results)
{
	const struct muster_finding *first = &eval->drafts->items[results->blocked_by].finding;
	const char *text = first->node ? muster_arena_printf(eval->arena, "%s on %s", first->check, first->node)
				       : muster_arena_string(eval->arena, first->check);
	return results->block_count < 2 ? text
					: muster_arena_printf(eval->arena, "%s and %zu more finding%s", text,
						  results->block_count - 1, results->block_count == 2 ? "" : "s");
}

void muster_tally_finish(struct muster_eval *eval, size_t check)
{
	const struct muster_check_results *results = &eval->drafts->of_check[check];
	struct muster_tally *tally = &eval->tallies[check];
	if (results->block_count)
		tally->blocked_by = describe_block(eval, results);
	if (results->first && !results->mixed)
		tally->value = muster_describe_value(results->first->value, eval->arena);
}

/* ---- what the user asked for with an option, and no check could evaluate: it is never a silent pass ---- */

/* Why the check has no result: `when` does not fit the run, else what its first draft observed; NULL: neither. */
static const char *why_skipped(const struct muster_eval *eval, const struct muster_tally *tally)
{
	if (tally->skipped)
		return tally->skipped;
	for (size_t i = 0; i < eval->drafts->count; i++)
		if (strcmp(eval->drafts->items[i].finding.check, tally->check) == 0)
			return eval->drafts->items[i].finding.observed;
	return NULL;
}

/* For each measure that an option asked for: where no check with this `when.measures` has a result other than SKIP, one
 * finding says that the measure is missing. The finding has the name of the first of these checks, and is `unread`: not
 * measured, which is no pass. */
void muster_findings_add_asked(struct muster_eval *eval)
{
	const struct muster_place nowhere = { MUSTER_NOWHERE, MUSTER_NOWHERE, NULL };
	for (size_t m = 0; m < MUSTER_MEASURE_COUNT; m++) {
		const struct muster_tally *first = NULL;
		const char *why = NULL;
		bool any = false;
		for (size_t i = 0; eval->run->job.measures & 1 << m && i < eval->report->tally_count; i++) {
			const struct muster_tally *tally = &eval->tallies[i];
			if (!(eval->checks[i].when_measures & 1 << m))
				continue;
			for (size_t status = 0; status < MUSTER_STATUS_COUNT; status++)
				any = any || (status != MUSTER_SKIP && tally->count[status] > 0);
			first = first ? first : tally;
			why = why ? why : why_skipped(eval, tally);
		}
		if (first && !any)
			(void)muster_draft_add(eval,
				(struct muster_finding){ .check = first->check,
					.status = MUSTER_SKIP,
					.rank = -1,
					.unread = true,
					.metric = first->metric,
					.expected = first->expected,
					.observed = muster_arena_printf(eval->arena,
						"the run was asked to measure %s, and nothing of it was: %s",
						muster_measure_names[m], why ? why : "no probe tells why"),
					.unit = first->unit },
				nowhere, MUSTER_NO_CHECK, NULL);
	}
}

/* ---- findings ---- */

static int compare_index(uint32_t a, uint32_t b)
{
	uint32_t x = a + 1, y = b + 1; /* nowhere comes first */
	return (x > y) - (x < y);
}

/* Worst first: fail, inconclusive, warn, not applicable. Then by node, rank and check in the order of the run and of
 * the file; at last by the GPU or the port. */
static int compare(const void *a, const void *b)
{
	const struct muster_draft *x = a, *y = b;
	int order = muster_status_weight(y->finding.status) - muster_status_weight(x->finding.status);
	const char *x_key = x->finding.gpu ? x->finding.gpu : x->finding.port ? x->finding.port : "";
	const char *y_key = y->finding.gpu ? y->finding.gpu : y->finding.port ? y->finding.port : "";
	if (!order)
		order = compare_index(x->node, y->node);
	if (!order)
		order = compare_index(x->rank, y->rank);
	if (!order) /* probes and ranks, MUSTER_NO_CHECK, first: they explain the rest */
		order = (x->check + 1 > y->check + 1) - (x->check + 1 < y->check + 1);
	if (!order)
		order = strcmp(x->finding.check, y->finding.check);
	return order ? order : strcmp(x_key, y_key);
}

/* "ranks 0-3,6: killed by signal 9; rank 5: exit status 1; and 2 more ranks". Ranks whose text found no room in the
 * draft have the number MUSTER_TEXTS_MOST, and are only counted. */
static const char *ranks_text(const struct muster_draft *draft, struct muster_arena *arena)
{
	int *ranks = muster_calloc(draft->rank_count, sizeof *ranks);
	const char *text = "";
	size_t count;
	for (unsigned char t = 0; t <= MUSTER_TEXTS_MOST; t++) {
		count = 0;
		for (size_t i = 0; i < draft->rank_count; i++)
			if (draft->ranks[i].text == t)
				ranks[count++] = draft->ranks[i].rank;
		if (count == 0)
			continue;
		if (t == MUSTER_TEXTS_MOST)
			text = muster_arena_printf(
				arena, "%s; and %zu more rank%s", text, count, count == 1 ? "" : "s");
		else
			text = muster_arena_printf(arena, "%s%srank%s %s: %s", text, t ? "; " : "",
				count == 1 ? "" : "s", muster_describe_ranks(ranks, count, arena), draft->texts[t]);
	}
	free(ranks);
	return text;
}

static void drop_label(struct muster_finding *finding, const char *key, struct muster_arena *arena)
{
	struct muster_label *labels = muster_arena_alloc(arena, (finding->label_count + 1) * sizeof *labels);
	size_t count = 0;
	for (size_t i = 0; i < finding->label_count; i++)
		if (strcmp(finding->labels[i].key, key) != 0)
			labels[count++] = finding->labels[i];
	finding->labels = labels;
	finding->label_count = count;
}

/* "ports mlx5_ib0/1, mlx5_ib1/1: false"; the finding itself then names no port. */
static void unfold_ports(const struct muster_draft *draft, struct muster_finding *finding, struct muster_arena *arena)
{
	size_t more = draft->port_count > MUSTER_PORTS_SHOWN ? draft->port_count - MUSTER_PORTS_SHOWN : 0;
	drop_label(finding, "port", arena);
	finding->port = NULL;
	finding->observed =
		more ? muster_arena_printf(arena, "ports %s and %zu more: %s", draft->ports, more, finding->observed)
		     : muster_arena_printf(arena, "ports %s: %s", draft->ports, finding->observed);
}

/* A finding that stands for several things says for which, in the forms that drafts.h lists. What belongs to one thing
 * alone is dropped from the finding:
 *   several labels            share and tries, which are of one value
 *   several ports             the port and its label
 *   several GPUs              the label of the GPU (muster_draft_add has dropped the GPU)
 *   several ranks             the rank: -1
 *   does not apply, several   rank, GPU, port and labels; of several nodes the node too
 */
static void unfold(const struct muster_draft *draft, struct muster_finding *finding, struct muster_arena *arena)
{
	if (draft->more) {
		finding->observed = draft->more < MUSTER_MORE_SHOWN
					    ? draft->all
					    : muster_arena_printf(arena, "%s; and %zu more", draft->all,
						      draft->more - MUSTER_MORE_SHOWN + 1);
		finding->share = (struct muster_share){ 0 };
		finding->tries = NULL;
	}
	if (draft->port_count) {
		unfold_ports(draft, finding, arena);
		return;
	}
	if (draft->general && draft->things > 1)
		drop_label(finding, "gpu", arena);
	if (draft->things < 2 || (finding->status != MUSTER_SKIP && draft->rank_count < 2))
		return;
	if (finding->status != MUSTER_SKIP) {
		finding->observed = ranks_text(draft, arena);
		if (finding->evidence)
			finding->evidence = muster_arena_printf(arena, "rank %d, one of %zu: %s", draft->evidence_rank,
				draft->rank_count, finding->evidence);
		finding->rank = -1;
		return;
	}
	finding->observed = muster_arena_printf(arena, "%s (%zu %s)", finding->observed, draft->things,
		finding->gpu         ? "GPUs"
		: finding->port      ? "ports"
		: finding->rank >= 0 ? "ranks"
		: draft->nodes > 1   ? "nodes"
				     : "times");
	if (draft->nodes > 1)
		finding->node = NULL;
	finding->rank = -1;
	finding->gpu = finding->port = NULL;
	finding->labels = NULL;
	finding->label_count = 0;
}

static const char *add_explained(const struct muster_draft *draft, const char *observed, struct muster_arena *arena)
{
	return draft->also_count > MUSTER_MORE_SHOWN
		       ? muster_arena_printf(arena, "%s; also wrong: %s, and %zu more", observed, draft->also,
				 draft->also_count - MUSTER_MORE_SHOWN)
		       : muster_arena_printf(arena, "%s; also wrong: %s", observed, draft->also);
}

/* Where neither a check, nor an event, nor a cause says it. */
static const char *default_action(const struct muster_finding *finding)
{
	return finding->status == MUSTER_SKIP           ? "none"
	       : finding->status != MUSTER_INCONCLUSIVE ? "investigate"
	       : finding->unread                        ? "fix-settings"
							: "retry";
}

static enum muster_status find_verdict(const struct muster_report *report)
{
	for (size_t i = 0; i < report->finding_count; i++)
		if (muster_finding_fails(&report->findings[i], report->strict))
			return MUSTER_FAIL;
	return report->count[MUSTER_INCONCLUSIVE] ? MUSTER_INCONCLUSIVE : MUSTER_PASS;
}

void muster_findings_finish(struct muster_eval *eval)
{
	struct muster_report *report = eval->report;
	if (eval->drafts->count)
		qsort(eval->drafts->items, eval->drafts->count, sizeof *eval->drafts->items, compare);
	report->findings = muster_arena_alloc(eval->arena, (eval->drafts->count + 1) * sizeof *report->findings);
	for (size_t i = 0; i < eval->drafts->count; i++) {
		struct muster_draft *draft = &eval->drafts->items[i];
		struct muster_finding *finding = &report->findings[i];
		*finding = draft->finding;
		unfold(draft, finding, eval->arena);
		finding->gpu_index = muster_node_gpu_index(
			draft->node == MUSTER_NOWHERE ? NULL : &eval->run->nodes[draft->node], finding->gpu);
		if (!finding->action_code || finding->status == MUSTER_SKIP)
			finding->action_code = default_action(finding);
		if (draft->also)
			finding->observed = add_explained(draft, finding->observed, eval->arena);
		if (finding->blocked_count) {
			size_t size = finding->blocked_count * sizeof *finding->blocked;
			finding->blocked = muster_arena_alloc(eval->arena, size);
			memcpy(finding->blocked, draft->finding.blocked, size);
		}
		free(draft->finding.blocked);
		free(draft->ranks);
		report->count[finding->status]++;
	}
	report->finding_count = eval->drafts->count;
	report->verdict = find_verdict(report);
	if (!eval->expect && report->verdict == MUSTER_PASS)
		report->verdict = MUSTER_INCONCLUSIVE;
}

void muster_report_done(struct muster_report *report)
{
	muster_arena_free(report->arena);
	*report = (struct muster_report){ 0 };
}

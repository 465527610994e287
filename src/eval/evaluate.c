/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c - every check of the expectations at every place of the run, then the verdict
 *
 * A pure function: no I/O, no clock, no MPI, so a saved run can be evaluated again. A missing sample is never a pass.
 *
 * One cause is one finding: what follows from it is blocked, and listed there, or does not apply. These rules change or
 * hide what is found, in the order in which they act.
 *
 * Ends of probes and ranks, before all checks (muster_causes_judge):
 *   take_trial_finding         a node or a link that smaller rings found explains the rings that failed
 *   find_wants                 a probe of which no check wants anything is no fault
 *   judge_unlisted             a rank that the run does not contain is missing
 *   judge_interrupted          a run that was ended early explains what ended with it
 *   judge_unreached            the ranks' lists of unconnected ranks are one finding, about the rank that did not come
 *   judge_hung_rings           where every rank of several nodes hung, or only waited, no node is named
 *   judge_missing              a missing rank explains all that is not measured there; very many of them prove nothing
 *   same_cause                 probes of a rank that ended with the same words are one finding
 *   ended_by_others            a rank that only ended with its ring has no finding
 *   muster_known_cause         a crash with a usual cause, by the file's `causes`, is reported as this cause
 *   pass_on_ring_cause         the rank that ended a ring explains what the other ranks of the ring did not measure
 *   find_traffic_cause         what ended the rings explains traffic that was not run after them
 *
 * A check (judge_check):
 *   judge_checks               checks with `slows` first, and each check after those that it names in `after`
 *   is_explained               values that a finding explains are not compared with others
 *   muster_result_explained    no sample: the finding about its probe, its rank or its node explains that
 *   muster_result_missing      no sample and no such finding: inconclusive; an optional check may not apply
 *
 * What it says of one sample, by itself (muster_answer_of_entry):
 *   limit_unreached            where nothing can reach the limit, the share does not apply
 *   muster_peers_few           of speeds, fewer than six places only warn of one of them
 *   excuse_for_now             a failure while `inconclusive_while` holds is inconclusive
 *   muster_event_tell          an event that is a part of another event does not apply
 *   excuse_beside_jobs         a slow transfer beside other jobs is inconclusive
 *   muster_answer_of_shared    a speed of a GPU that is shared on purpose is only recorded
 *
 * Whether a finding explains the answer (judge_sample):
 *   muster_result_slowed       another program on a GPU explains slow speeds, or makes them inconclusive
 *   muster_block_falls_short   a link or a port does not explain less than half of the bandwidth that is needed
 *   muster_result_blocked      where `after` failed, all but a pass is blocked; where it warned, a warning is
 *   explain_wrong              wrong values that other wrong values explain are counted in the finding about these
 *   note_exchange              a slow exchange has no finding: the part that makes exchanges slow has (exchanges.c)
 *   part_explains              such a part explains slow collectives of all ranks
 *   take_skipped               what does not apply is counted only, where the check judged something else of the node
 *
 * A finding (muster_result_take):
 *   muster_known_cause         what has the words of a failed probe, or a cause that is told of the node, is blocked
 *   muster_draft_add           findings that differ only in the rank, the port or the size are one
 *
 * After all checks:
 *   muster_findings_add_asked  what an option asked for and nothing measured is said
 *   muster_exchanges_explain   the advice about a slow job leads to its slow part
 */
#include "eval/exchanges.h"
#include "eval/findings.h"
#include "eval/nvlink_domains.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* What a check has come to, place by place. */
struct walk {
	struct muster_eval *eval;
	size_t check_at;
	const struct muster_check *check;
	struct muster_cursor cursor;
	/* of a check that looks at one sample at a time */
	const struct muster_operand *by; /* that lists this scope's own GPUs or ports; else NULL */
	bool *seen;                      /* which of them the node has */
	bool is_exchange;                /* the metric is one of exchanges between two ranks */
	bool applies;                    /* at least one check was evaluated at this node */
	struct muster_entry *skipped;    /* what does not apply at this node, until that is known */
	size_t skipped_count, skipped_room;
	/* of a check that compares all nodes or all ranks */
	struct muster_compared *values;
	size_t value_count, value_room;
	struct muster_block *blocks; /* by tag, one for each node or rank: of a warning about one of its values */
	size_t block_count, block_room;
};

/* ---- checks that look at one sample at a time ---- */

static void mark_seen(struct walk *w, const struct muster_sample *sample)
{
	const char *label = muster_label_string(sample->labels, sample->label_count, w->by->label);
	for (size_t i = 0; label && i < w->by->list_count; i++)
		if (strcmp(w->by->list[i].label_value, label) == 0)
			w->seen[i] = true;
}

/* A result that is not applicable is a finding only when no other result of the check exists at the node; otherwise
 * it is only counted. */
static void take_skipped(struct walk *w)
{
	struct muster_eval *eval = w->eval;
	for (size_t i = 0; i < w->skipped_count; i++) {
		const struct muster_entry *entry = &w->skipped[i];
		if (w->applies) {
			eval->tallies[w->check_at].count[MUSTER_SKIP]++;
			eval->report->count[MUSTER_SKIP]++;
			continue;
		}
		muster_result_take(eval, w->check_at, muster_entry_place(entry), entry->sample,
			muster_answer_of_entry(eval, w->check_at, entry));
	}
	w->skipped_count = 0;
	w->applies = false;
}

/* An exchange between two ranks that is slow is a finding only when its other end is known. */
static bool note_exchange(struct walk *w, const struct muster_entry *entry, const struct muster_check_answer *answer)
{
	bool bad = muster_answer_is_bad(answer);
	if (bad || answer->status == MUSTER_PASS)
		muster_exchanges_note(w->eval, w->check_at, entry, answer);
	w->applies = w->applies || bad;
	return bad;
}

/* A slow part that exchanges of pairs have named makes collectives of all ranks slow: no finding of their own. */
static bool part_explains(struct walk *w, const struct muster_check_answer *answer)
{
	const struct muster_metric *metric = w->check->metric;
	const struct muster_exchange_notes *notes = w->eval->exchange_notes;
	if (!muster_answer_is_bad(answer) || !notes || !notes->named || metric->scope != MUSTER_SCOPE_JOB ||
		metric->unit != MUSTER_UNIT_GB_PER_S)
		return false;
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	if (!probe || !probe->traffic || probe->ring)
		return false;
	muster_result_block(w->eval, w->check_at, notes->named - 1);
	return true;
}

/* A wrong result that another one explains is no finding of its own, but this finding has the count. */
static void explain_wrong(struct walk *w, const struct muster_entry *entry, const struct muster_check_answer *answer)
{
	struct muster_eval *eval = w->eval;
	const struct muster_block block = muster_block_find(eval, w->check_at, muster_entry_place(entry));
	if (answer->status != MUSTER_FAIL || block.status != MUSTER_FAIL || entry->rank == MUSTER_NOWHERE ||
		!w->check->metric->counts_wrong)
		return;
	size_t cause = eval->drafts->items[block.draft].check;
	if (cause != MUSTER_NO_CHECK && eval->checks[cause].metric->counts_wrong)
		muster_draft_explain(eval, block.draft, eval->tallies[w->check_at].check,
			eval->run->nodes[entry->node].ranks[entry->rank].rank, answer->observed);
}

static void judge_sample(struct walk *w, const struct muster_entry *entry)
{
	struct muster_eval *eval = w->eval;
	struct muster_place place = muster_entry_place(entry);
	struct muster_check_answer answer = muster_answer_of_entry(eval, w->check_at, entry);
	if (w->seen)
		mark_seen(w, entry->sample);
	/* no value of the whole job, because of a finding about its probe */
	if (entry->sample->value.type == MUSTER_NULL && w->check->metric->scope == MUSTER_SCOPE_JOB &&
		muster_result_explained(eval, w->check_at, MUSTER_NOWHERE, MUSTER_NOWHERE))
		return;
	if (muster_result_slowed(eval, w->check_at, place, &answer) ||
		(!muster_block_falls_short(eval, w->check_at, entry, &answer) &&
			muster_result_blocked(eval, w->check_at, place, answer.status))) {
		explain_wrong(w, entry, &answer);
		if (w->is_exchange)
			muster_exchanges_note(eval, w->check_at, entry, NULL);
		return;
	}
	if (entry->sample->value.type != MUSTER_NULL && (answer.status != MUSTER_SKIP || answer.counts))
		muster_result_value(eval, w->check_at, entry->sample, answer.limit);
	if ((w->is_exchange && note_exchange(w, entry, &answer)) || part_explains(w, &answer))
		return;
	if (answer.status == MUSTER_SKIP) {
		MUSTER_ARRAY_PUSH(w->skipped, w->skipped_count, w->skipped_room, *entry);
		return;
	}
	w->applies = true;
	muster_result_take(eval, w->check_at, place, entry->sample, answer);
}

static bool names_one_port(const struct muster_check *check)
{
	for (size_t i = 0; i < check->where_count; i++)
		if (strcmp(check->where[i].key, "port") == 0)
			return true;
	return false;
}

/* No sample at a place. That may be what is wanted; and a node need not have ports, unless one is asked for by name. */
static void judge_empty_place(struct walk *w, uint32_t node, uint32_t rank)
{
	struct muster_eval *eval = w->eval;
	const struct muster_check *check = w->check;
	struct muster_place place = { .node = node, .rank = rank };
	const struct muster_operand *presence = muster_check_operand(check, MUSTER_OF_PRESENCE);
	struct muster_check_answer answer;
	if (muster_result_explained(eval, w->check_at, node, rank))
		return;
	if (w->is_exchange) { /* the rank had no partner of this kind, or none at all */
		if (!muster_index_has(&eval->index, w->check_at, node, rank))
			muster_result_take(eval, w->check_at, place, NULL,
				(struct muster_check_answer){
					.status = MUSTER_SKIP, .observed = "the rank was in no such exchange" });
		return;
	}
	if (muster_check_operand(check, MUSTER_OF_EVENT) && muster_event_none(eval, check, node, &answer))
		muster_result_take(eval, w->check_at, place, NULL, answer);
	else if (presence && !presence->value.boolean)
		muster_result_take(
			eval, w->check_at, place, NULL, (struct muster_check_answer){ .status = MUSTER_PASS });
	else if (check->metric->scope != MUSTER_SCOPE_PORT || presence || names_one_port(check))
		muster_result_missing(eval, w->check_at, node, rank);
}

/* A log that was read in part may hold worse events than those that were found. */
static void judge_unread(struct walk *w, uint32_t node, uint32_t rank)
{
	struct muster_check_answer answer;
	if (muster_event_none(w->eval, w->check, node, &answer) && answer.status == MUSTER_INCONCLUSIVE)
		muster_result_take(
			w->eval, w->check_at, (struct muster_place){ .node = node, .rank = rank }, NULL, answer);
}

static void judge_place(struct walk *w, uint32_t node, uint32_t rank)
{
	const struct muster_entry *entry = muster_cursor_next(&w->cursor, w->check, node, rank);
	if (!entry)
		judge_empty_place(w, node, rank);
	else if (muster_check_operand(w->check, MUSTER_OF_EVENT))
		judge_unread(w, node, rank);
	for (; entry; entry = muster_cursor_next(&w->cursor, w->check, node, rank))
		judge_sample(w, entry);
}

/* The keys of equals_by that no sample of the node had. */
static void judge_unseen(struct walk *w, uint32_t node)
{
	struct muster_eval *eval = w->eval;
	for (size_t i = 0; i < w->by->list_count; i++) {
		const struct muster_listed *listed = &w->by->list[i];
		struct muster_place place = { node, MUSTER_NOWHERE,
			muster_arena_string(eval->arena, listed->label_value) };
		if (w->seen[i] || muster_result_explained(eval, w->check_at, node, MUSTER_NOWHERE))
			continue;
		struct muster_block block = muster_block_of_unseen(eval, w->check_at, place);
		if (muster_block_stops(block, muster_check_status(w->check))) {
			muster_result_block(eval, w->check_at, block.draft);
			muster_block_note(eval, w->check_at, place, block);
			continue;
		}
		muster_result_take(eval, w->check_at, place, NULL,
			(struct muster_check_answer){ .status = muster_check_status(w->check),
				.expected = muster_describe_with_unit(
					listed->value, muster_metric_unit(w->check->metric), eval->arena),
				.observed = "not found" });
	}
	memset(w->seen, 0, w->by->list_count * sizeof *w->seen);
}

static void judge_node(struct walk *w, uint32_t n)
{
	if (muster_is_of_node(w->check->metric))
		judge_place(w, n, MUSTER_NOWHERE);
	else
		for (uint32_t r = 0; r < w->eval->run->nodes[n].rank_count; r++)
			judge_place(w, n, r);
	if (w->seen)
		judge_unseen(w, n);
	take_skipped(w);
}

/* ---- checks that compare all nodes or all ranks ---- */

/* The values at a place that are compared; those that prove nothing, or are missing or blocked, are results here. */
static void compare_place(struct walk *w, uint32_t node, uint32_t rank)
{
	struct muster_eval *eval = w->eval;
	const struct muster_entry none = { NULL, node, rank }, *entry;
	struct muster_block *block = &w->blocks[w->block_count - 1];
	bool any = false;
	for (; (entry = muster_cursor_next(&w->cursor, w->check, node, rank)); any = true) {
		struct muster_place place = muster_entry_place(entry);
		if (muster_result_blocked(eval, w->check_at, place, MUSTER_INCONCLUSIVE))
			continue;
		if (block->status == MUSTER_PASS)
			*block = muster_block_find(eval, w->check_at, place);
		if (entry->sample->value.type == MUSTER_NULL) {
			muster_result_take(eval, w->check_at, place, entry->sample,
				muster_answer_find(eval, w->check_at, entry->sample, NULL));
			continue;
		}
		muster_result_value(eval, w->check_at, entry->sample, NULL);
		MUSTER_ARRAY_PUSH(w->values, w->value_count, w->value_room,
			((struct muster_compared){ *entry, w->block_count - 1 }));
	}
	if (!any && w->check->metric->scope != MUSTER_SCOPE_PORT)
		muster_result_missing(eval, w->check_at, node, rank);
	else if (!any && !muster_result_explained(eval, w->check_at, node, rank) && !w->check->within)
		MUSTER_ARRAY_PUSH(w->values, w->value_count, w->value_room, /* a node without any port */
			((struct muster_compared){ none, w->block_count - 1 }));
}

static void compare_node(struct walk *w, uint32_t n)
{
	bool by_rank = muster_check_operand(w->check, MUSTER_OF_PEERS)->peers == MUSTER_SCOPE_RANK;
	bool of_node = muster_is_of_node(w->check->metric);
	for (uint32_t r = 0; r < (of_node ? 1 : w->eval->run->nodes[n].rank_count); r++) {
		if (r == 0 || by_rank)
			MUSTER_ARRAY_PUSH(w->blocks, w->block_count, w->block_room,
				((struct muster_block){ .status = MUSTER_PASS }));
		compare_place(w, n, of_node ? MUSTER_NOWHERE : r);
	}
}

static void take_compared(void *arg, const struct muster_compared_result *result)
{
	struct walk *w = arg;
	for (size_t i = 0; i < result->tag_count; i++) {
		if (!muster_block_stops(w->blocks[result->tags[i]], result->answer.status))
			continue;
		muster_result_block(w->eval, w->check_at, w->blocks[result->tags[i]].draft);
		return;
	}
	muster_result_take(w->eval, w->check_at, result->place, result->sample, result->answer);
}

/* ---- checks in their order ---- */

/* All places of the run. */
static void judge_places(struct muster_eval *eval, size_t at)
{
	struct walk w = {
		.eval = eval,
		.check_at = at,
		.check = &eval->checks[at],
		.cursor = muster_cursor_make(&eval->index, at),
		.is_exchange = eval->checks[at].metric->is_exchange,
	};
	enum muster_scope scope = w.check->metric->scope;
	bool compares = muster_check_operand(w.check, MUSTER_OF_PEERS);
	if (scope == MUSTER_SCOPE_JOB) {
		judge_place(&w, MUSTER_NOWHERE, MUSTER_NOWHERE);
		take_skipped(&w);
	}
	w.by = muster_check_operand(w.check, MUSTER_OF_LABEL);
	if (w.by && strcmp(w.by->label, muster_scope_name(scope)) == 0) /* "gpu" and "port" are also labels */
		w.seen = muster_calloc(w.by->list_count, sizeof *w.seen);
	for (uint32_t n = 0; scope != MUSTER_SCOPE_JOB && n < eval->run->node_count; n++) {
		if (muster_node_leader(&eval->run->nodes[n]) == MUSTER_NOWHERE) {
			muster_result_node_missing(eval, at, n);
			continue;
		}
		muster_draft_fold_here(eval);
		(compares ? compare_node : judge_node)(&w, n);
	}
	muster_draft_fold_here(eval);
	if (compares)
		muster_compare_all(eval, at, w.values, w.value_count, take_compared, &w);
	free(w.skipped);
	free(w.seen);
	free(w.values);
	free(w.blocks);
}

enum progress { NOT_BEGUN = 0, BEGUN, JUDGED };

/* Exchanges become findings when all checks of their metric are done. */
static void judge_pairs(struct muster_eval *eval, const enum progress *progress, const struct muster_metric *metric)
{
	for (size_t i = 0; i < eval->expect->check_count; i++)
		if (progress[i] != JUDGED && eval->checks[i].metric == metric)
			return;
	muster_exchanges_judge(eval, metric);
}

static bool is_explained(const struct muster_eval *eval, size_t at, struct muster_place place)
{
	return muster_block_find(eval, at, place).status == MUSTER_FAIL;
}

/* What a check compares with. The median of all values is known now, and so is what the check expects. */
static void find_peers(struct muster_eval *eval, size_t at)
{
	const struct muster_operand *operand = muster_check_comparing(&eval->checks[at]);
	if (operand)
		eval->peers[at] = muster_peers_make(eval, at, is_explained);
	if (!operand || operand->operator->kind != MUSTER_OF_MEDIAN)
		return;
	const struct muster_others all = muster_peers_all(eval->peers[at]);
	eval->tallies[at].expected = muster_describe_expected(&eval->checks[at], &all, eval->arena);
}

/* A check, after those that it comes after: of exchanges all checks of their metric, which name parts together. */
static void judge_check(struct muster_eval *eval, enum progress *progress, size_t at)
{
	const struct muster_check *check = &eval->checks[at];
	if (progress[at] != NOT_BEGUN)
		return;
	progress[at] = BEGUN;
	const int before[] = { check->after, check->also_after };
	for (size_t b = 0; b < 2; b++) {
		if (before[b] < 0)
			continue;
		const struct muster_metric *metric = eval->checks[before[b]].metric;
		judge_check(eval, progress, (size_t)before[b]); /* which evaluates what it comes after first */
		if (progress[before[b]] != JUDGED) { /* it waits for a check that waits for this metric: later */
			progress[at] = NOT_BEGUN;
			return;
		}
		for (size_t i = 0; metric->is_exchange && metric != check->metric && i < eval->expect->check_count; i++)
			if (eval->checks[i].metric == metric)
				judge_check(eval, progress, i);
	}
	if (!eval->tallies[at].skipped) {
		muster_draft_check_here(eval);
		find_peers(eval, at);
		judge_places(eval, at);
		muster_blocks_sort(eval, at);
		muster_tally_finish(eval, at);
	}
	progress[at] = JUDGED;
	if (check->metric->is_exchange)
		judge_pairs(eval, progress, check->metric);
}

static void judge_checks(struct muster_eval *eval)
{
	enum progress *progress = muster_calloc(eval->report->tally_count + 1, sizeof *progress);
	eval->peers = muster_calloc(eval->report->tally_count + 1, sizeof(*eval->peers));
	for (size_t i = 0; i < eval->report->tally_count; i++)
		if (eval->checks[i].slows) /* what explains others comes first */
			judge_check(eval, progress, i);
	for (size_t i = 0; i < eval->report->tally_count; i++)
		judge_check(eval, progress, i);
	for (size_t i = 0; i < eval->report->tally_count; i++)
		muster_peers_free(eval->peers[i]);
	free(eval->peers);
	free(progress);
}

void muster_evaluate(const struct muster_run *run, const struct muster_expect *expect, enum muster_strictness strict,
	struct muster_report *ret)
{
	struct muster_report report = {
		.arena = muster_arena_new(),
		.run = run,
		.sku = "unknown",
		.strict = strict,
		.domains = muster_nvlink_domains_of(run, muster_metric_find("gpu.fabric_clique")).count,
	};
	struct muster_eval eval = { .run = run, .expect = expect, .report = &report, .arena = report.arena };
	if (expect) {
		report.sku = muster_arena_string(report.arena, expect->name);
		report.sku_origin = muster_arena_string(report.arena, expect->origin);
		report.observe = expect->observe;
		eval.checks = expect->checks;
	}
	muster_tallies_make(&eval);
	muster_entries_make(&eval);
	muster_blocks_make(&eval);
	muster_drafts_make(&eval);
	muster_causes_judge(&eval);
	judge_checks(&eval);
	muster_findings_add_asked(&eval);
	muster_exchanges_explain(&eval);
	muster_findings_finish(&eval);
	muster_exchanges_done(&eval);
	muster_drafts_done(&eval);
	muster_blocks_done(&eval);
	muster_entries_done(&eval);
	*ret = report;
}

/* evaluate.c - evaluate every check of the expectations at every place of the run, then the verdict
 *
 * A pure function: no I/O, no clock, no MPI, so a saved run can be evaluated again. A missing sample is never a pass.
 */
#include "eval/eval.h"

#include "eval/nvlink_domains.h"
#include "eval/exchanges.h"
#include "expect/operators.h"
#include "localize/findings.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks that look at one sample at a time ---- */

struct walk {
	struct muster_eval *eval;
	size_t check_at;
	const struct muster_check *check;
	struct muster_cursor cursor;
	const struct muster_operand *by; /* that lists this scope's own GPUs or ports; else NULL */
	bool *seen;                      /* which of them the node has */
	bool is_exchange;                /* the metric is one of exchanges between two ranks */
	bool applies;                    /* at least one check was evaluated at this node */
	struct muster_entry *skipped;    /* what does not apply at this node, until that is known */
	size_t skipped_count, skipped_room;
};

static void mark_seen(struct walk *w, const struct muster_sample *sample)
{
	const char *label = muster_label_string(sample->labels, sample->label_count, w->by->label);
	for (size_t i = 0; label && i < w->by->list_count; i++)
		if (strcmp(w->by->list[i].label_value, label) == 0)
			w->seen[i] = true;
}

/* What fails on a node that has just booted, say, proves nothing yet. */
static struct muster_verdict excuse_for_now(
	const struct walk *w, const struct muster_entry *entry, struct muster_verdict verdict)
{
	const struct muster_metric_max *now = &w->check->inconclusive_while;
	if ((verdict.status != MUSTER_FAIL && verdict.status != MUSTER_WARN) || !now->metric ||
		entry->node == MUSTER_NOWHERE)
		return verdict;
	double value = muster_sample_number(&w->eval->run->nodes[entry->node].samples, now->metric->name, now->max + 1);
	if (value > now->max)
		return verdict;
	verdict.status = MUSTER_INCONCLUSIVE;
	verdict.observed = muster_arena_printf(w->eval->report->arena, "%s, while %s is %.2g",
		verdict.observed ? verdict.observed : "another value", now->metric->name, value);
	return verdict;
}

/* A speed of copies or of an all-reduce, as it was here and now, or the time of an all-reduce. A clock or a link's own
 * speed is none, nor is that of the memory of a GPU under load: jobs on other GPUs do not use it. */
static bool is_transfer(const struct muster_metric *metric)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	return probe && (probe->together || probe->ring || probe->traffic) && !probe->soaks &&
	       muster_units[metric->unit].transfer;
}

/* The memory bandwidth that other jobs use is missing in a transfer: a slow one is no proof of a fault. */
static struct muster_verdict excuse_slow(const struct walk *w, struct muster_verdict verdict)
{
	const char *expected = verdict.expected ? verdict.expected : w->eval->states[w->check_at].tally->expected;
	if ((verdict.status != MUSTER_FAIL && verdict.status != MUSTER_WARN) || !w->eval->run->job.beside_jobs ||
		!is_transfer(w->check->metric))
		return verdict;
	verdict.status = MUSTER_INCONCLUSIVE;
	verdict.expected = muster_arena_printf(
		w->eval->report->arena, "%s, without other jobs on the node", expected ? expected : "another value");
	return verdict;
}

static struct muster_verdict judge_entry(const struct walk *w, const struct muster_entry *entry)
{
	struct muster_eval *eval = w->eval;
	const struct muster_sample *limit = muster_index_limit(&eval->index, w->check_at, entry);
	const char *unreached = muster_limit_unreached(eval, w->check_at, entry, limit);
	if (unreached)
		return (struct muster_verdict){ .status = MUSTER_SKIP, .observed = unreached };
	struct muster_verdict verdict =
		excuse_for_now(w, entry, muster_judge_sample(eval, w->check_at, entry->sample, limit));
	muster_event_tell(eval, w->check, entry, &verdict);
	verdict = excuse_slow(w, verdict);
	muster_verdict_of_shared(eval, w->check_at, muster_entry_place(entry), &verdict);
	return verdict;
}

/* A result that is not applicable is a finding only when no other result of the check exists at the node; otherwise
 * it is only counted. */
static void take_skipped(struct walk *w)
{
	struct muster_eval *eval = w->eval;
	for (size_t i = 0; i < w->skipped_count; i++) {
		const struct muster_entry *entry = &w->skipped[i];
		if (w->applies) {
			eval->states[w->check_at].tally->count[MUSTER_SKIP]++;
			eval->report->count[MUSTER_SKIP]++;
			continue;
		}
		muster_result_take(eval, w->check_at, muster_entry_place(entry), entry->sample, judge_entry(w, entry));
	}
	w->skipped_count = 0;
	w->applies = false;
}

/* A link or a port that is down costs an all-reduce a part of its bandwidth: one below half of what is needed has
 * another cause too. What comes before it in its own probe (a slower message size, a transport) may explain any loss,
 * and so may a variable of the job. */
static bool is_unexplained(const struct walk *w, const struct muster_sample *sample,
	const struct muster_verdict *verdict, struct muster_place place)
{
	struct muster_block block = muster_block_find(w->eval, w->check_at, place);
	if (block.status == MUSTER_PASS)
		return false;
	const struct muster_operand *least = muster_check_operand_named(w->check, "min");
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(w->check->metric));
	if (!least || !probe || !probe->ring || !is_transfer(w->check->metric) || sample->value.type != MUSTER_NUMBER ||
		verdict->status == MUSTER_SKIP)
		return false;
	double whole = w->check->share_of && verdict->limit ? verdict->limit->value.number : 1;
	if (sample->value.number >= least->value.number / 2 * whole)
		return false;
	const struct muster_probe *cause =
		muster_probe_find(muster_metric_probe(w->eval->expect->checks[block.check].metric));
	return cause != probe && (!cause || !cause->of_job);
}

/* An exchange between two ranks that is slow is a finding only when its other end is known. */
static bool note_exchange(struct walk *w, const struct muster_entry *entry, const struct muster_verdict *verdict)
{
	bool bad = verdict->status == MUSTER_WARN || verdict->status == MUSTER_FAIL;
	if (bad || verdict->status == MUSTER_PASS)
		muster_exchanges_note(w->eval, w->check_at, entry, verdict);
	w->applies = w->applies || bad;
	return bad;
}

/* A slow part that exchanges of pairs have named makes collectives of all ranks slow: no finding of their own. */
static bool part_explains(struct walk *w, const struct muster_verdict *verdict)
{
	const struct muster_metric *metric = w->check->metric;
	const struct muster_exchange_notes *notes = w->eval->exchange_notes;
	if ((verdict->status != MUSTER_FAIL && verdict->status != MUSTER_WARN) || !notes || !notes->named ||
		metric->scope != MUSTER_SCOPE_JOB || metric->unit != MUSTER_UNIT_GB_PER_S)
		return false;
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	if (!probe || !probe->traffic || probe->ring)
		return false;
	muster_result_block(w->eval, w->check_at, notes->named - 1);
	return true;
}

/* A wrong result that another one explains is no finding of its own, but this finding has the count. */
static void explain_wrong(struct walk *w, const struct muster_entry *entry, const struct muster_verdict *verdict)
{
	struct muster_eval *eval = w->eval;
	const struct muster_block block = muster_block_find(eval, w->check_at, muster_entry_place(entry));
	if (verdict->status != MUSTER_FAIL || block.status != MUSTER_FAIL || entry->rank == MUSTER_NOWHERE ||
		!w->check->metric->counts_wrong)
		return;
	size_t cause = eval->drafts[block.draft].check;
	if (cause != MUSTER_NO_CHECK && eval->expect->checks[cause].metric->counts_wrong)
		muster_finding_draft_explain(eval, block.draft, eval->states[w->check_at].tally->check,
			eval->run->nodes[entry->node].ranks[entry->rank].rank, verdict->observed);
}

static void judge_sample(struct walk *w, const struct muster_entry *entry)
{
	struct muster_eval *eval = w->eval;
	const struct muster_sample *sample = entry->sample;
	struct muster_place place = muster_entry_place(entry);
	struct muster_verdict verdict;
	if (w->seen)
		mark_seen(w, sample);
	verdict = judge_entry(w, entry);
	if (muster_result_slowed(eval, w->check_at, place, &verdict) ||
		(!is_unexplained(w, sample, &verdict, place) &&
			muster_result_blocked(eval, w->check_at, place, verdict.status))) {
		explain_wrong(w, entry, &verdict);
		if (w->is_exchange)
			muster_exchanges_note(eval, w->check_at, entry, NULL);
		return;
	}
	if (sample->value.type != MUSTER_NULL && (verdict.status != MUSTER_SKIP || verdict.counts))
		muster_result_value(eval, w->check_at, sample, verdict.limit);
	if ((w->is_exchange && note_exchange(w, entry, &verdict)) || part_explains(w, &verdict))
		return;
	if (verdict.status == MUSTER_SKIP) {
		MUSTER_ARRAY_PUSH(w->skipped, w->skipped_count, w->skipped_room, *entry);
		return;
	}
	w->applies = true;
	muster_result_take(eval, w->check_at, place, sample, verdict);
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
	struct muster_verdict verdict;
	if (muster_result_explained(eval, w->check_at, node, rank))
		return;
	if (w->is_exchange) { /* the rank had no partner of this kind, or none at all */
		if (!muster_index_has(&eval->index, w->check_at, node, rank))
			muster_result_take(eval, w->check_at, place, NULL,
				(struct muster_verdict){
					.status = MUSTER_SKIP, .observed = "the rank was in no such exchange" });
		return;
	}
	if (muster_check_operand(check, MUSTER_OF_EVENT) && muster_event_none(eval, check, node, &verdict))
		muster_result_take(eval, w->check_at, place, NULL, verdict);
	else if (presence && !presence->value.boolean)
		muster_result_take(eval, w->check_at, place, NULL, (struct muster_verdict){ .status = MUSTER_PASS });
	else if (check->metric->scope != MUSTER_SCOPE_PORT || presence || names_one_port(check))
		muster_result_missing(eval, w->check_at, node, rank);
}

/* A log that was read in part may hold worse events than those that were found. */
static void judge_unread(struct walk *w, uint32_t node, uint32_t rank)
{
	struct muster_verdict verdict;
	if (muster_event_none(w->eval, w->check, node, &verdict) && verdict.status == MUSTER_INCONCLUSIVE)
		muster_result_take(
			w->eval, w->check_at, (struct muster_place){ .node = node, .rank = rank }, NULL, verdict);
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

/* What failed on the node somewhere in the chain of checks that this one comes after: a GPU that no rank uses may be
 * missing because of it, though all ranks that have a GPU are as they should be. A port depends on no other port. */
static struct muster_block block_of_unseen(const struct walk *w, struct muster_place place)
{
	const struct muster_check *checks = w->eval->expect->checks;
	struct muster_place node = { place.node, MUSTER_NOWHERE, NULL };
	struct muster_block block = muster_block_find(w->eval, w->check_at, place);
	if (w->check->metric->scope == MUSTER_SCOPE_PORT)
		return block;
	for (size_t at = w->check_at; block.status != MUSTER_FAIL && checks[at].after >= 0;
		at = (size_t)checks[at].after)
		block = muster_block_find(w->eval, at, node);
	return block;
}

/* The keys of equals_by that no sample of the node had. */
static void judge_unseen(struct walk *w, uint32_t node)
{
	struct muster_eval *eval = w->eval;
	struct muster_arena *arena = eval->report->arena;
	for (size_t i = 0; i < w->by->list_count; i++) {
		const struct muster_listed *listed = &w->by->list[i];
		struct muster_place place = { node, MUSTER_NOWHERE, muster_arena_string(arena, listed->label_value) };
		if (w->seen[i] || muster_result_explained(eval, w->check_at, node, MUSTER_NOWHERE))
			continue;
		struct muster_block block = block_of_unseen(w, place);
		if (muster_block_stops(block, muster_check_status(w->check))) {
			muster_result_block(eval, w->check_at, block.draft);
			muster_failed_at_add(&eval->states[w->check_at], place, block);
			continue;
		}
		muster_result_take(eval, w->check_at, place, NULL,
			(struct muster_verdict){ .status = muster_check_status(w->check),
				.expected = muster_describe_with_unit(
					listed->value, muster_metric_unit(w->check->metric), arena),
				.observed = "not found" });
	}
	memset(w->seen, 0, w->by->list_count * sizeof *w->seen);
}

static void judge_node(struct walk *w, uint32_t n)
{
	const struct muster_node *node = &w->eval->run->nodes[n];
	enum muster_scope scope = w->check->metric->scope;
	if (scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT) {
		judge_place(w, n, MUSTER_NOWHERE);
	} else {
		for (uint32_t r = 0; r < node->rank_count; r++)
			judge_place(w, n, r);
	}
	if (w->seen)
		judge_unseen(w, n);
	take_skipped(w);
}

static void judge_samples(struct muster_eval *eval, size_t at)
{
	struct walk w = {
		.eval = eval,
		.check_at = at,
		.check = &eval->expect->checks[at],
		.cursor = muster_cursor_make(&eval->index, at),
		.is_exchange = eval->expect->checks[at].metric->is_exchange,
	};
	enum muster_scope scope = w.check->metric->scope;
	size_t nodes = scope == MUSTER_SCOPE_JOB ? 0 : eval->run->node_count;
	if (scope == MUSTER_SCOPE_JOB) {
		judge_place(&w, MUSTER_NOWHERE, MUSTER_NOWHERE);
		take_skipped(&w);
	}
	w.by = muster_check_operand(w.check, MUSTER_OF_LABEL);
	if (w.by && strcmp(w.by->label, muster_scope_name(scope)) == 0) /* "gpu" and "port" are also labels */
		w.seen = muster_calloc(w.by->list_count, sizeof *w.seen);
	for (uint32_t n = 0; n < nodes; n++) {
		if (muster_node_leader(&eval->run->nodes[n]) == MUSTER_NOWHERE) {
			muster_result_node_missing(eval, at, n);
			continue;
		}
		muster_finding_draft_fold_here(eval);
		judge_node(&w, n);
	}
	muster_finding_draft_fold_here(eval);
	free(w.skipped);
	free(w.seen);
}

/* "ib.state on sim-2", and how many more findings block the check. */
static const char *describe_block(const struct muster_eval *eval, const struct muster_check_state *state)
{
	struct muster_arena *arena = eval->report->arena;
	const struct muster_finding *first = &eval->drafts[state->blocked_by].finding;
	const char *text = first->node ? muster_arena_printf(arena, "%s on %s", first->check, first->node)
				       : muster_arena_string(arena, first->check);
	return state->block_count < 2 ? text
				      : muster_arena_printf(arena, "%s and %zu more finding%s", text,
						state->block_count - 1, state->block_count == 2 ? "" : "s");
}

/* Exchanges become findings when all checks of their metric are done. */
static void judge_pairs(struct muster_eval *eval, const struct muster_metric *metric)
{
	for (size_t i = 0; i < eval->expect->check_count; i++)
		if (!eval->states[i].judged && eval->expect->checks[i].metric == metric)
			return;
	muster_exchanges_judge(eval, metric);
}

/* All places of a check. */
static void judge_places(struct muster_eval *eval, size_t at)
{
	const struct muster_check *check = &eval->expect->checks[at];
	struct muster_check_state *state = &eval->states[at];
	muster_finding_draft_check_here(eval);
	if (muster_check_operand(check, MUSTER_OF_MEDIAN)) {
		state->median = muster_median_find(eval, at);
		state->tally->expected = muster_describe_expected(check, &state->median, eval->report->arena);
	}
	if (muster_check_operand(check, MUSTER_OF_OTHERS))
		state->others = muster_others_make(eval, at, MUSTER_OTHERS_OF_MODEL);
	if (muster_check_operand(check, MUSTER_OF_FLEET)) {
		state->others = muster_others_make(eval, at, MUSTER_OTHERS_OF_TYPE);
		state->like = muster_others_make(eval, at, MUSTER_OTHERS_OF_PLACE);
	}
	if (muster_check_operand(check, MUSTER_OF_PEERS))
		muster_judge_across(eval, at);
	else
		judge_samples(eval, at);
	muster_failed_at_sort(state);
	if (state->block_count)
		state->tally->blocked_by = describe_block(eval, state);
	if (state->first && !state->mixed)
		state->tally->value = muster_describe_value(state->first->value, eval->report->arena);
}

/* A check, after the one that it comes after. */
static void judge_check(struct muster_eval *eval, size_t at)
{
	const struct muster_check *check = &eval->expect->checks[at];
	struct muster_check_state *state = &eval->states[at];
	if (state->done)
		return;
	state->done = true;
	if (check->after >= 0) /* which evaluates the check named by its own `after` first */
		judge_check(eval, (size_t)check->after);
	if (check->also_after >= 0)
		judge_check(eval, (size_t)check->also_after);
	if (!state->tally->skipped)
		judge_places(eval, at);
	state->judged = true;
	if (check->metric->is_exchange)
		judge_pairs(eval, check->metric);
}

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

static void copy_limits(struct muster_tally *tally, const struct muster_check *check)
{
	tally->has_least = copy_limit(check, "min", &tally->least);
	tally->has_warn_below = copy_limit(check, "warn_below", &tally->warn_below);
	tally->has_most = copy_limit(check, "max", &tally->most);
	tally->has_warn_above = copy_limit(check, "warn_above", &tally->warn_above);
	bool any = tally->has_least || tally->has_warn_below || tally->has_most || tally->has_warn_above;
	tally->share_of = any && check->share_of ? check->share_of->name : NULL;
}

static void make_states(struct muster_eval *eval)
{
	const struct muster_expect *expect = eval->expect;
	struct muster_report *report = eval->report;
	struct muster_arena *arena = report->arena;
	report->tally_count = expect->check_count;
	report->tallies = muster_arena_alloc(arena, (expect->check_count + 1) * sizeof *report->tallies);
	eval->states = muster_calloc(expect->check_count + 1, sizeof *eval->states);
	for (size_t i = 0; i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		const struct muster_operand *across = muster_check_operand_named(check, "same_across");
		struct muster_check_state *state = &eval->states[i];
		report->tallies[i] = (struct muster_tally){
			.check = muster_arena_string(arena, check->id),
			.metric = check->metric->name,
			.probe = muster_metric_probe(check->metric),
			.unit = muster_metric_unit(check->metric),
			.title = check->title ? muster_arena_string(arena, check->title) : NULL,
			.expected = muster_describe_expected(check, NULL, arena),
			.source = muster_arena_string(arena, check->source),
			.certainty = muster_arena_string(arena, check->certainty),
			.proof = check->proof,
			.uncalibrated = !muster_check_calibrated(check),
			.compares_nodes = across && across->peers == MUSTER_SCOPE_NODE,
			.skipped = muster_describe_when(check, eval->run, report->domains, arena),
			.where = copy_labels(check->where, check->where_count, arena),
			.where_count = check->where_count,
		};
		copy_limits(&report->tallies[i], check);
		state->tally = &report->tallies[i];
	}
	for (size_t i = 0; i < expect->check_count; i++) {
		int after = muster_check_after(eval, i), also_after = expect->checks[i].also_after;
		if (after >= 0)
			eval->states[after].has_dependents = true;
		eval->states[i].has_dependents |= expect->checks[i].slows;
		if (also_after >= 0)
			eval->states[also_after].has_dependents = true;
	}
}

static void free_states(struct muster_eval *eval)
{
	for (size_t i = 0; i < eval->expect->check_count; i++) {
		free(eval->states[i].failed_at);
		muster_others_free(eval->states[i].others);
		muster_others_free(eval->states[i].like);
	}
	free(eval->states);
}

static enum muster_status find_verdict(const struct muster_report *report)
{
	for (size_t i = 0; i < report->finding_count; i++)
		if (muster_finding_fails(&report->findings[i], report->strict))
			return MUSTER_FAIL;
	return report->count[MUSTER_INCONCLUSIVE] ? MUSTER_INCONCLUSIVE : MUSTER_PASS;
}

/* A node or a link that breaks rings explains what the probes and the missing ranks show: told first. */
static void take_trial_finding(void *arg, size_t probe, struct muster_finding finding)
{
	struct muster_eval *eval = arg;
	bool cause = finding.status == MUSTER_FAIL;
	struct muster_place place = { MUSTER_NOWHERE, cause ? (uint32_t)eval->draft_count : MUSTER_NOWHERE, NULL };
	size_t *told = NULL, draft;
	for (uint32_t n = 0; finding.node && n < eval->run->node_count; n++)
		if (strcmp(eval->run->nodes[n].name, finding.node) == 0)
			(void)muster_known_cause(
				eval, &finding, (struct muster_place){ n, MUSTER_NOWHERE, NULL }, NULL, &told);
	draft = muster_finding_draft_add(eval, finding, place, MUSTER_NO_CHECK, NULL);
	if (told)
		*told = draft + 1;
	if (cause && !eval->ring_cause[probe])
		eval->ring_cause[probe] = draft + 1;
}

static void judge_trials(struct muster_eval *eval)
{
	eval->ring_cause = muster_calloc(muster_probe_count() + 1, sizeof *eval->ring_cause);
	muster_localize_findings(eval->run, eval->report->arena, take_trial_finding, eval);
	muster_finding_draft_check_here(eval);
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
	struct muster_eval eval = { .run = run, .expect = expect, .report = &report };
	if (expect) {
		report.sku = muster_arena_string(report.arena, expect->name);
		report.sku_origin = muster_arena_string(report.arena, expect->origin);
		report.observe = expect->observe;
		make_states(&eval);
		muster_index_make(&eval.index, run, expect);
	}
	judge_trials(&eval);
	muster_judge_outcomes(&eval);
	for (size_t i = 0; expect && i < expect->check_count; i++)
		if (expect->checks[i].slows) /* what explains others comes first */
			judge_check(&eval, i);
	for (size_t i = 0; expect && i < expect->check_count; i++)
		judge_check(&eval, i);
	if (expect)
		muster_judge_asked(&eval);
	muster_exchanges_explain(&eval);
	muster_finding_drafts_finish(&eval);
	muster_exchanges_done(&eval);
	if (expect) {
		free_states(&eval);
		muster_index_done(&eval.index);
	}
	free(eval.first_rank);
	free(eval.causes);
	free(eval.known_causes);
	free(eval.ring_cause);
	report.verdict = find_verdict(&report);
	if (!expect && report.verdict == MUSTER_PASS)
		report.verdict = MUSTER_INCONCLUSIVE;
	*ret = report;
}

const struct muster_tally *muster_report_tally(const struct muster_report *report, const char *check)
{
	for (size_t i = 0; i < report->tally_count; i++)
		if (strcmp(report->tallies[i].check, check) == 0)
			return &report->tallies[i];
	return NULL;
}

void muster_report_done(struct muster_report *report)
{
	muster_arena_free(report->arena);
	*report = (struct muster_report){ 0 };
}

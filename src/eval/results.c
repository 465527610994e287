/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - take in what came out for one check at one place: counts, findings, and what they block
 *
 * Each result of a check is counted once, by one of these functions:
 *   muster_result_take     a pass is only counted; another answer becomes a draft, or is blocked where a known cause of
 *                          it is reported already
 *   muster_result_block    a draft explains the result: counted as blocked, or as SKIP where the draft itself is SKIP
 *   muster_result_missing  there is no sample: a draft explains it, or the check does not apply, or it is inconclusive
 * muster_result_value gives the tally a value and decides nothing.
 *
 * Why a sample is missing is looked up in the table of causes (drafts.h), by the scope of the metric:
 *   rank, gpu   what the rank has for the probe, else what it has for being missing
 *   node, port  what the leader of the node has for the probe; where the rank that measured the node is gone, what a
 *               missing rank of the node has
 *   job         what any rank has: a probe that failed, else any other finding about the probe, else a missing rank
 */
#include "eval/drafts.h"

void muster_result_value(
	struct muster_eval *eval, size_t check, const struct muster_sample *sample, const struct muster_sample *limit)
{
	struct muster_check_results *results = &eval->drafts->of_check[check];
	struct muster_tally *tally = &eval->tallies[check];
	if (sample->value.type == MUSTER_NUMBER) {
		double number = sample->value.number;
		if (!tally->has_numbers || number < tally->lowest)
			tally->lowest = number;
		if (!tally->has_numbers || number > tally->highest)
			tally->highest = number;
		tally->has_numbers = true;
		muster_share_add(&tally->share, number, limit);
	} else if (!results->first) {
		results->first = sample;
	} else if (!results->mixed) {
		results->mixed = !muster_value_equal(results->first->value, sample->value);
	}
}

/* The finding takes its words from the answer, else from the check (its tally). Then missing GPUs or ports are added to
 * `observed`, and the advice gets its values. Then causes that the file knows are looked at (muster_known_cause), which
 * may replace advice and action code. A cause that another finding of the node reports already blocks this result.
 * Otherwise the finding becomes a draft. For the checks that come after this one, a blocked result is noted with its
 * place as a failure, whatever its status is. Of a draft only a bad answer is noted, with its own status. */
void muster_result_take(struct muster_eval *eval, size_t at, struct muster_place place,
	const struct muster_sample *sample, struct muster_check_answer answer)
{
	const struct muster_check *check = &eval->checks[at];
	struct muster_tally *tally = &eval->tallies[at];
	const struct muster_node *node = place.node == MUSTER_NOWHERE ? NULL : &eval->run->nodes[place.node];
	size_t drafts = eval->drafts->count;
	struct muster_finding finding;
	if (answer.status == MUSTER_PASS) {
		tally->count[MUSTER_PASS]++;
		eval->report->count[MUSTER_PASS]++;
		return;
	}
	finding = (struct muster_finding){
		.check = tally->check,
		.status = answer.status,
		.node = node ? node->name : NULL,
		.rank = node && place.rank != MUSTER_NOWHERE ? node->ranks[place.rank].rank : -1,
		.gpu = sample ? muster_label_string(sample->labels, sample->label_count, "gpu") : NULL,
		.port = sample ? muster_label_string(sample->labels, sample->label_count, "port") : NULL,
		.metric = tally->metric,
		.labels = sample ? sample->labels : NULL,
		.label_count = sample ? sample->label_count : 0,
		.expected = answer.expected ? answer.expected : tally->expected,
		.observed = answer.observed,
		.evidence = answer.evidence,
		.value = sample ? sample->value : muster_null(),
		.unit = answer.in_words ? "" : tally->unit,
		.source = tally->source,
		.certainty = tally->certainty,
		.proof = tally->proof,
		.uncalibrated = tally->uncalibrated,
		.unread = answer.unread,
	};
	if (sample && sample->value.type == MUSTER_NUMBER)
		muster_share_add(&finding.share, sample->value.number, answer.limit);
	const double *tries = sample ? muster_sample_tries(sample) : NULL;
	if (tries && answer.status != MUSTER_SKIP)
		finding.tries = muster_arena_printf(eval->arena, "2 of 2: %.4g, %.4g", tries[0], tries[1]);
	if (!sample && place.key && check->metric->scope == MUSTER_SCOPE_GPU)
		finding.gpu = place.key;
	if (!sample && place.key && check->metric->scope == MUSTER_SCOPE_PORT)
		finding.port = place.key;
	bool bad = muster_answer_is_bad(&answer);
	finding.action_code = answer.action_code ? answer.action_code : bad ? muster_check_action(check) : NULL;
	if (bad && sample)
		finding.observed = muster_describe_observed(eval, check, place.node, finding.observed);
	const char *advice = bad && check->advice ? check->advice : answer.advice;
	if (advice && answer.status != MUSTER_SKIP)
		finding.advice = muster_describe_advice(eval, advice, &finding, place.node, place.rank);
	size_t *told = NULL, cause = 0;
	if (answer.status != MUSTER_SKIP && (cause = muster_known_cause(eval, &finding, place, sample, &told))) {
		muster_result_block(eval, at, cause - 1);
		muster_block_note(eval, at, place,
			(struct muster_block){ .status = MUSTER_FAIL, .draft = cause - 1, .check = at });
		return;
	}
	size_t draft = muster_draft_add(eval, finding, place, at, NULL);
	if (told)
		*told = draft + 1;
	tally->count[answer.status] += eval->drafts->count > drafts; /* a folded finding is counted with its draft */
	if (bad)
		muster_block_note(
			eval, at, place, (struct muster_block){ .status = answer.status, .draft = draft, .check = at });
}

/* Whether the rank has outcomes of other probes, and none of the probe of this metric: an older muster, which did not
 * have the probe, made the report. rank MUSTER_NOWHERE: the leader of the node is asked, which the node must have. */
static bool probe_unheard(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, uint32_t rank)
{
	if (node == MUSTER_NOWHERE)
		return false;
	const struct muster_node *its_node = &eval->run->nodes[node];
	const struct muster_rank *its_rank =
		&its_node->ranks[rank == MUSTER_NOWHERE ? muster_node_leader(its_node) : rank];
	return its_rank->outcomes.count > 0 && !muster_outcomes_find(&its_rank->outcomes, muster_metric_probe(metric));
}

/* ---- no sample ---- */

/* Whether this rank, the first of the node that is not missing, measured the probe's facts about the node. A probe of
 * scope NODE runs on the leader alone, so any outcome of it says yes. A probe that runs on every rank emits facts about
 * the node on the leader alone: that is the node's first rank, at place 0, missing or not. */
static bool reports_node_facts(const struct muster_node *node, uint32_t rank, const struct muster_probe *probe)
{
	return (probe->scope == MUSTER_SCOPE_NODE || rank == 0) &&
	       muster_outcomes_find(&node->ranks[rank].outcomes, probe->name);
}

/* 1 + the draft that explains why a node has no fact of the probe; 0: none does. Where the leader's results are lost,
 * this is the draft about a missing rank of the node. */
static size_t find_node_cause(const struct muster_eval *eval, uint32_t n, size_t probe)
{
	const struct muster_node *node = &eval->run->nodes[n];
	uint32_t leader = muster_node_leader(node);
	if (leader != MUSTER_NOWHERE && muster_cause_of(eval, n, leader)[probe])
		return muster_cause_of(eval, n, leader)[probe];
	if (leader != MUSTER_NOWHERE && reports_node_facts(node, leader, muster_probe_at(probe)))
		return 0;
	for (size_t r = 0; r < node->rank_count; r++)
		if (*muster_cause_of_missing(eval, n, r))
			return *muster_cause_of_missing(eval, n, r);
	return 0;
}

/* 1 + the draft about any rank of the nodes first to end - 1: one that failed, else another one about the probe, else
 * one about a missing rank; 0: none. */
static size_t find_any_cause(const struct muster_eval *eval, size_t first, size_t end, size_t probe)
{
	size_t other = 0, missing = 0;
	for (size_t n = first; n < end; n++) {
		for (size_t r = 0; r < eval->run->nodes[n].rank_count; r++) {
			size_t found = muster_cause_of(eval, n, r)[probe];
			if (found && eval->drafts->items[found - 1].finding.status == MUSTER_FAIL)
				return found;
			other = other ? other : found;
			missing = missing ? missing : *muster_cause_of_missing(eval, n, r);
		}
	}
	return other ? other : missing;
}

/* 1 + the draft that explains why a metric has no sample at a place; 0 when none does. */
static size_t find_cause(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, uint32_t rank)
{
	size_t probe = muster_probe_number(muster_metric_probe(metric));
	if (node == MUSTER_NOWHERE)
		return find_any_cause(eval, 0, eval->run->node_count, probe);
	if (rank != MUSTER_NOWHERE && muster_cause_of(eval, node, rank)[probe])
		return muster_cause_of(eval, node, rank)[probe];
	if (rank != MUSTER_NOWHERE)
		return *muster_cause_of_missing(eval, node, rank);
	if (muster_is_of_node(metric))
		return find_node_cause(eval, node, probe);
	return find_any_cause(eval, node, (size_t)node + 1, probe);
}

bool muster_result_explained(struct muster_eval *eval, size_t at, uint32_t node, uint32_t rank)
{
	size_t cause = find_cause(eval, eval->checks[at].metric, node, rank);
	if (cause)
		muster_result_block(eval, at, cause - 1);
	return cause > 0;
}

void muster_result_block(struct muster_eval *eval, size_t at, size_t draft)
{
	struct muster_check_results *results = &eval->drafts->of_check[at];
	struct muster_tally *tally = &eval->tallies[at];
	bool not_applicable = eval->drafts->items[draft].finding.status == MUSTER_SKIP;
	enum muster_status status = not_applicable ? MUSTER_SKIP : MUSTER_BLOCKED;
	tally->count[status]++;
	eval->report->count[status]++;
	if (!muster_draft_block(eval, draft, tally->check) || not_applicable)
		return;
	if (results->block_count++ == 0)
		results->blocked_by = draft;
}

/* The block's status (the finding before), the answer's status here, and what follows:
 *   FAIL  pass             not blocked; noted, unless the block is wider than this place (blocks.h)
 *   FAIL  anything else    blocked and noted
 *   WARN  pass             not blocked; noted, unless the block is wider
 *   WARN  warn             blocked and noted
 *   WARN  any other        not blocked, since a warning does not explain it; noted
 * Noted means: checks that come after this one find the same draft at this place. */
bool muster_result_blocked(struct muster_eval *eval, size_t at, struct muster_place place, enum muster_status status)
{
	struct muster_block block = muster_block_find(eval, at, place);
	if (block.status == MUSTER_PASS)
		block = muster_block_of_missing_gpu(eval, at, place, status);
	if (block.status == MUSTER_PASS)
		return false;
	if (status != MUSTER_PASS)
		block.check = at;
	if (!block.wider || status != MUSTER_PASS)
		muster_block_note(eval, at, place, block);
	if (!muster_block_stops(block, status))
		return false;
	muster_result_block(eval, at, block.draft);
	return true;
}

bool muster_result_slowed(
	struct muster_eval *eval, size_t at, struct muster_place place, struct muster_check_answer *answer)
{
	struct muster_block block = { .status = MUSTER_PASS };
	if (muster_answer_is_bad(answer))
		block = muster_block_slowing(eval, at, place);
	if (block.status == MUSTER_PASS)
		return false;
	if (!muster_block_stops(block, answer->status)) { /* a failure, beside what is only a warning */
		const char *expected = answer->expected ? answer->expected : eval->tallies[at].expected;
		answer->status = MUSTER_INCONCLUSIVE;
		answer->expected = muster_arena_printf(eval->arena, "%s, without another program on the GPU (%s)",
			expected ? expected : "another value", eval->checks[block.check].id);
		return false;
	}
	block.check = at;
	muster_block_note(eval, at, place, block);
	muster_result_block(eval, at, block.draft);
	return true;
}

void muster_result_node_missing(struct muster_eval *eval, size_t at, uint32_t node)
{
	bool of_node = muster_is_of_node(eval->checks[at].metric);
	size_t ranks = eval->run->nodes[node].rank_count;
	for (uint32_t r = 0; r < (of_node && ranks ? 1 : ranks); r++)
		(void)muster_result_explained(eval, at, node, of_node ? MUSTER_NOWHERE : r);
}

/* Why a check that is optional is not applicable where it has no sample; NULL when it is applicable. */
static const char *why_not_applicable(const struct muster_eval *eval, size_t at, uint32_t node, uint32_t rank)
{
	const struct muster_check *check = &eval->checks[at];
	if (!check->optional)
		return NULL;
	if (probe_unheard(eval, check->metric, node, rank))
		return "not measured: this run did not have the probe";
	if (eval->index.of_check[at].count == 0) /* a probe leaves nothing out */
		return "not measured: this run did not have the metric";
	/* a rank that ran out of time keeps what it has and skips the last part of its probes */
	if (muster_probe_find(muster_metric_probe(check->metric))->finish)
		return "not measured: the run ended before the last part of the probe";
	/* a label says what the node has, such as the layout of its disks: thresholds are for one kind of it */
	if (check->metric->scope == MUSTER_SCOPE_NODE && check->where_count > 0 &&
		muster_index_has(&eval->index, at, node, MUSTER_NOWHERE))
		return "the value of this node has other labels";
	/* a size that is not in the profile */
	return check->metric->scope == MUSTER_SCOPE_JOB ? "not measured in this run" : NULL;
}

void muster_result_missing(struct muster_eval *eval, size_t at, uint32_t node, uint32_t rank)
{
	const struct muster_check *check = &eval->checks[at];
	struct muster_place place = { .node = node, .rank = rank };
	struct muster_check_answer answer = { .status = MUSTER_INCONCLUSIVE, .observed = "not measured" };
	if (muster_result_explained(eval, at, node, rank))
		return;
	const char *why = why_not_applicable(eval, at, node, rank);
	if (why)
		answer = (struct muster_check_answer){ .status = MUSTER_SKIP, .observed = why };
	else if (muster_check_operand(check, MUSTER_OF_PRESENCE))
		answer.status = muster_check_status(check);
	if (!muster_result_blocked(eval, at, place, answer.status))
		muster_result_take(eval, at, place, NULL, answer);
}

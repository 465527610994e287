/* results.c - take in what came out for one check at one place: counts, findings, and what they block
 */
#include "eval/eval.h"

#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"

void muster_result_value(
	struct muster_eval *eval, size_t check, const struct muster_sample *sample, const struct muster_sample *limit)
{
	struct muster_check_state *state = &eval->states[check];
	struct muster_tally *tally = state->tally;
	if (sample->value.type == MUSTER_NUMBER) {
		double number = sample->value.number;
		if (!tally->has_numbers || number < tally->lowest)
			tally->lowest = number;
		if (!tally->has_numbers || number > tally->highest)
			tally->highest = number;
		tally->has_numbers = true;
		muster_share_add(&tally->share, number, limit);
	} else if (!state->first) {
		state->first = sample;
	} else if (!state->mixed) {
		state->mixed = !muster_value_equal(state->first->value, sample->value);
	}
}

void muster_result_take(struct muster_eval *eval, size_t at, struct muster_place place,
	const struct muster_sample *sample, struct muster_verdict verdict)
{
	const struct muster_check *check = &eval->expect->checks[at];
	struct muster_check_state *state = &eval->states[at];
	struct muster_tally *tally = state->tally;
	const struct muster_node *node = place.node == MUSTER_NOWHERE ? NULL : &eval->run->nodes[place.node];
	size_t drafts = eval->draft_count;
	struct muster_finding finding;
	if (verdict.status == MUSTER_PASS) {
		tally->count[MUSTER_PASS]++;
		eval->report->count[MUSTER_PASS]++;
		return;
	}
	finding = (struct muster_finding){
		.check = tally->check,
		.status = verdict.status,
		.node = node ? node->name : NULL,
		.rank = node && place.rank != MUSTER_NOWHERE ? node->ranks[place.rank].rank : -1,
		.gpu = sample ? muster_label_string(sample->labels, sample->label_count, "gpu") : NULL,
		.port = sample ? muster_label_string(sample->labels, sample->label_count, "port") : NULL,
		.metric = tally->metric,
		.labels = sample ? sample->labels : NULL,
		.label_count = sample ? sample->label_count : 0,
		.expected = verdict.expected ? verdict.expected : tally->expected,
		.observed = verdict.observed,
		.evidence = verdict.evidence,
		.value = sample ? sample->value : muster_null(),
		.unit = verdict.in_words ? "" : tally->unit,
		.source = tally->source,
		.certainty = tally->certainty,
		.proof = tally->proof,
		.uncalibrated = tally->uncalibrated,
		.unread = verdict.unread,
	};
	if (sample && sample->value.type == MUSTER_NUMBER)
		muster_share_add(&finding.share, sample->value.number, verdict.limit);
	const double *tries = sample ? muster_sample_tries(sample) : NULL;
	if (tries && verdict.status != MUSTER_SKIP)
		finding.tries = muster_arena_printf(eval->report->arena, "2 of 2: %.4g, %.4g", tries[0], tries[1]);
	if (!sample && place.key && check->metric->scope == MUSTER_SCOPE_GPU)
		finding.gpu = place.key;
	if (!sample && place.key && check->metric->scope == MUSTER_SCOPE_PORT)
		finding.port = place.key;
	bool bad = verdict.status == MUSTER_FAIL || verdict.status == MUSTER_WARN;
	finding.action_code = verdict.action_code ? verdict.action_code : bad ? muster_check_action(check) : NULL;
	if (bad && sample)
		finding.observed = muster_describe_observed(eval, check, place.node, finding.observed);
	const char *advice = bad && check->advice ? check->advice : verdict.advice;
	if (advice && verdict.status != MUSTER_SKIP)
		finding.advice = muster_describe_advice(eval, advice, &finding, place.node, place.rank);
	size_t *told = NULL, cause = 0;
	if (verdict.status != MUSTER_SKIP && (cause = muster_known_cause(eval, &finding, place, sample, &told))) {
		muster_result_block(eval, at, cause - 1);
		muster_failed_at_add(
			state, place, (struct muster_block){ .status = MUSTER_FAIL, .draft = cause - 1, .check = at });
		return;
	}
	size_t draft = muster_finding_draft_add(eval, finding, place, at, NULL);
	if (told)
		*told = draft + 1;
	tally->count[verdict.status] += eval->draft_count > drafts; /* folded ones are one finding */
	if (bad)
		muster_failed_at_add(
			state, place, (struct muster_block){ .status = verdict.status, .draft = draft, .check = at });
}

/* Whether the rank (or the node's leader, which is there) ran other probes and never heard of this one: a report of an
 * older muster. */
static bool probe_unheard(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, uint32_t rank)
{
	if (node == MUSTER_NOWHERE)
		return false;
	const struct muster_node *its_node = &eval->run->nodes[node];
	const struct muster_rank *its_rank =
		&its_node->ranks[rank == MUSTER_NOWHERE ? muster_node_leader(its_node) : rank];
	return its_rank->outcomes.count > 0 && !muster_rank_outcome(its_rank, muster_metric_probe(metric));
}

bool muster_result_explained(struct muster_eval *eval, size_t at, uint32_t node, uint32_t rank)
{
	size_t cause = muster_cause_find(eval, eval->expect->checks[at].metric, node, rank);
	if (cause)
		muster_result_block(eval, at, cause - 1);
	return cause > 0;
}

void muster_result_block(struct muster_eval *eval, size_t at, size_t draft)
{
	struct muster_check_state *state = &eval->states[at];
	bool not_applicable = eval->drafts[draft].finding.status == MUSTER_SKIP;
	enum muster_status status = not_applicable ? MUSTER_SKIP : MUSTER_BLOCKED;
	state->tally->count[status]++;
	eval->report->count[status]++;
	if (!muster_finding_draft_block(eval, draft, state->tally->check) || not_applicable)
		return;
	if (state->block_count++ == 0)
		state->blocked_by = draft;
}

void muster_result_node_missing(struct muster_eval *eval, size_t at, uint32_t node)
{
	enum muster_scope scope = eval->expect->checks[at].metric->scope;
	size_t ranks = eval->run->nodes[node].rank_count;
	bool of_node = scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT;
	for (uint32_t r = 0; r < (of_node && ranks ? 1 : ranks); r++)
		(void)muster_result_explained(eval, at, node, of_node ? MUSTER_NOWHERE : r);
}

/* Why a check that is optional is not applicable where it has no sample; NULL when it is applicable. */
static const char *why_not_applicable(const struct muster_eval *eval, size_t at, uint32_t node, uint32_t rank)
{
	const struct muster_check *check = &eval->expect->checks[at];
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
	const struct muster_check *check = &eval->expect->checks[at];
	struct muster_place place = { .node = node, .rank = rank };
	struct muster_verdict verdict = { .status = MUSTER_INCONCLUSIVE, .observed = "not measured" };
	if (muster_result_explained(eval, at, node, rank))
		return;
	const char *why = why_not_applicable(eval, at, node, rank);
	if (why)
		verdict = (struct muster_verdict){ .status = MUSTER_SKIP, .observed = why };
	else if (muster_check_operand(check, MUSTER_OF_PRESENCE))
		verdict.status = muster_check_status(check);
	if (!muster_result_blocked(eval, at, place, verdict.status))
		muster_result_take(eval, at, place, NULL, verdict);
}

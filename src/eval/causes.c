/* causes.c - findings about probes that did not end well and ranks from which nothing came
 *
 * They explain why samples are missing, so they take the checks that have none: one cause, one finding.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "util/sort.h"

#include <stdlib.h>
#include <string.h>

/* How much the checks of this run want a probe. */
enum want { UNWANTED = 0, OPTIONAL, WANTED };

uint32_t muster_node_leader(const struct muster_node *node)
{
	for (size_t r = 0; r < node->rank_count; r++)
		if (!node->ranks[r].missing)
			return (uint32_t)r;
	return MUSTER_NOWHERE;
}

/* The probe's number; the number of probes for one that this muster does not know. */
static size_t probe_number(const char *name)
{
	size_t i = 0;
	while (i < muster_probe_count() && strcmp(muster_probe_at(i)->name, name) != 0)
		i++;
	return i;
}

static size_t *blame_of(const struct muster_eval *eval, size_t node, size_t rank)
{
	return &eval->causes[(eval->first_rank[node] + rank) * eval->cause_width];
}

static size_t *blame_missing(const struct muster_eval *eval, size_t node, size_t rank)
{
	return blame_of(eval, node, rank) + muster_probe_count();
}

static void wants_find(const struct muster_eval *eval, enum want *wants)
{
	if (!eval->expect) { /* without expectations every probe is wanted */
		for (size_t i = 0; i < muster_probe_count(); i++)
			wants[i] = OPTIONAL;
		return;
	}
	for (size_t i = 0; i < eval->expect->check_count; i++) {
		const struct muster_check *check = &eval->expect->checks[i];
		size_t probe = probe_number(muster_metric_probe(check->metric));
		enum want want = check->optional ? OPTIONAL : WANTED;

		if (!eval->states[i].tally->skipped && want > wants[probe])
			wants[probe] = want;
	}
}

static bool ended_badly(const struct muster_outcome *outcome)
{
	return outcome->status == MUSTER_OUTCOME_CRASHED || outcome->status == MUSTER_OUTCOME_HUNG;
}

static enum muster_status outcome_status(const struct muster_outcome *outcome, enum want want)
{
	bool broken = outcome->code && (strcmp(outcome->code, muster_code_name(MUSTER_ELIB)) == 0 ||
					       strcmp(outcome->code, muster_code_name(MUSTER_EVENDOR)) == 0 ||
					       strcmp(outcome->code, muster_code_name(MUSTER_EREMOTE)) == 0);
	switch (outcome->status) {
	case MUSTER_OUTCOME_CRASHED:
	case MUSTER_OUTCOME_HUNG: return want == UNWANTED ? MUSTER_SKIP : MUSTER_FAIL;
	case MUSTER_OUTCOME_ERROR: return want != WANTED ? MUSTER_SKIP : broken ? MUSTER_FAIL : MUSTER_INCONCLUSIVE;
	default: return want == WANTED ? MUSTER_INCONCLUSIVE : MUSTER_SKIP;
	}
}

static const char *outcome_advice(const struct muster_outcome *outcome)
{
	static const struct {
		enum muster_code code;
		const char *advice;
	} by_code[] = {
		{ MUSTER_ELIB, "install or repair the library on this node (ldconfig -p lists the libraries that the "
			       "loader finds), then run muster on this node again" },
		{ MUSTER_EVENDOR, "run muster on this node only; if the same call fails again, check dmesg for Xid "
				  "lines and open a ticket for the driver of the node" },
		{ MUSTER_EREMOTE, "run again with --localise always to find the faulty node or link; check the "
				  "InfiniBand links, and dmesg for mlx5 lines" },
		{ MUSTER_ENOPERMISSION,
			"run as a user who may open these files, or ask the administrator for access to the devices" },
		{ MUSTER_ETIME,
			"run again with a longer --deadline; if the time runs out at the same step, suspect the node" },
	};

	if (ended_badly(outcome))
		return "run muster on this node only; if the probe fails at the same step, check dmesg for Xid and "
		       "mlx5 lines and exclude the node";
	for (size_t i = 0; outcome->code && i < sizeof by_code / sizeof *by_code; i++)
		if (strcmp(outcome->code, muster_code_name(by_code[i].code)) == 0)
			return by_code[i].advice;
	return NULL;
}

static const char *outcome_text(const struct muster_outcome *outcome, enum want want, struct muster_arena *arena)
{
	const char *text = outcome->detail ? outcome->detail : muster_outcome_name(outcome->status);
	if (outcome->step)
		text = muster_arena_printf(arena, "%s; last step: %s", text, outcome->step);
	if (want == UNWANTED)
		text = muster_arena_printf(arena, "%s (no check of this run needs it)", text);
	return muster_arena_string(arena, text);
}

/* An earlier probe of the rank that ended in the same way for the same reason (no GPU, no libcuda): one cause, and its
 * finding speaks for both. NULL when there is none. */
static const struct muster_outcome *same_cause(
	const struct muster_outcomes *all, const enum want *wants, const struct muster_outcome *outcome)
{
	size_t probe = probe_number(outcome->probe);
	for (const struct muster_outcome *other = all->items; other < outcome; other++) {
		size_t number = probe_number(other->probe);
		if (other->status == outcome->status && other->detail && outcome->detail && !outcome->step &&
			!other->step && strcmp(other->detail, outcome->detail) == 0 && probe < muster_probe_count() &&
			number < muster_probe_count() && wants[probe] == wants[number])
			return other;
	}
	return NULL;
}

/* A ring that broke, known by its probe and how many ranks it had, and the rank whose end says most about why. */
struct muster_broken_ring {
	size_t probe;
	int ranks, cause, weight;
};

/* How much the end of a rank in a ring says about that rank; 0: nothing, it only ended with the others. */
static int ring_weight(const struct muster_outcome *outcome)
{
	static const struct {
		enum muster_code code;
		int weight;
	} by_code[] = { { MUSTER_ECALLEDOFF, 0 }, { MUSTER_ETIME, 1 }, { MUSTER_EREMOTE, 2 } };

	switch (outcome->status) {
	case MUSTER_OUTCOME_CRASHED: return 5;
	case MUSTER_OUTCOME_HUNG: return 4;
	case MUSTER_OUTCOME_NOT_RUN: return 0;
	default: break;
	}
	for (size_t i = 0; outcome->code && i < sizeof by_code / sizeof *by_code; i++)
		if (strcmp(outcome->code, muster_code_name(by_code[i].code)) == 0)
			return by_code[i].weight;
	return 3;
}

static struct muster_broken_ring *broken_find(const struct muster_eval *eval, size_t probe, int ranks)
{
	for (size_t i = 0; i < eval->broken_count; i++)
		if (eval->broken[i].probe == probe && eval->broken[i].ranks == ranks)
			return &eval->broken[i];
	return NULL;
}

static void broken_note(struct muster_eval *eval, const struct muster_outcome *outcome, int rank)
{
	size_t probe = probe_number(outcome->probe);
	struct muster_broken_ring *ring = broken_find(eval, probe, outcome->ring);
	int weight = ring_weight(outcome);
	if (!ring) {
		eval->broken = muster_realloc(eval->broken, eval->broken_count + 1, sizeof *eval->broken);
		ring = &eval->broken[eval->broken_count++];
		*ring = (struct muster_broken_ring){ probe, outcome->ring, -1, 0 };
	}
	if (weight > ring->weight) {
		ring->weight = weight;
		ring->cause = rank;
	}
}

static void broken_find_all(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	for (size_t n = 0; n < run->node_count; n++) {
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			for (size_t i = 0; i < rank->outcomes.count; i++)
				if (rank->outcomes.items[i].ring > 0 &&
					rank->outcomes.items[i].status != MUSTER_OUTCOME_OK)
					broken_note(eval, &rank->outcomes.items[i], rank->rank);
		}
	}
}

static bool any_missing(const struct muster_run *run)
{
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			if (run->nodes[n].ranks[r].missing)
				return true;
	return false;
}

/* The observed text when another rank, which has a finding of its own, caused the failure of this rank in the
 * all-reduce; NULL otherwise. */
static const char *ended_by_others(struct muster_eval *eval, size_t probe, const struct muster_outcome *outcome)
{
	int weight = ring_weight(outcome);
	const struct muster_broken_ring *ring = broken_find(eval, probe, outcome->ring);
	if (outcome->ring <= 0 || weight >= 4)
		return NULL;
	if (!eval->ring_cause[probe] && ring && ring->weight > weight)
		return weight == 0 && outcome->detail ? outcome->detail
						      : muster_arena_printf(eval->report->arena,
								"ended by the failure of rank %d", ring->cause);
	if (eval->ring_cause[probe] || (weight == 0 && any_missing(eval->run)))
		return outcome->detail ? outcome->detail : "ended by the failure of another rank";
	return NULL;
}

/* A run that is ended early ends each of its ranks at another moment, and those that share a ring see that as errors.
 */
static bool ended_with_run(const struct muster_run *run, const struct muster_outcome *outcome)
{
	const struct muster_probe *probe = muster_probe_find(outcome->probe);
	if (outcome->code && strcmp(outcome->code, muster_code_name(MUSTER_EINTERRUPTED)) == 0)
		return true;
	return run->job.interrupted && (outcome->status == MUSTER_OUTCOME_NOT_RUN ||
					       (outcome->status == MUSTER_OUTCOME_ERROR && probe && probe->ring));
}

static void judge_outcome(
	struct muster_eval *eval, const enum want *wants, uint32_t n, uint32_t r, const struct muster_outcome *outcome)
{
	const struct muster_node *node = &eval->run->nodes[n];
	struct muster_arena *arena = eval->report->arena;
	size_t probe = probe_number(outcome->probe), draft;
	bool known = probe < muster_probe_count();
	enum want want = known ? wants[probe] : UNWANTED;
	struct muster_finding finding = {
		.check = muster_arena_printf(arena, "probe.%s", outcome->probe),
		.status = outcome_status(outcome, want),
		.node = node->name,
		.rank = node->ranks[r].rank,
		.gpu = ended_badly(outcome) ? node->ranks[r].gpu : NULL,
		.expected = muster_arena_printf(arena, "probe %s finishes", outcome->probe),
		.observed = outcome_text(outcome, want, arena),
		.evidence = outcome->evidence,
		.unit = "",
	};
	const struct muster_outcome *other = same_cause(&node->ranks[r].outcomes, wants, outcome);
	if (other && blame_of(eval, n, r)[probe_number(other->probe)]) {
		blame_of(eval, n, r)[probe] = blame_of(eval, n, r)[probe_number(other->probe)];
		return;
	}
	const char *ended = ended_by_others(eval, probe, outcome);
	if (ended_with_run(eval->run, outcome)) {
		finding.status = MUSTER_SKIP; /* the finding about the run speaks for all of these */
	} else if (ended) {
		finding.status = MUSTER_SKIP;
		finding.observed = ended;
	}
	if (finding.status != MUSTER_SKIP)
		finding.advice = outcome_advice(outcome);
	else
		finding.evidence = NULL;
	draft = muster_finding_draft_add_cause(
		eval, finding, outcome->code ? outcome->code : muster_outcome_name(outcome->status), n, r);
	if (ended && eval->ring_cause[probe])
		draft = eval->ring_cause[probe] - 1; /* what is not measured now is that one's doing */
	if (known)
		blame_of(eval, n, r)[probe] = draft + 1;
}

/* A run that was ended early is no proof against those that it has nothing of. */
static enum muster_status missing_status(const struct muster_run *run)
{
	return run->job.interrupted ? MUSTER_INCONCLUSIVE : MUSTER_FAIL;
}

/* Nothing came from the rank, or not all: then the probes that it says nothing of are what is missing. */
static void judge_missing(struct muster_eval *eval, uint32_t n, uint32_t r)
{
	const struct muster_node *node = &eval->run->nodes[n];
	const struct muster_rank *rank = &node->ranks[r];
	struct muster_finding finding = {
		.check = "rank.missing",
		.status = missing_status(eval->run),
		.node = node->name,
		.rank = rank->rank,
		.expected = "a result from every rank",
		.observed = rank->missing ? rank->missing : rank->unfinished,
		.unit = "",
		.advice = "check the output of the job and dmesg on the node for the cause; start the job again "
			  "without the node (srun --exclude)",
	};
	size_t draft =
		muster_finding_draft_add_cause(eval, finding, rank->missing ? "missing" : "unfinished", n, r) + 1;
	if (rank->missing)
		*blame_missing(eval, n, r) = draft;
	for (size_t i = 0; !rank->missing && i < muster_probe_count(); i++)
		blame_of(eval, n, r)[i] = draft; /* those that ended well may have had more to do */
}

/* A node of the job without any rank: nothing at all came from there. */
static void judge_missing_node(struct muster_eval *eval, uint32_t n)
{
	struct muster_finding finding = {
		.check = "node.missing",
		.status = missing_status(eval->run),
		.node = eval->run->nodes[n].name,
		.rank = -1,
		.expected = "a result from every node",
		.observed = "no result from this node",
		.unit = "",
		.advice = "check that the node is up and that the processes of the job were started there; start the "
			  "job again without the node (srun --exclude)",
	};
	muster_finding_draft_add(eval, finding, n, MUSTER_NOWHERE, MUSTER_NO_CHECK);
}

static void judge_interrupted(struct muster_eval *eval)
{
	struct muster_finding finding = {
		.check = "run.interrupted",
		.status = MUSTER_INCONCLUSIVE,
		.rank = -1,
		.expected = "the run finishes",
		.observed = eval->run->job.interrupted,
		.unit = "",
		.advice = "increase the time limit, or find out who cancelled the job; earlier results are included",
	};
	if (finding.observed)
		muster_finding_draft_add(eval, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, MUSTER_NO_CHECK);
}

/* A run tells of every rank that MPI had, missing ones included. One that does not was cut, and is no proof of health.
 */
static void judge_unlisted(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	struct muster_arena *arena = eval->report->arena;
	int *ranks = muster_calloc(eval->rank_count + 1, sizeof *ranks);
	long expected = run->job.ranks > 0 ? run->job.ranks : 0;
	const char *gaps = "";
	size_t count = 0, known = 0;
	struct muster_finding finding = {
		.check = "rank.missing",
		.status = MUSTER_FAIL,
		.rank = -1,
		.expected = muster_arena_printf(arena, "a result from each of %ld ranks", expected),
		.unit = "",
		.advice = "the report is incomplete: run muster again",
	};
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			ranks[count++] = run->nodes[n].ranks[r].rank;
	qsort(ranks, count, sizeof *ranks, muster_by_int);
	for (size_t i = 0; i < count; i++)
		known += ranks[i] >= 0 && ranks[i] < expected && (i == 0 || ranks[i] != ranks[i - 1]);
	for (size_t i = 0, gap = 0; i <= count && gap < 12; i++) {
		long from = i ? ranks[i - 1] + 1L : 0, to = (i < count ? (long)ranks[i] : expected) - 1;

		if (from > to)
			continue;
		gap++;
		gaps = muster_arena_printf(arena, "%s%s%ld", gaps, *gaps ? "," : "", from);
		if (from < to)
			gaps = muster_arena_printf(arena, "%s-%ld", gaps, to);
	}
	if (known == 0 || known < (size_t)expected) {
		finding.observed = known == 0 ? "the run contains no rank"
					      : muster_arena_printf(arena, "the run does not contain ranks %s", gaps);
		muster_finding_draft_add(eval, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, MUSTER_NO_CHECK);
	}
	free(ranks);
}

void muster_judge_outcomes(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	enum want *wants = muster_calloc(muster_probe_count() + 1, sizeof *wants);
	eval->cause_width = muster_probe_count() + 1;
	eval->first_rank = muster_calloc(run->node_count + 1, sizeof *eval->first_rank);
	for (size_t n = 0; n < run->node_count; n++) {
		eval->first_rank[n] = eval->rank_count;
		eval->rank_count += run->nodes[n].rank_count;
	}
	eval->causes = muster_calloc(eval->rank_count * eval->cause_width + 1, sizeof *eval->causes);
	wants_find(eval, wants);
	broken_find_all(eval);
	judge_unlisted(eval);
	judge_interrupted(eval);
	for (size_t n = 0; n < run->node_count; n++) {
		muster_finding_draft_fold_here(eval);
		if (run->nodes[n].rank_count == 0)
			judge_missing_node(eval, (uint32_t)n);
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];

			if (rank->missing || rank->unfinished)
				judge_missing(eval, (uint32_t)n, (uint32_t)r);
			for (size_t i = 0; !rank->missing && i < rank->outcomes.count; i++)
				if (rank->outcomes.items[i].status != MUSTER_OUTCOME_OK)
					judge_outcome(eval, wants, (uint32_t)n, (uint32_t)r, &rank->outcomes.items[i]);
		}
	}
	muster_finding_draft_fold_here(eval);
	free(eval->broken);
	free(wants);
}

static bool outcome_known(const struct muster_rank *rank, const char *probe)
{
	for (size_t i = 0; i < rank->outcomes.count; i++)
		if (strcmp(rank->outcomes.items[i].probe, probe) == 0)
			return true;
	return false;
}

/* Did this rank, the first one that is left, have the probe's facts about the node to tell? A probe of the node runs on
 * its leader alone. One that runs on every rank tells them on the leader, who was the first of all ranks. */
static bool was_to_tell(const struct muster_node *node, uint32_t rank, const struct muster_probe *probe)
{
	return (probe->scope == MUSTER_SCOPE_NODE || rank == 0) && outcome_known(&node->ranks[rank], probe->name);
}

/* The node's own facts come from its leader. A leader that died took them along. */
static size_t blame_node(const struct muster_eval *eval, uint32_t n, size_t probe)
{
	const struct muster_node *node = &eval->run->nodes[n];
	uint32_t leader = muster_node_leader(node);
	if (leader != MUSTER_NOWHERE && blame_of(eval, n, leader)[probe])
		return blame_of(eval, n, leader)[probe];
	if (leader != MUSTER_NOWHERE && was_to_tell(node, leader, muster_probe_at(probe)))
		return 0;
	for (size_t r = 0; r < node->rank_count; r++)
		if (*blame_missing(eval, n, r))
			return *blame_missing(eval, n, r);
	return 0;
}

/* Any rank of nodes [first, end) will do: a failed probe first, then one that did not run, then a missing rank. */
static size_t blame_any(const struct muster_eval *eval, size_t first, size_t end, size_t probe)
{
	size_t other = 0, missing = 0;
	for (size_t n = first; n < end; n++) {
		for (size_t r = 0; r < eval->run->nodes[n].rank_count; r++) {
			size_t found = blame_of(eval, n, r)[probe];

			if (found && eval->drafts[found - 1].finding.status == MUSTER_FAIL)
				return found;
			other = other ? other : found;
			missing = missing ? missing : *blame_missing(eval, n, r);
		}
	}
	return other ? other : missing;
}

size_t muster_cause_find(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, uint32_t rank)
{
	size_t probe = probe_number(muster_metric_probe(metric));
	if (node == MUSTER_NOWHERE)
		return blame_any(eval, 0, eval->run->node_count, probe);
	if (rank != MUSTER_NOWHERE)
		return blame_of(eval, node, rank)[probe];
	if (metric->scope == MUSTER_SCOPE_NODE || metric->scope == MUSTER_SCOPE_PORT)
		return blame_node(eval, node, probe);
	return blame_any(eval, node, (size_t)node + 1, probe);
}

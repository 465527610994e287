/* causes.c - findings about probes that did not end well and ranks from which nothing came
 *
 * They explain why samples are missing, so they take the checks that have none: one cause, one finding.
 */
#include "eval/eval.h"
#include "model/gpu.h"
#include "muster/arena.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdlib.h>
#include <string.h>

/* The probe whose ranks list the ranks that they could not connect to. */
static size_t unreached_probe(void)
{
	return muster_probe_number(muster_metric_probe(muster_metric_find("rank.alltoall_unreached")));
}

static void find_wants(const struct muster_eval *eval, enum muster_want *wants)
{
	if (!eval->expect) { /* without expectations every probe is wanted */
		for (size_t i = 0; i < muster_probe_count(); i++)
			wants[i] = MUSTER_OPTIONAL;
		return;
	}
	for (size_t i = 0; i < eval->expect->check_count; i++) {
		const struct muster_check *check = &eval->expect->checks[i];
		size_t probe = muster_probe_number(muster_metric_probe(check->metric));
		enum muster_want want = check->optional ? MUSTER_OPTIONAL : MUSTER_WANTED;
		if (!eval->states[i].tally->skipped && want > wants[probe])
			wants[probe] = want;
	}
}

/* A probe with traffic that was not run: the rings or rounds before it failed, on this rank or on one that all need. */
static bool is_traffic_not_run(const struct muster_outcome *outcome)
{
	const struct muster_probe *probe = muster_probe_find(outcome->probe);
	return probe && probe->traffic && !probe->ring && outcome->status == MUSTER_OUTCOME_NOT_RUN;
}

/* Of the rank's probes that ended in the same way for the same reason (no GPU, no libcuda) the first one that is wanted
 * most: one cause, and its finding speaks for all. It may be this one. */
static const struct muster_outcome *same_cause(
	const struct muster_outcomes *all, const enum muster_want *wants, const struct muster_outcome *outcome)
{
	size_t none = muster_probe_count(), best = muster_probe_number(outcome->probe);
	const struct muster_outcome *first = outcome;
	if (best == none || !outcome->detail || outcome->step)
		return outcome;
	for (const struct muster_outcome *other = all->items; other < all->items + all->count; other++) {
		size_t number = muster_probe_number(other->probe);
		if (other->status == outcome->status && other->detail && !other->step && !is_traffic_not_run(other) &&
			strcmp(other->detail, outcome->detail) == 0 && number < none &&
			(wants[number] > wants[best] || (wants[number] == wants[best] && other < first))) {
			first = other;
			best = number;
		}
	}
	return first;
}

/* A ring that broke, known by its probe and how many ranks it had, and the rank whose end says most about why. */
struct muster_broken_ring {
	size_t probe;
	int ranks, cause, weight;
	size_t node, at; /* the cause's node, and its place there */
	int hung;        /* ranks whose worker had to be killed */
	size_t nodes, last_node;
};

/* Every rank of several nodes hung: who was the cause is not known, and no node is to be named for it. */
static bool all_hung(const struct muster_broken_ring *ring)
{
	return ring && ring->hung > 0 && ring->hung == ring->ranks && ring->nodes > 1;
}

static struct muster_broken_ring *find_broken(const struct muster_eval *eval, size_t probe, int ranks)
{
	for (size_t i = 0; i < eval->broken_count; i++)
		if (eval->broken[i].probe == probe && eval->broken[i].ranks == ranks)
			return &eval->broken[i];
	return NULL;
}

static void note_broken(struct muster_eval *eval, const struct muster_outcome *outcome, size_t n, size_t r)
{
	size_t probe = muster_probe_number(outcome->probe);
	struct muster_broken_ring *ring = find_broken(eval, probe, outcome->ring);
	int weight = muster_outcome_weight(outcome);
	if (!ring) {
		eval->broken = muster_realloc(eval->broken, eval->broken_count + 1, sizeof *eval->broken);
		ring = &eval->broken[eval->broken_count++];
		*ring = (struct muster_broken_ring){ .probe = probe, .ranks = outcome->ring, .cause = -1 };
	}
	ring->hung += outcome->status == MUSTER_OUTCOME_HUNG;
	ring->nodes += ring->nodes == 0 || ring->last_node != n;
	ring->last_node = n;
	if (weight > ring->weight) {
		ring->weight = weight;
		ring->cause = eval->run->nodes[n].ranks[r].rank;
		ring->node = n;
		ring->at = r;
	}
}

/* The broken rings, and whether a rank is missing. */
static void find_all_broken(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	for (size_t n = 0; n < run->node_count; n++) {
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			eval->any_missing = eval->any_missing || rank->missing;
			for (size_t i = 0; i < rank->outcomes.count; i++)
				if (rank->outcomes.items[i].ring > 0 &&
					rank->outcomes.items[i].status != MUSTER_OUTCOME_OK)
					note_broken(eval, &rank->outcomes.items[i], n, r);
		}
	}
}

/* The rank's number in its node; *ret_node: that node's. MUSTER_NOWHERE: nothing is there of it. */
static uint32_t find_rank(const struct muster_run *run, int number, uint32_t *ret_node)
{
	for (uint32_t n = 0; n < run->node_count; n++)
		for (uint32_t r = 0; r < run->nodes[n].rank_count; r++)
			if (run->nodes[n].ranks[r].rank == number && !run->nodes[n].ranks[r].missing) {
				*ret_node = n;
				return r;
			}
	return MUSTER_NOWHERE;
}

/* How much the end of the partner in a round of two says about the partner; as a crash when nothing came from it,
 * or nothing more. */
static int partner_weight(const struct muster_run *run, const struct muster_outcome *outcome)
{
	uint32_t node, rank = find_rank(run, outcome->partner - 1, &node);
	if (rank == MUSTER_NOWHERE)
		return 5;
	const struct muster_outcomes *all = &run->nodes[node].ranks[rank].outcomes;
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].probe, outcome->probe) == 0 && all->items[i].partner > 0 &&
			all->items[i].status != MUSTER_OUTCOME_OK)
			return muster_outcome_weight(&all->items[i]);
	return run->nodes[node].ranks[rank].unfinished ? 5 : 0;
}

/* What a rank that only ended with the others says, else which rank ended it. */
static const char *ended_by(const struct muster_eval *eval, const struct muster_outcome *outcome, int rank)
{
	return outcome->detail && muster_outcome_weight(outcome) == 0
		       ? outcome->detail
		       : muster_arena_printf(eval->report->arena, "ended by the failure of rank %d", rank);
}

/* The observed text when another rank, which has a finding of its own, caused the failure of this rank in the
 * all-reduce; NULL otherwise. */
static const char *ended_by_others(struct muster_eval *eval, size_t probe, const struct muster_outcome *outcome)
{
	int weight = muster_outcome_weight(outcome);
	const struct muster_broken_ring *ring = find_broken(eval, probe, outcome->ring);
	if (outcome->ring <= 0)
		return NULL;
	if (outcome->partner > 0) /* a round of two: only the partner can have ended it for this rank */
		return partner_weight(eval->run, outcome) > weight ? ended_by(eval, outcome, outcome->partner - 1)
								   : NULL;
	if (weight >= 4)
		return all_hung(ring) && eval->ring_cause[probe] ? outcome->detail : NULL;
	if (!eval->ring_cause[probe] && ring && ring->weight > weight)
		return ended_by(eval, outcome, ring->cause);
	if (eval->ring_cause[probe] || (weight == 0 && eval->any_missing))
		return outcome->detail ? outcome->detail : "ended by the failure of another rank";
	return NULL;
}

/* A run that is ended early ends each of its ranks at another moment, and those that share a ring see that as errors.
 */
static bool ended_with_run(const struct muster_run *run, const struct muster_outcome *outcome)
{
	const struct muster_probe *probe = muster_probe_find(outcome->probe);
	if (muster_outcome_has_code(outcome, MUSTER_EINTERRUPTED))
		return true;
	return run->job.interrupted &&
	       (outcome->status == MUSTER_OUTCOME_NOT_RUN ||
		       (outcome->status == MUSTER_OUTCOME_ERROR && probe && (probe->ring || probe->traffic)));
}

/* Add a finding about a rank, a node or, where both are MUSTER_NOWHERE, the run. Returns its draft. */
static size_t add_finding(
	struct muster_eval *eval, struct muster_finding finding, uint32_t n, uint32_t r, const char *cause)
{
	const struct muster_node *node = n == MUSTER_NOWHERE ? NULL : &eval->run->nodes[n];
	finding.node = node ? node->name : NULL;
	finding.rank = node && r != MUSTER_NOWHERE ? node->ranks[r].rank : -1;
	finding.unit = "";
	return muster_finding_draft_add(eval, finding, (struct muster_place){ n, r, NULL }, MUSTER_NO_CHECK, cause);
}

/* A finding about a probe that did not end well. */
static struct muster_finding finding_of_probe(
	const char *probe, enum muster_status status, const char *observed, struct muster_arena *arena)
{
	return (struct muster_finding){
		.check = muster_arena_printf(arena, "probe.%s", probe),
		.status = status,
		.expected = muster_arena_printf(arena, "probe %s finishes", probe),
		.observed = observed,
	};
}

/* What the kernel logged of a GPU of the node while muster ran may be why a probe did not end well, or a rank is gone.
 */
static void add_xid(const struct muster_eval *eval, const struct muster_node *node, const struct muster_rank *rank,
	struct muster_finding *finding)
{
	struct muster_arena *arena = eval->report->arena;
	const struct muster_event_during xid = muster_event_find_during(eval->expect, node, rank->gpu, arena);
	const char *evidence = finding->evidence;
	if (!xid.name)
		return;
	finding->observed = muster_arena_printf(arena, "%s; the kernel logged %s%s%s", finding->observed, xid.name,
		xid.own ? "" : " of ", xid.own ? "" : muster_node_gpu_text(arena, node, xid.gpu));
	if (xid.line)
		finding->evidence =
			muster_arena_printf(arena, "%s%s%s", xid.line, evidence ? "; " : "", evidence ? evidence : "");
}

static void judge_outcome(struct muster_eval *eval, const enum muster_want *wants, uint32_t n, uint32_t r,
	const struct muster_outcome *outcome)
{
	const struct muster_node *node = &eval->run->nodes[n];
	struct muster_arena *arena = eval->report->arena;
	size_t probe = muster_probe_number(outcome->probe), *causes = muster_cause_of(eval, n, r), draft;
	enum muster_want want = wants[probe];
	struct muster_finding finding = finding_of_probe(outcome->probe, muster_outcome_judge(eval->run, outcome, want),
		muster_outcome_text(outcome, want, arena), arena);
	finding.gpu = muster_outcome_ended_badly(outcome) ? node->ranks[r].gpu : NULL;
	finding.evidence = outcome->evidence;
	finding.node = node->name;
	finding.proof = muster_outcome_proof(outcome);
	finding.action_code = muster_outcome_action(outcome);
	const struct muster_outcome *first = same_cause(&node->ranks[r].outcomes, wants, outcome);
	if (first != outcome) {
		causes[probe] = causes[muster_probe_number(first->probe)];
		return;
	}
	if (eval->unreached_cause && outcome->ring > 0 && probe == unreached_probe() &&
		muster_outcome_weight(outcome) <= MUSTER_WAITED) {
		causes[probe] = eval->unreached_cause; /* the finding has the lists of all ranks */
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
		finding.advice = muster_outcome_advice(outcome);
	else
		finding.evidence = NULL;
	if (finding.status != MUSTER_SKIP && outcome->status != MUSTER_OUTCOME_NOT_RUN)
		add_xid(eval, node, &node->ranks[r], &finding);
	size_t *told = NULL;
	/* of a crash or a hang without a step of its own the drivers are the cause, at their start */
	if (finding.status == MUSTER_FAIL && (outcome->status == MUSTER_OUTCOME_ERROR || !outcome->step))
		(void)muster_known_cause(eval, &finding, (struct muster_place){ n, r, NULL }, NULL, &told);
	draft = add_finding(eval, finding, n, r, outcome->code ? outcome->code : muster_outcome_name(outcome->status));
	if (told)
		*told = draft + 1;
	if (ended && eval->ring_cause[probe])
		draft = eval->ring_cause[probe] - 1; /* that draft explains what is not measured */
	else if (ended_with_run(eval->run, outcome) && eval->end_cause)
		draft = eval->end_cause - 1;
	if (probe < muster_probe_count())
		causes[probe] = draft + 1;
}

/* More than a tenth of a large job: a launch or a file system that is slow for all, and not so many faults at once. */
static bool many_are_missing(const struct muster_run *run)
{
	enum { LARGE = 20 /* nodes */ };
	size_t missing = 0, all = 0;
	for (size_t n = 0; n < run->node_count && run->node_count >= LARGE; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++, all++)
			missing += run->nodes[n].ranks[r].missing != NULL;
	return missing * 10 > all;
}

/* A run that was ended early is no proof against those that it has nothing of. */
static enum muster_status missing_status(const struct muster_eval *eval)
{
	return eval->run->job.interrupted || eval->many_missing ? MUSTER_INCONCLUSIVE : MUSTER_FAIL;
}

/* Nothing came from the rank, or not all: then the probes that it says nothing of are what is missing. */
static void judge_missing(struct muster_eval *eval, uint32_t n, uint32_t r)
{
	const struct muster_rank *rank = &eval->run->nodes[n].ranks[r];
	struct muster_finding finding = {
		.check = "rank.missing",
		.status = missing_status(eval),
		.expected = "a result from every rank",
		.observed = rank->missing ? rank->missing : rank->unfinished,
		.advice = "check the output of the job and dmesg on the node for the cause; start the job again "
			  "without the node (srun --exclude)",
	};
	add_xid(eval, &eval->run->nodes[n], rank, &finding);
	size_t draft = add_finding(eval, finding, n, r, rank->missing ? "missing" : "unfinished") + 1;
	if (rank->missing)
		*muster_cause_of_missing(eval, n, r) = draft;
	if (rank->missing && !eval->missing_cause)
		eval->missing_cause = draft;
	for (size_t i = 0; !rank->missing && i < muster_probe_count(); i++)
		muster_cause_of(eval, n, r)[i] = draft; /* probes that ended well may have had more to do */
}

/* A node of the job without any rank: nothing at all came from there. */
static void judge_missing_node(struct muster_eval *eval, uint32_t n)
{
	struct muster_finding finding = {
		.check = "node.missing",
		.status = missing_status(eval),
		.expected = "a result from every node",
		.observed = "no result from this node",
		.advice = "check that the node is up and that the processes of the job were started there; start the "
			  "job again without the node (srun --exclude)",
	};
	add_finding(eval, finding, n, MUSTER_NOWHERE, NULL);
}

/* Rings in which every rank hung, when the smaller all-reduces have not found out why. */
static void judge_hung_rings(struct muster_eval *eval, const enum muster_want *wants)
{
	struct muster_arena *arena = eval->report->arena;
	for (size_t i = 0; i < eval->broken_count; i++) {
		const struct muster_broken_ring *ring = &eval->broken[i];
		if (!all_hung(ring) || ring->probe == muster_probe_count() || eval->ring_cause[ring->probe])
			continue;
		const struct muster_outcome *outcome = muster_rank_outcome(
			&eval->run->nodes[ring->node].ranks[ring->at], muster_probe_at(ring->probe)->name);
		const char *observed = muster_arena_printf(arena, "all %d ranks: %s", ring->ranks,
			muster_outcome_text(outcome, wants[ring->probe], arena));
		struct muster_finding finding = finding_of_probe(outcome->probe, MUSTER_INCONCLUSIVE, observed, arena);
		finding.advice = "run again with a longer --deadline; if it hangs again, run muster on each node alone "
				 "and on pairs of nodes (--localise always)";
		eval->ring_cause[ring->probe] = add_finding(eval, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, NULL) + 1;
	}
}

/* An all-to-all that could not connect all ranks: each rank lists the ranks that it waited for, and all lists are one
 * finding. Not where a rank ended in another way than by waiting: then this rank is the cause. */
static void judge_unreached(struct muster_eval *eval, const enum muster_want *wants)
{
	struct muster_arena *arena = eval->report->arena;
	size_t probe = unreached_probe();
	const struct muster_broken_ring *ring = NULL;
	for (size_t i = 0; i < eval->broken_count; i++)
		if (eval->broken[i].probe == probe && (!ring || eval->broken[i].weight > ring->weight))
			ring = &eval->broken[i];
	if (!ring || ring->weight != MUSTER_WAITED || eval->ring_cause[probe])
		return;
	const char *name = muster_probe_at(probe)->name;
	const struct muster_outcome *outcome = muster_rank_outcome(&eval->run->nodes[ring->node].ranks[ring->at], name);
	const struct muster_unreached found = muster_unreached_find(eval->run, arena);
	enum muster_status status = muster_outcome_judge(eval->run, outcome, wants[probe]);
	if (!found.observed || status == MUSTER_SKIP || ended_with_run(eval->run, outcome))
		return;
	struct muster_finding finding = finding_of_probe(outcome->probe, status, found.observed, arena);
	finding.advice = found.advice;
	if (found.rank != MUSTER_NOWHERE) {
		const struct muster_rank *rank = &eval->run->nodes[found.node].ranks[found.rank];
		const struct muster_outcome *own = muster_rank_outcome(rank, name);
		finding.gpu = rank->gpu;
		finding.evidence = own ? own->evidence : NULL;
	}
	eval->unreached_cause = add_finding(eval, finding, found.node, found.rank, NULL) + 1;
}

static void judge_interrupted(struct muster_eval *eval)
{
	struct muster_finding finding = {
		.check = "run.interrupted",
		.status = MUSTER_INCONCLUSIVE,
		.expected = "the run finishes",
		.observed = eval->run->job.interrupted,
		.advice = "increase the time limit, or find out who cancelled the job; earlier results are included",
	};
	if (finding.observed)
		eval->end_cause = add_finding(eval, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, NULL) + 1;
}

/* A run tells of every rank that MPI had, missing ones included. One that does not was cut, and is no proof of health.
 */
static void judge_unlisted(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	struct muster_arena *arena = eval->report->arena;
	size_t expected = run->job.ranks > 0 ? (size_t)run->job.ranks : 0, count = 0;
	bool *listed = muster_calloc(expected + 1, sizeof *listed);
	int *unlisted = muster_calloc(expected + 1, sizeof *unlisted);
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			int rank = run->nodes[n].ranks[r].rank;
			if (rank >= 0 && (size_t)rank < expected)
				listed[rank] = true;
		}
	for (size_t rank = 0; rank < expected; rank++)
		if (!listed[rank])
			unlisted[count++] = (int)rank;
	struct muster_finding finding = {
		.check = "rank.missing",
		.status = MUSTER_FAIL,
		.expected = muster_arena_printf(arena, "a result from each of %zu ranks", expected),
		.observed = "the run contains no rank",
		.advice = "the report is incomplete: run muster again",
	};
	if (count < expected)
		finding.observed = muster_arena_printf(
			arena, "the run does not contain ranks %s", muster_describe_ranks(unlisted, count, arena));
	if (count > 0 || expected == 0)
		add_finding(eval, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, NULL);
	free(listed);
	free(unlisted);
}

/* A rank whose ring was broken by another rank measured nothing: the finding about that other rank becomes the cause.
 * Called after the outcomes of all ranks have been judged. */
static void pass_on_ring_cause(struct muster_eval *eval, size_t n, size_t r, const struct muster_outcome *outcome)
{
	size_t probe = muster_probe_number(outcome->probe), *own = &muster_cause_of(eval, n, r)[probe], cause = 0;
	const struct muster_broken_ring *ring = find_broken(eval, probe, outcome->ring);
	uint32_t node, partner = MUSTER_NOWHERE;
	if (outcome->ring <= 0 || probe == muster_probe_count() || !*own ||
		eval->drafts[*own - 1].finding.status != MUSTER_SKIP)
		return;
	if (outcome->partner > 0)
		partner = find_rank(eval->run, outcome->partner - 1, &node);
	if (partner != MUSTER_NOWHERE)
		cause = muster_cause_of(eval, node, partner)[probe];
	else if (outcome->partner == 0 && ring && ring->weight > muster_outcome_weight(outcome))
		cause = muster_cause_of(eval, ring->node, ring->at)[probe];
	else if (eval->any_missing)
		cause = eval->missing_cause;
	if (cause)
		*own = cause;
}

/* The draft that speaks for such a probe, and 1; 0: there is none. */
static size_t find_traffic_cause(const struct muster_eval *eval, uint32_t n, uint32_t r, size_t probe)
{
	const struct muster_outcomes *all = &eval->run->nodes[n].ranks[r].outcomes;
	const struct muster_broken_ring *most = NULL;
	size_t cause = 0;
	for (size_t i = 0; i < all->count && !cause; i++) {
		const struct muster_probe *other = muster_probe_find(all->items[i].probe);
		size_t before = muster_probe_number(all->items[i].probe);
		if (before < probe && (other->ring || other->traffic))
			cause = muster_cause_of(eval, n, r)[before];
		if (cause && eval->drafts[cause - 1].finding.status == MUSTER_SKIP)
			cause = 0;
	}
	for (size_t i = 0; i < eval->broken_count; i++)
		if (eval->broken[i].probe < probe && (!most || eval->broken[i].weight > most->weight))
			most = &eval->broken[i];
	if (!cause && most && most->weight > 0)
		cause = muster_cause_of(eval, most->node, most->at)[most->probe];
	if (!cause)
		cause = eval->missing_cause;
	return cause && eval->drafts[cause - 1].finding.status != MUSTER_SKIP ? cause : 0;
}

/* After the causes of all others are known. */
static void judge_traffic_not_run(struct muster_eval *eval, const enum muster_want *wants, uint32_t n, uint32_t r)
{
	const struct muster_rank *rank = &eval->run->nodes[n].ranks[r];
	for (size_t i = 0; !rank->missing && i < rank->outcomes.count; i++) {
		if (!is_traffic_not_run(&rank->outcomes.items[i]))
			continue;
		size_t probe = muster_probe_number(rank->outcomes.items[i].probe);
		size_t cause = find_traffic_cause(eval, n, r, probe);
		if (cause)
			muster_cause_of(eval, n, r)[probe] = cause;
		else
			judge_outcome(eval, wants, n, r, &rank->outcomes.items[i]);
	}
}

void muster_judge_outcomes(struct muster_eval *eval)
{
	const struct muster_run *run = eval->run;
	enum muster_want *wants =
		muster_calloc(muster_probe_count() + 1, sizeof *wants); /* the last: of an unknown probe */
	eval->cause_width = muster_probe_count() + 1;
	eval->first_rank = muster_calloc(run->node_count + 1, sizeof *eval->first_rank);
	eval->many_missing = many_are_missing(run);
	for (size_t n = 0; n < run->node_count; n++) {
		eval->first_rank[n] = eval->rank_count;
		eval->rank_count += run->nodes[n].rank_count;
	}
	eval->causes = muster_calloc(eval->rank_count * eval->cause_width + 1, sizeof *eval->causes);
	find_wants(eval, wants);
	find_all_broken(eval);
	judge_unlisted(eval);
	judge_interrupted(eval);
	judge_hung_rings(eval, wants);
	judge_unreached(eval, wants);
	for (size_t n = 0; n < run->node_count; n++) {
		muster_finding_draft_fold_here(eval);
		if (run->nodes[n].rank_count == 0)
			judge_missing_node(eval, (uint32_t)n);
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			if (rank->missing || rank->unfinished)
				judge_missing(eval, (uint32_t)n, (uint32_t)r);
			/* outcomes whose finding speaks for others come first */
			for (size_t i = 0; !rank->missing && i < 2 * rank->outcomes.count; i++) {
				const struct muster_outcome *outcome = &rank->outcomes.items[i % rank->outcomes.count];
				bool alone = same_cause(&rank->outcomes, wants, outcome) == outcome;
				if (outcome->status != MUSTER_OUTCOME_OK && !is_traffic_not_run(outcome) &&
					alone == (i < rank->outcomes.count))
					judge_outcome(eval, wants, (uint32_t)n, (uint32_t)r, outcome);
			}
		}
	}
	muster_finding_draft_fold_here(eval);
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			for (size_t i = 0; i < run->nodes[n].ranks[r].outcomes.count; i++)
				pass_on_ring_cause(eval, n, r, &run->nodes[n].ranks[r].outcomes.items[i]);
	for (size_t n = 0; n < run->node_count; n++) {
		muster_finding_draft_fold_here(eval);
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			judge_traffic_not_run(eval, wants, (uint32_t)n, (uint32_t)r);
	}
	muster_finding_draft_fold_here(eval);
	free(eval->broken);
	free(wants);
}

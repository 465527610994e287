/* SPDX-License-Identifier: Apache-2.0 */
/* causes.c - findings about probes that did not end well and ranks from which nothing came
 *
 * They explain why samples are missing, so they take the checks that have none: one cause, one finding.
 *
 * The result is the table of causes (drafts.h): for each rank and probe the draft that explains why the rank has
 * nothing of the probe. It is filled in three rounds over all ranks, as each one needs all of the round before:
 *   judge_rank             a draft for each outcome that is not OK; of one that another rank caused a SKIP
 *   pass_on_ring_causes    where a rank has such a SKIP, the draft about the rank that caused it takes its place
 *   judge_traffic_not_run  traffic that was never begun, because rings before it had failed: the draft of those
 *
 * Who caused the end of a ring is told by muster_outcome_weight (answers.h). An example: eight ranks share an
 * all-reduce. Rank 5 crashes (5), ranks 0 to 3 report an error of a remote process (2), ranks 4, 6 and 7 run out of
 * time (1). Rank 5 has a finding that fails; the others are SKIP, "ended by the failure of rank 5", and what they did
 * not measure is blocked by the finding about rank 5. Two weights are equal: the first rank counts as the cause only
 * for those with a lower weight, and both have findings.
 *
 * Stronger evidence comes first: where smaller rings were tried afterwards, their findings (localize/findings.c)
 * explain the ring of their probe (of_ring), and where every rank of several nodes hung, no rank is named at all.
 */
#include "eval/drafts.h"

#include "localize/findings.h"
#include "model/gpu.h"

#include <stdlib.h>
#include <string.h>

/* A ring that broke, known by its probe and how many ranks it had, and the rank whose end says most about why. */
struct broken_ring {
	size_t probe;
	int ranks, cause, weight;
	size_t node, at;  /* the cause's node, and its place there */
	int broken, hung; /* ranks in which it ended badly; of these, whose worker had to be killed */
	size_t nodes, last_node;
	bool pairs; /* they are rounds of two */
};

/* What is known of the whole run while ends of probes are judged. Drafts are 1 + their place; 0: there is none. */
struct causes {
	struct muster_eval *eval;
	enum muster_want *wants; /* for each probe; the last one: of a probe that this muster does not know */
	struct broken_ring *broken;
	size_t broken_count;
	bool any_missing;  /* a rank is */
	bool many_missing; /* so many ranks that a slow start is likelier than faults */
	size_t missing;    /* the first draft about a missing rank */
	size_t unreached;  /* the draft about an all-to-all that could not connect all ranks */
	size_t ended;      /* the draft about a run that was ended early */
	size_t rest;       /* 1 + the probe whose all-reduce without the suspected nodes failed too; 0: none */
	size_t *of_ring;   /* for each probe: the draft that names the cause of its failed all-reduces */
};

static void find_wants(const struct causes *c)
{
	if (!c->eval->expect) { /* without expectations every probe is wanted */
		for (size_t i = 0; i < muster_probe_count(); i++)
			c->wants[i] = MUSTER_OPTIONAL;
		return;
	}
	for (size_t i = 0; i < c->eval->expect->check_count; i++) {
		const struct muster_check *check = &c->eval->checks[i];
		size_t probe = muster_probe_number(muster_metric_probe(check->metric));
		enum muster_want want = check->optional ? MUSTER_OPTIONAL : MUSTER_WANTED;
		if (!c->eval->tallies[i].skipped && want > c->wants[probe])
			c->wants[probe] = want;
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
	const struct causes *c, const struct muster_outcomes *all, const struct muster_outcome *outcome)
{
	size_t none = muster_probe_count(), best = muster_probe_number(outcome->probe);
	const struct muster_outcome *first = outcome;
	if (best == none || !outcome->detail || outcome->step)
		return outcome;
	for (const struct muster_outcome *other = all->items; other < all->items + all->count; other++) {
		size_t number = muster_probe_number(other->probe);
		if (other->status == outcome->status && other->detail && !other->step && !is_traffic_not_run(other) &&
			strcmp(other->detail, outcome->detail) == 0 && number < none &&
			(c->wants[number] > c->wants[best] || (c->wants[number] == c->wants[best] && other < first))) {
			first = other;
			best = number;
		}
	}
	return first;
}

/* Every rank of several nodes hung, or only waited until its time was over: who was the cause is not known, and no node
 * is to be named for it. */
static bool all_hung(const struct broken_ring *ring)
{
	return ring && !ring->pairs && ring->nodes > 1 &&
	       ((ring->hung > 0 && ring->hung == ring->ranks) ||
		       (ring->weight == MUSTER_WAITED && ring->broken == ring->ranks));
}

static struct broken_ring *find_broken(const struct causes *c, size_t probe, int ranks)
{
	for (size_t i = 0; i < c->broken_count; i++)
		if (c->broken[i].probe == probe && c->broken[i].ranks == ranks)
			return &c->broken[i];
	return NULL;
}

static void note_broken(struct causes *c, const struct muster_outcome *outcome, size_t n, size_t r)
{
	size_t probe = muster_probe_number(outcome->probe);
	struct broken_ring *ring = find_broken(c, probe, outcome->ring);
	int weight = muster_outcome_weight(outcome);
	if (!ring) {
		c->broken = muster_realloc(c->broken, c->broken_count + 1, sizeof *c->broken);
		ring = &c->broken[c->broken_count++];
		*ring = (struct broken_ring){ .probe = probe, .ranks = outcome->ring, .cause = -1 };
	}
	ring->broken++;
	ring->pairs = ring->pairs || outcome->partner > 0;
	ring->hung += outcome->status == MUSTER_OUTCOME_HUNG;
	ring->nodes += ring->nodes == 0 || ring->last_node != n;
	ring->last_node = n;
	if (weight > ring->weight) {
		ring->weight = weight;
		ring->cause = c->eval->run->nodes[n].ranks[r].rank;
		ring->node = n;
		ring->at = r;
	}
}

/* The broken rings, and whether a rank is missing. */
static void find_all_broken(struct causes *c)
{
	const struct muster_run *run = c->eval->run;
	for (size_t n = 0; n < run->node_count; n++) {
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			const struct muster_rank *rank = &run->nodes[n].ranks[r];
			c->any_missing = c->any_missing || rank->missing;
			for (size_t i = 0; i < rank->outcomes.count; i++)
				if (rank->outcomes.items[i].ring > 0 &&
					rank->outcomes.items[i].status != MUSTER_OUTCOME_OK)
					note_broken(c, &rank->outcomes.items[i], n, r);
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
	const struct muster_outcome *its = muster_outcomes_find(&run->nodes[node].ranks[rank].outcomes, outcome->probe);
	if (its && its->partner > 0 && its->status != MUSTER_OUTCOME_OK)
		return muster_outcome_weight(its);
	return run->nodes[node].ranks[rank].unfinished ? 5 : 0;
}

/* What a rank that only ended with the others says, else which rank ended it. */
static const char *ended_by(const struct causes *c, const struct muster_outcome *outcome, int rank)
{
	return outcome->detail && muster_outcome_weight(outcome) == 0
		       ? outcome->detail
		       : muster_arena_printf(c->eval->arena, "ended by the failure of rank %d", rank);
}

/* The observed text when another rank, which has a finding of its own, caused the failure of this rank in the
 * all-reduce; NULL otherwise. */
static const char *ended_by_others(struct causes *c, size_t probe, const struct muster_outcome *outcome)
{
	int weight = muster_outcome_weight(outcome);
	const struct broken_ring *ring = find_broken(c, probe, outcome->ring);
	bool rest = false; /* the ring is the one without the suspects */
	for (size_t i = 0; c->rest == probe + 1 && i < c->broken_count; i++)
		rest = rest || (c->broken[i].probe == probe && c->broken[i].ranks > outcome->ring);
	if (outcome->ring <= 0 || (rest && weight == 3))
		return NULL;
	if (outcome->partner > 0) /* a round of two: only the partner can have ended it for this rank */
		return partner_weight(c->eval->run, outcome) > weight ? ended_by(c, outcome, outcome->partner - 1)
								      : NULL;
	if (weight >= 4)
		return all_hung(ring) && c->of_ring[probe] ? outcome->detail : NULL;
	if (!c->of_ring[probe] && ring && ring->weight > weight)
		return ended_by(c, outcome, ring->cause);
	if (c->of_ring[probe] || (weight == 0 && c->any_missing))
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
	return run->job.interrupted && (outcome->status == MUSTER_OUTCOME_NOT_RUN ||
					       (outcome->status == MUSTER_OUTCOME_ERROR && outcome->ring > 0 && probe &&
						       (probe->ring || probe->traffic)));
}

/* Add a finding about a rank, a node or, where both are MUSTER_NOWHERE, the run. Returns its draft. */
static size_t add_finding(struct causes *c, struct muster_finding finding, uint32_t n, uint32_t r, const char *cause)
{
	const struct muster_node *node = n == MUSTER_NOWHERE ? NULL : &c->eval->run->nodes[n];
	finding.node = node ? node->name : NULL;
	finding.rank = node && r != MUSTER_NOWHERE ? node->ranks[r].rank : -1;
	finding.unit = "";
	return muster_draft_add(c->eval, finding, (struct muster_place){ n, r, NULL }, MUSTER_NO_CHECK, cause);
}

/* A finding about a probe that did not end well. */
static struct muster_finding finding_of_probe(
	const struct causes *c, const char *probe, enum muster_status status, const char *observed)
{
	return (struct muster_finding){ .check = muster_arena_printf(c->eval->arena, "probe.%s", probe),
		.status = status,
		.expected = muster_arena_printf(c->eval->arena, "probe %s finishes", probe),
		.observed = observed };
}

/* What the kernel logged of a GPU of the node while muster ran may be why a probe did not end well, or a rank is gone.
 */
static void add_xid(const struct causes *c, const struct muster_node *node, const struct muster_rank *rank,
	struct muster_finding *finding)
{
	const struct muster_event_during xid =
		muster_event_find_during(c->eval->expect, node, rank->gpu, c->eval->arena);
	const char *evidence = finding->evidence;
	if (!xid.name)
		return;
	finding->observed = muster_arena_printf(c->eval->arena, "%s; the kernel logged %s%s%s", finding->observed,
		xid.name, xid.own ? "" : " of ", xid.own ? "" : muster_node_gpu_text(c->eval->arena, node, xid.gpu));
	if (xid.line)
		finding->evidence = muster_arena_printf(
			c->eval->arena, "%s%s%s", xid.line, evidence ? "; " : "", evidence ? evidence : "");
}

/* An outcome that is not OK becomes a draft, and the rank's entry in the table of causes. It has no draft of its own
 * where another probe of the rank ended with the same words, or where the finding about the ranks' lists of unconnected
 * ranks speaks for it. Where another rank, or the end of the run, ended it, its draft is SKIP. */
static void judge_outcome(struct causes *c, uint32_t n, uint32_t r, const struct muster_outcome *outcome)
{
	const struct muster_node *node = &c->eval->run->nodes[n];
	size_t probe = muster_probe_number(outcome->probe), *causes = muster_cause_of(c->eval, n, r), draft;
	const struct muster_check_answer answer =
		muster_outcome_answer(c->eval->run, outcome, c->wants[probe], c->eval->arena);
	struct muster_finding finding = finding_of_probe(c, outcome->probe, answer.status, answer.observed);
	finding.gpu = muster_outcome_ended_badly(outcome) ? node->ranks[r].gpu : NULL;
	finding.evidence = answer.evidence;
	finding.node = node->name;
	finding.proof = muster_outcome_proof(outcome);
	finding.action_code = answer.action_code;
	const struct muster_outcome *first = same_cause(c, &node->ranks[r].outcomes, outcome);
	if (first != outcome) {
		causes[probe] = causes[muster_probe_number(first->probe)];
		return;
	}
	if (c->unreached && outcome->ring > 0 && probe == muster_unreached_probe() &&
		muster_outcome_weight(outcome) <= MUSTER_WAITED) {
		causes[probe] = c->unreached; /* the finding has the lists of all ranks */
		return;
	}
	const char *ended = ended_by_others(c, probe, outcome);
	if (ended_with_run(c->eval->run, outcome)) {
		finding.status = MUSTER_SKIP; /* the finding about the run speaks for all of these */
	} else if (ended) {
		finding.status = MUSTER_SKIP;
		finding.observed = ended;
	}
	if (finding.status != MUSTER_SKIP)
		finding.advice = answer.advice;
	else
		finding.evidence = NULL;
	if (finding.status != MUSTER_SKIP && outcome->status != MUSTER_OUTCOME_NOT_RUN)
		add_xid(c, node, &node->ranks[r], &finding);
	size_t *told = NULL;
	/* of a crash or a hang without a step of its own the drivers are the cause, at their start */
	if (finding.status == MUSTER_FAIL && (outcome->status == MUSTER_OUTCOME_ERROR || !outcome->step))
		(void)muster_known_cause(c->eval, &finding, (struct muster_place){ n, r, NULL }, NULL, &told);
	draft = add_finding(c, finding, n, r, outcome->code ? outcome->code : muster_outcome_name(outcome->status));
	if (told)
		*told = draft + 1;
	if (ended && c->of_ring[probe])
		draft = c->of_ring[probe] - 1; /* that draft explains what is not measured */
	else if (ended_with_run(c->eval->run, outcome) && c->ended)
		draft = c->ended - 1;
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
static enum muster_status missing_status(const struct causes *c)
{
	return c->eval->run->job.interrupted || c->many_missing ? MUSTER_INCONCLUSIVE : MUSTER_FAIL;
}

/* Nothing came from the rank, or not all: then the probes that it says nothing of are what is missing. */
static void judge_missing(struct causes *c, uint32_t n, uint32_t r)
{
	const struct muster_rank *rank = &c->eval->run->nodes[n].ranks[r];
	struct muster_finding finding = {
		.check = "rank.missing",
		.status = missing_status(c),
		.expected = "a result from every rank",
		.observed = rank->missing ? rank->missing : rank->unfinished,
		.advice = "check the output of the job and dmesg on the node for the cause; start the job again "
			  "without the node (srun --exclude)",
	};
	add_xid(c, &c->eval->run->nodes[n], rank, &finding);
	size_t draft = add_finding(c, finding, n, r, rank->missing ? "missing" : "unfinished") + 1;
	if (rank->missing)
		*muster_cause_of_missing(c->eval, n, r) = draft;
	if (rank->missing && !c->missing)
		c->missing = draft;
	for (size_t i = 0; !rank->missing && i < muster_probe_count(); i++)
		muster_cause_of(c->eval, n, r)[i] = draft; /* probes that ended well may have had more to do */
}

/* A node of the job without any rank: nothing at all came from there. */
static void judge_missing_node(struct causes *c, uint32_t n)
{
	struct muster_finding finding = {
		.check = "node.missing",
		.status = missing_status(c),
		.expected = "a result from every node",
		.observed = "no result from this node",
		.advice = "check that the node is up and that the processes of the job were started there; start the "
			  "job again without the node (srun --exclude)",
	};
	add_finding(c, finding, n, MUSTER_NOWHERE, NULL);
}

/* Rings in which every rank hung or waited, when the smaller all-reduces have not found out why. */
static void judge_hung_rings(struct causes *c)
{
	for (size_t i = 0; i < c->broken_count; i++) {
		const struct broken_ring *ring = &c->broken[i];
		if (!all_hung(ring) || ring->probe == muster_probe_count() || c->of_ring[ring->probe] ||
			(c->unreached && ring->probe == muster_unreached_probe()))
			continue;
		const struct muster_outcome *outcome = muster_outcomes_find(
			&c->eval->run->nodes[ring->node].ranks[ring->at].outcomes, muster_probe_at(ring->probe)->name);
		const struct muster_check_answer answer =
			muster_outcome_answer(c->eval->run, outcome, c->wants[ring->probe], c->eval->arena);
		if (ring->hung == 0 && (answer.status == MUSTER_SKIP || ended_with_run(c->eval->run, outcome)))
			continue;
		struct muster_finding finding = finding_of_probe(c, outcome->probe, MUSTER_INCONCLUSIVE,
			muster_arena_printf(c->eval->arena, "all %d ranks: %s", ring->ranks, answer.observed));
		finding.advice = "run again with a longer --deadline; if it hangs again, run muster on each node alone "
				 "and on pairs of nodes (--localise always)";
		c->of_ring[ring->probe] = add_finding(c, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, NULL) + 1;
	}
}

/* An all-to-all that could not connect all ranks: each rank lists the ranks that it waited for, and all lists are one
 * finding. Not where a rank ended in another way than by waiting: then this rank is the cause. */
static void judge_unreached(struct causes *c)
{
	size_t probe = muster_unreached_probe();
	const struct broken_ring *ring = NULL;
	for (size_t i = 0; i < c->broken_count; i++)
		if (c->broken[i].probe == probe && (!ring || c->broken[i].weight > ring->weight))
			ring = &c->broken[i];
	if (!ring || ring->weight != MUSTER_WAITED || c->of_ring[probe])
		return;
	const char *name = muster_probe_at(probe)->name;
	const struct muster_outcome *outcome =
		muster_outcomes_find(&c->eval->run->nodes[ring->node].ranks[ring->at].outcomes, name);
	const struct muster_unreached found = muster_unreached_find(c->eval->run, c->eval->arena);
	enum muster_status status =
		muster_outcome_answer(c->eval->run, outcome, c->wants[probe], c->eval->arena).status;
	if (!found.observed || status == MUSTER_SKIP || ended_with_run(c->eval->run, outcome))
		return;
	struct muster_finding finding = finding_of_probe(c, outcome->probe, status, found.observed);
	finding.advice = found.advice;
	if (found.rank != MUSTER_NOWHERE) {
		const struct muster_rank *rank = &c->eval->run->nodes[found.node].ranks[found.rank];
		const struct muster_outcome *own = muster_outcomes_find(&rank->outcomes, name);
		finding.gpu = rank->gpu;
		finding.evidence = own ? own->evidence : NULL;
	}
	c->unreached = add_finding(c, finding, found.node, found.rank, NULL) + 1;
}

static void judge_interrupted(struct causes *c)
{
	struct muster_finding finding = {
		.check = "run.interrupted",
		.status = MUSTER_INCONCLUSIVE,
		.expected = "the run finishes",
		.observed = c->eval->run->job.interrupted,
		.advice = "increase the time limit, or find out who cancelled the job; earlier results are included",
	};
	if (finding.observed)
		c->ended = add_finding(c, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, NULL) + 1;
}

/* A run tells of every rank that MPI had, missing ones included. One that does not was cut, and is no proof of health.
 */
static void judge_unlisted(struct causes *c)
{
	const struct muster_run *run = c->eval->run;
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
		.expected = muster_arena_printf(c->eval->arena, "a result from each of %zu ranks", expected),
		.observed = "the run contains no rank",
		.advice = "the report is incomplete: run muster again",
	};
	if (count < expected)
		finding.observed = muster_arena_printf(c->eval->arena, "the run does not contain ranks %s",
			muster_describe_ranks(unlisted, count, c->eval->arena));
	if (count > 0 || expected == 0)
		add_finding(c, finding, MUSTER_NOWHERE, MUSTER_NOWHERE, NULL);
	free(listed);
	free(unlisted);
}

/* A rank whose ring was broken by another rank measured nothing: the finding about that other rank becomes the cause.
 * Called after the outcomes of all ranks have been judged. */
static void pass_on_ring_cause(struct causes *c, size_t n, size_t r, const struct muster_outcome *outcome)
{
	size_t probe = muster_probe_number(outcome->probe), *own = &muster_cause_of(c->eval, n, r)[probe], cause = 0;
	const struct broken_ring *ring = find_broken(c, probe, outcome->ring);
	uint32_t node, partner = MUSTER_NOWHERE;
	if (outcome->ring <= 0 || probe == muster_probe_count() || !*own ||
		c->eval->drafts->items[*own - 1].finding.status != MUSTER_SKIP)
		return;
	if (outcome->partner > 0)
		partner = find_rank(c->eval->run, outcome->partner - 1, &node);
	if (partner != MUSTER_NOWHERE)
		cause = muster_cause_of(c->eval, node, partner)[probe];
	else if (outcome->partner == 0 && ring && ring->weight > muster_outcome_weight(outcome))
		cause = muster_cause_of(c->eval, ring->node, ring->at)[probe];
	else if (c->any_missing)
		cause = c->missing;
	if (cause)
		*own = cause;
}

/* The draft that speaks for such a probe, and 1; 0: there is none. */
static size_t find_traffic_cause(const struct causes *c, uint32_t n, uint32_t r, size_t probe)
{
	const struct muster_outcomes *all = &c->eval->run->nodes[n].ranks[r].outcomes;
	const struct broken_ring *most = NULL;
	size_t cause = 0;
	for (size_t i = 0; i < all->count && !cause; i++) {
		const struct muster_probe *other = muster_probe_find(all->items[i].probe);
		size_t before = muster_probe_number(all->items[i].probe);
		if (before < probe && (other->ring || other->traffic))
			cause = muster_cause_of(c->eval, n, r)[before];
		if (cause && c->eval->drafts->items[cause - 1].finding.status == MUSTER_SKIP)
			cause = 0;
	}
	for (size_t i = 0; i < c->broken_count; i++)
		if (c->broken[i].probe < probe && (!most || c->broken[i].weight > most->weight))
			most = &c->broken[i];
	if (!cause && most && most->weight > 0)
		cause = muster_cause_of(c->eval, most->node, most->at)[most->probe];
	if (!cause)
		cause = c->missing;
	return cause && c->eval->drafts->items[cause - 1].finding.status != MUSTER_SKIP ? cause : 0;
}

/* After the causes of all others are known. */
static void judge_traffic_not_run(struct causes *c, uint32_t n, uint32_t r)
{
	const struct muster_rank *rank = &c->eval->run->nodes[n].ranks[r];
	for (size_t i = 0; !rank->missing && i < rank->outcomes.count; i++) {
		if (!is_traffic_not_run(&rank->outcomes.items[i]))
			continue;
		size_t probe = muster_probe_number(rank->outcomes.items[i].probe);
		size_t cause = find_traffic_cause(c, n, r, probe);
		if (cause)
			muster_cause_of(c->eval, n, r)[probe] = cause;
		else
			judge_outcome(c, n, r, &rank->outcomes.items[i]);
	}
}

/* A node or a link that breaks rings explains what the probes and the missing ranks show: told first. */
static void take_trial_finding(void *arg, size_t probe, struct muster_finding finding)
{
	struct causes *c = arg;
	bool cause = finding.status == MUSTER_FAIL;
	struct muster_place place = { MUSTER_NOWHERE, cause ? (uint32_t)c->eval->drafts->count : MUSTER_NOWHERE, NULL };
	size_t *told = NULL, draft;
	for (uint32_t n = 0; finding.node && n < c->eval->run->node_count; n++)
		if (strcmp(c->eval->run->nodes[n].name, finding.node) == 0)
			(void)muster_known_cause(
				c->eval, &finding, (struct muster_place){ n, MUSTER_NOWHERE, NULL }, NULL, &told);
	draft = muster_draft_add(c->eval, finding, place, MUSTER_NO_CHECK, NULL);
	if (told)
		*told = draft + 1;
	if (cause && !finding.node && strcmp(finding.check, "ring.suspect") == 0)
		c->rest = probe + 1;
	if (cause && !c->of_ring[probe])
		c->of_ring[probe] = draft + 1;
}

/* A rank that is missing, and the ends of its probes: first those whose finding speaks for others. */
static void judge_rank(struct causes *c, uint32_t n, uint32_t r)
{
	const struct muster_rank *rank = &c->eval->run->nodes[n].ranks[r];
	if (rank->missing || rank->unfinished)
		judge_missing(c, n, r);
	for (size_t i = 0; !rank->missing && i < 2 * rank->outcomes.count; i++) {
		const struct muster_outcome *outcome = &rank->outcomes.items[i % rank->outcomes.count];
		bool alone = same_cause(c, &rank->outcomes, outcome) == outcome;
		if (outcome->status != MUSTER_OUTCOME_OK && !is_traffic_not_run(outcome) &&
			alone == (i < rank->outcomes.count))
			judge_outcome(c, n, r, outcome);
	}
}

static void pass_on_ring_causes(struct causes *c, uint32_t n, uint32_t r)
{
	const struct muster_outcomes *all = &c->eval->run->nodes[n].ranks[r].outcomes;
	for (size_t i = 0; i < all->count; i++)
		pass_on_ring_cause(c, n, r, &all->items[i]);
}

void muster_causes_judge(struct muster_eval *eval)
{
	static void (*const rounds[])(
		struct causes *, uint32_t, uint32_t) = { judge_rank, pass_on_ring_causes, judge_traffic_not_run };
	const struct muster_run *run = eval->run;
	struct causes c = { .eval = eval, .many_missing = many_are_missing(run) };
	c.wants = muster_calloc(muster_probe_count() + 1, sizeof *c.wants);
	c.of_ring = muster_calloc(muster_probe_count() + 1, sizeof *c.of_ring);
	muster_localize_findings(run, eval->arena, take_trial_finding, &c);
	muster_draft_check_here(eval);
	find_wants(&c);
	find_all_broken(&c);
	judge_unlisted(&c);
	judge_interrupted(&c);
	judge_unreached(&c);
	judge_hung_rings(&c);
	for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++)
		for (uint32_t n = 0; n < run->node_count; n++) {
			muster_draft_fold_here(eval);
			if (round == 0 && run->nodes[n].rank_count == 0)
				judge_missing_node(&c, n);
			for (uint32_t r = 0; r < run->nodes[n].rank_count; r++)
				rounds[round](&c, n, r);
		}
	muster_draft_fold_here(eval);
	free(c.broken);
	free(c.of_ring);
	free(c.wants);
}

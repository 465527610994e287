/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c - a whole job whose ranks break in rounds of traffic: only their partners pay, and no other rank waits for
 * more than one deadline
 *
 * Which ranks must have done how many rounds is found here from the plan of the pairs alone.
 */
#include "job.h"

#include "check_main.h"
#include "localize/pairs.h"
#include "muster/arena.h"

#include <stdio.h>
#include <string.h>

enum { NOBODY = -1 };

static const struct {
	const char *name;
	int nodes, per_node, victim, at; /* at: the round of this rank's, from 0 */
	enum worker_fate fate;
	enum muster_profile profile;
	double most_ms; /* by so much longer than a healthy job it may take */
} cases[] = {
	{ "healthy", 3, 4, NOBODY, 0, WORKER_LIVES, MUSTER_STANDARD, 0 },
	{ "healthy and full", 2, 8, NOBODY, 0, WORKER_LIVES, MUSTER_FULL, 0 },
	{ "quick", 2, 4, NOBODY, 0, WORKER_LIVES, MUSTER_QUICK, 0 },
	{ "quick on one node", 1, 4, NOBODY, 0, WORKER_LIVES, MUSTER_QUICK, 0 },
	{ "a crash in a rail of a quick run", 3, 4, 5, 1, WORKER_CRASHES, MUSTER_QUICK, 3000 },
	{ "a hang in a rail of a quick run", 4, 4, 6, 1, WORKER_HANGS, MUSTER_QUICK, 13000 },
	{ "a crash in an edge", 4, 4, 6, 1, WORKER_CRASHES, MUSTER_STANDARD, 3000 },
	{ "a crash of rank 0 in a rail", 4, 4, 0, 3, WORKER_CRASHES, MUSTER_STANDARD, 3000 },
	{ "a crash in another pair", 2, 8, 13, 4, WORKER_CRASHES, MUSTER_FULL, 3000 },
	{ "a hang in an edge", 4, 4, 6, 2, WORKER_HANGS, MUSTER_STANDARD, 13000 },
	{ "a hang of a leader in a rail", 4, 4, 8, 4, WORKER_HANGS, MUSTER_STANDARD, 13000 },
	{ "an error in a rail", 3, 4, 5, 4, WORKER_ERROR, MUSTER_STANDARD, 1000 },
	{ "a rank dies in an edge", 4, 4, 7, 2, WORKER_TAKES_RANK_ALONG, MUSTER_STANDARD, 19000 },
	{ "a leader dies in a rail", 4, 4, 8, 3, WORKER_TAKES_RANK_ALONG, MUSTER_STANDARD, 34000 },
	{ "a crash in a round of all", 4, 4, 9, 5, WORKER_CRASHES, MUSTER_STANDARD, 3000 },
	{ "a hang in a round of all", 2, 4, 1, 4, WORKER_HANGS, MUSTER_STANDARD, 70000 },
};

/* ---- what must be ---- */

/* Of the probes with traffic on the communicator of the ring, the next from *at on that is no ring itself; NULL. */
static const struct muster_probe *next_traffic(size_t *at)
{
	while (*at < muster_probe_count()) {
		const struct muster_probe *probe = muster_probe_at((*at)++);
		if (probe->traffic && !probe->ring && probe->traffic_shape != MUSTER_TRAFFIC_EACH)
			return probe;
	}
	return NULL;
}

/* Before the exchanges of pairs, or in all. */
static int rounds_of_all(bool before_pairs)
{
	int count = 0;
	size_t at = 0;
	for (const struct muster_probe *probe; (probe = next_traffic(&at));) {
		if (probe->traffic_shape == MUSTER_TRAFFIC_ALL)
			count++;
		else if (before_pairs)
			break;
	}
	return count;
}

struct expected {
	int done[64], begun; /* done: rounds of each rank; begun: of the victim */
	bool out[64], any;
};

/* The victim's round has come, and it breaks there; a leader that dies takes its node along. */
static bool breaks(struct expected *e, int c)
{
	if (e->begun++ != cases[c].at || cases[c].fate == WORKER_LIVES)
		return false;
	bool node = cases[c].fate == WORKER_TAKES_RANK_ALONG && cases[c].victim % cases[c].per_node == 0;
	for (int i = 1; node && i < cases[c].per_node; i++)
		e->out[cases[c].victim + i] = true;
	return e->any = true;
}

static void expect_pairs(struct expected *e, int c, const int *peers, int ranks)
{
	bool was_out[64];
	memcpy(was_out, e->out, sizeof was_out);
	for (int rank = 0; rank < ranks; rank++) {
		int peer = peers[rank], victim = cases[c].victim;
		if (peer < rank || was_out[rank] || was_out[peer])
			continue;
		if ((rank == victim || peer == victim) && breaks(e, c)) {
			e->out[rank] = e->out[peer] = true;
			continue;
		}
		e->done[rank]++;
		e->done[peer]++;
	}
}

static void expect_all(struct expected *e, int c, int rounds, int ranks)
{
	for (int i = 0; i < rounds && !e->any; i++)
		if (cases[c].victim == NOBODY || !breaks(e, c))
			for (int rank = 0; rank < ranks; rank++)
				e->done[rank]++;
}

static void expect(struct expected *e, int c)
{
	struct muster_pairs_member members[64];
	struct muster_pairs pairs;
	int ranks = cases[c].nodes * cases[c].per_node, peers[64];
	static const enum muster_pairs_plan plans[] = { MUSTER_PAIRS_RAILS, MUSTER_PAIRS_EDGES, MUSTER_PAIRS_ALL };
	bool quick = cases[c].profile == MUSTER_QUICK;
	*e = (struct expected){ .any = false };
	for (int rank = 0; rank < ranks; rank++)
		members[rank] = (struct muster_pairs_member){ (size_t)(rank / cases[c].per_node),
			(size_t)(rank % cases[c].per_node) };
	muster_pairs_init(&pairs, members, (size_t)ranks, plans[cases[c].profile]);
	expect_all(e, c, quick ? 0 : rounds_of_all(true), ranks);
	for (int round = 0; round < pairs.rounds; round++) {
		muster_pairs_round(&pairs, round, peers);
		expect_pairs(e, c, peers, ranks);
	}
	muster_pairs_done(&pairs);
	expect_all(e, c, quick ? 0 : rounds_of_all(false) - rounds_of_all(true), ranks);
}

/* ---- what is ---- */

struct found { /* of the last probe with a round of all, and of one with pairs, in the report */
	int ok, not_run, naming, pairs_ok;
	char name[32]; /* the victim's */
};

static void look_at(struct found *found, const struct muster_outcome *outcome)
{
	const struct muster_probe *probe = muster_probe_find(outcome->probe);
	bool ok = outcome->status == MUSTER_OUTCOME_OK;
	if (!probe->traffic || probe->ring || probe->traffic_shape == MUSTER_TRAFFIC_EACH)
		return;
	if (probe->traffic_shape == MUSTER_TRAFFIC_PAIRS) {
		found->pairs_ok += ok;
		return;
	}
	found->ok += ok;
	found->not_run += outcome->status == MUSTER_OUTCOME_NOT_RUN;
	found->naming += outcome->status == MUSTER_OUTCOME_NOT_RUN && strstr(outcome->detail, found->name) != NULL;
}

static int look(void *arg, struct muster_run *run)
{
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			for (size_t i = 0; i < run->nodes[n].ranks[r].outcomes.count; i++)
				look_at(arg, &run->nodes[n].ranks[r].outcomes.items[i]);
	return 0;
}

static double play(int c, bool healthy, struct found *found, int *done)
{
	struct job_plan plan;
	struct job_result result;
	job_plan_healthy(&plan, cases[c].nodes, cases[c].per_node, 1);
	plan.profile = cases[c].profile;
	plan.deadline_s = 200;
	if (!healthy && cases[c].victim != NOBODY) {
		plan.rank[cases[c].victim].in_traffic = cases[c].fate;
		plan.rank[cases[c].victim].at_traffic = cases[c].at;
	}
	struct job *job = job_new(&plan);
	job_run(job, look, found, &result);
	for (int rank = 0; rank < plan.ranks; rank++)
		done[rank] = job_traffic_done(job, rank);
	job_free(job);
	job_plan_done(&plan);
	return result.virtual_ms;
}

TEST_EACH(only_the_partner_pays, cases)
{
	struct expected e;
	struct found found = { 0 }, healthy = { 0 };
	int ranks = cases[_i].nodes * cases[_i].per_node, done[64], all = rounds_of_all(false), out = 0;
	expect(&e, _i);
	snprintf(found.name, sizeof found.name, "rank %d ", cases[_i].victim);
	double healthy_ms = play(_i, true, &healthy, done), took_ms = play(_i, false, &found, done);
	for (int rank = 0; rank < ranks; rank++) {
		ck_assert_msg(done[rank] == e.done[rank], "%s: rank %d has done %d rounds, not %d", cases[_i].name,
			rank, done[rank], e.done[rank]);
		out += e.out[rank];
	}
	ck_assert_msg(took_ms <= healthy_ms + cases[_i].most_ms, "%s: %.0f ms, healthy %.0f", cases[_i].name, took_ms,
		healthy_ms);
	if (cases[_i].profile == MUSTER_QUICK) {
		ck_assert_int_eq(found.ok + found.not_run, 0);
		ck_assert_int_eq(found.pairs_ok, cases[_i].nodes > 1 ? ranks - out : 0);
		return;
	}
	bool dead = cases[_i].fate == WORKER_TAKES_RANK_ALONG, in_pairs = out > 0;
	ck_assert_int_eq(found.pairs_ok >= ranks - out, true);
	if (!e.any)
		ck_assert_int_eq(found.ok, ranks * all);
	if (in_pairs) { /* each rank that is left says which rank is why no round of all was run */
		int before = rounds_of_all(true), later = all - before;
		ck_assert_int_eq(found.ok >= (ranks - out) * before && found.ok <= ranks * before, true);
		ck_assert_int_eq(found.naming >= (ranks - out) * later, true);
		ck_assert_int_eq(found.not_run >= (ranks - (dead ? out : 0)) * later, true);
	}
}

TEST_MAIN(.timeout = 200)

/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - which small rings to try next, to find what breaks the ring of all
 *
 * A round is worth the pairs in it of which it is not known whether they work together. Of 1,000 nodes in one component
 * almost no pair is open, so that a few rounds do: what is known through others is not tried (`all` tries it, when a
 * failure is not explained otherwise).
 *
 * What muster_plan_next decides, in this order:
 *   no attempt counts yet       all nodes alone; up to ALONE_ROUNDS_MAX times, when all had too little time
 *   every failure is explained  it ends, if a node, a link or a split explains one
 *   PAIR_ROUNDS_MAX rounds      it ends
 *   otherwise                   the round of pairs that is worth most, without suspects and without pairs that were
 *                               tried; where no such pair is left, it ends
 *
 * ring_scheduler.c runs the rings, and notes how they ended. A ring of three or more nodes is no attempt: the plan only
 * asks whether suspects explain its failure.
 */
#include "localize/plan.h"

#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>

enum {
	ALONE_ROUNDS_MAX = 10, /* when all of them have too little time */
	/* Rounds of pairs: of 127 nodes or fewer these are all pairs; of more than MANY_NODES rank 0 must not think for
	   too long. */
	PAIR_ROUNDS_MAX = 128,
	MANY_NODES = 1024,
	MANY_NODES_ROUNDS_MAX = 32,
	LOOK_AHEAD = 16, /* rounds of pairs that are compared: so many nodes may have very many rounds */
};

void muster_plan_init(struct muster_plan *plan, size_t nodes)
{
	struct muster_pairs_member *members = muster_calloc(nodes + 1, sizeof *members);
	*plan = (struct muster_plan){ .nodes = nodes, .peers = muster_calloc(nodes + 1, sizeof *plan->peers) };
	for (size_t i = 0; i < nodes; i++)
		members[i].position = i;
	muster_pairs_init(&plan->pairs, members, nodes, MUSTER_PAIRS_ALL);
	free(members);
}

void muster_plan_done(struct muster_plan *plan)
{
	for (size_t i = 0; i < plan->group_count; i++)
		free(plan->groups[i].has);
	free(plan->groups);
	free(plan->attempts);
	free(plan->peers);
	muster_pairs_done(&plan->pairs);
	muster_suspects_done(&plan->suspects);
	*plan = (struct muster_plan){ 0 };
}

void muster_plan_note(struct muster_plan *plan, const size_t *nodes, size_t count, struct muster_plan_result result)
{
	plan->judged = false;
	if (count == 1 || count == 2) {
		MUSTER_ARRAY_PUSH(plan->attempts, plan->attempt_count, plan->attempt_room,
			((struct muster_attempt){
				.nodes = { nodes[0], nodes[count - 1] },
				.status = result.status,
				.seconds = result.seconds,
			}));
		return;
	}
	struct muster_plan_group group = { .result = result };
	group.has = muster_calloc(plan->nodes + 1, sizeof *group.has);
	for (size_t i = 0; i < count; i++)
		group.has[nodes[i]] = true;
	plan->groups = muster_realloc(plan->groups, plan->group_count + 1, sizeof *plan->groups);
	plan->groups[plan->group_count++] = group;
}

/* The suspects by the results so far. */
static const struct muster_suspects *suspects_of(struct muster_plan *plan)
{
	if (!plan->judged) {
		muster_suspects_done(&plan->suspects);
		muster_suspects_find(plan->attempts, plan->attempt_count, plan->nodes, &plan->suspects);
		plan->judged = true;
	}
	return &plan->suspects;
}

double muster_plan_least_ms(struct muster_plan *plan)
{
	const struct muster_suspects *s = suspects_of(plan);
	return s->slowest > 0     ? MUSTER_ROUND_FACTOR * s->slowest * 1e3
	       : s->not_tried > 0 ? MUSTER_LATE_FULL_SECONDS * 1e3
				  : 0;
}

double muster_plan_round_ms(struct muster_plan *plan, double wanted_ms, double left_ms)
{
	double least_ms = muster_plan_least_ms(plan), ms = wanted_ms > least_ms ? wanted_ms : least_ms;
	return ms <= left_ms ? ms : 0;
}

bool muster_plan_explained(struct muster_plan *plan)
{
	const struct muster_suspects *s = suspects_of(plan);
	for (size_t i = 0; i < plan->group_count; i++)
		if (plan->groups[i].result.status != MUSTER_TRIAL_OK &&
			!muster_suspects_explain_ring(s, plan->groups[i].has))
			return false;
	return s->unexplained == 0;
}

/* ---- rounds ---- */

/* How much the pairs of a round may tell. */
struct worth {
	size_t open;  /* pairs of nodes of which it is not known whether they work together, through others at least */
	size_t pairs; /* all that were not tried yet */
};

/* Write the partners of a round to plan->peers, and keep only pairs that were not tried yet and have no suspect.
 * Returns what these are worth. */
static struct worth keep_pairs(struct muster_plan *plan, const struct muster_suspects *s, int round)
{
	struct worth worth = { 0 };
	muster_pairs_round(&plan->pairs, round, plan->peers);
	for (size_t i = 0; i < plan->nodes; i++) {
		size_t other = (size_t)plan->peers[i];
		if (plan->peers[i] < 0 || other < i)
			continue;
		if (muster_suspects_suspected(s, i) || muster_suspects_suspected(s, other) ||
			muster_suspects_edge(s, i, other)) {
			plan->peers[i] = plan->peers[other] = -1;
			continue;
		}
		worth.pairs++;
		worth.open += s->nodes[i].component != s->nodes[other].component;
	}
	return worth;
}

/* Both the node and its partner, if it has one, are without a partner in this round. */
static void leave_partner(struct muster_plan *plan, size_t node)
{
	if (plan->peers[node] >= 0)
		plan->peers[plan->peers[node]] = -1;
	plan->peers[node] = -1;
}

/* Nodes that work with no other one may work with each other, and are not suspected before they were tried with each
 * other (blame.c). Two of them in a row become partners in plan->peers, unless they were tried already, and leave the
 * partners that the round gave them. */
static void join_isolated(struct muster_plan *plan, const struct muster_suspects *s)
{
	size_t last = SIZE_MAX;
	for (size_t i = 0; i < plan->nodes; i++) {
		if (s->nodes[i].passed > 0 || muster_suspects_suspected(s, i))
			continue;
		if (last != SIZE_MAX && !muster_suspects_edge(s, last, i)) {
			leave_partner(plan, last);
			leave_partner(plan, i);
			plan->peers[last] = (int)i;
			plan->peers[i] = (int)last;
			last = SIZE_MAX;
		} else {
			last = i;
		}
	}
}

/* The pairs of the first round that has the most of what is not known. all: also of pairs that work together through
 * others. */
static size_t next_pairs(struct muster_plan *plan, const struct muster_suspects *s, bool all, size_t *teams)
{
	struct worth best = { 0 };
	int round = -1;
	size_t count = 0;
	for (int i = 0, seen = 0; i < plan->pairs.rounds && seen < LOOK_AHEAD; i++) {
		struct worth worth = keep_pairs(plan, s, i);
		seen += worth.open > 0 || (all && worth.pairs > 0);
		if (worth.open > best.open || (all && round < 0 && worth.pairs > 0)) {
			best = worth;
			round = i;
		}
	}
	if (round < 0)
		return 0;
	keep_pairs(plan, s, round);
	if (s->isolated <= MUSTER_ISOLATED_FEW)
		join_isolated(plan, s);
	for (size_t i = 0; i < plan->nodes; i++)
		if (plan->peers[i] > (int)i)
			teams[i] = teams[plan->peers[i]] = count++;
	plan->pair_rounds++;
	return count;
}

size_t muster_plan_next(struct muster_plan *plan, size_t *teams)
{
	const struct muster_suspects *s = suspects_of(plan);
	bool alone = s->counted == 0 && plan->alone_rounds < ALONE_ROUNDS_MAX;
	for (size_t i = 0; i < plan->nodes; i++)
		teams[i] = alone ? i : MUSTER_NO_GROUP;
	if (alone) {
		plan->alone_rounds++;
		return plan->nodes;
	}
	size_t most = plan->nodes > MANY_NODES ? MANY_NODES_ROUNDS_MAX : PAIR_ROUNDS_MAX;
	bool has_cause = s->suspected > 0 || s->link_count > 0 || s->split, explained = muster_plan_explained(plan);
	if ((has_cause && explained) || plan->pair_rounds >= most)
		return 0;
	return next_pairs(plan, s, !explained, teams);
}

/* With a split the largest component stays, of equal ones that with the lowest node. Of a bad link the node with the
 * higher number leaves, unless the other one has left already. */
size_t muster_plan_rest(struct muster_plan *plan, bool *ret_in)
{
	const struct muster_suspects *s = suspects_of(plan);
	size_t *sizes = muster_calloc(plan->nodes + 1, sizeof *sizes), largest = SIZE_MAX, count = 0;
	for (size_t i = 0; i < plan->nodes; i++) {
		ret_in[i] = !muster_suspects_suspected(s, i);
		sizes[s->nodes[i].component] += ret_in[i];
	}
	for (size_t i = 0; i < plan->nodes; i++)
		if (sizes[i] > 0 && (largest == SIZE_MAX || sizes[i] > sizes[largest]))
			largest = i;
	for (size_t i = 0; s->split && i < plan->nodes; i++)
		ret_in[i] = ret_in[i] && s->nodes[i].component == largest;
	for (size_t i = 0; i < s->edge_count; i++)
		if (s->links[i] && ret_in[s->edges[i].a])
			ret_in[s->edges[i].b] = false;
	for (size_t i = 0; i < plan->nodes; i++)
		count += ret_in[i];
	free(sizes);
	return count;
}

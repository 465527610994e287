/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - which small rings to try next, to find what breaks the ring of all
 *
 * Every node alone, all at once; then pairs of nodes, as many at once as possible, in the rounds of localize/pairs.h:
 * by and by each node with every other one. It ends when every failure is explained, or when all pairs were tried. Pure
 * and deterministic: what it has been told decides what it says.
 *
 * The caller repeats: muster_plan_next, run the rings, muster_plan_note for each of them. An example with eight nodes,
 * of which node 5 cannot reach any other one. The ring of all eight failed.
 *   round 1  each node alone: all pass
 *   round 2  0+1, 2+3, 4+5, 6+7: 4+5 fails. Node 4 or node 5, or the link: not explained
 *   round 3  1+2, 3+4, 5+6, 7+0: 5+6 fails. Node 5 failed with two others, and 4 and 6 passed with others: node 5
 *
 * The failures are explained now. A last ring without node 5 (muster_plan_rest) shows whether the others work together.
 */
#ifndef MUSTER_LOCALIZE_PLAN_H
#define MUSTER_LOCALIZE_PLAN_H

#include "localize/blame.h"
#include "localize/pairs.h"

#include <stdint.h>

#define MUSTER_NO_GROUP SIZE_MAX

/* How a ring went. */
struct muster_plan_result {
	enum muster_trial_status status;
	double seconds; /* as in muster_attempt, 0 of a ring that is no trial */
};

/* A ring of more than two nodes: the full one, and those without suspects. */
struct muster_plan_group {
	bool *has; /* for each node */
	struct muster_plan_result result;
};

struct muster_plan {
	size_t nodes;
	struct muster_attempt *attempts;
	size_t attempt_count, attempt_room;
	struct muster_plan_group *groups;
	size_t group_count;
	struct muster_suspects suspects; /* by the attempts, as long as judged says so */
	bool judged;
	struct muster_pairs pairs; /* of all nodes */
	int *peers;                /* of each node in one of their rounds */
	size_t alone_rounds, pair_rounds;
};

void muster_plan_init(struct muster_plan *plan, size_t nodes);
void muster_plan_done(struct muster_plan *plan);

/* Take a ring of these nodes, each once, into account: one of the last round, or the full one. */
void muster_plan_note(struct muster_plan *plan, const size_t *nodes, size_t count, struct muster_plan_result result);

/* Times the slowest trial that passed: what a round needs. It is more than MUSTER_LATE_FACTOR, because rings of the
 * next round may be slower, as pairs are slower than nodes alone, and would make the time of those that are late too
 * short. */
#define MUSTER_ROUND_FACTOR 4

/* The time that the workers need in the next round, in ms: with less, a ring that runs out of time tells nothing, and
 * the round is better not begun. 0: any time will do. */
double muster_plan_least_ms(struct muster_plan *plan);

/* The time that the workers get in the next round, in ms: what is wanted, or what the round needs when that is more. 0:
 * left_ms is not enough for it, so there is no round. */
double muster_plan_round_ms(struct muster_plan *plan, double wanted_ms, double left_ms);

/* The rings of the next round: for each node its team's number, or MUSTER_NO_GROUP. Returns how many teams there are; 0
 * when all that failed is explained, or when there is nothing left to try. */
size_t muster_plan_next(struct muster_plan *plan, size_t *ret_teams);

/* Whether suspects explain every failure. */
bool muster_plan_explained(struct muster_plan *plan);

/* The nodes of an all-reduce without suspects: without the suspected nodes and one of the two nodes of each bad
 * link; only the largest part when there is a split. Returns how many. */
size_t muster_plan_rest(struct muster_plan *plan, bool *ret_in);

#endif

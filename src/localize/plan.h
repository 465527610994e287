/* plan.h - which small rings to try next, to find what breaks or slows the ring of all
 *
 * Every node alone, all at once; then pairs of nodes, as many at once as there are: suspects with nodes that are known
 * to be good, and nodes of which it is not known yet that they work together. When all of that passes, the ring that
 * failed is halved and crossed until the pair is found that fails. Pure and deterministic: what it has been told
 * decides what it says.
 */
#ifndef MUSTER_LOCALIZE_PLAN_H
#define MUSTER_LOCALIZE_PLAN_H

#include "localize/blame.h"

#define MUSTER_NO_GROUP SIZE_MAX

/* A ring of more than two nodes. */
struct muster_plan_group {
	bool *has; /* for each node */
	size_t count;
	bool ok, slow;
	bool hopeless; /* it failed, and no part of it does */
};

struct muster_plan {
	size_t nodes;
	struct muster_attempt *attempts;
	size_t attempt_count, attempt_room;
	struct muster_plan_group *groups;
	size_t group_count;
	size_t pair_rounds, half_rounds, rounds_max; /* rounds_max: of each of them */
};

void muster_plan_init(struct muster_plan *scout, size_t nodes);
void muster_plan_done(struct muster_plan *scout);

/* How a ring of these nodes went. slow: it ended, and is slower than it should be; gbps: 0 when not known. */
void muster_plan_note(struct muster_plan *scout, const size_t *nodes, size_t count, bool ok, bool slow, double gbps);

/* The rings of the next round: for each node its team's number, or MUSTER_NO_GROUP. Returns how many teams there are; 0
 * when all that failed is explained, or when there is nothing left to try. */
size_t muster_plan_next(struct muster_plan *scout, size_t *ret_teams);

/* Whether everything that failed is explained by somebody's blame. */
bool muster_plan_explained(const struct muster_plan *scout);

/* The nodes that a ring can be made of that leaves the blame out: not the nodes that are blamed, one of the two of each
 * bad link, the largest part where there is a split. Returns how many. */
size_t muster_plan_rest(const struct muster_plan *scout, bool *ret_in);

#endif

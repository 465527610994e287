/* scout.h - which small rings to try next, to find what breaks or slows the ring of all
 *
 * Every node alone, all at once; then pairs of nodes, as many at once as there are: suspects with nodes that are known
 * to be good, and nodes of which it is not known yet that they work together. When all of that passes, the ring that
 * failed is halved and crossed until the pair is found that fails. Pure and deterministic: what it has been told
 * decides what it says.
 */
#ifndef MUSTER_RUN_SCOUT_H
#define MUSTER_RUN_SCOUT_H

#include "eval/suspects.h"

#define MUSTER_NO_TEAM SIZE_MAX

/* A ring of more than two nodes. */
struct muster_band {
	bool *has; /* for each node */
	size_t count;
	bool ok, slow;
	bool hopeless; /* it failed, and no part of it does */
};

struct muster_scout {
	size_t nodes;
	struct muster_attempt *attempts;
	size_t attempt_count, attempt_room;
	struct muster_band *bands;
	size_t band_count;
	size_t pair_rounds, half_rounds, rounds_max; /* rounds_max: of each of them */
};

void muster_scout_init(struct muster_scout *scout, size_t nodes);
void muster_scout_done(struct muster_scout *scout);

/* How a ring of these nodes went. slow: it ended, and is slower than it should be; gbps: 0 when not known. */
void muster_scout_note(struct muster_scout *scout, const size_t *nodes, size_t count, bool ok, bool slow, double gbps);

/* The rings of the next round: for each node its team's number, or MUSTER_NO_TEAM. Returns how many teams there are; 0
 * when all that failed is explained, or when there is nothing left to try. */
size_t muster_scout_next(struct muster_scout *scout, size_t *ret_teams);

/* Whether everything that failed is explained by somebody's blame. */
bool muster_scout_explained(const struct muster_scout *scout);

/* The nodes that a ring can be made of that leaves the blame out: not the nodes that are blamed, one of the two of each
 * bad link, the largest part where there is a split. Returns how many. */
size_t muster_scout_rest(const struct muster_scout *scout, bool *ret_in);

#endif

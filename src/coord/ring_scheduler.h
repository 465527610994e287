/* ring_scheduler.h - rank 0 deals the rings: who shares one with whom, round after round
 *
 * All ranks come to two barriers a round: one where each says whether it can take part and how the last round ended for
 * it, and hears of its place in this round; and one where the first rank of each ring brings the ring's id. The first
 * round is a ring of all. When ranks fall out of it, another one is made of those that are left; when it fails or is
 * slow and nobody is to blame, trial rings of few nodes find out who is.
 *
 * What a rank brings: ring_ready.h. What it hears: "+<place> <ranks> <nodes> <1: a trial> <milliseconds>"; "-<why not>"
 * when a ring of all is made without it; "=" when it has no part in a round of trials; "." when there will be no more
 * rounds.
 */
#ifndef MUSTER_COORD_RING_SCHEDULER_H
#define MUSTER_COORD_RING_SCHEDULER_H

#include "muster/probe.h"
#include "coord/ring_ready.h"
#include "localize/plan.h"

struct muster_ring_group {       /* the ranks of one ring */
	int first, ranks, nodes; /* first: the rank that makes the id */
	bool cancelled;
};

/* The rings of one probe. */
struct muster_ring_scheduler {
	const struct muster_probe *probe;
	int round; /* dealt last; -1 */
	bool over; /* and that was the answer at the barrier of the round behind it */
	bool trial;
	int fulls;  /* rings of all that could take part */
	int *group; /* of each rank in this round; -1: none */
	bool *in;   /* of each node: it has a part in the last full ring */
	struct muster_ring_group *groups;
	size_t group_count;
	bool localizing, localized; /* trials have begun; they are over */
	struct muster_plan plan;
	size_t *plan_nodes;  /* the index of each of the plan's nodes */
	size_t *plan_groups; /* of this round of trials */
};

struct muster_ring_scheduler *muster_ring_scheduler_new(
	const struct muster_coordinator *root, const struct muster_probe *probe);
void muster_ring_scheduler_free(struct muster_ring_scheduler *dealer);

/* A barrier of the ring has completed; a node came to one that had. */
void muster_ring_scheduler_complete(
	struct muster_ring_scheduler *dealer, struct muster_coordinator *root, const struct muster_barrier *barrier);
const char *muster_ring_scheduler_late_answer(const struct muster_ring_scheduler *dealer, int barrier);

/* The ring that this rank has a part in, at this barrier, is broken: the others need not wait for it. */
void muster_ring_scheduler_broken(struct muster_ring_scheduler *dealer, const struct muster_coordinator *root, int rank,
	int barrier, const char *why);

#endif

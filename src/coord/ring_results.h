/* ring_results.h - how the rings of a round went, for the report and for the plan */
#ifndef MUSTER_COORD_RING_RESULTS_H
#define MUSTER_COORD_RING_RESULTS_H

#include "coord/ring_scheduler.h"

struct muster_ring_result {
	bool ok, fallen; /* fallen: one of its ranks can be in no further ring */
	bool late;       /* it failed, and the only reason of any rank is that its time ran out */
	double seconds;
	int cause; /* the first rank with the highest end; -1: none */
	int alike; /* ranks with that end */
	enum muster_ring_end end;
	const char *detail;
	const struct muster_ring_ready *first; /* of the ring's first rank; NULL */
};

/* Of every ring of the last round, in the order of their numbers; malloc'd. They point into the entries. */
struct muster_ring_result *muster_ring_results(
	const struct muster_ring_scheduler *s, const struct muster_ring_entries *entries);

/* The rank that failed and how: "rank 3: it broke". Of ranks that only waited for others none is named: "4 ranks:
 * ...". malloc'd. */
char *muster_ring_why(const struct muster_ring_result *result);

/* Add all trials of the last round to the report and to the plan. */
void muster_ring_note_trials(struct muster_ring_scheduler *s, const struct muster_ring_entries *entries);
/* A full ring has ended: the one before the trials (for the plan), or the one after them (for the report too). */
void muster_ring_note_full(struct muster_ring_scheduler *s, const struct muster_ring_result *result);

#endif

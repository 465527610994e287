/* barrier_id.h - the barriers of a run, in the order in which every rank passes them */
#ifndef MUSTER_COORD_BARRIER_ID_H
#define MUSTER_COORD_BARRIER_ID_H

enum muster_barrier_id {
	MUSTER_BARRIER_PEERS = 1,  /* of the node: "I took this GPU" → all that the node's ranks took, and my turn */
	MUSTER_BARRIER_RECORD,     /* of the job: what I measured → goodbye */
	MUSTER_BARRIER_TURN = 100, /* of the node, + turn + 100 for each probe: go */
	MUSTER_BARRIER_RING = 10000, /* of the job, see below */
};

/* Of a ring's rounds, + 1000 for each probe: + 2 for each round: "I can" → my place in a ring; and one behind it: the
 * id of my ring, if I am its first rank → the same to all of its ranks. ring_scheduler.h has what is said there. */
enum { MUSTER_RING_ROUNDS_MAX = 400 };

static inline int muster_barrier_of_ring(int probe, int round)
{
	return MUSTER_BARRIER_RING + 1000 * probe + 2 * round;
}

static inline int muster_barrier_ring_probe(int barrier)
{
	return (barrier - MUSTER_BARRIER_RING) / 1000;
}

static inline int muster_barrier_ring_round(int barrier)
{
	return (barrier - MUSTER_BARRIER_RING) % 1000 / 2;
}

static inline int muster_barrier_is_ring_id(int barrier)
{
	return (barrier - MUSTER_BARRIER_RING) % 2;
}

/* What a run looks like from outside. Arriving at a barrier ends a phase. */
enum muster_phase {
	MUSTER_PHASE_START = 0,
	MUSTER_PHASE_DRIVERS,
	MUSTER_PHASE_INVENTORY,
	MUSTER_PHASE_COPIES,
	MUSTER_PHASE_RING,
	MUSTER_PHASE_COUNT
};

#endif

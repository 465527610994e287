/* gates.h - the gates of a run, in the order in which every rank passes them */
#ifndef MUSTER_RUN_GATES_H
#define MUSTER_RUN_GATES_H

enum muster_gate_id {
	MUSTER_GATE_PEERS = 1,    /* of the node: "I took this GPU" → all that the node's ranks took, and my turn */
	MUSTER_GATE_RECORD,       /* of the job: what I measured → goodbye */
	MUSTER_GATE_TURN = 100,   /* of the node, + turn + 100 for each probe: go */
	MUSTER_GATE_RING = 10000, /* of the job, see below */
};

/* Of a ring's rounds, + 1000 for each probe: + 2 for each round: "I can" → my place in a ring; and one behind it: the
 * id of my ring, if I am its first rank → the same to all of its ranks. dealer.h has what is said there. */
enum { MUSTER_RING_ROUNDS_MAX = 400 };

static inline int muster_gate_of_ring(int probe, int round)
{
	return MUSTER_GATE_RING + 1000 * probe + 2 * round;
}

static inline int muster_gate_ring_probe(int gate)
{
	return (gate - MUSTER_GATE_RING) / 1000;
}

static inline int muster_gate_ring_round(int gate)
{
	return (gate - MUSTER_GATE_RING) % 1000 / 2;
}

static inline int muster_gate_is_ring_id(int gate)
{
	return (gate - MUSTER_GATE_RING) % 2;
}

/* What a run looks like from outside. Arriving at a gate ends a phase. */
enum muster_phase {
	MUSTER_PHASE_START = 0,
	MUSTER_PHASE_DRIVERS,
	MUSTER_PHASE_INVENTORY,
	MUSTER_PHASE_COPIES,
	MUSTER_PHASE_RING,
	MUSTER_PHASE_COUNT
};

#endif

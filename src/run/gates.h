/* gates.h - the gates of a run, in the order in which every rank passes them */
#ifndef MUSTER_RUN_GATES_H
#define MUSTER_RUN_GATES_H

enum muster_gate_id {
	MUSTER_GATE_PEERS = 1,    /* of the node: "I took this GPU" → all that the node's ranks took, and my turn */
	MUSTER_GATE_RECORD,       /* of the job: what I measured → goodbye */
	MUSTER_GATE_TURN = 100,   /* of the node, + turn + 100 for each probe: go */
	MUSTER_GATE_RING = 10000, /* of the job, + 10 for each probe: "I can" → my place in the ring */
	MUSTER_GATE_RING_ID = 10001, /* of the job, likewise: the ring's id → the same to all */
};

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

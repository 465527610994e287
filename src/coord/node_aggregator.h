/* node_aggregator.h - the lowest rank of a node keeps the barriers for all of its ranks */
#ifndef MUSTER_COORD_NODE_AGGREGATOR_H
#define MUSTER_COORD_NODE_AGGREGATOR_H

#include "coord/barrier.h"
#include "transport/transport_mpi.h"

struct muster_node_aggregator {
	struct muster_barrier_set barriers;
	const int *members; /* ranks of the node; borrowed */
	const char *node;   /* borrowed */
	int ranks;          /* of the job */
	int done[8];        /* members that have ended each phase */
	double progress_ms; /* when rank 0 was last told */
	bool progress_due;
	int ring_gate;      /* the ring's round that was dealt last; 0 */
	int last_ring_gate; /* where the answer was that there are no more rounds; 0 */
	int *dead;          /* of each member: the round in which rank 0 was told that it is silent */
};

/* limit_ms, last_limit_ms: when barriers, and the one of the records, complete with those who are there. */
void muster_node_aggregator_init(struct muster_node_aggregator *leader, const int *members, size_t count,
	const char *node, int ranks, double limit_ms, double last_limit_ms);
/* All of that is so much earlier. */
void muster_node_aggregator_advance_deadlines(struct muster_node_aggregator *leader, double earlier_ms);
void muster_node_aggregator_done(struct muster_node_aggregator *leader);

/* ENTER, HEARTBEAT and PEER_DIED from a member, SCATTER and CANCEL_RANKS from rank 0. */
void muster_node_aggregator_message(struct muster_node_aggregator *leader, const struct muster_message *message);
void muster_node_aggregator_poll(struct muster_node_aggregator *leader, double now_ms);

#endif

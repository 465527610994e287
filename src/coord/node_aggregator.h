/* node_aggregator.h - the lowest rank of a node, its leader, owns the barriers for all of the node's ranks
 *
 * What ranks bring to a barrier of the whole job goes on to rank 0 as it came, in one message; rank 0's answers come
 * back in one.
 */
#ifndef MUSTER_COORD_NODE_AGGREGATOR_H
#define MUSTER_COORD_NODE_AGGREGATOR_H

#include "coord/barrier.h"
#include "coord/deadlines.h"
#include "transport/transport.h"

struct muster_node_aggregator {
	struct muster_barrier_set barriers;
	struct muster_transport *transport;
	const struct muster_deadlines *deadlines;
	int done[MUSTER_PHASE_COUNT]; /* members that have ended each phase */
	double progress_ms;           /* when rank 0 was last told */
	bool progress_due;
	int ring; /* counts the rounds of rings that were dealt; 0: none yet */
	struct muster_barrier_id ring_barrier;
	bool ring_over; /* the answer at ring_over_barrier was that there are no more rounds */
	struct muster_barrier_id ring_over_barrier;
	int *dead_told; /* of each member: the round in which rank 0 was told that it is silent */
};

/* limit_ms, record_limit_ms: when barriers, and the one of the records, are complete with those that are there. members
 * are borrowed. */
void muster_node_aggregator_init(struct muster_node_aggregator *a, struct muster_transport *transport,
	const struct muster_deadlines *deadlines, const int *members, size_t count, double limit_ms,
	double record_limit_ms);
void muster_node_aggregator_done(struct muster_node_aggregator *a);
/* Everything ends this much earlier. */
void muster_node_aggregator_hasten(struct muster_node_aggregator *a, double earlier_ms);

/* ENTER, HEARTBEAT and PEER_DIED of a member, SCATTER and CANCEL of rank 0. -1 with err when the payload is malformed.
 */
int muster_node_aggregator_message(
	struct muster_node_aggregator *a, const struct muster_message *message, struct muster_error *err);
void muster_node_aggregator_poll(struct muster_node_aggregator *a, double now_ms);
double muster_node_aggregator_next(const struct muster_node_aggregator *a, double now_ms);

#endif

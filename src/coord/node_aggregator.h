/* SPDX-License-Identifier: Apache-2.0 */
/* node_aggregator.h - the leader of a node, its lowest rank, owns the barriers of the node's ranks
 *
 * At a barrier of the job the payloads of all ranks are forwarded to rank 0, unchanged, in one message, and rank 0
 * answers with one. So rank 0 has as many messages as there are nodes, and does not know the barriers of one node.
 *
 *   barrier          when it is complete               the answer             to a member that is late
 *   PEERS            all payloads, to each member      the same message       RELEASE without payload
 *   TURN             -                                 RELEASE                RELEASE
 *   RING, RING_ID    REDUCE to rank 0                  SCATTER → RELEASE      RELEASE: excluded, or the rings are over
 *   RECORD           REDUCE to rank 0                  GOODBYE, by rank 0     its record is sent after the others
 *
 * When the leader dies, no other rank leads in its place: the members see its silence, go on without answers, and send
 * their records to rank 0 themselves (supervisor.c). Rank 0 sees the silence too, and counts the ranks of the node as
 * lost for their rings.
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
	struct muster_progress_news progress;
	enum muster_phase *ended; /* the last phase that each member has ended; the last of all for the dead */
	double progress_ms;       /* when it was last sent to rank 0 */
	bool progress_due;
	int ring;                              /* number of ring rounds so far */
	struct muster_barrier_id ring_barrier; /* of the last one */
	struct muster_barrier_id ring_over;    /* whose answer was that there are no more rounds */
	int *dead_told;                        /* of each member: the round in which its death was reported to rank 0 */
};

/* members are borrowed; end_ms: the end of the run. */
void muster_node_aggregator_init(struct muster_node_aggregator *a, struct muster_transport *transport,
	const struct muster_deadlines *deadlines, const int *members, size_t count, double end_ms);
void muster_node_aggregator_done(struct muster_node_aggregator *a);
/* Move both limits forward by so much. */
void muster_node_aggregator_hasten(struct muster_node_aggregator *a, double earlier_ms);

/* ENTER, HEARTBEAT and PEER_DIED of a member, SCATTER and CANCEL of rank 0. -1 with err when the payload is malformed.
 */
int muster_node_aggregator_message(
	struct muster_node_aggregator *a, const struct muster_message *message, struct muster_error *err);
void muster_node_aggregator_poll(struct muster_node_aggregator *a, double now_ms);
/* When to call poll next, if no message comes before; infinity: not at all. */
double muster_node_aggregator_next(const struct muster_node_aggregator *a, double now_ms);

#endif

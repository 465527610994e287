/* SPDX-License-Identifier: Apache-2.0 */
/* ring_scheduler.h - rank 0 assigns ranks to rings, round after round
 *
 * A ring is an all-reduce on a communicator of its own. The first round is a full ring. When ranks fail in it, another
 * full ring follows without them; when a ring fails and no rank is the known cause, trial rings of one node or two
 * search for the cause. After a full ring that went well come rounds of traffic (see below). One round:
 *
 *   worker         rank               leader of its node            rank 0
 *     |              |-- ENTER RING ------>|                           |   can it take part, how the last round ended
 *     |              |  (the node's ranks) |-- REDUCE ---------------->|   when all leaders have entered:
 *     |              |                     |                           |   note the last round, plan this one
 *     |              |<-- RELEASE ---------|<-- SCATTER ---------------|   its place: member, idle, excluded, traffic,
 *     |<- "ring_id" -|  (maker of an id)   |                           |   or over: no further round
 *     |-- done ----->|                     |                           |
 *     |              |-- ENTER RING_ID --->|-- REDUCE ---------------->|   a member, or idle; not for traffic
 *     |              |<-- RELEASE ---------|<-- SCATTER ---------------|   the ids that workers of its ring made
 *     |<- "ring" ----|                     |                           |   or "traffic", with the place and a deadline
 *     |      ...     |-- RING_FAILED -------------------------------->|   only when it fails: at once, not at the end
 *     |<- "cancel" --|<-- CANCEL_RANK -----|<-- CANCEL ----------------|   to the other ranks of this ring
 *     |-- done ----->|                     |                           |   how it ended is in the next ENTER RING
 *
 * The first ring takes two such rounds. In round 0 its "ring" only begins: NCCL makes the communicator while ranks look
 * at their GPUs and copy (0.3 to 0.4 s on two H200 that would otherwise be waited for). Before the first probe that
 * needs the GPU for itself, each rank waits for its communicator (muster_ring_await), and round 1 measures on it, or
 * begins anew when the ranks are no longer the same.
 *
 * A leader that is silent for deadlines->silence does not hold the others up: its ranks count as lost for their ring.
 */
#ifndef MUSTER_COORD_RING_SCHEDULER_H
#define MUSTER_COORD_RING_SCHEDULER_H

#include "coord/ring_messages.h"
#include "localize/plan.h"

/* ---- rank 0 assigns rounds of traffic to the ranks of the full ring that went well last ----
 *
 * Probes with `traffic` follow each other in their order. At each RING barrier a rank says how its last round ended;
 * the answer is its next round. A rank whose round failed is in no further one; the others go on, in pairs without that
 * rank. A round of all ranks does not run when a rank of the ring is out. Rounds of ranks by themselves leave out only
 * ranks whose worker is lost.
 */

struct muster_ring_member {
	int rank;        /* in the job */
	const char *out; /* why the member is in no further round; NULL */
	bool lost;       /* the member's worker has crashed or hung, or its supervisor is silent */
	bool cancelled;  /* the member has been told that this round is cancelled, or has failed itself */
};

struct muster_ring_traffic {
	bool begun, going; /* going: the probes are not all over */
	int visit;
	struct muster_ring_member *items; /* by their numbers in the ring */
	size_t count;
	int cause; /* the member whose failure says most about why members are out; -1: none is out */
	enum muster_ring_end cause_end;
	int *members; /* of each rank of the job: its number in the ring; -1 */
	struct muster_pairs pairs;
	/* this round */
	size_t probe; /* index in the registry */
	int round, rounds;
	bool under_way; /* members have their places, and how it ended for them is not known yet */
	enum muster_traffic_shape shape;
	int *peers; /* of each member: the partner's number; -1 */
};

void muster_ring_traffic_done(struct muster_ring_traffic *t);

/* Begin with the ranks whose group is 0. */
void muster_ring_traffic_begin(
	struct muster_ring_traffic *t, const struct muster_ring_context *context, const int *group);

/* Begin a later visit with the same ranks. */
void muster_ring_traffic_visit(struct muster_ring_traffic *t, int visit);

/* How the last round ended. Entries of ranks that are not in the ring get a `why`. */
void muster_ring_traffic_note(
	struct muster_ring_traffic *t, const struct muster_ring_context *context, struct muster_ring_entries *entries);

/* Answer with the next round, which is the rings' round that the barrier belongs to. False: there is none, and nothing
 * was answered. */
bool muster_ring_traffic_next(struct muster_ring_traffic *t, const struct muster_ring_context *context,
	const struct muster_ring_entries *entries, double now_ms);

/* The round of this rank has failed: cancel it for its partner, or for all when it is a round of all. barrier: that the
 * round was the answer of. */
void muster_ring_traffic_failed(struct muster_ring_traffic *t, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, int rank, const char *why);

/* Why this rank had no round of traffic, though the profile has such probes; "" when it had, or may have had no partner
 * only. */
const char *muster_ring_traffic_why_not(const struct muster_ring_traffic *t, const struct muster_ring_entry *entry);

/* ---- rank 0 assigns ranks to rings, round after round ---- */

enum { MUSTER_RING_ROUNDS_MAX = 400 };

/* Bytes of a ring's ids, hexadecimal. */
#define MUSTER_RING_IDS_TEXT (2 * MUSTER_RING_IDS_MAX * MUSTER_RING_ID_BYTES)

struct muster_ring_group { /* the ranks of one ring */
	int ranks, nodes;
	int makers[MUSTER_RING_IDS_MAX],
		maker_count; /* ranks that make the ids, in the order of the ids, the first rank first */
	bool cancelled;
};

/* The rings of one probe. */
struct muster_ring_scheduler {
	const struct muster_ring_context *context; /* borrowed */
	const struct muster_probe *probe;
	int index;                        /* of the probe */
	int visit, round;                 /* round: scheduled last in this visit; -1 */
	bool over;                        /* the round after it was answered with OVER */
	bool trial;                       /* this round has trial rings */
	enum muster_ring_part part;       /* of the full ring in this round */
	int fulls;                        /* full rings so far */
	int *group;                       /* of each rank in this round; -1: none */
	bool *in;                         /* of each node: it is in the last full ring, or may be in the next */
	struct muster_ring_agreed agreed; /* what the ranks of the first ring have of the probe's ring_agree */
	struct muster_ring_group *groups;
	size_t group_count;
	bool localising; /* trials have begun */
	bool localised;  /* trials are over: at most a last full ring, of the nodes that are not suspected, follows */
	double trial_bytes; /* message size of the last trial that has a rate; 0: there is none */
	bool trials_follow; /* after the traffic of the first visit */
	bool stands;        /* the communicator that had traffic */
	struct muster_ring_traffic traffic;
	struct muster_plan plan;
	size_t *plan_nodes;  /* the index of each of the plan's nodes */
	size_t *plan_groups; /* of this round of trials */
};

struct muster_ring_scheduler *muster_ring_scheduler_new(
	const struct muster_ring_context *context, const struct muster_probe *probe, int index);
void muster_ring_scheduler_free(struct muster_ring_scheduler *s);

/* Take a complete barrier of the probe's rings, and send the answers. */
void muster_ring_scheduler_complete(
	struct muster_ring_scheduler *s, const struct muster_barrier *barrier, double now_ms);
/* Append the answer for a node that entered a complete barrier. s may be NULL. */
void muster_ring_scheduler_late_answer(
	const struct muster_ring_scheduler *s, struct muster_barrier_id barrier, struct muster_packer *p);

/* The ring of this rank has failed: cancel it for the other ranks. */
void muster_ring_scheduler_failed(struct muster_ring_scheduler *s, const struct muster_ring_failed *failed);
/* The leader of this node has died: the rings of its ranks have failed. */
void muster_ring_scheduler_lost_node(struct muster_ring_scheduler *s, size_t node, const char *why);

#endif

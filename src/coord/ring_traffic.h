/* ring_traffic.h - rank 0 assigns rounds of traffic to the ranks of the full ring that went well last
 *
 * Probes with `traffic` follow each other in their order. At each RING barrier a rank says how its last round ended;
 * the answer is its next round. A rank whose round failed is in no further one; the others go on, in pairs without that
 * rank. A round of all ranks does not run when a rank of the ring is out. Rounds of ranks by themselves leave out only
 * ranks whose worker is lost.
 */
#ifndef MUSTER_COORD_RING_TRAFFIC_H
#define MUSTER_COORD_RING_TRAFFIC_H

#include "coord/ring_messages.h"

struct muster_ring_traffic {
	bool begun, going; /* going: the probes are not all over */
	/* the ring's members, by their numbers in the ring */
	size_t count;
	int *ranks;       /* in the job */
	const char **out; /* why the member is in no further round; NULL */
	bool *lost;       /* the member's worker has crashed or hung, or its supervisor is silent */
	int cause;        /* the member whose failure says most about why members are out; -1: none is out */
	enum muster_ring_end cause_end;
	int *members; /* of each rank of the job: its number in the ring; -1 */
	struct muster_pairs pairs;
	/* this round */
	size_t probe; /* index in the registry */
	int round, rounds;
	bool under_way; /* it runs, and its ends are not known yet */
	enum muster_traffic_shape shape;
	int *peers;      /* of each member: the partner's number; -1 */
	bool *cancelled; /* each member has been told that its round is cancelled, or has failed itself */
};

void muster_ring_traffic_done(struct muster_ring_traffic *t);

/* Begin with the ranks whose group is 0. */
void muster_ring_traffic_begin(
	struct muster_ring_traffic *t, const struct muster_ring_context *context, const int *group);

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
const char *muster_ring_traffic_why_not(const struct muster_ring_traffic *t, const struct muster_ring_context *context,
	const struct muster_ring_entry *entry);

#endif

/* leader.h - the lowest rank of a node keeps the gates for all of its ranks */
#ifndef MUSTER_RUN_LEADER_H
#define MUSTER_RUN_LEADER_H

#include "run/gate.h"
#include "run/link.h"

struct muster_leader {
	struct muster_keeper keeper;
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

/* limit_ms, last_limit_ms: when gates, and the one of the records, settle with those who are there. */
void muster_leader_init(struct muster_leader *leader, const int *members, size_t count, const char *node, int ranks,
	double limit_ms, double last_limit_ms);
/* All of that is so much earlier. */
void muster_leader_hasten(struct muster_leader *leader, double earlier_ms);
void muster_leader_done(struct muster_leader *leader);

/* ARRIVE, ALIVE and GONE from a member, DEAL and CALL_OFF from rank 0. */
void muster_leader_message(struct muster_leader *leader, const struct muster_message *message);
void muster_leader_poll(struct muster_leader *leader, double now_ms);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.h - a barrier with payloads and a deadline
 *
 * A member enters with a payload. The barrier is complete when each living member has entered this barrier or a later
 * one, or at the limit; then the owner gets all payloads. A member is dead after silence_ms without a message. A node's
 * leader owns the barriers of the ranks of its node, rank 0 owns the barriers of the leaders.
 *
 *   state      from                                  an entry
 *   -          (not in the list)                     the first one makes the barrier
 *   open       its first entry                       keeps the payload
 *   complete   poll: all living are in, or limit     is late: late_entry answers it, as no other answer will come
 *   over       complete, and all members are in      is a duplicate, and ignored
 *
 * Death is a guess: a member that was only slow comes back, and finds its barriers complete. Its late entries bring it
 * through them to the barrier where the others are. Members that are dead for good keep barriers in the list.
 */
#ifndef MUSTER_COORD_BARRIER_H
#define MUSTER_COORD_BARRIER_H

#include "coord/message.h"

struct muster_barrier_entry {
	bool here;
	char *bytes; /* malloc'd, NUL-terminated; NULL before the entry and after the barrier is complete */
	size_t length;
};

struct muster_barrier {
	struct muster_barrier_id id;
	bool complete;
	size_t entered;
	struct muster_barrier_entry *entries; /* one for each member */
	struct muster_barrier *next;
};

struct muster_barrier_set {
	const int *members; /* ranks, ascending; borrowed. A member is named by its index here */
	size_t count;
	double *last_heartbeat_ms;        /* of each member */
	struct muster_barrier_id *latest; /* that each member has entered; barriers are entered in one order */
	double silence_ms;
	double limit_ms;                 /* when a barrier is complete with the members that have entered ... */
	double record_limit_ms;          /* ... and the same for the last barrier of the run */
	double scanned_ms;               /* time of the last search for silent members */
	struct muster_barrier *barriers; /* open ones, and complete ones that some member has not entered */
	struct muster_barrier_id over;   /* the last one of those: none before it can get a further entry */
	/* Called once for each barrier, when that barrier is complete. */
	void (*complete)(void *arg, struct muster_barrier *barrier, double now_ms);
	/* Called for a member that enters a complete barrier. */
	void (*late_entry)(void *arg, struct muster_barrier *barrier, size_t member);
	void *arg;
};

void muster_barrier_set_init(struct muster_barrier_set *set, const int *members, size_t count, double now_ms);
void muster_barrier_set_done(struct muster_barrier_set *set);

/* The member's index, or -1. */
int muster_barrier_member(const struct muster_barrier_set *set, int rank);

/* A message came from this rank. Ranks that are not members are ignored, here and below. */
void muster_barrier_heartbeat(struct muster_barrier_set *set, int rank, double now_ms);

/* A member has died. */
void muster_barrier_lost(struct muster_barrier_set *set, int rank);
bool muster_barrier_is_dead(const struct muster_barrier_set *set, size_t member, double now_ms);

/* A member enters. A second entry of the same member is ignored. The bytes are copied. */
void muster_barrier_enter(struct muster_barrier_set *set, struct muster_barrier_id id, int rank, const char *bytes,
	size_t length, double now_ms);

/* Complete the barriers that every living member has entered, and those whose limit has passed. */
void muster_barrier_poll(struct muster_barrier_set *set, double now_ms);

/* When to call muster_barrier_poll next, if no message comes before; infinity: not at all. */
double muster_barrier_next(const struct muster_barrier_set *set, double now_ms);

#endif

/* barrier.h - where several ranks wait for each other, each with a deadline
 *
 * Members enter with a payload; when all have entered the barrier is complete, and its owner is told who entered with
 * what. A member that lives is waited for until the run's own limit; one that was silent for the set's silence_ms is
 * dead and not waited for, and neither is a member that is further on already. A node's leader owns barriers for the
 * ranks of its node, rank 0 owns them for the leaders.
 */
#ifndef MUSTER_COORD_BARRIER_H
#define MUSTER_COORD_BARRIER_H

#include "coord/message.h"

struct muster_barrier_entry {
	bool here;
	char *bytes; /* malloc'd, NUL-terminated; NULL before it is here and after the barrier was complete */
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
	const int *members; /* their ranks, ascending; borrowed */
	size_t count;
	double *last_heartbeat_ms;        /* of each member */
	struct muster_barrier_id *latest; /* that each member has entered; it will enter no earlier one any more */
	double silence_ms;
	double limit_ms;        /* when a barrier is complete with those that are there ... */
	double record_limit_ms; /* ... but for the last barrier of the run */
	double scanned_ms;      /* when it was last seen who is silent */
	struct muster_barrier *barriers;
	/* Called once for each barrier, when it is complete. */
	void (*complete)(void *arg, struct muster_barrier *barrier, double now_ms);
	/* Called for a member that enters a complete one. */
	void (*late_entry)(void *arg, struct muster_barrier *barrier, size_t member, double now_ms);
	void *arg;
};

void muster_barrier_set_init(struct muster_barrier_set *set, const int *members, size_t count, double now_ms);
void muster_barrier_set_done(struct muster_barrier_set *set);

/* The member's index, or -1. */
int muster_barrier_member(const struct muster_barrier_set *set, int rank);

/* Something came from this rank. Ranks that are no members are ignored, here and below. */
void muster_barrier_heartbeat(struct muster_barrier_set *set, int rank, double now_ms);

/* A member has died. */
void muster_barrier_lost(struct muster_barrier_set *set, int rank);
bool muster_barrier_is_dead(const struct muster_barrier_set *set, size_t member, double now_ms);

/* A member enters. A second entry of the same member is ignored. The bytes are copied. */
void muster_barrier_enter(struct muster_barrier_set *set, struct muster_barrier_id id, int rank, const char *bytes,
	size_t length, double now_ms);

/* Complete what every living member has entered, and what is overdue. */
void muster_barrier_poll(struct muster_barrier_set *set, double now_ms);

/* When muster_barrier_poll has something to do, if nothing comes before: a moment, or infinity. */
double muster_barrier_next(const struct muster_barrier_set *set, double now_ms);

#endif

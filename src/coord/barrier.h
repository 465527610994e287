/* barrier.h - where several wait for each other, each with a deadline
 *
 * Members arrive with a payload; when all have arrived the barrier settles: its barriers is told who came with what. A
 * member that is alive is waited for until the run's own limit; one that has been silent for MUSTER_SILENCE_MS is dead
 * and not waited for. A leader keeps barriers for the ranks of its node, rank 0 keeps them for the leaders.
 */
#ifndef MUSTER_COORD_BARRIER_H
#define MUSTER_COORD_BARRIER_H

#include <stdbool.h>
#include <stddef.h>

struct muster_barrier_entry {
	bool here;
	char *bytes; /* malloc'd, NUL-terminated; NULL until it arrived */
	size_t length;
};

/* Supervisors serve all the time and send a sign of life every second. */
#define MUSTER_HEARTBEAT_EVERY_MS 1000
#define MUSTER_SILENCE_MS 15000

struct muster_barrier {
	int id;
	bool completed;
	bool begun;                           /* somebody has arrived */
	struct muster_barrier_entry *entries; /* one for each member */
	struct muster_barrier *next;
};

struct muster_barrier_set {
	const int *members; /* their ranks; borrowed */
	size_t count;
	double *last_heartbeat_ms; /* when each was last heard of */
	double limit_ms;           /* when a barrier settles with those who are there ... */
	int last_gate;             /* ... but for the last barrier of the run, which has */
	double last_limit_ms;
	struct muster_barrier *barriers;
	/* Called once for each barrier, when it settles. */
	void (*complete)(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier);
	/* Called for a member that arrives at a barrier that has completed. */
	void (*late_entry)(
		void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier, size_t member);
	void *arg;
};

void muster_barrier_set_init(struct muster_barrier_set *barriers, const int *members, size_t count, double limit_ms);
void muster_barrier_set_done(struct muster_barrier_set *barriers);

/* The member's place in members, or -1. */
int muster_barrier_set_index(const struct muster_barrier_set *barriers, int rank);

/* A sign of life. Ranks that are no members are ignored, here and below. */
void muster_barrier_set_heartbeat(struct muster_barrier_set *barriers, int rank);

/* A member has died. */
void muster_barrier_set_lost(struct muster_barrier_set *barriers, int rank);

/* A member has arrived. */
void muster_barrier_set_enter(
	struct muster_barrier_set *barriers, int barrier, int rank, const char *bytes, size_t length);

/* Settle what is complete, whose missing members are dead, or what is overdue. */
void muster_barrier_set_poll(struct muster_barrier_set *barriers, double now_ms);

#endif

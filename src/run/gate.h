/* gate.h - where several wait for each other, each with a deadline
 *
 * Members arrive with a payload; when all have arrived the gate settles: its keeper is told who came with what. A
 * member that is alive is waited for until the run's own limit; one that has been silent for MUSTER_SILENCE_MS is dead
 * and not waited for. A leader keeps gates for the ranks of its node, rank 0 keeps them for the leaders.
 */
#ifndef MUSTER_RUN_GATE_H
#define MUSTER_RUN_GATE_H

#include <stdbool.h>
#include <stddef.h>

struct muster_arrival {
	bool here;
	char *bytes; /* malloc'd, NUL-terminated; NULL until it arrived */
	size_t length;
};

/* Supervisors serve all the time and send a sign of life every second. */
#define MUSTER_ALIVE_EVERY_MS 1000
#define MUSTER_SILENCE_MS 15000

struct muster_gate {
	int id;
	bool settled;
	bool begun;                      /* somebody has arrived */
	struct muster_arrival *arrivals; /* one for each member */
	struct muster_gate *next;
};

struct muster_keeper {
	const int *members; /* their ranks; borrowed */
	size_t count;
	double *heard_ms; /* when each was last heard of */
	double limit_ms;  /* when a gate settles with those who are there ... */
	int last_gate;    /* ... but for the last gate of the run, which has */
	double last_limit_ms;
	struct muster_gate *gates;
	/* Called once for each gate, when it settles. */
	void (*settle)(void *arg, struct muster_keeper *keeper, struct muster_gate *gate);
	/* Called for a member that arrives at a gate that has settled. */
	void (*too_late)(void *arg, struct muster_keeper *keeper, struct muster_gate *gate, size_t member);
	void *arg;
};

void muster_keeper_init(struct muster_keeper *keeper, const int *members, size_t count, double limit_ms);
void muster_keeper_done(struct muster_keeper *keeper);

/* The member's place in members, or -1. */
int muster_keeper_index(const struct muster_keeper *keeper, int rank);

/* A sign of life. Ranks that are no members are ignored, here and below. */
void muster_keeper_heard(struct muster_keeper *keeper, int rank);

/* A member has died. */
void muster_keeper_lost(struct muster_keeper *keeper, int rank);

/* A member has arrived. */
void muster_keeper_arrive(struct muster_keeper *keeper, int gate, int rank, const char *bytes, size_t length);

/* Settle what is complete, whose missing members are dead, or what is overdue. */
void muster_keeper_poll(struct muster_keeper *keeper, double now_ms);

#endif

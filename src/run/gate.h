/* gate.h - where several wait for each other, each with a deadline
 *
 * Members arrive with a payload; when all have arrived, or the deadline after the first arrival has passed, the gate
 * settles: its keeper is told who came with what. Who missed a gate is not waited for again until it turns up. A leader
 * keeps gates for the ranks of its node, rank 0 keeps them for the leaders.
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

struct muster_gate {
	int id;
	bool settled;
	double until_ms;                 /* since the first arrival; 0 before it */
	struct muster_arrival *arrivals; /* one for each member */
	struct muster_gate *next;
};

struct muster_keeper {
	const int *members; /* their ranks; borrowed */
	size_t count;
	bool *late;
	struct muster_gate *gates;
	/* Called once for each gate, when it settles. */
	void (*settle)(void *arg, struct muster_keeper *keeper, struct muster_gate *gate);
	/* Called for a member that arrives at a gate that has settled. */
	void (*too_late)(void *arg, struct muster_keeper *keeper, struct muster_gate *gate, size_t member);
	void *arg;
};

void muster_keeper_init(struct muster_keeper *keeper, const int *members, size_t count);
void muster_keeper_done(struct muster_keeper *keeper);

/* The member's place in members, or -1. */
int muster_keeper_index(const struct muster_keeper *keeper, int rank);

/* A member has arrived. timeout_ms counts from the first arrival. Ranks that are no members are ignored. */
void muster_keeper_arrive(
	struct muster_keeper *keeper, int gate, int rank, int timeout_ms, const char *bytes, size_t length);

/* Settle what is complete or overdue. */
void muster_keeper_poll(struct muster_keeper *keeper, double now_ms);

size_t muster_gate_here(const struct muster_keeper *keeper, const struct muster_gate *gate);

#endif

/* transport_loop.h - a whole job inside one process, on a virtual clock, for tests
 *
 * Each rank is a function that runs on a stack of its own and gives the processor away only where it waits. Time
 * stands still while a rank runs and then jumps to the next event, so that a run with deadlines of minutes takes
 * milliseconds, and the same inputs always give the same run. Hooks decide how long each message takes, whether it
 * comes twice, and who dies or stops when.
 */
#ifndef MUSTER_TRANSPORT_TRANSPORT_LOOP_H
#define MUSTER_TRANSPORT_TRANSPORT_LOOP_H

#include "transport/transport.h"

#include <stdint.h>

struct muster_loop;

struct muster_loop_hooks {
	/* A message begins its way. Returns how many milliseconds it takes; messages of one sender to one receiver keep
	 * their order all the same. *copies: how often it comes (1; 0: lost). NULL: every message takes 0.1 ms. */
	double (*send)(void *arg, int from, int to, int tag, size_t length, int *copies);
	/* Each turn of a rank, after it waited: how long the rank stands still before it runs (0: not at all), or a
	 * negative number: it dies here. NULL: never. */
	double (*turn)(void *arg, int rank);
	void *arg;
	bool tells_of_deaths; /* as sockets do: rank 0 gets MUSTER_TAG_PEER_DIED, and ranks of a dead rank 0 die too */
};

/* Stacks have stack_bytes each (0: 256 KiB); memory is only used where a stack was touched. */
struct muster_loop *muster_loop_new(int size, size_t stack_bytes, const struct muster_loop_hooks *hooks);
void muster_loop_free(struct muster_loop *loop);

/* The rank's end, with its clock; belongs to the loop. */
struct muster_transport *muster_loop_endpoint(struct muster_loop *loop, int rank);

/* Run main(arg, rank) for every rank, from start_ms[rank] on (NULL: all from 0), until all have returned. The virtual
 * time at the end. */
double muster_loop_run(struct muster_loop *loop, const double *start_ms, void (*main)(void *arg, int rank), void *arg);

/* A rank dies: nothing that it sends counts any more, nothing reaches it. Its function still runs to its end, without
 * the others noticing, so that what it holds is freed: its clock then shows a moment after every deadline. */
void muster_loop_kill(struct muster_loop *loop, int rank);
bool muster_loop_is_dead(const struct muster_loop *loop, int rank);

/* Let a rank's wait end at this time at the latest: what a test's worker has to say comes then. */
void muster_loop_wake(struct muster_loop *loop, int rank, double at_ms);

double muster_loop_now(const struct muster_loop *loop);
/* Messages that were sent, and turns of ranks. */
uint64_t muster_loop_messages(const struct muster_loop *loop);
uint64_t muster_loop_turns(const struct muster_loop *loop);
/* The longest that one turn of the rank took, in milliseconds of the machine's clock. */
double muster_loop_longest_turn_ms(const struct muster_loop *loop, int rank);

#endif

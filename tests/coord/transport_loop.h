/* SPDX-License-Identifier: Apache-2.0 */
/* transport_loop.h - a whole job inside one process, with a virtual clock
 *
 * Each rank is a function with a stack of its own, and another rank runs only while it waits. Time does not advance
 * while a rank runs, and then jumps to the next event: a run with deadlines of minutes takes milliseconds, and the same
 * inputs always give the same run. Hooks decide how long each message takes, whether it comes twice, and which rank
 * dies or pauses when.
 */
#ifndef MUSTER_TESTS_COORD_TRANSPORT_LOOP_H
#define MUSTER_TESTS_COORD_TRANSPORT_LOOP_H

#include "transport/transport.h"

#include <stdint.h>

struct muster_loop;

struct muster_loop_memory { /* bytes that the process has allocated now, and the most; for who replaces malloc */
	size_t now, peak;
};

struct muster_loop_hooks {
	/* A message is sent. Returns how many milliseconds it takes; messages of one sender to one receiver keep their
	 * order all the same. *copies: how often it arrives (1; 0: lost). NULL: every message takes 0.1 ms. */
	double (*send)(void *arg, int from, int to, int tag, size_t length, int *copies);
	/* Each turn of a rank, after a wait: how long the rank pauses before it runs (0: not at all), or a negative
	 * number: it dies here. NULL: never. */
	double (*turn)(void *arg, int rank);
	void *arg;
	struct muster_loop_memory *memory; /* NULL: not counted */
	bool tells_of_deaths; /* as sockets do: rank 0 gets MUSTER_TAG_PEER_DIED, and all ranks die with rank 0 */
};

/* Stacks have stack_bytes each (0: 256 KiB); memory is only used where a stack was touched. */
struct muster_loop *muster_loop_new(int size, size_t stack_bytes, const struct muster_loop_hooks *hooks);
void muster_loop_free(struct muster_loop *loop);

/* The rank's transport, with its clock; belongs to the loop. */
struct muster_transport *muster_loop_endpoint(struct muster_loop *loop, int rank);

/* Run main(arg, rank) for every rank, from start_ms[rank] on (NULL: all from 0), until all have returned. The virtual
 * time at the end. */
double muster_loop_run(struct muster_loop *loop, const double *start_ms, void (*main)(void *arg, int rank), void *arg);

/* A rank dies: its messages are dropped, and so are messages to it. Its function still runs to its end, unseen by the
 * others, so that its memory is freed: its clock then shows a time after every deadline. */
void muster_loop_kill(struct muster_loop *loop, int rank);
bool muster_loop_is_dead(const struct muster_loop *loop, int rank);

/* End the rank's wait at this time at the latest: a line of its worker in a test is due then. */
void muster_loop_wake(struct muster_loop *loop, int rank, double at_ms);

double muster_loop_now(const struct muster_loop *loop);
/* Messages that were sent, and turns of ranks. */
uint64_t muster_loop_messages(const struct muster_loop *loop);
uint64_t muster_loop_turns(const struct muster_loop *loop);
/* The longest turn of rank 0, in milliseconds of CPU time. */
double muster_loop_longest_turn_ms(const struct muster_loop *loop);
/* The most bytes that rank 0 had: what it allocated in its turns, and the messages to it that it had not taken yet. */
size_t muster_loop_memory_peak(const struct muster_loop *loop);
/* In a turn of rank 0: what comes now is the test's own work, until it is counted again. */
void muster_loop_turn_pause(struct muster_loop *loop);
void muster_loop_turn_count(struct muster_loop *loop);

#endif

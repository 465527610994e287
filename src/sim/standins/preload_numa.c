/* SPDX-License-Identifier: Apache-2.0 */
/* preload_numa.c - how long threads of a simulated worker take to pass over memory
 *
 * Memory is never really bound, and its real speed says nothing about the scenario: each thread that works on memory
 * of a NUMA node gets an equal part of the bandwidth of that node.
 *
 * A thread tells by mbind() how much memory of which NUMA node it works on. It reads CLOCK_MONOTONIC_RAW before and
 * after each pass over this memory (STREAM's triad does), and each reading adds the time of one pass to the thread's
 * own clock:
 *
 *   bytes / (triad_gbps * 1e9 / threads on this NUMA node)
 *
 * So the difference of two readings is one pass, whatever the real memory does. The main thread is not counted, and its
 * clock has no such time.
 */

#include "sim/standins/preload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum { NUMAS_MAX = 64 };

static atomic_int threads_of[NUMAS_MAX]; /* that have bound memory and go on, by the place in the scenario's list */

static _Thread_local struct {
	bool bound;
	size_t numa; /* the last one */
	size_t bytes;
	double passed_s;
} own;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_end;

/* The thread ends. The value is its NUMA node's place, from 1: the destructor sees no thread-local variable for sure.
 */
static void leave(void *place)
{
	atomic_fetch_sub(&threads_of[(uintptr_t)place - 1], 1);
}

static void make_key(void)
{
	if (pthread_key_create(&at_end, leave) != 0)
		muster_standin_end("no key for what ends with a thread");
}

/* A thread that binds memory of another NUMA node counts for the new one alone, with all the bytes that it has bound.
 */
void muster_standin_numa_bound(int numa_node, size_t bytes)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	size_t numa = 0;
	if (gettid() == getpid())
		return;
	while (numa < node->numa_count && node->numas[numa].os_index != numa_node)
		numa++;
	if (numa >= node->numa_count || numa >= NUMAS_MAX)
		return;
	pthread_once(&once, make_key);
	if (own.bound)
		atomic_fetch_sub(&threads_of[own.numa], 1);
	atomic_fetch_add(&threads_of[numa], 1);
	pthread_setspecific(at_end, (void *)(uintptr_t)(numa + 1));
	own.bound = true;
	own.numa = numa;
	own.bytes += bytes;
}

double muster_standin_numa_passed(void)
{
	if (!own.bound)
		return 0;
	double rate = muster_sim_this_node()->numas[own.numa].triad_gbps * 1e9 / atomic_load(&threads_of[own.numa]);
	if (rate > 0)
		own.passed_s += (double)own.bytes / rate;
	return own.passed_s;
}

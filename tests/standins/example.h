/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - a small simulated cluster for the tests of the stand-ins: two nodes with two GPUs and two ranks each
 */
#ifndef MUSTER_TESTS_EXAMPLE_H
#define MUSTER_TESTS_EXAMPLE_H

#include "sim/cluster.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXAMPLE_NODES 2
#define EXAMPLE_GPUS 4 /* on node 0; node 1 has as many */
#define EXAMPLE_RANKS 8

/* The cluster lives in static memory and may be changed before it is written. */
struct muster_sim_cluster *example_cluster(void);

/* Make a temporary directory, write the cluster's cluster.json there and point the environment at it, as rank. */
void example_start(struct muster_sim_cluster *cluster, int rank);
/* Fail if anything but cluster.json is left in the directory, and remove it. */
void example_end(void);

/* dlopen a stand-in by its soname, and find a function in it (NULL: fail the test). */
void *example_open(const char *soname);
void example_find(void *library, const char *name, void *ret, size_t size);

/* Run this program again with libmuster-preload.so, as `PROGRAM NAME`; it must exit with 0. */
void example_preloaded(const char *name);
/* What such a program checks with: there is no Check there. */
#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* Run rank_main once for each rank 0 .. count - 1, each in a process of its own; all must exit with 0. */
void example_ranks(int count, void (*rank_main)(int rank, void *arg), void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slowest.h - the slowest ranks of a run by each of its own times and speeds */
#ifndef MUSTER_REPORT_SLOWEST_H
#define MUSTER_REPORT_SLOWEST_H

#include "muster/sample.h"

struct muster_node;
struct muster_rank;
struct muster_run;

enum { MUSTER_SLOWEST_SHOWN = 5, MUSTER_SLOWEST_FIGURES = 8 };

struct muster_slow_rank {
	const struct muster_node *node;
	const struct muster_rank *rank;
	double value; /* of its slowest exchange, where it has several */
};

struct muster_slowest {
	const struct muster_metric *metric;
	const struct muster_shown *as;                       /* in MUSTER_SHOWN_SLOWEST */
	struct muster_slow_rank ranks[MUSTER_SLOWEST_SHOWN]; /* the slowest one first */
	size_t count;
	size_t all;  /* ranks that have a value */
	size_t slow; /* of those shown, ranks that are more than 2 % slower than the fastest one: 0 where none differs
		      */
	double fastest;
};

/* Figures that at least two ranks have, at most MUSTER_SLOWEST_FIGURES. Returns how many. The ranks are the run's.
 * O(n). */
size_t muster_slowest_find(const struct muster_run *run, struct muster_slowest ret[MUSTER_SLOWEST_FIGURES]);

/* The slow ones: "16 rank 1 (gpu-1 GPU 1), 15 rank 6 (gpu-1 GPU 6), fastest 10"; malloc'd. Names of nodes are as the
 * machine gave them. */
char *muster_slowest_text(const struct muster_slowest *slowest);

#endif

/* slowest.h - the slowest ranks of a run by each of its own times and speeds */
#ifndef MUSTER_REPORT_SLOWEST_H
#define MUSTER_REPORT_SLOWEST_H

#include "muster/run.h"

enum { MUSTER_SLOWEST_SHOWN = 5, MUSTER_SLOWEST_FIGURES = 6 };

struct muster_slow_rank {
	const struct muster_node *node;
	const struct muster_rank *rank;
	double value; /* of its slowest exchange, where it has several */
};

struct muster_slowest {
	const char *title, *unit;
	struct muster_slow_rank ranks[MUSTER_SLOWEST_SHOWN]; /* the slowest one first */
	size_t count;
	size_t all;    /* ranks that have a value */
	double spread; /* how much slower the slowest one is than the fastest one; 0.1 is 10 % */
};

/* Figures that at least two ranks have. Returns how many. The ranks are the run's. O(n). */
size_t muster_slowest_find(const struct muster_run *run, struct muster_slowest ret[MUSTER_SLOWEST_FIGURES]);

#endif

/* floors.h - what a metric of the whole job must reach, as plain numbers
 *
 * For code that must know during the run whether a measurement is good enough to go on. Judging is evaluate's business.
 */
#ifndef MUSTER_EVAL_FLOORS_H
#define MUSTER_EVAL_FLOORS_H

#include "eval/select.h"

#include <stdint.h>

struct muster_floor {
	uint64_t bytes; /* of a message; 0: of any */
	double least;   /* in the metric's unit */
};

struct muster_floors {
	struct muster_floor *items; /* malloc'd; the caller frees */
	size_t count;
};

/* The `min` of each check on this metric that can fail and that applies to a run of these nodes, ranks and this
 * profile. What the machine is, where choice does not name it, is taken from the run's samples. Never fails: a machine
 * that is not known has no floors. */
struct muster_floors muster_selection_floors(
	const struct muster_selection *choice, const struct muster_run *run, const char *metric);

#endif

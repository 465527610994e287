/* floors.h - what rings must reach to pass their checks, as plain numbers
 */
#ifndef MUSTER_EVAL_FLOORS_H
#define MUSTER_EVAL_FLOORS_H

#include "eval/select.h"
#include "localize/floors.h"

/* Below these values a check on this metric fails or warns: `min` and `warn_below` of each check that applies to a run
 * of these nodes, ranks, NVLink domains and this profile. A share is one of the limit that the run has of its ring of
 * all nodes. expect may be NULL. */
struct muster_floors muster_floors_of_ring(
	const struct muster_expect *expect, const struct muster_run *run, size_t domains, const char *metric);

/* Below these values such a check fails in a run of one node of this run. */
struct muster_floors muster_floors_of_node(
	const struct muster_expect *expect, const struct muster_run *run, const char *metric);

/* Both. What the machine is, where choice does not name it, is taken from the run's samples. Never fails: a machine
 * that is not known has the floors of common.json, or none. */
struct muster_ring_floors muster_selection_floors(
	const struct muster_selection *choice, const struct muster_run *run, size_t domains, const char *metric);

#endif

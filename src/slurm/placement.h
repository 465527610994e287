/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h - which nodes are in which switch or block, as far as Slurm has said it */
#ifndef MUSTER_SLURM_PLACEMENT_H
#define MUSTER_SLURM_PLACEMENT_H

#include <stddef.h>

struct muster_run;

struct muster_node_block {
	const char *name; /* "s0.s1", the run's; NULL: of these nodes it is not known */
	char *nodes;      /* a host list */
};

struct muster_placement {
	struct muster_node_block *places; /* by name, that without one last; none when no node's place is known */
	size_t count;
};

/* The placement borrows names from the run. */
void muster_placement_make(const struct muster_run *run, struct muster_placement *ret);
void muster_placement_done(struct muster_placement *placement);

#endif

/* triad.h - the bandwidth of the host's memory: one thread on each core, all NUMA nodes at once
 */
#ifndef MUSTER_PROBES_HOST_MEMORY_TRIAD_H
#define MUSTER_PROBES_HOST_MEMORY_TRIAD_H

#include "muster/error.h"

#include <hwloc.h>
#include <stdint.h>

/* A NUMA node that has CPUs and memory. */
struct muster_triad_part {
	hwloc_obj_t node;
	size_t cores;         /* of the NUMA node, whether this process may use them or not */
	uint64_t array_bytes; /* of each of the three arrays */
	double gbps;          /* result: best round; of no meaning where why is not "" */
	char why[256];        /* why there is no result */
};

struct muster_triad {
	hwloc_topology_t topology;
	struct muster_triad_part *parts;
	size_t part_count;
	double gbps; /* result: of all parts together, best round; where no part has a why */
};

/* How many threads a NUMA node gets: one for each core. */
size_t muster_triad_cores(hwloc_topology_t topology, hwloc_obj_t node);

/* Measure with arrays of array_bytes on each part whose why is ""; takes about half a second. A part that fails gets a
 * why, and the others go on. */
void muster_triad_measure(struct muster_triad *triad);

#endif

/* pinned.h - host memory on a chosen NUMA node that the GPU's copy engine can reach */
#ifndef MUSTER_BIND_PINNED_H
#define MUSTER_BIND_PINNED_H

#include "bind/cuda.h"
#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_pinned {
	void *data;
	size_t bytes;
	int numa_node;   /* where its pages must lie; -1: wherever the kernel put them */
	char why[256];   /* why numa_node is -1; else "" */
	bool registered; /* the driver has pinned it */
	bool bound;      /* hwloc allocated it */
};

/* The NUMA node nearest to a PCI device among those with CPUs and memory, from sysfs under root. A kernel that does not
 * know (numa_node -1) is MUSTER_ENOTSUPPORTED. */
int muster_numa_near(const char *root, const char *bus_id, int *ret_node, struct muster_error *err);

/* Allocate bytes of zeroed memory bound to numa_node (-1: unbound, why says so), touch every page, and pin it for the
 * current context. Memory that cannot be bound is still given, unbound, with the reason in why. */
int muster_pinned_alloc(const struct muster_cuda *cuda, size_t bytes, int numa_node, struct muster_pinned *ret,
	struct muster_error *err);
void muster_pinned_free(const struct muster_cuda *cuda, struct muster_pinned *pinned); /* half-made is fine */

#endif

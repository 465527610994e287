/* SPDX-License-Identifier: Apache-2.0 */
/* pinned.h - host memory on a device's NUMA node that the GPU's copy engine can reach
 *
 * Life cycle: memory of whole pages, bound to the NUMA node (hwloc, mbind), touched, registered with the driver for all
 * contexts (PORTABLE), used, unregistered, unmapped. The driver pins pages by itself, so that RLIMIT_MEMLOCK does not
 * count. In containers that forbid mbind the kernel places the pages where the thread runs that touches them first,
 * which is near the GPU as well after the worker has bound itself.
 */
#ifndef MUSTER_VENDOR_PINNED_H
#define MUSTER_VENDOR_PINNED_H

#include "vendor/cuda.h"
#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_pinned {
	void *data;
	size_t bytes;
	int numa_node;                   /* where its pages lie; -1: wherever the kernel put them */
	char why[MUSTER_ERROR_TEXT_MAX]; /* why numa_node is -1; else "" */
	bool registered;                 /* the driver has pinned it */
	bool bound;                      /* hwloc allocated it */
};

/* How large a buffer is that has so many bytes to reach the rate of a copy engine: a simulated GPU has its rates at any
 * size, and the pages are those of this machine. */
size_t muster_pinned_bytes(size_t bytes);

/* Allocate bytes of zeroed memory on the NUMA node with CPUs that is nearest to a GPU, and pin it for the current
 * context. root is the prefix of /sys. Memory that cannot be placed there is still given, with the reason in why. */
int muster_pinned_alloc(const struct muster_cuda *cuda, size_t bytes, const char *root, const char *bus_id,
	struct muster_pinned *ret, struct muster_error *err);
void muster_pinned_free(const struct muster_cuda *cuda, struct muster_pinned *pinned); /* half-made is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* memory_left.h - how much memory, and the time of how many CPUs, a process may still use
 *
 * Memory that only holds parts of files counts as free: the kernel takes it back when it is needed.
 */
#ifndef MUSTER_SYSTEM_MEMORY_LEFT_H
#define MUSTER_SYSTEM_MEMORY_LEFT_H

#include "muster/error.h"

#include <stdint.h>

/* Of the node and of each cgroup (version 1 or 2) that this process is in: the least. root is the prefix of /proc and
 * /sys. -1 with err when the node's own memory is not known. */
int muster_memory_left(const char *root, uint64_t *ret_bytes, struct muster_error *err);

/* Of one NUMA node. */
int muster_memory_left_on(const char *root, unsigned int numa_node, uint64_t *ret_bytes, struct muster_error *err);

/* The time of how many CPUs the control groups leave to this process at once; 0: they do not limit it. */
double muster_cgroup_cpus(const char *root);

#endif

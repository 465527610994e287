/* SPDX-License-Identifier: Apache-2.0 */
/* fs.h - write a simulated cluster as files: cluster.json, and for each node a root that looks like its / */
#ifndef MUSTER_SIM_FS_H
#define MUSTER_SIM_FS_H

#include "sim/hardware.h"

#include <stdio.h>

/* Write everything under cluster->directory, which exists and is empty:
 *
 *   cluster.json                       what the stand-ins know of the machine; written last
 *   sim-1/sys, proc, etc, dev, ...     the root of each node, under node->directory
 *   sim-1/topology.xml                 the node for hwloc
 *   sim-1/metadata.json                the answer of the instance metadata service
 *
 * Counters stay as they are at the start: NCCL's stand-in adds their increase. -1 with err after the first failure. */
int muster_sim_generate(
	const struct muster_sim_cluster *cluster, const struct muster_sim_hardware *hardware, struct muster_error *err);

/* The node as hwloc 2 would export it: packages, NUMA nodes, cores, and the PCI devices as a guest on Hyper-V sees
 * them, each behind a host bridge of its own. */
void muster_sim_topology_print(
	const struct muster_sim_node *node, const struct muster_sim_hardware *hardware, FILE *out);

/* The paths of the applications' folder that may be missing on a node, or have another content: a folder, a folder
 * in it, and a file in the inner folder. */
extern const char *const muster_sim_paths[3];

/* The PCI ids of a device of the hardware; those of an InfiniBand adapter for one that only a fault put there. */
const struct muster_sim_pci *muster_sim_pci_find(const struct muster_sim_hardware *hardware, const char *bus_id);

#endif

/* fs.h - write a simulated cluster as files: cluster.json, and for each node a root that looks like its / */
#ifndef MUSTER_SIM_FS_H
#define MUSTER_SIM_FS_H

#include "sim/hardware.h"

#include <stdio.h>

/* Write everything under cluster->directory, which exists and is empty. Counters stay as they are at the start: NCCL's
 * stand-in adds their increase. */
int muster_sim_generate(
	const struct muster_sim_cluster *cluster, const struct muster_sim_hardware *hardware, struct muster_error *err);

/* The node as hwloc 2 would export it: packages, NUMA nodes, cores, and the PCI devices as a guest on Hyper-V sees
 * them, each behind a host bridge of its own. */
void muster_sim_topology_print(
	const struct muster_sim_node *node, const struct muster_sim_hardware *hardware, FILE *out);

/* The node as an NCCL topology file: each NUMA node's CPUs, and behind a bridge that no machine has, its GPUs and
 * InfiniBand adapters. With node->topo_file_swapped, what hangs on the first two NUMA nodes has changed places. */
void muster_sim_topo_file_print(
	const struct muster_sim_node *node, const struct muster_sim_hardware *hardware, FILE *out);

/* The paths of the applications' folder that may be missing on a node, or have another content: a folder, a folder
 * in it, and a file in the inner folder. */
extern const char *const muster_sim_paths[3];

/* One more than the node's highest CPU number. */
unsigned int muster_sim_cpu_end(const struct muster_sim_node *node);

/* A mask as sysfs prints it: words of 32 bits for each of so many CPUs, highest first. */
void muster_sim_mask_print(hwloc_const_bitmap_t set, unsigned int cpus, FILE *out);

/* The PCI ids of a device of the hardware; those of an InfiniBand adapter for one that only a fault put there. */
const struct muster_sim_pci *muster_sim_pci_find(const struct muster_sim_hardware *hardware, const char *bus_id);

#endif

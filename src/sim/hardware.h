/* SPDX-License-Identifier: Apache-2.0 */
/* hardware.h - one healthy node of a machine type, as src/sim/hardware/<SKU>.json describes it
 *
 * launch.c reads a description once, before the cluster is made; scenario.c makes each node a copy of `node`; fs.c
 * takes the PCI ids. The parts of a file, and where they go:
 *
 *   "host", "software"    fields of `node` with the part HOST or SOFTWARE (cluster.h)
 *   "numa_nodes"          node.numas
 *   "disks", "scratch"    node.disks, scratch
 *   "gpu"                 node.gpus: what all GPUs have in common, and under "devices" bus id and NUMA node of each
 *   "adapters"            node.ports: the same, for each kind of RDMA adapter
 *   "counters"            names of the error counters that every port has
 *   "nccl", "allreduce"   how NCCL's log calls the ways of the data; measured bus bandwidths
 *   "rack_nodes"          rack_nodes
 */
#ifndef MUSTER_SIM_HARDWARE_H
#define MUSTER_SIM_HARDWARE_H

#include "sim/cluster.h"

#include <hwloc.h>

/* What sysfs shows of a PCI device besides its place: texts as the kernel prints them ("0x10de"). */
struct muster_sim_pci {
	const char *bus_id;
	const char *class_code, *vendor, *device;
};

struct muster_sim_hardware {
	const char *sku;
	struct muster_sim_node node; /* without what tells one node from another: names, UUIDs, GUIDs, LIDs, GIDs */
	struct muster_sim_volume scratch; /* as much of it as is described */
	struct muster_sim_pci *pci;       /* of the GPUs, then of the adapters */
	size_t pci_count;
	int rack_nodes; /* so many nodes have one NVLink fabric; 0: NVLink ends at the node */
	const char *intra_transport, *inter_transport;
	struct muster_sim_bandwidth *bandwidths;
	size_t bandwidth_count;
};

/* Read the description of a SKU from its file under directory, and the one that it extends; everything lives in arena.
 * An unknown SKU, an unknown or missing key and a contradiction (a GPU on a NUMA node that is not there) are
 * MUSTER_EUSAGE. */
int muster_sim_hardware_read(const char *directory, const char *sku, struct muster_arena *arena,
	struct muster_sim_hardware *ret, struct muster_error *err);

/* The CPUs of one NUMA node of the node, by its os_index (-1: of all of them); the caller frees the set. */
hwloc_bitmap_t muster_sim_cpus(const struct muster_sim_node *node, int numa_node);

/* A mask as srun's mask_cpu takes it, with at least one CPU, and none that the node has not. */
int muster_sim_mask_check(const struct muster_sim_node *node, const char *mask, struct muster_error *err);

#endif

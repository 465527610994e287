/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_topo.h - what an NCCL topology file (NCCL_TOPO_FILE) says of NUMA nodes and GPUs */
#ifndef MUSTER_VENDOR_NCCL_TOPO_H
#define MUSTER_VENDOR_NCCL_TOPO_H

#include "muster/error.h"

#include "util/cpuset.h"

enum {
	MUSTER_NCCL_TOPO_NODES_MAX = 64,
	MUSTER_NCCL_TOPO_GPUS_MAX = 128,
	MUSTER_NCCL_TOPO_BYTES_MAX = 1 << 20,
	MUSTER_NCCL_TOPO_DEPTH_MAX = 32,
};

struct muster_nccl_topo_node {
	int numa_node;       /* -1: the file does not know */
	hwloc_bitmap_t cpus; /* NULL: the file does not say */
};

struct muster_nccl_topo_gpu {
	char bus_id[32]; /* sysfs form */
	int numa_node;   /* of the node that it is listed under; -1: none */
};

struct muster_nccl_topo {
	struct muster_nccl_topo_node nodes[MUSTER_NCCL_TOPO_NODES_MAX];
	size_t node_count;
	/* and devices of which the file does not say what they are */
	struct muster_nccl_topo_gpu gpus[MUSTER_NCCL_TOPO_GPUS_MAX];
	size_t gpu_count;
};

/* Read the XML text, which need not end in NUL. -1 with err: MUSTER_ELIB when built without expat, MUSTER_EUSAGE and
 * the line for a text that is no such file, is beyond a limit or has a DOCTYPE. The caller releases ret with
 * muster_nccl_topo_done. */
int muster_nccl_topo_parse(const char *text, size_t length, struct muster_nccl_topo *ret, struct muster_error *err);
void muster_nccl_topo_done(struct muster_nccl_topo *topo);

#endif

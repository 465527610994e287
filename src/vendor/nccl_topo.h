/* nccl_topo.h - what an NCCL topology file (NCCL_TOPO_FILE) says of NUMA nodes and GPUs */
#ifndef MUSTER_VENDOR_NCCL_TOPO_H
#define MUSTER_VENDOR_NCCL_TOPO_H

#include "util/text.h"
#include "muster/error.h"

#define MUSTER_NCCL_TOPO_NODES_MAX 64
#define MUSTER_NCCL_TOPO_GPUS_MAX 128

struct muster_nccl_topo_node {
	int numa_node; /* -1: the file does not know */
	bool has_cpus;
	struct muster_cpuset cpus; /* when has_cpus */
};

struct muster_nccl_topo_gpu {
	char bus_id[32]; /* sysfs form */
	int numa_node;   /* of the node that it is listed under; -1: none */
};

struct muster_nccl_topo {
	struct muster_nccl_topo_node nodes[MUSTER_NCCL_TOPO_NODES_MAX];
	size_t node_count;
	struct muster_nccl_topo_gpu gpus[MUSTER_NCCL_TOPO_GPUS_MAX];
	size_t gpu_count;
};

/* Read the XML text, which need not end in NUL. -1 with err: MUSTER_ELIB when built without expat, MUSTER_EUSAGE for a
 * text that is no such file. */
int muster_nccl_topo_parse(const char *text, size_t length, struct muster_nccl_topo *ret, struct muster_error *err);

/* A CPU mask as these files and sysfs have it: words of 32 bits in hex, highest first, separated by commas. */
int muster_cpuset_parse_words(const char *text, struct muster_cpuset *ret, struct muster_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* nvlink_domains.h - the NVLink fabrics of GPUs, and how many NVLink domains a run spans */
#ifndef MUSTER_EVAL_NVLINK_DOMAINS_H
#define MUSTER_EVAL_NVLINK_DOMAINS_H

#include "muster/arena.h"
#include "muster/sample.h"

struct muster_rank;
struct muster_run;

/* The fabric between nodes that the rank's GPU belongs to, as a text that is equal for all GPUs of the fabric; "" when
 * the rank shows none. clique is the metric of a GPU's clique, labelled with its cluster; NULL when there is none. */
const char *muster_nvlink_fabric(
	const struct muster_rank *rank, const struct muster_metric *clique, struct muster_arena *arena);

/* The domains that the ranks of a run span that are not missing: how many, and how many nodes the smallest one has. A
 * node without a fabric is a domain of its own. */
struct muster_nvlink_domains {
	size_t count, fewest_nodes;
};
struct muster_nvlink_domains muster_nvlink_domains_of(const struct muster_run *run, const struct muster_metric *clique);

#endif

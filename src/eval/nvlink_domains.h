/* nvlink_domains.h - the NVLink fabrics of GPUs, and how many NVLink domains a run spans */
#ifndef MUSTER_EVAL_NVLINK_DOMAINS_H
#define MUSTER_EVAL_NVLINK_DOMAINS_H

#include "muster/run.h"

/* The fabric between nodes that the rank's GPU belongs to, as a text that is equal for all GPUs of the fabric; "" when
 * the rank shows none. clique is the metric of a GPU's clique, labelled with its cluster; NULL when there is none. */
const char *muster_nvlink_fabric(
	const struct muster_rank *rank, const struct muster_metric *clique, struct muster_arena *arena);

struct muster_nvlink_member {
	size_t node;        /* of the rank, by index */
	const char *fabric; /* as above */
};

/* How many domains these ranks span; they are sorted. A node without a fabric is a domain of its own. */
size_t muster_nvlink_domains_among(struct muster_nvlink_member *members, size_t count);

/* The same for all ranks of a run that are not missing. */
size_t muster_nvlink_domains_count(const struct muster_run *run, const struct muster_metric *clique);

#endif

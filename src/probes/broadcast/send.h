/* send.h - from the readers' memory to the memory of all receivers */
#ifndef MUSTER_PROBES_BROADCAST_SEND_H
#define MUSTER_PROBES_BROADCAST_SEND_H

#include "probes/broadcast/plan.h"

/* Broadcast each reader's shard, chunk by chunk: from `host` to its GPU, to all other GPUs, and from the receivers'
 * GPUs to their `host`, with all of these at once. host: pinned, plan->bytes bytes; NULL for a rank that passes data on
 * only. *ret_us: from the beginning until this rank has its shard in host memory, by the GPU's clock; of a reader,
 * until it has sent all. Every rank of the ring calls it. */
int muster_broadcast_send(const struct muster_nccl_session *s, const struct muster_broadcast_plan *plan, void *host,
	double *ret_us, struct muster_error *err);

#endif

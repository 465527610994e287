/* SPDX-License-Identifier: Apache-2.0 */
/* send.h - who reads what, and from the readers' memory to the memory of all receivers
 *
 * Device memory is the all-reduce's buffer: the rank's own shard from its beginning on, and behind it one chunk for
 * each of the shards that only pass through, since every rank of a ncclBroadcast has to take part. All shards go at
 * once, in one group for each chunk of 16 MiB.
 *
 *   reader    host --copies--> own shard --event--> NCCL
 *   receiver  NCCL --event--> own shard --copies--> host
 *   others    NCCL, and nothing else
 *
 * All ranks make the same calls, because what decides (shards, readers, bytes, whether anyone has failed) is agreed
 * before.
 */
#ifndef MUSTER_PROBES_BROADCAST_SEND_H
#define MUSTER_PROBES_BROADCAST_SEND_H

#include "probes/nccl/session.h"

/* The data is in shards: of several nodes one for each rank of the first node, and the rank with the same place on each
 * other node receives it, so that all network adapters of the nodes carry data. Of one node there is one shard, which
 * its first rank reads and all others receive. */

#define MUSTER_BROADCAST_SHARDS 16 /* at most */
#define MUSTER_BROADCAST_CHUNK (16 * MIB)

struct muster_broadcast_plan {
	int shards, readers[MUSTER_BROADCAST_SHARDS]; /* readers: numbers in the ring */
	int shard;                                    /* this rank's; -1: it passes data on only */
	bool reads;                                   /* else it receives its shard */
	uint64_t bytes;                               /* of a shard: whole MiB; its room at first */
	uint64_t chunk;                               /* of each shard, that goes at once */
};

/* The same shards and readers on every rank of the ring. bytes: for which all ranks have room on the GPU, and `most`
 * bytes of a node at most. */
int muster_broadcast_plan(const struct muster_nccl_session *s, uint64_t most, struct muster_broadcast_plan *ret,
	struct muster_error *err);

/* Take the smallest of all ranks' plan->bytes. *ret_failed: whether `failed` is true on any rank. */
int muster_broadcast_settle(const struct muster_nccl_session *s, struct muster_broadcast_plan *plan, bool failed,
	bool *ret_failed, struct muster_error *err);

/* Broadcast each reader's shard, chunk by chunk: from `host` to its GPU, to all other GPUs, and from the receivers'
 * GPUs to their `host`, with all of these at once. host: pinned, plan->bytes bytes; NULL for a rank that passes data on
 * only. *ret_us: from the beginning until this rank has its shard in host memory, by the GPU's clock; of a reader,
 * until it has sent all. Every rank of the ring calls it. */
int muster_broadcast_send(const struct muster_nccl_session *s, const struct muster_broadcast_plan *plan, void *host,
	double *ret_us, struct muster_error *err);

#endif

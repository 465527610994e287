/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - who reads what, and chunks of all shards: from the host, over the network, to the host
 *
 * Two streams of the GPU. On the session's stream NCCL broadcasts; on `copies` chunks go between host and GPU. For each
 * chunk one of them waits for the other by an event, so that while chunk n is on the network a reader copies chunk n+1
 * to its GPU and a receiver copies chunk n-1 to its host:
 *
 *   reader     copies:   copy 0, COPIED | copy 1, COPIED | ...
 *              session:      wait COPIED, broadcast 0 | wait COPIED, broadcast 1 | ...
 *   receiver   session:  broadcast 0, HERE | broadcast 1, HERE | ...
 *              copies:       wait HERE, copy 0 | wait HERE, copy 1 | ...
 *
 * The host waits only at the end. An event is recorded again for each chunk: a wait that is queued already stays with
 * the record that came before it.
 */
#include "probes/broadcast/send.h"

/* The chunk is on the reader's GPU; it has arrived on this one. */
enum { COPIED, HERE, EVENTS };

struct sender {
	const struct muster_nccl_session *s;
	const struct muster_broadcast_plan *plan;
	const struct muster_cuda *cuda;
	unsigned char *host;
	CUstream copies;
	CUevent events[EVENTS];
};

static int start(struct sender *sender, struct muster_error *err)
{
	if (MUSTER_CUDA(sender->cuda, err, cuStreamCreate, &sender->copies, CU_STREAM_NON_BLOCKING) < 0)
		return -1;
	return muster_cuda_events_make(sender->cuda, sender->events, EVENTS, err);
}

static void stop(struct sender *sender)
{
	muster_cuda_events_free(sender->cuda, sender->events, EVENTS);
	if (sender->copies)
		sender->cuda->cuStreamDestroy_v2(sender->copies);
}

/* The own shard lies at the beginning of the data; chunks of the others, which this rank only passes on, behind. */
static CUdeviceptr place_of(const struct sender *sender, int shard, uint64_t offset)
{
	const struct muster_broadcast_plan *plan = sender->plan;
	CUdeviceptr data = sender->s->resources->data;
	return shard == plan->shard ? data + offset : data + plan->bytes + (uint64_t)shard * MUSTER_BROADCAST_CHUNK;
}

/* The second stream goes on when what the first one has so far is done. */
static int join(const struct sender *sender, CUstream first, CUevent event, CUstream second, struct muster_error *err)
{
	return MUSTER_CUDA(sender->cuda, err, cuEventRecord, event, first) < 0
		       ? -1
		       : MUSTER_CUDA(sender->cuda, err, cuStreamWaitEvent, second, event, 0);
}

/* One chunk of every shard, in one group: every rank of the ring makes the same calls. A rank has the chunk of its own
 * shard at its place in the shard, and the chunks of the others behind. */
static int broadcast(const struct sender *sender, uint64_t offset, uint64_t bytes, struct muster_error *err)
{
	const struct muster_nccl_session *s = sender->s;
	if (muster_nccl_group_start(s, err) < 0)
		return -1;
	for (int shard = 0; shard < sender->plan->shards; shard++)
		if (muster_nccl_broadcast(
			    s, place_of(sender, shard, offset), bytes, sender->plan->readers[shard], err) < 0)
			return -1;
	return muster_nccl_group_end(s, err);
}

/* One chunk of every shard, with what this rank does beside: a reader copies its own chunk to the GPU before, a
 * receiver to the host after; others do neither. Nothing here waits for the GPU. */
static int send_chunk(const struct sender *sender, uint64_t offset, uint64_t bytes, struct muster_error *err)
{
	const struct muster_broadcast_plan *plan = sender->plan;
	const struct muster_cuda *cuda = sender->cuda;
	CUstream network = sender->s->resources->stream;
	CUdeviceptr own = place_of(sender, plan->shard, offset);
	if (plan->reads &&
		(MUSTER_CUDA(cuda, err, cuMemcpyHtoDAsync_v2, own, sender->host + offset, bytes, sender->copies) < 0 ||
			join(sender, sender->copies, sender->events[COPIED], network, err) < 0))
		return -1;
	if (broadcast(sender, offset, bytes, err) < 0)
		return -1;
	if (plan->reads || plan->shard < 0)
		return 0;
	if (join(sender, network, sender->events[HERE], sender->copies, err) < 0)
		return -1;
	return MUSTER_CUDA(cuda, err, cuMemcpyDtoHAsync_v2, sender->host + offset, own, bytes, sender->copies);
}

/* The first broadcast is not timed: it makes NCCL connect the ranks, and its data is what lies in the buffer. The
 * agreement after it lets all ranks begin together, so that the time has no waiting for a rank that is late. Both
 * streams begin after the event `start`, and the session's stream ends after the copies: muster_nccl_finish then
 * records the end. */
static int send_all(const struct sender *sender, double *ret_us, struct muster_error *err)
{
	const struct muster_nccl_session *s = sender->s;
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_broadcast_plan *plan = sender->plan;
	float nothing = 0;
	if (broadcast(sender, 0, plan->chunk, err) < 0 || /* the first one connects the ranks */
		muster_nccl_agree(s, &nothing, 1, err) < 0 || muster_nccl_record(s, resources->start, err) < 0 ||
		MUSTER_CUDA(sender->cuda, err, cuStreamWaitEvent, sender->copies, resources->start, 0) < 0)
		return -1;
	for (uint64_t offset = 0, bytes; offset < plan->bytes; offset += bytes) {
		bytes = plan->bytes - offset < plan->chunk ? plan->bytes - offset : plan->chunk;
		if (send_chunk(sender, offset, bytes, err) < 0)
			return -1;
	}
	if (join(sender, sender->copies, sender->events[COPIED], resources->stream, err) < 0 ||
		muster_nccl_finish(s, "the broadcast", err) < 0)
		return -1;
	return muster_nccl_elapsed_us(s, ret_us, err);
}

int muster_broadcast_send(const struct muster_nccl_session *s, const struct muster_broadcast_plan *plan, void *host,
	double *ret_us, struct muster_error *err)
{
	struct sender sender = { .s = s, .plan = plan, .cuda = s->resources->cuda, .host = host };
	int failed = start(&sender, err) < 0 ? -1 : send_all(&sender, ret_us, err);
	if (failed == 0) /* else what never ends still uses them */
		stop(&sender);
	return failed;
}

/* ---- what all ranks agree on before data is broadcast ---- */

/* Facts of which all ranks take the largest: the node of the ring's first rank, which alone gives it; the fewest ranks
 * of a node, as a negative number; the most ranks of a node. */
enum { FIRST_NODE, LEAST_RANKS, MOST_RANKS, FACTS };

/* Readers are the ranks of the node with the ring's first rank: reader i is the rank with local rank i. Each of them
 * puts its number in the ring, plus 1, in its own place, so that 0 means that no rank has put anything there. When one
 * of them is not in the ring, the first rank reads all. */
static int find_readers(const struct muster_nccl_session *s, int first_node, struct muster_broadcast_plan *plan,
	struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(s->ctx);
	float readers[MUSTER_BROADCAST_SHARDS] = { 0 };
	bool all = true;
	if (env->node_index == first_node && env->local_rank < plan->shards)
		readers[env->local_rank] = (float)(s->ring.rank + 1);
	if (muster_nccl_agree(s, readers, MUSTER_BROADCAST_SHARDS, err) < 0)
		return -1;
	for (int i = 0; i < plan->shards; i++) {
		plan->readers[i] = (int)readers[i] - 1;
		all = all && plan->readers[i] >= 0;
	}
	if (!all) {
		plan->shards = 1;
		plan->readers[0] = 0;
	}
	return 0;
}

/* Which shard this rank has, and whether it reads it:
 *
 *   one node                            shard 0: the reader reads it, all others receive it
 *   several, a reader                   its own shard
 *   several, a rank of another node     the shard of its local rank, if there is one; else none
 *   several, first node, no reader      none
 */
static void find_shard(const struct muster_nccl_session *s, int first_node, struct muster_broadcast_plan *plan)
{
	const struct muster_probe_env *env = muster_probe_env(s->ctx);
	plan->shard = -1;
	for (int i = 0; i < plan->shards; i++) {
		if (plan->readers[i] != s->ring.rank)
			continue;
		plan->shard = i;
		plan->reads = true;
	}
	if (plan->reads)
		return;
	if (s->ring.nodes == 1)
		plan->shard = 0;
	else if (env->node_index != first_node && env->local_rank < plan->shards)
		plan->shard = env->local_rank;
}

int muster_broadcast_plan(
	const struct muster_nccl_session *s, uint64_t most, struct muster_broadcast_plan *ret, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(s->ctx);
	struct muster_broadcast_plan plan = { 0 };
	float facts[FACTS] = {
		[FIRST_NODE] = s->ring.rank == 0 ? (float)env->node_index : 0,
		[LEAST_RANKS] = -(float)env->local_ranks,
		[MOST_RANKS] = (float)env->local_ranks,
	};
	if (muster_nccl_agree(s, facts, FACTS, err) < 0)
		return -1;
	int least = (int)-facts[LEAST_RANKS];
	plan.shards = s->ring.nodes == 1 ? 1 : least < MUSTER_BROADCAST_SHARDS ? least : MUSTER_BROADCAST_SHARDS;
	if (find_readers(s, (int)facts[FIRST_NODE], &plan, err) < 0)
		return -1;
	find_shard(s, (int)facts[FIRST_NODE], &plan);
	/* each rank of one node has all of it */
	uint64_t parts = s->ring.nodes == 1 ? (uint64_t)facts[MOST_RANKS] : (uint64_t)plan.shards;
	plan.bytes = most / parts / MIB * MIB;
	uint64_t room = s->resources->room, passed = (uint64_t)plan.shards * MUSTER_BROADCAST_CHUNK;
	if (room < plan.bytes + passed)
		plan.bytes = room > passed ? (room - passed) / MIB * MIB : 0;
	bool failed;
	if (muster_broadcast_settle(s, &plan, false, &failed, err) < 0)
		return -1;
	*ret = plan;
	return 0;
}

int muster_broadcast_settle(const struct muster_nccl_session *s, struct muster_broadcast_plan *plan, bool failed,
	bool *ret_failed, struct muster_error *err)
{
	float worst[] = { failed ? 1 : 0, -(float)((double)plan->bytes / (double)MIB) };
	if (muster_nccl_agree(s, worst, 2, err) < 0)
		return -1;
	*ret_failed = worst[0] > 0;
	plan->bytes = (uint64_t)-worst[1] * MIB;
	plan->chunk = plan->bytes < MUSTER_BROADCAST_CHUNK ? plan->bytes : MUSTER_BROADCAST_CHUNK;
	return 0;
}

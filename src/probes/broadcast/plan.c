/* plan.c - what all ranks agree on before data is broadcast */
#include "probes/broadcast/plan.h"

#include <math.h>
#include <string.h>

enum { FIRST_NODE, LEAST_RANKS, MOST_RANKS, FACTS };

/* Readers are the ranks of the node with the ring's first rank. When one of them is not in the ring, the first rank
 * reads all. */
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

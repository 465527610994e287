/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_collectives.c - what training asks of NCCL beside the all-reduce: all-to-all, all-gather, reduce-scatter; and
 * how even one all-reduce is with the next
 *
 * Why each of them: mixtures of experts need all-to-all, sharded optimisers (ZeRO, FSDP) all-gather and reduce-scatter.
 * The all-to-all is also the only one that uses paths between all pairs of ranks, which is why connecting is timed by
 * itself.
 *
 * busbw is that of nccl-tests: bytes of all ranks' parts by time, x (n - 1) / n, since each rank keeps its own part.
 *
 * The order of the first visit; a later visit only repeats the windows of what was measured:
 *
 *   1. buffers, and agreement on the largest size that all ranks have room for (prepare)
 *   2. jitter.c    100 all-reduces, each timed
 *   3. measure.c   all-gather, then reduce-scatter: checked, then windows
 *   4. connect.c   each rank to each other rank, a few at a time
 *   5. measure.c   all-to-all
 *
 * A failure of any step ends the communicator. So the all-to-all is last, for which ranks must connect that no ring
 * connects.
 */
#include "probes/metrics.h"
#include "probes/nccl_collectives/collectives.h"

#include <math.h>

#define BUSBW_METRIC(name, what, limit, ...)                                                                           \
	NUMBER(JOB, name, GB_PER_S, MORE,                                                                              \
		"bus bandwidth of " what                                                                               \
		": bytes of all ranks' parts by time, times (n-1)/n; the slowest rank's time",                         \
		.labels = { "bytes", "nodes", "ranks" }, .limits = { limit }, .windows = "collectives", __VA_ARGS__)
#define WRONG_METRIC(name, what)                                                                                       \
	NUMBER(RANK, name, NONE, LESS,                                                                                 \
		"wrong 4-byte values in this rank's result of " what "; every value of three rounds is checked",       \
		.labels = { "bytes" }, .counts_wrong = true)
#define EVENNESS_METRIC(name, unit, better, ...)                                                                       \
	NUMBER(JOB, name, unit, better, __VA_ARGS__, .labels = { "bytes", "nodes", "ranks" })

static const struct muster_metric metrics[] = {
	BUSBW_METRIC("nccl.alltoall_busbw_gbps", "an all-to-all", "nccl.alltoall_limit_gbps", .varies = true,
		SHOWN(IN(SPEEDS, 160, "all-to-all busbw"))),
	NUMBER(JOB, "nccl.alltoall_limit_gbps", GB_PER_S, DRIFTS,
		"what busbw of an all-to-all can be at most; not measured but derived from what nodes and ranks say of "
		"their links",
		.labels = { "nodes", "ranks", "path", "link" }),
	BUSBW_METRIC("nccl.allgather_busbw_gbps", "an all-gather", "nccl.allreduce_limit_gbps",
		SHOWN(IN(SPEEDS, 170, "all-gather busbw"))),
	BUSBW_METRIC("nccl.reducescatter_busbw_gbps", "a reduce-scatter", "nccl.allreduce_limit_gbps",
		SHOWN(IN(SPEEDS, 180, "reduce-scatter busbw"))),
	WRONG_METRIC("rank.alltoall_wrong", "an all-to-all"),
	WRONG_METRIC("rank.allgather_wrong", "an all-gather"),
	WRONG_METRIC("rank.reducescatter_wrong", "a reduce-scatter"),
	NUMBER(JOB, "nccl.alltoall_connect_ms", MS, DRIFTS,
		"time until every rank has exchanged a first message with every other rank; the slowest rank's",
		.labels = { "nodes", "ranks" }),
	RANK_TEXT("rank.alltoall_unreached", DRIFTS, NOTHING,
		"ranks of the job that this rank could not connect to before the all-to-all; only when there are any"),
	EVENNESS_METRIC("nccl.allreduce_p50_us", US, DRIFTS,
		"median time of 100 all-reduces, each timed alone; of each the slowest rank's time"),
	EVENNESS_METRIC("nccl.allreduce_p99_us", US, DRIFTS, "time that 99 of these 100 all-reduces do not exceed"),
	EVENNESS_METRIC("nccl.allreduce_outliers", RATIO, DRIFTS,
		"share of these 100 that take more than 1.5 times the median"),
	NUMBER(RANK, "rank.allreduce_p99_us", US, DRIFTS,
		"time that 99 of the 100 all-reduces do not exceed on this rank", .labels = { "bytes" },
		SHOWN(IN(SLOWEST, 60, "all-reduce, 99th percentile"))),
};

#define LARGEST (128 * MIB)
#define LARGEST_FULL GIB
#define ALLTOALL_RANKS_MAX 512 /* unless the profile is full: each rank connects to every other one */

/* The buffers; *ret_limit: the largest power of two that all ranks have room for in both buffers; 1 where a rank has
 * none. What is agreed is the negative exponent, whose maximum is that of the rank with the least room. */
static int prepare(const struct muster_nccl_session *s, uint64_t *ret_limit, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	uint64_t largest = muster_probe_env(s->ctx)->profile == MUSTER_FULL ? LARGEST_FULL : LARGEST;
	if (muster_nccl_received_make(s->ctx, resources->room < largest ? resources->room : largest, err) < 0)
		return -1;
	uint64_t room = resources->room < resources->received_room ? resources->room : resources->received_room;
	double bits = room > 0 ? -floor(log2((double)room)) : 0;
	if (muster_nccl_slowest(s, &bits, err) < 0)
		return -1;
	*ret_limit = (uint64_t)1 << (int)-bits;
	return 0;
}

static void skip_alltoall(const struct muster_nccl_session *s, const char *reason)
{
	const struct muster_value labels[] = { muster_number(s->ring.nodes), muster_number(s->ring.ranks) };
	if (s->ring.rank == 0)
		muster_emit_null(s->ctx, "nccl.alltoall_connect_ms", labels, 2, "%s", reason);
	muster_collective_emit_none(s, MUSTER_ALLTOALL, reason);
}

static void skip_all(const struct muster_nccl_session *s, const char *reason)
{
	muster_collective_jitter_none(s, reason);
	muster_collective_emit_none(s, MUSTER_ALLGATHER, reason);
	muster_collective_emit_none(s, MUSTER_REDUCESCATTER, reason);
	skip_alltoall(s, reason);
}

static int measure_alltoall(const struct muster_nccl_session *s, uint64_t limit, struct muster_error *err)
{
	if (s->ring.ranks > ALLTOALL_RANKS_MAX && muster_probe_env(s->ctx)->profile != MUSTER_FULL) {
		skip_alltoall(s, "more than 512 ranks: only the profile full does an all-to-all");
		return 0;
	}
	return muster_collective_connect(s, err) < 0 ? -1 : muster_collective_measure(s, MUSTER_ALLTOALL, limit, err);
}

/* The first visit, in the order of the head of this file. */
static int measure(const struct muster_nccl_session *s, struct muster_error *err)
{
	uint64_t limit;
	if (prepare(s, &limit, err) < 0)
		return -1;
	if (limit == 1) {
		skip_all(s, "a rank has no room on its GPU for the smallest size");
		return 0;
	}
	if (muster_collective_jitter(s, limit, err) < 0 ||
		muster_collective_measure(s, MUSTER_ALLGATHER, limit, err) < 0 ||
		muster_collective_measure(s, MUSTER_REDUCESCATTER, limit, err) < 0)
		return -1;
	return measure_alltoall(s, limit, err);
}

/* The windows of a later visit. */
static int measure_again(const struct muster_nccl_session *s, struct muster_error *err)
{
	for (int i = 0; i < MUSTER_COLLECTIVES; i++)
		if (muster_collective_windows(s, (enum muster_collective)i, err) < 0)
			return -1;
	return 0;
}

static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	struct muster_nccl_session s;
	if (muster_nccl_session_standing(ctx, round->timeout_ms, &s, err) < 0)
		return -1;
	s.bytes = LARGEST;
	if (s.ring.ranks == 1 && round->visit > 0)
		return 0;
	if (s.ring.ranks == 1) {
		skip_all(&s, "one rank has no other rank to exchange data with");
		return 0;
	}
	return (round->visit > 0 ? measure_again(&s, err) : measure(&s, err)) < 0 ? muster_nccl_session_fail(&s, err)
										  : 0;
}

const struct muster_probe muster_probe_nccl_collectives = {
	.name = "nccl_collectives",
	.summary = "all-to-all, all-gather and reduce-scatter over all ranks; how even all-reduces are",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 60000,
	.order = 74,
	METRICS(metrics),
	.windows = true,
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_ALL,
};

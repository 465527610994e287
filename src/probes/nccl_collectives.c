/* nccl_collectives.c - what training asks of NCCL beside the all-reduce: all-to-all, all-gather, reduce-scatter; and
 * how even one all-reduce is with the next
 */
#include "probes/metrics.h"
#include "probes/nccl/session.h"

#define BUSBW_METRIC(name, what)                                                                                       \
	MUSTER_METRIC(MUSTER_SCOPE_JOB, name, MUSTER_NUMBER, "GB/s",                                                   \
		"bus bandwidth of " what                                                                               \
		": bytes of all ranks' parts by time, times (n-1)/n; the slowest rank's time",                         \
		"bytes", "nodes", "ranks")
#define WRONG_METRIC(name, what)                                                                                       \
	MUSTER_METRIC(MUSTER_SCOPE_RANK, name, MUSTER_NUMBER, "",                                                      \
		"wrong 4-byte values in this rank's result of " what "; every value of three rounds is checked",       \
		"bytes")
#define EVENNESS_METRIC(name, unit, meaning)                                                                           \
	MUSTER_METRIC(MUSTER_SCOPE_JOB, name, MUSTER_NUMBER, unit, meaning, "bytes", "nodes", "ranks")

static const struct muster_metric metrics[] = {
	BUSBW_METRIC("nccl.alltoall_busbw_gbps", "an all-to-all"),
	BUSBW_METRIC("nccl.allgather_busbw_gbps", "an all-gather"),
	BUSBW_METRIC("nccl.reducescatter_busbw_gbps", "a reduce-scatter"),
	WRONG_METRIC("rank.alltoall_wrong", "an all-to-all"),
	WRONG_METRIC("rank.allgather_wrong", "an all-gather"),
	WRONG_METRIC("rank.reducescatter_wrong", "a reduce-scatter"),
	MUSTER_METRIC(MUSTER_SCOPE_JOB, "nccl.alltoall_connect_ms", MUSTER_NUMBER, "ms",
		"time until every rank has exchanged a first message with every other rank; the slowest rank's",
		"nodes", "ranks"),
	RANK_METRIC("rank.alltoall_unreached", MUSTER_STRING, "",
		"ranks of the job that this rank could not connect to before the all-to-all; only when there are any"),
	EVENNESS_METRIC("nccl.allreduce_p50_us", "us",
		"median time of 100 all-reduces, each timed alone; of each the slowest rank's time"),
	EVENNESS_METRIC("nccl.allreduce_p99_us", "us", "time that 99 of these 100 all-reduces do not exceed"),
	EVENNESS_METRIC("nccl.allreduce_outliers", "", "share of these 100 that take more than 1.5 times the median"),
	MUSTER_METRIC(MUSTER_SCOPE_RANK, "rank.allreduce_p99_us", MUSTER_NUMBER, "us",
		"time that 99 of the 100 all-reduces do not exceed on this rank", "bytes"),
};

const struct muster_probe muster_probe_nccl_collectives = {
	.name = "nccl_collectives",
	.summary = "all-to-all, all-gather and reduce-scatter over all ranks; how even all-reduces are",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 60000,
	.order = 74,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.traffic_shape = MUSTER_TRAFFIC_ALL,
};

/* nccl_allreduce.c - a ring all-reduce over every rank that can take part
 */
#include "muster/probe.h"

static const struct muster_metric metrics[] = {
	{ .name = "nccl.allreduce_busbw_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_JOB, .unit = "GB/s", .labels = { "bytes", "nodes", "ranks" },
		.meaning = "bus bandwidth: algbw times 2(n-1)/n; the slowest rank's time" },
	{ .name = "nccl.allreduce_algbw_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_JOB, .unit = "GB/s", .labels = { "bytes", "nodes", "ranks" },
		.meaning = "bytes divided by time; the slowest rank's time" },
	{ .name = "nccl.allreduce_us", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_JOB, .unit = "us", .labels = { "bytes", "nodes", "ranks" },
		.meaning = "time of one all-reduce; the slowest rank's mean" },
	{ .name = "nccl.ring_ranks", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_JOB, .unit = "",
		.meaning = "ranks that took part in the ring" },
	{ .name = "nccl.ring_nodes", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_JOB, .unit = "",
		.meaning = "nodes that the ring spans" },
	{ .name = "rank.nccl_init_ms", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "ms",
		.meaning = "time to build the communicator" },
	{ .name = "rank.allreduce_us", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "us", .labels = { "bytes" },
		.meaning = "this rank's mean time of one all-reduce" },
	{ .name = "rank.allreduce_wrong", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "", .labels = { "bytes" },
		.meaning = "wrong values in this rank's copy of the sum; every value is checked" },
	{ .name = "rank.nccl_transport", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "transports that carry this rank's part of the ring, from NCCL's own log: \"P2P/CUMEM NET/IB/GDRDMA\"" },
	{ .name = "rank.nccl_gdr", .type = MUSTER_BOOLEAN, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "GPUDirect RDMA carries its network channels; null when it has none" },
	{ .name = "rank.nccl_hcas", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "network devices that NCCL uses, from its own log" },
};

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "not written yet");
}

const struct muster_probe muster_probe_nccl_allreduce = {
	.name = "nccl_allreduce",
	.summary = "an NCCL all-reduce over all ranks: data, bandwidth, transport",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 60000,
	.order = 70,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};

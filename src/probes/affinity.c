/* affinity.c - which CPUs the rank may use, and which its GPU is near
 */
#include "muster/probe.h"

static const struct muster_metric metrics[] = {
	{ .name = "rank.cpu_mask", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "CPUs that the rank may use, as the hex mask of srun --cpu-bind=mask_cpu" },
	{ .name = "rank.cpu_list", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "the same as a list: \"24-47\"" },
	{ .name = "rank.cpus", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "how many they are" },
	{ .name = "rank.cpu_numa_nodes", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "NUMA nodes that those CPUs lie in" },
	{ .name = "rank.gpu_numa_node", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "nearest NUMA node with CPUs of the rank's GPU; null when unknown" },
	{ .name = "rank.gpu_cpu_mask", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "CPUs of the GPU's NUMA node, as a hex mask" },
	{ .name = "rank.gpu_cpu_list", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "the same as a list" },
	{ .name = "rank.cpu_locality", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "the rank's CPUs against the GPU's: inside, overlaps, outside" },
	{ .name = "rank.memory_policy", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "memory policy: \"default\", \"bind:1\", \"interleave:0-3\" ..." },
	{ .name = "rank.near_nics", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "RDMA devices on the GPU's NUMA node, separated by spaces" },
};

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "not written yet");
}

const struct muster_probe muster_probe_affinity = {
	.name = "affinity",
	.summary = "the rank's CPUs and memory against its GPU's NUMA node",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = false,
	.deadline_ms = 10000,
	.order = 40,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};

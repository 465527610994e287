/* gpu_copy.c - how fast the copy engine moves pinned memory to and from the rank's GPU
 */
#include "muster/probe.h"

static const struct muster_metric metrics[] = {
	{ .name = "gpu.h2d_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "GB/s", .labels = { "gpu" },
		.meaning = "host to device, alone on its path: median of the repeats" },
	{ .name = "gpu.d2h_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "GB/s", .labels = { "gpu" },
		.meaning = "device to host, alone on its path: median of the repeats" },
	{ .name = "gpu.h2d_spread", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "", .labels = { "gpu" },
		.meaning = "(highest - lowest) / median of the h2d_gbps repeats" },
	{ .name = "gpu.d2h_spread", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "", .labels = { "gpu" },
		.meaning = "(highest - lowest) / median of the d2h_gbps repeats" },
	{ .name = "gpu.h2d_together_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "GB/s", .labels = { "gpu" },
		.meaning = "host to device with all GPUs of the node at once" },
	{ .name = "gpu.d2h_together_gbps", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "GB/s", .labels = { "gpu" },
		.meaning = "device to host with all GPUs of the node at once" },
	{ .name = "gpu.copy_mib", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "MiB", .labels = { "gpu" },
		.meaning = "size of one copy" },
	{ .name = "gpu.copy_numa_node", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "", .labels = { "gpu" },
		.meaning = "NUMA node that the pinned memory lies on; null when unknown" },
	{ .name = "gpu.copy_intact", .type = MUSTER_BOOLEAN, .scope = MUSTER_SCOPE_GPU, .unit = "", .labels = { "gpu" },
		.meaning = "what came back from the GPU is what was sent" },
	{ .name = "gpu.pcie_gen_loaded", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "", .labels = { "gpu" },
		.meaning = "PCIe generation while the copies ran" },
	{ .name = "gpu.pcie_width_loaded", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .unit = "", .labels = { "gpu" },
		.meaning = "PCIe lanes while the copies ran" },
};

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "not written yet");
}

const struct muster_probe muster_probe_gpu_copy = {
	.name = "gpu_copy",
	.summary = "pinned host-to-device and device-to-host bandwidth with the copy engine",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 20000,
	.order = 60,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};

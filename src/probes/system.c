/* system.c - what software and host hardware the node has
 */
#include "muster/probe.h"

static const struct muster_metric metrics[] = {
	{ .name = "node.os", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "PRETTY_NAME of os-release" },
	{ .name = "node.kernel", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "kernel release" },
	{ .name = "node.architecture", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "machine architecture, as uname -m prints it" },
	{ .name = "node.cpu_model", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "CPU model of /proc/cpuinfo" },
	{ .name = "node.cpus", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "logical CPUs online" },
	{ .name = "node.sockets", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "CPU packages" },
	{ .name = "node.numa_nodes", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "NUMA nodes that have CPUs" },
	{ .name = "node.memory_mib", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "MiB",
		.meaning = "MemTotal of /proc/meminfo" },
	{ .name = "node.gpu_count", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "GPUs that NVML shows on the node" },
	{ .name = "node.gpu_bus_ids", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "PCI bus ids of those GPUs, in NVML order, separated by spaces" },
	{ .name = "node.driver_version", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "NVIDIA driver, as NVML gives it" },
	{ .name = "node.cuda_driver_api", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "newest CUDA version that the driver supports: \"13.0\"" },
	{ .name = "node.nccl_version", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "NCCL, as the library itself gives it: \"2.28.9\"" },
	{ .name = "node.library_path", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "", .labels = { "library" },
		.meaning = "file that was loaded for this vendor library" },
	{ .name = "node.library_version", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_NODE, .unit = "", .labels = { "library" },
		.meaning = "the loaded library's version, from its own answer or its file name" },
	{ .name = "node.memlock_mib", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "MiB",
		.meaning = "limit on locked memory (RLIMIT_MEMLOCK); null with \"unlimited\" when there is none" },
};

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "not written yet");
}

const struct muster_probe muster_probe_system = {
	.name = "system",
	.summary = "operating system, CPU, memory, driver and vendor libraries of the node",
	.scope = MUSTER_SCOPE_NODE,
	.needs_gpu = false,
	.deadline_ms = 10000,
	.order = 20,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};

/* launch.c - does every process know the same job, and which GPU did it take
 */
#include "muster/probe.h"

static const struct muster_metric metrics[] = {
	{ .name = "rank.mpi_size", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "processes in MPI_COMM_WORLD" },
	{ .name = "rank.slurm_ntasks", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "SLURM_NTASKS of the step; null when not started by Slurm" },
	{ .name = "rank.slurm_procid", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "SLURM_PROCID of this process; null when not started by Slurm" },
	{ .name = "rank.slurm_localid", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "SLURM_LOCALID of this process; null when not started by Slurm" },
	{ .name = "rank.slurm_cpu_bind", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "SLURM_CPU_BIND: how srun was told to bind; null when not set" },
	{ .name = "rank.mpi_as_slurm", .type = MUSTER_BOOLEAN, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "MPI's size, rank and local rank are Slurm's; null when not started by Slurm" },
	{ .name = "rank.local_rank", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "place of this rank among those of its node" },
	{ .name = "rank.visible_gpus", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "GPUs that CUDA shows to this rank" },
	{ .name = "rank.cuda_visible_devices", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "CUDA_VISIBLE_DEVICES; null when not set" },
	{ .name = "rank.gpu_choice", .type = MUSTER_STRING, .scope = MUSTER_SCOPE_RANK, .unit = "",
		.meaning = "how the GPU was chosen: only-visible, local-rank, none" },
	{ .name = "rank.gpu_sharers", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK, .unit = "", .labels = { "gpu" },
		.meaning = "ranks of this node that took this GPU, this one included" },
	{ .name = "node.ranks", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "ranks that run on the node" },
	{ .name = "node.ranks_per_gpu", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "ranks on the node divided by GPUs that NVML shows on it" },
	{ .name = "node.slurm_tasks_per_node", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "this node's count in SLURM_TASKS_PER_NODE; null when not started by Slurm" },
	{ .name = "node.slurm_gpus_on_node", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE, .unit = "",
		.meaning = "SLURM_GPUS_ON_NODE, or the count in SLURM_GPUS_PER_NODE; null when neither is set" },
};

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "not written yet");
}

const struct muster_probe muster_probe_launch = {
	.name = "launch",
	.summary = "the launch contract: MPI against Slurm, ranks per node, which GPU each rank took",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = false,
	.deadline_ms = 5000,
	.order = 10,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
};

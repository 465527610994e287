/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - does every process know the same job, and which GPU did it take
 *
 * Slurm's variables are believed only in processes that srun itself started: mpirun inside a batch job is a legal way
 * to start, and its ranks inherit variables that describe something else.
 *
 * What is compared: MPI's size, rank and local rank with Slurm's of the step; ranks on the node with Slurm's tasks
 * there; GPUs in NVML with Slurm's GPUs of the job on the node; and whether two ranks have taken one GPU, by UUID. Each
 * side that is not known is null with the reason, and a comparison with it too.
 *
 *   sample                one side                  the other side
 *   rank.mpi_as_slurm     ranks, rank, local rank   SLURM_STEP_NUM_TASKS, SLURM_PROCID, SLURM_LOCALID
 *   node.ranks_as_slurm   ranks of the node         entry SLURM_NODEID of SLURM_STEP_TASKS_PER_NODE
 *   node.gpus_as_slurm    nvmlDeviceGetCount_v2     SLURM_GPUS_ON_NODE, else SLURM_GPUS_PER_NODE
 *
 * Where a variable of the step is not set, that of the job is taken (SLURM_NTASKS, SLURM_TASKS_PER_NODE).
 *
 * The leader yields the samples of the node. Nothing here fails the probe.
 */
#include "system/gres.h"
#include "system/nvidia_gpus.h"
#include "vendor/nvml.h"
#include "util/text.h"
#include "muster/arena.h"
#include "probes/metrics.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	RANK_NUMBER("rank.mpi_size", NONE, FACT, "processes in MPI_COMM_WORLD"),
	RANK_NUMBER("rank.slurm_ntasks", NONE, FACT, "SLURM_NTASKS of the step; no value when not started by Slurm"),
	RANK_NUMBER(
		"rank.slurm_procid", NONE, FACT, "SLURM_PROCID of this process; no value when not started by Slurm"),
	RANK_NUMBER(
		"rank.slurm_localid", NONE, FACT, "SLURM_LOCALID of this process; no value when not started by Slurm"),
	RANK_TEXT(
		"rank.slurm_cpu_bind", FACT, NOTHING, "SLURM_CPU_BIND: binding option of srun; no value when not set"),
	RANK_FLAG("rank.mpi_as_slurm", FACT,
		"size, rank and local rank of MPI are equal to Slurm's; no value when not started by Slurm"),
	RANK_NUMBER("rank.local_rank", NONE, FACT, "index of this rank among the ranks of its node"),
	RANK_NUMBER("rank.visible_gpus", NONE, FACT, "GPUs that CUDA shows to this rank"),
	RANK_TEXT("rank.cuda_visible_devices", FACT, TEXT, "CUDA_VISIBLE_DEVICES; no value when not set"),
	RANK_TEXT("rank.gpu_choice", FACT, NOTHING, "how the GPU was chosen: only-visible, local-rank, none"),
	NUMBER(RANK, "rank.gpu_sharers", NONE, FACT, "ranks of this node that use this GPU, this rank included",
		.labels = { "gpu" }),
	NODE_NUMBER("node.ranks", NONE, FACT, "ranks that run on the node"),
	NODE_NUMBER("node.ranks_per_gpu", NONE, FACT, "ranks on the node divided by GPUs that NVML shows on it",
		.counts = MUSTER_COUNTS_RANKS),
	NODE_NUMBER("node.slurm_tasks_per_node", NONE, FACT,
		"this node's count in SLURM_TASKS_PER_NODE; no value when not started by Slurm"),
	NODE_FLAG("node.ranks_as_slurm", FACT,
		"number of ranks on the node is equal to Slurm's number of tasks; no value when not started by Slurm"),
	NODE_NUMBER("node.slurm_gpus_on_node", NONE, FACT,
		"SLURM_GPUS_ON_NODE, or the count in SLURM_GPUS_PER_NODE; no value when neither is set"),
	NODE_FLAG("node.gpus_as_slurm", FACT,
		"number of GPUs in NVML is equal to Slurm's number of GPUs of the job on the node; no value when Slurm "
		"gives none"),
	NODE_NUMBER("node.gpus_hidden", NONE, DRIFTS,
		"NVIDIA GPUs on the PCI bus that a cgroup, a container or file modes hide from this process"),
	NODE_TEXT("node.slurm_topology", FACT, SWITCHES,
		"switches or block of the node, from the top down (\"s0.s1\"); no value when Slurm has no topology",
		SHOWN(IN(MACHINE, 50, "switch or block (Slurm)", .own = true))),
	TEXT(JOB, "job.same_names", FACT, TEXT,
		"host names that two machines of the run have; only where there are such. Not measured but derived"),
	TEXT(JOB, "job.rack_order", FACT, TEXT,
		"an order of the nodes in which the ranks of each rack follow each other; only where they do not. Not "
		"measured but derived from gpu.fabric_clique or node.slurm_topology"),
};

/* A natural number from the environment: 0, or -1 with why there is none. An empty variable counts as not set. */
static int read_variable(const char *name, long *ret, struct muster_error *err)
{
	const char *text = getenv(name);
	if (!text || !*text)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is not set", name);
	return muster_parse_int(text, 0, LONG_MAX, ret, name, err);
}

/* The first of two variables that is set: the step's before the job's. */
static const char *first_set(const char *step, const char *job)
{
	return getenv(step) ? step : job;
}

/* Whether srun started this very process: 0, or -1 with err, which says why Slurm's numbers are not about it.
 *
 *   started by                 SLURM_PROCID   SLURM_STEP_ID                   tasks of the step
 *   srun                       set            of a step                       the MPI processes
 *   a batch script             set            not set                         -
 *   an interactive shell       set            reserved, from 0xfffffff0 on    -
 *   mpirun, on other nodes     set            of a step                       mpirun's daemons, one a node
 *
 * mpirun starts its daemons on the other nodes with srun, so their ranks inherit the variables of a real step. Only the
 * number of tasks shows that: it differs from the number of MPI processes, which mpirun gives in a variable. */
static int started_by_srun(struct muster_error *err)
{
	static const char *const launcher_sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE" };
	static const long first_reserved_step = 0xfffffff0; /* Slurm's ids of batch, external and interactive steps */
	long step, number, tasks;
	if (!getenv("SLURM_PROCID"))
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "not started by Slurm: SLURM_PROCID is not set");
	bool of_step = read_variable("SLURM_STEP_ID", &step, NULL) == 0 && step < first_reserved_step &&
		       read_variable("SLURM_LOCALID", &number, NULL) == 0;
	if (of_step && read_variable(first_set("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), &tasks, NULL) == 0)
		for (size_t i = 0; i < sizeof launcher_sizes / sizeof *launcher_sizes; i++)
			if (read_variable(launcher_sizes[i], &number, NULL) == 0 && number != tasks)
				of_step = false;
	return of_step ? 0 : muster_fail(err, MUSTER_ENOTSUPPORTED, "started by mpirun inside a Slurm job");
}

/* The decimal number at *at; *at moves to the first byte after it. */
static bool take_number(const char **at, long *ret)
{
	char *end;
	if (**at < '0' || **at > '9')
		return false;
	*ret = strtol(*at, &end, 10);
	*at = end;
	return true;
}

/* The index-th number of "8(x2),4": Slurm's run-length list of tasks for each node. */
static int tasks_of_node(const char *name, long index, long *ret, struct muster_error *err)
{
	const char *text = getenv(name), *at = text;
	if (!text)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is not set", name);
	for (long before = index; *at; at++) {
		long tasks, nodes = 1;
		bool good = take_number(&at, &tasks);
		if (good && strncmp(at, "(x", 2) == 0) {
			at += 2;
			good = take_number(&at, &nodes) && *at++ == ')';
		}
		if (!good || (*at && *at != ','))
			break;
		if (before < nodes) {
			*ret = tasks;
			return 0;
		}
		before -= nodes;
		if (!*at)
			return muster_fail(err, MUSTER_EIO, "%s has no node %ld: \"%s\"", name, index, text);
	}
	return muster_fail(err, MUSTER_EIO, "%s is not a list of task counts: \"%s\"", name, text);
}

/* The GPUs in a variable of Slurm: "8", "a100:4,h100:2". 0, or -1 with err, also for what is no such list. */
static int count_gpus(const char *name, long *ret, struct muster_error *err)
{
	const char *text = getenv(name);
	if (!text)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is not set", name);
	return muster_gres_gpus_alone(text, ret, err) < 0 ? muster_wrap(err, "%s", name) : 0;
}

static void emit_variable(struct muster_probe_ctx *ctx, const char *metric, const char *name)
{
	const char *text = getenv(name);
	if (text)
		muster_emit_for(ctx, metric, NULL, muster_string(text));
	else
		muster_emit_null_for(ctx, metric, NULL, "%s is not set", name);
}

/* MPI's size, rank and local rank against Slurm's. */
static void measure_slurm(struct muster_probe_ctx *ctx)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct {
		const char *metric, *variable;
		int mpi;
	} pairs[] = {
		{ "rank.slurm_ntasks", first_set("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), env->ranks },
		{ "rank.slurm_procid", "SLURM_PROCID", env->rank },
		{ "rank.slurm_localid", "SLURM_LOCALID", env->local_rank },
	};
	struct muster_error why, unknown = { 0 };
	bool agree = true;
	int srun = started_by_srun(&why);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		long number = 0;
		int result = srun < 0 ? srun : read_variable(pairs[i].variable, &number, &why);
		muster_emit_read(ctx, pairs[i].metric, NULL, result, muster_number((double)number), &why);
		if (result < 0)
			unknown = why;
		else if (number != pairs[i].mpi)
			agree = false;
	}
	muster_emit_read(
		ctx, "rank.mpi_as_slurm", NULL, unknown.code == MUSTER_OK ? 0 : -1, muster_boolean(agree), &unknown);
}

/* Which GPU the worker has taken, how, and how many ranks of the node have the same one, with this rank. visible is -1
 * where CUDA could not be asked, so it is the result as well as the value. A rank without a GPU has the label "none".
 */
static void measure_gpu(struct muster_probe_ctx *ctx)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_gpu *gpu = env->gpu;
	const char *no_cuda = gpu->why_none[0] ? gpu->why_none : "CUDA is not available";
	const char *choice = gpu->choice[0] ? gpu->choice : "none";
	muster_emit_result(ctx, "rank.visible_gpus", NULL, gpu->visible, muster_number(gpu->visible), no_cuda);
	muster_emit_result(ctx, "rank.gpu_choice", NULL, gpu->visible, muster_string(choice), no_cuda);
	if (!gpu->bus_id[0]) {
		muster_emit_null_for(ctx, "rank.gpu_sharers", "none", "%s",
			gpu->why_none[0] ? gpu->why_none : "the rank has no GPU");
		return;
	}
	/* By UUID: two MIG instances of one GPU have one bus id and are not shared. */
	size_t sharers = 0;
	for (size_t i = 0; i < env->peer_count; i++)
		sharers += strcmp(env->peers[i].gpu_uuid, gpu->uuid) == 0 &&
			   strcmp(env->peers[i].gpu_bus_id, gpu->bus_id) == 0;
	/* none: this rank is absent from the list, because the rank that forwards it has died */
	muster_emit_result(ctx, "rank.gpu_sharers", gpu->bus_id, sharers > 0 ? 0 : -1, muster_number((double)sharers),
		"unknown which GPUs the ranks of the node use");
}

/* Ranks on the node against Slurm's tasks there. SLURM_NODEID counts the nodes of the step from 0, as the list does. */
static void measure_tasks(struct muster_probe_ctx *ctx)
{
	struct muster_error why;
	long tasks = 0, node;
	int result = started_by_srun(&why);
	if (result == 0)
		result = read_variable("SLURM_NODEID", &node, &why);
	if (result == 0)
		result = tasks_of_node(
			first_set("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"), node, &tasks, &why);
	bool same = tasks == muster_probe_env(ctx)->local_ranks;
	muster_emit_read(ctx, "node.slurm_tasks_per_node", NULL, result, muster_number((double)tasks), &why);
	muster_emit_read(ctx, "node.ranks_as_slurm", NULL, result, muster_boolean(same), &why);
}

/* Whether a rank of the node sits on a MIG instance: Slurm counts those as GPUs, and NVML does not. */
static bool has_mig(const struct muster_probe_env *env)
{
	for (size_t i = 0; i < env->peer_count; i++)
		if (strncmp(env->peers[i].gpu_uuid, "MIG-", 4) == 0)
			return true;
	return false;
}

/* GPUs that NVML shows against ranks, and against what Slurm gave. Three things may be unknown, each with its own
 * reason: NVML's count, Slurm's count, and with MIG what the comparison means. */
static void measure_node_gpus(struct muster_probe_ctx *ctx)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	struct muster_error no_nvml, why;
	unsigned int gpus = 0;
	long given = 0;
	muster_step(ctx, "NVML: count the GPUs");
	const struct muster_nvml *nvml = muster_nvml(&no_nvml);
	int counted = nvml ? MUSTER_NVML(nvml, &no_nvml, nvmlDeviceGetCount_v2, &gpus) : -1;
	if (counted == 0 && gpus == 0)
		muster_fail(&no_nvml, MUSTER_ENOTSUPPORTED, "nvmlDeviceGetCount_v2 counts no GPU");
	muster_emit_read(ctx, "node.ranks_per_gpu", NULL, gpus > 0 ? counted : -1,
		muster_number(gpus > 0 ? (double)env->local_ranks / gpus : 0), &no_nvml);

	int result = count_gpus(first_set("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"), &given, &why);
	muster_emit_read(ctx, "node.slurm_gpus_on_node", NULL, result, muster_number((double)given), &why);
	if (result == 0 && has_mig(env))
		result = muster_fail(&why, MUSTER_ENOTSUPPORTED, "Slurm counts MIG instances, and NVML whole GPUs");
	muster_emit_read(ctx, "node.gpus_as_slurm", NULL, result < 0 ? result : counted,
		muster_boolean(given == (long)gpus), result < 0 ? &why : &no_nvml);
}

/* GPUs of the PCI bus that this process may not use: those of other jobs. They explain why NVML shows fewer. */
static void measure_hidden_gpus(struct muster_probe_ctx *ctx)
{
	struct muster_nvidia_gpus bus;
	struct muster_error why;
	size_t hidden = 0;
	int result = muster_nvidia_gpus_list(muster_probe_env(ctx)->root, &bus, &why);
	if (result == 0) {
		hidden = muster_nvidia_gpus_count(&bus, MUSTER_NVIDIA_HIDDEN);
		muster_nvidia_gpus_done(&bus);
	}
	muster_emit_read(ctx, "node.gpus_hidden", NULL, result, muster_number((double)hidden), &why);
}

/* Slurm's address of the node is "s0.s1.gpu-1", and only "gpu-1" where no topology is configured. The node's name may
 * hold dots itself. */
static void measure_topology(struct muster_probe_ctx *ctx)
{
	const char *address = getenv("SLURM_TOPOLOGY_ADDR"), *node = getenv("SLURMD_NODENAME");
	size_t length = address ? strlen(address) : 0, own = node ? strlen(node) : 0;
	if (!address || !node) {
		muster_emit_null_for(ctx, "node.slurm_topology", NULL, "%s is not set",
			address ? "SLURMD_NODENAME" : "SLURM_TOPOLOGY_ADDR");
	} else if (strcmp(address, node) == 0) {
		muster_emit_null_for(ctx, "node.slurm_topology", NULL, "Slurm has no topology");
	} else if (length < own + 2 || address[length - own - 1] != '.' || strcmp(address + length - own, node) != 0) {
		muster_emit_null_for(ctx, "node.slurm_topology", NULL,
			"SLURM_TOPOLOGY_ADDR is not about node %s: \"%s\"", node, address);
	} else {
		char *place = muster_asprintf("%.*s", (int)(length - own - 1), address);
		muster_emit_for(ctx, "node.slurm_topology", NULL, muster_string(place));
		free(place);
	}
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	(void)err;
	muster_emit_for(ctx, "rank.mpi_size", NULL, muster_number(env->ranks));
	muster_emit_for(ctx, "rank.local_rank", NULL, muster_number(env->local_rank));
	measure_slurm(ctx);
	emit_variable(ctx, "rank.slurm_cpu_bind", "SLURM_CPU_BIND");
	emit_variable(ctx, "rank.cuda_visible_devices", "CUDA_VISIBLE_DEVICES");
	measure_gpu(ctx);
	if (!env->leader)
		return 0;
	muster_emit_for(ctx, "node.ranks", NULL, muster_number(env->local_ranks));
	measure_node_gpus(ctx);
	measure_hidden_gpus(ctx);
	measure_tasks(ctx);
	measure_topology(ctx);
	return 0;
}

const struct muster_probe muster_probe_launch = {
	.name = "launch",
	.summary = "launch checks: MPI compared with Slurm, ranks per node, GPU of each rank",
	.scope = MUSTER_SCOPE_RANK,
	.of_job = true,
	.follows = MUSTER_FOLLOWS_SHARING,
	.deadline_ms = 5000,
	.order = 10,
	METRICS(metrics),
	.run = run,
};

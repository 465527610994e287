/* test_launch.c - the launch contract as the environment tells it */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <stdlib.h>
#include <string.h>

extern const struct muster_probe muster_probe_launch;

static const char *const derived[] = { "job.rack_order",
	NULL }; /* from several nodes together, at the end of the run */
static struct probe_fake *context;
static int nvml_gpus; /* -1: there is no NVML; -2: it cannot count */

static nvmlReturn_t count_gpus(unsigned int *count)
{
	if (nvml_gpus < 0)
		return NVML_ERROR_UNKNOWN;
	*count = (unsigned int)nvml_gpus;
	return NVML_SUCCESS;
}

/* What srun sets in rank 9 of 16 on two nodes. */
static const char *const from_srun[][2] = {
	{ "SLURM_STEP_ID", "0" },
	{ "SLURM_PROCID", "9" },
	{ "SLURM_LOCALID", "1" },
	{ "SLURM_NODEID", "1" },
	{ "SLURM_NTASKS", "16" },
	{ "SLURM_STEP_NUM_TASKS", "16" },
	{ "SLURM_TASKS_PER_NODE", "8(x2)" },
	{ "SLURM_STEP_TASKS_PER_NODE", "8(x2)" },
	{ "SLURM_GPUS_ON_NODE", "8" },
	{ "SLURM_CPU_BIND", "quiet,mask_cpu:0x1,0x2" },
};

static void setup(void)
{
	static const char *const others[] = { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
		"CUDA_VISIBLE_DEVICES", "SLURM_GPUS_PER_NODE", "SLURM_TOPOLOGY_ADDR", "SLURMD_NODENAME" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		unsetenv(others[i]);
	for (size_t i = 0; i < sizeof from_srun / sizeof *from_srun; i++)
		unsetenv(from_srun[i][0]);
	context = fake_new(&muster_probe_launch);
	context->ctx.env.rank = 9;
	context->ctx.env.ranks = 16;
	context->ctx.env.local_rank = 1;
	context->ctx.env.local_ranks = 8;
	context->ctx.env.nodes = 2;
	nvml_gpus = 8;
	nvml_missing = false;
	scripted_nvml.nvmlDeviceGetCount_v2 = count_gpus;
}

static void teardown(void)
{
	fake_free(context);
}

static void start_by_srun(void)
{
	for (size_t i = 0; i < sizeof from_srun / sizeof *from_srun; i++)
		setenv(from_srun[i][0], from_srun[i][1], 1);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_launch.run(&context->ctx, &err) == 0, "%s", err.text);
}

TEST(a_rank_of_srun_agrees_with_mpi)
{
	start_by_srun();
	measure();
	fake_complete(context, derived);
	ck_assert_str_eq(context->steps, "NVML: count the GPUs\n");
	ck_assert_str_eq(fake_reason(context, "rank.cuda_visible_devices", NULL), "CUDA_VISIBLE_DEVICES is not set");
	ck_assert(fake_boolean(context, "rank.mpi_as_slurm", NULL));
	ck_assert_double_eq(fake_number(context, "rank.slurm_ntasks", NULL), 16);
	ck_assert_double_eq(fake_number(context, "rank.slurm_procid", NULL), 9);
	ck_assert_double_eq(fake_number(context, "rank.slurm_localid", NULL), 1);
	ck_assert_double_eq(fake_number(context, "node.slurm_tasks_per_node", NULL), 8);
	ck_assert_double_eq(fake_number(context, "node.slurm_gpus_on_node", NULL), 8);
	ck_assert_double_eq(fake_number(context, "node.ranks_per_gpu", NULL), 1);
	ck_assert(fake_boolean(context, "node.ranks_as_slurm", NULL));
	ck_assert(fake_boolean(context, "node.gpus_as_slurm", NULL));
	ck_assert_str_eq(fake_string(context, "rank.slurm_cpu_bind", NULL), "quiet,mask_cpu:0x1,0x2");
}

TEST(sixteen_jobs_of_one_rank_are_not_one_job_of_sixteen)
{
	start_by_srun();
	context->ctx.env.rank = context->ctx.env.local_rank = 0;
	context->ctx.env.ranks = context->ctx.env.local_ranks = 1;
	measure();
	ck_assert(!fake_boolean(context, "rank.mpi_as_slurm", NULL));
	ck_assert_double_eq(fake_number(context, "rank.mpi_size", NULL), 1);
	ck_assert_double_eq(fake_number(context, "rank.slurm_ntasks", NULL), 16);
}

TEST(ranks_in_another_order_than_slurms_are_a_difference)
{
	start_by_srun();
	setenv("SLURM_LOCALID", "2", 1);
	measure();
	ck_assert(!fake_boolean(context, "rank.mpi_as_slurm", NULL));
}

TEST(a_missing_variable_leaves_the_comparison_open)
{
	start_by_srun();
	unsetenv("SLURM_NTASKS");
	unsetenv("SLURM_STEP_NUM_TASKS");
	measure();
	ck_assert_str_eq(fake_reason(context, "rank.slurm_ntasks", NULL), "SLURM_NTASKS is not set");
	ck_assert_str_eq(fake_reason(context, "rank.mpi_as_slurm", NULL), "SLURM_NTASKS is not set");
	ck_assert_double_eq(fake_number(context, "rank.slurm_procid", NULL), 9);
}

TEST(the_steps_number_of_tasks_counts_and_not_the_jobs)
{
	start_by_srun();
	setenv("SLURM_NTASKS", "32", 1);
	setenv("SLURM_TASKS_PER_NODE", "16(x2)", 1);
	measure();
	ck_assert(fake_boolean(context, "rank.mpi_as_slurm", NULL));
	ck_assert_double_eq(fake_number(context, "node.slurm_tasks_per_node", NULL), 8);
}

/* Ways to start that are not srun, as changes to the environment of a rank of srun; NULL removes a variable. */
static const struct {
	const char *what;
	const char *changes[6][2];
	const char *reason;
} other_starts[] = {
	{ "outside Slurm", { { "SLURM_PROCID", NULL }, { "SLURM_STEP_ID", NULL }, { "SLURM_LOCALID", NULL } },
		"not started by Slurm: SLURM_PROCID is not set" },
	{ "mpirun in a batch script, on its own node",
		{ { "SLURM_STEP_ID", NULL }, { "SLURM_PROCID", "0" }, { "SLURM_LOCALID", "0" },
			{ "OMPI_COMM_WORLD_SIZE", "16" } },
		"started by mpirun inside a Slurm job" },
	{ "mpirun in an interactive step",
		{ { "SLURM_STEP_ID", "4294967290" }, { "SLURM_PROCID", "0" }, { "SLURM_LOCALID", "0" } },
		"started by mpirun inside a Slurm job" },
	{ "mpirun in a batch script, on another node: its daemon was started by srun",
		{ { "SLURM_STEP_ID", "0" }, { "SLURM_PROCID", "0" }, { "SLURM_LOCALID", "0" },
			{ "SLURM_STEP_NUM_TASKS", "1" }, { "OMPI_COMM_WORLD_SIZE", "16" } },
		"started by mpirun inside a Slurm job" },
	{ "a step id that is no number", { { "SLURM_STEP_ID", "batch" } }, "started by mpirun inside a Slurm job" },
};

TEST_EACH(slurms_variables_count_only_when_srun_started_the_process, other_starts)
{
	start_by_srun();
	for (size_t i = 0; i < 6 && other_starts[_i].changes[i][0]; i++) {
		const char *const *change = other_starts[_i].changes[i];
		if (change[1])
			setenv(change[0], change[1], 1);
		else
			unsetenv(change[0]);
	}
	measure();
	fake_complete(context, derived);
	static const char *const nulls[] = { "rank.slurm_ntasks", "rank.slurm_procid", "rank.slurm_localid",
		"rank.mpi_as_slurm", "node.slurm_tasks_per_node" };
	for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
		ck_assert_msg(strcmp(fake_reason(context, nulls[i], NULL), other_starts[_i].reason) == 0,
			"%s: %s is null: %s", other_starts[_i].what, nulls[i], fake_reason(context, nulls[i], NULL));
}

TEST(ranks_of_mpirun_dressed_as_ranks_of_srun_are_taken_for_such)
{
	start_by_srun();
	setenv("OMPI_COMM_WORLD_SIZE", "16", 1);
	setenv("OMPI_COMM_WORLD_RANK", "9", 1);
	measure();
	ck_assert(fake_boolean(context, "rank.mpi_as_slurm", NULL));
}

static const struct {
	const char *text, *node;
	double tasks; /* -1: null */
} task_lists[] = {
	{ "8", "0", 8 },
	{ "8", "1", -1 },
	{ "8(x2),4", "0", 8 },
	{ "8(x2),4", "1", 8 },
	{ "8(x2),4", "2", 4 },
	{ "8(x2),4", "3", -1 },
	{ "1,2(x3),3", "3", 2 },
	{ "1,2(x3),3", "4", 3 },
	{ "8(x1024)", "1023", 8 },
	{ "8(x9223372036854775807)", "9223372036854775807", -1 },
	{ "", "0", -1 },
	{ "x", "0", -1 },
	{ "8(x2", "0", -1 },
	{ "8(x)", "0", -1 },
	{ "8(2)", "0", -1 },
	{ "-8", "0", -1 },
	{ "8,", "1", -1 },
	{ "8;4", "1", -1 },
};

TEST_EACH(a_list_of_tasks_gives_this_nodes_count, task_lists)
{
	start_by_srun();
	setenv("SLURM_STEP_TASKS_PER_NODE", task_lists[_i].text, 1);
	setenv("SLURM_NODEID", task_lists[_i].node, 1);
	measure();
	if (task_lists[_i].tasks < 0)
		ck_assert_ptr_nonnull(
			strstr(fake_reason(context, "node.slurm_tasks_per_node", NULL), "SLURM_STEP_TASKS_PER_NODE"));
	else
		ck_assert_double_eq(fake_number(context, "node.slurm_tasks_per_node", NULL), task_lists[_i].tasks);
}

static const struct {
	const char *on_node, *per_node;
	double gpus; /* -1: null */
} gpu_counts[] = {
	{ "8", "4", 8 },
	{ NULL, "8", 8 },
	{ NULL, "a100:8", 8 },
	{ NULL, "a100:4,h100:2", 6 },
	{ NULL, "gpu:a100:4", 4 },
	{ NULL, NULL, -1 },
	{ "", "8", -1 },
	{ "eight", "8", -1 },
	{ "8,", NULL, -1 },
	{ "a100:", NULL, -1 },
	{ "8x", NULL, -1 },
	{ "99999999999999999999", NULL, -1 },
};

TEST_EACH(gpus_on_the_node_are_slurms_count, gpu_counts)
{
	if (gpu_counts[_i].on_node)
		setenv("SLURM_GPUS_ON_NODE", gpu_counts[_i].on_node, 1);
	if (gpu_counts[_i].per_node)
		setenv("SLURM_GPUS_PER_NODE", gpu_counts[_i].per_node, 1);
	measure();
	if (gpu_counts[_i].gpus < 0)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.slurm_gpus_on_node", NULL), "SLURM_GPUS_"));
	else
		ck_assert_double_eq(fake_number(context, "node.slurm_gpus_on_node", NULL), gpu_counts[_i].gpus);
}

TEST(fewer_ranks_on_the_node_than_slurms_tasks_are_a_difference)
{
	start_by_srun();
	context->ctx.env.local_ranks = 7;
	measure();
	ck_assert(!fake_boolean(context, "node.ranks_as_slurm", NULL));
	fake_forget(context);
	unsetenv("SLURM_NODEID");
	measure();
	ck_assert_str_eq(fake_reason(context, "node.ranks_as_slurm", NULL), "SLURM_NODEID is not set");
	fake_forget(context);
	unsetenv("SLURM_PROCID");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.ranks_as_slurm", NULL), "not started by Slurm"));
}

static const struct {
	const char *given;
	int nvml;
	const char *uuid;
	const char *same; /* "true", "false", or part of the reason */
	double ranks_per_gpu;
} node_gpus[] = {
	{ "8", 8, "GPU-1", "true", 1 },
	{ "4", 8, "GPU-1", "false", 1 },
	{ "8", 1, "GPU-1", "false", 8 },
	{ "8", 0, "GPU-1", "false", -1 },
	{ NULL, 8, "GPU-1", "SLURM_GPUS_PER_NODE is not set", 1 },
	{ "8", -1, "GPU-1", "libnvidia-ml.so.1", -1 },
	{ "8", -2, "GPU-1", "nvmlDeviceGetCount_v2", -1 },
	{ "14", 2, "MIG-1", "MIG instances", 4 },
};

TEST_EACH(gpus_of_the_node_are_held_against_what_slurm_gave, node_gpus)
{
	if (node_gpus[_i].given)
		setenv("SLURM_GPUS_ON_NODE", node_gpus[_i].given, 1);
	nvml_gpus = node_gpus[_i].nvml;
	nvml_missing = nvml_gpus == -1;
	fake_gpu(context, "0001:00:00.0", node_gpus[_i].uuid);
	measure();
	fake_complete(context, derived);
	if (strcmp(node_gpus[_i].same, "true") == 0 || strcmp(node_gpus[_i].same, "false") == 0)
		ck_assert_int_eq(
			fake_boolean(context, "node.gpus_as_slurm", NULL), strcmp(node_gpus[_i].same, "true") == 0);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.gpus_as_slurm", NULL), node_gpus[_i].same));
	if (node_gpus[_i].ranks_per_gpu < 0)
		ck_assert_str_ne(fake_reason(context, "node.ranks_per_gpu", NULL), "");
	else
		ck_assert_double_eq(fake_number(context, "node.ranks_per_gpu", NULL), node_gpus[_i].ranks_per_gpu);
}

static const struct {
	const char *address, *node, *place, *reason;
} addresses[] = {
	{ "s0.s1.gpu-1", "gpu-1", "s0.s1", NULL },
	{ "block4.gpu-1", "gpu-1", "block4", NULL },
	{ "core[0-1].leaf-7.gpu-1", "gpu-1", "core[0-1].leaf-7", NULL },
	{ "s0.gpu-1.site.org", "gpu-1.site.org", "s0", NULL },
	{ "gpu-1", "gpu-1", NULL, "Slurm has no topology" },
	{ "gpu-1.site.org", "gpu-1.site.org", NULL, "Slurm has no topology" },
	{ NULL, "gpu-1", NULL, "SLURM_TOPOLOGY_ADDR is not set" },
	{ "s0.s1.gpu-1", NULL, NULL, "SLURMD_NODENAME is not set" },
	{ "s0.s1.gpu-2", "gpu-1", NULL, "SLURM_TOPOLOGY_ADDR is not about node gpu-1: \"s0.s1.gpu-2\"" },
	{ "s0.s1-gpu-1", "gpu-1", NULL, "SLURM_TOPOLOGY_ADDR is not about node gpu-1: \"s0.s1-gpu-1\"" },
	{ ".gpu-1", "gpu-1", NULL, "SLURM_TOPOLOGY_ADDR is not about node gpu-1: \".gpu-1\"" },
	{ "", "gpu-1", NULL, "SLURM_TOPOLOGY_ADDR is not about node gpu-1: \"\"" },
};

TEST_EACH(the_switches_of_the_node_are_its_address_without_its_name, addresses)
{
	if (addresses[_i].address)
		setenv("SLURM_TOPOLOGY_ADDR", addresses[_i].address, 1);
	if (addresses[_i].node)
		setenv("SLURMD_NODENAME", addresses[_i].node, 1);
	measure();
	fake_complete(context, derived);
	if (addresses[_i].place)
		ck_assert_str_eq(fake_string(context, "node.slurm_topology", NULL), addresses[_i].place);
	else
		ck_assert_str_eq(fake_reason(context, "node.slurm_topology", NULL), addresses[_i].reason);
}

TEST(node_facts_are_the_leaders_to_tell)
{
	context->ctx.env.leader = false;
	measure();
	ck_assert_uint_eq(fake_count(context, "node.ranks"), 0);
	ck_assert_uint_eq(fake_count(context, "node.slurm_gpus_on_node"), 0);
	ck_assert_uint_eq(fake_count(context, "node.ranks_as_slurm"), 0);
	ck_assert_uint_eq(fake_count(context, "node.slurm_topology"), 0);
	ck_assert_uint_eq(fake_count(context, "rank.mpi_size"), 1);
}

TEST(ranks_that_took_the_same_gpu_are_counted_by_uuid)
{
	fake_gpu(context, "0001:00:00.0", "MIG-a");
	context->peers[1] = (struct muster_peer){ .rank = 10, .gpu_bus_id = "0001:00:00.0", .gpu_uuid = "MIG-b" };
	context->peers[2] = (struct muster_peer){ .rank = 11, .gpu_bus_id = "0001:00:00.0", .gpu_uuid = "MIG-a" };
	context->peers[3] = (struct muster_peer){ .rank = 12, .gpu_bus_id = "", .gpu_uuid = "" };
	context->ctx.env.peer_count = 4;
	setenv("CUDA_VISIBLE_DEVICES", "3", 1);
	measure();
	ck_assert_double_eq(fake_number(context, "rank.gpu_sharers", "0001:00:00.0"), 2);
	ck_assert_str_eq(fake_string(context, "rank.cuda_visible_devices", NULL), "3");
	ck_assert_str_eq(fake_string(context, "rank.gpu_choice", NULL), "only-visible");
	ck_assert_double_eq(fake_number(context, "rank.visible_gpus", NULL), 1);
}

TEST(a_rank_that_heard_of_no_peers_cannot_tell_who_shares_its_gpu)
{
	fake_gpu(context, "0001:00:00.0", "GPU-a");
	context->ctx.env.peer_count = 0;
	measure();
	ck_assert_str_eq(fake_reason(context, "rank.gpu_sharers", "0001:00:00.0"),
		"unknown which GPUs the ranks of the node use");
}

TEST(without_a_gpu_the_reason_is_the_workers)
{
	context->gpu.visible = -1;
	measure();
	ck_assert_str_eq(fake_reason(context, "rank.visible_gpus", NULL), "CUDA shows no GPU");
	ck_assert_str_eq(fake_reason(context, "rank.gpu_sharers", NULL), "CUDA shows no GPU");
	ck_assert_str_eq(
		fake_reason(context, "rank.gpu_choice", NULL), fake_reason(context, "rank.visible_gpus", NULL));
}

TEST_MAIN(.setup = setup, .teardown = teardown)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_launch.c - the launch contract as the environment tells it */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

extern const struct muster_probe muster_probe_launch;

static struct probe_fake *context;
static int nvml_gpus; /* -1: there is no NVML; -2: it cannot count */
static const char *uuid;
static const struct fake_knob knobs[] = { FAKE_KNOB("nvml", nvml_gpus), FAKE_KNOB("uuid", uuid), { .name = NULL } };

static nvmlReturn_t count_gpus(unsigned int *count)
{
	if (nvml_gpus < 0)
		return NVML_ERROR_UNKNOWN;
	*count = (unsigned int)nvml_gpus;
	return NVML_SUCCESS;
}

/* What srun sets in rank 9 of 16 on two nodes. */
#define SRUN                                                                                                           \
	"SLURM_STEP_ID=0 | SLURM_PROCID=9 | SLURM_LOCALID=1 | SLURM_NODEID=1 | SLURM_NTASKS=16 | "                     \
	"SLURM_STEP_NUM_TASKS=16 | SLURM_TASKS_PER_NODE=8(x2) | SLURM_STEP_TASKS_PER_NODE=8(x2) | "                    \
	"SLURM_GPUS_ON_NODE=8 | SLURM_CPU_BIND=quiet,mask_cpu:0x1,0x2 | "

static void setup(void)
{
	context = fake_new(&muster_probe_launch);
	context->knobs = knobs;
	fake_given(context,
		"-SLURM_STEP_ID | -SLURM_PROCID | -SLURM_LOCALID | -SLURM_NODEID | -SLURM_NTASKS | "
		"-SLURM_STEP_NUM_TASKS | -SLURM_TASKS_PER_NODE | -SLURM_STEP_TASKS_PER_NODE | -SLURM_GPUS_ON_NODE | "
		"-SLURM_CPU_BIND | -OMPI_COMM_WORLD_SIZE | -OMPI_COMM_WORLD_RANK | -PMI_SIZE | -CUDA_VISIBLE_DEVICES | "
		"-SLURM_GPUS_PER_NODE | -SLURM_TOPOLOGY_ADDR | -SLURMD_NODENAME | "
		"rank=9 | ranks=16 | local_rank=1 | local_ranks=8 | nodes=2 | nvml=8");
	uuid = NULL;
	scripted_nvml.nvmlDeviceGetCount_v2 = count_gpus;
}

static void teardown(void)
{
	fake_free(context);
}

/* Started by other means, Slurm's variables say nothing of the rank. */
#define NOT_BY_SRUN(why)                                                                                               \
	"rank.slurm_ntasks -" why " | rank.slurm_procid -" why " | rank.slurm_localid -" why                           \
	" | rank.mpi_as_slurm -" why " | node.slurm_tasks_per_node -" why
#define BY_MPIRUN NOT_BY_SRUN("started by mpirun inside a Slurm job")
#define TASKS(list, node) SRUN "SLURM_STEP_TASKS_PER_NODE=" list " | SLURM_NODEID=" node
#define SAME_GPUS(given, nvml, uuid) given "nvml=" nvml " | uuid=" uuid
#define ADDRESS(address, node) "SLURM_TOPOLOGY_ADDR=" address " | SLURMD_NODENAME=" node
#define NOT_ABOUT(node, address) "node.slurm_topology -SLURM_TOPOLOGY_ADDR is not about node " node ": \"" address "\""
#define NO_TASKS "node.slurm_tasks_per_node -*SLURM_STEP_TASKS_PER_NODE*"
#define NO_GPUS "node.slurm_gpus_on_node -*SLURM_GPUS_*"

#define PCI "/sys/bus/pci/devices/0009:00:00.0/"
#define GPU_OF_ANOTHER_JOB                                                                                             \
	PCI "vendor=0x10de | " PCI "class=0x030200 | " PCI "device=0x2335 | " PCI "driver->../../drivers/nvidia | "    \
	    "/proc/driver/nvidia/gpus/0009:00:00.0/information=Device Minor: \t 2"

static const struct fake_row rows[] = {
	{ "a rank of srun agrees with MPI", SRUN,
		"steps 'NVML: count the GPUs | rank.cuda_visible_devices -CUDA_VISIBLE_DEVICES is not set | "
		"rank.mpi_as_slurm true | rank.slurm_ntasks 16 | rank.slurm_procid 9 | rank.slurm_localid 1 | "
		"node.slurm_tasks_per_node 8 | node.slurm_gpus_on_node 8 | node.ranks_per_gpu 1 | "
		"node.ranks_as_slurm true | node.gpus_as_slurm true | rank.slurm_cpu_bind 'quiet,mask_cpu:0x1,0x2" },
	{ "16 jobs of one rank are not one job of 16", SRUN "rank=0 | local_rank=0 | ranks=1 | local_ranks=1",
		"rank.mpi_as_slurm false | rank.mpi_size 1 | rank.slurm_ntasks 16" },
	{ "ranks in another order than Slurm's", SRUN "SLURM_LOCALID=2", "rank.mpi_as_slurm false" },
	{ "a missing variable leaves the comparison open", SRUN "-SLURM_NTASKS | -SLURM_STEP_NUM_TASKS",
		"rank.slurm_ntasks -SLURM_NTASKS is not set | rank.mpi_as_slurm -SLURM_NTASKS is not set | "
		"rank.slurm_procid 9" },
	{ "the step's number of tasks counts and not the job's", SRUN "SLURM_NTASKS=32 | SLURM_TASKS_PER_NODE=16(x2)",
		"rank.mpi_as_slurm true | node.slurm_tasks_per_node 8" },
	{ "ranks of mpirun dressed as ranks of srun are taken for such",
		SRUN "OMPI_COMM_WORLD_SIZE=16 | OMPI_COMM_WORLD_RANK=9", "rank.mpi_as_slurm true" },

	{ "outside Slurm", SRUN "-SLURM_PROCID | -SLURM_STEP_ID | -SLURM_LOCALID",
		NOT_BY_SRUN("not started by Slurm: SLURM_PROCID is not set") },
	{ "mpirun in a batch script, on its own node",
		SRUN "-SLURM_STEP_ID | SLURM_PROCID=0 | SLURM_LOCALID=0 | OMPI_COMM_WORLD_SIZE=16", BY_MPIRUN },
	{ "mpirun in an interactive step", SRUN "SLURM_STEP_ID=4294967290 | SLURM_PROCID=0 | SLURM_LOCALID=0",
		BY_MPIRUN },
	{ "mpirun in a batch script, on another node: its daemon was started by srun",
		SRUN "SLURM_STEP_ID=0 | SLURM_PROCID=0 | SLURM_LOCALID=0 | SLURM_STEP_NUM_TASKS=1 | "
		     "OMPI_COMM_WORLD_SIZE=16",
		BY_MPIRUN },
	{ "a step id that is no number", SRUN "SLURM_STEP_ID=batch", BY_MPIRUN },

	{ "this node's count of tasks", TASKS("8", "0"), "node.slurm_tasks_per_node 8" },
	{ "a node beyond the list", TASKS("8", "1"), NO_TASKS },
	{ "first of 2", TASKS("8(x2),4", "0"), "node.slurm_tasks_per_node 8" },
	{ "second of 2", TASKS("8(x2),4", "1"), "node.slurm_tasks_per_node 8" },
	{ "behind 2", TASKS("8(x2),4", "2"), "node.slurm_tasks_per_node 4" },
	{ "beyond 2 and 1", TASKS("8(x2),4", "3"), NO_TASKS },
	{ "last of 3", TASKS("1,2(x3),3", "3"), "node.slurm_tasks_per_node 2" },
	{ "behind 3", TASKS("1,2(x3),3", "4"), "node.slurm_tasks_per_node 3" },
	{ "many nodes", TASKS("8(x1024)", "1023"), "node.slurm_tasks_per_node 8" },
	{ "too many nodes", TASKS("8(x9223372036854775807)", "9223372036854775807"), NO_TASKS },
	{ "no list", TASKS("", "0"), NO_TASKS },
	{ "no number", TASKS("x", "0"), NO_TASKS },
	{ "an open parenthesis", TASKS("8(x2", "0"), NO_TASKS },
	{ "no number of nodes", TASKS("8(x)", "0"), NO_TASKS },
	{ "no x", TASKS("8(2)", "0"), NO_TASKS },
	{ "a negative number", TASKS("-8", "0"), NO_TASKS },
	{ "nothing behind a comma", TASKS("8,", "1"), NO_TASKS },
	{ "a semicolon", TASKS("8;4", "1"), NO_TASKS },

	{ "GPUs of the node before GPUs per node", "SLURM_GPUS_ON_NODE=8 | SLURM_GPUS_PER_NODE=4",
		"node.slurm_gpus_on_node 8" },
	{ "GPUs per node", "SLURM_GPUS_PER_NODE=8", "node.slurm_gpus_on_node 8" },
	{ "GPUs of a type", "SLURM_GPUS_PER_NODE=a100:8", "node.slurm_gpus_on_node 8" },
	{ "GPUs of two types", "SLURM_GPUS_PER_NODE=a100:4,h100:2", "node.slurm_gpus_on_node 6" },
	{ "GPUs of a type, in full", "SLURM_GPUS_PER_NODE=gpu:a100:4", "node.slurm_gpus_on_node 4" },
	{ "no GPUs", NULL, NO_GPUS },
	{ "an empty number of GPUs", "SLURM_GPUS_ON_NODE= | SLURM_GPUS_PER_NODE=8", NO_GPUS },
	{ "GPUs in words", "SLURM_GPUS_ON_NODE=eight | SLURM_GPUS_PER_NODE=8", NO_GPUS },
	{ "a comma behind GPUs", "SLURM_GPUS_ON_NODE=8,", NO_GPUS },
	{ "a type without a number", "SLURM_GPUS_ON_NODE=a100:", NO_GPUS },
	{ "junk behind a number of GPUs", "SLURM_GPUS_ON_NODE=8x", NO_GPUS },
	{ "too many GPUs", "SLURM_GPUS_ON_NODE=99999999999999999999", NO_GPUS },

	{ "fewer ranks on the node than Slurm's tasks", SRUN "local_ranks=7", "node.ranks_as_slurm false" },
	{ "ranks of a node without a number", SRUN "-SLURM_NODEID", "node.ranks_as_slurm -SLURM_NODEID is not set" },
	{ "ranks of a node outside Slurm", SRUN "-SLURM_NODEID | -SLURM_PROCID",
		"node.ranks_as_slurm -*not started by Slurm*" },

	{ "as many GPUs as Slurm gave", SAME_GPUS("SLURM_GPUS_ON_NODE=8 | ", "8", "GPU-1"),
		"node.gpus_as_slurm true | node.ranks_per_gpu 1" },
	{ "more GPUs than Slurm gave", SAME_GPUS("SLURM_GPUS_ON_NODE=4 | ", "8", "GPU-1"),
		"node.gpus_as_slurm false | node.ranks_per_gpu 1" },
	{ "fewer GPUs than Slurm gave", SAME_GPUS("SLURM_GPUS_ON_NODE=8 | ", "1", "GPU-1"),
		"node.gpus_as_slurm false | node.ranks_per_gpu 8" },
	{ "no GPU of those that Slurm gave", SAME_GPUS("SLURM_GPUS_ON_NODE=8 | ", "0", "GPU-1"),
		"node.gpus_as_slurm false | node.ranks_per_gpu -?*" },
	{ "Slurm gave no GPUs", SAME_GPUS("", "8", "GPU-1"),
		"node.gpus_as_slurm -*SLURM_GPUS_PER_NODE is not set* | node.ranks_per_gpu 1" },
	{ "NVML is missing", SAME_GPUS("SLURM_GPUS_ON_NODE=8 | ", "-1", "GPU-1"),
		"node.gpus_as_slurm -*libnvidia-ml.so.1* | node.ranks_per_gpu -?*" },
	{ "NVML cannot count", SAME_GPUS("SLURM_GPUS_ON_NODE=8 | ", "-2", "GPU-1"),
		"node.gpus_as_slurm -*nvmlDeviceGetCount_v2* | node.ranks_per_gpu -?*" },
	{ "MIG instances are not counted by NVML", SAME_GPUS("SLURM_GPUS_ON_NODE=14 | ", "2", "MIG-1"),
		"node.gpus_as_slurm -*MIG instances* | node.ranks_per_gpu 4" },

	{ "a machine without a PCI bus", NULL, "node.gpus_hidden 0" },
	{ "a GPU that the job may not use", GPU_OF_ANOTHER_JOB " | /.dockerenv=", "node.gpus_hidden 1" },

	{ "the switches are the address without the node", ADDRESS("s0.s1.gpu-1", "gpu-1"),
		"node.slurm_topology 's0.s1" },
	{ "a block", ADDRESS("block4.gpu-1", "gpu-1"), "node.slurm_topology 'block4" },
	{ "a list of switches", ADDRESS("core[0-1].leaf-7.gpu-1", "gpu-1"), "node.slurm_topology 'core[0-1].leaf-7" },
	{ "a node with a domain", ADDRESS("s0.gpu-1.site.org", "gpu-1.site.org"), "node.slurm_topology 's0" },
	{ "no switches", ADDRESS("gpu-1", "gpu-1"), "node.slurm_topology -Slurm has no topology" },
	{ "no switches, with a domain", ADDRESS("gpu-1.site.org", "gpu-1.site.org"),
		"node.slurm_topology -Slurm has no topology" },
	{ "no address", "SLURMD_NODENAME=gpu-1", "node.slurm_topology -SLURM_TOPOLOGY_ADDR is not set" },
	{ "no name", "SLURM_TOPOLOGY_ADDR=s0.s1.gpu-1", "node.slurm_topology -SLURMD_NODENAME is not set" },
	{ "the address of another node", ADDRESS("s0.s1.gpu-2", "gpu-1"), NOT_ABOUT("gpu-1", "s0.s1.gpu-2") },
	{ "no dot before the name", ADDRESS("s0.s1-gpu-1", "gpu-1"), NOT_ABOUT("gpu-1", "s0.s1-gpu-1") },
	{ "nothing before the dot", ADDRESS(".gpu-1", "gpu-1"), NOT_ABOUT("gpu-1", ".gpu-1") },
	{ "an empty address", ADDRESS("", "gpu-1"), NOT_ABOUT("gpu-1", "") },

	{ "a rank that heard of no peers cannot tell who shares its GPU", "uuid=GPU-a | peers=0",
		"rank.gpu_sharers gpu=0001:00:00.0 -unknown which GPUs the ranks of the node use" },
	{ "without a GPU the reason is the worker's", "visible=-1",
		"rank.visible_gpus -CUDA shows no GPU | rank.gpu_sharers -CUDA shows no GPU | "
		"rank.gpu_choice -CUDA shows no GPU" },
	/* peers: the same instance, another one of the same GPU, and none */
	{ "ranks that took the same GPU are counted by UUID", "uuid=MIG-a | peers=4 | CUDA_VISIBLE_DEVICES=3",
		"rank.gpu_sharers gpu=0001:00:00.0 2 | rank.cuda_visible_devices '3 | "
		"rank.gpu_choice 'only-visible | rank.visible_gpus 1" },
};

TEST_EACH(what_slurm_set_is_held_against_what_there_is, rows)
{
	static const char *const derived[] = { "job.same_names", "job.rack_order", NULL }; /* at the end of the run */
	fake_given(context, rows[_i].given);
	nvml_missing = nvml_gpus == -1;
	if (uuid)
		fake_gpu(context, "0001:00:00.0", uuid);
	context->peers[1] = (struct muster_peer){ .rank = 10, .gpu_bus_id = "0001:00:00.0", .gpu_uuid = "MIG-b" };
	context->peers[2] = (struct muster_peer){ .rank = 11, .gpu_bus_id = "0001:00:00.0", .gpu_uuid = "MIG-a" };
	context->peers[3] = (struct muster_peer){ .rank = 12, .gpu_bus_id = "", .gpu_uuid = "" };
	fake_run(context);
	fake_complete(context, derived);
	fake_expect(context, rows[_i].expected, rows[_i].name);
}

static const struct fake_row follower = { "node facts are the leader's to tell", "leader=0",
	"node.ranks #0 | node.slurm_gpus_on_node #0 | node.ranks_as_slurm #0 | node.slurm_topology #0 | "
	"rank.mpi_size #1" };

TEST(node_facts_are_the_leaders_to_tell)
{
	fake_case(context, &follower);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

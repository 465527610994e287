/* SPDX-License-Identifier: Apache-2.0 */
/* test_presence.c - GPUs of a bus, of a scripted NVML and of a scripted CUDA driver, and the processes of a small /proc
 */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_presence;

enum { GPUS_MAX = 4 };

static struct probe_fake *context;

static struct {
	const char *bus_ids[GPUS_MAX]; /* of NVML's GPUs */
	nvmlReturn_t results[GPUS_MAX];
	unsigned int count;
	unsigned int mig; /* a bit for each GPU in MIG mode */
	nvmlReturn_t count_result;
	const char *cuda[GPUS_MAX];
	int cuda_count;
	CUresult cuda_result;
} script;

static nvmlReturn_t give_count(unsigned int *count)
{
	*count = script.count;
	return script.count_result;
}

/* A handle is the GPU's number from 1 on. */
static nvmlReturn_t give_handle(unsigned int index, nvmlDevice_t *device)
{
	ck_assert_uint_lt(index, script.count);
	*device = (nvmlDevice_t)(uintptr_t)(index + 1);
	return script.results[index];
}

static nvmlReturn_t give_pci(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	snprintf(pci->busId, sizeof pci->busId, "%s", script.bus_ids[(uintptr_t)device - 1]);
	return NVML_SUCCESS;
}

static nvmlReturn_t give_mig(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	*current = *pending = script.mig >> ((uintptr_t)device - 1) & 1;
	return NVML_SUCCESS;
}

static CUresult give_cuda_count(int *count)
{
	*count = script.cuda_count;
	return script.cuda_result;
}

static CUresult give_cuda_device(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

int muster_cuda_bus_id(
	const struct muster_cuda *cuda, CUdevice device, char *ret, size_t size, struct muster_error *err)
{
	(void)cuda;
	(void)err;
	snprintf(ret, size, "%s", script.cuda[device]);
	return 0;
}

static const struct fake_knob knobs[] = { FAKE_KNOB("count", script.count), FAKE_KNOB("result0", script.results[0]),
	FAKE_KNOB("result2", script.results[2]), FAKE_KNOB("mig", script.mig),
	FAKE_KNOB("cuda_count", script.cuda_count), FAKE_KNOB("cuda_result", script.cuda_result),
	FAKE_KNOB("nvml_missing", nvml_missing), FAKE_KNOB("cuda_missing", cuda_missing), { .name = NULL } };

#define PCI "/sys/bus/pci/devices/"
#define UNBOUND(bus_id, device)                                                                                        \
	PCI bus_id "/vendor=0x10de | " PCI bus_id "/class=0x030200 | " PCI bus_id "/device=" device " | "
/* A GPU of the bus that the NVIDIA driver has. */
#define BOUND(bus_id, minor)                                                                                           \
	UNBOUND(bus_id, "0x2335")                                                                                      \
	PCI bus_id "/driver->../../drivers/nvidia | /proc/driver/nvidia/gpus/" bus_id                                  \
		   "/information=Device Minor: \t " minor " | /dev/nvidia" minor "= | "

static void setup(void)
{
	context = fake_new(&muster_probe_presence);
	context->knobs = knobs;
	fake_gpu(context, "0001:00:00.0", "GPU-1");
	scripted_nvml.nvmlDeviceGetCount_v2 = give_count;
	scripted_nvml.nvmlDeviceGetHandleByIndex_v2 = give_handle;
	scripted_nvml.nvmlDeviceGetPciInfo_v3 = give_pci;
	scripted_nvml.nvmlDeviceGetMigMode = give_mig;
	scripted_cuda.cuDeviceGetCount = give_cuda_count;
	scripted_cuda.cuDeviceGet = give_cuda_device;
	memset(&script, 0, sizeof script);
	script.bus_ids[0] = "00000001:00:00.0";
	script.bus_ids[1] = "00000008:00:00.0";
	script.bus_ids[2] = "0000000a:00:00.0";
	script.cuda[0] = "0008:00:00.0";
	script.cuda[1] = "0001:00:00.0";
	fake_given(context, "-CUDA_VISIBLE_DEVICES | -CUDA_MPS_PIPE_DIRECTORY | -SLURM_JOB_ID | nvml_missing=0 | "
			    "cuda_missing=0 | cuda_device=0 | count=2 | cuda_count=2 | " BOUND("0001:00:00.0", "0")
				    BOUND("0008:00:00.0", "1") "/proc/1/comm=systemd | /proc/2/comm=kthreadd");
}

static void teardown(void)
{
	fake_free(context);
}

#define LOST "nvmlDeviceGetHandleByIndex_v2: result 15"
#define NOT_SEEN "/proc does not show all processes*"
#define STEPD(pid, command) "/proc/" pid "/comm=slurmstepd | /proc/" pid "/cmdline=" command " | "
#define OTHER_JOBS                                                                                                     \
	STEPD("10", "slurmstepd: [1234.batch]")                                                                        \
	STEPD("11", "slurmstepd: [1234.0]")                                                                            \
	STEPD("12", "slurmstepd: [77.extern]")                                                                         \
	STEPD("13", "/usr/sbin/slurmstepd infinity")                                                                   \
	"/proc/14/comm=slurmstepd | /proc/15/comm=bash | "                                                             \
	"/proc/15/cmdline=bash [99.0] | "

static const char *const derived[] = { "node.gpus_present", NULL };

static const struct fake_row rows[] = {
	{ "a healthy node lacks nothing", NULL,
		"node.gpus_on_pci 2 | node.gpus_missing 'none | node.gpus_not_in_cuda 'none" },
	{ "a GPU of the bus that NVML lacks is named", BOUND("0009:00:00.0", "2") UNBOUND("000a:00:00.0", "0x2335"),
		"node.gpus_on_pci 4 | node.gpus_missing '0009:00:00.0 is on the bus and not in NVML; "
		"000a:00:00.0 is on the bus and not in NVML: no driver is bound" },
	{ "a GPU that NVML counts and lost is named by its place on the bus", "result0=15",
		"node.gpus_missing '0001:00:00.0 is on the bus and not in NVML: GPU 0 in NVML's order: " LOST },
	{ "a lost GPU that has left the bus too is named by its number", "result2=15 | count=3",
		"node.gpus_missing 'GPU 2 in NVML's order: " LOST },
	{ "a hidden GPU is not missing",
		BOUND("0009:00:00.0", "2") "-/proc/driver/nvidia/gpus/0009:00:00.0/information",
		"node.gpus_on_pci 2 | node.gpus_missing 'none" },
	{ "a GPU without its file is missing", BOUND("0009:00:00.0", "2") "-/dev/nvidia2",
		"node.gpus_on_pci 3 | node.gpus_missing '0009:00:00.0 is on the bus and not in NVML: /dev/nvidia2: No "
		"such file or directory | node.gpus_withheld '0009:00:00.0: /dev/nvidia2: No such file or directory" },
	{ "in a container the file is that of another job", BOUND("0009:00:00.0", "2") "-/dev/nvidia2 | /.dockerenv=",
		"node.gpus_on_pci 2 | node.gpus_missing 'none" },
	{ "on a shared node nobody knows whose GPU is missing",
		BOUND("0009:00:00.0", "2")
			UNBOUND("000a:00:00.0", "0x2335") "-/proc/driver/nvidia/gpus/0009:00:00.0/information",
		"node.gpus_missing -*1 GPUs are hidden from this job, so a missing one may be another job's: "
		"000a:00:00.0 is on the bus and not in NVML: no driver is bound" },
	{ "a display of another model needs no driver", UNBOUND("0009:00:00.0", "0x13ba"), "node.gpus_missing 'none" },
	{ "a GPU of this model needs one", UNBOUND("0009:00:00.0", "0x2335"),
		"node.gpus_missing '0009:00:00.0 is on the bus and not in NVML: no driver is bound" },
	{ "without NVML nothing is missing and nothing is known", "nvml_missing=1",
		"node.gpus_on_pci 2 | node.gpus_missing -*libnvidia-ml.so.1* | "
		"node.gpus_not_in_cuda -*libnvidia-ml.so.1*" },

	{ "GPUs are counted in the order of the bus", NULL, "node.gpu_order '0001:00:00.0 0008:00:00.0" },
	{ "hidden GPUs are counted too",
		BOUND("0003:00:00.0", "2") "-/proc/driver/nvidia/gpus/0003:00:00.0/information",
		"node.gpu_order '0001:00:00.0 0003:00:00.0 0008:00:00.0" },
	{ "a GPU that is lost keeps its place", "result0=15", "node.gpu_order '0001:00:00.0 0008:00:00.0" },
	{ "a lost GPU that has left the bus keeps its place too", "result2=15 | count=3",
		"node.gpu_order '0001:00:00.0 0008:00:00.0 ?" },
	{ "a GPU that did not start is not counted", BOUND("0003:00:00.0", "2"),
		"node.gpu_order '0001:00:00.0 0008:00:00.0" },
	{ "a GPU without a driver is not counted", UNBOUND("0003:00:00.0", "0x2335"),
		"node.gpu_order '0001:00:00.0 0008:00:00.0" },
	{ "without NVML the bus says the order", "nvml_missing=1", "node.gpu_order '0001:00:00.0 0008:00:00.0" },

	{ "a GPU that CUDA lacks is named", "cuda_count=1", "node.gpus_not_in_cuda '0001:00:00.0" },
	{ "a GPU that NVML lost is not asked of CUDA", "result0=15 | cuda_count=1", "node.gpus_not_in_cuda 'none" },
	{ "a rank without a GPU does not ask CUDA", "cuda_device=-1 | cuda_missing=1",
		"node.gpus_not_in_cuda -CUDA gave the rank no GPU" },
	{ "CUDA may show fewer: a variable", "cuda_count=1 | CUDA_VISIBLE_DEVICES=1",
		"node.gpus_not_in_cuda -*CUDA_VISIBLE_DEVICES chooses*" },
	{ "CUDA may show fewer: MPS", "cuda_count=1 | CUDA_MPS_PIPE_DIRECTORY=1",
		"node.gpus_not_in_cuda -*Multi-Process Service*" },
	{ "CUDA may show fewer: MPS at its usual place",
		"cuda_count=1 | /tmp/nvidia-mps/control=", "node.gpus_not_in_cuda -*Multi-Process Service*" },
	{ "CUDA may show fewer: MIG", "cuda_count=1 | mig=2", "node.gpus_not_in_cuda -*MIG mode*" },
	{ "CUDA does not start", "cuda_count=1 | cuda_result=3",
		"node.gpus_not_in_cuda -*cuDeviceGetCount: result 3*" },

	{ "services run or do not", "/proc/900/comm=nv-fabricmanage | /proc/901/comm=nvidia-imex",
		"node.fabric_manager true | node.persistenced false | node.imex_service true" },
	{ "the persistence daemon", "/proc/902/comm=nvidia-persiste", "node.persistenced true" },
	{ "in a container services and jobs are not known", "/proc/2/comm=bash",
		"node.fabric_manager -*" NOT_SEEN " | node.persistenced -*" NOT_SEEN " | node.imex_service -*" NOT_SEEN
		" | node.other_jobs -*" NOT_SEEN },
	{ "a service may run outside the container that sees all processes",
		"/.dockerenv= | /proc/901/comm=nvidia-imex",
		"node.fabric_manager -no process nv-fabricmanager is seen, and it may run outside this container "
		"(docker) | node.imex_service true | node.other_jobs 'none" },
	{ "no other job", NULL, "node.other_jobs 'none" },
	{ "steps of other jobs are named once", OTHER_JOBS, "node.other_jobs '1234 77" },
	{ "the own job is no other", OTHER_JOBS "SLURM_JOB_ID=1234", "node.other_jobs '77" },
};

static void play(const struct fake_row *row)
{
	fake_case(context, row);
	fake_complete(context, derived);
	fake_expect(context,
		"steps 'NVML: list the GPUs; read /sys/bus/pci/devices; CUDA: list the GPUs; list the processes",
		row->name);
}

TEST_EACH(bus_nvml_cuda_and_processes_are_compared, rows)
{
	play(&rows[_i]);
}

TEST(a_bus_without_gpus_has_nothing_to_compare)
{
	ck_assert_int_eq(chdir(context->root), 0);
	ck_assert_int_eq(rename("sys/bus", "away"), 0);
	play(&(struct fake_row){ "no bus", NULL,
		"node.gpus_on_pci 0 | node.gpu_order '0001:00:00.0 0008:00:00.0 | node.gpus_missing "
		"!/sys/bus/pci/devices shows no NVIDIA GPU, and NVML shows 2" });
}

TEST_MAIN(.setup = setup, .teardown = teardown)

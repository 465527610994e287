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

/* A GPU of the bus that the NVIDIA driver has. */
static void put_gpu(const char *bus_id, const char *device, int minor)
{
	char path[256], text[64], target[512];
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", bus_id);
	fake_file(context, path, "0x10de\n");
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", bus_id);
	fake_file(context, path, "0x030200\n");
	snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/device", bus_id);
	fake_file(context, path, device);
	if (minor < 0)
		return;
	snprintf(target, sizeof target, "%s/sys/bus/pci/devices/%s/driver", context->root, bus_id);
	ck_assert_int_eq(symlink("../../drivers/nvidia", target), 0);
	snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", bus_id);
	snprintf(text, sizeof text, "Device Minor: \t %d\n", minor);
	fake_file(context, path, text);
	snprintf(path, sizeof path, "/dev/nvidia%d", minor);
	fake_file(context, path, "");
}

static void remove_file(const char *path)
{
	char whole[512];
	snprintf(whole, sizeof whole, "%s%s", context->root, path);
	ck_assert_int_eq(remove(whole), 0);
}

static void setup(void)
{
	context = fake_new(&muster_probe_presence);
	fake_gpu(context, "0001:00:00.0", "GPU-1");
	context->gpu.cuda_device = 0;
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	unsetenv("SLURM_JOB_ID");
	nvml_missing = cuda_missing = false;
	scripted_nvml.nvmlDeviceGetCount_v2 = give_count;
	scripted_nvml.nvmlDeviceGetHandleByIndex_v2 = give_handle;
	scripted_nvml.nvmlDeviceGetPciInfo_v3 = give_pci;
	scripted_nvml.nvmlDeviceGetMigMode = give_mig;
	scripted_cuda.cuDeviceGetCount = give_cuda_count;
	scripted_cuda.cuDeviceGet = give_cuda_device;
	memset(&script, 0, sizeof script);
	script.bus_ids[0] = "00000001:00:00.0";
	script.bus_ids[1] = "00000008:00:00.0";
	script.cuda[0] = "0008:00:00.0";
	script.cuda[1] = "0001:00:00.0";
	script.count = 2;
	script.cuda_count = 2;
	put_gpu("0001:00:00.0", "0x2335\n", 0);
	put_gpu("0008:00:00.0", "0x2335\n", 1);
	fake_file(context, "/proc/1/comm", "systemd\n");
	fake_file(context, "/proc/2/comm", "kthreadd\n");
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	struct muster_error err;
	fake_forget(context);
	ck_assert_msg(muster_probe_presence.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
	ck_assert_str_eq(context->steps,
		"NVML: list the GPUs\nread /sys/bus/pci/devices\nCUDA: list the GPUs\nlist the processes\n");
}

TEST(a_healthy_node_lacks_nothing)
{
	measure();
	ck_assert_double_eq(fake_number(context, "node.gpus_on_pci", NULL), 2);
	ck_assert_double_eq(fake_number(context, "node.gpus_hidden", NULL), 0);
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL), "none");
	ck_assert_str_eq(fake_string(context, "node.gpus_not_in_cuda", NULL), "none");
}

TEST(a_gpu_of_the_bus_that_nvml_lacks_is_named)
{
	put_gpu("0009:00:00.0", "0x2335\n", 2);
	put_gpu("000a:00:00.0", "0x2335\n", -1);
	measure();
	ck_assert_double_eq(fake_number(context, "node.gpus_on_pci", NULL), 4);
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL),
		"0009:00:00.0 is on the bus and not in NVML; 000a:00:00.0 is on the bus and not in NVML: no driver is "
		"bound");
}

TEST(a_gpu_that_nvml_counts_and_lost_is_named_by_its_place_on_the_bus)
{
	script.results[0] = NVML_ERROR_GPU_IS_LOST;
	measure();
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL),
		"0001:00:00.0 is on the bus and not in NVML: GPU 0 in NVML's order: nvmlDeviceGetHandleByIndex_v2: "
		"result 15");
}

TEST(a_lost_gpu_that_has_left_the_bus_too_is_named_by_its_number)
{
	script.bus_ids[2] = "0000000a:00:00.0";
	script.results[2] = NVML_ERROR_GPU_IS_LOST;
	script.count = 3;
	measure();
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL),
		"GPU 2 in NVML's order: nvmlDeviceGetHandleByIndex_v2: result 15");
}

TEST(a_hidden_gpu_is_counted_and_not_missing)
{
	put_gpu("0009:00:00.0", "0x2335\n", 2);
	remove_file("/dev/nvidia2");
	measure();
	ck_assert_double_eq(fake_number(context, "node.gpus_on_pci", NULL), 2);
	ck_assert_double_eq(fake_number(context, "node.gpus_hidden", NULL), 1);
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL), "none");
}

TEST(on_a_shared_node_nobody_knows_whose_gpu_is_missing)
{
	put_gpu("0009:00:00.0", "0x2335\n", 2);
	remove_file("/dev/nvidia2");
	put_gpu("000a:00:00.0", "0x2335\n", -1);
	measure();
	ck_assert_str_eq(fake_reason(context, "node.gpus_missing", NULL),
		"1 GPUs are hidden from this job, so a missing one may be another job's: 000a:00:00.0 is on the bus "
		"and "
		"not in NVML: no driver is bound");
}

TEST(a_display_of_another_model_needs_no_driver)
{
	put_gpu("0009:00:00.0", "0x13ba\n", -1);
	measure();
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL), "none");
	fake_file(context, "/sys/bus/pci/devices/0009:00:00.0/device", "0x2335\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.gpus_missing", NULL),
		"0009:00:00.0 is on the bus and not in NVML: no driver is bound");
}

TEST(a_bus_without_gpus_has_nothing_to_compare)
{
	char bus[512], away[512];
	snprintf(bus, sizeof bus, "%s/sys/bus", context->root);
	snprintf(away, sizeof away, "%s/away", context->root);
	ck_assert_int_eq(rename(bus, away), 0);
	measure();
	ck_assert_double_eq(fake_number(context, "node.gpus_on_pci", NULL), 0);
	ck_assert_str_eq(fake_reason(context, "node.gpus_missing", NULL),
		"/sys/bus/pci/devices shows no NVIDIA GPU, and NVML shows 2");
}

TEST(without_nvml_nothing_is_missing_and_nothing_is_known)
{
	nvml_missing = true;
	measure();
	ck_assert_double_eq(fake_number(context, "node.gpus_on_pci", NULL), 2);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.gpus_missing", NULL), "libnvidia-ml.so.1"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.gpus_not_in_cuda", NULL), "libnvidia-ml.so.1"));
}

TEST(a_gpu_that_cuda_lacks_is_named)
{
	script.cuda_count = 1;
	measure();
	ck_assert_str_eq(fake_string(context, "node.gpus_not_in_cuda", NULL), "0001:00:00.0");
}

TEST(a_gpu_that_nvml_lost_is_not_asked_of_cuda)
{
	script.results[0] = NVML_ERROR_GPU_IS_LOST;
	script.cuda_count = 1;
	measure();
	ck_assert_str_eq(fake_string(context, "node.gpus_not_in_cuda", NULL), "none");
}

TEST(a_rank_without_a_gpu_does_not_ask_cuda)
{
	context->gpu.cuda_device = -1;
	cuda_missing = true;
	measure();
	ck_assert_str_eq(fake_reason(context, "node.gpus_not_in_cuda", NULL), "CUDA gave the rank no GPU");
}

static const struct {
	const char *variable, *file, *why;
	unsigned int mig;
	CUresult result;
} restrictions[] = {
	{ "CUDA_VISIBLE_DEVICES", NULL, "CUDA_VISIBLE_DEVICES chooses", 0, CUDA_SUCCESS },
	{ "CUDA_MPS_PIPE_DIRECTORY", NULL, "Multi-Process Service", 0, CUDA_SUCCESS },
	{ NULL, "/tmp/nvidia-mps/control", "Multi-Process Service", 0, CUDA_SUCCESS },
	{ NULL, NULL, "MIG mode", 2, CUDA_SUCCESS },
	{ NULL, NULL, "cuDeviceGetCount: result 3", 0, CUDA_ERROR_NOT_INITIALIZED },
};

TEST_EACH(where_cuda_may_show_fewer_gpus_nothing_is_compared, restrictions)
{
	script.cuda_count = 1;
	script.mig = restrictions[_i].mig;
	script.cuda_result = restrictions[_i].result;
	if (restrictions[_i].variable)
		setenv(restrictions[_i].variable, "1", 1);
	if (restrictions[_i].file)
		fake_file(context, restrictions[_i].file, "");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.gpus_not_in_cuda", NULL), restrictions[_i].why));
}

TEST(services_run_or_do_not)
{
	fake_file(context, "/proc/900/comm", "nv-fabricmanage\n");
	fake_file(context, "/proc/901/comm", "nvidia-imex\n");
	measure();
	ck_assert(fake_boolean(context, "node.fabric_manager", NULL));
	ck_assert(!fake_boolean(context, "node.persistenced", NULL));
	ck_assert(fake_boolean(context, "node.imex_service", NULL));
	fake_file(context, "/proc/902/comm", "nvidia-persiste\n");
	measure();
	ck_assert(fake_boolean(context, "node.persistenced", NULL));
}

TEST(in_a_container_services_and_jobs_are_not_known)
{
	static const char *const names[] = { "node.fabric_manager", "node.persistenced", "node.imex_service",
		"node.other_jobs" };
	fake_file(context, "/proc/2/comm", "bash\n");
	measure();
	for (int i = 0; i < LENGTH(names); i++)
		ck_assert_ptr_nonnull(
			strstr(fake_reason(context, names[i], NULL), "/proc does not show all processes"));
}

TEST(a_service_may_run_outside_the_container_that_sees_all_processes)
{
	fake_file(context, "/.dockerenv", "");
	fake_file(context, "/proc/901/comm", "nvidia-imex\n");
	measure();
	ck_assert_str_eq(fake_reason(context, "node.fabric_manager", NULL),
		"no process nv-fabricmanager is seen, and it may run outside this container (docker)");
	ck_assert(fake_boolean(context, "node.imex_service", NULL));
	ck_assert_str_eq(fake_string(context, "node.other_jobs", NULL), "none");
}

TEST(steps_of_other_jobs_are_named_once)
{
	measure();
	ck_assert_str_eq(fake_string(context, "node.other_jobs", NULL), "none");
	fake_file(context, "/proc/10/comm", "slurmstepd\n");
	fake_file(context, "/proc/10/cmdline", "slurmstepd: [1234.batch]");
	fake_file(context, "/proc/11/comm", "slurmstepd\n");
	fake_file(context, "/proc/11/cmdline", "slurmstepd: [1234.0]");
	fake_file(context, "/proc/12/comm", "slurmstepd\n");
	fake_file(context, "/proc/12/cmdline", "slurmstepd: [77.extern]");
	fake_file(context, "/proc/13/comm", "slurmstepd\n");
	fake_file(context, "/proc/13/cmdline", "/usr/sbin/slurmstepd infinity");
	fake_file(context, "/proc/14/comm", "slurmstepd\n"); /* ended meanwhile */
	fake_file(context, "/proc/15/comm", "bash\n");
	fake_file(context, "/proc/15/cmdline", "bash [99.0]");
	measure();
	ck_assert_str_eq(fake_string(context, "node.other_jobs", NULL), "1234 77");
	setenv("SLURM_JOB_ID", "1234", 1);
	measure();
	ck_assert_str_eq(fake_string(context, "node.other_jobs", NULL), "77");
}

TEST_MAIN(.setup = setup, .teardown = teardown)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml_users.c - what NVML's stand-in says of processes, memory, errors and MIG instances
 */
#include "standins/example.h"

#include "check_main.h"
#include "vendor/cuda_abi.h"
#include "vendor/nvml_abi.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

static struct {
#define X(symbol, parameters) nvmlReturn_t(*symbol) parameters;
	MUSTER_NVML_FUNCTIONS(X)
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
} nvml;

static struct {
#define X(symbol, parameters) CUresult(*symbol) parameters;
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
} cuda;

#define OK(call) ck_assert_int_eq(nvml.call, NVML_SUCCESS)
#define GIVES(code, call) ck_assert_int_eq(nvml.call, code)
#define CUDA_OK(call) ck_assert_int_eq(cuda.call, CUDA_SUCCESS)
#define MIB (1ull << 20)

/* The first GPU of the node of rank 0, to be changed before begin. */
static struct muster_sim_cluster *cluster;

static struct muster_sim_gpu *gpu(void)
{
	return &cluster->nodes[0].gpus[0];
}

static void start(void)
{
	cluster = example_cluster();
}

static nvmlDevice_t begin(void)
{
	nvmlDevice_t device;
	example_start(cluster, 0);
	void *library = example_open("libnvidia-ml.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &nvml.symbol, sizeof nvml.symbol);
	MUSTER_NVML_FUNCTIONS(X)
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	library = example_open("libcuda.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &cuda.symbol, sizeof cuda.symbol);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
	OK(nvmlInit_v2());
	OK(nvmlDeviceGetHandleByPciBusId_v2(gpu()->bus_id, &device));
	CUDA_OK(cuInit(0));
	return device;
}

/* CUDA's number of the GPU. */
static CUdevice ordinal(void)
{
	int count;
	CUDA_OK(cuDeviceGetCount(&count));
	for (int i = 0; i < count; i++) {
		char bus_id[32];
		CUDA_OK(cuDeviceGetPCIBusId(bus_id, sizeof bus_id, i));
		if (strcasecmp(bus_id, gpu()->bus_id) == 0)
			return i;
	}
	ck_abort_msg("CUDA does not show the GPU");
}

static void use_gpu(void)
{
	CUcontext context;
	CUDA_OK(cuDevicePrimaryCtxRetain(&context, ordinal()));
	CUDA_OK(cuCtxSetCurrent(context));
}

/* Something in a stream of the GPU. */
static void work(void)
{
	CUdeviceptr memory;
	CUstream stream;
	CUDA_OK(cuMemAlloc_v2(&memory, 4096));
	CUDA_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CUDA_OK(cuMemsetD32Async(memory, 1, 1024, stream));
	CUDA_OK(cuStreamQuery(stream));
}

TEST(processes_are_listed_once_they_use_the_gpu)
{
	nvmlProcessInfo_v2_t processes[4];
	unsigned int count = 0;
	gpu()->stranger_pid = 77;
	gpu()->stranger_mib = 5;
	nvmlDevice_t device = begin();
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetComputeRunningProcesses_v2(device, &count, NULL));
	ck_assert_uint_eq(count, 1);
	use_gpu();
	count = 4;
	OK(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, processes));
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(processes[0].pid, 77);
	ck_assert_uint_eq(processes[0].usedGpuMemory, 5 * MIB);
	ck_assert_uint_eq(processes[0].gpuInstanceId, 0xffffffffu);
	ck_assert_uint_eq(processes[1].pid, (unsigned int)getpid());
	count = 4;
	OK(nvmlDeviceGetGraphicsRunningProcesses_v2(device, &count, processes));
	ck_assert_uint_eq(count, 0);
	count = 4;
	OK(nvmlDeviceGetMPSComputeRunningProcesses_v2(device, &count, processes));
	ck_assert_uint_eq(count, 0);
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetComputeRunningProcesses_v2(device, NULL, processes));
}

TEST(a_late_stranger_is_there_once_this_process_uses_the_gpu)
{
	nvmlProcessInfo_v2_t processes[4];
	nvmlUtilization_t rates;
	unsigned int count = 4;
	gpu()->stranger_pid = 77;
	gpu()->stranger_late = true;
	nvmlDevice_t device = begin();
	OK(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, processes));
	ck_assert_uint_eq(count, 0);
	OK(nvmlDeviceGetUtilizationRates(device, &rates));
	ck_assert_uint_eq(rates.gpu, 0);
	use_gpu();
	count = 4;
	OK(nvmlDeviceGetComputeRunningProcesses_v2(device, &count, processes));
	ck_assert_uint_eq(count, 2);
	OK(nvmlDeviceGetUtilizationRates(device, &rates));
	ck_assert_uint_eq(rates.gpu, 99);
}

TEST(memory_in_use_is_told_with_and_without_the_reserve)
{
	nvmlMemory_t memory;
	nvmlMemory_v2_t newer = { .version = nvmlMemory_v2 };
	gpu()->memory_held_mib = 100;
	nvmlDevice_t device = begin();
	OK(nvmlDeviceGetMemoryInfo(device, &memory));
	OK(nvmlDeviceGetMemoryInfo_v2(device, &newer));
	ck_assert_uint_eq(newer.used, 100 * MIB);
	ck_assert_uint_eq(memory.used, newer.used + newer.reserved);
	ck_assert_uint_gt(newer.reserved, 0);
	ck_assert_uint_eq(memory.free + memory.used, memory.total);
	ck_assert_uint_eq(newer.free, memory.free);
	newer.version = 2;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetMemoryInfo_v2(device, &newer));
}

TEST(counters_of_links_rise_by_work)
{
	unsigned long long count;
	unsigned int replays;
	gpu()->nvlink_recoveries = 2;
	gpu()->pcie_replays = 500;
	nvmlDevice_t device = begin();
	use_gpu();
	OK(nvmlDeviceGetNvLinkErrorCounter(device, 3, NVML_NVLINK_ERROR_DL_RECOVERY, &count));
	ck_assert_uint_eq(count, 0);
	OK(nvmlDeviceGetPcieReplayCounter(device, &replays));
	ck_assert_uint_eq(replays, 0);
	work();
	OK(nvmlDeviceGetNvLinkErrorCounter(device, 3, NVML_NVLINK_ERROR_DL_RECOVERY, &count));
	ck_assert_uint_eq(count, 2);
	OK(nvmlDeviceGetNvLinkErrorCounter(device, 4, NVML_NVLINK_ERROR_DL_RECOVERY, &count));
	ck_assert_uint_eq(count, 0);
	OK(nvmlDeviceGetPcieReplayCounter(device, &replays));
	ck_assert_uint_eq(replays, 500);
	/* healthy devices have some in their life */
	OK(nvmlDeviceGetNvLinkErrorCounter(device, 0, NVML_NVLINK_ERROR_DL_CRC_DATA, &count));
	ck_assert_uint_eq(count, 9);
	GIVES(NVML_ERROR_INVALID_ARGUMENT,
		nvmlDeviceGetNvLinkErrorCounter(device, NVML_NVLINK_MAX_LINKS, NVML_NVLINK_ERROR_DL_CRC_DATA, &count));
}

TEST(newer_gpus_have_their_link_counters_as_fields)
{
	unsigned long long count;
	nvmlFieldValue_t fields[] = { { .fieldId = NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, .scopeId = 3 },
		{ .fieldId = NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER },
		{ .fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION } };
	gpu()->compute_major = 10;
	gpu()->nvlink_recoveries = 2;
	gpu()->recovery_action = NVML_GPU_RECOVERY_ACTION_DRAIN_P2P;
	nvmlDevice_t device = begin();
	use_gpu();
	work();
	OK(nvmlDeviceGetFieldValues(device, 3, fields));
	ck_assert_int_eq(fields[0].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[0].value.ullVal, 2);
	ck_assert_uint_eq(fields[1].value.ullVal, 188);
	ck_assert_uint_eq(fields[2].value.uiVal, 3);
	GIVES(NVML_ERROR_NOT_SUPPORTED,
		nvmlDeviceGetNvLinkErrorCounter(device, 3, NVML_NVLINK_ERROR_DL_RECOVERY, &count));
}

/* As a real H100 with thresholds of 90 degrees. */
TEST(newer_gpus_say_how_far_they_are_from_a_limit)
{
	nvmlFieldValue_t field = { .fieldId = NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT };
	nvmlMarginTemperature_t margin = { .version = nvmlMarginTemperature_v1 };
	gpu()->compute_major = 9;
	gpu()->temperature_celsius = 33;
	gpu()->temperature_slowdown_celsius = 90;
	nvmlDevice_t device = begin();
	OK(nvmlDeviceGetFieldValues(device, 1, &field));
	ck_assert_int_eq(field.nvmlReturn, NVML_SUCCESS);
	ck_assert_int_eq(field.valueType, NVML_VALUE_TYPE_SIGNED_INT);
	ck_assert_int_eq(field.value.siVal, -2);
	OK(nvmlDeviceGetMarginTemperature(device, &margin));
	ck_assert_int_eq(margin.marginTemperature, 55);
	margin.version = 1;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetMarginTemperature(device, &margin));
}

TEST(older_gpus_do_not)
{
	nvmlFieldValue_t field = { .fieldId = NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT };
	nvmlMarginTemperature_t margin = { .version = nvmlMarginTemperature_v1 };
	nvmlDevice_t device = begin();
	OK(nvmlDeviceGetFieldValues(device, 1, &field));
	ck_assert_int_eq(field.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetMarginTemperature(device, &margin));
}

TEST(a_device_remembers_its_memory_errors)
{
	nvmlEnableState_t pending;
	nvmlEccSramErrorStatus_t status = { .version = nvmlEccSramErrorStatus_v1 };
	char serial[32], other[32];
	gpu()->compute_major = 7;
	gpu()->remap_pending = gpu()[1].sram_exceeded = true;
	nvmlDevice_t device = begin(), next;
	OK(nvmlDeviceGetRetiredPagesPendingStatus(device, &pending));
	ck_assert_int_eq(pending, NVML_FEATURE_ENABLED);
	OK(nvmlDeviceGetHandleByIndex_v2(1, &next));
	GIVES(geteuid() == 0 ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION, nvmlDeviceGetSramEccErrorStatus(next, &status));
	ck_assert_uint_eq(status.bThresholdExceeded, geteuid() == 0);
	status.version = 1;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetSramEccErrorStatus(device, &status));
	OK(nvmlDeviceGetSerial(device, serial, sizeof serial));
	ck_assert_uint_eq(strlen(serial), 13);
	OK(nvmlDeviceGetSerial(next, other, sizeof other));
	ck_assert_str_ne(serial, other);
	OK(nvmlDeviceGetBoardPartNumber(device, other, sizeof other));
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetSerial(device, other, 5));
}

TEST(an_instance_is_found_by_what_cuda_calls_it)
{
	nvmlDeviceAttributes_t attributes;
	nvmlDevice_t instance;
	unsigned int most;
	char text[160];
	int multiprocessors;
	size_t bytes;
	CUuuid uuid;
	gpu()->mig_supported = gpu()->mig = true;
	gpu()->mig_slices = 3;
	gpu()->mig_gb = 20;
	nvmlDevice_t device = begin();
	OK(nvmlDeviceGetMaxMigDeviceCount(device, &most));
	ck_assert_uint_eq(most, 7);
	GIVES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &instance));
	OK(nvmlDeviceGetMigDeviceHandleByIndex(device, 2, &instance));
	OK(nvmlDeviceGetName(instance, text, sizeof text));
	ck_assert_ptr_nonnull(strstr(text, " MIG 3g.20gb"));
	OK(nvmlDeviceGetAttributes_v2(instance, &attributes));
	ck_assert_uint_eq(attributes.computeInstanceSliceCount, 3);
	CUDA_OK(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal()));
	ck_assert_uint_eq(attributes.multiprocessorCount, (unsigned int)multiprocessors);
	use_gpu();
	CUDA_OK(cuMemGetInfo_v2(&(size_t){ 0 }, &bytes));
	ck_assert_uint_eq(attributes.memorySizeMB, bytes / MIB);
	ck_assert_uint_lt(bytes, 20480 * MIB);
	OK(nvmlDeviceGetUUID(instance, text, sizeof text));
	ck_assert_int_eq(strncmp(text, "MIG-", 4), 0);
	ck_assert_str_ne(text + 4, gpu()->uuid + 4);
	CUDA_OK(cuDeviceGetUuid_v2(&uuid, ordinal()));
	ck_assert_int_eq(uuid.bytes[0] >> 4 & 15, text[4] == 'f' ? 15 : 14);
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetPersistenceMode(instance, &(nvmlEnableState_t){ 0 }));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetAttributes_v2(device, &attributes));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetUtilizationRates(device, &(nvmlUtilization_t){ 0 }));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetRemappedRows(device, &most, &most, &most, &most));
}

TEST_MAIN(.setup = start, .teardown = example_end)

/* nvml_processes.c - a device's memory, and which processes use the device */
#include "sim/standins/nvml.h"

#include <string.h>
#include <unistd.h>

#define MIB 1048576.0
#define RESERVED_MIB 512 /* of each device, for the driver */
#define OWN_MIB 500      /* of this process: what a context needs */
#define NO_INSTANCE 0xffffffffu

static double memory_mib(nvmlDevice_t device)
{
	return device->instance ? muster_sim_memory_mib(device->gpu) : device->gpu->memory_mib;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	REQUIRE(device, memory != NULL);
	unsigned long long total = (unsigned long long)(memory_mib(device) * MIB);
	unsigned long long used = (unsigned long long)((device->gpu->memory_held_mib + RESERVED_MIB) * MIB);
	used = used < total ? used : total;
	*memory = (nvmlMemory_t){ .total = total, .free = total - used, .used = used };
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	REQUIRE(device, memory != NULL);
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	memory->total = (unsigned long long)(memory_mib(device) * MIB);
	memory->reserved = (unsigned long long)(RESERVED_MIB * MIB);
	memory->used = (unsigned long long)(device->gpu->memory_held_mib * MIB);
	unsigned long long taken = memory->reserved + memory->used;
	memory->free = taken < memory->total ? memory->total - taken : 0;
	return NVML_SUCCESS;
}

/* A stranger that begins late is there once this process has a context. */
static bool is_stranger_there(nvmlDevice_t device, bool used)
{
	return device->gpu->stranger_pid > 0 && (used || !device->gpu->stranger_late);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
	bool worked, used;
	REQUIRE(device, rates != NULL);
	used = muster_simnvml_is_used(device, &worked);
	*rates = (nvmlUtilization_t){ .gpu = (unsigned int)device->gpu->busy_percent };
	if (is_stranger_there(device, used))
		rates->gpu = 99;
	return NVML_SUCCESS;
}

static nvmlReturn_t give(
	const nvmlProcessInfo_v2_t *from, unsigned int there, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	unsigned int room = *count;
	*count = there;
	if (room < there)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	if (there > 0)
		memcpy(processes, from, there * sizeof *from);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(
	nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	nvmlProcessInfo_v2_t there[2];
	unsigned int listed = 0;
	bool worked;
	REQUIRE(device, count && (*count == 0 || processes));
	bool used = muster_simnvml_is_used(device, &worked);
	if (is_stranger_there(device, used))
		there[listed++] = (nvmlProcessInfo_v2_t){ .pid = (unsigned int)device->gpu->stranger_pid,
			.usedGpuMemory = (unsigned long long)(device->gpu->stranger_mib * MIB),
			.gpuInstanceId = NO_INSTANCE,
			.computeInstanceId = NO_INSTANCE };
	if (used)
		there[listed++] = (nvmlProcessInfo_v2_t){ .pid = (unsigned int)getpid(),
			.usedGpuMemory = (unsigned long long)(OWN_MIB * MIB),
			.gpuInstanceId = NO_INSTANCE,
			.computeInstanceId = NO_INSTANCE };
	return give(there, listed, count, processes);
}

/* Programs that draw, or that share the GPU through MPS: there are none. */
#define LISTS_NONE(symbol)                                                                                             \
	nvmlReturn_t symbol(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *processes)                 \
	{                                                                                                              \
		REQUIRE(device, count && (*count == 0 || processes));                                                  \
		return give(NULL, 0, count, processes);                                                                \
	}
LISTS_NONE(nvmlDeviceGetGraphicsRunningProcesses_v2)
LISTS_NONE(nvmlDeviceGetMPSComputeRunningProcesses_v2)

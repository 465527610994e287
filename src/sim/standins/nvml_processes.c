/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_processes.c - a device's memory, and which processes use the device
 *
 * A stranger is a program that does not belong to the job (the faults stranger and stranger-late). NVML lists the
 * stranger and this process; the other ranks of the node are not listed, because no process of the simulation knows
 * what another does.
 */
#include "sim/standins/nvml.h"

#include <unistd.h>

#define MIB 1048576.0
#define RESERVED_MIB 615 /* of each device, for the driver: two H200 (docs/dev/measurements.md) */
#define OWN_MIB 500      /* of this process: what a context needs */
#define NO_INSTANCE 0xffffffffu

/* In bytes. What this process allocates is not counted: only other programs' memory is "used". */
static nvmlMemory_v2_t memory_of(nvmlDevice_t device)
{
	double total = device->instance ? muster_sim_memory_mib(device->gpu) : device->gpu->memory_mib;
	nvmlMemory_v2_t memory = { .version = nvmlMemory_v2,
		.total = (unsigned long long)(total * MIB),
		.reserved = (unsigned long long)(RESERVED_MIB * MIB),
		.used = (unsigned long long)(device->gpu->memory_held_mib * MIB) };
	unsigned long long taken = memory.reserved + memory.used;
	memory.free = taken < memory.total ? memory.total - taken : 0;
	return memory;
}

/* What is reserved counts as used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	REQUIRE(device, memory != NULL);
	nvmlMemory_v2_t all = memory_of(device);
	*memory = (nvmlMemory_t){ .total = all.total, .free = all.free, .used = all.total - all.free };
	return NVML_SUCCESS;
}

/* Of a divided GPU, only a privileged process is told the sum. */
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
	REQUIRE(device, memory != NULL);
	unsigned long long total = (unsigned long long)(device->gpu->bar1_mib * MIB);
	*memory = (nvmlBAR1Memory_t){ .bar1Total = total, .bar1Free = total };
	return device->gpu->mig_slices > 0 ? NVML_ERROR_NO_PERMISSION : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	REQUIRE(device, memory != NULL);
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	*memory = memory_of(device);
	return NVML_SUCCESS;
}

/* A stranger that begins late is there once this process has a context. */
static bool is_stranger_there(nvmlDevice_t device)
{
	return device->gpu->stranger_pid > 0 && (!device->gpu->stranger_late || muster_simnvml_use(device).present);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
	REQUIRE(device, rates != NULL);
	if (device->gpu->mig)
		return NVML_ERROR_NOT_SUPPORTED;
	*rates = (nvmlUtilization_t){ .gpu = is_stranger_there(device) ? 99 : (unsigned int)device->gpu->busy_percent };
	return NVML_SUCCESS;
}

/* One process more, while the caller has room for it; *listed also counts those that found none, so that the caller
 * learns how much room is needed. */
static void list(nvmlProcessInfo_v2_t *processes, unsigned int room, unsigned int *listed, int pid, double mib)
{
	if (*listed < room)
		processes[*listed] = (nvmlProcessInfo_v2_t){ .pid = (unsigned int)pid,
			.usedGpuMemory = (unsigned long long)(mib * MIB),
			.gpuInstanceId = NO_INSTANCE,
			.computeInstanceId = NO_INSTANCE };
	++*listed;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(
	nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *processes)
{
	REQUIRE(device, count && (*count == 0 || processes));
	unsigned int room = *count;
	*count = 0;
	if (is_stranger_there(device))
		list(processes, room, count, (int)device->gpu->stranger_pid, device->gpu->stranger_mib);
	if (muster_simnvml_use(device).present)
		list(processes, room, count, getpid(), OWN_MIB);
	return room < *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* Programs that draw, or that share the GPU through MPS: there are none. */
#define LISTS_NONE(symbol)                                                                                             \
	nvmlReturn_t symbol(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *processes)                 \
	{                                                                                                              \
		REQUIRE(device, count && (*count == 0 || processes));                                                  \
		*count = 0;                                                                                            \
		return NVML_SUCCESS;                                                                                   \
	}
LISTS_NONE(nvmlDeviceGetGraphicsRunningProcesses_v2)
LISTS_NONE(nvmlDeviceGetMPSComputeRunningProcesses_v2)

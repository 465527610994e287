/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - libnvidia-ml.so.1 for the simulation
 *
 * Follows NVML's documentation for what each call checks and gives. What a GPU does not have is NOT_SUPPORTED.
 *
 * What a call about a device checks, in this order (muster_simnvml_check): a code that the scenario has for the
 * function; nvmlInit_v2() was called; the device and the other arguments; a code that the scenario has for this GPU;
 * whether NVML answers the function for a MIG instance, if the device is one; whether the scenario says that the GPU
 * lacks it.
 */
#include "sim/standins/nvml.h"
#include "sim/fault_misbehave.h"

#include "muster/arena.h"
#include "util/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MUSTER_STANDIN_MARK;

static struct {
	pthread_mutex_t lock;
	struct nvmlDevice_st *devices; /* in NVML's order, then their MIG instances in the same order; made by init */
	size_t count;
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int by_nvml_index(const void *a, const void *b)
{
	const struct nvmlDevice_st *x = a, *y = b;
	return (x->gpu->nvml_index > y->gpu->nvml_index) - (x->gpu->nvml_index < y->gpu->nvml_index);
}

/* A name that is no function of NVML's stand-in would have no effect, unnoticed: it ends the process. */
static void check_unsupported(const struct muster_sim_gpu *gpu)
{
	for (size_t i = 0; i < gpu->unsupported_count; i++)
		if (strncmp(gpu->unsupported[i], "nvml", 4) != 0 || !muster_sim_is_function(gpu->unsupported[i]))
			muster_standin_end(
				"unsupported: \"%s\" is no function of NVML that muster calls", gpu->unsupported[i]);
}

/* May be called again. Of n GPUs the array has 2 n elements, the second half for MIG instances, whether the GPU is
 * divided or not: nvmlDeviceGetMigDeviceHandleByIndex() gives out only those that there are. */
nvmlReturn_t nvmlInit_v2(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	ENTER((nvmlReturn_t)muster_standin_answer(NULL));
	pthread_mutex_lock(&library.lock);
	if (!library.devices) {
		library.devices = muster_calloc(2 * node->gpu_count + 1, sizeof *library.devices);
		library.count = node->gpu_count;
		for (size_t i = 0; i < library.count; i++)
			library.devices[i].gpu = &node->gpus[i];
		for (size_t i = 0; i < library.count; i++)
			check_unsupported(library.devices[i].gpu);
		qsort(library.devices, library.count, sizeof *library.devices, by_nvml_index);
		for (size_t i = 0; i < library.count; i++)
			library.devices[library.count + i] = (struct nvmlDevice_st){ library.devices[i].gpu, true };
	}
	pthread_mutex_unlock(&library.lock);
	return NVML_SUCCESS;
}

/* Whether a call can go on that is about no device, or about one that is not known yet. */
static nvmlReturn_t enter(bool arguments_ok)
{
	nvmlReturn_t answer = (nvmlReturn_t)muster_standin_answer(NULL);
	pthread_mutex_lock(&library.lock);
	if (answer == NVML_SUCCESS && !library.devices)
		answer = NVML_ERROR_UNINITIALIZED;
	pthread_mutex_unlock(&library.lock);
	return answer == NVML_SUCCESS && !arguments_ok ? NVML_ERROR_INVALID_ARGUMENT : answer;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	if ((int)result == 18) /* NVML_ERROR_LIB_RM_VERSION_MISMATCH, which muster only prints */
		return "Driver/library version mismatch";
	switch (result) {
	case NVML_SUCCESS: return "The operation was successful";
	case NVML_ERROR_UNINITIALIZED: return "NVML was not first initialized with nvmlInit()";
	case NVML_ERROR_INVALID_ARGUMENT: return "A supplied argument is invalid";
	case NVML_ERROR_NOT_SUPPORTED: return "The requested operation is not available on target device";
	case NVML_ERROR_NO_PERMISSION: return "The current user does not have permission for operation";
	case NVML_ERROR_NOT_FOUND: return "A query to find an object was unsuccessful";
	case NVML_ERROR_INSUFFICIENT_SIZE: return "An input argument is not large enough";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "NVIDIA driver is not loaded";
	case NVML_ERROR_FUNCTION_NOT_FOUND: return "Local version of NVML doesn't implement this function";
	case NVML_ERROR_CORRUPTED_INFOROM: return "infoROM is corrupted";
	case NVML_ERROR_GPU_IS_LOST: return "The GPU has fallen off the bus or has otherwise become inaccessible";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "The provided version is invalid/unsupported";
	case NVML_ERROR_DEPRECATED: return "The requested functionality has been deprecated";
	case NVML_ERROR_UNKNOWN: break;
	}
	return "An internal driver error occurred";
}

/* What NVML answers about a MIG instance; much else is said of whole devices alone. */
static bool is_for_instances(const char *function)
{
	static const char *const functions[] = { "nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetMemoryInfo",
		"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetComputeRunningProcesses_v2",
		"nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
		"nvmlDeviceGetComputeMode" };
	return muster_text_among(function, functions, sizeof functions / sizeof *functions);
}

nvmlReturn_t muster_simnvml_check(nvmlDevice_t device, bool arguments_ok, const char *function)
{
	bool known = false;
	for (size_t i = 0; i < 2 * library.count; i++)
		known = known || device == &library.devices[i];
	ENTER(enter(known && arguments_ok));
	ENTER((nvmlReturn_t)muster_standin_answer(device->gpu->bus_id));
	if ((device->instance && !is_for_instances(function)) ||
		muster_text_among(function, device->gpu->unsupported, device->gpu->unsupported_count))
		return NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

nvmlReturn_t muster_simnvml_copy_text(const char *text, char *ret, unsigned int length)
{
	size_t needed = strlen(text) + 1;
	if (length < needed)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(ret, text, needed);
	return NVML_SUCCESS;
}

struct muster_standin_use muster_simnvml_use(nvmlDevice_t device)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda_if_loaded();
	return cuda ? cuda->muster_standin_cuda_use(device->gpu->bus_id) : (struct muster_standin_use){ 0 };
}

/* -- system -- */

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	ENTER(enter(version != NULL));
	return muster_simnvml_copy_text(muster_sim_this_node()->driver_version, version, length);
}

/* which the driver has no part in */
nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	ENTER(version ? (nvmlReturn_t)muster_standin_answer(NULL) : NVML_ERROR_INVALID_ARGUMENT);
	return muster_simnvml_copy_text(muster_sim_this_node()->nvml_version, version, length);
}

/* -- finding devices -- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	ENTER(enter(count != NULL));
	*count = (unsigned int)library.count;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	ENTER(enter(device && index < library.count));
	*device = &library.devices[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	struct muster_standin_bus_id wanted;
	ENTER(enter(bus_id && device && muster_standin_bus_id_parse(bus_id, &wanted)));
	for (size_t i = 0; i < library.count; i++) {
		struct muster_standin_bus_id id = muster_standin_bus_id_of(library.devices[i].gpu);
		if (id.domain != wanted.domain || id.bus != wanted.bus || id.device != wanted.device)
			continue;
		*device = &library.devices[i];
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

/* An instance has no index: is_for_instances() leaves the function out. */
GIVES(nvmlDeviceGetIndex, unsigned int, device - library.devices)

/* -- what a device is -- */

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	char text[160];
	REQUIRE(device, name != NULL);
	snprintf(text, sizeof text, device->instance ? "%s MIG %dg.%dgb" : "%s", device->gpu->name,
		device->gpu->mig_slices, device->gpu->mig_gb);
	return muster_simnvml_copy_text(text, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	char text[MUSTER_SIM_UUID_SIZE];
	REQUIRE(device, uuid != NULL);
	return muster_simnvml_copy_text(
		device->instance ? muster_sim_uuid(device->gpu, text) : device->gpu->uuid, uuid, length);
}

GIVES_TEXT(nvmlDeviceGetVbiosVersion, device->gpu->vbios)
GIVES_TEXT(nvmlDeviceGetInforomImageVersion, device->gpu->inforom)
GIVES_TEXT(nvmlDeviceGetBoardPartNumber, "900-00000-0000-000")

/* Made of the UUID: thirteen digits, as on a label. */
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
	char text[32];
	unsigned long long number = 1;
	REQUIRE(device, serial != NULL);
	for (const char *at = device->gpu->uuid; *at; at++)
		number = number * 31 + (unsigned char)*at;
	snprintf(text, sizeof text, "%013llu", number % 10000000000000ull);
	return muster_simnvml_copy_text(text, serial, length);
}

/* GSP firmware comes with the driver. The caller has room for 64 characters. */
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
	REQUIRE(device, version != NULL);
	return muster_simnvml_copy_text(muster_sim_this_node()->driver_version, version, 64);
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t device)
{
	REQUIRE(device, true);
	return device->gpu->inforom_bad ? NVML_ERROR_CORRUPTED_INFOROM : NVML_SUCCESS;
}

/* The legacy form has four digits of the domain, the other one eight. */
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	REQUIRE(device, pci != NULL);
	struct muster_standin_bus_id id = muster_standin_bus_id_of(device->gpu);
	memset(pci, 0, sizeof *pci);
	pci->domain = id.domain;
	pci->bus = id.bus;
	pci->device = id.device;
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", id.domain & 0xffff, id.bus & 0xff,
		id.device & 0x1f);
	snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", id.domain, id.bus, id.device);
	return NVML_SUCCESS;
}

GIVES_TWO(nvmlDeviceGetCudaComputeCapability, int, device->gpu->compute_major, device->gpu->compute_minor)

/* -- modes -- */

nvmlEnableState_t muster_simnvml_enabled(bool yes)
{
	return yes ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
}

/* The current mode and the pending one, which differ when a change waits for a reset. */
GIVES_TWO(nvmlDeviceGetEccMode, nvmlEnableState_t, muster_simnvml_enabled(device->gpu->ecc),
	muster_simnvml_enabled(device->gpu->ecc != device->gpu->ecc_changes))

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	REQUIRE(device, current && pending);
	if (!device->gpu->mig_supported)
		return NVML_ERROR_NOT_SUPPORTED;
	*current = device->gpu->mig ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
	*pending = device->gpu->mig != device->gpu->mig_changes ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
	return NVML_SUCCESS;
}

/* Since Ampere; of a version that NVML knows. repair_pending is the place of the fault's word: 1 channel, 2 tpc. */
nvmlReturn_t nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_t *status)
{
	REQUIRE(device, status != NULL);
	if (status->version != nvmlRepairStatus_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (device->gpu->compute_major < 8)
		return NVML_ERROR_NOT_SUPPORTED;
	status->bChannelRepairPending = device->gpu->repair_pending == 1;
	status->bTpcRepairPending = device->gpu->repair_pending == 2;
	return NVML_SUCCESS;
}

/* Of a divided GPU, the instances have it. */
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
	REQUIRE(device, mode != NULL);
	*mode = (nvmlComputeMode_t)device->gpu->compute_mode;
	return device->gpu->mig_slices > 0 && !device->instance ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

GIVES(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, muster_simnvml_enabled(device->gpu->persistence))

/* -- MIG: a divided GPU has the one instance that the rank uses -- */

GIVES(nvmlDeviceGetMaxMigDeviceCount, unsigned int, device->gpu->mig_slices > 0 ? 7 : 0)

/* The instance is at place 2; the other places are empty, as after other instances that were removed. So a program that
 * looks at place 0 alone finds none. */
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *instance)
{
	REQUIRE(device, instance && index < 7);
	if (device->gpu->mig_slices == 0 || index != 2)
		return NVML_ERROR_NOT_FOUND;
	*instance = device + library.count;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	REQUIRE(device, attributes != NULL);
	if (!device->instance)
		return NVML_ERROR_NOT_SUPPORTED;
	*attributes = (nvmlDeviceAttributes_t){
		.multiprocessorCount = (unsigned int)muster_sim_multiprocessors(device->gpu),
		.gpuInstanceSliceCount = (unsigned int)device->gpu->mig_slices,
		.computeInstanceSliceCount = (unsigned int)device->gpu->mig_slices,
		.memorySizeMB = (unsigned long long)muster_sim_memory_mib(device->gpu),
	};
	return NVML_SUCCESS;
}

/* -- virtualization -- */

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, nvmlGpuVirtualizationMode_t *mode)
{
	static const struct {
		const char *name;
		nvmlGpuVirtualizationMode_t mode;
	} modes[] = {
		{ "none", NVML_GPU_VIRTUALIZATION_MODE_NONE },
		{ "passthrough", NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH },
		{ "vgpu", NVML_GPU_VIRTUALIZATION_MODE_VGPU },
	};
	REQUIRE(device, mode != NULL);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(modes[i].name, device->gpu->virtualization) == 0) {
			*mode = modes[i].mode;
			return NVML_SUCCESS;
		}
	muster_standin_end("virtualization: \"%s\" is not one of none, passthrough, vgpu", device->gpu->virtualization);
}

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)
{
	REQUIRE(device, features != NULL);
	const struct muster_sim_gpu *gpu = device->gpu;
	nvmlGridLicensableFeature_t *feature = &features->gridLicensableFeatures[0];
	*features = (nvmlGridLicensableFeatures_t){ 0 };
	if (!*gpu->vgpu_product)
		return NVML_SUCCESS;
	features->isGridLicenseSupported = 1;
	features->licensableFeaturesCount = 1;
	feature->featureCode = NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE;
	feature->featureEnabled = 1;
	feature->featureState = gpu->vgpu_licensed;
	snprintf(feature->productName, sizeof feature->productName, "%s", gpu->vgpu_product);
	return NVML_SUCCESS;
}

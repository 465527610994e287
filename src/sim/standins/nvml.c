/* nvml.c - libnvidia-ml.so.1 for the simulation
 *
 * Follows NVML's documentation for what each call checks and gives. What a GPU does not have is NOT_SUPPORTED.
 */
#include "vendor/nvml_abi.h"
#include "sim/cluster.h"
#include "sim/fault_misbehave.h"
#include "sim/standins/base.h"

#include "muster/arena.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT nvmlReturn_t symbol parameters;
MUSTER_NVML_FUNCTIONS(X)
MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
MUSTER_STANDIN_EXPORT const char *nvmlErrorString(nvmlReturn_t result);

MUSTER_STANDIN_MARK;

struct nvmlDevice_st {
	const struct muster_sim_gpu *gpu;
};

static struct {
	pthread_mutex_t lock;
	unsigned int users;            /* nvmlInit_v2 less nvmlShutdown */
	struct nvmlDevice_st *devices; /* in NVML's order; made once and kept */
	size_t count;
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int by_nvml_index(const void *a, const void *b)
{
	const struct nvmlDevice_st *x = a, *y = b;
	return (x->gpu->nvml_index > y->gpu->nvml_index) - (x->gpu->nvml_index < y->gpu->nvml_index);
}

/* A name that is no function of ours would have no effect, unnoticed. */
static void check_unsupported(const struct muster_sim_gpu *gpu)
{
	for (size_t i = 0; i < gpu->unsupported_count; i++)
		if (strncmp(gpu->unsupported[i], "nvml", 4) != 0 || !muster_sim_is_function(gpu->unsupported[i]))
			muster_standin_end(
				"unsupported: \"%s\" is no function of NVML that muster calls", gpu->unsupported[i]);
}

nvmlReturn_t nvmlInit_v2(void)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	pthread_mutex_lock(&library.lock);
	if (!library.devices) {
		library.devices = muster_calloc(node->gpu_count + 1, sizeof *library.devices);
		library.count = node->gpu_count;
		for (size_t i = 0; i < library.count; i++)
			library.devices[i].gpu = &node->gpus[i];
		for (size_t i = 0; i < library.count; i++)
			check_unsupported(library.devices[i].gpu);
		qsort(library.devices, library.count, sizeof *library.devices, by_nvml_index);
	}
	library.users++;
	pthread_mutex_unlock(&library.lock);
	return NVML_SUCCESS;
}

static bool is_initialised(void)
{
	pthread_mutex_lock(&library.lock);
	bool yes = library.users > 0;
	pthread_mutex_unlock(&library.lock);
	return yes;
}

nvmlReturn_t nvmlShutdown(void)
{
	pthread_mutex_lock(&library.lock);
	nvmlReturn_t result = library.users > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
	if (library.users > 0)
		library.users--;
	pthread_mutex_unlock(&library.lock);
	return result;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
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
	case NVML_ERROR_GPU_IS_LOST: return "The GPU has fallen off the bus or has otherwise become inaccessible";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "The provided version is invalid/unsupported";
	case NVML_ERROR_UNKNOWN: break;
	}
	return "An internal driver error occurred";
}

/* SUCCESS when NVML is up, the device is one of ours, the other arguments are as they should be, and the scenario does
 * not say that the device lacks the function. */
static nvmlReturn_t check_call(nvmlDevice_t device, bool arguments_ok, const char *function)
{
	bool known = false;
	if (!is_initialised())
		return NVML_ERROR_UNINITIALIZED;
	for (size_t i = 0; i < library.count; i++)
		known = known || device == &library.devices[i];
	if (!known || !arguments_ok)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < device->gpu->unsupported_count; i++)
		if (strcmp(device->gpu->unsupported[i], function) == 0)
			return NVML_ERROR_NOT_SUPPORTED;
	return NVML_SUCCESS;
}
#define check(device, arguments_ok) check_call(device, arguments_ok, __func__)

static nvmlReturn_t copy_text(const char *text, char *ret, unsigned int length)
{
	size_t needed = strlen(text) + 1;
	if (!ret)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (length < needed)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(ret, text, needed);
	return NVML_SUCCESS;
}

/* Whether this process has kernels on the device: it is then as busy, and as hot, as it can be. *seconds: how long it
 * has worked so. */
static bool is_loaded(nvmlDevice_t device, double *seconds)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda_if_loaded();
	*seconds = 0;
	return cuda && cuda->muster_standin_cuda_loaded(device->gpu->bus_id, seconds);
}

/* What a device shows when it is idle, and under load. */
static double under_load(nvmlDevice_t device, double idle, double loaded)
{
	double seconds;
	return is_loaded(device, &seconds) ? loaded : idle;
}

/* A call that gives one fact of the device; a text; a clock, which is of the SMs or of the memory. */
#define GIVES(symbol, kind, value)                                                                                     \
	nvmlReturn_t symbol(nvmlDevice_t device, kind *ret)                                                            \
	{                                                                                                              \
		nvmlReturn_t result = check(device, ret != NULL);                                                      \
		if (result == NVML_SUCCESS)                                                                            \
			*ret = (kind)(value);                                                                          \
		return result;                                                                                         \
	}
#define GIVES_TEXT(symbol, member)                                                                                     \
	nvmlReturn_t symbol(nvmlDevice_t device, char *ret, unsigned int length)                                       \
	{                                                                                                              \
		nvmlReturn_t result = check(device, ret != NULL);                                                      \
		return result == NVML_SUCCESS ? copy_text(device->gpu->member, ret, length) : result;                  \
	}
#define GIVES_CLOCK(symbol, sm, memory)                                                                                \
	nvmlReturn_t symbol(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)                              \
	{                                                                                                              \
		nvmlReturn_t result = check(device, mhz && (unsigned int)type <= NVML_CLOCK_MEM);                      \
		if (result == NVML_SUCCESS)                                                                            \
			*mhz = (unsigned int)(type == NVML_CLOCK_MEM ? (memory) : (sm));                               \
		return result;                                                                                         \
	}

/* -- system -- */

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return is_initialised() ? copy_text(muster_sim_this_node()->driver_version, version, length)
				: NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	return is_initialised() ? copy_text(muster_sim_this_node()->nvml_version, version, length)
				: NVML_ERROR_UNINITIALIZED;
}

/* -- finding devices -- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!is_initialised())
		return NVML_ERROR_UNINITIALIZED;
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = (unsigned int)library.count;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (!is_initialised())
		return NVML_ERROR_UNINITIALIZED;
	if (!device || index >= library.count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = &library.devices[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	struct muster_standin_bus_id wanted, id;
	if (!is_initialised())
		return NVML_ERROR_UNINITIALIZED;
	if (!bus_id || !device || !muster_standin_bus_id_parse(bus_id, &wanted))
		return NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < library.count; i++) {
		if (!muster_standin_bus_id_parse(library.devices[i].gpu->bus_id, &id) || id.domain != wanted.domain ||
			id.bus != wanted.bus || id.device != wanted.device)
			continue;
		*device = &library.devices[i];
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

GIVES(nvmlDeviceGetIndex, unsigned int, device - library.devices)

/* -- what a device is -- */

GIVES_TEXT(nvmlDeviceGetName, name)
GIVES_TEXT(nvmlDeviceGetUUID, uuid)
GIVES_TEXT(nvmlDeviceGetVbiosVersion, vbios)

/* The legacy form has four digits of the domain, the other one eight. */
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	nvmlReturn_t result = check(device, pci != NULL);
	if (result != NVML_SUCCESS)
		return result;
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

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t result = check(device, memory != NULL);
	if (result != NVML_SUCCESS)
		return result;
	unsigned long long total = (unsigned long long)(device->gpu->memory_mib * 1048576);
	unsigned long long held = (unsigned long long)(device->gpu->memory_held_mib * 1048576);
	*memory = (nvmlMemory_t){ .total = total, .free = total - held, .used = held };
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	nvmlReturn_t result = check(device, major && minor);
	if (result != NVML_SUCCESS)
		return result;
	*major = device->gpu->compute_major;
	*minor = device->gpu->compute_minor;
	return NVML_SUCCESS;
}

/* -- modes -- */

static nvmlEnableState_t enabled(bool yes)
{
	return yes ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	nvmlReturn_t result = check(device, current && pending);
	if (result == NVML_SUCCESS)
		*current = *pending = enabled(device->gpu->ecc);
	return result;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	nvmlReturn_t result = check(device, current && pending);
	if (result != NVML_SUCCESS)
		return result;
	if (!device->gpu->mig_supported)
		return NVML_ERROR_NOT_SUPPORTED;
	*current = *pending = device->gpu->mig ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
	return NVML_SUCCESS;
}

GIVES(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, enabled(device->gpu->persistence))

/* -- PCIe and NVLink -- */

GIVES(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, device->gpu->pcie_gen)
GIVES(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, device->gpu->pcie_gen_max)
GIVES(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, device->gpu->pcie_width)
GIVES(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, device->gpu->pcie_width_max)

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	nvmlReturn_t result = check(device, active && link < NVML_NVLINK_MAX_LINKS);
	if (result != NVML_SUCCESS)
		return result;
	if (link >= (unsigned int)device->gpu->nvlinks)
		return NVML_ERROR_NOT_SUPPORTED;
	*active = enabled(link < (unsigned int)device->gpu->nvlinks_active);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(
	nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t *status)
{
	nvmlReturn_t result = check(device, status && what == NVML_P2P_CAPS_INDEX_NVLINK);
	if (result == NVML_SUCCESS)
		result = check_call(other, other != device, __func__);
	if (result != NVML_SUCCESS)
		return result;
	const struct muster_sim_gpu *gpu = device->gpu, *peer = other->gpu;
	bool joined = gpu->nvlink_group > 1 && gpu->nvlinks_active > 0 && peer->nvlinks_active > 0 &&
		      gpu->nvml_index / gpu->nvlink_group == peer->nvml_index / gpu->nvlink_group;
	*status = joined ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

static double power_milliwatts(nvmlDevice_t device)
{
	return under_load(device, device->gpu->power_watts, device->gpu->power_loaded_watts) * 1000 + 0.5;
}

/* Without a sensor of its own the memory has no temperature. */
static double memory_temperature(nvmlDevice_t device)
{
	return under_load(device, device->gpu->temperature_celsius, device->gpu->memory_temperature_celsius);
}

/* Nanoseconds for which heat held the clocks down: all the time under load, or none. */
static double thermal_violation(nvmlDevice_t device)
{
	const unsigned long long heat =
		nvmlClocksThrottleReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown;
	double seconds;
	is_loaded(device, &seconds);
	return device->gpu->throttle_reasons_loaded & heat ? seconds * 1e9 : 0;
}

/* NOT_SUPPORTED: a field that the GPU lacks; INVALID_ARGUMENT: one that NVML has never heard of, or no such link.
 * Hopper and later have no speed common to all NVLinks. */
static nvmlReturn_t find_field(nvmlDevice_t device, nvmlFieldValue_t *field)
{
	const struct muster_sim_gpu *gpu = device->gpu;
	const unsigned int nvlinks = (unsigned int)gpu->nvlinks, c2c_links = (unsigned int)gpu->c2c_links;
	const struct {
		unsigned int id, there; /* how many there are of what the field is about */
		bool per_link;
		double value;
		nvmlValueType_t type;
	} fields[] = {
		{ NVML_FI_DEV_PERF_POLICY_THERMAL, 1, false, thermal_violation(device),
			NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
		{ NVML_FI_DEV_MEMORY_TEMP, gpu->memory_temperature_celsius > 0, false, memory_temperature(device),
			NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_NVLINK_LINK_COUNT, nvlinks, false, gpu->nvlinks, NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, gpu->compute_major < 9 ? nvlinks : 0, false, gpu->nvlink_mbps,
			NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_NVLINK_GET_SPEED, nvlinks, true,
			field->scopeId < (unsigned int)gpu->nvlinks_active ? gpu->nvlink_mbps : 0,
			NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_C2C_LINK_COUNT, c2c_links, false, gpu->c2c_links, NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_C2C_LINK_GET_STATUS, c2c_links, true, 1, NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_C2C_LINK_GET_MAX_BW, c2c_links, true, gpu->c2c_mbps, NVML_VALUE_TYPE_UNSIGNED_INT },
		{ NVML_FI_DEV_POWER_INSTANT, 1, false, power_milliwatts(device), NVML_VALUE_TYPE_UNSIGNED_INT },
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (fields[i].id != field->fieldId)
			continue;
		if (fields[i].there == 0)
			return NVML_ERROR_NOT_SUPPORTED;
		if (fields[i].per_link && field->scopeId >= fields[i].there)
			return NVML_ERROR_INVALID_ARGUMENT;
		field->valueType = fields[i].type;
		if (field->valueType == NVML_VALUE_TYPE_UNSIGNED_INT)
			field->value.uiVal = (unsigned int)fields[i].value;
		else
			field->value.ullVal = (unsigned long long)fields[i].value;
		return NVML_SUCCESS;
	}
	return NVML_ERROR_INVALID_ARGUMENT;
}

static void fill_field(nvmlDevice_t device, nvmlFieldValue_t *field)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	field->timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	field->latencyUsec = 0;
	field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
	field->nvmlReturn = find_field(device, field);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	nvmlReturn_t result = check(device, values && count > 0);
	if (result != NVML_SUCCESS)
		return result;
	for (int i = 0; i < count; i++)
		fill_field(device, &values[i]);
	return NVML_SUCCESS;
}

/* -- clocks, temperature, power -- */

GIVES_CLOCK(nvmlDeviceGetClockInfo, under_load(device, device->gpu->sm_clock_mhz, device->gpu->sm_clock_loaded_mhz),
	device->gpu->mem_clock_mhz)
GIVES_CLOCK(nvmlDeviceGetMaxClockInfo, device->gpu->sm_clock_max_mhz, device->gpu->mem_clock_max_mhz)
GIVES_CLOCK(nvmlDeviceGetApplicationsClock, device->gpu->sm_clock_app_mhz, device->gpu->mem_clock_max_mhz)
GIVES(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long,
	under_load(device, (double)device->gpu->throttle_reasons, (double)device->gpu->throttle_reasons_loaded))
GIVES(nvmlDeviceGetPowerUsage, unsigned int, power_milliwatts(device))
GIVES(nvmlDeviceGetEnforcedPowerLimit, unsigned int, device->gpu->power_limit_watts * 1000 + 0.5)

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)
{
	nvmlReturn_t result = check(device, celsius && sensor == NVML_TEMPERATURE_GPU);
	if (result == NVML_SUCCESS)
		*celsius = (unsigned int)under_load(
			device, device->gpu->temperature_celsius, device->gpu->temperature_loaded_celsius);
	return result;
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(
	nvmlDevice_t device, nvmlTemperatureThresholds_t what, unsigned int *celsius)
{
	bool known = what == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN || what == NVML_TEMPERATURE_THRESHOLD_MEM_MAX;
	nvmlReturn_t result = check(device, celsius && known);
	if (result != NVML_SUCCESS)
		return result;
	int limit = what == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? device->gpu->temperature_slowdown_celsius
								: device->gpu->memory_temperature_max_celsius;
	*celsius = (unsigned int)limit;
	return limit > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* -- errors of the memory -- */

nvmlReturn_t nvmlDeviceGetTotalEccErrors(
	nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long *errors)
{
	nvmlReturn_t result = check(device, errors && (unsigned int)type <= NVML_MEMORY_ERROR_TYPE_UNCORRECTED &&
						    (unsigned int)counter <= NVML_AGGREGATE_ECC);
	if (result != NVML_SUCCESS)
		return result;
	const struct muster_sim_gpu *gpu = device->gpu;
	if (!gpu->ecc)
		return NVML_ERROR_NOT_SUPPORTED;
	const double counts[2][2] = {
		[NVML_MEMORY_ERROR_TYPE_CORRECTED] = { gpu->ecc_corrected_volatile, gpu->ecc_corrected_aggregate },
		[NVML_MEMORY_ERROR_TYPE_UNCORRECTED] = { gpu->ecc_uncorrected_volatile,
			gpu->ecc_uncorrected_aggregate },
	};
	*errors = (unsigned long long)counts[type][counter];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable,
	unsigned int *pending, unsigned int *failed)
{
	nvmlReturn_t result = check(device, correctable && uncorrectable && pending && failed);
	if (result != NVML_SUCCESS)
		return result;
	*correctable = (unsigned int)device->gpu->remap_correctable;
	*uncorrectable = (unsigned int)device->gpu->remap_uncorrectable;
	*pending = device->gpu->remap_pending;
	*failed = device->gpu->remap_failed;
	return NVML_SUCCESS;
}

/* -- fabric -- */

static void fill_fabric(const struct muster_sim_gpu *gpu, nvmlGpuFabricInfo_t *ret)
{
	memset(ret, 0, sizeof *ret);
	muster_standin_hex("the UUID of a fabric", gpu->fabric_cluster, ret->clusterUuid, sizeof ret->clusterUuid);
	ret->status = (nvmlReturn_t)gpu->fabric_status;
	ret->cliqueId = (unsigned int)gpu->fabric_clique;
	ret->state = (nvmlGpuFabricState_t)gpu->fabric_state;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	nvmlReturn_t result = check(device, info != NULL);
	if (result == NVML_SUCCESS)
		fill_fabric(device->gpu, info);
	return result;
}

/* Any field that says yes, or a configuration other than "nothing wrong". */
static unsigned char summarise_health(unsigned int mask)
{
	if (mask == 0)
		return 0;
	unsigned int wrong = mask >> NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION &
			     NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION;
	bool bad = wrong > NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE;
	for (unsigned int shift = 0; shift < NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION; shift += 2)
		bad = bad || (mask >> shift & NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW) ==
				     NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE;
	return bad ? NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY : NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY;
}

/* The caller's struct is as long as its version says: version 2 ends before the summary. */
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	nvmlGpuFabricInfo_t first;
	nvmlReturn_t result = check(device, info != NULL);
	if (result != NVML_SUCCESS)
		return result;
	if (info->version != nvmlGpuFabricInfo_v2 && info->version != nvmlGpuFabricInfo_v3)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	fill_fabric(device->gpu, &first);
	memcpy(info->clusterUuid, first.clusterUuid, sizeof info->clusterUuid);
	info->status = first.status;
	info->cliqueId = first.cliqueId;
	info->state = first.state;
	info->healthMask = (unsigned int)device->gpu->fabric_health;
	if (info->version == nvmlGpuFabricInfo_v3)
		info->healthSummary = summarise_health(info->healthMask);
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
	nvmlReturn_t result = check(device, mode != NULL);
	if (result != NVML_SUCCESS)
		return result;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(modes[i].name, device->gpu->virtualization) == 0) {
			*mode = modes[i].mode;
			return NVML_SUCCESS;
		}
	muster_standin_end("virtualization: \"%s\" is not one of none, passthrough, vgpu", device->gpu->virtualization);
}

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)
{
	nvmlReturn_t result = check(device, features != NULL);
	if (result != NVML_SUCCESS)
		return result;
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

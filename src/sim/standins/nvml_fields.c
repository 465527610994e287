/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_fields.c - what NVML measures of a device: field values, clocks, temperature, power
 *
 * A measured value has two figures in the scenario, one of the idle GPU and one under load. The GPU counts as loaded as
 * long as this process has a module of kernels loaded (cuda_kernels.c), whether or not a kernel runs at that moment: so
 * a sample that is taken between two kernels shows the load too.
 */
#include "sim/standins/nvml.h"

#include <time.h>

/* What a device shows when it is idle, and under load. */
static double under_load(nvmlDevice_t device, double idle, double loaded)
{
	return muster_simnvml_use(device).loaded ? loaded : idle;
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
	return device->gpu->throttle_reasons_loaded & heat ? muster_simnvml_use(device).seconds * 1e9 : 0;
}

/* Hopper and later (Ada too) say how far they are from a limit, which is two degrees below that of the hardware. */
#define SLOWDOWN_MARGIN (-2)

static bool has_margin(const struct muster_sim_gpu *gpu)
{
	return gpu->compute_major >= 9 && gpu->temperature_slowdown_celsius > 0;
}

/* One field that is no counter of errors, by its id; scopeId is the link where a row says per_link. NOT_SUPPORTED: a
 * field that the GPU lacks; INVALID_ARGUMENT: one that NVML has never heard of, or no such link. Hopper and later have
 * no speed common to all NVLinks. The value goes into the member of the union that valueType names.
 */
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
		{ NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, has_margin(gpu), false, SLOWDOWN_MARGIN,
			NVML_VALUE_TYPE_SIGNED_INT },
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
		{ NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 1, false, gpu->recovery_action, NVML_VALUE_TYPE_UNSIGNED_INT },
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
		else if (field->valueType == NVML_VALUE_TYPE_SIGNED_INT)
			field->value.siVal = (int)fields[i].value;
		else
			field->value.ullVal = (unsigned long long)fields[i].value;
		return NVML_SUCCESS;
	}
	return NVML_ERROR_INVALID_ARGUMENT;
}

/* The counters of errors are of 64 bits. */
static bool is_error_counter(nvmlDevice_t device, nvmlFieldValue_t *field)
{
	double value;
	if (!muster_simnvml_link_errors(device, field->fieldId, field->scopeId, &value) &&
		!muster_simnvml_pcie_errors(device, field->fieldId, &value))
		return false;
	field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
	field->value.ullVal = (unsigned long long)value;
	return true;
}

/* Each field has its own result: one that fails does not fail the call. timestamp: microseconds since 1970. */
static void fill_field(nvmlDevice_t device, nvmlFieldValue_t *field)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	field->timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	field->latencyUsec = 0;
	field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
	field->nvmlReturn = is_error_counter(device, field) ? NVML_SUCCESS : find_field(device, field);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	REQUIRE(device, values && count > 0);
	for (int i = 0; i < count; i++)
		fill_field(device, &values[i]);
	return NVML_SUCCESS;
}

/* -- clocks, temperature, power -- */

GIVES_CLOCK(nvmlDeviceGetClockInfo, under_load(device, device->gpu->sm_clock_mhz, device->gpu->sm_clock_loaded_mhz),
	device->gpu->mem_clock_mhz)
GIVES_CLOCK(nvmlDeviceGetMaxClockInfo, device->gpu->sm_clock_max_mhz, device->gpu->mem_clock_max_mhz)
GIVES_CLOCK(nvmlDeviceGetApplicationsClock, device->gpu->sm_clock_app_mhz, device->gpu->mem_clock_max_mhz)
GIVES_CLOCK(
	nvmlDeviceGetDefaultApplicationsClock, device->gpu->sm_clock_app_default_mhz, device->gpu->mem_clock_max_mhz)

/* What a fault has set, and the software power cap for a GPU that draws 94 % of its limit or more, which is normal
 * under full load.
 */
static unsigned long long reasons_loaded(const struct muster_sim_gpu *gpu)
{
	bool at_limit = gpu->power_loaded_watts >= 0.94 * gpu->power_limit_watts;
	return gpu->throttle_reasons_loaded | (at_limit ? nvmlClocksThrottleReasonSwPowerCap : 0);
}

GIVES(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long,
	under_load(device, (double)device->gpu->throttle_reasons, (double)reasons_loaded(device->gpu)))
GIVES(nvmlDeviceGetPowerUsage, unsigned int, power_milliwatts(device))
GIVES(nvmlDeviceGetEnforcedPowerLimit, unsigned int, device->gpu->power_limit_watts * 1000 + 0.5)
GIVES(nvmlDeviceGetPowerManagementLimit, unsigned int, device->gpu->power_requested_watts * 1000 + 0.5)
GIVES(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, device->gpu->power_default_watts * 1000 + 0.5)

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)
{
	REQUIRE(device, celsius && sensor == NVML_TEMPERATURE_GPU);
	*celsius = (unsigned int)under_load(
		device, device->gpu->temperature_celsius, device->gpu->temperature_loaded_celsius);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *margin)
{
	unsigned int celsius;
	REQUIRE(device, margin);
	if (margin->version != nvmlMarginTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (!has_margin(device->gpu))
		return NVML_ERROR_NOT_SUPPORTED;
	(void)nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &celsius);
	margin->marginTemperature = device->gpu->temperature_slowdown_celsius + SLOWDOWN_MARGIN - (int)celsius;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(
	nvmlDevice_t device, nvmlTemperatureThresholds_t what, unsigned int *celsius)
{
	bool known = what == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN || what == NVML_TEMPERATURE_THRESHOLD_MEM_MAX;
	REQUIRE(device, celsius && known);
	int limit = what == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? device->gpu->temperature_slowdown_celsius
								: device->gpu->memory_temperature_max_celsius;
	*celsius = (unsigned int)limit;
	return limit > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

/* fault_load.c - what shows when a GPU works: its memory, matrix products, heat and power */
#include "sim/fault_kinds.h"

#include "util/text.h"
#include "vendor/nvml_abi.h"

#include <stdlib.h>
#include <string.h>

/* ADDRESS:BIT, as in "0x100000000:5". */
int muster_fault_memory_bad(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	char *end = NULL;
	long bit = 0;
	unsigned long long address = *value >= '0' && *value <= '9' ? strtoull(value, &end, 0) : 0;
	if (!end || *end != ':')
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be ADDRESS:BIT, not \"%s\"", value);
	if (muster_parse_int(end + 1, 0, 63, &bit, "BIT", err) < 0)
		return -1;
	if (address % 8 != 0 || (double)address >= t->gpu->memory_mib * 1048576)
		return muster_fail(err, MUSTER_EUSAGE,
			"ADDRESS must be a multiple of 8 and less than the %.0f MiB that the GPU has",
			t->gpu->memory_mib);
	t->gpu->memory_bad_at = address;
	t->gpu->memory_bad_bit = (int)bit + 1;
	return 0;
}

int muster_fault_memory_held(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	t->gpu->memory_held_mib = (double)(long)(t->gpu->memory_mib / 2);
	return value ? muster_fault_number(value, 1, t->gpu->memory_mib, &t->gpu->memory_held_mib, err) : 0;
}

int muster_fault_hbm_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double gbps = t->gpu->memory_write_gbps / 2;
	if (value && muster_fault_number(value, 0.001, 100000, &gbps, err) < 0)
		return -1;
	t->gpu->memory_write_gbps = t->gpu->memory_read_gbps = gbps;
	return 0;
}

static void slow_down(struct muster_sim_gpu *gpu, double share)
{
	gpu->gemm_bf16_tflops *= share;
	gpu->gemm_fp64_tflops *= share;
	gpu->gemm_fp8_tflops *= share;
}

int muster_fault_gemm_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double share = 1;
	if (muster_fault_number(value, 0.0001, 1, &share, err) < 0)
		return -1;
	slow_down(t->gpu, share);
	return 0;
}

/* Clocks that are held down to a share, and what NVML gives as the reason. */
static void throttle(struct muster_sim_gpu *gpu, double share, unsigned long long reasons)
{
	slow_down(gpu, share);
	gpu->sm_clock_loaded_mhz = (int)(gpu->sm_clock_loaded_mhz * share);
	gpu->throttle_reasons_loaded |= reasons;
}

int muster_fault_hot(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->gpu->temperature_loaded_celsius = t->gpu->temperature_slowdown_celsius;
	t->gpu->memory_temperature_celsius = t->gpu->memory_temperature_max_celsius;
	throttle(t->gpu, 0.6,
		nvmlClocksThrottleReasonHwSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown |
			nvmlClocksThrottleReasonSwThermalSlowdown);
	return 0;
}

int muster_fault_power_brake(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->gpu->power_loaded_watts /= 2;
	throttle(t->gpu, 0.5, nvmlClocksThrottleReasonHwSlowdown | nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
	return 0;
}

/* As every GPU does that works as hard as it can: its rate is the healthy one's already. */
int muster_fault_power_cap(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->gpu->power_loaded_watts = t->gpu->power_limit_watts;
	t->gpu->throttle_reasons_loaded |= nvmlClocksThrottleReasonSwPowerCap;
	return 0;
}

int muster_fault_soak_drift(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return muster_fault_number(value, 0.0001, 0.9, &t->gpu->gemm_drift, err);
}

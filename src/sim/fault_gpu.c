/* fault_gpu.c - what can be wrong with a GPU */
#include "sim/fault.h"

#include "sim/scenario.h"
#include "util/text.h"
#include "vendor/nvml_abi.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- what can be wrong with one GPU -- */

/* All copies at once are never faster than one alone. */
int muster_fault_copies_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->gpu->h2d_together_gbps = fmin(t->gpu->h2d_together_gbps, t->gpu->h2d_gbps);
	t->gpu->d2h_together_gbps = fmin(t->gpu->d2h_together_gbps, t->gpu->d2h_gbps);
	return 0;
}

int muster_fault_ecc_uncorrected(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->gpu->ecc_uncorrected_volatile = t->gpu->ecc_uncorrected_aggregate = t->number;
	return 0;
}

/* "3g.20gb": the GPU is divided, and the rank has such an instance. */
static bool read_profile(const char *text, int *ret_slices, int *ret_gb)
{
	int slices = 0, gb = 0, end = 0;
	if (sscanf(text, "%1dg.%3dgb%n", &slices, &gb, &end) != 2 || end == 0 || text[end] || slices < 1 ||
		slices > 7 || gb < 1)
		return false;
	*ret_slices = slices;
	*ret_gb = gb;
	return true;
}

int muster_fault_mig(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *const states[] = { "off", "on" };
	if (!t->gpu->mig_supported)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no MIG");
	if (read_profile(value, &t->gpu->mig_slices, &t->gpu->mig_gb)) {
		t->gpu->mig = true;
		return 0;
	}
	int on = muster_parse_name(value, states, 2, "VALUE", err);
	if (on < 0)
		return -1;
	if (t->gpu->mig == (on == 1))
		return muster_fail(err, MUSTER_EUSAGE, "MIG is %s in the healthy GPU", value);
	t->gpu->mig = on == 1;
	return 0;
}

/* -- what shows when a GPU works: its memory, matrix products, heat and power -- */

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
	(void)err;
	t->gpu->memory_write_gbps = t->gpu->memory_read_gbps = value ? t->number : t->gpu->memory_write_gbps / 2;
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
	(void)value, (void)err;
	slow_down(t->gpu, t->number);
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

/* -- other programs on a GPU -- */

#define STRANGER_PID 4242

static int put_stranger(const struct muster_fault_target *t, const char *value, double mib, struct muster_error *err)
{
	if (value && muster_fault_number(value, 0, t->gpu->memory_mib, &mib, err) < 0)
		return -1;
	t->gpu->stranger_pid = STRANGER_PID;
	t->gpu->stranger_mib = mib;
	return 0;
}

int muster_fault_stranger(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	if (put_stranger(t, value, (double)(long)(t->gpu->memory_mib / 2), err) < 0)
		return -1;
	t->gpu->memory_held_mib = t->gpu->stranger_mib;
	return 0;
}

/* The program only computes: what little memory there is of it is not taken from muster's. */
int muster_fault_stranger_late(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	t->gpu->stranger_late = true;
	return put_stranger(t, value, 700, err);
}

/* -- the links of a GPU, and the fabric that they make within a node and a rack -- */

static int links_down(int links, const char *kind, const char *value, int *ret_left, struct muster_error *err)
{
	long down = 0;
	if (links == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no %s", kind);
	if (muster_parse_int(value, 1, links, &down, "VALUE", err) < 0)
		return -1;
	*ret_left = links - (int)down;
	return 0;
}

int muster_fault_nvlink_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return links_down(t->gpu->nvlinks, "NVLinks", value, &t->gpu->nvlinks_active, err);
}

/* KIND:ERRORS, as in "recovery:1". */
int muster_fault_nvlink_errors(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	const struct {
		const char *kind;
		double *errors;
	} counters[] = {
		{ "replay", &t->gpu->nvlink_replays },
		{ "recovery", &t->gpu->nvlink_recoveries },
		{ "crc", &t->gpu->nvlink_crc_errors },
	};
	const char *colon = strchr(value, ':');
	if (t->gpu->nvlinks == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no NVLinks");
	for (size_t i = 0; colon && i < sizeof counters / sizeof *counters; i++)
		if (strlen(counters[i].kind) == (size_t)(colon - value) &&
			strncmp(counters[i].kind, value, (size_t)(colon - value)) == 0)
			return muster_fault_number(colon + 1, 1, 1e9, counters[i].errors, err);
	return muster_fail(err, MUSTER_EUSAGE,
		"VALUE must be KIND:ERRORS with replay, recovery or crc as KIND, not \"%s\"", value);
}

int muster_fault_c2c_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return links_down(t->gpu->c2c_links, "C2C links", value, &t->gpu->c2c_links, err);
}

/* The nodes' NVLink fabrics, by racks counted from 1. */
int muster_fault_rack(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_cluster =
			muster_sim_fabric_cluster(t->cluster->arena, t->cluster->sku, (size_t)t->number - 1);
	return 0;
}

int muster_fault_clique(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_clique = (int)t->number;
	return 0;
}

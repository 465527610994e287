/* SPDX-License-Identifier: Apache-2.0 */
/* fault_gpu.c - what can be wrong with a GPU
 *
 * The functions that a row of fault_kinds.c names where one field is not enough. They run after the row's field is set,
 * so h2d_gbps has its new value when muster_fault_copies_slow() looks. A fault changes every field that the broken part
 * would change together: a GPU that is too hot is also slower, and NVML gives the reason.
 */
#include "sim/fault.h"

#include "sim/scenario.h"
#include "util/text.h"
#include "vendor/nvml_abi.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All copies at once are never faster than one alone. */
void muster_fault_copies_slow(const struct muster_fault_target *t)
{
	t->gpu->h2d_together_gbps = fmin(t->gpu->h2d_together_gbps, t->gpu->h2d_gbps);
	t->gpu->d2h_together_gbps = fmin(t->gpu->d2h_together_gbps, t->gpu->d2h_gbps);
}

void muster_fault_ecc_uncorrected(const struct muster_fault_target *t)
{
	t->gpu->ecc_uncorrected_volatile = t->gpu->ecc_uncorrected_aggregate = t->number;
}

/* VALUE is "on" or "off", which must differ from the healthy GPU's mode, or a profile such as "3g.20gb": three of seven
 * slices of the GPU's multiprocessors, and 20 GB of its memory. */
int muster_fault_mig(const struct muster_fault_target *t, struct muster_error *err)
{
	static const char *const states[] = { "off", "on" };
	int slices = 0, gb = 0, end = 0;
	/* "3g.20gb": the GPU is divided, and the rank has such an instance */
	if (sscanf(t->value, "%1dg.%3dgb%n", &slices, &gb, &end) == 2 && end > 0 && !t->value[end] && slices >= 1 &&
		slices <= 7 && gb >= 1) {
		t->gpu->mig = true;
		t->gpu->mig_slices = slices;
		t->gpu->mig_gb = gb;
		return 0;
	}
	int on = muster_parse_name(t->value, states, 2, "VALUE", err);
	if (on < 0)
		return -1;
	if (t->gpu->mig == (on == 1))
		return muster_fail(err, MUSTER_EUSAGE, "MIG is %s in the healthy GPU", t->value);
	t->gpu->mig = on == 1;
	return 0;
}

/* -- what shows when a GPU works: its memory, matrix products, heat and power -- */

/* ADDRESS:BIT, as in "0x100000000:5". The field counts bits from 1, because 0 says that no bit is bad. */
int muster_fault_memory_bad(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *value = t->value;
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

/* MiB of the GPU's memory: VALUE, from `least` on, or half of it. */
static int read_mib(const struct muster_fault_target *t, double least, double *ret, struct muster_error *err)
{
	*ret = (double)(long)(t->gpu->memory_mib / 2);
	return t->value ? muster_fault_number(t->value, least, t->gpu->memory_mib, ret, err) : 0;
}

int muster_fault_memory_held(const struct muster_fault_target *t, struct muster_error *err)
{
	return read_mib(t, 1, &t->gpu->memory_held_mib, err);
}

void muster_fault_hbm_slow(const struct muster_fault_target *t)
{
	t->gpu->memory_write_gbps = t->gpu->memory_read_gbps = t->value ? t->number : t->gpu->memory_write_gbps / 2;
}

/* Matrix products of all types have this share of their rate. */
static void slow_down(struct muster_sim_gpu *gpu, double share)
{
	gpu->gemm_bf16_tflops *= share;
	gpu->gemm_fp64_tflops *= share;
	gpu->gemm_fp8_tflops *= share;
}

void muster_fault_gemm_slow(const struct muster_fault_target *t)
{
	slow_down(t->gpu, t->number);
}

/* Clocks that are held down to a share, and what NVML gives as the reason. */
static void throttle(struct muster_sim_gpu *gpu, double share, unsigned long long reasons)
{
	slow_down(gpu, share);
	gpu->sm_clock_loaded_mhz = (int)(gpu->sm_clock_loaded_mhz * share);
	gpu->throttle_reasons_loaded |= reasons;
}

void muster_fault_hot(const struct muster_fault_target *t)
{
	t->gpu->temperature_loaded_celsius = t->gpu->temperature_slowdown_celsius;
	t->gpu->memory_temperature_celsius = t->gpu->memory_temperature_max_celsius;
	throttle(t->gpu, 0.6,
		nvmlClocksThrottleReasonHwSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown |
			nvmlClocksThrottleReasonSwThermalSlowdown);
}

void muster_fault_power_brake(const struct muster_fault_target *t)
{
	t->gpu->power_loaded_watts /= 2;
	throttle(t->gpu, 0.5, nvmlClocksThrottleReasonHwSlowdown | nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
}

/* VALUE in MHz. Speed and power follow the clock. A clock that the GPU does not reach under load changes nothing. */
void muster_fault_clock_locked(const struct muster_fault_target *t)
{
	double share = t->number / t->gpu->sm_clock_loaded_mhz;
	if (share >= 1)
		return;
	t->gpu->power_loaded_watts *= share;
	throttle(t->gpu, share, nvmlClocksThrottleReasonApplicationsClocksSetting);
}

void muster_fault_power_limit(const struct muster_fault_target *t)
{
	t->gpu->power_requested_watts = t->number;
	t->gpu->power_loaded_watts = fmin(t->gpu->power_loaded_watts, t->number);
}

/* Every GPU that works as hard as it can is at its power limit. The description has the rates of such a GPU, so
 * products do not become slower here. */
void muster_fault_power_cap(const struct muster_fault_target *t)
{
	t->gpu->power_loaded_watts = t->gpu->power_limit_watts;
	t->gpu->throttle_reasons_loaded |= nvmlClocksThrottleReasonSwPowerCap;
}

/* -- other programs on a GPU -- */

/* NVML lists the program and its memory, but muster can still allocate all of the GPU: only muster_fault_stranger()
 * takes the memory away. */
int muster_fault_stranger_late(const struct muster_fault_target *t, struct muster_error *err)
{
	t->gpu->stranger_pid = 4242;
	return read_mib(t, 0, &t->gpu->stranger_mib, err);
}

int muster_fault_stranger(const struct muster_fault_target *t, struct muster_error *err)
{
	if (muster_fault_stranger_late(t, err) < 0)
		return -1;
	t->gpu->memory_held_mib = t->gpu->stranger_mib;
	return 0;
}

/* -- the links of a GPU, and the fabric that they make within a node and a rack -- */

/* VALUE is how many of the GPU's links are down, 1 to all; *ret_left: how many are up then. */
static int links_down(const struct muster_fault_target *t, int links, int *ret_left, struct muster_error *err)
{
	long down = 0;
	if (muster_parse_int(t->value, 1, links, &down, "VALUE", err) < 0)
		return -1;
	*ret_left = links - (int)down;
	return 0;
}

int muster_fault_nvlink_down(const struct muster_fault_target *t, struct muster_error *err)
{
	return links_down(t, t->gpu->nvlinks, &t->gpu->nvlinks_active, err);
}

/* KIND:ERRORS, as in "recovery:1". nvml_errors.c adds the errors to a counter of one link once the process has worked.
 */
int muster_fault_nvlink_errors(const struct muster_fault_target *t, struct muster_error *err)
{
	const struct {
		const char *kind;
		double *errors;
	} counters[] = {
		{ "replay", &t->gpu->nvlink_replays },
		{ "recovery", &t->gpu->nvlink_recoveries },
		{ "crc", &t->gpu->nvlink_crc_errors },
	};
	const char *colon = strchr(t->value, ':'), *kind = muster_fault_until(t, t->value, colon);
	for (size_t i = 0; colon && i < sizeof counters / sizeof *counters; i++)
		if (strcmp(counters[i].kind, kind) == 0)
			return muster_fault_number(colon + 1, 1, 1e9, counters[i].errors, err);
	return muster_fail(err, MUSTER_EUSAGE,
		"VALUE must be KIND:ERRORS with replay, recovery or crc as KIND, not \"%s\"", t->value);
}

int muster_fault_c2c_down(const struct muster_fault_target *t, struct muster_error *err)
{
	return links_down(t, t->gpu->c2c_links, &t->gpu->c2c_links, err);
}

/* Put the node into another rack, counted from 1: the cluster UUID is the one that healthy nodes of this rack have. */
void muster_fault_rack(const struct muster_fault_target *t)
{
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_cluster =
			muster_sim_fabric_cluster(t->cluster->arena, t->cluster->sku, (size_t)t->number - 1);
}

void muster_fault_clique(const struct muster_fault_target *t)
{
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_clique = (int)t->number;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - what NVML says of a GPU while it works
 *
 * Samples come from two threads: the sampler's own, every EVERY_MS, and the probe's main thread, which takes one with
 * each batch of work (muster_sampler_take), so that a load of less than 20 ms has a sample too. The lock makes each
 * sample one step. The figures are read without the lock, after muster_sampler_stop.
 *
 * What muster_sampler_count adds up for one reason; x is a sample in which the reason holds, ROW is 3:
 *
 *   sample       -  x  -  x  x  x  x  -
 *   seen         0  1  1  2  3  4  5  5     every x
 *   row          0  1  0  1  2  3  4  0     the x without a gap until here
 *   throttled    0  0  0  0  0  3  4  4     only x of rows of at least ROW
 *
 * For slowdowns by the hardware the time counts as well, in slow_ms: from the first sample of such a row to its last
 * one, as far as this is later than STEP_MS after the start.
 */
#include "probes/gpu_load/sampler.h"

#include "util/clock.h"
#include "util/text.h"

#include <string.h>

#define EVERY_MS 20 /* the power's own refresh */
#define ROW 3       /* samples running that make a reason count */
#define STEP_MS 200 /* the power of a load that begins settles: what slows the clocks down until then may be that */
#define SLOW_MS 100 /* slowdowns that take less in all are none */

const struct muster_throttle_reason muster_throttles[MUSTER_THROTTLES] = {
	[MUSTER_THROTTLE_POWER_CAP] = { "sw-power-cap", nvmlClocksThrottleReasonSwPowerCap },
	[MUSTER_THROTTLE_SW_THERMAL] = { "sw-thermal", nvmlClocksThrottleReasonSwThermalSlowdown },
	[MUSTER_THROTTLE_HW_THERMAL] = { "hw-thermal", nvmlClocksThrottleReasonHwThermalSlowdown },
	[MUSTER_THROTTLE_POWER_BRAKE] = { "hw-power-brake", nvmlClocksThrottleReasonHwPowerBrakeSlowdown },
	[MUSTER_THROTTLE_HW_SLOWDOWN] = { "hw-slowdown", nvmlClocksThrottleReasonHwSlowdown },
	[MUSTER_THROTTLE_APP_CLOCKS] = { "application-clocks", nvmlClocksThrottleReasonApplicationsClocksSetting },
};

/* One value of NVML, in the units of enum muster_sampled; NVML gives power in milliwatts. */
static int ask(struct muster_sampler *s, enum muster_sampled kind, double *ret, struct muster_error *err)
{
	nvmlMarginTemperature_t margin = { .version = nvmlMarginTemperature_v1 };
	unsigned int number = 0;
	int result = -1;
	switch (kind) {
	case MUSTER_SAMPLED_SM_CLOCK:
		result = MUSTER_NVML(s->nvml, err, nvmlDeviceGetClockInfo, s->device, NVML_CLOCK_SM, &number);
		break;
	case MUSTER_SAMPLED_MEMORY_CLOCK:
		result = MUSTER_NVML(s->nvml, err, nvmlDeviceGetClockInfo, s->device, NVML_CLOCK_MEM, &number);
		break;
	case MUSTER_SAMPLED_POWER:
		result = MUSTER_NVML_FIELD(s->nvml, err, s->device, NVML_FI_DEV_POWER_INSTANT, 0, ret);
		if (result < 0) { /* older drivers have an average over the last second alone */
			result = MUSTER_NVML(s->nvml, err, nvmlDeviceGetPowerUsage, s->device, &number);
			*ret = number;
		}
		*ret /= 1e3;
		return result;
	case MUSTER_SAMPLED_HEAT:
		result = MUSTER_NVML(s->nvml, err, nvmlDeviceGetTemperature, s->device, NVML_TEMPERATURE_GPU, &number);
		break;
	case MUSTER_SAMPLED_MEMORY_HEAT:
		return MUSTER_NVML_FIELD(s->nvml, err, s->device, NVML_FI_DEV_MEMORY_TEMP, 0, ret);
	case MUSTER_SAMPLED_MARGIN:
		result = MUSTER_NVML(s->nvml, err, nvmlDeviceGetMarginTemperature, s->device, &margin);
		*ret = margin.marginTemperature;
		return result;
	case MUSTER_SAMPLED_KINDS: break;
	}
	*ret = number;
	return result;
}

/* mask: the bits of all reasons that hold; ms: the time since the start. When a row reaches ROW samples, all of them
 * are added to throttled, and then each further one. row_ms: the time of the present row of slowdowns by the hardware;
 * its first sample adds no time, since nothing says when the slowdown began before it. row_ms moves to slow_ms once the
 * row has ROW samples. */
void muster_sampler_count(struct muster_sampler *s, unsigned long long mask, double ms)
{
	double since = ms - (s->last_ms > STEP_MS ? s->last_ms : STEP_MS);
	s->last_ms = ms;
	s->reasons_count++;
	for (size_t i = 0; i < MUSTER_THROTTLES; i++) {
		bool holds = mask & muster_throttles[i].bit;
		s->seen[i] += holds;
		s->row[i] = holds ? s->row[i] + 1 : 0;
		if (s->row[i] >= ROW)
			s->throttled[i] += s->row[i] == ROW ? ROW : 1;
	}
	size_t row = s->row[MUSTER_THROTTLE_HW_SLOWDOWN];
	s->row_ms = row > 1 ? s->row_ms + (since > 0 ? since : 0) : 0;
	if (row < ROW)
		return;
	s->slow_ms += s->row_ms;
	s->row_ms = 0;
}

/* One sample: each kind of value, then the reasons. What NVML refuses once is not asked again, so that kinds may have
 * different counts; its error stays as the reason of the null that is emitted. */
void muster_sampler_take(struct muster_sampler *s)
{
	unsigned long long mask = 0;
	struct muster_error err;
	if (!s->nvml)
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t kind = 0; kind < MUSTER_SAMPLED_KINDS; kind++) {
		struct muster_sampled_figures *figures = &s->figures[kind];
		double value = 0;
		if (figures->why_none.code != MUSTER_OK)
			continue;
		if (ask(s, (enum muster_sampled)kind, &value, &err) < 0) {
			figures->why_none = err;
			continue;
		}
		figures->sum += value;
		figures->highest = figures->count == 0 || value > figures->highest ? value : figures->highest;
		figures->lowest = figures->count == 0 || value < figures->lowest ? value : figures->lowest;
		figures->count++;
	}
	if (s->why_no_reasons.code == MUSTER_OK) {
		if (MUSTER_NVML(s->nvml, &err, nvmlDeviceGetCurrentClocksThrottleReasons, s->device, &mask) < 0)
			s->why_no_reasons = err;
		else
			muster_sampler_count(s, mask, muster_clock_now(&muster_clock_monotonic) - s->start_ms);
	}
	pthread_mutex_unlock(&s->lock);
}

static void *sample(void *arg)
{
	struct muster_sampler *s = arg;
	for (;;) {
		pthread_mutex_lock(&s->lock);
		bool stop = s->stop;
		pthread_mutex_unlock(&s->lock);
		if (stop)
			return NULL;
		muster_sampler_take(s);
		muster_sleep_ms(EVERY_MS);
	}
}

void muster_sampler_init(struct muster_sampler *s, const struct muster_gpu *gpu)
{
	struct muster_error err;
	memset(s, 0, sizeof *s);
	pthread_mutex_init(&s->lock, NULL);
	s->nvml = muster_gpu_nvml(gpu, &err);
	s->device = gpu->nvml_device;
	if (!s->nvml) {
		for (size_t kind = 0; kind < MUSTER_SAMPLED_KINDS; kind++)
			s->figures[kind].why_none = err;
		s->why_no_reasons = err;
	}
}

void muster_sampler_start(struct muster_sampler *s)
{
	s->start_ms = muster_clock_now(&muster_clock_monotonic);
	s->running = s->nvml && pthread_create(&s->thread, NULL, sample, s) == 0;
}

void muster_sampler_stop(struct muster_sampler *s)
{
	if (!s->running)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->running = false;
}

double muster_sampler_seen(const struct muster_sampler *s, enum muster_throttle reason)
{
	return s->reasons_count ? (double)s->seen[reason] / (double)s->reasons_count : 0;
}

/* Divided by the time from the start to the last sample, which includes the first STEP_MS. */
double muster_sampler_slow_share(const struct muster_sampler *s)
{
	return s->slow_ms < SLOW_MS ? 0 : s->slow_ms / s->last_ms;
}

double muster_sampler_share(const struct muster_sampler *s, enum muster_throttle reason)
{
	return s->reasons_count ? (double)s->throttled[reason] / (double)s->reasons_count : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - what NVML says of a GPU while it works, every 20 ms in a thread of its own
 *
 * NVML's own refresh of power is about 20 ms, so that more samples say nothing new. What NVML refused once is not asked
 * again; NVML's error is the reason of the null value.
 *
 * Which field: power is NVML_FI_DEV_POWER_INSTANT where the driver has it (nvmlDeviceGetPowerUsage is a mean of the
 * last second on most GPUs since Ampere, so that a load of 0.3 s does not show); the memory's temperature is a field
 * too, of GPUs that have such a sensor.
 *
 * Reasons are a bit mask (nvmlDeviceGetCurrentClocksThrottleReasons). Three samples in a row make a reason count: at
 * the moment at which a load begins or ends, single samples show a reason on healthy GPUs.
 *
 * The life of a sampler: init, start, any number of takes, stop, then the shares and figures are read. A sampler whose
 * thread could not be started has the samples of the takes alone.
 */
#ifndef MUSTER_PROBES_GPU_LOAD_SAMPLER_H
#define MUSTER_PROBES_GPU_LOAD_SAMPLER_H

#include "probes/gpu/device.h"

#include <pthread.h>
#include <stdbool.h>

enum muster_sampled {
	MUSTER_SAMPLED_SM_CLOCK, /* MHz */
	MUSTER_SAMPLED_MEMORY_CLOCK,
	MUSTER_SAMPLED_POWER, /* watts, at the moment */
	MUSTER_SAMPLED_HEAT,  /* degrees Celsius of the GPU */
	MUSTER_SAMPLED_MEMORY_HEAT,
	MUSTER_SAMPLED_MARGIN, /* degrees to the nearest limit of the GPU or its memory; Ada and later */
	MUSTER_SAMPLED_KINDS
};

/* Why clocks are held down. The software power cap is normal under full load. Application clocks are a setting of the
 * GPU, which the load does not change. */
enum muster_throttle {
	MUSTER_THROTTLE_POWER_CAP,
	MUSTER_THROTTLE_SW_THERMAL,
	MUSTER_THROTTLE_HW_THERMAL,
	MUSTER_THROTTLE_POWER_BRAKE,
	MUSTER_THROTTLE_HW_SLOWDOWN,
	MUSTER_THROTTLE_APP_CLOCKS, /* the last one: code counts on all before it being power, heat or a brake */
	MUSTER_THROTTLES
};
struct muster_throttle_reason {
	const char *name; /* "sw-power-cap", as in gpu.throttle_reasons */
	unsigned long long bit;
};
extern const struct muster_throttle_reason muster_throttles[MUSTER_THROTTLES];

/* Of one kind: how many answers there were, their sum, highest and lowest, or why there is none. */
struct muster_sampled_figures {
	double sum, highest, lowest;
	size_t count;
	struct muster_error why_none;
};

struct muster_sampler {
	const struct muster_nvml *nvml; /* NULL: nothing can be sampled */
	nvmlDevice_t device;
	pthread_mutex_t lock; /* of what follows */
	pthread_t thread;
	bool running, stop;
	struct muster_sampled_figures figures[MUSTER_SAMPLED_KINDS];
	size_t reasons_count; /* samples of the reasons */
	struct muster_error why_no_reasons;
	/* For each reason: samples in rows of at least three, and the length of the present row. */
	size_t throttled[MUSTER_THROTTLES], row[MUSTER_THROTTLES];
	size_t seen[MUSTER_THROTTLES]; /* samples with the reason, single ones too */
	/* start_ms: by the monotonic clock. last_ms: the last sample, counted from start_ms. slow_ms, row_ms: how long
	 * the hardware slowed the GPU down, in rows of at least three samples, and in the present row while it has
	 * fewer. */
	double start_ms, last_ms, slow_ms, row_ms;
};

/* Without NVML, or a device of it, nothing will be sampled and why_* say why. */
void muster_sampler_init(struct muster_sampler *sampler, const struct muster_gpu *gpu);
/* Start the thread. */
void muster_sampler_start(struct muster_sampler *sampler);
/* Take one sample now, from any thread. */
void muster_sampler_take(struct muster_sampler *sampler);
/* End the thread; the figures are whole then. Does nothing when none was started. */
void muster_sampler_stop(struct muster_sampler *sampler);

/* Of all samples the share in which a reason held for at least three samples running: a single one is no fault. */
double muster_sampler_share(const struct muster_sampler *sampler, enum muster_throttle reason);

/* The same for single samples too: of the time under load, how much a reason held for. */
double muster_sampler_seen(const struct muster_sampler *sampler, enum muster_throttle reason);

/* The share of the time for which the hardware slowed the GPU down in such runs, without the first 200 ms, in which the
 * power of the load settles; 0 where that was less than 100 ms in all. */
double muster_sampler_slow_share(const struct muster_sampler *sampler);

/* Count one answer of NVML about the reasons, so many ms after the start. Called by take; for tests. */
void muster_sampler_count(struct muster_sampler *sampler, unsigned long long mask, double ms);

#endif

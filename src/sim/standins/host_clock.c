/* SPDX-License-Identifier: Apache-2.0 */
/* host_clock.c - the virtual clock of a simulated worker process, as a part of libmuster-preload.so */

#include "sim/standins/preload.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

MUSTER_STANDIN_EXPORT int clock_gettime(clockid_t id, struct timespec *ret);

static _Atomic double now_s;

double muster_standin_host_now(void)
{
	return atomic_load(&now_s);
}

void muster_standin_host_wait_until(double time)
{
	double seen = atomic_load(&now_s);
	while (seen < time && !atomic_compare_exchange_weak(&now_s, &seen, time))
		;
}

/* Whole nanoseconds of virtual time since the node's boot. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	if (id != CLOCK_MONOTONIC_RAW)
		return muster_standin_next()->clock_gettime(id, ret);
	double now = muster_standin_host_now() + muster_standin_numa_passed(), seconds = floor(now);
	long nanoseconds = lround((now - seconds) * 1e9);
	ret->tv_sec = MUSTER_SIM_UPTIME_S + (time_t)seconds + nanoseconds / 1000000000;
	ret->tv_nsec = nanoseconds % 1000000000;
	return 0;
}

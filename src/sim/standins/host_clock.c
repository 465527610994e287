/* SPDX-License-Identifier: Apache-2.0 */
/* host_clock.c - the virtual clock of a simulated worker process, as a part of libmuster-preload.so
 *
 * base.h says what the clock is. Stand-ins move it on by muster_standin_host_wait_until() when the process waits for
 * work that ends later: a query of a stream that is done, a read of a file. The program reads it as
 * CLOCK_MONOTONIC_RAW.
 */

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

/* The clock never goes back: of two threads that wait for different times, the later time stays. */
void muster_standin_host_wait_until(double time)
{
	double seen = atomic_load(&now_s);
	while (seen < time && !atomic_compare_exchange_weak(&now_s, &seen, time))
		;
}

/* Whole nanoseconds of virtual time since the node's boot. A thread that passes over memory of a NUMA node has its own
 * time on top (preload_numa.c). */
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

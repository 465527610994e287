/* host_clock.c - the virtual clock of a simulated worker process, as a part of libmuster-preload.so */
#include "sim/standins/host_clock.h"

#include "sim/standins/preload_numa.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
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

static struct {
	pthread_once_t once;
	int (*clock_gettime)(clockid_t id, struct timespec *ret);
} next = { .once = PTHREAD_ONCE_INIT };

static void find_next(void)
{
	void *function = dlsym(RTLD_NEXT, "clock_gettime");
	if (!function)
		muster_standin_end("no library after this one has clock_gettime");
	memcpy(&next.clock_gettime, &function, sizeof function);
}

/* Whole nanoseconds of virtual time since the node's boot. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	if (id != CLOCK_MONOTONIC_RAW) {
		pthread_once(&next.once, find_next);
		return next.clock_gettime(id, ret);
	}
	double now = muster_standin_host_now() + muster_standin_numa_passed(), seconds = floor(now);
	long nanoseconds = lround((now - seconds) * 1e9);
	ret->tv_sec = MUSTER_SIM_UPTIME_S + (time_t)seconds + nanoseconds / 1000000000;
	ret->tv_nsec = nanoseconds % 1000000000;
	return 0;
}

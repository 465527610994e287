/* host_clock_find.c - a stand-in finds the virtual clock of its process */
#include "sim/standins/host_clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic double own_now_s;

static double own_now(void)
{
	return atomic_load(&own_now_s);
}

static void own_wait_until(double time)
{
	double seen = atomic_load(&own_now_s);
	while (seen < time && !atomic_compare_exchange_weak(&own_now_s, &seen, time))
		;
}

static struct muster_standin_host_clock found = { own_now, own_wait_until };

static void find(void)
{
	void *now = dlsym(RTLD_DEFAULT, "muster_standin_host_now");
	void *wait_until = dlsym(RTLD_DEFAULT, "muster_standin_host_wait_until");
	if (!now || !wait_until)
		return;
	memcpy(&found.now, &now, sizeof now);
	memcpy(&found.wait_until, &wait_until, sizeof wait_until);
}

const struct muster_standin_host_clock *muster_standin_host_clock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find);
	return &found;
}

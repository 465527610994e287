/* clock.c - the machine's clock */
#include "util/clock.h"

#include "util/text.h"

#include <time.h>

static double monotonic(const struct muster_clock *clock)
{
	(void)clock;
	return muster_now_ms();
}

static double raw(const struct muster_clock *clock)
{
	struct timespec now;
	(void)clock;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

const struct muster_clock muster_clock_monotonic = { .now_ms = monotonic };
const struct muster_clock muster_clock_raw = { .now_ms = raw };

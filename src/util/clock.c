/* clock.c - the machine's clock */
#include "util/clock.h"

#include "util/text.h"

static double monotonic(const struct muster_clock *clock)
{
	(void)clock;
	return muster_now_ms();
}

const struct muster_clock muster_clock_monotonic = { .now_ms = monotonic };

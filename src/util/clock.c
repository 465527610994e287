/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - the machine's clock */
#include "util/clock.h"

#include "util/text.h"

#include <math.h>
#include <stdio.h>

static double monotonic(const struct muster_clock *clock)
{
	(void)clock;
	return muster_now_ms();
}

/* CLOCK_MONOTONIC_RAW is not corrected by a time service. */
static double raw(const struct muster_clock *clock)
{
	struct timespec now;
	(void)clock;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

struct timespec muster_clock_after(double ms)
{
	double at_ms = muster_now_ms() + fmax(ms, 0), seconds = floor(at_ms / 1e3);
	return (struct timespec){ .tv_sec = (time_t)seconds, .tv_nsec = (long)((at_ms - seconds * 1e3) * 1e6) };
}

const struct muster_clock muster_clock_monotonic = { .now_ms = monotonic };
const struct muster_clock muster_clock_raw = { .now_ms = raw };

/* The second number of /proc/PID/schedstat: nanoseconds that the thread was ready to run and waited for a CPU. */
double muster_starved_ms(const char *thread)
{
	char path[64], line[128];
	double ran, waited;
	snprintf(path, sizeof path, "/proc/%s/schedstat", thread);
	if (muster_read_line(path, line, sizeof line, NULL) < 0 || sscanf(line, "%lf %lf", &ran, &waited) != 2)
		return 0;
	return waited / 1e6; /* nanoseconds */
}

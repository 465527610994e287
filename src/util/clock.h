/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - where the time comes from: the machine's clock, or a virtual one in tests */
#ifndef MUSTER_UTIL_CLOCK_H
#define MUSTER_UTIL_CLOCK_H

#include <time.h>

struct muster_clock {
	/* Milliseconds since some moment in the past; never runs backwards. */
	double (*now_ms)(const struct muster_clock *clock);
};

/* CLOCK_MONOTONIC. */
extern const struct muster_clock muster_clock_monotonic;
/* CLOCK_MONOTONIC_RAW, for the rates of what the host does itself: no time service changes how fast it runs. In a
 * simulation it is virtual time, so no deadline may depend on it. */
extern const struct muster_clock muster_clock_raw;

static inline double muster_clock_now(const struct muster_clock *clock)
{
	return clock->now_ms(clock);
}

/* The time of CLOCK_MONOTONIC in so many milliseconds, at the earliest now: the end of a wait. */
struct timespec muster_clock_after(double ms);

/* How long a thread has been ready to run without a CPU to run on, as the kernel counts it: proc(5), schedstat. thread:
 * "thread-self", or the number of a process, for its first thread. 0 where that is not known. */
double muster_starved_ms(const char *thread);

#endif

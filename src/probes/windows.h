/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - how a probe takes a speed: in windows, some of them in each visit of the run (muster/probe.h)
 *
 * A window is a few operations in a row, and its value is their median: at least MUSTER_WINDOW_OPERATIONS where one
 * takes less than 10 ms. The value of the metric is the best window of the run, which rank 0 finds when it folds the
 * samples of all visits (model/windows.h). What is right or wrong has no windows: the first visit checks it.
 *
 * Measured on hosts that other tenants use too (docs/dev/measurements.md): a disturbance takes a healthy copy or
 * all-reduce below 80 % of its rate for 0.02 to 0.12 s, about twice a second. One window of 6 ms is disturbed in one of
 * twenty runs; of three windows that are 0.3 s apart the best one is in fewer than three of a thousand. So windows are
 * few and short, and what counts is the time between the first and the last.
 */
#ifndef MUSTER_PROBES_WINDOWS_H
#define MUSTER_PROBES_WINDOWS_H

#include "muster/probe.h"

enum { MUSTER_WINDOW_OPERATIONS = 3, MUSTER_WINDOWS_MOST = 256 };

/* A window of a disk: requests of so many bytes, from the first one's start to the last one's end. None is in flight
 * between two windows: what a disk does while the host stands still would count for the window after it. */
#define MUSTER_WINDOW_BYTES ((uint64_t)256 << 20)

/* How many windows this visit has: at most MUSTER_WINDOWS_MOST. */
size_t muster_windows_count(struct muster_probe_ctx *ctx);

/* Call it before the windows of a visit. The last visit begins so long after the first one that no disturbance of a
 * healthy part lasts from one to the other. first_ms: of the caller, 0 at the start of the process. */
void muster_windows_wait(struct muster_probe_ctx *ctx, double *first_ms);

/* Yield the windows of this visit, in their order, of more than MUSTER_WINDOWS_MOST as many at even distances; null
 * with the reason where there is none. */
void muster_windows_emit(struct muster_probe_ctx *ctx, const char *metric, const struct muster_value *labels,
	size_t label_count, const double *values, size_t count, const char *why_none);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - values over time: one series for each key on each part of a node
 *
 * Values of different machine types and of different profiles are never in one series. A walk over a history comes key
 * by key, so only the series of one key are in memory: of 4,096 nodes with eight GPUs 32,768 series.
 */
#ifndef MUSTER_HISTORY_TIMELINE_H
#define MUSTER_HISTORY_TIMELINE_H

#include "history/db.h"

struct muster_point {
	int64_t started;
	double value;
};

struct muster_timeline {
	const struct muster_metric *metric;
	const char *machine_type, *profile, *key, *node, *part; /* NULL as in a value */
	struct muster_point *points;                            /* by time */
	size_t count, room;
};

/* All series of one key; they are gone after the call, their texts are the history's. */
typedef void muster_timelines_fn(void *arg, struct muster_timeline *series, size_t count);

/* Read the values that the filter chooses, key by key. by_node: one series for all parts of a node. 0, or -1 with err.
 */
int muster_timelines_read(struct muster_history *history, const struct muster_history_filter *filter, bool by_node,
	muster_timelines_fn *each, void *arg, struct muster_error *err);

/* The median of the points from `from` on, count > 0 of them. */
double muster_timeline_median(const struct muster_timeline *series, size_t from, size_t count);
/* The percentile of the first count > 0 points, see muster_percentile_of. */
double muster_timeline_percentile(const struct muster_timeline *series, size_t count, double share);
/* At most `bars` medians of points that follow each other; returns how many. */
size_t muster_timeline_thin(const struct muster_timeline *series, double *ret, size_t bars);
/* The index of the lowest point. */
size_t muster_timeline_lowest(const struct muster_timeline *series);

#endif

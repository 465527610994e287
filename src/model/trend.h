/* trend.h - what a metric's difference from one run to the next means, and what becomes of measurements that were
 * repeated
 */
#ifndef MUSTER_MODEL_TREND_H
#define MUSTER_MODEL_TREND_H

#include "muster/run.h"

enum muster_trend {
	MUSTER_TREND_FACT = 0, /* constant between changes by an administrator: versions, inventory, settings */
	MUSTER_TREND_MORE,     /* more is better */
	MUSTER_TREND_LESS,     /* less is better */
	MUSTER_TREND_DRIFTS,   /* is another one each time and says nothing: temperatures, clocks of the moment */
};

enum muster_trend muster_metric_trend(const struct muster_metric *metric);

bool muster_metric_is_time(const struct muster_metric *metric); /* in s, ms or us */

/* Which side of a usual value is the worse one: below it where more is better, above it where less is better and of
 * times; of other numbers, and of texts, none is. */
enum muster_worse { MUSTER_WORSE_NEITHER = 0, MUSTER_WORSE_BELOW, MUSTER_WORSE_ABOVE };
enum muster_worse muster_metric_worse(const struct muster_metric *metric);

/* Whether its values scatter from one measurement to the next: a rate or a time, not a count. */
bool muster_metric_scatters(const struct muster_metric *metric);

enum { MUSTER_REPEATS_MAX = 20 };

/* Make one sample of those that differ in nothing but their value: of what scatters the median, of what counts the
 * worst. All the numbers are kept beside it. What could not be had in one repeat and could in another is had; texts and
 * booleans that differ stay, each for itself. */
void muster_run_fold_repeats(struct muster_run *run);

#endif

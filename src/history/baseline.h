/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - what the values of earlier runs come to: median, MAD and number, by machine type, profile and key
 *
 * Pure: values come from saved reports or from a database, an overlay goes to a stream.
 */
#ifndef MUSTER_HISTORY_BASELINE_H
#define MUSTER_HISTORY_BASELINE_H

#include "history/values.h"

#include <stdio.h>

/* A median of fewer values says too little. */
#define MUSTER_BASELINE_LEAST 20

/* Shares that an overlay has unless the user says others. 7 %: the ubergemm test of Azure's node validation reports a
 * GPU that is so much slower than its baseline (ai-infrastructure-on-azure, skills/slurm). 5 %: SuperBench calls a
 * result defective that is so much below its baseline (its documentation of data diagnosis). 5.2 times the MAD: a
 * modified z-score of 3.5, beyond which Iglewicz and Hoaglin (1993) call a value an outlier, is 3.5 / 0.6745 MAD. */
#define MUSTER_BASELINE_FAIL 0.07
#define MUSTER_BASELINE_WARN 0.05
#define MUSTER_BASELINE_MAD 5.2

/* Values that are seldom much worse than usual have a small MAD all the same: in 160 runs of a healthy H100, copies to
 * the GPU were up to 11 % below their median, with a MAD of 0.08 % (docs/dev/measurements.md). So a value fails at
 * twice, and warns at one and a half times, the distance of the worst hundredth of what was learned, where that is more
 * than the shares above; at most at these shares, since what was learned may hide a bad part. */
#define MUSTER_BASELINE_FAIL_MOST 0.20
#define MUSTER_BASELINE_WARN_MOST 0.15

/* The values of one key on one machine type in one profile. */
struct muster_learned {
	const char *machine_type, *profile, *key; /* of the learning's arena: equal texts are equal pointers */
	const struct muster_metric *metric;
	double *values;
	size_t count, room;
	size_t reports, last_report; /* that have such values; the number of the last one */
	int64_t first, last;         /* when the first and the last of them started; NEVER when none says so */
	double median, mad;          /* set by muster_learning_end; the values are then sorted */
	double tail; /* as a share of the median: how much worse than it the worst hundredth of the values is */
};

/* {0} is an empty one. */
struct muster_learning {
	struct muster_arena *arena;
	struct muster_learned *items;
	size_t count, room, at; /* at: the item of the last value */
	size_t report;          /* the number of the report of the last value, from 1 */
	int64_t started;        /* of that report */
	const char *job;
	bool another; /* the next value is of another report, whatever that report says of itself */
	bool simulated;
};

/* Whether the metric is learned when the user names none: a speed that muster measures. */
bool muster_baseline_wanted(const struct muster_metric *metric);

/* Whether a value teaches: its node passed, perhaps with warnings (of a value of the job: the run did), no other job
 * used the node meanwhile, and the machine type is known. node: how the node came out; of the job it is not looked at.
 */
bool muster_baseline_teaches(const struct muster_history_value *value, enum muster_status node);

/* The next values are of another report. Without this, reports that differ in job or start are. */
void muster_learning_report(struct muster_learning *learning);
/* Values of one report and key come in a row. */
void muster_learning_take(struct muster_learning *learning, const struct muster_history_value *value);
/* Median and MAD of all; items are then sorted by machine type, key and profile. */
void muster_learning_end(struct muster_learning *learning);
void muster_learning_done(struct muster_learning *learning);

/* "312 reports, 2026-10-01 to 2026-11-20"; the arena is the learning's. */
const char *muster_learned_source(const struct muster_learning *learning, const struct muster_learned *item);

struct muster_baseline_shares {
	double fail, warn;
};
/* The shares that suit the values of an item: see MUSTER_BASELINE_FAIL_MOST. */
struct muster_baseline_shares muster_learned_shares(const struct muster_learned *item);

/* Write the overlay of a machine type: a check for each of its items with MUSTER_BASELINE_LEAST values or more, and a
 * median above 0. shares: of all checks; NULL: those of muster_learned_shares. Returns the number of checks. */
size_t muster_baseline_print(const struct muster_learning *learning, const char *machine_type,
	const struct muster_baseline_shares *shares, FILE *out);
/* Whether the item becomes a check. */
bool muster_learned_enough(const struct muster_learned *item);

#endif

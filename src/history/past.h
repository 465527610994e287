/* SPDX-License-Identifier: Apache-2.0 */
/* past.h - the runs of nodes that a history has, one after the other, and what they are to the rule for drains
 *
 * slurm/strikes.h has the rule. A run of one machine type and profile says nothing about the strikes of another one.
 *
 * An example: a node fails copy.h2d at one GPU at 10:00, a soft fault: its first strike. At 10:00:40 it fails again,
 * too early to be a second one, and at 10:30 once more: this finding drains. Had a run at 10:20 passed, the strike
 * would have been forgotten as the rule says, and 10:30 would be a first strike again.
 */
#ifndef MUSTER_HISTORY_PAST_H
#define MUSTER_HISTORY_PAST_H

#include "history/db.h"
#include "slurm/strikes.h"

struct muster_past_finding {
	const char *check, *part; /* part NULL: the whole node */
	enum muster_history_fault fault;
	bool drains; /* the node, as muster_past_take found */
};

/* One node in one report. Texts are the history's; equal ones are the same pointer. */
struct muster_past_run {
	const char *node, *machine_type, *profile; /* machine_type NULL: unknown */
	int64_t started, id;
	enum muster_status status;
	size_t first, finding_count; /* of muster_past.findings: by check */
};

struct muster_past {
	struct muster_past_run *runs; /* by node, machine type, profile and time */
	size_t count, room;
	struct muster_past_finding *findings;
	size_t finding_count, finding_room;
};

/* Read the runs that the filter chooses. -1 with err, and *ret is empty. */
int muster_past_read(struct muster_history *history, const struct muster_history_filter *filter,
	struct muster_past *ret, struct muster_error *err);
void muster_past_done(struct muster_past *past); /* of {0} too */

/* Of runs in an array, for qsort: by time. */
int muster_past_by_time(const void *a, const void *b);
/* Whether a and b are of one node, machine type and profile. */
bool muster_past_same_series(const struct muster_past_run *a, const struct muster_past_run *b);

/* Whether the run passed, perhaps with warnings, and has nothing of the check. A run that failed may not have evaluated
 * the check. */
bool muster_past_is_gone(const struct muster_past *past, const struct muster_past_run *run, const char *check);

/* The run is the next one of its series: its passes forget strikes, and its findings are strikes, or drain. */
void muster_past_take(struct muster_strikes *strikes, struct muster_past *past, const struct muster_past_run *run);

/* The first run of the node since its last finding of the check in which the fault is gone, as muster_past_is_gone has
 * it: when it began; MUSTER_HISTORY_NEVER when there is none. Only runs that began after the time `after` count. The
 * runs are of one machine type and profile. */
int64_t muster_past_gone_since(const struct muster_past *past, const char *node, const char *check, int64_t after);

#endif

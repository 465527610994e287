/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.h - what `muster baseline` learns from: the values of reports or of a history that teach */
#ifndef MUSTER_CLI_BASELINE_H
#define MUSTER_CLI_BASELINE_H

#include "history/baseline.h"
#include "history/node_status.h"

struct muster_baseline_options {
	const char *output, *db, *since, *sku;
	const char *profile; /* NULL: all */
	const char *before;  /* of a history: only runs that started before this time; NULL: all */
	const char **metrics;
	size_t metric_count, metric_room;
	int fail, warn; /* per cent worse than the median; 0: by what was learned (history/baseline.h) */
	bool simulated;
};

/* What is known of all reports together, and of the report at hand. {.o = options} is an empty one; after
 * muster_lesson_take() the items are in `learning`, until muster_lesson_done(). */
struct muster_lesson {
	const struct muster_baseline_options *o;
	struct muster_learning learning;
	struct muster_arena *arena;
	const char **seen; /* what makes each report the one that it is: the arena's */
	size_t seen_count, seen_room;
	const char *first_path; /* of the first report, which says whether all are simulated */
	bool simulated;
	size_t used, twice, unknown, beside; /* reports: taken; given before; not taken since ... */
	/* of the report at hand */
	const struct muster_node_status *nodes;
	size_t node_count;
	const char *version; /* of the first report; NULL: not known */
	bool versions_differ;
};

/* Gather what the reports, or the history o->db, teach. -1 with err. */
int muster_lesson_take(struct muster_lesson *lesson, const char *const *paths, size_t count, struct muster_error *err);
/* To stderr: reports that were not used. */
void muster_lesson_notes(const struct muster_lesson *lesson);
void muster_lesson_done(struct muster_lesson *lesson);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* questions.h - what people ask a history; each answer is a table
 *
 * Each function fills *ret, which the caller releases with muster_table_done before the history is closed; 0, or -1
 * with err and a table to be released too. The caller sets ret->arena.
 */
#ifndef MUSTER_HISTORY_QUESTIONS_H
#define MUSTER_HISTORY_QUESTIONS_H

#include "history/db.h"
#include "history/table.h"

struct muster_history_question {
	struct muster_history_filter filter;
	int64_t now;
	int runs, failed;         /* flapping: at least so many of the last so many runs */
	int64_t before_from;      /* diff: the time before filter.since that counts begins here */
	const char *db, *configs; /* trial: the history's path, and where expectation files are */
};

typedef int muster_history_ask(struct muster_history *history, const struct muster_history_question *question,
	struct muster_table *ret, struct muster_error *err);

muster_history_ask muster_ask_nodes;    /* each node: verdicts over time, since when, the last findings */
muster_history_ask muster_ask_flapping; /* nodes that failed some of their last runs, and passed others */
muster_history_ask muster_ask_values;   /* a metric over time; of each part where nodes are named, else of each node */
muster_history_ask muster_ask_worst;    /* parts that are lowest among those of their machine type */
muster_history_ask muster_ask_trial;    /* whom drains would have taken, and how often a check is wrong */
muster_history_ask muster_ask_diff;     /* parts whose values changed at filter.since by more than their noise */

/* "2026-11-20", "2026-11-20T12:00:00Z", "36h", "7d" or "4w" before now. -1 with err (MUSTER_EUSAGE). */
int muster_history_since(const char *text, int64_t now, const char *what, int64_t *ret, struct muster_error *err);

/* ---- what several answers have in common; cells.c ---- */

struct muster_value muster_cell_text(const char *text); /* null of NULL */
struct muster_value muster_cell_day(struct muster_arena *arena, int64_t time);
/* Four digits are enough for a value that scatters. */
struct muster_value muster_cell_rounded(double value);
/* A note of which reports an answer is, when it is not of all. */
void muster_cell_note_use(struct muster_table *table, const struct muster_history_use *use);

/* Where the values of a series (timeline.h) are from: columns, and their cells. */
#define MUSTER_SERIES_COLUMNS                                                                                          \
	{ "machine_type", "machine type" }, { "profile", "profile" }, { "node", "node" },                              \
	{                                                                                                              \
		"part", "part"                                                                                         \
	}
#define MUSTER_SERIES_CELLS(series)                                                                                    \
	muster_cell_text((series)->machine_type), muster_string((series)->profile),                                    \
		muster_string((series)->node ? (series)->node : "(job)"), muster_cell_text((series)->part)

#endif

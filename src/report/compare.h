/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - compare two evaluated runs of the same machines, before and after a change
 *
 * Pure: no I/O. Nodes are matched by name, the ranks of a node by the UUID of their GPU or else its bus id, samples by
 * metric and labels. Metrics that drift (temperatures, clocks) are not compared; a value is worse only beyond its
 * variation.
 */
#ifndef MUSTER_REPORT_COMPARE_H
#define MUSTER_REPORT_COMPARE_H

#include "expect/operators.h"
#include "muster/report.h"

enum muster_change_kind { MUSTER_CHANGE_WORSE = 0, MUSTER_CHANGE_BETTER, MUSTER_CHANGE_CHANGED, MUSTER_CHANGE_COUNT };

enum muster_change_about {
	MUSTER_ABOUT_FIGURE = 0, /* a metric of which more, or less, is better */
	MUSTER_ABOUT_FACT,       /* a version, the inventory, a setting */
	MUSTER_ABOUT_JUDGEMENT,  /* a check that did not fail before and does now, or the other way */
	MUSTER_ABOUT_PRESENCE,   /* a node or a rank that only one of the runs has */
	MUSTER_ABOUT_COUNT
};

/* Where the variation of a value is known from. */
enum muster_noise_from {
	MUSTER_NOISE_FROM_ASSUMPTION = 0,
	MUSTER_NOISE_FROM_REPEATS,
	MUSTER_NOISE_FROM_BASELINE,
	MUSTER_NOISE_FROM_COUNT
};

struct muster_change {
	enum muster_change_kind kind;
	enum muster_change_about about;
	const char *what; /* the metric's name, the check's id, "node" or "rank" */
	const char *node; /* NULL: the whole job */
	int rank;         /* in the run after, or before where it is no more; -1: not one rank */
	const char *gpu, *port;
	int gpu_index; /* of gpu; -1: not known */
	const struct muster_label *labels;
	size_t label_count;
	struct muster_value before, after;        /* null: could not be had, or was not there */
	const char *before_reason, *after_reason; /* why it is null; else NULL */
	const char *unit;                         /* "" for none */
	double share;                             /* (after - before) / before; 0 where that says nothing */
	double noise;                             /* as a share; 0 of what does not scatter */
	enum muster_noise_from noise_from;
};

struct muster_comparison {
	const char *incomparable;      /* NULL, or why the two cannot be compared; the rest is then empty */
	struct muster_change *changes; /* by kind, then in the order of the run */
	size_t count[MUSTER_CHANGE_COUNT], same;
	size_t change_count, change_room;
	const char *note; /* NULL, or what was not compared */
};

/* All that compare points to must outlive ret. */
void muster_compare(
	const struct muster_report *before, const struct muster_report *after, struct muster_comparison *ret);

/* What earlier runs measured of a metric, of the samples with all these labels: an after-value differs if it is further
 * from the median than the share of the median and so many times the MAD. */
struct muster_learned_value {
	const struct muster_metric *metric;
	const struct muster_label *where;
	size_t where_count;
	struct muster_baseline baseline;
	double share, mads;
};
/* The baselines of the expectations that apply to the run; *ret is the arena's. */
size_t muster_learned_of(const struct muster_expect *expect, const struct muster_report *after,
	struct muster_arena *arena, struct muster_learned_value **ret);
/* The same comparison without a run from before: before is the median that was learned. */
void muster_compare_learned(const struct muster_learned_value *learned, size_t count, const struct muster_report *after,
	struct muster_comparison *ret);

void muster_comparison_done(struct muster_comparison *comparison);

extern const char *const muster_change_kind_names[MUSTER_CHANGE_COUNT]; /* "worse", "better", "changed" */
extern const char *const muster_change_about_names[MUSTER_ABOUT_COUNT]; /* "figure", "fact", "judgement", "presence" */
const char *muster_comparison_verdict(const struct muster_comparison *comparison); /* "worse", "not_worse",
										    * "not_comparable" */

/* before and after are the names of the files. The report before is NULL for a comparison with what was learned. */
struct muster_layout;
void muster_comparison_print_text(const struct muster_comparison *comparison, const char *before, const char *after,
	const struct muster_layout *layout, FILE *out);
void muster_comparison_print_json(const struct muster_comparison *comparison, const struct muster_report *before,
	const char *before_path, const struct muster_report *after, const char *after_path, FILE *out);

#endif

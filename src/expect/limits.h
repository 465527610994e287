/* limits.h - operators that hold a number against limits, the other ranks, or what earlier runs measured on this
 * machine type; rows of operators.c */
#ifndef MUSTER_EXPECT_LIMITS_H
#define MUSTER_EXPECT_LIMITS_H

#include "expect/operators.h"
#include "json/object.h"

/* What is compared: the value, or with share_of its share of the limit. */
double muster_question_measured(const struct muster_question *q);
/* A value in words, with the unit of the check's metric. */
const char *muster_question_text(const struct muster_question *q, struct muster_value value);

/* limits.c: min, max, warn_below, warn_above */
muster_field_read_fn muster_limit_parse, muster_limit_warn_below_lint, muster_limit_warn_above_lint;
muster_beside_fn muster_limit_min_beside;
muster_judge_fn muster_limit_min_judge, muster_limit_max_judge;
muster_words_fn muster_limits_describe; /* "at least 21 GB/s (warning below 24)" */

/* -1 for a struct muster_value that min and max refuse. */
muster_field_read_fn muster_limits_outside_lint;

/* min_of_median, max_of_median */
muster_field_read_fn muster_median_min_parse, muster_median_max_parse;
muster_judge_fn muster_median_min_judge, muster_median_max_judge;
muster_words_fn muster_medians_describe; /* "at least 85 % of the run's median 25.9, 22" */

/* outlier.c: {"z": 3.5, "share": 0.08} */
muster_field_read_fn muster_outlier_parse;
muster_judge_fn muster_outlier_judge;
muster_words_fn muster_outlier_stand, muster_outlier_describe;

/* slower.c: slower_than_peers, {"fail": 0.1, "mad": 3, "warn": 0.05}. A time is slower when it is higher, any other
 * number when it is lower. */
muster_field_read_fn muster_slower_parse, muster_slower_lint;
muster_judge_fn muster_slower_judge;
muster_words_fn muster_slower_describe;

/* baseline.c: min_of_baseline and warn_of_baseline allow a share of the learned median, max_mad a multiple of the
 * learned MAD: a value is worse than the baseline only by more than both. */
extern const struct muster_object_type muster_baseline_type; /* struct muster_baseline */
muster_field_read_fn muster_baseline_share_parse, muster_baseline_mad_parse, muster_baseline_warn_lint;
muster_beside_fn muster_baseline_beside;
muster_judge_fn muster_baseline_min_judge, muster_baseline_mad_judge;
muster_words_fn muster_baseline_stand, muster_baseline_describe;

#endif

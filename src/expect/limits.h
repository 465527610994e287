/* limits.h - operators that hold a number against limits, or against the other ranks; rows of operators.c */
#ifndef MUSTER_EXPECT_LIMITS_H
#define MUSTER_EXPECT_LIMITS_H

#include "expect/operators.h"
#include "json/object.h"

/* What is compared: the value, or with share_of its share of the limit. */
double muster_question_measured(const struct muster_question *q);

/* limits.c: min, max, warn_below, warn_above */
muster_field_read_fn muster_limit_parse, muster_limit_warn_below_lint, muster_limit_warn_above_lint;
int muster_limit_min_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *min);
enum muster_operator_answer muster_limit_min_judge(const struct muster_question *q);
enum muster_operator_answer muster_limit_max_judge(const struct muster_question *q);
enum muster_operator_answer muster_limit_warn_below_judge(const struct muster_question *q);
enum muster_operator_answer muster_limit_warn_above_judge(const struct muster_question *q);
const char *muster_limits_describe(const struct muster_question *q); /* "at least 21 GB/s (warning below 24)" */

/* -1 for a struct muster_value that min and max refuse. */
muster_field_read_fn muster_limits_outside_lint;

/* min_of_median, max_of_median */
muster_field_read_fn muster_median_min_parse, muster_median_max_parse;
enum muster_operator_answer muster_median_min_judge(const struct muster_question *q);
enum muster_operator_answer muster_median_max_judge(const struct muster_question *q);
const char *muster_medians_describe(const struct muster_question *q); /* "at least 85 % of the run's median 25.9, 22" */

/* outlier.c: {"z": 3.5, "share": 0.08} */
#define MUSTER_OUTLIER_PEERS 8 /* others that are needed; at_least of the check says another number */
muster_field_read_fn muster_outlier_parse;
enum muster_operator_answer muster_outlier_judge(const struct muster_question *q);
const char *muster_outlier_stand(const struct muster_question *q);
const char *muster_outlier_describe(const struct muster_question *q);

/* slower.c: slower_than_peers, {"fail": 0.1, "mad": 3, "warn": 0.05}. A time is slower when it is higher, any other
 * number when it is lower. */
muster_field_read_fn muster_slower_parse, muster_slower_lint;
enum muster_operator_answer muster_slower_judge(const struct muster_question *q);
const char *muster_slower_describe(const struct muster_question *q);

#endif

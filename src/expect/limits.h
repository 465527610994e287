/* limits.h - operators that hold a number against limits; rows of operators.c */
#ifndef MUSTER_EXPECT_LIMITS_H
#define MUSTER_EXPECT_LIMITS_H

#include "expect/operators.h"
#include "json/object.h"

/* min, max, warn_below, warn_above */
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

#endif

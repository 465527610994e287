/* limits.h - operators that hold a number against limits; rows of operators.c */
#ifndef MUSTER_EXPECT_LIMITS_H
#define MUSTER_EXPECT_LIMITS_H

#include "expect/operators.h"

/* min, max, warn_below, warn_above */
int muster_limit_parse(struct muster_expect_parser *p, struct muster_operand *operand, const struct muster_json *json);
int muster_limit_min_beside(struct muster_expect_parser *p, const struct muster_operand *min);
int muster_limit_warn_below_lint(struct muster_expect_parser *p, const struct muster_operand *operand);
int muster_limit_warn_above_lint(struct muster_expect_parser *p, const struct muster_operand *operand);
bool muster_limit_lower_judge(const struct muster_question *q);
bool muster_limit_upper_judge(const struct muster_question *q);
const char *muster_limits_describe(const struct muster_question *q); /* "at least 21 GB/s (warning below 24)" */

/* Complain of a value that min and max refuse. */
int muster_limits_outside_lint(struct muster_expect_parser *p, struct muster_value value);

/* min_of_median, max_of_median */
int muster_median_min_parse(
	struct muster_expect_parser *p, struct muster_operand *operand, const struct muster_json *json);
int muster_median_max_parse(
	struct muster_expect_parser *p, struct muster_operand *operand, const struct muster_json *json);
bool muster_median_min_judge(const struct muster_question *q);
bool muster_median_max_judge(const struct muster_question *q);
const char *muster_medians_describe(const struct muster_question *q); /* "at least 85 % of the run's median 25.9, 22" */

#endif

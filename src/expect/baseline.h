/* baseline.h - a number compared with what earlier runs measured on this machine type; rows of operators.c
 *
 * min_of_baseline and warn_of_baseline allow a share of the learned median, max_mad a multiple of the learned MAD: a
 * value is worse than the baseline only by more than both.
 */
#ifndef MUSTER_EXPECT_BASELINE_H
#define MUSTER_EXPECT_BASELINE_H

#include "expect/operators.h"
#include "json/object.h"

extern const struct muster_object_type muster_baseline_type; /* struct muster_baseline */

muster_field_read_fn muster_baseline_share_parse, muster_baseline_mad_parse, muster_baseline_warn_lint;
int muster_baseline_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *operand);
enum muster_operator_answer muster_baseline_min_judge(const struct muster_question *q);
enum muster_operator_answer muster_baseline_warn_judge(const struct muster_question *q);
enum muster_operator_answer muster_baseline_mad_judge(const struct muster_question *q);
const char *muster_baseline_stand(const struct muster_question *q);
const char *muster_baseline_describe(const struct muster_question *q);

#endif

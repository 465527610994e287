/* outlier.h - outlier: a speed that is far below those of the other GPUs of the run; a row of operators.c */
#ifndef MUSTER_EXPECT_OUTLIER_H
#define MUSTER_EXPECT_OUTLIER_H

#include "expect/operators.h"
#include "json/object.h"

#define MUSTER_OUTLIER_PEERS 8 /* others that are needed; at_least of the check says another number */

/* {"z": 3.5, "share": 0.08} */
muster_field_read_fn muster_outlier_parse;
enum muster_operator_answer muster_outlier_judge(const struct muster_question *q);
const char *muster_outlier_stand(const struct muster_question *q);
const char *muster_outlier_describe(const struct muster_question *q);

#endif

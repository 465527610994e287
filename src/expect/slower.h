/* slower.h - slower_than_peers: a number compared with the median of the other ranks; a row of operators.c */
#ifndef MUSTER_EXPECT_SLOWER_H
#define MUSTER_EXPECT_SLOWER_H

#include "expect/operators.h"
#include "json/object.h"

/* {"fail": 0.1, "mad": 3, "warn": 0.05}. A time is slower when it is higher, any other number when it is lower. */
muster_field_read_fn muster_slower_parse, muster_slower_lint;
enum muster_operator_answer muster_slower_judge(const struct muster_question *q);
const char *muster_slower_describe(const struct muster_question *q);

#endif

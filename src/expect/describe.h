/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - values, expectations, short lists of ranks and nodes as people read them; all strings are the arena's */
#ifndef MUSTER_EXPECT_DESCRIBE_H
#define MUSTER_EXPECT_DESCRIBE_H

#include "expect/operators.h"

struct muster_run;

#define MUSTER_LIST_MOST 12 /* parts of a list, then "and N more" */

const char *muster_describe_value(struct muster_value value, struct muster_arena *arena);
const char *muster_describe_with_unit(struct muster_value value, const char *unit, struct muster_arena *arena);
/* others: of a check that compares with all values; NULL when they are not known yet */
const char *muster_describe_expected(
	const struct muster_check *check, const struct muster_others *others, struct muster_arena *arena);
/* Which samples it is about: " where bytes 8589934592, limit's path NVLink"; "" for all. */
const char *muster_describe_where(const struct muster_check *check, struct muster_arena *arena);
/* What a value that is not as expected makes of the check: "fail; skipped if it cannot be measured". */
const char *muster_describe_otherwise(const struct muster_check *check, struct muster_arena *arena);
/* The runs that a check is for: "2 nodes, profile standard or full"; "" for all. */
const char *muster_describe_runs(const struct muster_check *check, struct muster_arena *arena);
/* Why `when` is not fulfilled by a run that spans so many NVLink domains; NULL when it is. */
const char *muster_describe_when(
	const struct muster_check *check, const struct muster_run *run, size_t domains, struct muster_arena *arena);
const char *muster_describe_ranks(const int *ranks, size_t count, struct muster_arena *arena); /* "0-7,9" */
const char *muster_describe_nodes(
	const char *const *names, size_t count, struct muster_arena *arena); /* "sim-[1-4,7]" */

/* Where the expected value was seen, for people: "8 x H100 SXM: 2 nodes, 16 GPUs, NCCL 2.18 (where it was published)";
 * NULL: that is not said. */
const char *muster_describe_measured_on(const struct muster_check *check, struct muster_arena *arena);

#endif

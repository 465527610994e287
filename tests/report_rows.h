/* SPDX-License-Identifier: Apache-2.0 */
/* report_rows.h - findings of a report and tallies of its checks, a row each; other fields may follow
 *
 *	FINDING(FAIL, "copy.h2d", "sim-1", 4, "at least 21 GB/s", "11.2", "GB/s", .gpu = "000b:00:00.0", .gpu_index = 4)
 */
#ifndef MUSTER_TESTS_REPORT_ROWS_H
#define MUSTER_TESTS_REPORT_ROWS_H

/* The last one is the unit. A rank of -1: it is about a whole node, or the whole job. */
#define FINDING(status_, check_, node_, rank_, expected_, observed_, ...)                                              \
	{                                                                                                              \
		.status = MUSTER_##status_, .check = check_, .node = node_, .rank = rank_, .expected = expected_,      \
		.observed = observed_, .unit = __VA_ARGS__                                                             \
	}

/* The last one is what is expected. */
#define TALLY(check_, metric_, probe_, unit_, ...)                                                                     \
	{                                                                                                              \
		.check = check_, .metric = metric_, .probe = probe_, .unit = unit_, .expected = __VA_ARGS__            \
	}

#endif

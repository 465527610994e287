/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h - a run and expectations become findings and a verdict; implemented by src/eval/evaluate.c, a pure
 * function
 */
#ifndef MUSTER_EVALUATE_H
#define MUSTER_EVALUATE_H

#include "muster/expect.h"
#include "muster/finding.h"

struct muster_rank;
struct muster_run;

struct muster_report {
	struct muster_arena *arena;
	const struct muster_run *run; /* borrowed */
	const char *sku, *sku_origin;
	size_t domains; /* NVLink domains that the run's GPUs span */
	enum muster_strictness strict;
	bool observe;
	const char *unwritten;           /* NULL, or why the JSON report that was asked for could not be written */
	enum muster_status verdict;      /* PASS, FAIL or INCONCLUSIVE */
	struct muster_finding *findings; /* worst first, then by node, rank, check */
	size_t finding_count;
	struct muster_tally *tallies; /* one for each check, in the expectations' order */
	size_t tally_count;
	size_t count[MUSTER_STATUS_COUNT]; /* of all results, passes included */
};

/* Evaluate the run. No I/O, no clock. The report borrows run; expect may be freed afterwards. With expect NULL the
 * machine type is unknown: only probes and ranks are evaluated, and the verdict is inconclusive or fail. */
void muster_evaluate(const struct muster_run *run, const struct muster_expect *expect, enum muster_strictness strict,
	struct muster_report *ret);
void muster_report_done(struct muster_report *report);

/* The tally of a check; NULL when the report has none: it is no check of the expectations. */
const struct muster_tally *muster_report_tally(const struct muster_report *report, const char *check);

/* How the rank's GPU is shared on purpose: "asked" (--shared), "mps", "shard", "mig"; NULL: it is not, or not known. */
const char *muster_rank_sharing(const struct muster_rank *rank);
/* The next sample that names other programs on the rank's GPU; NULL: there is none. *at is 0 at first. */
const struct muster_sample *muster_rank_users(const struct muster_rank *rank, size_t *at);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* compare_match.h - two evaluated runs while compare.c and compare_judgements.c compare them
 *
 * In this order: whether the runs can be compared at all; which metrics each of them has anywhere, so that a sample
 * that is missing in one place differs from a metric that was not measured; the job's samples; each node that both
 * have, its ranks and GPUs; findings last, since one that a change of its metric explains is not a second change;
 * sorting.
 */
#ifndef MUSTER_REPORT_COMPARE_MATCH_H
#define MUSTER_REPORT_COMPARE_MATCH_H

#include "report/compare.h"

struct muster_match {
	const struct muster_report *before, *after;
	struct muster_comparison *to;
	bool *known_before, *known_after; /* by the metric's place in the catalogue: has any sample */
	/* The name after of the only node, where each of the runs has one node: findings before get it, too. Else
	 * NULL. */
	const char *alias;
	/* where the samples at hand belong to */
	const char *node;
	const struct muster_node *gpus_of; /* the node that says which GPU a bus id is; NULL: none */
	int rank;
};

/* A change about a metric at the place that m has; either sample may be NULL: it was not there. The kind is CHANGED and
 * share and noise are 0: the caller sets what it knows better. */
struct muster_change muster_match_begin(
	const struct muster_match *m, const struct muster_sample *before, const struct muster_sample *after);
void muster_match_add(struct muster_match *m, struct muster_change change);

/* compare_judgements.c: checks that fail, warn or are blocked in one run only. Called when all changes of metrics are
 * there: a finding about one of them that is as bad is not reported again. */
void muster_compare_judgements(struct muster_match *m);

/* By kind, and within one in the order in which they were found. */
void muster_comparison_sort(struct muster_comparison *to);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* node_selection.h - select the good, bad, inconclusive and missing nodes of an evaluated run
 *
 * Pure: only from the findings of a report. A node is bad when a failed finding names it, inconclusive when no check
 * failed there and a required check could not be evaluated, missing when it was expected and gave no result, and good
 * otherwise. With a failed or inconclusive finding about the whole job no node is good. Three exceptions: in a run of
 * one node the finding belongs to this node; when ring.suspect names a node, findings about the all-reduce belong to
 * that node; and when slow exchanges fail with the name of a node, so do the bandwidths of collectives.
 *
 * The steps, each of which needs the one before: the nodes of the run and the expected ones, sorted; which nodes the
 * localisation suspects; each finding to the node that it names or that is suspected for it; and last, because a later
 * finding may still name a node, whether any node may be called good.
 */
#ifndef MUSTER_SLURM_NODE_SELECTION_H
#define MUSTER_SLURM_NODE_SELECTION_H

#include "muster/evaluate.h"

enum muster_standing {
	MUSTER_STANDING_GOOD = 0,
	MUSTER_STANDING_INCONCLUSIVE,
	MUSTER_STANDING_BAD,
	MUSTER_STANDING_MISSING,
	MUSTER_STANDING_COUNT
};

struct muster_node_selection_entry {
	const char *name; /* the report's or the caller's */
	enum muster_standing standing;
	const struct muster_finding *why;   /* the first of the worst that names it; NULL when there is none */
	const struct muster_finding *fault; /* the first failed one that is about the machine, and not about how the job
					     * was launched; NULL when there is none */
	const struct muster_finding **failures; /* of these, in the report's order */
	size_t faults;                          /* how many of these there are */
	/* What to do, the strongest code of the worst findings that name the node, warnings included; "none". */
	const char *action_code;
	int weight; /* of the status of these findings: muster_status_weight */
};

struct muster_node_selection {
	struct muster_node_selection_entry *entries; /* sorted by name, each once */
	size_t count;
	bool none_good; /* no node can be called good, whatever else is known of it ... */
	const struct muster_finding
		*job_finding;  /* ... because of this one about the whole job; NULL: of the verdict */
	size_t unplaced_ranks; /* missing ranks whose node is unknown */
};

/* expected: names of nodes that should be in the run, or NULL. The selection borrows all names and findings. */
void muster_node_selection_make(const struct muster_report *report, const char *const *expected, size_t expected_count,
	struct muster_node_selection *ret);
void muster_node_selection_done(struct muster_node_selection *nodes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* node_status.h - how each node came out of an evaluated report
 *
 * Pure. FAIL: a failed finding names the node, or none of its ranks gave a result. INCONCLUSIVE: a required check could
 * not be evaluated there. WARN: a check warned there. PASS: none of these. A finding about the whole job belongs to no
 * node, except in a run of one node, and where the localisation names a node for it (slurm/node_selection.h).
 */
#ifndef MUSTER_HISTORY_NODE_STATUS_H
#define MUSTER_HISTORY_NODE_STATUS_H

#include "muster/evaluate.h"

struct muster_node_status {
	const char *name; /* the report's */
	enum muster_status status;
};

/* Sorted by name, each once; malloc'd. */
struct muster_node_status *muster_node_statuses(const struct muster_report *report, size_t *ret_count);

#endif

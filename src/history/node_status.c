/* SPDX-License-Identifier: Apache-2.0 */
/* node_status.c - how each node came out of an evaluated report
 *
 * The verdict of a node is that of its entry in a node selection (slurm/node_selection.h), for which a history asks
 * without expected nodes; then warnings are added, which a node selection does not count:
 *
 *    standing        status
 *    bad, missing    FAIL
 *    inconclusive    INCONCLUSIVE, or PASS where only a finding of the whole job makes it so (status_of)
 *    good            PASS, or WARN with a warning at the node
 */
#include "history/node_status.h"

#include "muster/arena.h"
#include "slurm/node_selection.h"
#include "util/array.h"

#include <stdlib.h>

/* The status of an entry without its warnings. An inconclusive node without a finding of its own is inconclusive only
 * because no node of the run can be called good. When a finding of the whole job is the reason, that finding says
 * nothing about this node; without any finding nothing was evaluated. */
static enum muster_status status_of(
	const struct muster_node_selection *selection, const struct muster_node_selection_entry *entry)
{
	switch (entry->standing) {
	case MUSTER_STANDING_BAD:
	case MUSTER_STANDING_MISSING: return MUSTER_FAIL;
	case MUSTER_STANDING_INCONCLUSIVE:
		return entry->why || !selection->job_finding ? MUSTER_INCONCLUSIVE : MUSTER_PASS;
	default: return MUSTER_PASS;
	}
}

struct muster_node_status *muster_node_statuses(const struct muster_report *report, size_t *ret_count)
{
	struct muster_node_selection selection;
	muster_node_selection_make(report, NULL, 0, &selection);
	struct muster_node_status *statuses = muster_calloc(selection.count + 1, sizeof *statuses);
	for (size_t i = 0; i < selection.count; i++)
		statuses[i] = (struct muster_node_status){ selection.entries[i].name,
			status_of(&selection, &selection.entries[i]) };
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		const struct muster_node_status wanted = { .name = finding->node };
		if (finding->status != MUSTER_WARN || (!finding->node && selection.count != 1))
			continue;
		struct muster_node_status *found =
			finding->node ? bsearch(&wanted, statuses, selection.count, sizeof wanted, muster_by_text)
				      : statuses;
		if (found && found->status == MUSTER_PASS)
			found->status = MUSTER_WARN;
	}
	*ret_count = selection.count;
	muster_node_selection_done(&selection);
	return statuses;
}

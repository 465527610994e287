/* SPDX-License-Identifier: Apache-2.0 */
/* node_status.c - how each node came out of an evaluated report */
#include "history/node_status.h"

#include "muster/arena.h"
#include "slurm/node_selection.h"
#include "util/array.h"

#include <stdlib.h>

/* Without a finding of its own a node is what the verdict says only when no finding explains the verdict: then nothing
 * was evaluated. */
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

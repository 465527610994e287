/* fault_gone.h - whether a report proves that the fault for which a node was drained is gone
 *
 * Pure: only from the report and the reason.
 */
#ifndef MUSTER_SLURM_FAULT_GONE_H
#define MUSTER_SLURM_FAULT_GONE_H

#include "slurm/drain.h"

/* True when the check that the reason names was evaluated on the node and passed there. False with a sentence in err
 * when the check failed, or when this run could not or did not evaluate it: a fault that only several nodes together
 * show is not gone when one of them passes alone. */
bool muster_fault_is_gone(const struct muster_report *report, const char *node,
	const struct muster_drain_reason *reason, struct muster_error *err);

#endif

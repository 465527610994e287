/* derive.h - values that no rank can measure: they follow from what several nodes say */
#ifndef MUSTER_EVAL_DERIVE_H
#define MUSTER_EVAL_DERIVE_H

#include "muster/run.h"

/* Add nccl.allreduce_limit_gbps for each ring that was measured, null with a reason where it is not known. The step
 * between the last sample of a run and its judgement; a run that has the metric already stays as it is. No I/O. */
void muster_run_derive(struct muster_run *run);

#endif

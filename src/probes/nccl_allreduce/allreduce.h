/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce.h - the parts of the probe nccl_allreduce */
#ifndef MUSTER_PROBES_NCCL_ALLREDUCE_ALLREDUCE_H
#define MUSTER_PROBES_NCCL_ALLREDUCE_ALLREDUCE_H

#include "probes/nccl/session.h"

/* What was measured for one size; equal on all ranks: the time of one all-reduce in the best window, and how much of
 * the session's time has passed. */
struct muster_allreduce_timing {
	double slowest_us, elapsed_ms;
};

/* Every size that all ranks have room and time for. */
int muster_allreduce_sweep(struct muster_nccl_session *s, struct muster_error *err);
/* The windows of a later visit, of the sizes that the last sweep has measured. */
int muster_allreduce_windows(struct muster_nccl_session *s, struct muster_error *err);

/* What NCCL's log says about the way that the ring's data took; of a ring that failed only what is there. */
void muster_allreduce_log_emit(struct muster_probe_ctx *ctx, const struct muster_ring *ring, bool failed);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_split.c - the communicators of near ranks, on which they exchange (probes/nccl/roster.c)
 *
 * A probe of its own, before the exchanges, so that a split that hangs or fails has its own deadline and its own name
 * in the report. All ranks of the ring take part, those with nothing to split as well.
 */
#include "probes/metrics.h"
#include "probes/nccl/session.h"

static const struct muster_metric metrics[] = {
	RANK_NUMBER("rank.nccl_split_ms", MS, DRIFTS,
		"time to make the communicator of the ranks of one node or NVLink domain; 0 where there is nothing to "
		"split"),
};

static int traffic(struct muster_probe_ctx *ctx, const struct muster_traffic *round, struct muster_error *err)
{
	struct muster_nccl_session s;
	double ms;
	if (muster_nccl_session_standing(ctx, round->timeout_ms, &s, err) < 0)
		return -1;
	if (muster_nccl_near_make(&s, &ms, err) < 0)
		return muster_nccl_session_fail(&s, err);
	if (s.resources->nccl->ncclCommSplit)
		muster_emit_for(ctx, "rank.nccl_split_ms", NULL, muster_number(ms));
	else
		muster_emit_null_for(ctx, "rank.nccl_split_ms", NULL, "NCCL has no ncclCommSplit before 2.18");
	return 0;
}

const struct muster_probe muster_probe_nccl_split = {
	.name = "nccl_split",
	.summary = "a communicator of each node, or NVLink domain, for exchanges within it",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 30000,
	.order = 71,
	METRICS(metrics),
	.traffic = traffic,
	.traffic_shape = MUSTER_TRAFFIC_ALL,
};

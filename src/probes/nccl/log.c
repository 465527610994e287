/* log.c - which part of NCCL's log is about the present ring, and how it ends */
#include "probes/nccl/session.h"

#include "vendor/nccl_log.h"

static size_t ring_at; /* where the log of this ring begins */

size_t muster_nccl_log_of_ring(size_t length)
{
	return ring_at < length ? ring_at : 0;
}

void muster_nccl_log_tell_tail(struct muster_probe_ctx *ctx)
{
	char tail[MUSTER_ERROR_TEXT_MAX * 5 / 8];
	size_t length;
	const char *text = muster_nccl_log_read(&length, NULL);
	if (!text)
		return;
	size_t from = muster_nccl_log_of_ring(length);
	if (muster_nccl_log_tail(text + from, length - from, tail, sizeof tail)[0])
		muster_evidence(ctx, "NCCL's log ends: %s", tail);
}

void muster_nccl_log_end_ring(void)
{
	muster_nccl_log_read(&ring_at, NULL);
}

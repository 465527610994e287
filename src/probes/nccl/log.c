/* log.c - which part of NCCL's log is about the present ring, and how it ends */
#include "probes/nccl/session.h"

#include "vendor/nccl_log.h"

#include <stdlib.h>

static size_t ring_at; /* where the log of this ring begins */

size_t muster_nccl_log_of_ring(size_t length)
{
	return ring_at < length ? ring_at : 0;
}

void muster_nccl_log_tell_tail(struct muster_probe_ctx *ctx)
{
	char *text, tail[MUSTER_ERROR_TEXT_MAX * 5 / 8];
	size_t length;
	if (muster_nccl_log_read(&text, &length, NULL) < 0)
		return;
	size_t from = muster_nccl_log_of_ring(length);
	if (muster_nccl_log_tail(text + from, length - from, tail, sizeof tail)[0])
		muster_evidence(ctx, "NCCL's log ends: %s", tail);
	free(text);
}

void muster_nccl_log_end_ring(void)
{
	char *text;
	if (muster_nccl_log_read(&text, &ring_at, NULL) == 0)
		free(text);
}

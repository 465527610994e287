/* log.c - what NCCL says in its log: the way that the data took, and why it did not work */
#include "probes/nccl_allreduce/allreduce.h"

#include "vendor/nccl_log.h"

#include <stdlib.h>
#include <string.h>

static size_t ring_at; /* where the log of this ring begins */

void muster_allreduce_log_emit(struct muster_probe_ctx *ctx, int ranks)
{
	struct muster_error err = { 0 };
	struct muster_nccl_log log = { 0 };
	const char *reason = ranks == 1 ? "an all-reduce of one rank has no channels" : "NCCL's log names no channel";
	char *text = NULL;
	size_t length = 0;
	if (muster_nccl_log_read(&text, &length, &err) < 0) {
		reason = err.text;
	} else {
		/* the devices are named once in a process, the channels by each ring */
		struct muster_nccl_log whole = { 0 };
		size_t from = ring_at < length ? ring_at : 0;
		muster_nccl_log_parse(text, length, &whole);
		muster_nccl_log_parse(text + from, length - from, &log);
		memcpy(log.devices, whole.devices, sizeof log.devices);
	}
	free(text);
	muster_emit_result(
		ctx, "rank.nccl_transport", NULL, log.transports[0] ? 0 : -1, muster_string(log.transports), reason);
	muster_emit_result(ctx, "rank.nccl_hcas", NULL, log.devices[0] ? 0 : -1, muster_string(log.devices), reason);
	muster_emit_result(ctx, "rank.nccl_gdr", NULL, log.network_channels > 0 ? 0 : -1,
		muster_boolean(log.gdr_channels == log.network_channels),
		log.transports[0] ? "no channel uses a network" : reason);
}

void muster_allreduce_log_tell_tail(struct muster_probe_ctx *ctx)
{
	char *text, tail[MUSTER_ERROR_TEXT_MAX * 5 / 8];
	size_t length;
	if (muster_nccl_log_read(&text, &length, NULL) < 0)
		return;
	size_t from = ring_at < length ? ring_at : 0;
	if (muster_nccl_log_tail(text + from, length - from, tail, sizeof tail)[0])
		muster_evidence(ctx, "NCCL's log ends: %s", tail);
	free(text);
}

void muster_allreduce_log_end_ring(void)
{
	char *text;
	if (muster_nccl_log_read(&text, &ring_at, NULL) == 0)
		free(text);
}

/* log.c - what NCCL says in its log of the way that the ring's data took */
#include "probes/nccl_allreduce/allreduce.h"

#include "vendor/nccl_log.h"

#include <stdlib.h>
#include <string.h>

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
		size_t from = muster_nccl_log_of_ring(length);
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

/* probe_context.h - a probe's context for fuzzers: no worker, no pipe; it checks each sample as a worker would */
#ifndef MUSTER_FUZZ_PROBE_CONTEXT_H
#define MUSTER_FUZZ_PROBE_CONTEXT_H

#include "muster/probe.h"

struct muster_probe_ctx {
	const struct muster_probe *probe;
	struct muster_probe_env env; /* one rank of one, leader, without a GPU; root is the fuzzer's to set */
	struct muster_gpu gpu;
	size_t samples;
};

void context_init(struct muster_probe_ctx *ctx, const char *root);

/* Run one of the probe's callbacks. Returns how many samples came. Whatever the probe reads, a sample has its metric's
 * type, a number is finite, a null has a reason, and a failed callback a message. */
size_t context_run(struct muster_probe_ctx *ctx, const struct muster_probe *probe,
	int (*callback)(struct muster_probe_ctx *ctx, struct muster_error *err));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* probe_context.h - a probe's context for fuzzers: no worker, no pipe; its sink looks at each sample and keeps none */
#ifndef MUSTER_FUZZ_PROBE_CONTEXT_H
#define MUSTER_FUZZ_PROBE_CONTEXT_H

#include "probes/context.h"

struct fuzz_context {
	struct muster_probe_ctx ctx; /* env: one rank of one, leader, without a GPU */
	struct muster_gpu gpu;
	size_t samples;
};

void context_init(struct fuzz_context *context, const char *root);

/* Run one of the probe's callbacks. Returns how many samples came. Whatever the probe reads, a sample has its metric's
 * type, a number is finite, a null has a reason, and a failed callback a message. */
size_t context_run(struct fuzz_context *context, const struct muster_probe *probe,
	int (*callback)(struct muster_probe_ctx *ctx, struct muster_error *err));

#endif

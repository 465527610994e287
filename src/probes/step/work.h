/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - the parts of a training step on one GPU: products, all-reduces of gradients, copies from and to the host
 *
 * Each part has streams of its own. The communicator is that of the NCCL session; no call waits without a deadline.
 *
 * One step on the GPU. Streams: compute, NCCL's (of the session), in and out. Arrows are events that another stream
 * waits for:
 *
 *   begin ----> copies_begin ... copies_end (in, out) -------------------+
 *     |                                                                  v
 *     +-> forward, backward products --gradient[w]--> all-reduce w --reduced--> end
 *                         products_done
 *
 * The next step's begin is in the compute stream behind this one's end, so steps do not overlap; only their launches
 * do. compute_ms is begin to products_done, step_ms the end of the step before to this end.
 *
 * Device memory, one allocation: A, B, D (one of each, for all products, since only their time counts), workspace,
 * gradients, two buffers of copies. The contents of A and B are numbers of ordinary size: zeros would need less power
 * than training does.
 */
#ifndef MUSTER_PROBES_STEP_WORK_H
#define MUSTER_PROBES_STEP_WORK_H

#include "probes/gpu/kernels.h"
#include "probes/gpu/products.h"
#include "probes/nccl/session.h"
#include "probes/step/plan.h"
#include "vendor/pinned.h"

#define MUSTER_STEP_COPY_BYTES ((size_t)16 << 20) /* of one copy, each way */
#define MUSTER_STEP_COPIES_MOST 256               /* of a step, each way */

enum muster_step_way { MUSTER_STEP_IN, MUSTER_STEP_OUT, MUSTER_STEP_WAYS };

/* A step that is queued: when it began, and when each part of it was done. */
struct muster_step_slot {
	CUevent begin, products_done, reduced, end, copies_begin[MUSTER_STEP_WAYS], copies_end[MUSTER_STEP_WAYS];
	CUevent gradient[MUSTER_STEP_WEIGHTS];
};
/* One step is queued while another one goes on, so that a GPU need not wait for its host; the third slot has the events
 * of the step before these two, whose end is where step_ms of the next one begins. */
#define MUSTER_STEP_SLOTS 3

struct muster_step_work {
	struct muster_nccl_session *session;
	const struct muster_cuda *cuda;
	CUstream compute, copies[MUSTER_STEP_WAYS];
	CUevent marks[MUSTER_STEP_PRODUCTS + 1]; /* before the products alone, and behind each of them */
	struct muster_step_slot slots[MUSTER_STEP_SLOTS];
	struct muster_product products[MUSTER_STEP_PRODUCTS];
	struct muster_step_shape shapes[MUSTER_STEP_PRODUCTS];
	size_t tokens, tokens_most; /* of the products, 0: none are prepared; that the memory has room for */
	int halvings;               /* how often the gradients are halved (plan.h) */
	size_t copy_count;          /* of a step, each way */
	CUdeviceptr memory, a, b, d, workspace, gradients, host_copies; /* memory: the allocation with all others */
	struct muster_pinned host;                                      /* MUSTER_STEP_COPY_BYTES for each way */
};

/* What one step took, by the GPU's clock. */
struct muster_step_times {
	double step_ms; /* from the end of the step before, and of the first one from its beginning */
	double compute_ms, copy_gbps[MUSTER_STEP_WAYS];
};

/* Memory for at most tokens_most tokens, or as many as it has room for; streams and events. -1 with err, of code
 * MUSTER_ENOTSUPPORTED or MUSTER_ELIB where this GPU cannot take part. Either way to be ended by done. */
int muster_step_work_init(struct muster_step_work *ret, struct muster_nccl_session *session, size_t tokens_most,
	struct muster_error *err);
/* Frees everything, unless a stream is still busy with work that never ended. */
void muster_step_work_done(struct muster_step_work *work);

/* Choose the products for so many tokens, at most tokens_most, and make each once: the first time loads kernels. */
int muster_step_prepare(struct muster_step_work *work, size_t tokens, struct muster_error *err);

/* Each part alone, in milliseconds. Products are launched one after the other, with an event between them. */
int muster_step_products_alone(struct muster_step_work *work, double *ret_ms, struct muster_error *err);
/* All-reduces of `bytes` bytes; of all gradients. Every rank of the ring calls them. */
int muster_step_reduce_alone(struct muster_step_work *work, uint64_t bytes, double *ret_ms, struct muster_error *err);
int muster_step_gradients_alone(struct muster_step_work *work, double *ret_ms, struct muster_error *err);
/* One copy each way, at once: the mean of several. */
int muster_step_copies_alone(struct muster_step_work *work, double *ret_ms, struct muster_error *err);

/* Queue a step, with the events of a slot; wait for the step of a slot, and read its times. before: the slot of the
 * step before; NULL: the step is the first one. */
int muster_step_queue(struct muster_step_work *work, struct muster_step_slot *slot, struct muster_error *err);
int muster_step_collect(struct muster_step_work *work, const struct muster_step_slot *slot,
	const struct muster_step_slot *before, struct muster_step_times *ret, struct muster_error *err);

#endif

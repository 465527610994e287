/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - the parts of a training step on one GPU, each alone and all at once
 *
 * All calls but the waits only queue: products in the stream compute, all-reduces in NCCL's stream (of the session),
 * copies in two streams of their own. What must come after what is said by events (cuStreamWaitEvent), so that the host
 * takes no part in it. The drawing of a step is in work.h.
 *
 * All waits are muster_nccl_wait, which also sees a broken communicator, a cancelled command and the deadline: work in
 * any of the streams may hang on an all-reduce that does not end.
 */
#include "probes/step/work.h"

#define FREE_SHARE 0.8 /* of the memory that is free: NCCL and cuBLASLt may want some more */
#define ALONE_COPIES 4 /* each way */
#define MARKS (MUSTER_STEP_PRODUCTS + 1)
#define SLOT_EVENTS                                                                                                    \
	(MUSTER_STEP_SLOTS * sizeof(struct muster_step_slot) / sizeof(CUevent)) /* slots have nothing else */

/* ---- beginning and end ---- */

/* Where everything lies from `base` on, for so many tokens; returns the bytes that it takes. With base 0 the addresses
 * are of no use, and only the size is wanted. The matrices depend on the number of tokens; workspace, gradients and
 * copies do not. */
static size_t place(struct muster_step_work *work, CUdeviceptr base, size_t tokens)
{
	const struct muster_product_values *values = &muster_product_values[MUSTER_BF16];
	struct muster_step_room room = muster_step_room(tokens, values->from_bytes, values->to_bytes);
	work->a = base;
	work->b = work->a + muster_product_aligned(room.a);
	work->d = work->b + muster_product_aligned(room.b);
	work->workspace = work->d + muster_product_aligned(room.d);
	work->gradients = work->workspace + MUSTER_PRODUCT_WORKSPACE;
	work->host_copies = work->gradients + muster_product_aligned((size_t)muster_step_gradients(0));
	return (size_t)(work->host_copies + MUSTER_STEP_WAYS * MUSTER_STEP_COPY_BYTES - base);
}

/* One allocation for the most tokens that FREE_SHARE of the free memory has room for: tokens_most, or half of that
 * again and again. Another process may take memory meanwhile, so "out of memory" also halves. MUSTER_ENOTSUPPORTED
 * below MUSTER_STEP_TOKENS_LEAST. */
static int take_memory(struct muster_step_work *work, size_t tokens_most, struct muster_error *err)
{
	const struct muster_cuda *cuda = work->cuda;
	size_t free_bytes, total_bytes, tokens = tokens_most;
	if (MUSTER_CUDA(cuda, err, cuMemGetInfo_v2, &free_bytes, &total_bytes) < 0)
		return -1;
	for (; tokens >= MUSTER_STEP_TOKENS_LEAST; tokens /= 2) {
		size_t bytes = place(work, 0, tokens);
		if ((double)bytes > (double)free_bytes * FREE_SHARE)
			continue;
		muster_step(work->session->ctx, "cuMemAlloc_v2 of %zu MiB for a step", bytes >> 20);
		CUresult result = cuda->cuMemAlloc_v2(&work->memory, bytes);
		if (result == CUDA_ERROR_OUT_OF_MEMORY)
			continue;
		if (muster_cuda_check(cuda, result, err, "cuMemAlloc_v2") < 0)
			return -1;
		work->tokens_most = tokens;
		place(work, work->memory, tokens);
		return 0;
	}
	return muster_fail(err, MUSTER_ENOTSUPPORTED,
		"%zu of %zu MiB are free on the GPU, and the matrices of the smallest step need %zu", free_bytes >> 20,
		total_bytes >> 20, place(work, 0, MUSTER_STEP_TOKENS_LEAST) >> 20);
}

/* A and B, with what is between them, are numbers of ordinary size (muster_product_values). Gradients are zeros, since
 * every all-reduce adds up the sums of the one before: other numbers would overflow. */
static int fill(struct muster_step_work *work, struct muster_error *err)
{
	const struct muster_product_values *values = &muster_product_values[MUSTER_BF16];
	const struct muster_pattern contents = { 1, values->and_mask, values->or_mask, 0 };
	const struct muster_kernels *kernels = muster_kernels(work->cuda, err);
	if (!kernels)
		return -1;
	if (muster_kernel_fill(
		    work->cuda, kernels, work->a, (size_t)(work->d - work->a), &contents, work->compute, err) < 0)
		return -1;
	return MUSTER_CUDA(work->cuda, err, cuMemsetD32Async, work->gradients, 0,
		(size_t)(work->host_copies - work->gradients) / sizeof(uint32_t), work->compute);
}

/* What a GPU may lack comes first: library, units, memory. The contents of the matrices are only queued at the end. */
int muster_step_work_init(
	struct muster_step_work *ret, struct muster_nccl_session *session, size_t tokens_most, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(session->ctx);
	const struct muster_cuda *cuda = session->resources->cuda;
	*ret = (struct muster_step_work){ .session = session, .cuda = cuda };
	if (!muster_cublaslt(err) || muster_product_need_units(cuda, env->gpu->cuda_device, MUSTER_BF16, err) < 0 ||
		take_memory(ret, tokens_most, err) < 0)
		return -1;
	muster_step(session->ctx, "cuMemHostRegister_v2 of %zu MiB", MUSTER_STEP_WAYS * MUSTER_STEP_COPY_BYTES >> 20);
	if (muster_pinned_alloc(
		    cuda, MUSTER_STEP_WAYS * MUSTER_STEP_COPY_BYTES, env->root, env->gpu->bus_id, &ret->host, err) < 0)
		return -1;
	CUstream *const streams[] = { &ret->compute, &ret->copies[MUSTER_STEP_IN], &ret->copies[MUSTER_STEP_OUT] };
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (MUSTER_CUDA(cuda, err, cuStreamCreate, streams[i], CU_STREAM_NON_BLOCKING) < 0)
			return -1;
	if (muster_cuda_events_make(cuda, ret->marks, MARKS, err) < 0 ||
		muster_cuda_events_make(cuda, (CUevent *)(void *)ret->slots, SLOT_EVENTS, err) < 0)
		return -1;
	return fill(ret, err);
}

static void forget_products(struct muster_step_work *work)
{
	for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++)
		muster_product_done(&work->products[i]);
	work->tokens = 0;
}

/* Descriptions of products are memory of the host, and are freed in any case. Streams, events and memory of the GPU
 * stay while a stream is busy: freeing them may wait for ever for work that never ends. The process ends with them. */
void muster_step_work_done(struct muster_step_work *work)
{
	const struct muster_cuda *cuda = work->cuda;
	CUstream streams[] = { work->compute, work->copies[MUSTER_STEP_IN], work->copies[MUSTER_STEP_OUT] };
	forget_products(work);
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (streams[i] && cuda->cuStreamQuery(streams[i]) == CUDA_ERROR_NOT_READY)
			return;
	muster_cuda_events_free(cuda, work->marks, MARKS);
	muster_cuda_events_free(cuda, (CUevent *)(void *)work->slots, SLOT_EVENTS);
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (streams[i])
			cuda->cuStreamDestroy_v2(streams[i]);
	if (work->memory)
		cuda->cuMemFree_v2(work->memory);
	muster_pinned_free(cuda, &work->host);
	*work = (struct muster_step_work){ 0 };
}

/* ---- products ---- */

static int record(struct muster_step_work *work, CUevent event, CUstream stream, struct muster_error *err)
{
	return MUSTER_CUDA(work->cuda, err, cuEventRecord, event, stream);
}

static int wait_in(struct muster_step_work *work, CUstream stream, CUevent event, struct muster_error *err)
{
	return MUSTER_CUDA(work->cuda, err, cuStreamWaitEvent, stream, event, 0);
}

static int queue_product(struct muster_step_work *work, size_t i, struct muster_error *err)
{
	return muster_product_queue(&work->products[i], work->a, work->b, work->d, work->workspace, work->compute, err);
}

int muster_step_products_alone(struct muster_step_work *work, double *ret_ms, struct muster_error *err)
{
	if (record(work, work->marks[0], work->compute, err) < 0)
		return -1;
	for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++)
		if (queue_product(work, i, err) < 0 || record(work, work->marks[i + 1], work->compute, err) < 0)
			return -1;
	if (muster_nccl_wait(work->session, work->marks[MUSTER_STEP_PRODUCTS], "products", err) < 0)
		return -1;
	return muster_cuda_worked(work->cuda, work->marks[0], work->marks[MUSTER_STEP_PRODUCTS], ret_ms, err);
}

/* Does nothing for the number of tokens that is prepared already. work->tokens is set only when all products have an
 * algorithm, so that a failure leaves none. */
int muster_step_prepare(struct muster_step_work *work, size_t tokens, struct muster_error *err)
{
	double ms;
	if (work->tokens == tokens)
		return 0;
	forget_products(work);
	muster_step_shapes(tokens, work->shapes);
	muster_step(work->session->ctx, "products of a step of %zu tokens by cuBLASLt", tokens);
	for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++)
		if (muster_product_init(&work->products[i], MUSTER_BF16, work->shapes[i].m, work->shapes[i].n,
			    work->shapes[i].k, err) < 0)
			return -1;
	work->tokens = tokens;
	return muster_step_products_alone(work, &ms, err);
}

/* ---- all-reduces ---- */

/* Queue the all-reduce of one weight's gradient. The gradients lie in work->gradients one behind the other, in the
 * order of the weights, each as short as work->halvings makes it. when: for each weight the event that marks its
 * gradient as made, for which NCCL's stream waits first; NULL: it does not wait. */
static int reduce_gradient(struct muster_step_work *work, int weight, const CUevent *when, struct muster_error *err)
{
	struct muster_nccl_range range = { work->gradients, muster_step_gradient(weight, work->halvings) };
	for (int i = 0; i < weight; i++)
		range.at += muster_step_gradient(i, work->halvings);
	if (when && wait_in(work, work->session->resources->stream, when[weight], err) < 0)
		return -1;
	return muster_nccl_reduce(work->session, &range, err);
}

/* A muster_nccl_operation_fn: the gradients of all weights, from the last weight to the first, as the backward pass
 * makes them. */
static int reduce_gradients(const struct muster_nccl_session *s, void *arg, struct muster_error *err)
{
	struct muster_step_work *work = arg;
	(void)s;
	for (int weight = MUSTER_STEP_WEIGHTS; weight-- > 0;)
		if (reduce_gradient(work, weight, NULL, err) < 0)
			return -1;
	return 0;
}

int muster_step_reduce_alone(struct muster_step_work *work, uint64_t bytes, double *ret_ms, struct muster_error *err)
{
	struct muster_nccl_range range = { work->gradients, bytes };
	double us;
	if (muster_nccl_time_one(work->session, muster_nccl_reduce, &range, "an all-reduce", &us, err) < 0)
		return -1;
	*ret_ms = us / 1e3;
	return 0;
}

int muster_step_gradients_alone(struct muster_step_work *work, double *ret_ms, struct muster_error *err)
{
	double us;
	if (muster_nccl_time_one(work->session, reduce_gradients, work, "the all-reduces of the gradients", &us, err) <
		0)
		return -1;
	*ret_ms = us / 1e3;
	return 0;
}

/* ---- copies ---- */

/* One copy. Each way has a part of both buffers and a stream of its own: the two ways never touch the same bytes. */
static int queue_copy(struct muster_step_work *work, enum muster_step_way way, struct muster_error *err)
{
	void *host = (char *)work->host.data + (size_t)way * MUSTER_STEP_COPY_BYTES;
	CUdeviceptr device = work->host_copies + (CUdeviceptr)way * MUSTER_STEP_COPY_BYTES;
	if (way == MUSTER_STEP_IN)
		return MUSTER_CUDA(
			work->cuda, err, cuMemcpyHtoDAsync_v2, device, host, MUSTER_STEP_COPY_BYTES, work->copies[way]);
	return MUSTER_CUDA(
		work->cuda, err, cuMemcpyDtoHAsync_v2, host, device, MUSTER_STEP_COPY_BYTES, work->copies[way]);
}

/* Both ways at once, queued in turns. ret_ms: of one copy, in the slower way. Uses the events of slot 0, which no step
 * uses yet. */
int muster_step_copies_alone(struct muster_step_work *work, double *ret_ms, struct muster_error *err)
{
	const struct muster_step_slot *slot = &work->slots[0];
	double ms[MUSTER_STEP_WAYS];
	for (size_t i = 0; i <= ALONE_COPIES; i++) /* copy 0 each way warms up: the events are behind it and the last */
		for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++)
			if (queue_copy(work, way, err) < 0 ||
				(i == 0 && record(work, slot->copies_begin[way], work->copies[way], err) < 0) ||
				(i == ALONE_COPIES && record(work, slot->copies_end[way], work->copies[way], err) < 0))
				return -1;
	for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++)
		if (muster_nccl_wait(work->session, slot->copies_end[way], "copies both ways at once", err) < 0 ||
			muster_cuda_worked(work->cuda, slot->copies_begin[way], slot->copies_end[way], &ms[way], err) <
				0)
			return -1;
	*ret_ms = (ms[MUSTER_STEP_IN] > ms[MUSTER_STEP_OUT] ? ms[MUSTER_STEP_IN] : ms[MUSTER_STEP_OUT]) / ALONE_COPIES;
	return 0;
}

/* The copies of one step: both streams wait for the step's begin, record copies_begin, copy work->copy_count times in
 * turns, and record copies_end. */
static int queue_copies(struct muster_step_work *work, const struct muster_step_slot *slot, struct muster_error *err)
{
	for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++)
		if (wait_in(work, work->copies[way], slot->begin, err) < 0 ||
			record(work, slot->copies_begin[way], work->copies[way], err) < 0)
			return -1;
	for (size_t i = 0; i < work->copy_count; i++)
		for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++)
			if (queue_copy(work, way, err) < 0)
				return -1;
	for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++)
		if (record(work, slot->copies_end[way], work->copies[way], err) < 0)
			return -1;
	return 0;
}

/* ---- steps ---- */

/* The products of one step. The gradient of a weight is reduced as soon as the product that makes it is done, while the
 * next products go on. A ring of one rank has nothing to reduce. */
static int queue_products(struct muster_step_work *work, struct muster_step_slot *slot, struct muster_error *err)
{
	for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++) {
		int weight = work->shapes[i].gradient;
		if (queue_product(work, i, err) < 0)
			return -1;
		if (weight < 0 || work->session->ring.ranks == 1)
			continue;
		if (record(work, slot->gradient[weight], work->compute, err) < 0 ||
			reduce_gradient(work, weight, slot->gradient, err) < 0)
			return -1;
	}
	return record(work, slot->products_done, work->compute, err);
}

/* `end` is recorded in the stream of products, behind waits for the last all-reduce and the last copy each way. So the
 * next step, whose `begin` is in that stream, begins only when all parts of this one are done. Without all-reduces
 * `reduced` is recorded in an idle stream, and the wait for it ends at once. */
int muster_step_queue(struct muster_step_work *work, struct muster_step_slot *slot, struct muster_error *err)
{
	if (record(work, slot->begin, work->compute, err) < 0 || queue_copies(work, slot, err) < 0 ||
		queue_products(work, slot, err) < 0 || muster_nccl_record(work->session, slot->reduced, err) < 0 ||
		wait_in(work, work->compute, slot->reduced, err) < 0)
		return -1;
	for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++)
		if (wait_in(work, work->compute, slot->copies_end[way], err) < 0)
			return -1;
	return record(work, slot->end, work->compute, err);
}

/* Wait for the step in `slot` and read its events. Each slot's events stay valid until the slot is queued anew: with
 * three slots, that of the step before is still there while the next step is queued. */
int muster_step_collect(struct muster_step_work *work, const struct muster_step_slot *slot,
	const struct muster_step_slot *before, struct muster_step_times *ret, struct muster_error *err)
{
	struct muster_step_times times;
	if (muster_nccl_wait(work->session, slot->end, "a training step", err) < 0 ||
		muster_cuda_worked(work->cuda, before ? before->end : slot->begin, slot->end, &times.step_ms, err) <
			0 ||
		muster_cuda_worked(work->cuda, slot->begin, slot->products_done, &times.compute_ms, err) < 0)
		return -1;
	for (enum muster_step_way way = MUSTER_STEP_IN; way < MUSTER_STEP_WAYS; way++) {
		double ms;
		if (muster_cuda_worked(work->cuda, slot->copies_begin[way], slot->copies_end[way], &ms, err) < 0)
			return -1;
		times.copy_gbps[way] = (double)(work->copy_count * MUSTER_STEP_COPY_BYTES) / 1e6 / ms;
	}
	*ret = times;
	return 0;
}

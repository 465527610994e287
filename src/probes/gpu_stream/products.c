/* SPDX-License-Identifier: Apache-2.0 */
/* products.c - matrix products beside the copies
 *
 * While copies go on, the GPU is to have products at all times. The thread that queues products also waits for the disk
 * and for copies, so products are queued ahead, in batches of about 20 ms:
 *
 *   events   a ring of MUSTER_STREAM_BATCHES; batch number n records event n % MUSTER_STREAM_BATCHES at its end
 *   until    when all queued batches will be done, by the host's clock: the time now plus batch_ms for each
 *   ahead    two batches: while `until` is less than that after now, one more batch is queued
 *   check    before batch n is queued, batch n - MUSTER_STREAM_BATCHES must be done; else nothing is queued
 *
 * The check is for products that take longer beside copies than batch_ms says. The queue then stays at
 * MUSTER_STREAM_BATCHES batches, since a launch waits for the GPU when too many launches are in the queue.
 */
#include "probes/gpu_stream/stream.h"

#include "util/clock.h"

#include <stdio.h>

/* n of the n x n matrices. A launch waits for the GPU when too many launches are in the queue, and the thread that
 * launches also waits for the disk. Large matrices make few and long products. */
#define SIZE 8192
#define BATCH_MS 20.0
#define BATCH_MOST 40
#define ROUNDS 3     /* of products that say how many are a batch */
#define LEAST_MS 1.0 /* a batch, where the clock is too coarse for it */
#define WAIT_MS 20000

/* One allocation: A, B, D, workspace. A and B are filled with numbers of ordinary size (muster_product_values), D with
 * nothing: the products are not checked. */
static int take_memory(struct muster_stream *stream, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	const size_t from = SIZE * SIZE * muster_product_values[MUSTER_BF16].from_bytes;
	const size_t to = SIZE * SIZE * muster_product_values[MUSTER_BF16].to_bytes;
	const struct muster_pattern contents = { 1, muster_product_values[MUSTER_BF16].and_mask,
		muster_product_values[MUSTER_BF16].or_mask, 0 };
	CUresult result = stream->cuda->cuMemAlloc_v2(&p->memory, 2 * from + to + MUSTER_PRODUCT_WORKSPACE);
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "the GPU has no free memory for matrix products");
	if (muster_cuda_check(stream->cuda, result, err, "cuMemAlloc_v2") < 0)
		return -1;
	p->a = p->memory;
	p->b = p->a + from;
	p->d = p->b + from;
	p->workspace = p->d + to;
	return muster_kernel_fill(stream->cuda, stream->kernels, p->a, 2 * from, &contents, p->stream, err);
}

/* Queue `count` products and record `after` behind them. */
static int queue(struct muster_stream *stream, size_t count, CUevent after, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	for (size_t i = 0; i < count; i++)
		if (muster_product_queue(&p->product, p->a, p->b, p->d, p->workspace, p->stream, err) < 0)
			return -1;
	return MUSTER_CUDA(stream->cuda, err, cuEventRecord, after, p->stream);
}

/* The milliseconds that `count` products take, behind one that is not timed. */
static int time_products(struct muster_stream *stream, size_t count, double *ret_ms, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	if (queue(stream, 1, p->events[0], err) < 0 || queue(stream, count, p->events[1], err) < 0 ||
		muster_cuda_wait(stream->cuda, p->stream, WAIT_MS, err) < 0)
		return -1;
	return muster_cuda_elapsed(stream->cuda, p->events[0], p->events[1], ret_ms, err);
}

/* How many products a batch of about BATCH_MS has, and how long it takes. Three rounds: the first loads kernels, the
 * second runs at rising clocks, the third tells the time of the batch that the second one chose. */
static int choose_batch(struct muster_stream *stream, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	p->batch = 1;
	for (int i = 0; i < ROUNDS; i++) {
		if (time_products(stream, p->batch, &p->batch_ms, err) < 0)
			return -1;
		double one_ms = p->batch_ms / (double)p->batch;
		double wanted = one_ms > 0 ? BATCH_MS / one_ms : BATCH_MOST;
		if (i + 1 < ROUNDS)
			p->batch = wanted > BATCH_MOST ? BATCH_MOST : wanted < 1 ? 1 : (size_t)wanted;
	}
	return 0;
}

/* Everything that products need. A failure leaves what was made before it to muster_stream_products_done. */
static int prepare(struct muster_stream *stream, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	CUdevice device = muster_probe_env(stream->ctx)->gpu->cuda_device;
	if (!muster_cublaslt(err) || muster_product_need_units(stream->cuda, device, MUSTER_BF16, err) < 0 ||
		MUSTER_CUDA(stream->cuda, err, cuStreamCreate, &p->stream, CU_STREAM_NON_BLOCKING) < 0 ||
		muster_cuda_events_make(stream->cuda, p->events, MUSTER_STREAM_BATCHES, err) < 0 ||
		take_memory(stream, err) < 0 ||
		muster_product_init(&p->product, MUSTER_BF16, SIZE, SIZE, SIZE, err) < 0)
		return -1;
	return choose_batch(stream, err);
}

int muster_stream_products_init(struct muster_stream *stream, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	muster_step(stream->ctx, "matrix products in bf16 by cuBLASLt");
	if (prepare(stream, err) == 0) {
		p->ready = true;
		return 0;
	}
	snprintf(p->why_not, sizeof p->why_not, "%s", err->text);
	bool cannot = err->code == MUSTER_ENOTSUPPORTED || err->code == MUSTER_ELIB;
	return cannot ? 0 : muster_wrap(err, "matrix products in bf16");
}

void muster_stream_products_done(struct muster_stream *stream)
{
	struct muster_stream_products *p = &stream->products;
	if (p->product.lib)
		muster_product_done(&p->product);
	muster_cuda_events_free(stream->cuda, p->events, MUSTER_STREAM_BATCHES);
	if (p->memory)
		stream->cuda->cuMemFree_v2(p->memory);
	if (p->stream)
		stream->cuda->cuStreamDestroy_v2(p->stream);
	*p = (struct muster_stream_products){ 0 };
}

/* Queues by the host's clock, as the head of this file has it. The GPU is only asked about the batch whose event is
 * used next. For an event that was never recorded cuEventQuery answers that it is done, as the first batches need. */
int muster_stream_products_keep(struct muster_stream *stream, struct muster_error *err)
{
	struct muster_stream_products *p = &stream->products;
	double now = muster_clock_now(&muster_clock_raw);
	double batch_ms = p->batch_ms > LEAST_MS ? p->batch_ms : LEAST_MS;
	double ahead_ms = (MUSTER_STREAM_BATCHES - 2) * batch_ms;
	if (p->until < now) /* by that clock the queue is empty */
		p->until = now;
	for (; p->until < now + ahead_ms; p->until += batch_ms, p->next++) {
		CUevent event = p->events[p->next % MUSTER_STREAM_BATCHES];
		CUresult before = stream->cuda->cuEventQuery(event);
		if (before == CUDA_ERROR_NOT_READY)
			return 0;
		if (muster_cuda_check(stream->cuda, before, err, "cuEventQuery") < 0 ||
			queue(stream, p->batch, event, err) < 0)
			return muster_wrap(err, "matrix products in bf16");
	}
	return 0;
}

int muster_stream_products_stop(struct muster_stream *stream, struct muster_error *err)
{
	if (muster_cuda_wait(stream->cuda, stream->products.stream, WAIT_MS, err) < 0)
		return muster_wrap(err, "matrix products in bf16");
	return 0;
}

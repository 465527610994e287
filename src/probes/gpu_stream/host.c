/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - a stream of buffers from the host's memory to the GPU
 *
 * A buffer is free for the next data when its copy is done, as where layers of a model are streamed: never more than
 * the slots are in flight. The GPU's clock times the copies.
 */
#include "probes/gpu_stream/stream.h"

#include "storage/pattern.h"
#include "util/text.h"

#define WINDOW 8 /* copies */
#define COPIES ((size_t)WINDOW * MUSTER_STREAM_WINDOWS)
#define PASS_MS 5000.0   /* no new copy is queued after that */
#define STUCK_MS 20000.0 /* one copy */
#define POLL_MS 0.01

/* Wait for a slot's last copy, and keep products queued meanwhile. */
static int wait_slot(struct muster_stream *stream, size_t slot, bool beside_products, struct muster_error *err)
{
	double deadline = muster_now_ms() + STUCK_MS;
	for (int done; (done = muster_stream_copied(stream, slot, err)) != 1; muster_sleep_ms(POLL_MS)) {
		if (done < 0 || (beside_products && muster_stream_products_keep(stream, err) < 0))
			return -1;
		if (muster_now_ms() > deadline)
			return muster_fail(err, MUSTER_ETIME, "a copy of %zu MiB to the GPU was not done after %.0f s",
				stream->slot_bytes >> 20, STUCK_MS / 1e3);
	}
	return beside_products ? muster_stream_products_keep(stream, err) : 0;
}

/* The copy of a slot. Each slot has a place of its own on the GPU, so that later copies of a pass write the same words
 * there once more. */
static int queue(struct muster_stream *stream, size_t slot, struct muster_error *err)
{
	return muster_stream_copy(stream, slot, slot * stream->slot_bytes, stream->slot_bytes, err);
}

/* The copies of a pass, with events around its windows. The first one of each slot warms up. ends[0] is recorded after
 * these, ends[n] after the n-th window. As a program with layers would, the host waits for the copy of a slot before it
 * queues the next one from there; it writes nothing to the slot, whose words are those that the GPU is to have in the
 * end. *ret_count: copies that were timed. */
static int run_copies(struct muster_stream *stream, bool beside_products, size_t *ret_count, struct muster_error *err)
{
	double end = muster_now_ms() + PASS_MS;
	size_t i = 0;
	if (beside_products && muster_stream_products_keep(stream, err) < 0)
		return -1;
	for (size_t slot = 0; slot < stream->slots; slot++)
		if (queue(stream, slot, err) < 0)
			return -1;
	if (MUSTER_CUDA(stream->cuda, err, cuEventRecord, stream->ends[0], stream->copies) < 0)
		return -1;
	for (size_t slot = 0; i < COPIES && (i < stream->slots || muster_now_ms() < end); i++) {
		if (wait_slot(stream, slot, beside_products, err) < 0 || queue(stream, slot, err) < 0)
			return -1;
		slot = slot + 1 < stream->slots ? slot + 1 : 0;
		if ((i + 1) % WINDOW == 0 && MUSTER_CUDA(stream->cuda, err, cuEventRecord,
						     stream->ends[(i + 1) / WINDOW], stream->copies) < 0)
			return -1;
	}
	if (i < WINDOW && MUSTER_CUDA(stream->cuda, err, cuEventRecord, stream->ends[1], stream->copies) < 0)
		return -1;
	for (size_t slot = 0; slot < stream->slots; slot++)
		if (wait_slot(stream, slot, beside_products, err) < 0)
			return -1;
	*ret_count = i;
	return beside_products ? muster_stream_products_stop(stream, err) : 0;
}

/* The rates of the windows, from the events around them. count: copies that were timed. Where the time ended before the
 * first window was full, these copies are the only window (run_copies has recorded ends[1] behind them). Copies after
 * the last full window have no rate. */
static int read_windows(
	const struct muster_stream *stream, size_t count, struct muster_stream_pass *pass, struct muster_error *err)
{
	size_t copies = count < WINDOW ? count : WINDOW;
	double ms;
	for (size_t i = 0; copies > 0 && i < count / copies; i++) {
		if (muster_cuda_elapsed(stream->cuda, stream->ends[i], stream->ends[i + 1], &ms, err) < 0)
			return -1;
		if (!(ms > 0))
			return muster_fail(err, MUSTER_EVENDOR, "cuEventElapsedTime: copies took %g ms", ms);
		pass->gbps[pass->windows++] = (double)(copies * stream->slot_bytes) / 1e6 / ms;
	}
	pass->bytes = count * stream->slot_bytes;
	return 0;
}

int muster_stream_from_host(
	struct muster_stream *stream, bool beside_products, struct muster_stream_pass *ret, struct muster_error *err)
{
	struct muster_stream_pass pass = { 0 };
	const uint64_t seed = 1 + (uint64_t)beside_products;
	size_t all = stream->slots * stream->slot_bytes, count;
	muster_step(stream->ctx, "%zu copies of %zu MiB to the GPU%s", COPIES, stream->slot_bytes >> 20,
		beside_products ? " beside matrix products" : "");
	if (stream->bytes < all)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"the GPU has %zu MiB of free memory for %zu MiB of buffers", stream->bytes >> 20, all >> 20);
	muster_storage_fill(stream->host.data, all, 0, seed);
	if (muster_stream_clear(stream, err) < 0 || run_copies(stream, beside_products, &count, err) < 0 ||
		muster_stream_wait(stream, err) < 0 || read_windows(stream, count, &pass, err) < 0 ||
		muster_stream_verify(stream, all, seed, &pass.wrong, err) < 0)
		return -1;
	*ret = pass;
	return 0;
}

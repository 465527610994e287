/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - buffers, copies and their comparison
 *
 * The life of a struct muster_stream, which is as long as one callback of the probe:
 *
 *   init    the pinned slots, the kernels, streams and events, one buffer on the GPU, the matrix products
 *   a pass  clear, then copies (host.c, disk.c) or reads by cuFile (cufile.c), then verify
 *   done    frees all of it, unless something may still use the memory
 *
 * The byte at offset x of the source (the slots in a row, or the file) comes to offset x of the buffer on the GPU. So
 * one seed describes the whole buffer, and data at a wrong place is counted as wrong.
 */
#include "probes/gpu_stream/stream.h"
#include "probes/windows.h"

#include <stddef.h>

#define WAIT_MS 8000 /* for copies and kernels that are queued */
#define MIB ((size_t)1 << 20)

/* The buffer on the GPU: at most `bytes`, and half of that again and again while the GPU has too little memory, always
 * in whole slots. Fails with CUDA's "out of memory" where not even one slot fits. */
static int take_memory(struct muster_stream *stream, size_t bytes, struct muster_error *err)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	for (bytes -= bytes % stream->slot_bytes; bytes >= stream->slot_bytes && result == CUDA_ERROR_OUT_OF_MEMORY;
		bytes = bytes / 2 - bytes / 2 % stream->slot_bytes) {
		stream->bytes = bytes;
		result = stream->cuda->cuMemAlloc_v2(&stream->device, bytes);
	}
	if (result != CUDA_SUCCESS)
		stream->device = 0;
	return muster_cuda_check(stream->cuda, result, err, "cuMemAlloc_v2");
}

/* The buffer on the GPU is allocated before the matrices of the products. Where the matrices do not fit then, the
 * passes beside products are left out (products.c), which is no error. */
int muster_stream_init(struct muster_stream *ret, struct muster_probe_ctx *ctx, size_t slots, size_t slot_bytes,
	size_t bytes, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	*ret = (struct muster_stream){ .ctx = ctx,
		.cuda = muster_cuda(err),
		.bus_id = env->gpu->bus_id,
		.slots = slots,
		.slot_bytes = slot_bytes };
	if (!ret->cuda)
		return -1;
	muster_step(ctx, "cuMemHostRegister_v2 of %zu MiB", slots * slot_bytes / MIB);
	if (muster_pinned_alloc(ret->cuda, slots * slot_bytes, env->root, ret->bus_id, &ret->host, err) < 0)
		return -1;
	muster_step(ctx, "cuMemAlloc_v2 of %zu MiB", bytes / MIB);
	ret->kernels = muster_kernels(ret->cuda, err);
	if (!ret->kernels || MUSTER_CUDA(ret->cuda, err, cuStreamCreate, &ret->copies, CU_STREAM_NON_BLOCKING) < 0 ||
		muster_cuda_events_make(ret->cuda, ret->ends, 1 + MUSTER_STREAM_WINDOWS, err) < 0 ||
		muster_cuda_events_make(ret->cuda, ret->copied, slots, err) < 0 ||
		MUSTER_CUDA(ret->cuda, err, cuMemAlloc_v2, &ret->report, sizeof(struct muster_kernel_report)) < 0 ||
		take_memory(ret, bytes, err) < 0)
		return -1;
	return muster_stream_products_init(ret, err);
}

/* Nothing is freed when a request to the disk was still running at its end (lent), or when a stream is still busy: the
 * kernel or the GPU would go on writing to memory that has another owner by then, and freeing memory that the GPU uses
 * may wait for ever. The process ends with the memory. */
void muster_stream_done(struct muster_stream *stream)
{
	const struct muster_cuda *cuda = stream->cuda;
	if (!cuda || stream->lent)
		return;
	const CUstream streams[] = { stream->copies, stream->products.stream };
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (streams[i] && cuda->cuStreamQuery(streams[i]) == CUDA_ERROR_NOT_READY)
			return;
	muster_stream_products_done(stream);
	muster_cuda_events_free(cuda, stream->ends, 1 + MUSTER_STREAM_WINDOWS);
	muster_cuda_events_free(cuda, stream->copied, stream->slots);
	if (stream->copies)
		cuda->cuStreamDestroy_v2(stream->copies);
	if (stream->device)
		cuda->cuMemFree_v2(stream->device);
	if (stream->report)
		cuda->cuMemFree_v2(stream->report);
	muster_pinned_free(cuda, &stream->host);
	*stream = (struct muster_stream){ 0 };
}

/* The first window counts whatever its size, so that a file of less than a window has a rate. Of later windows only
 * whole ones count. The bytes are added in every case: they say how much there is to verify. */
void muster_stream_keep(struct muster_stream_pass *pass, size_t bytes, double ms)
{
	if ((bytes == MUSTER_WINDOW_BYTES || pass->bytes == 0) && ms > 0 && pass->windows < MUSTER_STREAM_WINDOWS)
		pass->gbps[pass->windows++] = (double)bytes / 1e6 / ms;
	pass->bytes += bytes;
}

int muster_stream_copy(struct muster_stream *stream, size_t slot, size_t at, size_t bytes, struct muster_error *err)
{
	const void *from = (const char *)stream->host.data + slot * stream->slot_bytes;
	if (MUSTER_CUDA(stream->cuda, err, cuMemcpyHtoDAsync_v2, stream->device + at, from, bytes, stream->copies) < 0)
		return -1;
	return MUSTER_CUDA(stream->cuda, err, cuEventRecord, stream->copied[slot], stream->copies);
}

int muster_stream_copied(struct muster_stream *stream, size_t slot, struct muster_error *err)
{
	CUresult result = stream->cuda->cuEventQuery(stream->copied[slot]);
	if (result == CUDA_ERROR_NOT_READY)
		return 0;
	return muster_cuda_check(stream->cuda, result, err, "cuEventQuery") < 0 ? -1 : 1;
}

int muster_stream_wait(struct muster_stream *stream, struct muster_error *err)
{
	return muster_cuda_wait(stream->cuda, stream->copies, WAIT_MS, err);
}

/* Waits for the end, since reads by cuFile write to the buffer without using this stream. */
int muster_stream_clear(struct muster_stream *stream, struct muster_error *err)
{
	if (MUSTER_CUDA(stream->cuda, err, cuMemsetD32Async, stream->device, 0, stream->bytes / sizeof(uint32_t),
		    stream->copies) < 0)
		return -1;
	return muster_stream_wait(stream, err);
}

/* All steps are in the stream of the copies, so the kernel runs after every copy that was queued before. The report is
 * in pageable memory of the host: it is read only after the wait. */
int muster_stream_verify(
	struct muster_stream *stream, size_t bytes, uint64_t seed, uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_pattern pattern = muster_storage_pattern(seed);
	struct muster_kernel_report report = { 0 };
	if (MUSTER_CUDA(stream->cuda, err, cuMemsetD32Async, stream->report, 0, sizeof report / sizeof(uint32_t),
		    stream->copies) < 0 ||
		muster_kernel_verify(stream->cuda, stream->kernels, stream->device, bytes, &pattern, stream->report,
			stream->copies, err) < 0 ||
		MUSTER_CUDA(stream->cuda, err, cuMemcpyDtoHAsync_v2, &report, stream->report, sizeof report,
			stream->copies) < 0 ||
		muster_stream_wait(stream, err) < 0)
		return -1;
	*ret_wrong = report.wrong;
	return 0;
}

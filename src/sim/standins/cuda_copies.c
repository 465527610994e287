/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_copies.c - libcuda.so.1 for the simulation: copies and fills
 *
 * A copy takes bytes / bandwidth of virtual time and nothing else: what a program measures with events is the
 * scenario's figure exactly. Copies in the other direction at the same time slow it down; copies within the device and
 * fills take no time: the scenario has no figure for them.
 *
 * CUDA's interface does not say that the GPUs of the node copy at once, and real time is not asked, so that every run
 * gives the same figures: who copies together with others queues more copies at once than the first time, alone, and
 * has nothing else to do meanwhile. These have the bandwidth of all GPUs at once, if the node has a rank for each of
 * its GPUs.
 */
#include "sim/standins/cuda.h"

#include <stdint.h>

#define PAGEABLE_SHARE (1.0 / 3) /* of the bandwidth of pinned memory */
#define BOTH_WAYS_SHARE 0.89     /* of the bandwidth alone: nvbandwidth on H200, 49.1 of 55.3 GB/s */

/* -- time -- */

/* Whether every GPU of the node has a rank that could use it. */
static bool is_node_full(void)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	size_t ranks = 0;
	for (size_t i = 0; i < cluster->rank_count; i++)
		ranks += cluster->ranks[i].node == muster_sim_this_rank()->node;
	return ranks >= muster_sim_this_node()->gpu_count;
}

static bool is_host_copy(const struct muster_simcuda_operation *operation)
{
	return operation->kind == MUSTER_SIMCUDA_TO_DEVICE || operation->kind == MUSTER_SIMCUDA_TO_HOST;
}

/* How many copies at the head of the queue are like the first one in direction and bytes; records of events between
 * them do not count, and anything else ends the row. */
static size_t count_alike(const struct muster_simcuda_operation *first)
{
	size_t count = 0;
	for (const struct muster_simcuda_operation *one = first; one; one = one->next) {
		if (one->kind == MUSTER_SIMCUDA_RECORD)
			continue;
		if (one->kind != first->kind || one->bytes != first->bytes)
			break;
		count++;
	}
	return count;
}

/* The copies that were queued at once, of which this is the first: how long each takes. The first row of copies of a
 * context, with no other stream at work, is that of the probe alone: its length is kept in copies_alone, and a longer
 * row is one of all GPUs at once. All copies of the row get their seconds here, so that the row is looked at once.
 */
static void time_copies(struct CUstream_st *stream, struct muster_simcuda_operation *first)
{
	struct CUctx_st *context = stream->context;
	const struct muster_sim_gpu *gpu = context->gpu;
	size_t count = count_alike(first), left = count;
	bool beside = muster_simcuda_is_beside(stream, stream->now);
	if (context->copies_alone == 0 && !beside)
		context->copies_alone = count;
	bool together = !beside && count > context->copies_alone && is_node_full();
	double to_gbps = together ? gpu->h2d_together_gbps : gpu->h2d_gbps;
	double from_gbps = together ? gpu->d2h_together_gbps : gpu->d2h_gbps;
	for (struct muster_simcuda_operation *one = first; left > 0; one = one->next) {
		if (one->kind == MUSTER_SIMCUDA_RECORD)
			continue;
		one->seconds = (double)one->bytes /
			       ((one->kind == MUSTER_SIMCUDA_TO_DEVICE ? to_gbps : from_gbps) * 1e9 * one->share);
		one->untimed = false;
		left--;
	}
}

/* Whether copies in the other direction go on at the stream's time, or are queued in another stream. */
static bool is_other_way(const struct CUstream_st *stream, enum muster_simcuda_kind other)
{
	const struct CUctx_st *context = stream->context;
	if (context->copied_until[other == MUSTER_SIMCUDA_TO_HOST] > stream->now)
		return true;
	for (const struct CUstream_st *one = &context->default_stream; one; one = one->next)
		for (const struct muster_simcuda_operation *o = one->first; o && one != stream; o = o->next)
			if (o->kind == other)
				return true;
	return false;
}

/* The seconds of a copy that begins at stream->now: by bandwidth, then longer where copies go both ways, then with the
 * noise of that moment. */
static void time_copy(struct CUstream_st *stream, struct muster_simcuda_operation *copy)
{
	bool to_host = copy->kind == MUSTER_SIMCUDA_TO_HOST;
	if (copy->untimed)
		time_copies(stream, copy);
	if (is_other_way(stream, to_host ? MUSTER_SIMCUDA_TO_DEVICE : MUSTER_SIMCUDA_TO_HOST))
		copy->seconds /= BOTH_WAYS_SHARE;
	copy->seconds = muster_simcuda_disturbed(stream, copy, MUSTER_SIM_NOISE_COPIES);
	if (stream->context->copied_until[to_host] < stream->now + copy->seconds)
		stream->context->copied_until[to_host] = stream->now + copy->seconds;
}

/* -- carrying out -- */

static bool is_same_range(struct muster_simcuda_range a, struct muster_simcuda_range b)
{
	return a.allocation == b.allocation && a.offset == b.offset;
}

/* Whether the next thing in the stream that touches memory writes the same bytes once more: a benchmark's repeats. */
static bool is_repeated(const struct muster_simcuda_operation *one)
{
	const struct muster_simcuda_operation *next = one->next;
	while (next && next->kind == MUSTER_SIMCUDA_RECORD)
		next = next->next;
	return next && next->kind == one->kind && next->bytes == one->bytes && next->source == one->source &&
	       next->target == one->target && is_same_range(next->from, one->from) && is_same_range(next->to, one->to);
}

/* Copy within the device by way of one window. Of more than a window, what lies there repeats after the window: exact
 * for the data of the probes, which repeats so (base.h). */
static void copy_within(struct muster_simcuda_range to, struct muster_simcuda_range from, size_t bytes)
{
	static unsigned char between[MUSTER_STANDIN_WINDOW];
	size_t length = bytes < sizeof between ? bytes : sizeof between;
	muster_simcuda_get(from, between, length);
	muster_simcuda_lay(to, bytes, between, length);
}

/* The time of each copy counts, but of a row of equal copies only the last one moves its data. */
void muster_simcuda_copy(struct CUstream_st *stream, struct muster_simcuda_operation *operation)
{
	uint64_t twice = (uint64_t)operation->value << 32 | operation->value;
	if (is_host_copy(operation))
		time_copy(stream, operation);
	else
		operation->seconds = muster_simcuda_disturbed(stream, operation, MUSTER_SIM_NOISE_MEMORY);
	if (is_repeated(operation))
		return;
	switch (operation->kind) {
	case MUSTER_SIMCUDA_TO_DEVICE: muster_simcuda_put(operation->to, operation->source, operation->bytes); break;
	case MUSTER_SIMCUDA_TO_HOST: muster_simcuda_get(operation->from, operation->target, operation->bytes); break;
	case MUSTER_SIMCUDA_WITHIN_DEVICE: copy_within(operation->to, operation->from, operation->bytes); break;
	case MUSTER_SIMCUDA_FILL:
		muster_simcuda_fill(operation->to, operation->bytes, &(struct muster_pattern){ .xor_mask = twice });
		break;
	default: break;
	}
}

/* -- calls -- */

/* A copy from or to pageable memory is over with it when the call returns, as far as the stream lets it. */
static void enqueue_host(struct CUstream_st *stream, struct muster_simcuda_operation *operation, const void *host)
{
	operation->untimed = true;
	operation->share = muster_simcuda_pinned(host, operation->bytes) ? 1 : PAGEABLE_SHARE;
	muster_simcuda_enqueue(stream, operation);
	if (operation->share < 1)
		muster_simcuda_progress(stream);
}

/* Queue work on device memory, which `to` and `from` are as far as the kind needs them; nothing when it has no bytes.
 */
static CUresult enter_and_enqueue(
	CUstream stream, struct muster_simcuda_operation *operation, CUdeviceptr to, CUdeviceptr from)
{
	enum muster_simcuda_kind kind = operation->kind;
	const void *host = kind == MUSTER_SIMCUDA_TO_DEVICE ? operation->source : operation->target;
	size_t bytes = operation->bytes;
	struct CUstream_st *found;
	CUresult result = muster_simcuda_enter_stream(stream, &found);
	if (result != CUDA_SUCCESS || bytes == 0)
		return muster_simcuda_leave(result);
	if (((kind == MUSTER_SIMCUDA_TO_DEVICE || kind == MUSTER_SIMCUDA_TO_HOST) && !host) ||
		(kind != MUSTER_SIMCUDA_TO_HOST && !muster_simcuda_range_find(to, bytes, &operation->to)) ||
		((kind == MUSTER_SIMCUDA_TO_HOST || kind == MUSTER_SIMCUDA_WITHIN_DEVICE) &&
			!muster_simcuda_range_find(from, bytes, &operation->from)))
		return muster_simcuda_leave(CUDA_ERROR_INVALID_VALUE);
	if (kind == MUSTER_SIMCUDA_FILL && found->context->gpu->memory_write_gbps > 0)
		operation->seconds = (double)bytes / (found->context->gpu->memory_write_gbps * 1e9);
	if (host)
		enqueue_host(found, operation, host);
	else
		muster_simcuda_enqueue(found, operation);
	return muster_simcuda_leave(CUDA_SUCCESS);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	struct muster_simcuda_operation operation = {
		.kind = MUSTER_SIMCUDA_TO_DEVICE, .source = from, .bytes = bytes
	};
	muster_standin_log_now();
	return enter_and_enqueue(stream, &operation, to, 0);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = MUSTER_SIMCUDA_TO_HOST, .target = to, .bytes = bytes };
	return enter_and_enqueue(stream, &operation, 0, from);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = MUSTER_SIMCUDA_WITHIN_DEVICE, .bytes = bytes };
	return enter_and_enqueue(stream, &operation, to, from);
}

/* No range is SIZE_MAX bytes long, and none begins at 1. */
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t words, CUstream stream)
{
	struct muster_simcuda_operation operation = { .kind = MUSTER_SIMCUDA_FILL, .value = value };
	operation.bytes = words > SIZE_MAX / sizeof value ? SIZE_MAX : words * sizeof value;
	return enter_and_enqueue(stream, &operation, to % sizeof value == 0 ? to : 1, 0);
}

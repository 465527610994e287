/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c - what a ring needs on the GPU and beside it
 *
 * Sizes. The buffer `data` has the largest size of the ladder that leaves NCCL room (2 GiB, or half of what is free);
 * one of at most 512 MiB is taken at once, a larger one only before the ring, since until then the load tests the
 * memory. `received` is made by probes that exchange, and grows. 2 MiB of pinned memory carry what the host compares,
 * and all messages that decide something.
 *
 * What is made when:
 *
 *   resources_make       by the first callback that needs NCCL: all but `received`; `data` only if it has at most
 *                        512 MiB and fits
 *   buffer_make          by each ring, before its communicator: `data`, where it is not there yet
 *   received_make        by exchanges and collectives: `received`
 *   resources_release    after a failure; the next resources_make begins anew
 */
#include "probes/nccl/session.h"

#include "probes/gpu/device.h"
#include "probes/gpu/kernels.h"
#include "vendor/nccl_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NCCL_ROOM (2 * GIB)    /* left free on the GPU for NCCL's own buffers */
#define EARLY_MOST (512 * MIB) /* a larger buffer waits for the ring: until then the load tests the memory */

#define RECEIVED_LEAST (2 * MIB)
#define FASTEST_FILL_PER_US 8e6 /* 8 TB/s: DGX B200 datasheet, 64 TB/s of 8 GPUs; no GPU has more */

static struct muster_nccl_resources resources;

/* Frees what there is; half-made is fine. cuMemFree may wait for ever for a kernel that does not end: the caller has
 * told the supervisor about the failure before. The libraries stay open. */
void muster_nccl_resources_release(void)
{
	const struct muster_cuda *cuda = resources.cuda;
	if (!cuda)
		return;
	muster_cuda_events_free(cuda, &resources.start, 1);
	muster_cuda_events_free(cuda, &resources.end, 1);
	if (resources.stream)
		cuda->cuStreamDestroy_v2(resources.stream);
	CUdeviceptr buffers[] = { resources.data, resources.agreed, resources.received, resources.report };
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		if (buffers[i])
			cuda->cuMemFree_v2(buffers[i]);
	muster_pinned_free(cuda, &resources.chunks);
	memset(&resources, 0, sizeof resources);
}

/* `data` has one size of the ladder, from the largest one down. No room for any size is no error: room stays 0, and the
 * sweep emits nulls with resources.small as the reason. Early calls that find the memory too full, or the size too
 * large, make nothing: the ring asks again. Between the question for free memory and the allocation another process may
 * take memory, so "out of memory" only means the next smaller size. */
int muster_nccl_buffer_make(struct muster_probe_ctx *ctx, bool early, struct muster_error *err)
{
	const struct muster_cuda *cuda = resources.cuda;
	uint64_t sizes[SIZES_MAX];
	size_t count = muster_nccl_sizes(muster_probe_env(ctx), sizes), free_bytes = 0, total_bytes = 0;
	if (resources.data || (early && sizes[count - 1] > EARLY_MOST))
		return 0;
	if (MUSTER_CUDA(cuda, err, cuMemGetInfo_v2, &free_bytes, &total_bytes) < 0)
		return -1;
	uint64_t kept = free_bytes / 2 < NCCL_ROOM ? free_bytes / 2 : NCCL_ROOM, usable = free_bytes - kept;
	if (early && sizes[count - 1] > usable) /* what a job before has left may still be cleared */
		return 0;
	resources.small[0] = '\0';
	CUresult result = CUDA_SUCCESS;
	for (size_t i = count; i-- > 0;) {
		if (sizes[i] > usable)
			continue;
		muster_step(ctx, "cuMemAlloc_v2 of %llu bytes", (unsigned long long)sizes[i]);
		result = cuda->cuMemAlloc_v2(&resources.data, (size_t)sizes[i]);
		if (result == CUDA_SUCCESS) {
			resources.room = sizes[i];
			break;
		}
	}
	if (result != CUDA_ERROR_OUT_OF_MEMORY && muster_cuda_check(cuda, result, err, "cuMemAlloc_v2") < 0)
		return -1;
	if (resources.room < sizes[count - 1])
		snprintf(resources.small, sizeof resources.small,
			"%zu of %zu MiB are free on the GPU, and NCCL needs some of them", (size_t)(free_bytes / MIB),
			(size_t)(total_bytes / MIB));
	return 0;
}

/* A larger buffer replaces the one that is there: the old one is freed first, so that both need not fit. Halves `bytes`
 * while the GPU has too little memory; an error is where less than RECEIVED_LEAST does not fit either. No work may use
 * the old buffer. */
int muster_nccl_received_make(struct muster_probe_ctx *ctx, uint64_t bytes, struct muster_error *err)
{
	const struct muster_cuda *cuda = resources.cuda;
	if (resources.received_room >= bytes)
		return 0;
	if (resources.received)
		cuda->cuMemFree_v2(resources.received);
	resources.received = 0;
	resources.received_room = 0;
	for (;; bytes /= 2) {
		muster_step(ctx, "cuMemAlloc_v2 of %llu bytes", (unsigned long long)bytes);
		CUresult result = cuda->cuMemAlloc_v2(&resources.received, (size_t)bytes);
		if (result == CUDA_SUCCESS) {
			resources.received_room = bytes;
			return 0;
		}
		resources.received = 0;
		if (result != CUDA_ERROR_OUT_OF_MEMORY || bytes < RECEIVED_LEAST)
			return muster_cuda_check(cuda, result, err, "cuMemAlloc_v2");
	}
}

/* How many bytes of zeros the GPU's memory takes in a microsecond: at most what its bus can carry. A head start must
 * last at least as long as it claims, so an unknown GPU counts as the fastest one. */
static double fill_per_us(const struct muster_cuda *cuda, const struct muster_gpu *gpu)
{
	struct muster_error why;
	const struct muster_nvml *nvml = muster_gpu_nvml(gpu, &why);
	unsigned int mhz = 0;
	int bits = 0;
	if (!nvml || nvml->nvmlDeviceGetMaxClockInfo(gpu->nvml_device, NVML_CLOCK_MEM, &mhz) != NVML_SUCCESS ||
		cuda->cuDeviceGetAttribute(&bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, gpu->cuda_device) !=
			CUDA_SUCCESS ||
		bits <= 0 || mhz == 0)
		return FASTEST_FILL_PER_US;
	return muster_gpu_memory_gbps(bits, mhz) * 1e3;
}

/* NCCL's log comes first: its settings must be in the environment before NCCL reads it. resources.cuda says that there
 * are resources, so it is set only when both libraries are open. A failure frees all, and the next call begins anew. */
struct muster_nccl_resources *muster_nccl_resources_make(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	if (resources.cuda)
		return &resources;
	const struct muster_probe_env *env = muster_probe_env(ctx);
	if (muster_nccl_log_start(err) < 0)
		return NULL;
	muster_step(ctx, "loading NCCL");
	const struct muster_nccl *nccl = muster_nccl(err);
	const struct muster_cuda *cuda = nccl ? muster_cuda(err) : NULL;
	if (!cuda)
		return NULL;
	setenv("NCCL_COMM_BLOCKING", "0", 1); /* another value would make calls wait where no cancellation is seen */
	resources.nccl = nccl;
	resources.cuda = cuda;
	resources.fill_per_us = fill_per_us(cuda, env->gpu);

	muster_step(ctx, "cuMemHostRegister_v2 of %zu MiB", (size_t)(CHUNKS_BYTES / MIB));
	if (muster_pinned_alloc(cuda, CHUNKS_BYTES, env->root, env->gpu->bus_id, &resources.chunks, err) == 0 &&
		MUSTER_CUDA(cuda, err, cuStreamCreate, &resources.stream, CU_STREAM_NON_BLOCKING) == 0 &&
		muster_cuda_events_make(cuda, &resources.start, 1, err) == 0 &&
		muster_cuda_events_make(cuda, &resources.end, 1, err) == 0 &&
		MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &resources.agreed,
			MUSTER_NCCL_COPIES * AGREED_MAX * sizeof(float)) == 0 &&
		MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &resources.report, sizeof(struct muster_kernel_report)) == 0 &&
		muster_nccl_buffer_make(ctx, true, err) == 0)
		return &resources;
	muster_nccl_resources_release();
	return NULL;
}

/* pattern.c - data that NCCL only moves: written and checked by kernels on the GPU */
#include "probes/gpu/kernels.h"
#include "probes/nccl/session.h"

#include <stdbool.h>
#include <string.h>

static struct muster_pattern pattern_of(uint64_t seed)
{
	return (struct muster_pattern){ .seed = seed, .and_mask = UINT64_MAX };
}

int muster_nccl_pattern_fill(
	const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed, struct muster_error *err)
{
	const struct muster_cuda *cuda = s->resources->cuda;
	const struct muster_kernels *kernels = muster_kernels(cuda, err);
	const struct muster_pattern pattern = pattern_of(seed);
	return kernels ? muster_kernel_fill(cuda, kernels, at, (size_t)bytes, &pattern, s->resources->stream, err) : -1;
}

/* The values of 4 bytes among the words that the kernel has counted, when it has kept all of these. */
static bool count_kept(const struct muster_kernel_report *report, uint64_t *ret_wrong)
{
	uint64_t wrong = 0;
	if (report->noted != report->wrong || report->noted > MUSTER_DIFFERENCES_MAX)
		return false;
	for (size_t i = 0; i < report->noted; i++) {
		for (size_t half = 0; half < 2; half++) {
			uint64_t bits = report->noticed[i].read[half] ^ report->noticed[i].expected[half];
			wrong += (bits & UINT32_MAX) != 0;
			wrong += bits >> 32 != 0;
		}
	}
	*ret_wrong = wrong;
	return true;
}

/* The same count on the host, of all values. */
static int count_values(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed,
	uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_pattern pattern = pattern_of(seed);
	const uint32_t *values = resources->chunks.data;
	uint64_t wrong = 0;
	for (uint64_t done = 0, here; done < bytes; done += here) {
		here = bytes - done < CHUNKS_BYTES ? bytes - done : CHUNKS_BYTES;
		if (MUSTER_CUDA(resources->cuda, err, cuMemcpyDtoHAsync_v2, resources->chunks.data, at + done,
			    (size_t)here, resources->stream) < 0 ||
			muster_nccl_finish(s, "copying wrong data to the host", err) < 0)
			return -1;
		for (size_t i = 0; i < here / sizeof(uint64_t); i++) {
			uint64_t word = muster_pattern_word(&pattern, done / sizeof word + i);
			uint32_t expected[2];
			memcpy(expected, &word, sizeof word);
			wrong += values[2 * i] != expected[0];
			wrong += values[2 * i + 1] != expected[1];
		}
	}
	*ret_wrong = wrong;
	return 0;
}

int muster_nccl_pattern_check(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed,
	uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_cuda *cuda = resources->cuda;
	const struct muster_kernels *kernels = muster_kernels(cuda, err);
	const struct muster_pattern pattern = pattern_of(seed);
	struct muster_kernel_report *report = resources->chunks.data;
	if (!kernels ||
		MUSTER_CUDA(cuda, err, cuMemsetD32Async, resources->report, 0, sizeof *report / sizeof(uint32_t),
			resources->stream) < 0 ||
		muster_kernel_verify(
			cuda, kernels, at, (size_t)bytes, &pattern, resources->report, resources->stream, err) < 0 ||
		MUSTER_CUDA(cuda, err, cuMemcpyDtoHAsync_v2, report, resources->report, sizeof *report,
			resources->stream) < 0 ||
		muster_nccl_finish(s, "checking the data", err) < 0)
		return -1;
	return count_kept(report, ret_wrong) ? 0 : count_values(s, at, bytes, seed, ret_wrong, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - the kernels of kernels.ptx, loaded and launched */
#include "probes/gpu/kernels.h"

#include "kernels_ptx.h" /* made by CMake from kernels.ptx */
#include "util/text.h"

#include <string.h>

#define BLOCK 256 /* threads */
/* Blocks: 40 for each of the 148 multiprocessors of a B200, which works on four of them at once, and eleven rounds on
 * an H200. A last round of few blocks, which read slowly, is then a small part of all. */
#define GRID 5920

/* The driver compiles the PTX for the GPU at hand; the result goes to the user's cache (~/.nv/ComputeCache, unless
 * CUDA_CACHE_DISABLE is set), where the next process finds it. A driver that refuses the text says why in the JIT's
 * log, which becomes a part of the error. Options are passed as an array of pointers, in which a size stands as a
 * number and not as its address. */
int muster_kernels_load(const struct muster_cuda *cuda, struct muster_kernels *ret, struct muster_error *err)
{
	const struct {
		const char *name;
		CUfunction *function;
	} entries[] = {
		{ "muster_fill", &ret->fill },
		{ "muster_verify", &ret->verify },
		{ "muster_compare", &ret->compare },
		{ "muster_checksum", &ret->checksum },
	};
	char log[300] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)(sizeof log - 1) }; /* a number where a pointer stands */
	memset(ret, 0, sizeof *ret);
	if (MUSTER_CUDA(cuda, err, cuModuleLoadDataEx, &ret->module, muster_kernels_ptx, 2, options, values) < 0) {
		ret->module = NULL;
		return *log ? muster_wrap(err, "%s", log) : -1;
	}
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (MUSTER_CUDA(cuda, err, cuModuleGetFunction, entries[i].function, ret->module, entries[i].name) < 0)
			return muster_wrap(err, "%s", entries[i].name);
	return 0;
}

static struct muster_kernels kept;

const struct muster_kernels *muster_kernels_loaded(void)
{
	return kept.module ? &kept : NULL;
}

const struct muster_kernels *muster_kernels(const struct muster_cuda *cuda, struct muster_error *err)
{
	if (kept.module || muster_kernels_load(cuda, &kept, err) == 0)
		return &kept;
	muster_kernels_unload(cuda, &kept);
	return NULL;
}

void muster_kernels_unload(const struct muster_cuda *cuda, struct muster_kernels *kernels)
{
	if (kernels->module)
		cuda->cuModuleUnload(kernels->module);
	memset(kernels, 0, sizeof *kernels);
}

/* Queue a kernel and return at once. Parameters are copied by the call. The grid does not depend on the range: each
 * thread strides over it, and threads beyond a short range end at once. What a kernel does wrong, such as an access to
 * memory that was freed, shows at a later call on the context, not here. */
static int launch(const struct muster_cuda *cuda, CUfunction function, void **parameters, CUstream stream,
	const char *name, struct muster_error *err)
{
	if (MUSTER_CUDA(cuda, err, cuLaunchKernel, function, GRID, 1, 1, BLOCK, 1, 1, 0, stream, parameters, NULL) < 0)
		return muster_wrap(err, "%s", name);
	return 0;
}

int muster_kernel_fill(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	size_t bytes, const struct muster_pattern *pattern, CUstream stream, struct muster_error *err)
{
	struct muster_pattern p = *pattern;
	uint64_t words = bytes / MUSTER_KERNEL_WORD;
	void *parameters[] = { &range, &words, &p.seed, &p.and_mask, &p.or_mask, &p.xor_mask };
	return launch(cuda, kernels->fill, parameters, stream, "muster_fill", err);
}

int muster_kernel_verify(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	size_t bytes, const struct muster_pattern *pattern, CUdeviceptr report, CUstream stream,
	struct muster_error *err)
{
	struct muster_pattern p = *pattern;
	uint64_t words = bytes / MUSTER_KERNEL_WORD;
	void *parameters[] = { &range, &words, &p.seed, &p.and_mask, &p.or_mask, &p.xor_mask, &report };
	return launch(cuda, kernels->verify, parameters, stream, "muster_verify", err);
}

int muster_kernel_compare(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	CUdeviceptr expected, size_t bytes, CUdeviceptr report, CUstream stream, struct muster_error *err)
{
	uint64_t words = bytes / MUSTER_KERNEL_WORD;
	void *parameters[] = { &range, &expected, &words, &report };
	return launch(cuda, kernels->compare, parameters, stream, "muster_compare", err);
}

int muster_kernel_checksum(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	size_t bytes, CUdeviceptr report, CUstream stream, struct muster_error *err)
{
	uint64_t words = bytes / MUSTER_KERNEL_WORD;
	void *parameters[] = { &range, &words, &report };
	return launch(cuda, kernels->checksum, parameters, stream, "muster_checksum", err);
}

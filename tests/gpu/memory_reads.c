/* SPDX-License-Identifier: Apache-2.0 */
/* memory_reads.c - on a real GPU: how fast the kernels read its memory, by how many blocks they run with
 *
 * usage: gpu_memory_reads
 *
 * A kernel with too few loads under way is as fast as its number of threads lets it be (rate = loads under way /
 * latency), and one with enough of them is as fast as the memory. Exit status 1: with half of the blocks that a
 * multiprocessor can hold a kernel reads less than three quarters of what it reads with all of them.
 */
#include "probes/gpu/kernels.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES ((size_t)8 << 30)
#define BLOCK 256 /* threads, as in kernels.c */
#define TIMES 5
#define GRID 5920 /* as in kernels.c */

static const struct muster_cuda *cuda;
static CUdeviceptr memory, report;
static CUstream stream;
static CUevent events[2];

static void need(int result, const struct muster_error *err)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* The best of TIMES launches, in GB/s. */
static double rate(CUfunction function, void **parameters, unsigned int blocks, double bytes)
{
	struct muster_error err;
	double best = 0, ms;
	for (int i = 0; i < TIMES; i++) {
		need(MUSTER_CUDA(cuda, &err, cuEventRecord, events[0], stream), &err);
		need(MUSTER_CUDA(cuda, &err, cuLaunchKernel, function, blocks, 1, 1, BLOCK, 1, 1, 0, stream, parameters,
			     NULL),
			&err);
		need(MUSTER_CUDA(cuda, &err, cuEventRecord, events[1], stream), &err);
		need(muster_cuda_wait(cuda, stream, 15000, &err), &err);
		need(muster_cuda_worked(cuda, events[0], events[1], &ms, &err), &err);
		best = bytes / ms / 1e6 > best ? bytes / ms / 1e6 : best;
	}
	return best;
}

int main(void)
{
	struct muster_error err;
	struct muster_kernels kernels;
	CUcontext context;
	int multiprocessors = 0, failed = 0;
	cuda = muster_cuda(&err);
	need(cuda ? 0 : -1, &err);
	need(MUSTER_CUDA(cuda, &err, cuInit, 0), &err);
	need(MUSTER_CUDA(cuda, &err, cuDevicePrimaryCtxRetain, &context, 0), &err);
	need(MUSTER_CUDA(cuda, &err, cuCtxSetCurrent, context), &err);
	need(MUSTER_CUDA(
		     cuda, &err, cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
		&err);
	need(muster_kernels_load(cuda, &kernels, &err), &err);
	need(MUSTER_CUDA(cuda, &err, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING), &err);
	need(muster_cuda_events_make(cuda, events, 2, &err), &err);
	need(MUSTER_CUDA(cuda, &err, cuMemAlloc_v2, &memory, BYTES), &err);
	need(MUSTER_CUDA(cuda, &err, cuMemAlloc_v2, &report, sizeof(struct muster_kernel_report)), &err);
	need(MUSTER_CUDA(cuda, &err, cuMemsetD32Async, memory, 0, BYTES / 4, stream), &err);

	uint64_t words = BYTES / MUSTER_KERNEL_WORD, half = words / 2, seed = 0, none = 0;
	CUdeviceptr other = memory + BYTES / 2;
	/* zeros are what the pattern and, for compare, the other half hold */
	void *of_fill[] = { &memory, &words, &seed, &none, &none, &none };
	void *of_verify[] = { &memory, &words, &seed, &none, &none, &none, &report };
	void *of_compare[] = { &memory, &other, &half, &report }, *of_checksum[] = { &memory, &words, &report };
	const struct {
		const char *name;
		CUfunction function;
		void **parameters;
	} all[] = { { "fill", kernels.fill, of_fill }, { "verify", kernels.verify, of_verify },
		{ "compare", kernels.compare, of_compare }, { "checksum", kernels.checksum, of_checksum } };
	CUresult (*ask_most)(int *, CUfunction, int, size_t) = NULL;
	*(void **)&ask_most = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuOccupancyMaxActiveBlocksPerMultiprocessor");
	if (!ask_most)
		return 1;
	printf("%d multiprocessors; GB/s by blocks that each has at once\n", multiprocessors);
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		int most = 0;
		need(muster_cuda_check(cuda, ask_most(&most, all[k].function, BLOCK, 0), &err, "occupancy"), &err);
		double alone[] = { 0, 0, 0 };
		const int each[] = { 1, (most + 1) / 2, most };
		printf("%-8s", all[k].name);
		for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
			alone[i] = rate(all[k].function, all[k].parameters, (unsigned int)(each[i] * multiprocessors),
				(double)BYTES);
			printf("  %d: %.0f", each[i], alone[i]);
		}
		bool bad = k > 0 && alone[1] < 0.6 * alone[2];
		printf("  %d in all, as muster: %.0f%s\n", GRID,
			rate(all[k].function, all[k].parameters, GRID, (double)BYTES), bad ? "  FAIL" : "");
		failed |= bad;
	}
	return failed;
}

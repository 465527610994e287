/* SPDX-License-Identifier: Apache-2.0 */
/* allreduce_reference.c - the all-reduce bandwidth that one process with all GPUs of a host reaches
 *
 * Measures as nccl-tests' `all_reduce_perf -g N` does: one communicator per GPU made by ncclCommInitAll, group calls,
 * floats summed in place, 5 all-reduces to warm up, 20 timed by the host's clock. Written against the vendor's own
 * headers, so it shares nothing with muster. One JSON line for each size.
 *
 * usage: allreduce_reference GPUS
 */
#define _POSIX_C_SOURCE 200809L
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GPUS_MAX = 64, WARM_UP = 5, REPEATS = 20 };

static void cuda_check(cudaError_t result, const char *what)
{
	if (result != cudaSuccess) {
		fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
		exit(1);
	}
}

static void nccl_check(ncclResult_t result, const char *what)
{
	if (result != ncclSuccess) {
		fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
		exit(1);
	}
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int gpus;
static void *buffers[GPUS_MAX];
static cudaStream_t streams[GPUS_MAX];
static ncclComm_t communicators[GPUS_MAX];

/* Enqueue `count` all-reduces on every GPU. */
static void enqueue(size_t values, int count)
{
	for (int turn = 0; turn < count; turn++) {
		nccl_check(ncclGroupStart(), "ncclGroupStart");
		for (int gpu = 0; gpu < gpus; gpu++)
			nccl_check(ncclAllReduce(buffers[gpu], buffers[gpu], values, ncclFloat, ncclSum,
					   communicators[gpu], streams[gpu]),
				"ncclAllReduce");
		nccl_check(ncclGroupEnd(), "ncclGroupEnd");
	}
}

static void wait_all(void)
{
	for (int gpu = 0; gpu < gpus; gpu++) {
		cuda_check(cudaSetDevice(gpu), "cudaSetDevice");
		cuda_check(cudaStreamSynchronize(streams[gpu]), "cudaStreamSynchronize");
	}
}

int main(int argc, char **argv)
{
	static const size_t sizes_mib[] = { 8, 64, 256, 512 };
	const size_t largest = (size_t)512 << 20;
	gpus = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0;
	if (gpus < 1 || gpus > GPUS_MAX) {
		fprintf(stderr, "usage: allreduce_reference GPUS\n");
		return 2;
	}
	for (int gpu = 0; gpu < gpus; gpu++) {
		cuda_check(cudaSetDevice(gpu), "cudaSetDevice");
		cuda_check(cudaMalloc(&buffers[gpu], largest), "cudaMalloc");
		cuda_check(cudaMemset(buffers[gpu], 0, largest), "cudaMemset");
		cuda_check(
			cudaStreamCreateWithFlags(&streams[gpu], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
	}
	nccl_check(ncclCommInitAll(communicators, gpus, NULL), "ncclCommInitAll");
	for (size_t i = 0; i < sizeof sizes_mib / sizeof *sizes_mib; i++) {
		size_t bytes = sizes_mib[i] << 20, values = bytes / sizeof(float);
		enqueue(values, WARM_UP);
		wait_all();
		double began = now();
		enqueue(values, REPEATS);
		wait_all();
		double seconds = (now() - began) / REPEATS, algbw = (double)bytes / 1e9 / seconds;
		printf("{\"by\": \"nccl\", \"what\": \"busbw\", \"bytes\": %zu, \"ranks\": %d, \"us\": %.2f, \"gbps\": "
		       "%.2f}\n",
			bytes, gpus, seconds * 1e6, algbw * 2 * (gpus - 1) / gpus);
	}
	for (int gpu = 0; gpu < gpus; gpu++)
		ncclCommDestroy(communicators[gpu]);
	return 0;
}

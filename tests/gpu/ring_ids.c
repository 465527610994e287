/* SPDX-License-Identifier: Apache-2.0 */
/* ring_ids.c - a communicator whose ids come from several processes, as muster makes it for large rings
 *
 * usage: ring_ids        on two GPUs of one host, one process each; says ok, or what went wrong and exits with 1
 *
 * Build: cc ring_ids.c -I$CUDA_HOME/include -L$CUDA_HOME/lib64 -lcudart -lnccl. Muster makes one id for up to 256
 * ranks, so that on a host with few GPUs it never calls ncclCommInitRankScalable itself.
 */
#define _DEFAULT_SOURCE
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 2, COUNT = 1 << 20 };

#define MUST(call, good)                                                                                               \
	do {                                                                                                           \
		int said = (int)(call);                                                                                \
		if (said != (good)) {                                                                                  \
			fprintf(stderr, "rank %d: %s: %d\n", rank, #call, said);                                       \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static void settle(int rank, ncclComm_t comm)
{
	ncclResult_t state = ncclInProgress;
	while (state == ncclInProgress) {
		usleep(1000);
		MUST(ncclCommGetAsyncError(comm, &state), ncclSuccess);
	}
	MUST(state, ncclSuccess);
}

/* Both ranks get the ids in the order of the ranks that made them. */
static void share_ids(int rank, int to, int from, ncclUniqueId ids[RANKS])
{
	MUST(ncclGetUniqueId(&ids[rank]), ncclSuccess);
	MUST(write(to, &ids[rank], sizeof ids[rank]) == sizeof ids[rank], 1);
	MUST(read(from, &ids[1 - rank], sizeof ids[0]) == sizeof ids[0], 1);
}

static void run(int rank, int to, int from)
{
	ncclUniqueId ids[RANKS];
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t comm;
	struct timespec began, ended;
	float *values, *sums;
	cudaStream_t stream;
	config.blocking = 0;
	MUST(cudaSetDevice(rank), cudaSuccess);
	MUST(cudaMallocHost((void **)&values, COUNT * sizeof *values), cudaSuccess);
	MUST(cudaMalloc((void **)&sums, COUNT * sizeof *sums), cudaSuccess);
	MUST(cudaStreamCreate(&stream), cudaSuccess);
	for (int i = 0; i < COUNT; i++)
		values[i] = (float)(rank + i % 100);
	MUST(cudaMemcpy(sums, values, COUNT * sizeof *sums, cudaMemcpyHostToDevice), cudaSuccess);
	share_ids(rank, to, from, ids);
	clock_gettime(CLOCK_MONOTONIC, &began);
	ncclResult_t result = ncclCommInitRankScalable(&comm, RANKS, rank, RANKS, ids, &config);
	MUST(result == ncclSuccess || result == ncclInProgress, 1);
	settle(rank, comm);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	result = ncclAllReduce(sums, sums, COUNT, ncclFloat32, ncclSum, comm, stream);
	MUST(result == ncclSuccess || result == ncclInProgress, 1);
	settle(rank, comm);
	MUST(cudaStreamSynchronize(stream), cudaSuccess);
	MUST(cudaMemcpy(values, sums, COUNT * sizeof *sums, cudaMemcpyDeviceToHost), cudaSuccess);
	for (int i = 0; i < COUNT; i++)
		MUST(values[i] == (float)(1 + 2 * (i % 100)), 1);
	printf("rank %d: ok, %.0f ms\n", rank,
		(double)(ended.tv_sec - began.tv_sec) * 1e3 + (double)(ended.tv_nsec - began.tv_nsec) / 1e6);
	exit(0);
}

int main(void)
{
	int there[2], back[2], bad = 0, status;
	if (pipe(there) < 0 || pipe(back) < 0)
		return 1;
	for (int rank = 0; rank < RANKS; rank++)
		if (fork() == 0)
			run(rank, rank == 0 ? there[1] : back[1], rank == 0 ? back[0] : there[0]);
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_nccl.c - libnccl.so.2's stand-in moves and sums data between processes
 */
#include "standins/example.h"

#include "probes/gpu/kernels.h"
#include "vendor/nccl_abi.h"
#include "sim/standins/base.h"

#include "check_main.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WINDOW MUSTER_STANDIN_WINDOW
#define RANKS 4
#define PERIOD 8191 /* elements; times 8 bytes it divides the window */

static struct {
#define X(symbol, parameters) CUresult(*symbol) parameters;
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
} cuda;
static struct {
#define X(symbol, parameters) ncclResult_t(*symbol) parameters;
	MUSTER_NCCL_FUNCTIONS(X)
	MUSTER_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
	const char *(*ncclGetErrorString)(ncclResult_t result);
	const char *(*ncclGetLastError)(ncclComm_t comm);
} nccl;

#define CUDA_OK(call) ck_assert_int_eq(cuda.call, CUDA_SUCCESS)
#define OK(call) ck_assert_int_eq(nccl.call, ncclSuccess)

static void open_libraries(void)
{
	void *library = example_open("libcuda.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &cuda.symbol, sizeof cuda.symbol);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
	library = example_open("libnccl.so.2");
#define X(symbol, parameters) example_find(library, #symbol, &nccl.symbol, sizeof nccl.symbol);
	MUSTER_NCCL_FUNCTIONS(X)
	MUSTER_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
	example_find(library, "ncclGetErrorString", &nccl.ncclGetErrorString, sizeof nccl.ncclGetErrorString);
	example_find(library, "ncclGetLastError", &nccl.ncclGetLastError, sizeof nccl.ncclGetLastError);
}

static void start(void)
{
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_FILE");
	unsetenv("NCCL_DEBUG_SUBSYS");
	example_start(example_cluster(), 0);
}

/* Change the scenario in a test. */
static void restart(void)
{
	example_end();
	example_start(example_cluster(), 0);
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

/* An id for the ranks, which could not hear of it otherwise. Made by a process of its own: a process in which a
 * stand-in has read its rank keeps it, and so do its children. */
static ncclUniqueId new_id(void)
{
	ncclUniqueId id;
	int ends[2], status;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t maker = fork();
	if (maker == 0) {
		open_libraries();
		OK(ncclGetUniqueId(&id));
		ck_assert_int_eq(write(ends[1], &id, sizeof id), sizeof id);
		exit(0);
	}
	ck_assert_int_eq(read(ends[0], &id, sizeof id), sizeof id);
	ck_assert_int_eq(waitpid(maker, &status, 0), maker);
	close(ends[0]);
	close(ends[1]);
	return id;
}

static void take_gpu(int device)
{
	CUcontext context;
	CUDA_OK(cuInit(0));
	CUDA_OK(cuDevicePrimaryCtxRetain(&context, device));
	CUDA_OK(cuCtxSetCurrent(context));
}

static ncclResult_t settle(ncclComm_t comm)
{
	ncclResult_t state = ncclInProgress;
	for (;;) {
		OK(ncclCommGetAsyncError(comm, &state));
		if (state != ncclInProgress)
			return state;
		pause_briefly();
	}
}

static ncclComm_t join(ncclUniqueId id, int rank, int ranks)
{
	ncclComm_t comm = NULL;
	ncclConfig_t config = { sizeof config, MUSTER_NCCL_CONFIG_MAGIC, MUSTER_NCCL_CONFIG_VERSION, 0 };
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, ranks, id, rank, &config), ncclInProgress);
	ck_assert_int_eq(settle(comm), ncclSuccess);
	return comm;
}

/* Begin in the process of a rank: a GPU, and a stream of it. */
static CUstream start_rank(int rank)
{
	CUstream stream;
	open_libraries();
	take_gpu(rank % EXAMPLE_GPUS);
	CUDA_OK(cuStreamCreate(&stream, 0));
	return stream;
}

static void end_rank(int rank, ncclComm_t comm)
{
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank % EXAMPLE_GPUS));
}

static void all_reduce(ncclComm_t comm, CUdeviceptr send, CUdeviceptr receive, size_t count, ncclDataType_t type,
	ncclRedOp_t op, CUstream stream)
{
	ncclResult_t result = nccl.ncclAllReduce(
		(const void *)(uintptr_t)send, (void *)(uintptr_t)receive, count, type, op, comm, stream);
	ck_assert(result == ncclSuccess || result == ncclInProgress);
	if (result == ncclInProgress)
		ck_assert_int_eq(settle(comm), ncclSuccess);
}

static void finish(CUstream stream)
{
	CUresult result;
	while ((result = cuda.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
		pause_briefly();
	ck_assert_int_eq(result, CUDA_SUCCESS);
}

static void abort_rank(int rank, ncclComm_t comm, CUstream stream)
{
	OK(ncclCommAbort(comm));
	finish(stream);
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank % EXAMPLE_GPUS));
}

/* The ranks' calls do not agree: the stream ends, and the communicator says why. */
static void end_in_misuse(int rank, ncclComm_t comm, CUstream stream)
{
	ncclResult_t state = settle(comm);
	ck_assert(state == ncclSuccess || state == ncclInvalidUsage);
	while (cuda.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
		pause_briefly();
	ck_assert_int_eq(settle(comm), ncclInvalidUsage);
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank % EXAMPLE_GPUS));
}

/* Rank-dependent whole numbers, periodic in memory. */
static double value_of(int rank, size_t i)
{
	return (double)((rank + 1) * 1000 + (int)(i % PERIOD));
}

static void upload(CUdeviceptr to, int rank, size_t count, CUstream stream)
{
	float *host = malloc(count * sizeof *host);
	for (size_t i = 0; i < count; i++)
		host[i] = (float)value_of(rank, i);
	CUDA_OK(cuMemcpyHtoDAsync_v2(to, host, count * sizeof *host, stream));
	finish(stream);
	free(host);
}

/* How many of the values are not what `ranks` ranks give, and where the first of them is. */
static size_t count_wrong(CUdeviceptr from, int ranks, size_t count, ncclRedOp_t op, CUstream stream, size_t *ret_first)
{
	size_t wrong = 0;
	float *host = malloc(count * sizeof *host);
	CUDA_OK(cuMemcpyDtoHAsync_v2(host, from, count * sizeof *host, stream));
	finish(stream);
	for (size_t i = 0; i < count; i++) {
		double found = (double)host[i], sum = 0;
		for (int rank = 0; rank < ranks; rank++)
			sum += value_of(rank, i);
		if (found != (op == ncclMax ? value_of(ranks - 1, i) : sum) && wrong++ == 0)
			*ret_first = i;
	}
	free(host);
	return wrong;
}

/* -- sums -- */

static const size_t counts[] = { 1, 2, 3, 1000, WINDOW / 8, WINDOW / 4, WINDOW, 3 * WINDOW, 7 };

static void sum_ranks(int rank, void *arg)
{
	CUdeviceptr send, receive;
	CUstream stream;
	open_libraries();
	take_gpu(rank);
	CUDA_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, RANKS);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		size_t count = counts[i], bytes = count * sizeof(float), first;
		CUDA_OK(cuMemAlloc_v2(&send, bytes));
		CUDA_OK(cuMemAlloc_v2(&receive, bytes));
		upload(send, rank, count, stream);
		all_reduce(comm, send, receive, count, ncclFloat32, ncclMax, stream);
		finish(stream);
		ck_assert_uint_eq(count_wrong(receive, RANKS, count, ncclMax, stream, &first), 0);
		all_reduce(comm, send, receive, count, ncclFloat32, ncclSum, stream);
		all_reduce(comm, send, send, count, ncclFloat32, ncclSum, stream);
		finish(stream);
		ck_assert_uint_eq(count_wrong(receive, RANKS, count, ncclSum, stream, &first), 0);
		ck_assert_uint_eq(count_wrong(send, RANKS, count, ncclSum, stream, &first), 0);
		CUDA_OK(cuMemFree_v2(send));
		CUDA_OK(cuMemFree_v2(receive));
	}
	end_rank(rank, comm);
}

TEST(sums_are_right_at_every_size_in_and_out_of_place)
{
	ncclUniqueId id = new_id();
	example_ranks(RANKS, sum_ranks, &id);
}

static void queue_ranks(int rank, void *arg)
{
	enum { MANY = 50, COUNT = 512 };
	CUdeviceptr buffer;
	float host[COUNT];
	CUstream stream = start_rank(rank);
	CUDA_OK(cuMemAlloc_v2(&buffer, sizeof host));
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 2);
	CUDA_OK(cuMemsetD32Async(buffer, 0x3f800000, COUNT, stream)); /* 1.0f */
	for (int i = 0; i < 12; i++)
		all_reduce(comm, buffer, buffer, COUNT, ncclFloat32, ncclSum, stream);
	for (int i = 0; i < MANY; i++)
		all_reduce(comm, buffer, buffer, COUNT - (size_t)i, ncclFloat32, ncclMax, stream);
	CUDA_OK(cuMemcpyDtoHAsync_v2(host, buffer, sizeof host, stream));
	finish(stream);
	ck_assert_float_eq(host[0], 4096);
	ck_assert_float_eq(host[COUNT - 1], 4096);
	end_rank(rank, comm);
}

TEST(many_all_reduces_may_wait_in_the_stream)
{
	ncclUniqueId id = new_id();
	example_ranks(2, queue_ranks, &id);
}

static void repeat_ranks(int rank, void *arg)
{
	ncclUniqueId *ids = arg;
	CUdeviceptr buffer;
	size_t first;
	CUstream stream = start_rank(rank);
	CUDA_OK(cuMemAlloc_v2(&buffer, 4096));
	for (int i = 0; i < 3; i++) {
		/* the last two ranks stay away from the second communicator */
		int ranks = i == 1 ? 2 : RANKS;
		if (rank >= ranks)
			continue;
		ncclComm_t comm = join(ids[i], rank, ranks);
		upload(buffer, rank, 1024, stream);
		all_reduce(comm, buffer, buffer, 1024, ncclFloat32, ncclSum, stream);
		finish(stream);
		ck_assert_uint_eq(count_wrong(buffer, ranks, 1024, ncclSum, stream, &first), 0);
		OK(ncclCommAbort(comm));
	}
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank));
}

TEST(communicators_may_follow_each_other)
{
	ncclUniqueId ids[3] = { new_id(), new_id(), new_id() };
	example_ranks(RANKS, repeat_ranks, ids);
}

/* -- faults -- */

static void wrong_ranks(int rank, void *arg)
{
	CUdeviceptr buffer;
	size_t count = 2 * WINDOW / sizeof(float), first = 0;
	CUstream stream = start_rank(rank);
	CUDA_OK(cuMemAlloc_v2(&buffer, count * sizeof(float)));
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, RANKS);
	upload(buffer, rank, count, stream);
	all_reduce(comm, buffer, buffer, count, ncclFloat32, ncclSum, stream);
	finish(stream);
	size_t wrong = count_wrong(buffer, RANKS, count, ncclSum, stream, &first);
	ck_assert_uint_eq(wrong, rank == 2 ? 2 : 0); /* one in the window, which is there twice */
	ck_assert(rank != 2 || first > 0);
	end_rank(rank, comm);
}

TEST(a_wrong_sum_is_wrong_on_its_rank_alone)
{
	struct muster_sim_cluster *cluster = example_cluster();
	cluster->ranks[2].nccl_wrong_sum = true;
	example_end();
	example_start(cluster, 0);
	ncclUniqueId id = new_id();
	example_ranks(RANKS, wrong_ranks, &id);
}

struct muster_allreduce_timing {
	ncclUniqueId id;
	int ranks;
	double busbw, slow;
	size_t bytes;
};

static void timing_ranks(int rank, void *arg)
{
	const struct muster_allreduce_timing *timing = arg;
	CUdeviceptr buffer;
	CUevent before, after;
	float ms;
	CUstream stream = start_rank(rank);
	CUDA_OK(cuEventCreate(&before, 0));
	CUDA_OK(cuEventCreate(&after, 0));
	CUDA_OK(cuMemAlloc_v2(&buffer, timing->bytes));
	ncclComm_t comm = join(timing->id, rank, timing->ranks);
	all_reduce(comm, buffer, buffer, 1, ncclFloat32, ncclSum, stream);
	CUDA_OK(cuEventRecord(before, stream));
	all_reduce(comm, buffer, buffer, timing->bytes / sizeof(float), ncclFloat32, ncclSum, stream);
	CUDA_OK(cuEventRecord(after, stream));
	finish(stream);
	CUDA_OK(cuEventElapsedTime(&ms, before, after));
	double ranks = timing->ranks, algbw = (double)timing->bytes / 1e6 / (double)ms;
	ck_assert_double_eq_tol(algbw * 2 * (ranks - 1) / ranks * timing->slow, timing->busbw, timing->busbw * 1e-4);
	end_rank(rank, comm);
}

/* The example's table: 100 GB/s at 1e6 bytes and 200 at 1e8 within a node, 10 and 50 over two. */
static const struct muster_allreduce_timing timings[] = {
	{ .ranks = 4, .bytes = 1000000, .busbw = 100, .slow = 1 },
	{ .ranks = 4, .bytes = 100000000, .busbw = 200, .slow = 1 },
	{ .ranks = 4, .bytes = 10000000, .busbw = 150, .slow = 1 },  /* half way on the logarithm */
	{ .ranks = 4, .bytes = 400000000, .busbw = 200, .slow = 1 }, /* beyond the table */
	{ .ranks = 4, .bytes = 500000, .busbw = 50, .slow = 1 },     /* the time of the smallest */
	{ .ranks = 2, .bytes = 100000000, .busbw = 200, .slow = 1 },
	{ .ranks = 8, .bytes = 100000000, .busbw = 50, .slow = 1 }, /* two nodes */
	{ .ranks = 4, .bytes = 100000000, .busbw = 200, .slow = 2.5 },
};

TEST_EACH(time_follows_the_scenarios_bandwidths_and_the_slowest_rank, timings)
{
	struct muster_sim_cluster *cluster = example_cluster();
	struct muster_allreduce_timing timing = timings[_i];
	cluster->ranks[1].nccl_slow = timing.slow;
	example_end();
	example_start(cluster, 0);
	timing.id = new_id();
	example_ranks(timing.ranks, timing_ranks, &timing);
}

static void duplicate_ranks(int rank, void *arg)
{
	ncclComm_t comm = NULL;
	ncclConfig_t config = { sizeof config, MUSTER_NCCL_CONFIG_MAGIC, MUSTER_NCCL_CONFIG_VERSION, 0 };
	open_libraries();
	take_gpu(rank == 2 ? 1 : rank);
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 3, *(ncclUniqueId *)arg, rank, &config), ncclInProgress);
	ck_assert_int_eq(settle(comm), rank == 0 ? ncclRemoteError : ncclInvalidUsage);
	if (rank == 1)
		ck_assert_str_eq(nccl.ncclGetLastError(comm),
			"Duplicate GPU detected : rank 1 and rank 2 both on CUDA device 30a000");
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank == 2 ? 1 : rank));
}

TEST(two_ranks_on_one_gpu_are_refused)
{
	ncclUniqueId id = new_id();
	example_ranks(3, duplicate_ranks, &id);
}

static void ranks_of_two_ids(int rank, void *arg)
{
	ncclUniqueId *ids = arg;
	ncclComm_t comm = NULL;
	ncclConfig_t config = { sizeof config, MUSTER_NCCL_CONFIG_MAGIC, MUSTER_NCCL_CONFIG_VERSION, 0 };
	open_libraries();
	take_gpu(rank);
	ck_assert_int_eq(nccl.ncclCommInitRankScalable(&comm, 3, rank, 4, ids, &config), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclCommInitRankScalable(&comm, 3, rank, 2, ids, &config), ncclInProgress);
	ck_assert_int_eq(settle(comm), ncclSuccess);
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank));
}

TEST(a_ring_may_have_several_ids)
{
	ncclUniqueId ids[4] = { new_id(), new_id(), new_id(), new_id() };
	example_ranks(3, ranks_of_two_ids, ids);
}

struct barred {
	ncclUniqueId ids[2];
	bool hangs;
};

/* Ranks 0 to 3 are on the first node, and the network does not lead to the second one. */
static void barred_ranks(int rank, void *arg)
{
	const struct barred *barred = arg;
	ncclConfig_t config = { sizeof config, MUSTER_NCCL_CONFIG_MAGIC, MUSTER_NCCL_CONFIG_VERSION, 0 };
	ncclComm_t comm;
	open_libraries();
	take_gpu(rank % EXAMPLE_GPUS);
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 8, barred->ids[0], rank, &config), ncclInProgress);
	for (int i = 0; i < 50 && barred->hangs; i++) {
		ncclResult_t state;
		OK(ncclCommGetAsyncError(comm, &state));
		ck_assert_int_eq(state, ncclInProgress);
		pause_briefly();
	}
	if (!barred->hangs)
		ck_assert_int_eq(settle(comm), ncclRemoteError);
	OK(ncclCommAbort(comm));
	if (rank < 4)
		OK(ncclCommAbort(join(barred->ids[1], rank, 4)));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank % EXAMPLE_GPUS));
}

TEST_LOOP(rings_of_nodes_with_a_barrier_between_them_do_not_work, 0, 2)
{
	struct muster_sim_cluster *cluster = example_cluster();
	static struct muster_sim_partition barrier = { .name = "a cut", .sides = "ab" };
	struct barred barred = { .hangs = _i == 0 };
	barrier.mode = barred.hangs ? "hang" : "error";
	cluster->barriers = &barrier;
	cluster->barrier_count = 1;
	example_end();
	example_start(cluster, 0);
	barred.ids[0] = new_id();
	barred.ids[1] = new_id();
	example_ranks(8, barred_ranks, &barred);
}

static void lonely_ranks(int rank, void *arg)
{
	CUdeviceptr buffer;
	CUstream stream;
	ncclComm_t comm;
	ncclUniqueId *ids = arg;
	ncclConfig_t config = { sizeof config, MUSTER_NCCL_CONFIG_MAGIC, MUSTER_NCCL_CONFIG_VERSION, 0 };
	ncclResult_t state;
	stream = start_rank(rank);
	CUDA_OK(cuMemAlloc_v2(&buffer, 64));
	/* a ring of three to which only two come */
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 3, ids[0], rank, &config), ncclInProgress);
	for (int i = 0; i < 20; i++) {
		OK(ncclCommGetAsyncError(comm, &state));
		ck_assert_int_eq(state, ncclInProgress);
		pause_briefly();
	}
	OK(ncclCommAbort(comm));
	/* an all-reduce that only one of two starts */
	comm = join(ids[1], rank, 2);
	if (rank == 0) {
		all_reduce(comm, buffer, buffer, 16, ncclFloat32, ncclSum, stream);
		for (int i = 0; i < 20; i++) {
			ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
			pause_briefly();
		}
	}
	abort_rank(rank, comm, stream);
}

TEST(who_waits_for_a_missing_rank_can_abort)
{
	ncclUniqueId ids[2] = { new_id(), new_id() };
	example_ranks(2, lonely_ranks, ids);
}

static void differing_ranks(int rank, void *arg)
{
	CUdeviceptr buffer;
	CUstream stream = start_rank(rank);
	CUDA_OK(cuMemAlloc_v2(&buffer, 4096));
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 2);
	void *data = (void *)(uintptr_t)buffer;
	ck_assert_int_eq(nccl.ncclAllReduce(data, data, rank == 0 ? 10 : 20, ncclFloat32, ncclSum, comm, stream),
		ncclInProgress);
	end_in_misuse(rank, comm, stream);
}

TEST(differing_arguments_are_an_error_and_not_a_hang)
{
	ncclUniqueId id = new_id();
	example_ranks(2, differing_ranks, &id);
}

/* -- from one rank to another -- */

#define TILE 8191 /* words of 8 bytes: the period of test data */

static ncclResult_t message(bool sends, CUdeviceptr at, size_t bytes, int peer, ncclComm_t comm, CUstream stream)
{
	return sends ? nccl.ncclSend((const void *)(uintptr_t)at, bytes, ncclUint8, peer, comm, stream)
		     : nccl.ncclRecv((void *)(uintptr_t)at, bytes, ncclUint8, peer, comm, stream);
}

static void end_group(ncclComm_t comm)
{
	ncclResult_t result = nccl.ncclGroupEnd();
	ck_assert_msg(result == ncclSuccess || result == ncclInProgress, "%d", (int)result);
	if (result == ncclInProgress)
		ck_assert_int_eq(settle(comm), ncclSuccess);
}

/* The 8-byte word of a rank's data at a place; another one for each rank. */
static uint64_t word_at(int rank, size_t place)
{
	return (uint64_t)(place % TILE + 1) * 0x9e3779b97f4a7c15u + (uint64_t)rank;
}

static void upload_words(CUdeviceptr to, int rank, size_t bytes, CUstream stream)
{
	uint64_t *host = malloc(bytes + sizeof *host);
	for (size_t i = 0; i <= bytes / sizeof *host; i++)
		host[i] = word_at(rank, i);
	CUDA_OK(cuMemcpyHtoDAsync_v2(to, host, bytes, stream));
	finish(stream);
	free(host);
}

/* Bytes that are not those of the rank's data from byte `first` on. */
static size_t count_wrong_bytes(CUdeviceptr from, int rank, size_t first, size_t bytes, CUstream stream)
{
	unsigned char *host = malloc(bytes);
	size_t wrong = 0;
	CUDA_OK(cuMemcpyDtoHAsync_v2(host, from, bytes, stream));
	finish(stream);
	for (size_t i = 0; i < bytes; i++) {
		uint64_t word = word_at(rank, (first + i) / sizeof word);
		wrong += host[i] != ((unsigned char *)&word)[(first + i) % sizeof word];
	}
	free(host);
	return wrong;
}

struct exchange {
	ncclUniqueId id;
	size_t bytes;
	double seconds;
};

static CUdeviceptr allocate(size_t bytes)
{
	CUdeviceptr pointer;
	CUDA_OK(cuMemAlloc_v2(&pointer, bytes));
	return pointer;
}

static void alltoall_ranks(int rank, void *arg)
{
	const struct exchange *exchange = arg;
	size_t each = exchange->bytes;
	CUstream stream = start_rank(rank);
	CUdeviceptr send = allocate(each * EXAMPLE_RANKS), receive = allocate(each * EXAMPLE_RANKS);
	upload_words(send, rank, each * EXAMPLE_RANKS, stream);
	ncclComm_t comm = join(exchange->id, rank, EXAMPLE_RANKS);
	for (int round = 0; round < 2; round++) {
		OK(ncclGroupStart());
		for (int peer = 0; peer < EXAMPLE_RANKS; peer++) {
			ck_assert_int_eq(message(true, send + (size_t)peer * each, each, peer, comm, stream), 0);
			ck_assert_int_eq(message(false, receive + (size_t)peer * each, each, peer, comm, stream), 0);
		}
		ncclResult_t result = nccl.ncclGroupEnd();
		ck_assert_int_eq(result, round == 0 ? ncclInProgress : ncclSuccess);
		ck_assert_int_eq(settle(comm), ncclSuccess);
		finish(stream);
		for (int peer = 0; peer < EXAMPLE_RANKS; peer++)
			ck_assert_uint_eq(count_wrong_bytes(receive + (size_t)peer * each, peer, (size_t)rank * each,
						  each, stream),
				0);
	}
	end_rank(rank, comm);
}

/* Small, odd, longer than the window, a multiple of it. */
static const size_t alltoall_bytes[] = { 4, 8, 1000, 65529, WINDOW - 4, WINDOW, 3 * WINDOW + 12, 1 << 20 };

TEST_EACH(all_to_all_brings_each_rank_what_each_other_has_for_it, alltoall_bytes)
{
	struct exchange exchange = { .id = new_id(), .bytes = alltoall_bytes[_i] };
	example_ranks(EXAMPLE_RANKS, alltoall_ranks, &exchange);
}

static void gather_ranks(int rank, void *arg)
{
	static const size_t each_bytes[] = { 8, 4096, WINDOW, 1 << 20 };
	CUstream stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, RANKS);
	for (size_t i = 0; i < 2 * sizeof each_bytes / sizeof *each_bytes; i++) {
		size_t each = each_bytes[i / 2];
		CUdeviceptr receive = allocate(each * RANKS), own = receive + (size_t)rank * each;
		CUdeviceptr send = i % 2 ? own : allocate(each);
		upload_words(send, rank, each, stream);
		ncclResult_t result = nccl.ncclAllGather(
			(const void *)(uintptr_t)send, (void *)(uintptr_t)receive, each / 4, ncclFloat32, comm, stream);
		ck_assert_int_eq(result, i == 0 ? ncclInProgress : ncclSuccess);
		ck_assert_int_eq(settle(comm), ncclSuccess);
		finish(stream);
		for (int peer = 0; peer < RANKS; peer++) {
			size_t wrong = count_wrong_bytes(receive + (size_t)peer * each, peer, 0, each, stream);
			ck_assert_msg(wrong == 0, "%zu bytes, from rank %d: %zu wrong", each, peer, wrong);
		}
		CUDA_OK(cuMemFree_v2(receive));
		if (send != own)
			CUDA_OK(cuMemFree_v2(send));
	}
	end_rank(rank, comm);
}

TEST(all_gather_brings_every_ranks_data_in_and_out_of_place)
{
	ncclUniqueId id = new_id();
	example_ranks(RANKS, gather_ranks, &id);
}

static void scatter_ranks(int rank, void *arg)
{
	static const size_t each_counts[] = { 1, 1000, WINDOW / 4, WINDOW };
	CUstream stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, RANKS);
	for (size_t i = 0; i < 4 * sizeof each_counts / sizeof *each_counts; i++) {
		size_t each = each_counts[i / 4], bytes = each * sizeof(float), wrong = 0;
		ncclRedOp_t op = i % 2 ? ncclMax : ncclSum;
		CUdeviceptr send = allocate(bytes * RANKS), own = send + (size_t)rank * bytes;
		CUdeviceptr receive = i / 2 % 2 ? own : allocate(bytes);
		upload(send, rank, each * RANKS, stream);
		ncclResult_t result = nccl.ncclReduceScatter(
			(const void *)(uintptr_t)send, (void *)(uintptr_t)receive, each, ncclFloat32, op, comm, stream);
		ck_assert_int_eq(result, i == 0 ? ncclInProgress : ncclSuccess);
		ck_assert_int_eq(settle(comm), ncclSuccess);
		finish(stream);
		float *host = malloc(bytes);
		CUDA_OK(cuMemcpyDtoHAsync_v2(host, receive, bytes, stream));
		finish(stream);
		for (size_t k = 0; k < each; k++) {
			double sum = 0;
			for (int peer = 0; peer < RANKS; peer++)
				sum += value_of(peer, (size_t)rank * each + k);
			double best = value_of(RANKS - 1, (size_t)rank * each + k);
			wrong += (double)host[k] != (op == ncclMax ? best : sum);
		}
		ck_assert_msg(wrong == 0, "%zu values, case %zu: %zu wrong", each, i, wrong);
		free(host);
		CUDA_OK(cuMemFree_v2(send));
		if (receive != own)
			CUDA_OK(cuMemFree_v2(receive));
	}
	end_rank(rank, comm);
}

TEST(reduce_scatter_sums_the_ranks_parts_in_and_out_of_place)
{
	ncclUniqueId id = new_id();
	example_ranks(RANKS, scatter_ranks, &id);
}

static void broadcast_ranks(int rank, void *arg)
{
	static const size_t each_counts[] = { 1, 1000, WINDOW / 4 };
	CUstream stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, RANKS);
	for (size_t i = 0; i < RANKS * sizeof each_counts / sizeof *each_counts; i++) {
		int root = (int)(i % RANKS);
		size_t count = each_counts[i / RANKS], bytes = count * sizeof(float), wrong = 0;
		CUdeviceptr buffer = allocate(bytes);
		void *data = (void *)(uintptr_t)buffer;
		upload(buffer, rank, count, stream);
		ncclResult_t result = nccl.ncclBroadcast(data, data, count, ncclFloat32, root, comm, stream);
		ck_assert_int_eq(result, i == 0 ? ncclInProgress : ncclSuccess);
		ck_assert_int_eq(settle(comm), ncclSuccess);
		finish(stream);
		float *host = malloc(bytes);
		CUDA_OK(cuMemcpyDtoHAsync_v2(host, buffer, bytes, stream));
		finish(stream);
		for (size_t k = 0; k < count; k++)
			wrong += (double)host[k] != value_of(root, k);
		ck_assert_msg(wrong == 0, "%zu values from rank %d: %zu wrong", count, root, wrong);
		free(host);
		CUDA_OK(cuMemFree_v2(buffer));
	}
	end_rank(rank, comm);
}

TEST(broadcast_brings_the_roots_data_to_all)
{
	ncclUniqueId id = new_id();
	example_ranks(RANKS, broadcast_ranks, &id);
}

/* What kernels check. */
struct kernels {
	CUmodule module;
	CUfunction fill, verify, compare;
};

static struct kernels load_kernels(void)
{
	static const char text[] = ".version 7.0\n.entry muster_fill(\n.entry muster_verify(\n.entry muster_compare(\n";
	struct kernels kernels;
	CUDA_OK(cuModuleLoadDataEx(&kernels.module, text, 0, NULL, NULL));
	CUDA_OK(cuModuleGetFunction(&kernels.fill, kernels.module, "muster_fill"));
	CUDA_OK(cuModuleGetFunction(&kernels.verify, kernels.module, "muster_verify"));
	CUDA_OK(cuModuleGetFunction(&kernels.compare, kernels.module, "muster_compare"));
	return kernels;
}

static void launch(CUfunction function, void **parameters, CUstream stream)
{
	CUDA_OK(cuLaunchKernel(function, 64, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
	finish(stream);
}

/* Wrong 16-byte words. */
static uint64_t run_report(CUfunction function, CUdeviceptr range, CUdeviceptr expected, size_t bytes,
	const struct muster_pattern *pattern, CUstream stream)
{
	CUdeviceptr report = allocate(sizeof(struct muster_kernel_report));
	struct muster_kernel_report found;
	uint64_t words = bytes / MUSTER_KERNEL_WORD;
	struct muster_pattern p = pattern ? *pattern : (struct muster_pattern){ 0 };
	void *verify[] = { &range, &words, &p.seed, &p.and_mask, &p.or_mask, &p.xor_mask, &report };
	void *compare[] = { &range, &expected, &words, &report };
	CUDA_OK(cuMemsetD32Async(report, 0, sizeof found / 4, stream));
	launch(function, pattern ? verify : compare, stream);
	CUDA_OK(cuMemcpyDtoHAsync_v2(&found, report, sizeof found, stream));
	finish(stream);
	CUDA_OK(cuMemFree_v2(report));
	return found.wrong;
}

/* Each rank has a pattern of its own, and data from the host, in one buffer each. */
static void kernel_ranks(int rank, void *arg)
{
	const struct exchange *exchange = arg;
	size_t each = exchange->bytes, all = each * RANKS;
	const bool wrong = rank == 1 && exchange->seconds > 0;
	CUstream stream = start_rank(rank);
	struct kernels kernels = load_kernels();
	ncclComm_t comm = join(exchange->id, rank, RANKS);
	CUdeviceptr send = allocate(all), receive = allocate(all), expected = allocate(all);
	struct muster_pattern patterns[RANKS];
	for (int i = 0; i < RANKS; i++)
		patterns[i] = (struct muster_pattern){ .seed = (uint64_t)(i + 1) << 40, .and_mask = UINT64_MAX };
	for (int kind = 0; kind < 2; kind++) {
		uint64_t words = all / MUSTER_KERNEL_WORD;
		void *fill[] = { &send, &words, &patterns[rank].seed, &patterns[rank].and_mask, &patterns[rank].or_mask,
			&patterns[rank].xor_mask };
		if (kind == 0)
			launch(kernels.fill, fill, stream);
		else
			upload_words(send, rank, all, stream);
		OK(ncclGroupStart());
		for (int peer = 0; peer < RANKS; peer++) {
			size_t at = (size_t)peer * each;
			ck_assert_int_eq(message(true, send + at, each, peer, comm, stream), ncclSuccess);
			ck_assert_int_eq(message(false, receive + at, each, peer, comm, stream), ncclSuccess);
		}
		end_group(comm);
		finish(stream);
		for (int peer = 0; peer < RANKS; peer++) {
			struct muster_pattern shifted = patterns[peer];
			CUdeviceptr from = receive + (size_t)peer * each;
			uint64_t found;
			shifted.seed += (size_t)rank * each / 8;
			upload_words(expected, peer, all, stream);
			if (kind == 0)
				found = run_report(kernels.verify, from, 0, each, &shifted, stream);
			else
				found = run_report(
					kernels.compare, from, expected + (size_t)rank * each, each, NULL, stream);
			ck_assert_msg(found == (wrong ? 1 : 0), "kind %d, from rank %d: %llu wrong", kind, peer,
				(unsigned long long)found);
			/* another rank's data does not pass for it */
			upload_words(expected, peer + 1, all, stream);
			shifted.seed++;
			if (kind == 0)
				found = run_report(kernels.verify, from, 0, each, &shifted, stream);
			else
				found = run_report(
					kernels.compare, from, expected + (size_t)rank * each, each, NULL, stream);
			ck_assert_uint_eq(found, each / MUSTER_KERNEL_WORD);
		}
	}
	end_rank(rank, comm);
}

TEST_LOOP(kernels_find_what_was_received_right_and_one_wrong_bit_of_it, 0, 8)
{
	static const size_t each_bytes[] = { 4096, WINDOW, 1 << 20, 6 << 20 };
	struct muster_sim_cluster *cluster = example_cluster();
	struct exchange exchange = { .bytes = each_bytes[_i / 2], .seconds = _i % 2 };
	cluster->ranks[1].exchange_wrong = _i % 2;
	example_end();
	example_start(cluster, 0);
	exchange.id = new_id();
	example_ranks(RANKS, kernel_ranks, &exchange);
}

static float measure_group(
	ncclComm_t comm, int peer, CUdeviceptr send, CUdeviceptr receive, size_t bytes, CUstream stream)
{
	CUevent before, after;
	float ms;
	CUDA_OK(cuEventCreate(&before, 0));
	CUDA_OK(cuEventCreate(&after, 0));
	for (int round = 0; round < 2; round++) {
		CUDA_OK(cuEventRecord(before, stream));
		OK(ncclGroupStart());
		ck_assert_int_eq(message(true, send, bytes, peer, comm, stream), ncclSuccess);
		ck_assert_int_eq(message(false, receive, bytes, peer, comm, stream), ncclSuccess);
		end_group(comm);
		CUDA_OK(cuEventRecord(after, stream));
		finish(stream);
	}
	CUDA_OK(cuEventElapsedTime(&ms, before, after));
	return ms;
}

/* Ranks 0 and 1 exchange, and 2 and 3, while rank 4 waits for rank 5, which never comes. */
static void pair_ranks(int rank, void *arg)
{
	CUstream stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 6);
	CUdeviceptr send = allocate(1 << 20), receive = allocate(1 << 20);
	upload_words(send, rank, 1 << 20, stream);
	if (rank < 4) {
		measure_group(comm, rank ^ 1, send, receive, 1 << 20, stream);
		ck_assert_uint_eq(count_wrong_bytes(receive, rank ^ 1, 0, 1 << 20, stream), 0);
	} else if (rank == 4) {
		ncclResult_t state;
		OK(ncclGroupStart());
		ck_assert_int_eq(message(false, receive, 8, 5, comm, stream), ncclSuccess);
		ck_assert_int_eq(nccl.ncclGroupEnd(), ncclInProgress);
		for (int i = 0; i < 20; i++) {
			OK(ncclCommGetAsyncError(comm, &state));
			ck_assert_int_eq(state, ncclInProgress);
			pause_briefly();
		}
	}
	abort_rank(rank, comm, stream);
}

TEST(pairs_exchange_beside_a_pair_of_which_one_never_comes)
{
	ncclUniqueId id = new_id();
	example_ranks(6, pair_ranks, &id);
}

static void change_nothing(struct muster_sim_cluster *cluster);

/* Ranks 0 to 3 are on one node, 4 to 7 on the other, which have 1 channel together and 32 each. The last rank comes
 * late to the split. */
static void split_ranks(int rank, void *arg)
{
	static ncclComm_t child;
	ncclResult_t state;
	CUstream stream = start_rank(rank);
	double began_ms = 1e3 * muster_standin_host_now();
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 8);
	ck_assert_double_eq_tol(1e3 * muster_standin_host_now() - began_ms, 350 + 8 * 40, 1e-3);
	CUdeviceptr send = allocate(64 << 20), receive = allocate(64 << 20);
	double slow = (double)measure_group(comm, rank ^ 1, send, receive, 64 << 20, stream);
	ck_assert_int_eq(nccl.ncclCommSplit(comm, rank / 4 * 4, -rank, &child, NULL), ncclInProgress);
	for (int i = 0; i < 20 && rank < 7; i++) {
		OK(ncclCommGetAsyncError(comm, &state));
		ck_assert_int_eq(state == ncclSuccess, child != NULL);
		pause_briefly();
	}
	began_ms = 1e3 * muster_standin_host_now();
	ck_assert_int_eq(settle(comm), ncclSuccess);
	ck_assert_int_eq(settle(child), ncclSuccess);
	ck_assert_double_eq_tol(1e3 * muster_standin_host_now() - began_ms, 32, 1e-3);
	upload_words(send, rank, 64 << 20, stream);
	int number = 3 - rank % 4; /* the keys count backwards */
	double fast = (double)measure_group(child, number ^ 1, send, receive, 64 << 20, stream);
	ck_assert_double_eq_tol(slow / fast, 265 / 21.6, 0.1);
	ck_assert_uint_eq(count_wrong_bytes(receive, rank ^ 1, 0, 64 << 20, stream), 0);
	measure_group(comm, rank ^ 4, send, receive, 64, stream);
	OK(ncclCommAbort(child));
	abort_rank(rank, comm, stream);
}

TEST(a_split_waits_for_all_ranks_and_has_channels_of_its_own)
{
	struct muster_sim_cluster *cluster = example_cluster();
	change_nothing(cluster);
	example_end();
	example_start(cluster, 0);
	ncclUniqueId id = new_id();
	example_ranks(8, split_ranks, &id);
}

/* Both connect; then only rank 0 comes to the second exchange. */
static void late_ranks(int rank, void *arg)
{
	CUstream stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 2);
	CUdeviceptr send = allocate(64), receive = allocate(64);
	measure_group(comm, 1 - rank, send, receive, 64, stream);
	if (rank == 0) {
		ck_assert_int_eq(message(true, send, 64, 1, comm, stream), ncclSuccess);
		for (int i = 0; i < 20; i++) {
			ck_assert_int_eq(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
			pause_briefly();
		}
	}
	abort_rank(rank, comm, stream);
}

TEST(a_send_waits_for_its_receiver_until_it_is_aborted)
{
	ncclUniqueId id = new_id();
	example_ranks(2, late_ranks, &id);
}

static void mismatch_ranks(int rank, void *arg)
{
	CUstream stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 2);
	CUdeviceptr buffer = allocate(64);
	ck_assert_int_eq(message(rank == 0, buffer, rank == 0 ? 8 : 16, 1 - rank, comm, stream), ncclInProgress);
	end_in_misuse(rank, comm, stream);
}

TEST(differing_lengths_of_a_message_are_an_error_and_not_a_hang)
{
	ncclUniqueId id = new_id();
	example_ranks(2, mismatch_ranks, &id);
}

TEST(arguments_of_messages_and_groups_are_checked)
{
	ncclUniqueId id;
	CUstream stream;
	restart();
	open_libraries();
	OK(ncclGetUniqueId(&id));
	take_gpu(0);
	ncclComm_t comm = join(id, 0, 1);
	CUDA_OK(cuStreamCreate(&stream, 0));
	CUdeviceptr buffer = allocate(64);
	void *data = (void *)(uintptr_t)buffer;
	ck_assert_int_eq(nccl.ncclSend(data, 65, ncclUint8, 0, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclRecv(&id, 8, ncclUint8, 0, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclSend(data, 8, ncclUint8, 1, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclAllGather(data, data, 17, ncclFloat32, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(
		nccl.ncclReduceScatter(data, data, 4, ncclFloat64, ncclSum, comm, stream), ncclInvalidArgument);
	/* a group with one bad call does nothing, and says so at its end */
	CUDA_OK(cuMemsetD32Async(buffer, 7, 16, stream));
	OK(ncclGroupStart());
	OK(ncclGroupStart());
	OK(ncclSend(data, 8, ncclUint8, 0, comm, stream));
	OK(ncclRecv((char *)data + 8, 8, ncclUint8, 0, comm, stream));
	OK(ncclGroupEnd());
	ck_assert_int_eq(nccl.ncclSend(data, 8, ncclUint8, 9, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclGroupEnd(), ncclInvalidArgument);
	CUDA_OK(cuStreamQuery(stream));
	/* and the next one works */
	OK(ncclGroupStart());
	OK(ncclSend(data, 8, ncclUint8, 0, comm, stream));
	OK(ncclRecv((char *)data + 8, 8, ncclUint8, 0, comm, stream));
	end_group(comm);
	finish(stream);
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* -- how long it takes -- */

enum traffic { PAIR, ALLTOALL, ALLGATHER, REDUCESCATTER, ALLREDUCE };

struct timed {
	enum traffic traffic;
	int ranks, peer; /* of rank 0 and, in a pair, the other one */
	size_t bytes;
	double gbps; /* as nccl-tests count: each way, or bus bandwidth */
	void (*change)(struct muster_sim_cluster *cluster);
	ncclUniqueId id;
};

static void call(
	const struct timed *t, int rank, ncclComm_t comm, CUdeviceptr send, CUdeviceptr receive, CUstream stream)
{
	void *from = (void *)(uintptr_t)send, *to = (void *)(uintptr_t)receive;
	size_t count = t->bytes / sizeof(float), each = t->bytes / (size_t)t->ranks;
	OK(ncclGroupStart());
	for (int i = 0; i < (t->traffic == PAIR ? 1 : t->traffic == ALLTOALL ? t->ranks : 0); i++) {
		int peer = t->traffic == ALLTOALL ? i : rank == 0 ? t->peer : 0;
		size_t bytes = t->traffic == ALLTOALL ? each : t->bytes;
		ck_assert_int_eq(message(true, send + (size_t)i * bytes, bytes, peer, comm, stream), ncclSuccess);
		ck_assert_int_eq(message(false, receive + (size_t)i * bytes, bytes, peer, comm, stream), ncclSuccess);
	}
	if (t->traffic == ALLGATHER)
		OK(ncclAllGather(from, to, count / (size_t)t->ranks, ncclFloat32, comm, stream));
	if (t->traffic == REDUCESCATTER)
		OK(ncclReduceScatter(from, to, count / (size_t)t->ranks, ncclFloat32, ncclSum, comm, stream));
	if (t->traffic == ALLREDUCE)
		OK(ncclAllReduce(from, to, count, ncclFloat32, ncclSum, comm, stream));
	end_group(comm);
}

static void timed_ranks(int rank, void *arg)
{
	const struct timed *t = arg;
	CUevent before, after;
	float ms;
	CUstream stream = start_rank(rank);
	CUDA_OK(cuEventCreate(&before, 0));
	CUDA_OK(cuEventCreate(&after, 0));
	ncclComm_t comm = join(t->id, rank, t->ranks);
	if (t->traffic != PAIR || rank == 0 || rank == t->peer) {
		CUdeviceptr send = allocate(t->bytes), receive = allocate(t->bytes);
		call(t, rank, comm, send, receive, stream);
		CUDA_OK(cuEventRecord(before, stream));
		call(t, rank, comm, send, receive, stream);
		CUDA_OK(cuEventRecord(after, stream));
		finish(stream);
		CUDA_OK(cuEventElapsedTime(&ms, before, after));
		double ranks = t->ranks, algbw = (double)t->bytes / 1e6 / (double)ms;
		const double factors[] = { [PAIR] = 1,
			[ALLTOALL] = (ranks - 1) / ranks,
			[ALLGATHER] = (ranks - 1) / ranks,
			[REDUCESCATTER] = (ranks - 1) / ranks,
			[ALLREDUCE] = 2 * (ranks - 1) / ranks };
		ck_assert_double_eq_tol(algbw * factors[t->traffic], t->gbps, t->gbps * 0.01);
	}
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank % EXAMPLE_GPUS));
}

/* Of H200; ranks of a node use one adapter of 25 GB/s. */
static void change_nothing(struct muster_sim_cluster *cluster)
{
	for (int node = 0; node < EXAMPLE_NODES; node++)
		for (int i = 0; i < EXAMPLE_GPUS; i++) {
			cluster->nodes[node].gpus[i].nvlinks_active = cluster->nodes[node].gpus[i].nvlinks = 18;
			cluster->nodes[node].gpus[i].nvlink_mbps = 26562;
			cluster->nodes[node].gpus[i].nvlink_group = EXAMPLE_GPUS;
		}
}

static void slow_edge(struct muster_sim_cluster *cluster)
{
	change_nothing(cluster);
	cluster->nodes[0].gpus[2].edge_gbps = 40; /* rank 1: CUDA counts backwards */
}

static void slow_rail(struct muster_sim_cluster *cluster)
{
	change_nothing(cluster);
	cluster->nodes[1].ports[0].rail_gbps = 4;
}

static void slow_link(struct muster_sim_cluster *cluster)
{
	static struct muster_sim_link link = { .name = "link", .gbps = 30 };
	change_nothing(cluster);
	link.from_gpu = cluster->nodes[0].gpus[2].bus_id; /* ranks 1 and 2 */
	link.to_gpu = cluster->nodes[0].gpus[1].bus_id;
	cluster->links = &link;
	cluster->link_count = 1;
}

static void slow_rank(struct muster_sim_cluster *cluster)
{
	change_nothing(cluster);
	cluster->ranks[1].nccl_slow = 4;
}

static void slow_net(struct muster_sim_cluster *cluster)
{
	static struct muster_sim_partition barrier = { .name = "a cut", .sides = "ab", .mode = "slow" };
	change_nothing(cluster);
	cluster->barriers = &barrier;
	cluster->barrier_count = 1;
}

static void fewer_links(struct muster_sim_cluster *cluster)
{
	change_nothing(cluster);
	cluster->nodes[0].gpus[2].nvlinks_active = 9;
}

static void no_links(struct muster_sim_cluster *cluster)
{
	for (int i = 0; i < EXAMPLE_GPUS; i++)
		cluster->nodes[0].gpus[i].nvlink_group = 1;
}

#define SIZE_MIB ((size_t)1 << 20)

static const struct timed timed[] = {
	/* nccl-tests on two H200 */
	{ PAIR, 2, 1, 8 * SIZE_MIB, 168, change_nothing, { "" } },
	{ PAIR, 2, 1, 64 * SIZE_MIB, 265, change_nothing, { "" } },
	{ PAIR, 2, 1, 512 * SIZE_MIB, 354, change_nothing, { "" } },
	{ ALLTOALL, 2, 0, 8 * SIZE_MIB, 134, change_nothing, { "" } },
	{ ALLTOALL, 2, 0, 64 * SIZE_MIB, 244, change_nothing, { "" } },
	{ ALLTOALL, 2, 0, 512 * SIZE_MIB, 296, change_nothing, { "" } },
	{ ALLGATHER, 2, 0, 8 * SIZE_MIB, 113, change_nothing, { "" } },
	{ ALLGATHER, 2, 0, 64 * SIZE_MIB, 215, change_nothing, { "" } },
	{ ALLGATHER, 2, 0, 512 * SIZE_MIB, 256, change_nothing, { "" } },
	{ REDUCESCATTER, 2, 0, 8 * SIZE_MIB, 119, change_nothing, { "" } },
	{ REDUCESCATTER, 2, 0, 64 * SIZE_MIB, 210, change_nothing, { "" } },
	{ REDUCESCATTER, 2, 0, 512 * SIZE_MIB, 257, change_nothing, { "" } },
	/* a latency: 12 us, and 20 us over the network */
	{ PAIR, 2, 1, 8, 8 / 6.4e3, change_nothing, { "" } },
	{ PAIR, 8, 4, 8, 8 / 20e3, change_nothing, { "" } },
	/* through the host, and over an adapter that four ranks share */
	{ PAIR, 2, 1, 512 * SIZE_MIB, 16, no_links, { "" } },
	{ PAIR, 8, 4, 512 * SIZE_MIB, 25 * 0.965 / 4, change_nothing, { "" } },
	{ PAIR, 5, 4, 512 * SIZE_MIB, 25 * 0.965 / 4, change_nothing, { "" } },
	{ ALLTOALL, 8, 0, 512 * SIZE_MIB, 25 * 0.965 / 4 * 7 / 4, change_nothing, { "" } },
	{ ALLGATHER, 8, 0, 512 * SIZE_MIB, 25 * 0.965, change_nothing, { "" } },
	/* what the scenario slows down; the ring's order is that of the ranks */
	{ PAIR, 4, 1, 64 * SIZE_MIB, 40, slow_edge, { "" } },
	{ PAIR, 4, 2, 64 * SIZE_MIB, 265, slow_edge, { "" } },
	{ ALLREDUCE, 4, 0, 64 * SIZE_MIB, 40, slow_edge, { "" } },
	{ ALLGATHER, 4, 0, 64 * SIZE_MIB, 40, slow_edge, { "" } },
	{ ALLTOALL, 4, 0, 64 * SIZE_MIB, 40, slow_edge, { "" } },
	{ PAIR, 8, 4, 64 * SIZE_MIB, 1, slow_rail, { "" } },
	{ PAIR, 8, 1, 64 * SIZE_MIB, 21.6, slow_rail, { "" } }, /* one channel, as for the network */
	{ ALLREDUCE, 8, 0, 64 * SIZE_MIB, 4, slow_rail, { "" } },
	{ PAIR, 4, 1, 64 * SIZE_MIB, 265, slow_link, { "" } },
	{ ALLREDUCE, 4, 0, 64 * SIZE_MIB, 30, slow_link, { "" } },
	{ ALLTOALL, 4, 0, 64 * SIZE_MIB, 90, slow_link, { "" } },
	{ PAIR, 4, 1, 64 * SIZE_MIB, 265.0 / 4, slow_rank, { "" } },
	{ ALLTOALL, 2, 0, 64 * SIZE_MIB, 244.0 / 4, slow_rank, { "" } },
	{ PAIR, 8, 4, 64 * SIZE_MIB, 25 * 0.965 / 4 / 20, slow_net, { "" } },
	{ PAIR, 8, 1, 64 * SIZE_MIB, 21.6, slow_net, { "" } },
	{ PAIR, 4, 1, 64 * SIZE_MIB, 132.5, fewer_links, { "" } },
};

TEST_EACH(exchanges_take_as_long_as_their_links_and_adapters_need, timed)
{
	struct muster_sim_cluster *cluster = example_cluster();
	struct timed t = timed[_i];
	t.change(cluster);
	example_end();
	example_start(cluster, 0);
	t.id = new_id();
	example_ranks(t.ranks, timed_ranks, &t);
}

static void jitter_ranks(int rank, void *arg)
{
	enum { ROUNDS = 100 };
	CUevent events[ROUNDS + 1];
	int late = 0;
	float ms, usual = 0;
	CUstream stream = start_rank(rank);
	CUdeviceptr buffer = allocate(4096);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 2);
	for (int i = 0; i <= ROUNDS; i++)
		CUDA_OK(cuEventCreate(&events[i], 0));
	for (int i = 0; i <= ROUNDS; i++) { /* the first one connects */
		all_reduce(comm, buffer, buffer, 1024, ncclFloat32, ncclSum, stream);
		CUDA_OK(cuEventRecord(events[i], stream));
	}
	finish(stream);
	for (int i = 0; i < ROUNDS; i++) {
		CUDA_OK(cuEventElapsedTime(&ms, events[i], events[i + 1]));
		usual = i == 0 ? ms : usual;
		late += ms > usual * 3.9f;
	}
	ck_assert_int_eq(late, 2);
	OK(ncclCommAbort(comm));
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(rank));
}

TEST(one_all_reduce_in_fifty_is_late_with_a_rank_that_jitters)
{
	struct muster_sim_cluster *cluster = example_cluster();
	cluster->ranks[1].nccl_jitter = 4;
	example_end();
	example_start(cluster, 0);
	ncclUniqueId id = new_id();
	example_ranks(2, jitter_ranks, &id);
}

static int take_a_second(void *arg, double *seconds)
{
	*seconds = 1;
	return *(bool *)arg;
}

static void ignore(void *arg)
{
	(void)arg;
}

/* Whether the stream is done soon. */
static bool is_done_soon(CUstream stream)
{
	for (int i = 0; i < 300; i++) {
		if (cuda.cuStreamQuery(stream) == CUDA_SUCCESS)
			return true;
		pause_briefly();
	}
	return false;
}

struct hang {
	ncclUniqueId id;
	const char *where;
};

/* Rank 1 hangs in one kind of work, and all others go well. */
static void hang_ranks(int rank, void *arg)
{
	static bool may_end;
	const struct hang *hang = arg;
	const bool hangs[] = { strcmp(hang->where, "exchange") == 0, strcmp(hang->where, "step") == 0,
		strcmp(hang->where, "alltoall") == 0 };
	struct muster_standin_operation operation = { take_a_second, ignore, &may_end, MUSTER_SIM_NOISE_NONE };
	bool (*enqueue)(CUstream stream, const struct muster_standin_operation *operation);
	CUstream stream, other;
	open_libraries();
	example_find(example_open("libcuda.so.1"), "muster_standin_cuda_enqueue", &enqueue, sizeof enqueue);
	take_gpu(rank);
	CUDA_OK(cuStreamCreate(&stream, 0));
	CUDA_OK(cuStreamCreate(&other, 0));
	CUdeviceptr send = allocate(4096), receive = allocate(4096);
	ncclComm_t comm = join(hang->id, rank, 2);
	for (int i = 0; i < 4; i++)
		all_reduce(comm, send, send, 16, ncclFloat32, ncclSum, stream);
	ck_assert(is_done_soon(stream));
	const struct timed pair = { .traffic = PAIR, .ranks = 2, .peer = 1, .bytes = 64 };
	const struct timed alltoall = { .traffic = ALLTOALL, .ranks = 2, .bytes = 64 };
	call(&pair, rank, comm, send, receive, stream);
	ck_assert_int_eq(is_done_soon(stream), !hangs[0]);
	if (!hangs[0]) {
		ck_assert(enqueue(other, &operation));
		all_reduce(comm, send, send, 16, ncclFloat32, ncclSum, stream);
		ck_assert_int_eq(is_done_soon(stream), !hangs[1]);
	}
	if (hangs[2]) {
		call(&alltoall, rank, comm, send, receive, stream);
		ck_assert(!is_done_soon(stream));
	}
	may_end = true;
	abort_rank(rank, comm, stream);
}

TEST_LOOP(a_rank_hangs_where_the_scenario_says, 0, 3)
{
	static const char *const where[] = { "exchange", "step", "alltoall" };
	struct hang hang = { .where = where[_i] };
	struct muster_sim_cluster *cluster = example_cluster();
	cluster->ranks[1].nccl_hang = hang.where;
	example_end();
	example_start(cluster, 0);
	hang.id = new_id();
	example_ranks(2, hang_ranks, &hang);
}

/* -- the rest of the interface -- */

static void early_ranks(int rank, void *arg)
{
	CUdeviceptr buffer;
	CUstream stream;
	CUevent before, after;
	float ms;
	void *data;
	stream = start_rank(rank);
	CUDA_OK(cuEventCreate(&before, 0));
	CUDA_OK(cuEventCreate(&after, 0));
	CUDA_OK(cuMemAlloc_v2(&buffer, 1 << 20));
	data = (void *)(uintptr_t)buffer;
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, 2);
	CUDA_OK(cuEventRecord(before, stream));
	ck_assert_int_eq(nccl.ncclAllReduce(data, data, 1 << 18, ncclFloat32, ncclSum, comm, stream), ncclInProgress);
	ck_assert_int_eq(nccl.ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
	CUDA_OK(cuEventRecord(after, stream));
	CUDA_OK(cuEventQuery(after));
	CUDA_OK(cuEventElapsedTime(&ms, before, after));
	ck_assert_float_eq(ms, 0);
	ck_assert_int_eq(settle(comm), ncclSuccess);
	CUDA_OK(cuEventRecord(after, stream));
	finish(stream);
	CUDA_OK(cuEventElapsedTime(&ms, before, after));
	ck_assert_float_gt(ms, 0);
	OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, stream));
	finish(stream);
	end_rank(rank, comm);
}

TEST(an_event_recorded_too_early_misses_the_first_all_reduce)
{
	ncclUniqueId id = new_id();
	example_ranks(2, early_ranks, &id);
}

TEST(arguments_are_checked)
{
	ncclUniqueId id;
	ncclComm_t comm = NULL;
	CUdeviceptr buffer;
	CUstream stream;
	int version;
	ncclConfig_t config = { sizeof config, MUSTER_NCCL_CONFIG_MAGIC, MUSTER_NCCL_CONFIG_VERSION, 0 };
	ncclConfig_t blocking = config, unmarked = config;
	blocking.blocking = 1;
	unmarked.magic = 0;
	restart();
	open_libraries();
	OK(ncclGetVersion(&version));
	ck_assert_int_eq(version, 22809);
	OK(ncclGetUniqueId(&id));
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclUnhandledCudaError);
	take_gpu(0);
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, NULL), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, &blocking), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, &unmarked), ncclInvalidArgument);
	comm = join(id, 0, 1);
	CUDA_OK(cuMemAlloc_v2(&buffer, 64));
	CUDA_OK(cuStreamCreate(&stream, 0));
	void *data = (void *)(uintptr_t)buffer;
	ck_assert_int_eq(nccl.ncclAllReduce(data, data, 17, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclAllReduce(&id, data, 1, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(nccl.ncclAllReduce(data, data, 1, ncclFloat32, ncclProd, comm, stream), ncclInvalidArgument);
	ck_assert_int_eq(
		nccl.ncclAllReduce(data, data, 1, (ncclDataType_t)1, ncclSum, comm, stream), ncclInvalidArgument);
	all_reduce(comm, buffer, buffer, 16, ncclFloat32, ncclSum, stream);
	finish(stream);
	OK(ncclCommAbort(comm));
	ck_assert_str_eq(nccl.ncclGetErrorString(ncclSuccess), "no error");
	CUDA_OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* -- the log -- */

static char log_directory[] = "/tmp/muster-nccl-log-XXXXXX";

static void log_ranks(int rank, void *arg)
{
	static char pattern[256], name[256], text[16384];
	snprintf(pattern, sizeof pattern, "%s/%%h.%%p.100%%%%.%%x", log_directory);
	setenv("NCCL_DEBUG", "info", 1);
	setenv("NCCL_DEBUG_FILE", pattern, 1);
	setenv("NCCL_DEBUG_SUBSYS", "INIT,TUNING", 1);
	setenv("NCCL_COLLNET_ENABLE", "1", 1);
	timing_ranks(rank, arg);
	snprintf(name, sizeof name, "%s/%s.%ld.100%%.%%x", log_directory, rank < 4 ? "sim-1" : "sim-2", (long)getpid());
	FILE *file = fopen(name, "r");
	ck_assert_msg(file != NULL, "there is no %s", name);
	size_t length = fread(text, 1, sizeof text - 1, file);
	text[length] = '\0';
	fclose(file);
	unlink(name);

	char prefix[64];
	snprintf(prefix, sizeof prefix, "%s:%ld:%ld [%d] NCCL INFO ", rank < 4 ? "sim-1" : "sim-2", (long)getpid(),
		(long)getpid(), rank % EXAMPLE_GPUS);
	ck_assert_msg(strncmp(text, prefix, strlen(prefix)) == 0, "%s", text);
	ck_assert_int_eq(strstr(text, "NCCL INFO NCCL version 2.28.9+cuda13.0\n") != NULL, rank == 0);
	ck_assert_ptr_nonnull(strstr(text, "NET/IB : Using [0]mlx5_ib0:1/IB [RO]; OOB "));
	ck_assert_ptr_nonnull(strstr(text, "NCCL INFO Using network IB\n"));
	ck_assert_ptr_nonnull(strstr(text, "NCCL INFO NET/Plugin: Could not find: libnccl-net.so\n"));
	ck_assert_ptr_null(strstr(text, "CollNet"));
	ck_assert_ptr_nonnull(strstr(text, " 0 nvls channels, "));
	ck_assert_int_eq(strstr(text, " Bytes -> Algo RING proto LL128 ") != NULL, rank == 0);
	if (rank == 0) {
		ck_assert_ptr_nonnull(strstr(text, "Channel 00/0 : 7[0] -> 0[3] [receive] via NET/IB/0/GDRDMA\n"));
		ck_assert_ptr_nonnull(strstr(text, "Channel 00/0 : 0[3] -> 1[2] via P2P/CUMEM\n"));
	}
	if (rank == 3)
		ck_assert_ptr_nonnull(strstr(text, "Channel 00/0 : 3[0] -> 4[3] [send] via NET/IB/0/GDRDMA\n"));
	ck_assert_ptr_nonnull(strstr(text, "NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"));
	if (rank == 5)
		ck_assert_ptr_null(strstr(text, "via NET/"));
}

/* What the way to a rank of the same node is called: as it is, without P2P, where NVLink joins the nodes too, and where
 * it would but for one GPU. */
enum pair_log { USUAL, NO_P2P, RACK, BUT_FOR_ONE };
static const char *const near_ways[] = { [USUAL] = "Channel 00/1 : 1[2] -> 0[3] via P2P/CUMEM\n",
	[NO_P2P] = "Channel 00 : 1[2] -> 0[3] via SHM/direct/direct\n",
	[RACK] = "Channel 00/1 : 1[2] -> 0[3] via P2P/MNNVL\n",
	[BUT_FOR_ONE] = "Channel 00/1 : 1[2] -> 0[3] via P2P/CUMEM\n" };
static enum pair_log pair_log;

static void pair_log_ranks(int rank, void *arg)
{
	static char name[256], text[16384];
	CUstream stream;
	snprintf(name, sizeof name, "%s/%d", log_directory, rank);
	setenv("NCCL_DEBUG", "info", 1);
	setenv("NCCL_DEBUG_FILE", name, 1);
	if (pair_log == NO_P2P)
		setenv("NCCL_P2P_DISABLE", "1", 1);
	stream = start_rank(rank);
	ncclComm_t comm = join(*(ncclUniqueId *)arg, rank, EXAMPLE_RANKS);
	CUdeviceptr send = allocate(64), receive = allocate(64);
	measure_group(comm, rank ^ 1, send, receive, 64, stream);
	measure_group(comm, rank ^ 4, send, receive, 64, stream);
	message(true, send, 64, 99, comm, stream);
	FILE *file = fopen(name, "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	unlink(name);
	ck_assert_msg(strstr(text, "\n\n[20") && strstr(text, "NCCL WARN Invalid root 99 "), "%s", text);
	if (rank == 1)
		ck_assert_msg(strstr(text, near_ways[pair_log]) != NULL, "%s", text);
	if (rank == 1 && pair_log != RACK) {
		ck_assert_ptr_nonnull(strstr(text, "Channel 00/1 : 1[2] -> 5[2] [send] via NET/IB/0/GDRDMA\n"));
		ck_assert_ptr_nonnull(strstr(text, "Channel 00/1 : 5[2] -> 1[2] [receive] via NET/IB/0/GDRDMA\n"));
		ck_assert_ptr_null(strstr(text, "1[2] -> 2["));
	}
	end_rank(rank, comm);
}

TEST_LOOP(the_log_names_the_way_between_two_ranks_when_they_connect, USUAL, BUT_FOR_ONE + 1)
{
	struct muster_sim_cluster *cluster = example_cluster();
	pair_log = (enum pair_log)_i;
	for (size_t n = 0; n < cluster->node_count && pair_log >= RACK; n++) {
		cluster->nodes[n].imex_channels = 1;
		for (size_t g = 0; g < cluster->nodes[n].gpu_count; g++) {
			cluster->nodes[n].gpus[g].fabric_state = pair_log == BUT_FOR_ONE && n + g == 0 ? 2 : 3;
			cluster->nodes[n].gpus[g].fabric_cluster = "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809";
		}
	}
	example_end();
	example_start(cluster, 0);
	char *end = strrchr(log_directory, '-') + 1;
	memcpy(end, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(log_directory));
	ncclUniqueId id = new_id();
	example_ranks(EXAMPLE_RANKS, pair_log_ranks, &id);
	ck_assert_int_eq(rmdir(log_directory), 0);
}

TEST(the_log_names_the_version_the_devices_and_the_transports)
{
	struct muster_allreduce_timing timing = { .ranks = 8, .bytes = 1000000, .busbw = 10, .slow = 1 };
	ck_assert_ptr_nonnull(mkdtemp(log_directory));
	timing.id = new_id();
	example_ranks(8, log_ranks, &timing);
	ck_assert_int_eq(rmdir(log_directory), 0);
}

TEST_MAIN(.setup = start, .teardown = example_end, .timeout = 200)

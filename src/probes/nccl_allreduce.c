/* nccl_allreduce.c - a ring all-reduce over every rank that can take part
 *
 * Every rank's copy of every sum is checked, value by value, before the same size is timed. Whatever makes a rank go on
 * or stop (iterations, room on the GPU, time left) is agreed by an all-reduce of the maximum, so that all ranks make
 * the same calls. No call waits without a deadline: stream and communicator are polled.
 */
#include "bind/cuda.h"
#include "bind/nccl.h"
#include "bind/nccl_log.h"
#include "bind/pinned.h"
#include "core/text.h"
#include "muster/probe.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct muster_metric metrics[] = {
	{ .name = "nccl.allreduce_busbw_gbps",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_JOB,
		.unit = "GB/s",
		.labels = { "bytes", "nodes", "ranks" },
		.meaning = "bus bandwidth: algbw times 2(n-1)/n; the slowest rank's time" },
	{ .name = "nccl.allreduce_algbw_gbps",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_JOB,
		.unit = "GB/s",
		.labels = { "bytes", "nodes", "ranks" },
		.meaning = "bytes divided by time; the slowest rank's time" },
	{ .name = "nccl.allreduce_us",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_JOB,
		.unit = "us",
		.labels = { "bytes", "nodes", "ranks" },
		.meaning = "time of one all-reduce; the slowest rank's mean" },
	{ .name = "nccl.ring_ranks",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_JOB,
		.unit = "",
		.meaning = "ranks that took part in the ring" },
	{ .name = "nccl.ring_nodes",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_JOB,
		.unit = "",
		.meaning = "nodes that the ring spans" },
	{ .name = "rank.nccl_version",
		.type = MUSTER_STRING,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "",
		.meaning = "NCCL as this rank's process loads it; ranks of different versions share no ring" },
	{ .name = "rank.nccl_init_ms",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "ms",
		.meaning = "time to build the communicator" },
	{ .name = "rank.allreduce_us",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "us",
		.labels = { "bytes" },
		.meaning = "this rank's mean time of one all-reduce" },
	{ .name = "rank.allreduce_wrong",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "",
		.labels = { "bytes" },
		.meaning = "wrong values in this rank's copy of the sum; every value is checked" },
	{ .name = "rank.nccl_transport",
		.type = MUSTER_STRING,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "",
		.meaning = "transports that carry this rank's part of the ring, from NCCL's own log: \"P2P/CUMEM "
			   "NET/IB/GDRDMA\"" },
	{ .name = "rank.nccl_gdr",
		.type = MUSTER_BOOLEAN,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "",
		.meaning = "GPUDirect RDMA carries its network channels; null when it has none" },
	{ .name = "rank.nccl_hcas",
		.type = MUSTER_STRING,
		.scope = MUSTER_SCOPE_RANK,
		.unit = "",
		.meaning = "network devices that NCCL uses, from its own log" },
};

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define SIZES_MAX 40
#define TILE_BYTES ((size_t)64 << 10)
#define TILE_VALUES (TILE_BYTES / sizeof(float))
#define CHUNK_BYTES ((size_t)1 << 20) /* what came back is compared while it still lies in the CPU's cache */
#define NCCL_ROOM (2 * GIB)           /* left free on the GPU for NCCL's own buffers */
#define TIMED_MS 30.0                 /* of all-reduces for each size, within these counts */
#define TIMED_MIN 2
#define TIMED_MAX 20
#define CHECKED_PER_MS 2e6     /* bytes of a sum that a slow host brings back and compares in a millisecond */
#define LAUNCH_US 300.0        /* more than the CPU needs to launch an all-reduce on a non-blocking communicator */
#define SMALL_BYTES (64 * MIB) /* up to here an all-reduce may be shorter than that */
#define FILL_PER_US 5e6        /* bytes that no GPU's memory fills in a microsecond */
#define FILLS_MAX 512          /* of a small buffer */
#define MODULUS 61             /* prime: no period in common with powers of two */
#define AGREED_MAX 4
#define TRIAL_BYTES (64 * MIB) /* of a trial ring */

/* Made by run while the other ranks do the same, used by ring. */
static struct {
	const struct muster_cuda *cuda;
	const struct muster_nccl *nccl;
	CUstream stream;
	CUevent start, end, arrived[2];
	CUdeviceptr data, agreed;
	uint64_t room;               /* bytes behind data */
	char small[160];             /* why data is smaller than the largest size; "" when it is not */
	struct muster_pinned chunks; /* two of CHUNK_BYTES */
} state;

/* Of the ring before this one, in the same process: its communicator, which nobody has waited to destroy, and how long
 * NCCL's log was. */
static struct {
	ncclComm_t comm;
	size_t log_length;
} before;

/* One ring's communicator and the time that it has. */
struct session {
	struct muster_probe_ctx *ctx;
	const struct muster_ring *ring;
	ncclComm_t comm;
	double started_ms, deadline_ms;
};

/* What was measured for one size; equal on all ranks but for own_us. */
struct timing {
	double own_us, slowest_us, elapsed_ms;
};

/* The sizes to measure, ascending. With both bounds: from the lower one, doubling up to the upper one. With one: the
 * profile's ladder cut there, or that size alone when nothing is left. */
static size_t ladder(const struct muster_probe_env *env, uint64_t sizes[SIZES_MAX])
{
	static const uint64_t all[] = { 8 * MIB, 64 * MIB, 256 * MIB, 512 * MIB, GIB, 2 * GIB, 4 * GIB, 8 * GIB };
	static const struct {
		size_t first, count;
	} profiles[MUSTER_PROFILE_COUNT] = {
		[MUSTER_QUICK] = { 1, 1 },
		[MUSTER_STANDARD] = { 0, 4 },
		[MUSTER_FULL] = { 0, 8 },
	};
	uint64_t low = env->min_bytes, high = env->max_bytes;
	size_t count = 0;
	if (low && high) {
		for (uint64_t size = low; size && size <= high && count < SIZES_MAX; size *= 2)
			sizes[count++] = size;
	} else {
		for (size_t i = 0; i < profiles[env->profile].count; i++) {
			uint64_t size = all[profiles[env->profile].first + i];
			if (size >= low && (!high || size <= high))
				sizes[count++] = size;
		}
		if (count == 0)
			sizes[count++] = low ? low : high;
	}
	for (size_t i = 0; i < count; i++) /* whole values only */
		sizes[i] = sizes[i] < sizeof(float) ? sizeof(float) : sizes[i] - sizes[i] % sizeof(float);
	return count;
}

/* What a rank puts at a place of its buffer: whole numbers that a float holds exactly, as it does their sum over up to
 * 279,620 ranks. The same for every tile. */
static float value_of(int rank, size_t place)
{
	return (float)(((size_t)rank * 7 + place) % MODULUS);
}

static void fill_expected(int ranks, float tile[TILE_VALUES])
{
	double ranks_at[MODULUS] = { 0 }, sum_at[MODULUS] = { 0 };
	for (int rank = 0; rank < ranks; rank++)
		ranks_at[(size_t)rank * 7 % MODULUS]++;
	for (size_t place = 0; place < MODULUS; place++)
		for (size_t shift = 0; shift < MODULUS; shift++)
			sum_at[place] += ranks_at[shift] * (double)((shift + place) % MODULUS);
	for (size_t place = 0; place < TILE_VALUES; place++)
		tile[place] = (float)sum_at[place % MODULUS];
}

static void release(void)
{
	const struct muster_cuda *cuda = state.cuda;
	if (!cuda)
		return;
	CUevent events[] = { state.start, state.end, state.arrived[0], state.arrived[1] };
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (events[i])
			cuda->cuEventDestroy_v2(events[i]);
	if (state.stream)
		cuda->cuStreamDestroy_v2(state.stream);
	if (state.data)
		cuda->cuMemFree_v2(state.data);
	if (state.agreed)
		cuda->cuMemFree_v2(state.agreed);
	muster_pinned_free(cuda, &state.chunks);
	memset(&state, 0, sizeof state);
}

/* Allocate for the largest size that the GPU has room for; state.small says why when that is not the ladder's largest.
 */
static int allocate_data(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_cuda *cuda = state.cuda;
	uint64_t sizes[SIZES_MAX];
	size_t count = ladder(muster_probe_env(ctx), sizes), free_bytes = 0, total_bytes = 0;
	if (muster_cuda_check(cuda, cuda->cuMemGetInfo_v2(&free_bytes, &total_bytes), err, "cuMemGetInfo_v2") < 0)
		return -1;
	uint64_t kept = free_bytes / 2 < NCCL_ROOM ? free_bytes / 2 : NCCL_ROOM, usable = free_bytes - kept;
	CUresult result = CUDA_SUCCESS;
	for (size_t i = count; i-- > 0;) {
		if (sizes[i] > usable)
			continue;
		muster_step(ctx, "cuMemAlloc_v2 of %llu bytes", (unsigned long long)sizes[i]);
		result = cuda->cuMemAlloc_v2(&state.data, (size_t)sizes[i]);
		if (result == CUDA_SUCCESS) {
			state.room = sizes[i];
			break;
		}
	}
	if (result != CUDA_ERROR_OUT_OF_MEMORY && muster_cuda_check(cuda, result, err, "cuMemAlloc_v2") < 0)
		return -1;
	if (state.room < sizes[count - 1])
		snprintf(state.small, sizeof state.small,
			"%zu of %zu MiB are free on the GPU, and NCCL needs some of them", (size_t)(free_bytes / MIB),
			(size_t)(total_bytes / MIB));
	return 0;
}

static int prepare(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	if (state.cuda)
		return 0;
	const struct muster_probe_env *env = muster_probe_env(ctx);
	if (muster_nccl_log_start(err) < 0)
		return -1;
	muster_step(ctx, "loading NCCL");
	const struct muster_nccl *nccl = muster_nccl(err);
	const struct muster_cuda *cuda = nccl ? muster_cuda(err) : NULL;
	if (!cuda)
		return -1;
	state.nccl = nccl;
	state.cuda = cuda;

	char numa_file[512];
	muster_root_path(ctx, numa_file, sizeof numa_file, "/sys/bus/pci/devices/%s/numa_node", env->gpu->bus_id);
	muster_step(ctx, "cuMemHostRegister_v2 of %zu MiB", 2 * CHUNK_BYTES / (size_t)MIB);
	CUevent *const events[] = { &state.start, &state.end, &state.arrived[0], &state.arrived[1] };
	int failed = muster_pinned_alloc(cuda, 2 * CHUNK_BYTES, numa_file, env->gpu->bus_id, &state.chunks, err);
	if (failed == 0)
		failed = muster_cuda_check(
			cuda, cuda->cuStreamCreate(&state.stream, CU_STREAM_NON_BLOCKING), err, "cuStreamCreate");
	for (size_t i = 0; failed == 0 && i < sizeof events / sizeof *events; i++)
		failed =
			muster_cuda_check(cuda, cuda->cuEventCreate(events[i], CU_EVENT_DEFAULT), err, "cuEventCreate");
	if (failed == 0)
		failed = muster_cuda_check(
			cuda, cuda->cuMemAlloc_v2(&state.agreed, AGREED_MAX * sizeof(float)), err, "cuMemAlloc_v2");
	if (failed == 0)
		failed = allocate_data(ctx, err);
	if (failed < 0)
		release();
	return failed;
}

/* Short waits spin, so that they end when what they wait for ends; long ones leave the CPU to others. */
#define POLLS_SPINNING 256
#define POLLS_SHORT 4096

static void pause_poll(unsigned int *polls)
{
	const struct timespec pause = { .tv_nsec = *polls < POLLS_SHORT ? 20000 : 1000000 };
	if ((*polls)++ < POLLS_SPINNING)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}

/* Whether to go on waiting. */
static int check_deadline(const struct session *s, unsigned int polls, const char *what, struct muster_error *err)
{
	if (polls > POLLS_SPINNING && muster_called_off(s->ctx, err) < 0)
		return -1;
	if (muster_now_ms() < s->deadline_ms)
		return 0;
	return muster_fail(err, MUSTER_ETIME, "%s did not end within %d ms", what, s->ring->timeout_ms);
}

/* Wait until NCCL has really taken the last call: it may answer ncclInProgress, and nothing is in the stream before. */
static int settle(const struct session *s, ncclResult_t result, const char *call, struct muster_error *err)
{
	unsigned int polls = 0;
	for (;;) {
		if (muster_nccl_check(state.nccl, result, s->comm, err, call) < 0)
			return -1;
		if (result == ncclSuccess)
			return 0;
		if (check_deadline(s, polls, call, err) < 0)
			return -1;
		pause_poll(&polls);
		ncclResult_t asked = state.nccl->ncclCommGetAsyncError(s->comm, &result);
		if (muster_nccl_check(state.nccl, asked, s->comm, err, "ncclCommGetAsyncError") < 0)
			return -1;
	}
}

/* Wait until the stream has reached event, watching the communicator as well: a broken one never gets there. */
static int wait_for(const struct session *s, CUevent event, const char *what, struct muster_error *err)
{
	unsigned int polls = 0;
	for (;;) {
		CUresult reached = state.cuda->cuEventQuery(event);
		if (reached != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(state.cuda, reached, err, what);
		ncclResult_t result = ncclSuccess;
		ncclResult_t asked = state.nccl->ncclCommGetAsyncError(s->comm, &result);
		if (muster_nccl_check(state.nccl, asked, s->comm, err, "ncclCommGetAsyncError") < 0 ||
			muster_nccl_check(state.nccl, result, s->comm, err, what) < 0 ||
			check_deadline(s, polls, what, err) < 0)
			return -1;
		pause_poll(&polls);
	}
}

static int record(CUevent event, struct muster_error *err)
{
	return muster_cuda_check(state.cuda, state.cuda->cuEventRecord(event, state.stream), err, "cuEventRecord");
}

/* One in-place all-reduce of floats, enqueued when this returns. */
static int all_reduce(const struct session *s, CUdeviceptr at, size_t values, ncclRedOp_t op, struct muster_error *err)
{
	void *buffer = (void *)(uintptr_t)at;
	return settle(s, state.nccl->ncclAllReduce(buffer, buffer, values, ncclFloat32, op, s->comm, state.stream),
		"ncclAllReduce", err);
}

/* Replace each value by its maximum over all ranks. */
static int agree(const struct session *s, float *values, size_t count, struct muster_error *err)
{
	const struct muster_cuda *cuda = state.cuda;
	size_t bytes = count * sizeof *values;
	memcpy(state.chunks.data, values, bytes);
	if (muster_cuda_check(cuda, cuda->cuMemcpyHtoDAsync_v2(state.agreed, state.chunks.data, bytes, state.stream),
		    err, "cuMemcpyHtoDAsync_v2") < 0 ||
		all_reduce(s, state.agreed, count, ncclMax, err) < 0 ||
		muster_cuda_check(cuda,
			cuda->cuMemcpyDtoHAsync_v2(state.chunks.data, state.agreed, bytes, state.stream), err,
			"cuMemcpyDtoHAsync_v2") < 0 ||
		record(state.end, err) < 0 || wait_for(s, state.end, "the ranks' agreement", err) < 0)
		return -1;
	memcpy(values, state.chunks.data, bytes);
	return 0;
}

/* Microseconds between the events start and end, which the stream has passed. */
static int elapsed_us(double *ret, struct muster_error *err)
{
	float ms = 0;
	if (muster_cuda_check(state.cuda, state.cuda->cuEventElapsedTime(&ms, state.start, state.end), err,
		    "cuEventElapsedTime") < 0)
		return -1;
	*ret = (double)ms * 1e3;
	return 0;
}

/* Fill the buffer with this rank's values: one tile from the host, then doubled on the GPU. */
static int fill_data(const struct session *s, uint64_t bytes, struct muster_error *err)
{
	const struct muster_cuda *cuda = state.cuda;
	float *tile = state.chunks.data;
	uint64_t done = bytes < TILE_BYTES ? bytes : TILE_BYTES;
	for (size_t place = 0; place < TILE_VALUES; place++)
		tile[place] = value_of(s->ring->rank, place);
	if (muster_cuda_check(cuda, cuda->cuMemcpyHtoDAsync_v2(state.data, tile, (size_t)done, state.stream), err,
		    "cuMemcpyHtoDAsync_v2") < 0)
		return -1;
	for (; done < bytes; done *= 2) {
		uint64_t more = bytes - done < done ? bytes - done : done;
		if (muster_cuda_check(cuda,
			    cuda->cuMemcpyDtoDAsync_v2(state.data + done, state.data, (size_t)more, state.stream), err,
			    "cuMemcpyDtoDAsync_v2") < 0)
			return -1;
	}
	return 0;
}

/* What one size's check found. */
struct wrong {
	uint64_t count, first; /* first: its index in the buffer */
	float got, expected;
};

static void compare(const float *got, const float *expected, size_t values, uint64_t base, struct wrong *wrong)
{
	for (size_t at = 0; at < values; at += TILE_VALUES) {
		size_t here = values - at < TILE_VALUES ? values - at : TILE_VALUES;
		if (memcmp(got + at, expected, here * sizeof *got) == 0)
			continue;
		for (size_t i = 0; i < here; i++) {
			if (memcmp(&got[at + i], &expected[i], sizeof *got) == 0)
				continue;
			if (wrong->count++ == 0) {
				wrong->first = base + at + i;
				wrong->got = got[at + i];
				wrong->expected = expected[i];
			}
		}
	}
}

/* Bring the sum back in chunks, the next one on its way while one is compared. */
static int check_data(
	const struct session *s, uint64_t bytes, const float *expected, struct wrong *ret, struct muster_error *err)
{
	const struct muster_cuda *cuda = state.cuda;
	struct wrong wrong = { 0 };
	uint64_t asked = 0, compared = 0;
	for (size_t turn = 0; compared < bytes; turn++) {
		while (asked < bytes && asked < compared + 2 * CHUNK_BYTES) {
			size_t slot = (size_t)(asked / CHUNK_BYTES % 2);
			size_t size = bytes - asked < CHUNK_BYTES ? (size_t)(bytes - asked) : CHUNK_BYTES;
			if (muster_cuda_check(cuda,
				    cuda->cuMemcpyDtoHAsync_v2((char *)state.chunks.data + slot * CHUNK_BYTES,
					    state.data + asked, size, state.stream),
				    err, "cuMemcpyDtoHAsync_v2") < 0 ||
				record(state.arrived[slot], err) < 0)
				return -1;
			asked += size;
		}
		size_t size = bytes - compared < CHUNK_BYTES ? (size_t)(bytes - compared) : CHUNK_BYTES;
		if (wait_for(s, state.arrived[turn % 2], "bringing the sum back", err) < 0)
			return -1;
		compare((const float *)state.chunks.data + turn % 2 * (CHUNK_BYTES / sizeof(float)), expected,
			size / sizeof(float), compared / sizeof(float), &wrong);
		compared += size;
	}
	*ret = wrong;
	return 0;
}

/* One all-reduce whose result is checked; *ret_us is its time. */
static int checked_reduce(const struct session *s, uint64_t bytes, const float *expected, double *ret_us,
	struct wrong *ret_wrong, struct muster_error *err)
{
	if (fill_data(s, bytes, err) < 0 || record(state.start, err) < 0 ||
		all_reduce(s, state.data, (size_t)bytes / sizeof(float), ncclSum, err) < 0 ||
		record(state.end, err) < 0 || wait_for(s, state.end, "the checked all-reduce", err) < 0 ||
		elapsed_us(ret_us, err) < 0)
		return -1;
	return check_data(s, bytes, expected, ret_wrong, err);
}

/* Zero the buffer, and where all-reduces are shorter than their launch as often as it takes to launch all of them
 * meanwhile: on a non-blocking communicator each launch waits for a thread of NCCL's, and without this head start it is
 * the CPU that is timed (66 instead of 212 GB/s at 8 MiB on four H200). */
static int zero_data(uint64_t bytes, int count, struct muster_error *err)
{
	double needed = bytes <= SMALL_BYTES ? LAUNCH_US * FILL_PER_US * count : 0;
	double filled = 0;
	int fills = 0;
	do {
		if (muster_cuda_check(state.cuda,
			    state.cuda->cuMemsetD32Async(
				    state.data, 0, (size_t)state.room / sizeof(float), state.stream),
			    err, "cuMemsetD32Async") < 0)
			return -1;
		filled += (double)state.room;
	} while (filled < needed && ++fills < FILLS_MAX);
	return 0;
}

/* The mean of `count` all-reduces of zeros (sums of sums would overflow), the first of which follows another at once.
 */
static int timed_reduce(const struct session *s, uint64_t bytes, int count, double *ret_us, struct muster_error *err)
{
	size_t values = (size_t)bytes / sizeof(float);
	double us = 0;
	if (zero_data(bytes, count, err) < 0)
		return -1;
	for (int i = -1; i < count; i++) {
		if (i == 0 && record(state.start, err) < 0)
			return -1;
		if (all_reduce(s, state.data, values, ncclSum, err) < 0)
			return -1;
	}
	if (record(state.end, err) < 0 || wait_for(s, state.end, "the timed all-reduces", err) < 0 ||
		elapsed_us(&us, err) < 0)
		return -1;
	*ret_us = us / count;
	return 0;
}

static int iterations(double once_us)
{
	double wanted = once_us > 0 ? ceil(TIMED_MS * 1e3 / once_us) : TIMED_MAX;
	return wanted < TIMED_MIN ? TIMED_MIN : wanted > TIMED_MAX ? TIMED_MAX : (int)wanted;
}

/* What a size will take at most, from the time of a smaller one: its all-reduces and the check of the sum. */
static double projected_ms(uint64_t bytes, uint64_t smaller, double smaller_us)
{
	double once_us = smaller_us * (double)bytes / (double)smaller;
	return once_us * (iterations(once_us) + 2) / 1e3 + (double)bytes / CHECKED_PER_MS;
}

/* Check and time one size. */
static int measure(
	const struct session *s, uint64_t bytes, const float *expected, struct timing *ret, struct muster_error *err)
{
	struct muster_probe_ctx *ctx = s->ctx;
	struct muster_value label = muster_number((double)bytes);
	struct wrong wrong;
	double once_us, own_us;
	char size[32];
	muster_bytes_text(bytes, size, sizeof size);
	muster_step(ctx, "checked all-reduce of %s", size);
	if (checked_reduce(s, bytes, expected, &once_us, &wrong, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	muster_emit(ctx, "rank.allreduce_wrong", &label, 1, muster_number((double)wrong.count));
	if (wrong.count > 0)
		muster_step(ctx, "all-reduce of %s gave %llu wrong values, the first at %llu: %g instead of %g", size,
			(unsigned long long)wrong.count, (unsigned long long)wrong.first, (double)wrong.got,
			(double)wrong.expected);
	if (wrong.count > 0 && s->ring->trial)
		return muster_fail(err, MUSTER_EVENDOR, "all-reduce of %s: %llu wrong values in this rank's copy", size,
			(unsigned long long)wrong.count);

	float once = (float)once_us;
	if (agree(s, &once, 1, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	int count = iterations((double)once);
	muster_step(ctx, "%d timed all-reduces of %s", count, size);
	if (timed_reduce(s, bytes, count, &own_us, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	muster_emit(ctx, "rank.allreduce_us", &label, 1, muster_number(own_us));

	float agreed[] = { (float)own_us, (float)(muster_now_ms() - s->started_ms) };
	if (agree(s, agreed, sizeof agreed / sizeof *agreed, err) < 0)
		return muster_wrap(err, "all-reduce of %s", size);
	*ret = (struct timing){ own_us, (double)agreed[0], (double)agreed[1] };
	return 0;
}

/* The job's figures for one size, from the slowest rank's time; with a reason, null. */
static void emit_job(const struct session *s, uint64_t bytes, double slowest_us, const char *reason)
{
	struct muster_probe_ctx *ctx = s->ctx;
	int n = s->ring->ranks;
	struct muster_value labels[] = { muster_number((double)bytes), muster_number(s->ring->nodes),
		muster_number(n) };
	if (s->ring->rank != 0)
		return;
	if (reason)
		muster_emit_null(ctx, "nccl.allreduce_us", labels, 3, "%s", reason);
	else
		muster_emit(ctx, "nccl.allreduce_us", labels, 3, muster_number(slowest_us));
	if (!reason && n == 1)
		reason = "a ring of one rank moves no data";
	if (!reason && !(slowest_us > 0))
		reason = "the GPU's events show no time between them";
	if (reason) {
		muster_emit_null(ctx, "nccl.allreduce_algbw_gbps", labels, 3, "%s", reason);
		muster_emit_null(ctx, "nccl.allreduce_busbw_gbps", labels, 3, "%s", reason);
		return;
	}
	double algbw = (double)bytes / 1e3 / slowest_us;
	muster_emit(ctx, "nccl.allreduce_algbw_gbps", labels, 3, muster_number(algbw));
	muster_emit(ctx, "nccl.allreduce_busbw_gbps", labels, 3, muster_number(algbw * 2 * (n - 1) / n));
}

/* The one size of a trial: the ladder's largest that is modest, or else its smallest. */
static size_t trial_size(uint64_t sizes[SIZES_MAX], size_t count)
{
	for (size_t i = 1; i < count && sizes[i] <= TRIAL_BYTES; i++)
		sizes[0] = sizes[i];
	return 1;
}

/* Every size that all ranks have room and time for. */
static int measure_ladder(const struct session *s, struct muster_error *err)
{
	static float expected[TILE_VALUES];
	uint64_t sizes[SIZES_MAX];
	size_t count = ladder(muster_probe_env(s->ctx), sizes);
	if (s->ring->trial)
		count = trial_size(sizes, count);
	fill_expected(s->ring->ranks, expected);

	/* How many of the largest sizes some rank cannot hold. */
	float absent = 0;
	while ((size_t)absent < count && sizes[count - 1 - (size_t)absent] > state.room)
		absent++;
	muster_step(s->ctx, "the first all-reduce, which connects the ranks");
	if (agree(s, &absent, 1, err) < 0)
		return -1;

	const char *reason = NULL;
	char text[256];
	struct timing timing = { 0 };
	int wanted = s->ring->trial ? 1 : muster_probe_env(s->ctx)->repeats;
	size_t repeats = wanted > 1 ? (size_t)wanted : 1;
	for (size_t turn = 0; turn < repeats * count; turn++) {
		size_t i = turn % count;
		reason = i == 0 ? NULL : reason;
		if (!reason && i + (size_t)absent >= count) {
			snprintf(text, sizeof text, "no room on the GPU%s%s",
				state.small[0] ? ": " : " of another rank", state.small);
			reason = text;
		}
		double next_ms = i ? projected_ms(sizes[i], sizes[i - 1], timing.slowest_us) : 0;
		if (!reason && timing.elapsed_ms + next_ms > s->ring->timeout_ms) {
			snprintf(text, sizeof text, "no time left: %.0f of %d ms had passed, and it may take %.0f",
				timing.elapsed_ms, s->ring->timeout_ms, next_ms);
			reason = text;
		}
		if (!reason && measure(s, sizes[i], expected, &timing, err) < 0)
			return -1;
		emit_job(s, sizes[i], timing.slowest_us, reason);
	}
	return 0;
}

static void emit_text(struct muster_probe_ctx *ctx, const char *metric, const char *text, const char *reason)
{
	if (text[0])
		muster_emit_plain(ctx, metric, muster_string(text));
	else
		muster_emit_null_plain(ctx, metric, "%s", reason);
}

/* What NCCL's log says about the way that the data took. */
static void emit_log(struct muster_probe_ctx *ctx, int ranks)
{
	struct muster_error err = { 0 };
	struct muster_nccl_log log = { 0 };
	const char *reason = ranks == 1 ? "a ring of one rank has no channels" : "NCCL's log names none";
	char *text = NULL;
	size_t length = 0;
	if (muster_nccl_log_read(&text, &length, &err) < 0) {
		reason = err.text;
	} else {
		/* the devices are named once in a process, the channels by each ring */
		struct muster_nccl_log whole = { 0 };
		size_t from = before.log_length < length ? before.log_length : 0;
		muster_nccl_log_parse(text, length, &whole);
		muster_nccl_log_parse(text + from, length - from, &log);
		memcpy(log.devices, whole.devices, sizeof log.devices);
	}
	free(text);
	emit_text(ctx, "rank.nccl_transport", log.transports, reason);
	emit_text(ctx, "rank.nccl_hcas", log.devices, reason);
	if (log.network_channels > 0)
		muster_emit_plain(ctx, "rank.nccl_gdr", muster_boolean(log.gdr_channels == log.network_channels));
	else
		muster_emit_null_plain(
			ctx, "rank.nccl_gdr", "%s", log.transports[0] ? "no channel uses a network" : reason);
}

/* Add the end of NCCL's log to an error: what NCCL returns is seldom the cause. */
static void add_log_tail(struct muster_error *err)
{
	char *text, tail[MUSTER_ERROR_TEXT_MAX * 5 / 8];
	size_t length;
	struct muster_error inner = *err;
	if (muster_nccl_log_read(&text, &length, NULL) < 0)
		return;
	size_t from = before.log_length < length ? before.log_length : 0;
	if (muster_nccl_log_tail(text + from, length - from, tail, sizeof tail)[0])
		muster_fail(err, inner.code, "%s; NCCL's log ends: %s", inner.text, tail);
	free(text);
}

static int connect_ranks(struct session *s, struct muster_error *err)
{
	struct muster_nccl_config config = {
		.size = sizeof config,
		.magic = MUSTER_NCCL_CONFIG_MAGIC,
		.version = MUSTER_NCCL_CONFIG_VERSION,
		.blocking = 0,
	};
	ncclUniqueId id;
	memcpy(id.internal, s->ring->id, sizeof id.internal);
	muster_step(s->ctx, "ncclCommInitRankConfig: %d of %d", s->ring->rank, s->ring->ranks);
	double began_ms = muster_now_ms();
	ncclResult_t result = state.nccl->ncclCommInitRankConfig(&s->comm, s->ring->ranks, id, s->ring->rank, &config);
	if (settle(s, result, "ncclCommInitRankConfig", err) < 0)
		return -1;
	muster_emit_plain(s->ctx, "rank.nccl_init_ms", muster_number(muster_now_ms() - began_ms));
	return 0;
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	int version = 0;
	char text[32];
	if (prepare(ctx, err) < 0)
		return -1;
	ncclResult_t result = state.nccl->ncclGetVersion(&version);
	if (result == ncclSuccess)
		muster_emit_plain(
			ctx, "rank.nccl_version", muster_string(muster_nccl_version_text(version, text, sizeof text)));
	else
		muster_emit_null_plain(ctx, "rank.nccl_version", "ncclGetVersion: result %d", (int)result);
	return 0;
}

/* Make a second ring in the same process possible. */
static void leave_ring_before(struct muster_probe_ctx *ctx)
{
	char *text;
	if (!before.comm)
		return;
	muster_step(ctx, "ncclCommAbort of the ring before");
	state.nccl->ncclCommAbort(before.comm);
	before.comm = NULL;
	if (muster_nccl_log_read(&text, &before.log_length, NULL) == 0)
		free(text);
}

static int ring_id(struct muster_probe_ctx *ctx, unsigned char id[MUSTER_RING_ID_BYTES], struct muster_error *err)
{
	ncclUniqueId unique;
	_Static_assert(sizeof unique.internal == MUSTER_RING_ID_BYTES, "NCCL's id fits the ring's");
	if (prepare(ctx, err) < 0)
		return -1;
	muster_step(ctx, "ncclGetUniqueId");
	if (muster_nccl_check(state.nccl, state.nccl->ncclGetUniqueId(&unique), NULL, err, "ncclGetUniqueId") < 0) {
		add_log_tail(err);
		return -1;
	}
	memcpy(id, unique.internal, MUSTER_RING_ID_BYTES);
	return 0;
}

static int ring(struct muster_probe_ctx *ctx, const struct muster_ring *ring, struct muster_error *err)
{
	struct session s = { .ctx = ctx, .ring = ring, .started_ms = muster_now_ms() };
	s.deadline_ms = s.started_ms + ring->timeout_ms;
	if (prepare(ctx, err) < 0)
		return -1;
	leave_ring_before(ctx);
	if (ring->rank == 0) {
		muster_emit_plain(ctx, "nccl.ring_ranks", muster_number(ring->ranks));
		muster_emit_plain(ctx, "nccl.ring_nodes", muster_number(ring->nodes));
	}
	int failed = connect_ranks(&s, err);
	if (failed == 0)
		failed = measure_ladder(&s, err);
	emit_log(ctx, ring->ranks);
	if (failed == 0) {
		/* The communicator is left to the end of the process, which is near: ncclCommFinalize alone took 0.39 s
		 * with four H200 (docs/measurements.md), and nothing of it outlives us. */
		before.comm = s.comm;
		release();
		return 0;
	}
	if (err->code != MUSTER_ECALLEDOFF)
		add_log_tail(err);
	/* An abort may hang, and so may freeing what a kernel uses that never ends: first say what happened. */
	muster_giving_up(ctx, err);
	if (s.comm) {
		muster_step(ctx, "ncclCommAbort after: %s", err->text);
		state.nccl->ncclCommAbort(s.comm);
	}
	muster_step(ctx, "freeing what the ring used");
	release();
	char *text;
	if (muster_nccl_log_read(&text, &before.log_length, NULL) == 0)
		free(text);
	return -1;
}

const struct muster_probe muster_probe_nccl_allreduce = {
	.name = "nccl_allreduce",
	.summary = "an NCCL all-reduce over all ranks: data, bandwidth, transport",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 60000,
	.ring_agree = "rank.nccl_version",
	.ring_rate = "nccl.allreduce_busbw_gbps",
	.order = 70,
	.metrics = metrics,
	.metric_count = sizeof metrics / sizeof *metrics,
	.run = run,
	.ring_id = ring_id,
	.ring = ring,
};

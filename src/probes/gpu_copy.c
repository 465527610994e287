/* gpu_copy.c - how fast the copy engine moves pinned memory to and from the rank's GPU
 *
 * Copies are queued back to back and timed on the GPU by events, so the host's own speed does not enter. The host's
 * buffer lies on the NUMA node nearest to the GPU; when it cannot be placed there, copy_numa_node says so.
 */
#include "vendor/cuda.h"
#include "vendor/nvml.h"
#include "vendor/pinned.h"
#include "util/text.h"
#include "probes/metrics.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	GPU_NUMBER("gpu.h2d_gbps", GB_PER_S, MORE, "host to device, alone on its path: median of the repeats",
		.limits = { "gpu.c2c_limit_gbps", "gpu.pcie_limit_gbps" },
		SHOWN(IN(PAGE_GPUS, 10, "H2D, GB/s"), IN(SPEEDS, 50, "H2D, one GPU at a time"))),
	GPU_NUMBER("gpu.d2h_gbps", GB_PER_S, MORE, "device to host, alone on its path: median of the repeats",
		.limits = { "gpu.c2c_limit_gbps", "gpu.pcie_limit_gbps" },
		SHOWN(IN(PAGE_GPUS, 20, "D2H, GB/s"), IN(SPEEDS, 60, "D2H, one GPU at a time"))),
	GPU_NUMBER("gpu.h2d_spread", RATIO, DRIFTS, "(highest - lowest) / median of the h2d_gbps repeats"),
	GPU_NUMBER("gpu.d2h_spread", RATIO, DRIFTS, "(highest - lowest) / median of the d2h_gbps repeats"),
	GPU_NUMBER("gpu.h2d_together_gbps", GB_PER_S, MORE, "host to device with all GPUs of the node at once",
		.limits = { "gpu.c2c_limit_gbps", "gpu.pcie_limit_gbps" }, .varies = true,
		SHOWN(IN(SPEEDS, 70, "H2D, all GPUs at once"))),
	GPU_NUMBER("gpu.d2h_together_gbps", GB_PER_S, MORE, "device to host with all GPUs of the node at once",
		.limits = { "gpu.c2c_limit_gbps", "gpu.pcie_limit_gbps" }, .varies = true,
		SHOWN(IN(SPEEDS, 80, "D2H, all GPUs at once"))),
	NUMBER(GPU, "gpu.bidirectional_gbps", GB_PER_S, MORE,
		"host to device (h2d) or device to host (d2h) while both copy at once, alone on its path: median of "
		"the rounds",
		.labels = { "gpu", "direction" },
		SHOWN(IN(SPEEDS, 90, "H2D while D2H runs", .key = "direction", .value = "h2d"),
			IN(SPEEDS, 100, "D2H while H2D runs", .key = "direction", .value = "d2h"))),
	GPU_NUMBER("gpu.copy_mib", MEBIBYTES, FACT, "size of one copy"),
	GPU_NUMBER("gpu.copy_numa_node", NONE, FACT, "NUMA node of the pinned memory; null when unknown"),
	GPU_FLAG("gpu.copy_intact", FACT, "data copied to the GPU and back is unchanged"),
	GPU_NUMBER("gpu.pcie_gen_loaded", NONE, MORE, "PCIe generation while the copies ran",
		SHOWN(IN(PAGE_GPUS, 60, "PCIe"))),
	GPU_NUMBER("gpu.pcie_width_loaded", NONE, MORE, "PCIe lanes while the copies ran",
		SHOWN(IN(PAGE_GPUS, 70, "lanes"))),
};

#define MIB ((size_t)1 << 20)
#define REPEATS 5
#define ROUNDS 3                      /* of REPEATS copies each way at once */
#define REPEATS_MAX 416               /* 30 ms of 32 MiB at 450 GB/s, the limit of NVLink-C2C */
#define TOGETHER_MS 30.0              /* long enough that ranks started milliseconds apart overlap */
#define WAIT_MS 8000                  /* for one direction; twice that is below the probe's deadline */
#define TILE_BYTES ((size_t)8191 * 8) /* a prime number of words: no copy engine's chunk is a whole number of tiles */

#define EVENTS (REPEATS_MAX + 1)

enum direction { H2D, D2H, DIRECTIONS };
static const struct {
	const char *title, *label, *gbps, *spread, *together;
} names[DIRECTIONS] = {
	[H2D] = { "host to device", "h2d", "gpu.h2d_gbps", "gpu.h2d_spread", "gpu.h2d_together_gbps" },
	[D2H] = { "device to host", "d2h", "gpu.d2h_gbps", "gpu.d2h_spread", "gpu.d2h_together_gbps" },
};

/* Lives from run to together: pinning memory takes longer than all the copies. */
static struct {
	const struct muster_cuda *cuda;
	struct muster_pinned host;
	CUdeviceptr device;
	CUstream streams[DIRECTIONS]; /* the second one is for copies both ways at once */
	CUevent events[EVENTS];       /* around and between the copies */
	double alone_ms[DIRECTIONS];  /* one copy, alone on its path; 0 until measured */
} state;

static void release(void)
{
	const struct muster_cuda *cuda = state.cuda;
	if (!cuda)
		return;
	/* A copy that never ended still uses the buffers, and freeing them could wait for it for ever. */
	for (size_t i = 0; i < DIRECTIONS; i++)
		if (state.streams[i] && cuda->cuStreamQuery(state.streams[i]) == CUDA_ERROR_NOT_READY)
			return;
	muster_cuda_events_free(cuda, state.events, EVENTS);
	for (size_t i = 0; i < DIRECTIONS; i++)
		if (state.streams[i])
			cuda->cuStreamDestroy_v2(state.streams[i]);
	if (state.device)
		cuda->cuMemFree_v2(state.device);
	muster_pinned_free(cuda, &state.host);
	memset(&state, 0, sizeof state);
}

static int prepare(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	if (state.cuda)
		return 0;
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_cuda *cuda = muster_cuda(err);
	if (!cuda)
		return -1;
	size_t bytes = (env->profile == MUSTER_QUICK ? 32 : 64) * MIB;
	muster_step(ctx, "cuMemHostRegister_v2 of %zu MiB", bytes / MIB);
	if (muster_pinned_alloc(cuda, bytes, env->root, env->gpu->bus_id, &state.host, err) < 0)
		return -1;
	state.cuda = cuda;

	muster_step(ctx, "cuMemAlloc_v2 of %zu MiB", bytes / MIB);
	int failed = MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &state.device, bytes);
	for (size_t i = 0; failed == 0 && i < DIRECTIONS; i++)
		failed = MUSTER_CUDA(cuda, err, cuStreamCreate, &state.streams[i], CU_STREAM_NON_BLOCKING);
	if (failed == 0)
		failed = muster_cuda_events_make(cuda, state.events, EVENTS, err);
	if (failed < 0)
		release();
	return failed;
}

/* One copy of `bytes` bytes, from `offset` on of both buffers. */
static int queue_part(enum direction direction, size_t offset, size_t bytes, CUstream stream, struct muster_error *err)
{
	void *host = (char *)state.host.data + offset;
	CUdeviceptr device = state.device + offset;
	if (direction == H2D)
		return MUSTER_CUDA(state.cuda, err, cuMemcpyHtoDAsync_v2, device, host, bytes, stream);
	return MUSTER_CUDA(state.cuda, err, cuMemcpyDtoHAsync_v2, host, device, bytes, stream);
}

static int queue_copy(enum direction direction, struct muster_error *err)
{
	return queue_part(direction, 0, state.host.bytes, state.streams[0], err);
}

/* Queue one copy to warm up and `repeats` that are timed. */
static int queue_copies(enum direction direction, size_t repeats, struct muster_error *err)
{
	if (queue_copy(direction, err) < 0)
		return -1;
	for (size_t i = 0; i <= repeats; i++) {
		if (i > 0 && queue_copy(direction, err) < 0)
			return -1;
		if (MUSTER_CUDA(state.cuda, err, cuEventRecord, state.events[i], state.streams[0]) < 0)
			return -1;
	}
	return 0;
}

/* Wait for queue_copies, and give the median rate and (highest - lowest) / median. */
static int collect(size_t repeats, double *ret_gbps, double *ret_spread, struct muster_error *err)
{
	const struct muster_cuda *cuda = state.cuda;
	double gbps[REPEATS_MAX];
	if (muster_cuda_wait(cuda, state.streams[0], WAIT_MS, err) < 0)
		return -1;
	for (size_t i = 0; i < repeats; i++) {
		double ms;
		if (muster_cuda_elapsed(cuda, state.events[i], state.events[i + 1], &ms, err) < 0)
			return -1;
		if (!(ms > 0))
			return muster_fail(err, MUSTER_EVENDOR, "cuEventElapsedTime: a copy of %zu bytes took %g ms",
				state.host.bytes, ms);
		gbps[i] = (double)state.host.bytes / 1e6 / ms;
	}
	double median = muster_median_of(gbps, repeats);
	*ret_gbps = median;
	*ret_spread = (gbps[repeats - 1] - gbps[0]) / median;
	return 0;
}

/* The link may rest at a lower generation, so this is asked while copies are queued. */
static void measure_pcie(struct muster_probe_ctx *ctx)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	struct muster_error why;
	unsigned int number = 0;
	const struct muster_nvml *nvml = muster_nvml(&why);
	int shown = !nvml ? -1 : gpu->has_nvml ? 0 : muster_fail(&why, MUSTER_EVENDOR, "NVML does not show this GPU");
	int result = shown < 0
			     ? -1
			     : MUSTER_NVML(nvml, &why, nvmlDeviceGetCurrPcieLinkGeneration, gpu->nvml_device, &number);
	muster_emit_result(ctx, "gpu.pcie_gen_loaded", gpu->bus_id, result, muster_number(number), why.text);
	result = shown < 0 ? -1 : MUSTER_NVML(nvml, &why, nvmlDeviceGetCurrPcieLinkWidth, gpu->nvml_device, &number);
	muster_emit_result(ctx, "gpu.pcie_width_loaded", gpu->bus_id, result, muster_number(number), why.text);
}

/* A pattern without repetition inside a tile, repeated over the buffer. */
static void fill_tile(uint64_t *tile)
{
	uint64_t word = 0x9e3779b97f4a7c15u;
	for (size_t i = 0; i < TILE_BYTES / sizeof *tile; i++) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		tile[i] = word;
	}
}

/* What of the tile at this place lies in the buffer. */
static size_t tile_bytes(size_t at)
{
	return state.host.bytes - at < TILE_BYTES ? state.host.bytes - at : TILE_BYTES;
}

static bool is_intact(const uint64_t *tile)
{
	const unsigned char *data = state.host.data;
	for (size_t at = 0; at < state.host.bytes; at += TILE_BYTES)
		if (memcmp(data + at, tile, tile_bytes(at)) != 0)
			return false;
	return true;
}

/* ---- both ways at once ---- */

/* When each copy of a direction began and the last one ended, in milliseconds since the round began. */
typedef double copy_times[REPEATS + 1];

static CUevent both_event(enum direction direction, size_t copy)
{
	return state.events[1 + (size_t)direction * (REPEATS + 1) + copy];
}

/* Each direction has its own stream and its own half of the buffers. No stream begins before the other one can. */
static int queue_both(struct muster_error *err)
{
	size_t bytes = state.host.bytes / DIRECTIONS;
	if (MUSTER_CUDA(state.cuda, err, cuEventRecord, state.events[0], state.streams[0]) < 0 ||
		MUSTER_CUDA(state.cuda, err, cuStreamWaitEvent, state.streams[1], state.events[0], 0) < 0)
		return -1;
	for (size_t copy = 0; copy <= REPEATS + 1; copy++) /* the first one warms up */
		for (enum direction way = H2D; way < DIRECTIONS; way++)
			if ((copy > 0 && MUSTER_CUDA(state.cuda, err, cuEventRecord, both_event(way, copy - 1),
						 state.streams[way]) < 0) ||
				(copy <= REPEATS &&
					queue_part(way, (size_t)way * bytes, bytes, state.streams[way], err) < 0))
				return -1;
	return 0;
}

static int collect_both(copy_times ret[DIRECTIONS], struct muster_error *err)
{
	for (enum direction way = H2D; way < DIRECTIONS; way++)
		if (muster_cuda_wait(state.cuda, state.streams[way], WAIT_MS, err) < 0)
			return -1;
	for (enum direction way = H2D; way < DIRECTIONS; way++)
		for (size_t i = 0; i <= REPEATS; i++)
			if (muster_cuda_elapsed(state.cuda, state.events[0], both_event(way, i), &ret[way][i], err) < 0)
				return -1;
	return 0;
}

/* GB/s of the copies of `bytes` bytes that began and ended while the other direction copied too; of all where one
 * direction is so slow that there is no such copy. 0: they took no time. */
static double rate_of_both(const copy_times own, const copy_times other, size_t bytes)
{
	size_t first = 0, end = REPEATS;
	while (first < end && own[first] < other[0])
		first++;
	while (end > first && own[end] > other[REPEATS])
		end--;
	if (first == end) {
		first = 0;
		end = REPEATS;
	}
	double ms = own[end] - own[first];
	return ms > 0 ? (double)(bytes * (end - first)) / 1e6 / ms : 0;
}

static int measure_both(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const char *bus_id = muster_probe_env(ctx)->gpu->bus_id;
	size_t bytes = state.host.bytes / DIRECTIONS;
	double gbps[DIRECTIONS][ROUNDS];
	copy_times times[DIRECTIONS];
	muster_step(ctx, "%d copies both ways at once", ROUNDS * (REPEATS + 1));
	for (size_t round = 0; round < ROUNDS; round++) {
		if (queue_both(err) < 0 || collect_both(times, err) < 0)
			return -1;
		for (enum direction way = H2D; way < DIRECTIONS; way++) {
			gbps[way][round] = rate_of_both(times[way], times[way == H2D ? D2H : H2D], bytes);
			if (!(gbps[way][round] > 0))
				return muster_fail(err, MUSTER_EVENDOR, "cuEventElapsedTime: copies %s took no time",
					names[way].title);
		}
	}
	for (enum direction way = H2D; way < DIRECTIONS; way++) {
		const struct muster_value labels[] = { muster_string(bus_id), muster_string(names[way].label) };
		muster_emit(ctx, "gpu.bidirectional_gbps", labels, sizeof labels / sizeof *labels,
			muster_number(muster_median_of(gbps[way], ROUNDS)));
	}
	return 0;
}

/* What the GPU does in its own turn: each way alone, then both at once; nothing of it changes the data. */
static int measure_turn(struct muster_probe_ctx *ctx, const uint64_t *tile, struct muster_error *err)
{
	const char *bus_id = muster_probe_env(ctx)->gpu->bus_id;
	for (size_t at = 0; at < state.host.bytes; at += TILE_BYTES)
		memcpy((char *)state.host.data + at, tile, tile_bytes(at));
	for (enum direction direction = H2D; direction < DIRECTIONS; direction++) {
		double gbps, spread;
		muster_step(ctx, "%d copies %s", REPEATS + 1, names[direction].title);
		if (queue_copies(direction, REPEATS, err) < 0)
			return muster_wrap(err, "%s", names[direction].title);
		if (direction == H2D)
			measure_pcie(ctx);
		if (collect(REPEATS, &gbps, &spread, err) < 0)
			return muster_wrap(err, "%s", names[direction].title);
		state.alone_ms[direction] = (double)state.host.bytes / 1e6 / gbps;
		muster_emit_for(ctx, names[direction].gbps, bus_id, muster_number(gbps));
		muster_emit_for(ctx, names[direction].spread, bus_id, muster_number(spread));
		if (direction == H2D)
			memset(state.host.data, 0xff, state.host.bytes); /* what comes back must come from the GPU */
	}
	/* Before the host looks at the buffer: its memory is read then, not its caches. */
	if (muster_probe_env(ctx)->profile != MUSTER_QUICK && measure_both(ctx, err) < 0)
		return muster_wrap(err, "both ways at once");
	muster_emit_for(ctx, "gpu.copy_intact", bus_id, muster_boolean(is_intact(tile)));
	return 0;
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	static uint64_t tile[TILE_BYTES / sizeof(uint64_t)];
	const char *bus_id = muster_probe_env(ctx)->gpu->bus_id;
	int done = 0;
	if (prepare(ctx, err) < 0)
		return -1;
	muster_emit_for(ctx, "gpu.copy_mib", bus_id, muster_number((double)state.host.bytes / (double)MIB));
	muster_emit_result(ctx, "gpu.copy_numa_node", bus_id, state.host.numa_node, muster_number(state.host.numa_node),
		state.host.why);
	fill_tile(tile);
	do {
		if (measure_turn(ctx, tile, err) < 0)
			return -1;
	} while (++done < muster_probe_env(ctx)->repeats);
	return 0;
}

/* As many repeats as fill TOGETHER_MS at the speed that the GPU has alone. */
static size_t together_repeats(enum direction direction)
{
	double alone_ms = state.alone_ms[direction];
	double wanted = alone_ms > 0 ? TOGETHER_MS / alone_ms : REPEATS;
	return wanted > REPEATS_MAX ? REPEATS_MAX : wanted < REPEATS ? REPEATS : (size_t)wanted;
}

static int measure_together(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const char *bus_id = muster_probe_env(ctx)->gpu->bus_id;
	for (enum direction direction = H2D; direction < DIRECTIONS; direction++) {
		double gbps, spread;
		size_t repeats = together_repeats(direction);
		muster_step(ctx, "%zu copies %s with all GPUs of the node", repeats + 1, names[direction].title);
		if (queue_copies(direction, repeats, err) < 0 || collect(repeats, &gbps, &spread, err) < 0)
			return muster_wrap(err, "%s with all GPUs of the node", names[direction].title);
		muster_emit_for(ctx, names[direction].together, bus_id, muster_number(gbps));
	}
	return 0;
}

static int together(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	int done = 0;
	if (prepare(ctx, err) < 0)
		return -1;
	do {
		if (measure_together(ctx, err) < 0)
			return -1;
	} while (++done < muster_probe_env(ctx)->repeats);
	release();
	return 0;
}

/* After a run that was not followed by together, or after a failure. */
static int finish(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	(void)err;
	release();
	return 0;
}

const struct muster_probe muster_probe_gpu_copy = {
	.name = "gpu_copy",
	.summary = "pinned host-to-device and device-to-host bandwidth with the copy engine",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.deadline_ms = 20000,
	.order = 60,
	METRICS(metrics),
	.run = run,
	.phase = MUSTER_PHASE_COPIES,
	.together = together,
	.finish = finish,
};

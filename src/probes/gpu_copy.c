/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_copy.c - how fast the copy engine moves pinned memory to and from the rank's GPU
 *
 * Copies are queued back to back and timed on the GPU by events, so the host's own speed does not enter. The host's
 * buffer lies on the NUMA node nearest to the GPU; when it cannot be placed there, copy_numa_node says so.
 *
 * What a window is. Three copies of 32 MiB in one stream, each between two events, and their median: 1.8 ms on PCIe 5.0
 * x16, where a copy takes 0.6 ms, so that the 10 us of a launch are no part of it. The first window of a visit has one
 * more copy before it, which wakes the link and the copy engine up.
 *
 *   run       this GPU alone on its path to the host: windows of H2D, D2H, and (not in quick) of both at once
 *   together  all GPUs of the node: copies in a row, cut into windows of about 3 ms, without 2 ms at each end,
 *             in which other ranks may not have begun or may have ended already
 *
 * One buffer of pinned memory and one of device memory serve all visits, since pinning 32 MiB takes longer than all
 * copies. Both ways at once, each direction has a half of both buffers, so that no copy reads what another one writes.
 *
 * The data is checked once, in the first visit: random words go to the GPU, the host's buffer is overwritten, and what
 * comes back must be those words. Later copies only repeat the transfer.
 */
#include "probes/gpu/device.h"
#include "storage/pattern.h"
#include "vendor/pinned.h"
#include "util/text.h"
#include "probes/metrics.h"
#include "probes/windows.h"
#include "util/array.h"

#include <string.h>

#define COPY_METRIC(name, ...)                                                                                         \
	GPU_NUMBER(name, GB_PER_S, MORE, __VA_ARGS__, .limits = { "gpu.c2c_limit_gbps", "gpu.pcie_limit_gbps" },       \
		.windows = "copies")

static const struct muster_metric metrics[] = {
	COPY_METRIC("gpu.h2d_gbps", "host to device, alone on its path",
		SHOWN(IN(PAGE_GPUS, 10, "H2D, GB/s"), IN(SPEEDS, 50, "H2D, one GPU at a time"))),
	COPY_METRIC("gpu.d2h_gbps", "device to host, alone on its path",
		SHOWN(IN(PAGE_GPUS, 20, "D2H, GB/s"), IN(SPEEDS, 60, "D2H, one GPU at a time"))),
	COPY_METRIC("gpu.h2d_together_gbps", "host to device with all GPUs of the node at once", .varies = true,
		SHOWN(IN(SPEEDS, 70, "H2D, all GPUs at once"))),
	COPY_METRIC("gpu.d2h_together_gbps", "device to host with all GPUs of the node at once", .varies = true,
		SHOWN(IN(SPEEDS, 80, "D2H, all GPUs at once"))),
	NUMBER(GPU, "gpu.bidirectional_gbps", GB_PER_S, MORE,
		"host to device (h2d) or device to host (d2h) while both copy at once, alone on its path",
		.labels = { "gpu", "direction" }, .windows = "copies",
		SHOWN(IN(SPEEDS, 90, "H2D while D2H runs", .key = "direction", .value = "h2d"),
			IN(SPEEDS, 100, "D2H while H2D runs", .key = "direction", .value = "d2h"))),
	GPU_NUMBER("gpu.copy_mib", MEBIBYTES, FACT, "size of one copy"),
	GPU_NUMBER("gpu.copy_numa_node", NONE, FACT, "NUMA node of the pinned memory; no value when unknown"),
	GPU_FLAG("gpu.copy_intact", FACT, "data copied to the GPU and back is unchanged"),
	GPU_NUMBER("gpu.pcie_gen_loaded", NONE, MORE, "PCIe generation while the copies ran",
		SHOWN(IN(PAGE_GPUS, 60, "PCIe"))),
	GPU_NUMBER("gpu.pcie_width_loaded", NONE, MORE, "PCIe lanes while the copies ran",
		SHOWN(IN(PAGE_GPUS, 70, "lanes"))),
	NUMBER(GPU, "gpu.slow_windows", RATIO, DRIFTS,
		"share of the windows that are below 80 % of the best one; not measured but derived",
		.labels = { "gpu", "part", "range" }, .is_steadiness = true),
};

#define MIB ((size_t)1 << 20)
#define BYTES (32 * MIB)
#define COPIES MUSTER_WINDOW_OPERATIONS
#define COPIES_MOST 512 /* in a row */
#define WINDOW_MS 3.0   /* of a window with all GPUs at once */
#define MARGIN_MS 2.0   /* before and after these windows: ranks start milliseconds apart */
#define WAIT_MS 8000    /* for one direction; twice that is below the probe's deadline */

#define EVENTS (COPIES_MOST + 1)

enum direction { H2D, D2H, DIRECTIONS };
static const struct {
	const char *title, *label, *gbps, *together;
} names[DIRECTIONS] = {
	[H2D] = { "host to device", "h2d", "gpu.h2d_gbps", "gpu.h2d_together_gbps" },
	[D2H] = { "device to host", "d2h", "gpu.d2h_gbps", "gpu.d2h_together_gbps" },
};

/* Lives from the first visit to the last one: pinning memory takes longer than all the copies. */
static struct {
	const struct muster_cuda *cuda;
	struct muster_pinned host;
	CUdeviceptr device;
	CUstream streams[DIRECTIONS]; /* the second one is for copies both ways at once */
	CUevent events[EVENTS];       /* around and between the copies */
	double alone_ms[DIRECTIONS];  /* one copy, alone on its path; 0 until measured */
	double first_ms;              /* when the first visit was */
} state;

/* Frees everything, also half-made state. After an error that broke the context the calls fail at once, which does no
 * harm: the context ends with the process. */
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

/* Buffers, streams and events, unless an earlier visit has made them. A failure leaves nothing. */
static int prepare(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	if (state.cuda)
		return 0;
	const struct muster_probe_env *env = muster_probe_env(ctx);
	const struct muster_cuda *cuda = muster_cuda(err);
	if (!cuda)
		return -1;
	size_t bytes = muster_pinned_bytes(BYTES);
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

/* Queue `count` copies that are timed, in the first stream, with an event before the first one and after each; before
 * all of them one that warms up, if wanted. */
static int queue_copies(enum direction direction, bool warms_up, size_t count, struct muster_error *err)
{
	if (warms_up && queue_copy(direction, err) < 0)
		return -1;
	for (size_t i = 0; i <= count; i++) {
		if (i > 0 && queue_copy(direction, err) < 0)
			return -1;
		if (MUSTER_CUDA(state.cuda, err, cuEventRecord, state.events[i], state.streams[0]) < 0)
			return -1;
	}
	return 0;
}

/* Wait for queue_copies, and give the median rate of each window in GB/s. A window is `copies` copies in a row; the
 * first one begins after `before` copies that count for nothing. */
static int collect(size_t before, size_t windows, size_t copies, double *ret_gbps, struct muster_error *err)
{
	const struct muster_cuda *cuda = state.cuda;
	double gbps[COPIES_MOST];
	if (muster_cuda_wait(cuda, state.streams[0], WAIT_MS, err) < 0)
		return -1;
	for (size_t i = 0; i < windows * copies; i++) {
		double ms;
		if (muster_cuda_elapsed(cuda, state.events[before + i], state.events[before + i + 1], &ms, err) < 0)
			return -1;
		if (!(ms > 0))
			return muster_fail(err, MUSTER_EVENDOR, "cuEventElapsedTime: a copy of %zu bytes took %g ms",
				state.host.bytes, ms);
		gbps[i] = (double)state.host.bytes / 1e6 / ms;
	}
	for (size_t i = 0; i < windows; i++)
		ret_gbps[i] = muster_median_of(gbps + i * copies, copies);
	return 0;
}

/* The link may rest at a lower generation, so this is asked while copies are queued. */
static void measure_pcie(struct muster_probe_ctx *ctx)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	struct muster_error why;
	unsigned int number = 0;
	const struct muster_nvml *nvml = muster_gpu_nvml(gpu, &why);
	int result =
		nvml ? MUSTER_NVML(nvml, &why, nvmlDeviceGetCurrPcieLinkGeneration, gpu->nvml_device, &number) : -1;
	muster_emit_read(ctx, "gpu.pcie_gen_loaded", gpu->bus_id, result, muster_number(number), &why);
	result = nvml ? MUSTER_NVML(nvml, &why, nvmlDeviceGetCurrPcieLinkWidth, gpu->nvml_device, &number) : -1;
	muster_emit_read(ctx, "gpu.pcie_width_loaded", gpu->bus_id, result, muster_number(number), &why);
}

/* ---- both ways at once ---- */

/* When each copy of a direction began and the last one ended, in milliseconds since the round began. */
typedef double copy_times[COPIES + 1];

/* Events of a round both ways: 0 is when both streams may begin, then COPIES + 1 for H2D and as many for D2H. */
static CUevent both_event(enum direction direction, size_t copy)
{
	return state.events[1 + (size_t)direction * (COPIES + 1) + copy];
}

/* Each direction has its own stream and its own half of the buffers. No stream begins before the other one can: the
 * second waits for an event of the first. Copies are queued in turns, one of each direction. A stream has, with the
 * numbers of both_event:
 *
 *   copy (warms up) | 0 | copy | 1 | copy | 2 | copy | 3
 */
static int queue_both(struct muster_error *err)
{
	size_t bytes = state.host.bytes / DIRECTIONS;
	if (MUSTER_CUDA(state.cuda, err, cuEventRecord, state.events[0], state.streams[0]) < 0 ||
		MUSTER_CUDA(state.cuda, err, cuStreamWaitEvent, state.streams[1], state.events[0], 0) < 0)
		return -1;
	for (size_t copy = 0; copy <= COPIES + 1; copy++) /* the last round only records the last event */
		for (enum direction way = H2D; way < DIRECTIONS; way++)
			if ((copy > 0 && MUSTER_CUDA(state.cuda, err, cuEventRecord, both_event(way, copy - 1),
						 state.streams[way]) < 0) ||
				(copy <= COPIES &&
					queue_part(way, (size_t)way * bytes, bytes, state.streams[way], err) < 0))
				return -1;
	return 0;
}

/* Wait for both streams and read when each copy began and ended. All times count from the round's begin, so that
 * those of the two directions can be compared. */
static int collect_both(copy_times ret[DIRECTIONS], struct muster_error *err)
{
	for (enum direction way = H2D; way < DIRECTIONS; way++)
		if (muster_cuda_wait(state.cuda, state.streams[way], WAIT_MS, err) < 0)
			return -1;
	for (enum direction way = H2D; way < DIRECTIONS; way++)
		for (size_t i = 0; i <= COPIES; i++)
			if (muster_cuda_elapsed(state.cuda, state.events[0], both_event(way, i), &ret[way][i], err) < 0)
				return -1;
	return 0;
}

/* GB/s of the copies of `bytes` bytes that began and ended while the other direction copied too. Where one direction is
 * so slow that there is no such copy, all copies count. 0: they took no time. An example in milliseconds, COPIES 3:
 *
 *   own     0    1    2    3      its first copy began before the other direction did: the copies from 1 to 3 count
 *   other   0.5  2    3.5  5
 */
static double rate_of_both(const copy_times own, const copy_times other, size_t bytes)
{
	size_t first = 0, end = COPIES;
	while (first < end && own[first] < other[0])
		first++;
	while (end > first && own[end] > other[COPIES])
		end--;
	if (first == end) {
		first = 0;
		end = COPIES;
	}
	double ms = own[end] - own[first];
	return ms > 0 ? (double)(bytes * (end - first)) / 1e6 / ms : 0;
}

/* One window of each direction. */
static int measure_both(double ret_gbps[DIRECTIONS], struct muster_error *err)
{
	copy_times times[DIRECTIONS];
	if (queue_both(err) < 0 || collect_both(times, err) < 0)
		return -1;
	for (enum direction way = H2D; way < DIRECTIONS; way++) {
		ret_gbps[way] = rate_of_both(times[way], times[way == H2D ? D2H : H2D], state.host.bytes / DIRECTIONS);
		if (!(ret_gbps[way] > 0))
			return muster_fail(
				err, MUSTER_EVENDOR, "cuEventElapsedTime: copies %s took no time", names[way].title);
	}
	return 0;
}

/* ---- a GPU's own turn ---- */

/* The windows of one visit so far; emitted even if a later window fails. */
struct turn {
	double alone[DIRECTIONS][MUSTER_WINDOWS_MOST], both[DIRECTIONS][MUSTER_WINDOWS_MOST];
	size_t done[DIRECTIONS], both_done;
};

/* A window of each way alone, then (not in quick) one of both at once. first: of the visit, so that each direction has
 * a copy before it that warms up. checks: the first window of the run, which also reads the PCIe link while copies are
 * queued, and then overwrites the host's buffer.
 *
 * No copy changes the data. H2D writes the host's words to the GPU; D2H brings them back; both ways at once copy halves
 * that are equal already. So the host's buffer is compared once, after all windows of the visit (run). */
static int measure_window(
	struct muster_probe_ctx *ctx, struct turn *turn, bool first, bool checks, struct muster_error *err)
{
	for (enum direction direction = H2D; direction < DIRECTIONS; direction++) {
		double *gbps = &turn->alone[direction][turn->done[direction]];
		if (first)
			muster_step(ctx, "copies %s", names[direction].title);
		if (queue_copies(direction, first, COPIES, err) < 0)
			return muster_wrap(err, "%s", names[direction].title);
		if (checks && direction == H2D)
			measure_pcie(ctx);
		if (collect(0, 1, COPIES, gbps, err) < 0)
			return muster_wrap(err, "%s", names[direction].title);
		turn->done[direction]++;
		state.alone_ms[direction] = (double)state.host.bytes / 1e6 / *gbps;
		if (checks && direction == H2D)
			memset(state.host.data, 0xff, state.host.bytes); /* what comes back must come from the GPU */
	}
	double both[DIRECTIONS];
	if (muster_probe_env(ctx)->profile == MUSTER_QUICK)
		return 0;
	if (first)
		muster_step(ctx, "copies both ways at once");
	if (measure_both(both, err) < 0)
		return muster_wrap(err, "both ways at once");
	for (enum direction way = H2D; way < DIRECTIONS; way++)
		turn->both[way][turn->both_done] = both[way];
	turn->both_done++;
	return 0;
}

/* Also after a failure: what was measured before it stays. */
static void emit_turn(struct muster_probe_ctx *ctx, const struct turn *turn)
{
	for (enum direction way = H2D; way < DIRECTIONS; way++) {
		const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id),
			muster_string(names[way].label) };
		if (turn->done[way] > 0)
			muster_windows_emit(ctx, names[way].gbps, labels, 1, turn->alone[way], turn->done[way], NULL);
		if (turn->both_done > 0)
			muster_windows_emit(
				ctx, "gpu.bidirectional_gbps", labels, 2, turn->both[way], turn->both_done, NULL);
	}
}

/* All windows of one visit, emitted together. `turn` is static for its size. */
static int measure_turn(struct muster_probe_ctx *ctx, bool checks, struct muster_error *err)
{
	static struct turn turn;
	int failed = 0;
	turn.done[H2D] = turn.done[D2H] = turn.both_done = 0;
	for (size_t i = 0; failed == 0 && i < muster_windows_count(ctx); i++)
		failed = measure_window(ctx, &turn, i == 0, checks && i == 0, err);
	emit_turn(ctx, &turn);
	return failed;
}

/* The rank's own turn. The first visit also emits the facts of the buffer and checks the data; later ones only have
 * windows. */
static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const char *bus_id = muster_probe_env(ctx)->gpu->bus_id;
	if (prepare(ctx, err) < 0)
		return -1;
	muster_windows_wait(ctx, &state.first_ms);
	if (muster_probe_env(ctx)->visit > 0)
		return measure_turn(ctx, false, err);
	muster_emit_for(ctx, "gpu.copy_mib", bus_id, muster_number((double)state.host.bytes / (double)MIB));
	muster_emit_result(ctx, "gpu.copy_numa_node", bus_id, state.host.numa_node, muster_number(state.host.numa_node),
		state.host.why);
	const uint64_t seed = muster_storage_seed();
	muster_storage_fill(state.host.data, state.host.bytes, 0, seed);
	int failed = measure_turn(ctx, true, err);
	if (!(state.alone_ms[D2H] > 0)) /* nothing has come back */
		return -1;
	/* after all copies: until now the host's memory was read, not its caches */
	bool intact = muster_storage_wrong(state.host.data, state.host.bytes, 0, seed) == 0;
	if (failed == 0 || !intact)
		muster_emit_for(ctx, "gpu.copy_intact", bus_id, muster_boolean(intact));
	return failed;
}

/* ---- all GPUs at once ---- */

/* As many copies as take `ms` at the speed that the GPU has alone, at least `least`. At most an eighth of COPIES_MOST,
 * so that windows and both margins have events enough. `least` where nothing was measured alone. */
static size_t copies_of(enum direction direction, double ms, size_t least)
{
	double alone_ms = state.alone_ms[direction], wanted = alone_ms > 0 ? ms / alone_ms : 0;
	const size_t most = COPIES_MOST / 8;
	return wanted < (double)least ? least : wanted > (double)most ? most : (size_t)wanted;
}

/* Copies in a row, each direction by itself: a margin, the windows, a margin. No window is near the moments at which
 * another rank begins or ends. The first margin is the warm-up. */
static int together(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_value label = muster_string(muster_probe_env(ctx)->gpu->bus_id);
	double gbps[MUSTER_WINDOWS_MOST];
	if (prepare(ctx, err) < 0)
		return -1;
	for (enum direction direction = H2D; direction < DIRECTIONS; direction++) {
		size_t copies = copies_of(direction, WINDOW_MS, COPIES), margin = copies_of(direction, MARGIN_MS, 1);
		size_t windows = muster_windows_count(ctx), most = (COPIES_MOST - 2 * margin) / copies;
		windows = windows < most ? windows : most;
		muster_step(ctx, "copies %s with all GPUs of the node", names[direction].title);
		if (queue_copies(direction, false, 2 * margin + windows * copies, err) < 0 ||
			collect(margin, windows, copies, gbps, err) < 0)
			return muster_wrap(err, "%s with all GPUs of the node", names[direction].title);
		muster_windows_emit(ctx, names[direction].together, &label, 1, gbps, windows, NULL);
	}
	return 0;
}

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
	.beside_ring_start = true,
	METRICS(metrics),
	.run = run,
	.phase = MUSTER_PHASE_COPIES,
	.windows = true,
	.together = together,
	.finish = finish,
};

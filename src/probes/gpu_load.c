/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_load.c - the GPU at work, with all GPUs of the node at once: every byte of its memory, and products of matrices
 *
 * What an idle GPU says of itself is not what it does under load. Nearly all free memory serves both parts; what the
 * ring and the probes after it may need is free again before the ring starts.
 *
 * The order in a first visit, and why:
 *
 *   1. counters of NVML (heat, ECC) before
 *   2. kernels, a stream, events, and one small product of cuBLASLt: loading its code takes up to 700 MiB of
 *      device memory, which must be there before the test takes the rest
 *   3. nearly all free memory, in one or two allocations (take_memory)
 *   4. the memory test, then products, until the soak is over; a thread samples clocks, power and heat meanwhile
 *   5. counters after, and everything is emitted, whether the work has failed or not
 *   6. the second allocation is freed for NCCL and the probes that follow (release)
 *
 * The first allocation is kept until the process ends where later visits need it (later_bytes says what freeing it
 * would cost). Later visits write and read a few parts of it, and multiply the same matrices, for windows only.
 *
 * A GPU that other programs use (gpu_users has set why_shared) is not loaded: the test would take memory that these
 * programs need.
 */
#include "probes/gpu_load/load.h"

#include "vendor/cublaslt.h"
#include "probes/metrics.h"
#include "probes/windows.h"
#include "util/text.h"

#include <pthread.h>
#include <stdio.h>

static const struct muster_metric metrics[] = {
	GPU_NUMBER("gpu.memory_held_mib", MEBIBYTES, DRIFTS, "memory that was in use before the test, by any process"),
	GPU_NUMBER("gpu.memory_tested_mib", MEBIBYTES, DRIFTS, "memory that was written and verified"),
	GPU_NUMBER("gpu.memory_tested_share", RATIO, DRIFTS, "the same as a share of the GPU's memory"),
	GPU_NUMBER("gpu.memory_wrong", NONE, LESS, "16-byte words that were read other than written",
		.counts_wrong = true),
	GPU_TEXT("gpu.memory_wrong_at", FACT, NOTHING,
		"the first of them: offset, expected, read, and the bit when it is a single one; \"none\""),
	GPU_NUMBER("gpu.memory_write_gbps", GB_PER_S, MORE, "writing a pattern by a kernel",
		.limits = { "gpu.memory_limit_gbps" }, .windows = "memory",
		SHOWN(IN(PAGE_GPUS, 40, "memory write, GB/s"), IN(SPEEDS, 130, "GPU memory, written"))),
	GPU_NUMBER("gpu.memory_read_gbps", GB_PER_S, MORE, "verifying a pattern by a kernel",
		.limits = { "gpu.memory_limit_gbps" }, .windows = "memory",
		SHOWN(IN(PAGE_GPUS, 50, "memory read, GB/s"), IN(SPEEDS, 140, "GPU memory, read"))),
	GPU_NUMBER("gpu.gemm_bf16_tflops", TFLOP_PER_S, MORE, "products of BF16 matrices", .windows = "products",
		.within_gpu = true, .limits = { "gpu.matmul_bf16_limit_tflops" },
		SHOWN(IN(PAGE_GPUS, 30, "BF16, TFLOP/s"), IN(SPEEDS, 10, "BF16"))),
	GPU_NUMBER("gpu.gemm_fp64_tflops", TFLOP_PER_S, MORE, "products of FP64 matrices", .windows = "products",
		.within_gpu = true, SHOWN(IN(SPEEDS, 30, "FP64"))),
	GPU_NUMBER("gpu.gemm_fp8_tflops", TFLOP_PER_S, MORE, "products of FP8 matrices", .windows = "products",
		.within_gpu = true, SHOWN(IN(SPEEDS, 40, "FP8"))),
	GPU_NUMBER("gpu.gemm_sustained_tflops", TFLOP_PER_S, MORE,
		"BF16 in a soak: median of the second half of the rounds, when heat and clocks have settled",
		.limits = { "gpu.matmul_bf16_limit_tflops" }, SHOWN(IN(SPEEDS, 20, "BF16, end of the soak"))),
	GPU_NUMBER("gpu.gemm_size", NONE, FACT, "n of the n x n matrices"),
	GPU_NUMBER("gpu.gemm_drift", RATIO, DRIFTS,
		"BF16 in a soak: median of the last tenth of the rounds / median of the first tenth"),
	GPU_NUMBER(
		"gpu.gemm_wrong", NONE, LESS, "16-byte words in which equal products differed", .counts_wrong = true),
	TEXT(GPU, "gpu.gemm_checksum", FACT, NOTHING,
		"sum of a product's bits; made_by is the GPU's model, the library, the size and the algorithm",
		.labels = { "gpu", "precision", "made_by" }),
	GPU_NUMBER("gpu.sm_clock_loaded_mhz", MHZ, DRIFTS, "SM clock under load: mean of the samples"),
	GPU_NUMBER("gpu.sm_clock_reached_mhz", MHZ, DRIFTS,
		"the same: highest sample; no value where power, heat or a brake held the clocks down in any sample"),
	GPU_NUMBER("gpu.mem_clock_loaded_mhz", MHZ, DRIFTS, "memory clock under load: mean of the samples"),
	GPU_NUMBER("gpu.power_loaded_watts", WATTS, DRIFTS, "power under load: highest sample",
		SHOWN(IN(PAGE_GPUS, 100, "W loaded"))),
	GPU_NUMBER("gpu.temperature_loaded_celsius", CELSIUS, DRIFTS, "temperature under load: highest sample",
		SHOWN(IN(PAGE_GPUS, 90, "°C loaded"))),
	GPU_NUMBER("gpu.temperature_margin_celsius", CELSIUS, DRIFTS,
		"degrees left under load until the hardware slows the GPU down: lowest sample"),
	GPU_NUMBER("gpu.memory_temperature_loaded_celsius", CELSIUS, DRIFTS,
		"temperature of the memory under load: highest sample"),
	GPU_NUMBER("gpu.memory_temperature_limit_celsius", CELSIUS, FACT, "the most that the memory may have",
		.called = "the memory's highest temperature"),
	NUMBER(GPU, "gpu.throttled_share", RATIO, DRIFTS,
		"share of the samples under load in which a reason held the clocks down at least three times running",
		.labels = { "gpu", "reason" }),
	GPU_NUMBER("gpu.hw_slowdown_share", RATIO, DRIFTS,
		"share of the time under load, without the first 200 ms, for which the hardware held the clocks down "
		"in such samples; 0 below 100 ms"),
	GPU_NUMBER("gpu.thermal_violation_ms", MS, LESS, "time for which heat held the clocks down, in steps of 100"),
	GPU_NUMBER("gpu.power_brake_ms", MS, LESS,
		"time under load for which a power brake held the clocks down, by the samples"),
	GPU_NUMBER("gpu.ecc_corrected_increase", NONE, LESS, "corrected errors of the memory during the load"),
	GPU_NUMBER("gpu.ecc_uncorrected_increase", NONE, LESS, "uncorrected errors of the memory during the load"),
	GPU_NUMBER("gpu.load_seconds", SECONDS, DRIFTS, "time for which the GPU worked, by its own clock"),
};

#define MIB ((size_t)1 << 20)
#define RESERVE (512 * MIB)       /* stays free: for the libraries' own needs */
#define RESERVE_PART 25           /* and no more than this part of a small memory, as of a MIG instance */
#define LATER ((size_t)8 << 30)   /* what NCCL and the probes after this one need at most ... */
#define LATER_PER_RANK (32 * MIB) /* ... with the connections to each of ... */
#define LATER_RANKS 1024          /* ... so many ranks */
#define LATER_PART 4              /* where that is more than this part of the memory, all of it is freed */
#define FREE_SHARE 0.95           /* of the GPU's memory: with less free than that, another program uses it */
#define COHERENT_SHARE 0.95       /* of free memory that is the system's as well: the kernel may have pages in it */
#define PRODUCTS_MS 120.0         /* of each precision in the first visit, without a soak */
#define LATER_WINDOWS ((size_t)4 << 30) /* memory for them, where none was kept */
#define SOAK_PRODUCTS_MS 1000.0
#define SETTLED_MS 8000.0 /* of load: the boost at its start is a small part of a tenth */

/* What NVML counts since the driver's start; read before and after. A value whose has_ is false has its reason beside
 * it: drivers and vGPUs differ in which counters they have. */
struct counters {
	double thermal_ns, corrected, uncorrected;
	struct muster_error no_thermal, no_ecc;
	bool has_thermal, has_ecc;
};

struct results {
	size_t held, total; /* bytes */
	struct muster_memory_figures memory;
	struct muster_product_figures products[MUSTER_PRECISIONS];
	struct counters before, after;
};

/* ---- beginning and end ---- */

static void *open_library(void *arg)
{
	(void)muster_cublaslt(NULL);
	return arg;
}

/* cuBLASLt is large: it is opened while the GPU's inventory and the copies go on. */
static void begin(struct muster_probe_ctx *ctx)
{
	pthread_t thread;
	if (muster_probe_env(ctx)->profile != MUSTER_QUICK && pthread_create(&thread, NULL, open_library, NULL) == 0)
		pthread_detach(thread);
}

/* What is free, in bytes. The memory of a process that has just ended comes back little by little: ask again as long as
 * there is more each time, and for at most 2 s. */
static int ask_free(const struct muster_cuda *cuda, size_t *ret_free, size_t *ret_total, struct muster_error *err)
{
	size_t before;
	*ret_free = 0;
	for (int attempt = 0; attempt < 20; attempt++) {
		before = *ret_free;
		if (MUSTER_CUDA(cuda, err, cuMemGetInfo_v2, ret_free, ret_total) < 0)
			return -1;
		if ((double)*ret_free >= FREE_SHARE * (double)*ret_total || *ret_free <= before)
			break;
		muster_sleep_ms(100);
	}
	return 0;
}

/* How much of the memory is to be free again for what follows. The rest stays allocated until the process ends: the
 * driver clears what is freed, and who allocates next waits for that (0.25 s after 135 GiB, H200). 0: all is freed. */
static size_t later_bytes(const struct muster_load *load, size_t total)
{
	const struct muster_probe_env *env = muster_probe_env(load->ctx);
	size_t ranks = env->ranks < LATER_RANKS ? (size_t)env->ranks : LATER_RANKS;
	uint64_t largest = env->max_bytes > env->min_bytes ? env->max_bytes : env->min_bytes; /* one may be 0 */
	size_t later = LATER + ranks * LATER_PER_RANK + (size_t)largest;
	bool keeps = env->profile == MUSTER_STANDARD && env->soak_s == 0;
	return keeps && later < total / LATER_PART ? later : 0;
}

/* Both allocations or none: load->memory first, since it is the larger one. Returns what CUDA said, since "out of
 * memory" is not the same as other errors for the caller. */
static CUresult allocate(struct muster_load *load)
{
	CUresult result = load->cuda->cuMemAlloc_v2(&load->memory, load->bytes);
	if (result != CUDA_SUCCESS || load->rest_bytes == 0)
		return result;
	result = load->cuda->cuMemAlloc_v2(&load->rest, load->rest_bytes);
	if (result == CUDA_SUCCESS)
		return result;
	load->cuda->cuMemFree_v2(load->memory);
	load->memory = load->rest = 0;
	return result;
}

/* All that is free, of coherent memory a share, but the reserve. Three attempts: another process may take memory. */
static int take_memory(struct muster_load *load, struct results *results, struct muster_error *err)
{
	const struct muster_cuda *cuda = load->cuda;
	size_t free_bytes;
	for (int attempt = 0; attempt < 3; attempt++) {
		if (ask_free(cuda, &free_bytes, &results->total, err) < 0)
			return -1;
		if (attempt == 0)
			results->held = results->total - free_bytes;
		if (muster_gpu_is_coherent(cuda, muster_probe_env(load->ctx)->gpu))
			free_bytes = (size_t)((double)free_bytes * COHERENT_SHARE);
		size_t reserve = results->total / RESERVE_PART < RESERVE ? results->total / RESERVE_PART : RESERVE;
		if (free_bytes < reserve + MIB)
			return muster_fail(err, MUSTER_ENOTSUPPORTED,
				"only %zu of %zu MiB of the GPU's memory are free", free_bytes / MIB,
				results->total / MIB);
		size_t bytes = (free_bytes - reserve) / MIB * MIB, later = later_bytes(load, results->total);
		load->rest_bytes = later < bytes / 2 ? later / MIB * MIB : 0;
		load->bytes = bytes - load->rest_bytes;
		muster_step(load->ctx, "cuMemAlloc_v2 of %zu MiB", bytes / MIB);
		CUresult result = allocate(load);
		if (result != CUDA_ERROR_OUT_OF_MEMORY)
			return muster_cuda_check(cuda, result, err, "cuMemAlloc_v2");
	}
	load->memory = load->rest = 0;
	return muster_fail(err, MUSTER_ERESOURCE, "cuMemAlloc_v2: no %zu MiB, though as many were free",
		(load->bytes + load->rest_bytes) / MIB);
}

static int prepare(struct muster_load *load, struct results *results, struct muster_error *err)
{
	const struct muster_cuda *cuda = load->cuda;
	muster_step(load->ctx, "cuModuleLoadDataEx of muster's kernels");
	load->kernels = muster_kernels(cuda, err);
	if (!load->kernels || MUSTER_CUDA(cuda, err, cuStreamCreate, &load->stream, CU_STREAM_NON_BLOCKING) < 0 ||
		MUSTER_CUDA(cuda, err, cuMemAlloc_v2, &load->reports,
			MUSTER_LOAD_REPORTS * sizeof(struct muster_kernel_report)) < 0 ||
		muster_cuda_events_make(cuda, load->events, MUSTER_LOAD_EVENTS, err) < 0)
		return -1;
	muster_load_first_product(load);
	return take_memory(load, results, err);
}

/* Free what the probes that follow need: rest, or memory where there is no rest. */
static void release(struct muster_load *load)
{
	const struct muster_cuda *cuda = load->cuda;
	/* Work that never ended still uses the memory, and freeing it could wait for it for ever. */
	if (load->stream && cuda->cuStreamQuery(load->stream) == CUDA_ERROR_NOT_READY)
		return;
	CUdeviceptr *freed = load->rest ? &load->rest : &load->memory;
	if (*freed)
		cuda->cuMemFree_v2(*freed);
	*freed = 0;
	load->rest_bytes = 0;
}

/* Violation time in ns (NVML_FI_DEV_PERF_POLICY_THERMAL) and volatile ECC errors. NVML refreshes the time in steps of
 * 100 ms. */
static void read_counters(const struct muster_load *load, struct counters *ret)
{
	const struct muster_nvml *nvml = load->sampler.nvml;
	nvmlDevice_t device = load->sampler.device;
	unsigned long long corrected = 0, uncorrected = 0;
	if (!nvml) {
		ret->no_thermal = ret->no_ecc = load->sampler.why_no_reasons;
		return;
	}
	ret->has_thermal = MUSTER_NVML_FIELD(nvml, &ret->no_thermal, device, NVML_FI_DEV_PERF_POLICY_THERMAL, 0,
				   &ret->thermal_ns) == 0;
	ret->has_ecc = MUSTER_NVML(nvml, &ret->no_ecc, nvmlDeviceGetTotalEccErrors, device,
			       NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, &corrected) == 0 &&
		       MUSTER_NVML(nvml, &ret->no_ecc, nvmlDeviceGetTotalEccErrors, device,
			       NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &uncorrected) == 0;
	ret->corrected = (double)corrected;
	ret->uncorrected = (double)uncorrected;
}

/* ---- the work ---- */

/* One cycle of the load: the memory, then products; FP64 and FP8 only in full. products_ms: of each precision. */
static int cycle(struct muster_load *load, struct results *results, size_t patterns, size_t parts, double products_ms,
	struct muster_error *err)
{
	bool full = muster_probe_env(load->ctx)->profile == MUSTER_FULL;
	CUdevice device = muster_probe_env(load->ctx)->gpu->cuda_device;
	struct muster_error why;
	if (muster_load_memory(load, patterns, parts, &results->memory, err) < 0)
		return -1;
	for (size_t i = 0; i < MUSTER_PRECISIONS; i++) {
		enum muster_precision precision = (enum muster_precision)i;
		if (precision != MUSTER_BF16 && !full)
			continue;
		if (muster_product_need_units(load->cuda, device, precision, &why) < 0) {
			results->products[i].tried = true;
			results->products[i].why_not = why;
			continue;
		}
		if (muster_load_products(load, precision, products_ms, &results->products[i], err) < 0)
			return -1;
	}
	return 0;
}

/* At least one cycle, so that a run without a soak tests everything once. A soak counts the GPU's own time of work
 * (busy_ms, by events) and not that of the clock: a host that is slow to launch does not shorten the load. */
static int work(struct muster_load *load, struct results *results, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(load->ctx);
	double soak_ms = env->soak_s * 1e3;
	size_t patterns = env->profile == MUSTER_FULL || soak_ms > 0 ? MUSTER_MEMORY_PATTERNS : 2;
	do {
		if (cycle(load, results, patterns, MUSTER_LOAD_PARTS, soak_ms > 0 ? SOAK_PRODUCTS_MS : PRODUCTS_MS,
			    err) < 0)
			return -1;
		if (soak_ms > 0)
			muster_step(load->ctx, "soak: %.0f of %d s left",
				load->busy_ms < soak_ms ? (soak_ms - load->busy_ms) / 1e3 : 0, env->soak_s);
	} while (load->busy_ms < soak_ms);
	return 0;
}

/* ---- what is emitted ---- */

/* A number of the GPU, or null with the reason when result is negative; why may be NULL when result is 0. */
static void emit_number(
	const struct muster_load *load, const char *metric, int result, double value, const struct muster_error *why)
{
	muster_emit_read(load->ctx, metric, load->bus_id, result, muster_number(value), why);
}

static void emit_windows(struct muster_load *load, const char *metric, const struct muster_series *series)
{
	const struct muster_value gpu = muster_string(load->bus_id);
	if (series->count > 0)
		muster_windows_emit(load->ctx, metric, &gpu, 1, series->values, series->count, NULL);
}

static double whole_mib(uint64_t bytes)
{
	uint64_t mib = bytes / MIB;
	return (double)mib;
}

static void emit_memory(struct muster_load *load, const struct results *results)
{
	const struct muster_memory_figures *memory = &results->memory;
	const size_t tested = load->bytes + load->rest_bytes;
	if (results->total == 0)
		return;
	emit_number(load, "gpu.memory_held_mib", 0, whole_mib(results->held), NULL);
	if (memory->write_gbps.count == 0)
		return;
	emit_number(load, "gpu.memory_tested_mib", 0, whole_mib(tested), NULL);
	emit_number(load, "gpu.memory_tested_share", 0, (double)tested / (double)results->total, NULL);
	emit_number(load, "gpu.memory_wrong", 0, (double)memory->wrong.words, NULL);
	muster_emit_for(load->ctx, "gpu.memory_wrong_at", load->bus_id,
		muster_string(*memory->wrong.first ? memory->wrong.first : "none"));
	emit_windows(load, "gpu.memory_write_gbps", &memory->write_gbps);
	emit_windows(load, "gpu.memory_read_gbps", &memory->read_gbps);
}

static void emit_rounds(struct muster_load *load, const struct muster_series *rounds)
{
	const size_t count = rounds->count, tenth = count / 10;
	const bool settled = load->busy_ms >= SETTLED_MS && tenth > 0;
	const struct muster_error why = { .code = MUSTER_ENOTSUPPORTED,
		.text = "clocks fall from their boost at first: a soak of 10 s or more tells" };
	double first = settled ? muster_series_median(rounds, 0, tenth) : 1;
	double last = settled ? muster_series_median(rounds, count - tenth, count) : 0;
	double half = settled ? muster_series_median(rounds, count / 2, count) : 0;
	emit_number(load, "gpu.gemm_drift", settled ? 0 : -1, last / first, &why);
	emit_number(load, "gpu.gemm_sustained_tflops", settled ? 0 : -1, half, &why);
}

static void emit_rates(struct muster_load *load, enum muster_precision precision, const struct muster_series *rounds)
{
	char metric[64];
	snprintf(metric, sizeof metric, "gpu.gemm_%s_tflops", muster_precision_names[precision]);
	emit_windows(load, metric, rounds);
	if (precision == MUSTER_BF16 && muster_probe_env(load->ctx)->visit == 0)
		emit_rounds(load, rounds);
}

static void emit_checksum(struct muster_load *load, const char *precision, const struct muster_product_figures *figures)
{
	char text[32];
	const struct muster_value labels[] = {
		muster_string(load->bus_id),
		muster_string(precision),
		muster_string(figures->made_by),
	};
	snprintf(text, sizeof text, "%016llx", (unsigned long long)figures->sum);
	muster_emit(load->ctx, "gpu.gemm_checksum", labels, sizeof labels / sizeof *labels, muster_string(text));
}

static void emit_no_checksum(
	struct muster_probe_ctx *ctx, enum muster_precision precision, const struct muster_error *why)
{
	const struct muster_value labels[] = { muster_string(muster_probe_env(ctx)->gpu->bus_id),
		muster_string(muster_precision_names[precision]), muster_string("nothing") };
	muster_emit_read_with(ctx, "gpu.gemm_checksum", labels, sizeof labels / sizeof *labels, -1, muster_null(), why);
}

/* Nulls for a precision without products. Drift and the sustained rate are those of BF16. */
static void emit_no_products(struct muster_load *load, enum muster_precision precision, const struct muster_error *why)
{
	char metric[64];
	snprintf(metric, sizeof metric, "gpu.gemm_%s_tflops", muster_precision_names[precision]);
	emit_number(load, metric, -1, 0, why);
	emit_no_checksum(load->ctx, precision, why);
	if (precision != MUSTER_BF16)
		return;
	emit_number(load, "gpu.gemm_drift", -1, 0, why);
	emit_number(load, "gpu.gemm_sustained_tflops", -1, 0, why);
}

static void emit_products(struct muster_load *load, const struct results *results)
{
	const struct muster_error *why_none = NULL;
	double wrong = 0;
	size_t size = 0;
	for (size_t i = MUSTER_PRECISIONS; i-- > 0;) {
		const struct muster_product_figures *figures = &results->products[i];
		if (figures->tried && !figures->measured) {
			emit_no_products(load, (enum muster_precision)i, &figures->why_not);
			why_none = &figures->why_not;
		}
		if (!figures->measured)
			continue;
		if (figures->tflops.count > 0) /* none when the load was ended before its first round */
			emit_rates(load, (enum muster_precision)i, &figures->tflops);
		emit_checksum(load, muster_precision_names[i], figures);
		wrong += (double)figures->wrong.words;
		size = figures->size;
	}
	if (size == 0 && !why_none)
		return;
	emit_number(load, "gpu.gemm_size", size ? 0 : -1, (double)size, why_none);
	emit_number(load, "gpu.gemm_wrong", size ? 0 : -1, wrong, why_none);
}

/* The highest clock, as settings allow it: null where power, heat or a brake held the clocks down in any sample. */
static void emit_reached(struct muster_load *load, const struct muster_sampler *s)
{
	const struct muster_sampled_figures *clock = &s->figures[MUSTER_SAMPLED_SM_CLOCK];
	struct muster_error why = clock->count ? s->why_no_reasons : clock->why_none;
	int result = clock->count && s->reasons_count ? 0 : -1;
	for (size_t i = 0; i < MUSTER_THROTTLE_APP_CLOCKS && result == 0; i++)
		if (s->seen[i])
			result = muster_fail(&why, MUSTER_ENOTSUPPORTED, "%s held the clocks down under load",
				muster_throttles[i].name);
	emit_number(load, "gpu.sm_clock_reached_mhz", result, clock->highest, &why);
}

static void emit_samples(struct muster_load *load)
{
	static const struct {
		const char *metric;
		bool highest;
	} names[] = {
		/* the margin is emitted with the limits */
		[MUSTER_SAMPLED_SM_CLOCK] = { "gpu.sm_clock_loaded_mhz", false },
		[MUSTER_SAMPLED_MEMORY_CLOCK] = { "gpu.mem_clock_loaded_mhz", false },
		[MUSTER_SAMPLED_POWER] = { "gpu.power_loaded_watts", true },
		[MUSTER_SAMPLED_HEAT] = { "gpu.temperature_loaded_celsius", true },
		[MUSTER_SAMPLED_MEMORY_HEAT] = { "gpu.memory_temperature_loaded_celsius", true },
	};
	const struct muster_sampler *s = &load->sampler;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const struct muster_sampled_figures *figures = &s->figures[i];
		double value = figures->count == 0 ? 0
			       : names[i].highest  ? figures->highest
						   : figures->sum / (double)figures->count;
		emit_number(load, names[i].metric, figures->count ? 0 : -1, value, &figures->why_none);
	}
	emit_reached(load, s);
	const int counted = s->reasons_count ? 0 : -1;
	for (size_t i = 0; i < MUSTER_THROTTLES; i++) {
		const struct muster_value labels[] = { muster_string(load->bus_id),
			muster_string(muster_throttles[i].name) };
		muster_emit_read_with(load->ctx, "gpu.throttled_share", labels, 2, counted,
			muster_number(muster_sampler_share(s, (enum muster_throttle)i)), &s->why_no_reasons);
	}
	emit_number(load, "gpu.hw_slowdown_share", counted, muster_sampler_slow_share(s), &s->why_no_reasons);
	emit_number(load, "gpu.power_brake_ms", counted,
		muster_sampler_seen(s, MUSTER_THROTTLE_POWER_BRAKE) * load->busy_ms, &s->why_no_reasons);
}

static int ask_threshold(
	const struct muster_sampler *s, nvmlTemperatureThresholds_t what, double *ret, struct muster_error *err)
{
	unsigned int celsius = 0;
	if (MUSTER_NVML(s->nvml, err, nvmlDeviceGetTemperatureThreshold, s->device, what, &celsius) < 0)
		return -1;
	if (celsius == 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "NVML gives a limit of 0 degrees");
	*ret = celsius;
	return 0;
}

/* How many degrees were left until the hardware slows the GPU down. For Ada and later NVML gives the margin to the
 * nearest limit (that of the memory counts too) and the margin at which the hardware slows down. The margin must be a
 * sample of its own: it is not measured at the moment at which the temperature is, so that the sum of both, 87 on an
 * idle H200, is 86 to 97 where a load begins or ends (measured). */
static int ask_margin(const struct muster_sampler *s, double *ret, struct muster_error *err)
{
	const struct muster_sampled_figures *margin = &s->figures[MUSTER_SAMPLED_MARGIN];
	const struct muster_sampled_figures *heat = &s->figures[MUSTER_SAMPLED_HEAT];
	double slowdown;
	if (margin->count > 0 && MUSTER_NVML_FIELD(s->nvml, err, s->device, NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, 0,
					 &slowdown) == 0) {
		*ret = margin->lowest - slowdown;
		return 0;
	}
	if (heat->count == 0) {
		*err = heat->why_none;
		return -1;
	}
	if (ask_threshold(s, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &slowdown, err) < 0)
		return -1;
	*ret = slowdown - heat->highest;
	return 0;
}

static void emit_limits(struct muster_load *load)
{
	const struct muster_sampler *s = &load->sampler;
	struct muster_error why;
	double celsius = 0;
	if (!s->nvml)
		return;
	int result = ask_margin(s, &celsius, &why);
	emit_number(load, "gpu.temperature_margin_celsius", result, celsius, &why);
	result = ask_threshold(s, NVML_TEMPERATURE_THRESHOLD_MEM_MAX, &celsius, &why);
	emit_number(load, "gpu.memory_temperature_limit_celsius", result, celsius, &why);
}

static void emit_counters(struct muster_load *load, const struct counters *before, const struct counters *after)
{
	int ecc = before->has_ecc && after->has_ecc ? 0 : -1;
	const struct muster_error *why = before->has_ecc ? &after->no_ecc : &before->no_ecc;
	bool thermal = before->has_thermal && after->has_thermal;
	emit_number(load, "gpu.thermal_violation_ms", thermal ? 0 : -1, (after->thermal_ns - before->thermal_ns) / 1e6,
		before->has_thermal ? &after->no_thermal : &before->no_thermal);
	emit_number(load, "gpu.ecc_corrected_increase", ecc, after->corrected - before->corrected, why);
	emit_number(load, "gpu.ecc_uncorrected_increase", ecc, after->uncorrected - before->uncorrected, why);
}

/* Also after a failure: what was measured before it stays. */
static void emit_all(struct muster_load *load, const struct results *results)
{
	muster_step(load->ctx, "figures of the load");
	emit_memory(load, results);
	emit_products(load, results);
	if (load->busy_ms <= 0)
		return;
	emit_samples(load);
	emit_limits(load);
	emit_counters(load, &results->before, &results->after);
	emit_number(load, "gpu.load_seconds", 0, load->busy_ms / 1e3, NULL);
}

static void forget(struct results *results)
{
	muster_series_done(&results->memory.write_gbps);
	muster_series_done(&results->memory.read_gbps);
	results->memory.wrong = (struct muster_wrong){ 0 };
	for (size_t i = 0; i < MUSTER_PRECISIONS; i++) {
		muster_series_done(&results->products[i].tflops);
		results->products[i].wrong = (struct muster_wrong){ 0 };
	}
}

/* Live from the first visit to the last one: memory and kernels, and of products the sums that later ones must have. */
static struct muster_load load;
static struct results results;
static double first_ms;

static int first_visit(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	load = (struct muster_load){ .ctx = ctx, .bus_id = env->gpu->bus_id };
	results = (struct results){ 0 };
	load.cuda = muster_cuda(err);
	if (!load.cuda)
		return -1;
	muster_sampler_init(&load.sampler, env->gpu);
	read_counters(&load, &results.before);
	int failed = prepare(&load, &results, err);
	if (failed == 0) {
		muster_sampler_start(&load.sampler);
		failed = work(&load, &results, err);
		muster_sampler_stop(&load.sampler);
	}
	read_counters(&load, &results.after);
	emit_all(&load, &results);
	return failed;
}

/* Memory for windows, if the first visit has kept none: as much as there is, at most LATER_WINDOWS. */
static bool has_memory(void)
{
	for (load.bytes = load.memory ? load.bytes : LATER_WINDOWS; !load.memory && load.bytes > LATER_WINDOWS / 16;)
		if (load.cuda->cuMemAlloc_v2(&load.memory, load.bytes) != CUDA_SUCCESS) {
			load.memory = 0;
			load.bytes /= 2;
		}
	return load.memory != 0;
}

static int later_visit(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	size_t windows = muster_windows_count(ctx), parts = windows < MUSTER_LOAD_PARTS ? windows : MUSTER_LOAD_PARTS;
	if (!load.stream || !has_memory())
		return 0;
	int failed = cycle(&load, &results, 1, parts, 0, err);
	emit_windows(&load, "gpu.memory_write_gbps", &results.memory.write_gbps);
	emit_windows(&load, "gpu.memory_read_gbps", &results.memory.read_gbps);
	if (results.memory.wrong.words > 0)
		emit_number(&load, "gpu.memory_wrong", 0, (double)results.memory.wrong.words, NULL);
	for (size_t i = 0; i < MUSTER_PRECISIONS; i++) {
		const struct muster_product_figures *figures = &results.products[i];
		if (figures->tflops.count > 0)
			emit_rates(&load, (enum muster_precision)i, &figures->tflops);
		if (figures->wrong.words > 0)
			emit_number(&load, "gpu.gemm_wrong", 0, (double)figures->wrong.words, NULL);
	}
	return failed;
}

/* Null for everything, on a GPU that other programs use or may use. */
static void emit_nothing(struct muster_probe_ctx *ctx)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		if (!metrics[i].labels[1])
			muster_emit_null_for(ctx, metrics[i].name, gpu->bus_id, "%s", gpu->why_shared);
	struct muster_error why;
	muster_fail(&why, MUSTER_ENOTSUPPORTED, "%s", gpu->why_shared);
	emit_no_checksum(ctx, MUSTER_BF16, &why);
	for (size_t i = 0; i < MUSTER_THROTTLES; i++) {
		const struct muster_value labels[] = { muster_string(gpu->bus_id),
			muster_string(muster_throttles[i].name) };
		muster_emit_null(ctx, "gpu.throttled_share", labels, 2, "%s", gpu->why_shared);
	}
}

static int together(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_probe_env *env = muster_probe_env(ctx);
	if (env->profile == MUSTER_QUICK)
		return 0;
	if (*env->gpu->why_shared) { /* other programs may need the memory, and slow down the load */
		if (env->visit == 0)
			emit_nothing(ctx);
		return 0;
	}
	muster_windows_wait(ctx, &first_ms);
	int failed = (env->visit > 0 ? later_visit : first_visit)(ctx, err);
	if (failed && load.cuda) {
		muster_wrap(err, "GPU %s", load.bus_id);
		muster_failing(ctx, err);
	}
	if (env->visit == 0 && load.cuda)
		release(&load);
	forget(&results);
	return failed;
}

const struct muster_probe muster_probe_gpu_load = {
	.name = "gpu_load",
	.summary = "the GPU's whole memory, matrix products, clocks and heat under load",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.soaks = true,
	.windows = true,
	.deadline_ms = 30000,
	.order = 65,
	METRICS(metrics),
	.begin = begin,
	.phase = MUSTER_PHASE_LOAD,
	.together = together,
};

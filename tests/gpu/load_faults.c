/* SPDX-License-Identifier: Apache-2.0 */
/* load_faults.c - on a real GPU: the kernels do what kernels.h says, and a bit that is flipped on purpose is found
 *
 * Made of the probe's own parts, without the rest of muster. Prints a line for each check; exit status 1 when one
 * fails.
 */
#include "probes/gpu_load/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct muster_gpu gpu;
static struct muster_probe_env env = { .gpu = &gpu };

/* What the probe's parts call of muster. */
const struct muster_probe_env *muster_probe_env(struct muster_probe_ctx *ctx)
{
	(void)ctx;
	return &env;
}

void muster_step(struct muster_probe_ctx *ctx, const char *format, ...)
{
	(void)ctx;
	(void)format;
}

int muster_cancelled(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static int failed;

static void check(bool good, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	printf("%s  ", good ? "ok  " : "FAIL");
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	failed |= !good;
}

static void need(int result, const struct muster_error *err)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* ---- the kernels against their meaning ---- */

#define RANGE (((size_t)64 << 20) + 48) /* so long that threads read four words at once, with some left */

static void fetch(struct muster_load *load, void *to, CUdeviceptr from, size_t bytes)
{
	struct muster_error err;
	need(MUSTER_CUDA(load->cuda, &err, cuMemcpyDtoHAsync_v2, to, from, bytes, load->stream), &err);
	need(muster_cuda_wait(load->cuda, load->stream, 15000, &err), &err);
}

static void check_kernels(struct muster_load *load)
{
	static const struct muster_pattern patterns[] = {
		{ 0, UINT64_MAX, 0, 0 },
		{ 0, UINT64_MAX, 0, UINT64_MAX },
		{ 7, 0x80ff80ff80ff80ff, 0x3f003f003f003f00, 0 },
		{ 0, 0, 0x5555555555555555, 0 },
	};
	static uint64_t words[RANGE / 8];
	struct muster_error err;
	struct muster_kernel_report report;
	for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
		size_t wrong = 0;
		uint64_t sum = 0;
		need(muster_kernel_fill(
			     load->cuda, load->kernels, load->memory, RANGE, &patterns[p], load->stream, &err),
			&err);
		fetch(load, words, load->memory, RANGE);
		for (size_t i = 0; i < RANGE / 8; i++) {
			wrong += words[i] != muster_pattern_word(&patterns[p], i);
			sum += muster_pattern_word(&(struct muster_pattern){ words[i], UINT64_MAX, 0, 0 }, i);
		}
		check(wrong == 0, "pattern %zu: %zu words differ from muster_pattern_word", p, wrong);
		need(muster_load_clear_reports(load, &err), &err);
		need(muster_kernel_verify(load->cuda, load->kernels, load->memory, RANGE, &patterns[p],
			     muster_load_report(load, MUSTER_LOAD_MEMORY), load->stream, &err),
			&err);
		need(muster_load_fetch_report(load, MUSTER_LOAD_MEMORY, &report, &err), &err);
		check(report.wrong == 0 && report.noted == 0, "pattern %zu: verified", p);
		need(muster_load_clear_reports(load, &err), &err);
		need(muster_kernel_checksum(load->cuda, load->kernels, load->memory, RANGE,
			     muster_load_report(load, MUSTER_LOAD_MEMORY), load->stream, &err),
			&err);
		need(muster_load_fetch_report(load, MUSTER_LOAD_MEMORY, &report, &err), &err);
		check(report.wrong == sum, "pattern %zu: checksum %016llx", p, (unsigned long long)sum);
	}
	/* everything wrong: all words counted, room for some */
	need(muster_load_clear_reports(load, &err), &err);
	need(muster_kernel_verify(load->cuda, load->kernels, load->memory, RANGE, &patterns[0],
		     muster_load_report(load, MUSTER_LOAD_MEMORY), load->stream, &err),
		&err);
	need(muster_load_fetch_report(load, MUSTER_LOAD_MEMORY, &report, &err), &err);
	check(report.wrong == RANGE / 16 && report.noted > MUSTER_DIFFERENCES_MAX, "another pattern: %llu words wrong",
		(unsigned long long)report.wrong);
}

/* ---- a flipped bit ---- */

static size_t flip_at, flip_from; /* a place in a range of at least flip_from bytes */
static int flip_bit;
static bool armed;

static void flip(struct muster_load *load, CUdeviceptr range, size_t bytes)
{
	static uint64_t word; /* the copy back to the device is still queued when this returns */
	struct muster_error err;
	if (!armed || bytes < flip_from)
		return;
	armed = false;
	fetch(load, &word, range + flip_at, sizeof word);
	word ^= UINT64_C(1) << flip_bit;
	need(MUSTER_CUDA(load->cuda, &err, cuMemcpyHtoDAsync_v2, range + flip_at, &word, sizeof word, load->stream),
		&err);
	need(muster_cuda_wait(load->cuda, load->stream, 15000, &err), &err);
}

static void check_memory(struct muster_load *load, size_t at, int bit)
{
	struct muster_memory_figures figures = { 0 };
	struct muster_error err;
	char place[64], which[32];
	flip_at = at, flip_bit = bit, flip_from = load->bytes, armed = bit >= 0;
	need(muster_load_memory(load, 2, MUSTER_LOAD_PARTS, &figures, &err), &err);
	snprintf(place, sizeof place, "offset 0x%llx:", (unsigned long long)at);
	snprintf(which, sizeof which, ", bit %d", bit);
	if (bit < 0)
		check(figures.wrong.words == 0, "memory: nothing wrong in %zu MiB, %.0f GB/s written, %.0f read",
			load->bytes >> 20, muster_series_median(&figures.write_gbps, 0, figures.write_gbps.count),
			muster_series_median(&figures.read_gbps, 0, figures.read_gbps.count));
	else
		check(figures.wrong.words == 1 && strstr(figures.wrong.first, place) &&
				strstr(figures.wrong.first, which),
			"memory: %llu word: %s", (unsigned long long)figures.wrong.words, figures.wrong.first);
	muster_series_done(&figures.write_gbps);
	muster_series_done(&figures.read_gbps);
}

static uint64_t check_products(struct muster_load *load, enum muster_precision precision, int bit)
{
	struct muster_product_figures figures = { 0 };
	struct muster_error err;
	flip_at = (size_t)123456 * 8, flip_bit = bit, flip_from = 0, armed = bit >= 0;
	need(muster_load_products(load, precision, 100, &figures, &err), &err);
	if (!figures.measured)
		check(bit < 0, "%s: %s", muster_precision_names[precision], figures.why_not.text);
	else if (bit < 0)
		check(figures.wrong.words == 0, "%s: %.0f TFLOP/s, sum %016llx, %s", muster_precision_names[precision],
			muster_series_median(&figures.tflops, 0, figures.tflops.count), (unsigned long long)figures.sum,
			figures.made_by);
	else
		check(figures.wrong.words >= 1 && strstr(figures.wrong.first, "offset 0xf1200:"), "%s: %llu words: %s",
			muster_precision_names[precision], (unsigned long long)figures.wrong.words,
			figures.wrong.first);
	muster_series_done(&figures.tflops);
	return figures.sum;
}

int main(void)
{
	struct muster_error err;
	struct muster_load load = { .bus_id = "0" };
	CUcontext context;
	size_t free_bytes, total;
	load.cuda = muster_cuda(&err);
	need(load.cuda ? 0 : -1, &err);
	need(MUSTER_CUDA(load.cuda, &err, cuInit, 0), &err);
	need(MUSTER_CUDA(load.cuda, &err, cuDevicePrimaryCtxRetain, &context, 0), &err);
	need(MUSTER_CUDA(load.cuda, &err, cuCtxSetCurrent, context), &err);
	need(MUSTER_CUDA(load.cuda, &err, cuDeviceGetName, gpu.name, sizeof gpu.name, 0), &err);
	load.kernels = muster_kernels(load.cuda, &err);
	need(load.kernels ? 0 : -1, &err);
	need(MUSTER_CUDA(load.cuda, &err, cuStreamCreate, &load.stream, CU_STREAM_NON_BLOCKING), &err);
	need(MUSTER_CUDA(load.cuda, &err, cuMemAlloc_v2, &load.reports,
		     MUSTER_LOAD_REPORTS * sizeof(struct muster_kernel_report)),
		&err);
	for (size_t i = 0; i < MUSTER_LOAD_EVENTS; i++)
		need(MUSTER_CUDA(load.cuda, &err, cuEventCreate, &load.events[i], CU_EVENT_DEFAULT), &err);
	need(MUSTER_CUDA(load.cuda, &err, cuMemGetInfo_v2, &free_bytes, &total), &err);
	load.bytes = (free_bytes - ((size_t)512 << 20)) >> 20 << 20;
	need(MUSTER_CUDA(load.cuda, &err, cuMemAlloc_v2, &load.memory, load.bytes), &err);
	muster_sampler_init(&load.sampler, &(struct muster_gpu){ .bus_id = "" });
	muster_load_hook = flip;

	check_kernels(&load);
	check_memory(&load, 0, -1);
	check_memory(&load, 0, 0);
	check_memory(&load, 8, 63);
	check_memory(&load, (size_t)5 << 30, 17);
	check_memory(&load, load.bytes - 8, 42);
	for (size_t i = 0; i < MUSTER_PRECISIONS; i++) {
		uint64_t sum = check_products(&load, (enum muster_precision)i, -1);
		check(check_products(&load, (enum muster_precision)i, -1) == sum, "the same bits again");
		check_products(&load, (enum muster_precision)i, 3);
	}
	return failed;
}

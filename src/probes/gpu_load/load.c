/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - what the parts of the probe gpu_load share, and the GPU's memory, written and verified
 *
 * How a pattern covers the memory. The words of the pattern are counted from the start of `memory` and go on in `rest`,
 * which is another allocation:
 *
 *   address       memory                                              rest
 *                 | part 0 | part 1 | ...              | part 9      | rest         |
 *   first word    0        bytes of part 0 / 8  ...                    bytes / 8
 *   report        0        1        ...                  9             MUSTER_LOAD_REST
 *   window        one for each part, fill and verification             none
 *
 * So gpu.memory_wrong_at has one offset for both: that of `memory`, and behind its end that of `rest`. Parts exist for
 * the rates only, since a window is to be short; a later visit works on the first few of them.
 */
#include "probes/gpu_load/load.h"

#include "util/array.h"
#include "muster/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 15000 /* for what is queued at once; below the probe's deadline */

void (*muster_load_hook)(struct muster_load *load, CUdeviceptr range, size_t bytes);

void muster_series_add(struct muster_series *series, double value)
{
	MUSTER_ARRAY_PUSH(series->values, series->count, series->capacity, value);
}

void muster_series_done(struct muster_series *series)
{
	free(series->values);
	*series = (struct muster_series){ 0 };
}

double muster_series_median(const struct muster_series *series, size_t from, size_t to)
{
	size_t count = to - from;
	double *sorted = muster_calloc(count, sizeof *sorted);
	memcpy(sorted, series->values + from, count * sizeof *sorted);
	double median = muster_median_of(sorted, count);
	free(sorted);
	return median;
}

int muster_load_elapsed(struct muster_load *load, size_t from, size_t to, double *ret_ms, struct muster_error *err)
{
	if (muster_cuda_worked(load->cuda, load->events[from], load->events[to], ret_ms, err) < 0)
		return -1;
	load->busy_ms += *ret_ms;
	return 0;
}

CUdeviceptr muster_load_report(const struct muster_load *load, size_t which)
{
	return load->reports + which * sizeof(struct muster_kernel_report);
}

int muster_load_clear_reports(struct muster_load *load, struct muster_error *err)
{
	return MUSTER_CUDA(load->cuda, err, cuMemsetD32Async, load->reports, 0,
		MUSTER_LOAD_REPORTS * sizeof(struct muster_kernel_report) / sizeof(uint32_t), load->stream);
}

int muster_load_wait(struct muster_load *load, struct muster_error *err)
{
	return muster_cuda_wait(load->cuda, load->stream, WAIT_MS, err);
}

int muster_load_fetch_report(
	struct muster_load *load, size_t which, struct muster_kernel_report *ret, struct muster_error *err)
{
	if (MUSTER_CUDA(load->cuda, err, cuMemcpyDtoHAsync_v2, ret, muster_load_report(load, which), sizeof *ret,
		    load->stream) < 0)
		return -1;
	return muster_load_wait(load, err);
}

/* The first of the two 8-byte words that differs, as text: "offset 0x1f00: expected 0x0, read 0x4, bit 2". The bit is
 * named where a single one differs. base: the offset of the range in which place is counted. */
static void describe(const struct muster_difference *difference, uint64_t base, char *ret, size_t size)
{
	size_t half = difference->read[0] == difference->expected[0];
	uint64_t read = difference->read[half], expected = difference->expected[half], bits = read ^ expected;
	uint64_t offset = base + difference->place * MUSTER_KERNEL_WORD + half * sizeof read;
	int used = snprintf(
		ret, size, "offset 0x%" PRIx64 ": expected 0x%" PRIx64 ", read 0x%" PRIx64, offset, expected, read);
	if (bits && !(bits & (bits - 1)))
		snprintf(ret + used, size - (size_t)used, ", bit %d", __builtin_ctzll(bits));
}

void muster_wrong_note(struct muster_wrong *wrong, const char *text)
{
	wrong->words++;
	if (!*wrong->first)
		snprintf(wrong->first, sizeof wrong->first, "%s", text);
}

/* The text is made once, of the first report with a difference, and there of the lowest place among those that the
 * kernel has kept: threads write them in no order. */
void muster_wrong_add(struct muster_wrong *wrong, const struct muster_kernel_report *report, uint64_t base)
{
	wrong->words += report->wrong;
	size_t noted = report->noted < MUSTER_DIFFERENCES_MAX ? (size_t)report->noted : MUSTER_DIFFERENCES_MAX;
	if (noted == 0 || *wrong->first)
		return;
	const struct muster_difference *lowest = &report->noticed[0];
	for (size_t i = 1; i < noted; i++)
		if (report->noticed[i].place < lowest->place)
			lowest = &report->noticed[i];
	describe(lowest, base, wrong->first, sizeof wrong->first);
}

/* ---- the GPU's memory, written and verified ---- */

/* A pattern is written to all of the memory before any of it is read again, so that a word is seen that a write to
 * another address has changed. */

#define ALL UINT64_MAX

/* { seed, and_mask, or_mask, xor_mask } of struct muster_pattern. The first two give every word a content of its own,
 * and every bit has been 0 and 1 after them. The next six are one constant each, as memory tests use them for cells
 * that influence their neighbours. The last two are like the first two, with another seed. In the profile standard
 * without a soak, the first visit uses the first two alone. A later visit uses the first one. */
static const struct muster_pattern patterns[MUSTER_MEMORY_PATTERNS] = {
	{ 0, ALL, 0, 0 },
	{ 0, ALL, 0, ALL },
	{ 0, 0, 0, 0 },
	{ 0, 0, ALL, 0 },
	{ 0, 0, 0x5555555555555555, 0 },
	{ 0, 0, 0xaaaaaaaaaaaaaaaa, 0 },
	{ 0, 0, 0x3333333333333333, 0 },
	{ 0, 0, 0xcccccccccccccccc, 0 },
	{ 0x6d75737465720000, ALL, 0, 0 },
	{ 0x6d75737465720000, ALL, 0, ALL },
};

/* Of a part: where it begins in `memory`, and how many bytes it has; the last part has what is left. Writing is slower
 * by up to a third where a part does not begin at a large page (1990 and 2910 in place of 3140 GB/s, H100). So parts
 * begin at multiples of 64 MiB, or of a kernel's word where a part is smaller than two of these. */
static size_t part_start(const struct muster_load *load, size_t part)
{
	const size_t even = load->bytes / MUSTER_LOAD_PARTS, large = (size_t)64 << 20;
	const size_t unit = even >= 2 * large ? large : MUSTER_KERNEL_WORD;
	return part * (even / unit * unit);
}

static size_t part_bytes(const struct muster_load *load, size_t part)
{
	return (part + 1 < MUSTER_LOAD_PARTS ? part_start(load, part + 1) : load->bytes) - part_start(load, part);
}

/* What queue() launches for each part: a fill or a verification. report: the one of load->reports that a verification
 * adds to. */
typedef int kernel_fn(struct muster_load *load, CUdeviceptr at, size_t bytes, const struct muster_pattern *pattern,
	size_t report, struct muster_error *err);

static int fill(struct muster_load *load, CUdeviceptr at, size_t bytes, const struct muster_pattern *pattern,
	size_t report, struct muster_error *err)
{
	(void)report;
	return muster_kernel_fill(load->cuda, load->kernels, at, bytes, pattern, load->stream, err);
}

static int verify(struct muster_load *load, CUdeviceptr at, size_t bytes, const struct muster_pattern *pattern,
	size_t report, struct muster_error *err)
{
	return muster_kernel_verify(
		load->cuda, load->kernels, at, bytes, pattern, muster_load_report(load, report), load->stream, err);
}

/* Launch the kernel for the first `parts` parts, with an event before each part and after the last one, from
 * events[first] on. The pattern goes on from one part to the next: seed grows by the words of the part. The rest comes
 * last, and only if all parts are asked for; behind the last event, since it is no window. */
static int queue(struct muster_load *load, kernel_fn *kernel, const struct muster_pattern *pattern, size_t parts,
	size_t first, struct muster_error *err)
{
	struct muster_pattern here = *pattern;
	for (size_t part = 0; part <= parts; part++) {
		if (MUSTER_CUDA(load->cuda, err, cuEventRecord, load->events[first + part], load->stream) < 0)
			return -1;
		if (part < parts && kernel(load, load->memory + part_start(load, part), part_bytes(load, part), &here,
					    part, err) < 0)
			return -1;
		here.seed += part < parts ? part_bytes(load, part) / sizeof here.seed : 0;
	}
	if (parts < MUSTER_LOAD_PARTS || !load->rest)
		return 0;
	return kernel(load, load->rest, load->rest_bytes, &here, MUSTER_LOAD_REST, err);
}

/* Wait for a pattern, and add what was wrong. Reports of parts that were not looked at are zeros. */
static int fetch(struct muster_load *load, struct muster_wrong *wrong, struct muster_error *err)
{
	struct muster_kernel_report report;
	for (size_t which = 0; which < (load->rest ? MUSTER_LOAD_REPORTS : MUSTER_LOAD_PARTS); which++) {
		if (muster_load_fetch_report(load, which, &report, err) < 0)
			return -1;
		muster_wrong_add(wrong, &report, which == MUSTER_LOAD_REST ? load->bytes : part_start(load, which));
	}
	return 0;
}

/* GB/s of each part, by the events before and behind it. */
static int add_rates(
	struct muster_load *load, size_t parts, size_t first, struct muster_series *rates, struct muster_error *err)
{
	for (size_t part = 0; part < parts; part++) {
		double ms;
		if (muster_load_elapsed(load, first + part, first + part + 1, &ms, err) < 0)
			return -1;
		muster_series_add(rates, (double)part_bytes(load, part) / 1e6 / ms);
	}
	return 0;
}

/* One pattern: fill all parts, then verify all parts, in one stream and without waiting between; then the reports are
 * fetched one by one, each with a wait of at most WAIT_MS. Rates are bytes of a part by the time between its two
 * events. Events 0 to parts are of the filling, from MUSTER_LOAD_PARTS + 1 on of the verification. A cancelled run ends
 * between two patterns. */
int muster_load_memory(struct muster_load *load, size_t count, size_t parts, struct muster_memory_figures *figures,
	struct muster_error *err)
{
	const size_t reads = MUSTER_LOAD_PARTS + 1; /* the first event of the verification */
	for (size_t i = 0; i < count; i++) {
		muster_step(load->ctx, "memory test: pattern %zu of %zu over %zu MiB", i + 1, count,
			(parts < MUSTER_LOAD_PARTS ? part_start(load, parts) : load->bytes + load->rest_bytes) >> 20);
		if (muster_cancelled(load->ctx, err) < 0 || muster_load_clear_reports(load, err) < 0 ||
			queue(load, fill, &patterns[i], parts, 0, err) < 0)
			return -1;
		if (muster_load_hook)
			muster_load_hook(load, load->memory, load->bytes);
		if (queue(load, verify, &patterns[i], parts, reads, err) < 0)
			return -1;
		muster_sampler_take(&load->sampler);
		if (fetch(load, &figures->wrong, err) < 0 || add_rates(load, parts, 0, &figures->write_gbps, err) < 0 ||
			add_rates(load, parts, reads, &figures->read_gbps, err) < 0)
			return muster_wrap(err, "memory test");
	}
	return 0;
}

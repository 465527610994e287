/* load.c - what the parts of the probe gpu_load share */
#include "probes/gpu_load/load.h"

#include "muster/arena.h"
#include "util/array.h"
#include "util/sort.h"

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

int muster_load_wait(struct muster_load *load, struct muster_error *err)
{
	return muster_cuda_wait(load->cuda, load->stream, WAIT_MS, err);
}

int muster_load_elapsed(struct muster_load *load, size_t from, size_t to, double *ret_ms, struct muster_error *err)
{
	float ms = 0;
	if (MUSTER_CUDA(load->cuda, err, cuEventElapsedTime, &ms, load->events[from], load->events[to]) < 0)
		return -1;
	if (!(ms > 0))
		return muster_fail(err, MUSTER_EVENDOR, "cuEventElapsedTime: work took %g ms", (double)ms);
	*ret_ms = (double)ms;
	load->busy_ms += (double)ms;
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

int muster_load_fetch_report(
	struct muster_load *load, size_t which, struct muster_kernel_report *ret, struct muster_error *err)
{
	if (MUSTER_CUDA(load->cuda, err, cuMemcpyDtoHAsync_v2, ret, muster_load_report(load, which), sizeof *ret,
		    load->stream) < 0)
		return -1;
	return muster_load_wait(load, err);
}

/* The 8-byte word of a difference in words. */
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

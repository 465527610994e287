/* memory.c - the GPU's memory, written and verified
 *
 * A pattern is written to all of it before any of it is read again, so that a word that
 * another address changes is seen.
 */
#include "probes/gpu_load/load.h"

#include <string.h>

#define ALL UINT64_MAX

/* The first two give every word a content of its own, and every bit has been 0 and 1 after them. The next ones are what
 * memory tests use for cells that influence their neighbours, then two that differ from the first ones. */
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

static int queue(struct muster_load *load, const struct muster_pattern *pattern, struct muster_error *err)
{
	const struct muster_cuda *cuda = load->cuda;
	struct muster_pattern rest = *pattern; /* continues where `memory` ends */
	rest.seed += load->bytes / sizeof rest.seed;
	if (MUSTER_CUDA(cuda, err, cuEventRecord, load->events[0], load->stream) < 0 ||
		muster_kernel_fill(cuda, load->kernels, load->memory, load->bytes, pattern, load->stream, err) < 0 ||
		(load->rest && muster_kernel_fill(cuda, load->kernels, load->rest, load->rest_bytes, &rest,
				       load->stream, err) < 0) ||
		MUSTER_CUDA(cuda, err, cuEventRecord, load->events[1], load->stream) < 0)
		return -1;
	if (muster_load_hook)
		muster_load_hook(load, load->memory, load->bytes);
	if (MUSTER_CUDA(cuda, err, cuEventRecord, load->events[2], load->stream) < 0 ||
		muster_kernel_verify(cuda, load->kernels, load->memory, load->bytes, pattern,
			muster_load_report(load, MUSTER_LOAD_MEMORY), load->stream, err) < 0 ||
		(load->rest && muster_kernel_verify(cuda, load->kernels, load->rest, load->rest_bytes, &rest,
				       muster_load_report(load, MUSTER_LOAD_REST), load->stream, err) < 0))
		return -1;
	return MUSTER_CUDA(cuda, err, cuEventRecord, load->events[3], load->stream);
}

/* Wait for a pattern, and add what was wrong. */
static int fetch(struct muster_load *load, struct muster_wrong *wrong, struct muster_error *err)
{
	struct muster_kernel_report report;
	for (size_t which = 0; which < (load->rest ? MUSTER_LOAD_REPORTS : MUSTER_LOAD_REST); which++) {
		if (muster_load_fetch_report(load, which, &report, err) < 0)
			return -1;
		muster_wrong_add(wrong, &report, which == MUSTER_LOAD_REST ? load->bytes : 0);
	}
	return 0;
}

int muster_load_memory(
	struct muster_load *load, size_t count, struct muster_memory_figures *figures, struct muster_error *err)
{
	for (size_t i = 0; i < count; i++) {
		double write_ms, read_ms, bytes = (double)(load->bytes + load->rest_bytes);
		muster_step(
			load->ctx, "memory test: pattern %zu of %zu over %.0f MiB", i + 1, count, bytes / (1 << 20));
		if (muster_cancelled(load->ctx, err) < 0 || muster_load_clear_reports(load, err) < 0 ||
			queue(load, &patterns[i], err) < 0)
			return -1;
		muster_sampler_take(&load->sampler);
		if (fetch(load, &figures->wrong, err) < 0 || muster_load_elapsed(load, 0, 1, &write_ms, err) < 0 ||
			muster_load_elapsed(load, 2, 3, &read_ms, err) < 0)
			return muster_wrap(err, "memory test");
		muster_series_add(&figures->write_gbps, bytes / 1e6 / write_ms);
		muster_series_add(&figures->read_gbps, bytes / 1e6 / read_ms);
	}
	return 0;
}

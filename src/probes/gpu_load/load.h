/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - what the parts of the probe gpu_load share: the GPU's memory, its stream, and what samples it meanwhile
 *
 * How the first visit divides the GPU's memory (take_memory in gpu_load.c):
 *
 *   in use before it        gpu.memory_held_mib
 *   reserve                 stays free: 512 MiB, or a 25th of a small memory
 *   memory                  is tested, and serves the products; kept for later visits where there is a rest
 *   rest                    is tested, and freed after the first visit for NCCL and the probes that follow
 *
 * There is a rest in the profile standard without a soak, if what follows needs less than a quarter of the GPU's memory
 * and less than half of what is tested: 8 GiB, 32 MiB for each rank up to 1,024, and the larger one of --min-bytes and
 * --max-bytes, if set. Else `memory` is all that is tested, and is freed; later visits then allocate up to 4 GiB for
 * their windows.
 */
#ifndef MUSTER_PROBES_GPU_LOAD_LOAD_H
#define MUSTER_PROBES_GPU_LOAD_LOAD_H

#include "probes/gpu/kernels.h"
#include "probes/gpu/products.h"
#include "probes/gpu_load/sampler.h"
#include "muster/probe.h"

#define MUSTER_LOAD_EVENTS 64

/* Kernels work on `memory` part by part; a part is a window. A report for what they find in each, and one for `rest`.
 */
enum { MUSTER_LOAD_PARTS = 10, MUSTER_LOAD_MEMORY = 0, MUSTER_LOAD_REST = MUSTER_LOAD_PARTS, MUSTER_LOAD_REPORTS };

/* Of the probe, from the first visit to the end of the process. All zeros before; `stream` says to later visits that
 * the first one came as far as its allocations. Nothing but `rest`, or `memory` where there is no rest, is ever freed:
 * the context ends with the process. */
struct muster_load {
	struct muster_probe_ctx *ctx;
	const struct muster_cuda *cuda;
	const char *bus_id;
	const struct muster_kernels *kernels;
	CUstream stream;
	CUevent events[MUSTER_LOAD_EVENTS];
	CUdeviceptr memory, rest; /* nearly all of the GPU's memory; rest: 0 when there is no second allocation */
	size_t bytes, rest_bytes; /* of memory, of rest */
	CUdeviceptr reports;      /* MUSTER_LOAD_REPORTS of struct muster_kernel_report, for all kernels */
	struct muster_sampler sampler;
	double busy_ms; /* how long the GPU has worked, by its own clock */
};

/* Figures of one kind in the order in which they were measured. */
struct muster_series {
	double *values;
	size_t count, capacity;
};
void muster_series_add(struct muster_series *series, double value);
void muster_series_done(struct muster_series *series);
/* The median of all; of the values from..to-1 (at least one). */
double muster_series_median(const struct muster_series *series, size_t from, size_t to);

/* ---- shared by the memory test and the products. All: 0, or -1 with err, after which the load ends ---- */
/* Milliseconds between two of load->events, which have happened; they are added to busy_ms. 0 ms is an error. */
int muster_load_elapsed(struct muster_load *load, size_t from, size_t to, double *ret_ms, struct muster_error *err);
/* The address of a report on the device. */
CUdeviceptr muster_load_report(const struct muster_load *load, size_t which);
/* Set the reports on the device to zeros (queued). */
int muster_load_clear_reports(struct muster_load *load, struct muster_error *err);
/* Wait for the stream. */
int muster_load_wait(struct muster_load *load, struct muster_error *err);
/* Wait, and fetch a report. */
int muster_load_fetch_report(
	struct muster_load *load, size_t which, struct muster_kernel_report *ret, struct muster_error *err);

/* Words of 16 bytes that were not as they must be, since the start. */
struct muster_wrong {
	uint64_t words;
	char first[160]; /* "offset 0x1f00: expected 0x0, read 0x4, bit 2"; "" while there is none */
};
/* One more, about which there is only this to say. */
void muster_wrong_note(struct muster_wrong *wrong, const char *text);
/* What a report has of a range, whose first byte is at offset `base` of what was looked at. */
void muster_wrong_add(struct muster_wrong *wrong, const struct muster_kernel_report *report, uint64_t base);

/* ---- the memory ---- */

struct muster_memory_figures {
	struct muster_series write_gbps, read_gbps; /* one value for each part and pattern */
	struct muster_wrong wrong;
};
/* Write `patterns` patterns one after the other to the first `parts` parts of the memory, and verify each. With parts =
 * MUSTER_LOAD_PARTS the rest is written and verified as well. Figures are added to what is there. */
#define MUSTER_MEMORY_PATTERNS 10
int muster_load_memory(struct muster_load *load, size_t patterns, size_t parts, struct muster_memory_figures *figures,
	struct muster_error *err);

/* ---- products.c ---- */

/* Of one precision. */
struct muster_product_figures {
	bool tried, measured;
	struct muster_error why_not; /* when tried and not measured */
	struct muster_series tflops; /* one value for each round */
	size_t size;                 /* n of the n x n matrices */
	uint64_t sum;                /* of the product's bits */
	char made_by[120];           /* GPU, library, algorithm and size: who shares them must get the same bits */
	struct muster_wrong wrong;   /* where a product differs from the first one */
};
/* Multiply matrices for about `ms` milliseconds of the GPU's time. The first time in a run it warms up. What the GPU or
 * the library cannot do is figures->why_not and no error. */
int muster_load_products(struct muster_load *load, enum muster_precision precision, double ms,
	struct muster_product_figures *figures, struct muster_error *err);

/* One small product, before nearly all memory is taken: the driver loads the library's code with it, which is up to 700
 * MiB where modules are loaded as a whole. A failure is no error here: the products of the load have errors of their
 * own. */
void muster_load_first_product(struct muster_load *load);

/* For tests on real GPUs alone; NULL in muster. Called between a fill and its verification, and between a product and
 * its comparison, with the range of memory that is looked at next. */
extern void (*muster_load_hook)(struct muster_load *load, CUdeviceptr range, size_t bytes);

#endif

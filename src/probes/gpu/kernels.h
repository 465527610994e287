/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the kernels of kernels.ptx: fill memory with a pattern, verify it, compare, sum up
 *
 * A range is device memory of whole 16-byte words. Launches are queued in a stream and return at once.
 *
 * All functions work in the current context, which must be the one that the kernels were loaded into. A range whose
 * size is no multiple of 16 bytes is handled as if its last bytes were not there.
 *
 * A report is device memory that the caller has set to zeros in the same stream; several launches may add to one
 * report. The threads of all blocks add to it by atomic operations, so that its first differences are not the lowest
 * ones: the caller looks for the lowest place among those that are kept.
 */
#ifndef MUSTER_PROBES_GPU_KERNELS_H
#define MUSTER_PROBES_GPU_KERNELS_H

#include "storage/pattern.h"
#include "vendor/cuda.h"

#include <stdint.h>

#define MUSTER_KERNEL_WORD 16 /* bytes */

/* What verify, compare and checksum write, in device memory that is set to zeros before. */
struct muster_difference {
	uint64_t place; /* in 16-byte words */
	uint64_t read[2], expected[2];
};
#define MUSTER_DIFFERENCES_MAX 32
struct muster_kernel_report {
	uint64_t wrong; /* 16-byte words; of checksum: the sum */
	/* Differences that threads wanted to keep, each thread at most one in a launch: its first. There is room for
	 * the first MUSTER_DIFFERENCES_MAX of all threads alone. */
	uint64_t noted;
	struct muster_difference noticed[MUSTER_DIFFERENCES_MAX]; /* in no order */
};

struct muster_kernels {
	CUmodule module; /* NULL: not loaded */
	CUfunction fill, verify, compare, checksum;
};

/* The kernels in the current context, loaded on the first call and kept until the process ends; NULL with err. */
const struct muster_kernels *muster_kernels(const struct muster_cuda *cuda, struct muster_error *err);
/* The same where an earlier call has loaded them, else NULL: for callers that can do without the kernels, since
 * compiling takes time. */
const struct muster_kernels *muster_kernels_loaded(void);

/* Load the kernels into the current context: 0, or -1 with err, which has the words of the driver's compiler. */
int muster_kernels_load(const struct muster_cuda *cuda, struct muster_kernels *ret, struct muster_error *err);
void muster_kernels_unload(const struct muster_cuda *cuda, struct muster_kernels *kernels);

/* Write the pattern to the whole range of `bytes`, a multiple of 16. All: 0, or -1 with err. */
int muster_kernel_fill(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	size_t bytes, const struct muster_pattern *pattern, CUstream stream, struct muster_error *err);
/* Add to the report at `report` (device memory) each word of the range that is not the pattern's. */
int muster_kernel_verify(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	size_t bytes, const struct muster_pattern *pattern, CUdeviceptr report, CUstream stream,
	struct muster_error *err);
/* The same for each word of the range that is not as in `expected`. */
int muster_kernel_compare(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	CUdeviceptr expected, size_t bytes, CUdeviceptr report, CUstream stream, struct muster_error *err);
/* Add to the report a sum over the range that depends on each word and its place, and on no order of threads. */
int muster_kernel_checksum(const struct muster_cuda *cuda, const struct muster_kernels *kernels, CUdeviceptr range,
	size_t bytes, CUdeviceptr report, CUstream stream, struct muster_error *err);

#endif

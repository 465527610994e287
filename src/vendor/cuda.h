/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the CUDA driver API, opened at run time */
#ifndef MUSTER_VENDOR_CUDA_H
#define MUSTER_VENDOR_CUDA_H

#include "vendor/cuda_abi.h"
#include "muster/error.h"

struct muster_cuda {
#define X(symbol, parameters) CUresult(*symbol) parameters;
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
};

/* The functions, opened on the first call; NULL with err when libcuda.so.1 or one of them is missing. Does not call
 * cuInit. */
const struct muster_cuda *muster_cuda(struct muster_error *err);

/* When result is not CUDA_SUCCESS: set err to "<call>: CUDA_ERROR_LAUNCH_FAILED (719): text" and return -1.
 * NOT_SUPPORTED gives code MUSTER_ENOTSUPPORTED. Otherwise return 0. */
int muster_cuda_check(const struct muster_cuda *cuda, CUresult result, struct muster_error *err, const char *call);

/* Call one of the functions: 0, or -1 with err, which names it. MUSTER_CUDA(cuda, err, cuMemFree_v2, pointer) */
#define MUSTER_CUDA(cuda, err, function, ...) muster_cuda_check(cuda, (cuda)->function(__VA_ARGS__), err, #function)

/* The device's PCI bus id as sysfs spells it: lower case, four-digit domain when it fits ("0001:00:00.0"). */
int muster_cuda_bus_id(
	const struct muster_cuda *cuda, CUdevice device, char *ret, size_t size, struct muster_error *err);

/* The device's UUID as NVML spells it: "GPU-8-4-4-4-12". */
int muster_cuda_uuid(const struct muster_cuda *cuda, CUdevice device, char *ret, size_t size, struct muster_error *err);

/* -1 with err: events that could not be made stay as they were. */
int muster_cuda_events_make(const struct muster_cuda *cuda, CUevent *events, size_t count, struct muster_error *err);
/* All that are not NULL. */
void muster_cuda_events_free(const struct muster_cuda *cuda, const CUevent *events, size_t count);
/* Milliseconds from one event to another, which have both happened. */
int muster_cuda_elapsed(
	const struct muster_cuda *cuda, CUevent from, CUevent to, double *ret_ms, struct muster_error *err);

/* The same of work, which takes at least a nanosecond. */
int muster_cuda_worked(
	const struct muster_cuda *cuda, CUevent from, CUevent to, double *ret_ms, struct muster_error *err);

/* Wait for the stream by polling cuStreamQuery (never a blocking call), at most timeout_ms: MUSTER_ETIME when it
 * passed. */
int muster_cuda_wait(const struct muster_cuda *cuda, CUstream stream, int timeout_ms, struct muster_error *err);

#endif

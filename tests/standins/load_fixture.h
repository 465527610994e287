/* SPDX-License-Identifier: Apache-2.0 */
/* load_fixture.h - for tests of what a GPU does under load: the stand-in of libcuda with muster's kernels loaded
 *
 * CUDA device 0 is the example's last GPU.
 */
#ifndef MUSTER_TESTS_LOAD_FIXTURE_H
#define MUSTER_TESTS_LOAD_FIXTURE_H

#include "standins/example.h"

#include "probes/gpu/kernels.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static struct muster_cuda cuda;
static struct muster_kernels kernels;
static CUdeviceptr report_at;
static struct muster_sim_cluster *changed; /* the example, before it is written */

#define OK(call) ck_assert_int_eq(cuda.call, CUDA_SUCCESS)
#define GIVES(code, call) ck_assert_int_eq(cuda.call, code)
#define DONE(call) ck_assert_msg((call) == 0, "%s", err.text)

/* A simulated GPU, to be changed between load_unwritten and example_start. */
static inline struct muster_sim_gpu *gpu(int device)
{
	return &changed->nodes[0].gpus[EXAMPLE_GPUS - 1 - device];
}

static inline void load_unwritten(void)
{
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("CUDA_DEVICE_ORDER");
	changed = example_cluster();
}

static inline void load_open(void)
{
	void *library = example_open("libcuda.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &cuda.symbol, sizeof cuda.symbol);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
}

/* Another device, with kernels and a report of its own. */
static inline void load_use(int device)
{
	struct muster_error err;
	CUcontext context;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	DONE(muster_kernels_load(&cuda, &kernels, &err));
	OK(cuMemAlloc_v2(&report_at, sizeof(struct muster_kernel_report)));
}

static inline CUdeviceptr take(size_t bytes)
{
	CUdeviceptr pointer;
	OK(cuMemAlloc_v2(&pointer, bytes));
	return pointer;
}

static inline void fill(CUdeviceptr range, size_t bytes, struct muster_pattern pattern)
{
	struct muster_error err;
	DONE(muster_kernel_fill(&cuda, &kernels, range, bytes, &pattern, NULL, &err));
}

static inline void clear(void)
{
	OK(cuMemsetD32Async(report_at, 0, sizeof(struct muster_kernel_report) / 4, NULL));
}

static inline struct muster_kernel_report fetch(void)
{
	struct muster_kernel_report report;
	OK(cuMemcpyDtoHAsync_v2(&report, report_at, sizeof report, NULL));
	OK(cuStreamQuery(NULL));
	return report;
}

static inline struct muster_kernel_report verify(CUdeviceptr range, size_t bytes, struct muster_pattern pattern)
{
	struct muster_error err;
	clear();
	DONE(muster_kernel_verify(&cuda, &kernels, range, bytes, &pattern, report_at, NULL, &err));
	return fetch();
}

static inline struct muster_kernel_report compare(CUdeviceptr range, CUdeviceptr expected, size_t bytes)
{
	struct muster_error err;
	clear();
	DONE(muster_kernel_compare(&cuda, &kernels, range, expected, bytes, report_at, NULL, &err));
	return fetch();
}

static inline uint64_t checksum(CUdeviceptr range, size_t bytes)
{
	struct muster_error err;
	clear();
	DONE(muster_kernel_checksum(&cuda, &kernels, range, bytes, report_at, NULL, &err));
	struct muster_kernel_report report = fetch();
	ck_assert_uint_eq(report.noted, 0);
	return report.wrong;
}

/* Milliseconds of the default stream's clock that what is queued between the two takes. */
static inline CUevent now(void)
{
	CUevent event;
	OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
	OK(cuEventRecord(event, NULL));
	return event;
}

static inline double since(CUevent start)
{
	float ms;
	OK(cuEventElapsedTime(&ms, start, now()));
	return (double)ms;
}

#endif

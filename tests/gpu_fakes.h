/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_fakes.h - a scripted GPU, for tests that include one probe's source
 *
 * The probe under test is compiled into the test, and finds these functions in place of the bindings'.
 * Device memory is host memory; time is virtual and moves only by what is queued. Each stream has its own time.
 */
#ifndef MUSTER_TESTS_GPU_FAKES_H
#define MUSTER_TESTS_GPU_FAKES_H

#include "vendor_fakes.h"
#include "vendor/library.h"
#include "muster/arena.h"
#include "probe_fake.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct {
	double now_ms;
	const double *h2d_gbps, *d2h_gbps; /* of each copy in turn, the last one for all that follow */
	size_t h2d_count, d2h_count, h2d_done, d2h_done;
	size_t free_bytes, corrupt_at; /* corrupt_at: every D2H changes this byte; SIZE_MAX: none */
	bool stuck;                    /* nothing queued ever ends */
	CUresult register_result, alloc_result;
	int held; /* allocations, registrations, streams and events not yet released */
	unsigned int pcie_gen, pcie_width;
	unsigned int memory_mhz; /* 0: NVML does not say */
	int memory_bits;
	nvmlReturn_t pcie_result;
	bool standin; /* buffers of pinned memory are small */
} fake;

bool muster_library_any_standin(void)
{
	return fake.standin;
}

/* Knobs of a probe's rows (see probe_fake.h). */
#define FAKE_GPU_KNOBS                                                                                                 \
	FAKE_KNOB("stuck", fake.stuck), FAKE_KNOB("held", fake.held), FAKE_KNOB("corrupt_at", fake.corrupt_at),        \
		FAKE_KNOB("register_result", fake.register_result), FAKE_KNOB("alloc_result", fake.alloc_result),      \
		FAKE_KNOB("pcie_result", fake.pcie_result), FAKE_KNOB("free_bytes", fake.free_bytes),                  \
		FAKE_KNOB("h2d_done", fake.h2d_done), FAKE_KNOB("d2h_count", fake.d2h_count),                          \
		FAKE_KNOB("cuda_missing", cuda_missing), FAKE_KNOB("nvml_missing", nvml_missing)

/* The last thing that was queued and not waited for. The same copy again moves no other bytes, and zeroing zeroes
 * changes nothing: these take time on the GPU's clock alone. */
static struct {
	const void *to, *from; /* from NULL: zeroes */
	size_t bytes;
} queued;

static bool is_queued_again(const void *to, const void *from, size_t bytes)
{
	bool again = queued.to == to && queued.from == from && queued.bytes == bytes;
	queued.to = to;
	queued.from = from;
	queued.bytes = bytes;
	return again;
}

struct CUevent_st {
	double at_ms;
};
struct CUstream_st {
	double ahead_ms; /* of fake.now_ms: what was copied in this stream */
};

static CUresult fake_memory(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = fake.free_bytes;
	*total_bytes = fake.free_bytes;
	return CUDA_SUCCESS;
}
static CUresult fake_alloc(CUdeviceptr *pointer, size_t bytes)
{
	if (fake.alloc_result != CUDA_SUCCESS)
		return fake.alloc_result;
	*pointer = (CUdeviceptr)(uintptr_t)muster_calloc(bytes, 1);
	fake.held++;
	return CUDA_SUCCESS;
}
static CUresult fake_device_free(CUdeviceptr pointer)
{
	free((void *)(uintptr_t)pointer);
	fake.held--;
	return CUDA_SUCCESS;
}
static CUresult fake_register(void *pointer, size_t bytes, unsigned int flags)
{
	(void)pointer;
	(void)bytes;
	ck_assert_uint_eq(flags, CU_MEMHOSTREGISTER_PORTABLE);
	if (fake.register_result == CUDA_SUCCESS)
		fake.held++;
	return fake.register_result;
}
static CUresult fake_unregister(void *pointer)
{
	(void)pointer;
	fake.held--;
	return CUDA_SUCCESS;
}
static void spend(size_t bytes, const double *gbps, size_t count, size_t *done, CUstream stream)
{
	if (count > 0)
		stream->ahead_ms += (double)bytes / 1e6 / gbps[*done < count ? *done : count - 1];
	(*done)++;
}
static CUresult fake_h2d(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	void *device = (void *)(uintptr_t)to;
	if (!is_queued_again(device, from, bytes))
		memcpy(device, from, bytes);
	spend(bytes, fake.h2d_gbps, fake.h2d_count, &fake.h2d_done, stream);
	return CUDA_SUCCESS;
}
static CUresult fake_d2h(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	const void *device = (const void *)(uintptr_t)from;
	if (!is_queued_again(to, device, bytes)) {
		memcpy(to, device, bytes);
		if (fake.corrupt_at < bytes)
			((unsigned char *)to)[fake.corrupt_at] ^= 1;
	}
	spend(bytes, fake.d2h_gbps, fake.d2h_count, &fake.d2h_done, stream);
	return CUDA_SUCCESS;
}
static CUresult fake_d2d(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	(void)stream;
	if (!is_queued_again((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes))
		memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
	return CUDA_SUCCESS;
}
static CUresult fake_set(CUdeviceptr to, unsigned int value, size_t words, CUstream stream)
{
	(void)stream;
	ck_assert_uint_eq(value, 0);
	if (!is_queued_again((void *)(uintptr_t)to, NULL, words * sizeof value))
		memset((void *)(uintptr_t)to, 0, words * sizeof value);
	return CUDA_SUCCESS;
}
static CUresult fake_stream(CUstream *stream, unsigned int flags)
{
	ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
	*stream = muster_calloc(1, sizeof **stream);
	fake.held++;
	return CUDA_SUCCESS;
}
static CUresult fake_stream_end(CUstream stream)
{
	free(stream);
	fake.held--;
	return CUDA_SUCCESS;
}
static CUresult fake_stream_query(CUstream stream)
{
	(void)stream;
	queued.to = NULL;
	return fake.stuck ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
static CUresult fake_event(CUevent *event, unsigned int flags)
{
	ck_assert_uint_eq(flags, CU_EVENT_DEFAULT);
	*event = muster_calloc(1, sizeof **event);
	fake.held++;
	return CUDA_SUCCESS;
}
static CUresult fake_event_end(CUevent event)
{
	free(event);
	fake.held--;
	return CUDA_SUCCESS;
}
static CUresult fake_record(CUevent event, CUstream stream)
{
	event->at_ms = fake.now_ms + stream->ahead_ms;
	return CUDA_SUCCESS;
}
static CUresult fake_wait_event(CUstream stream, CUevent event, unsigned int flags)
{
	ck_assert_uint_eq(flags, 0);
	if (fake.now_ms + stream->ahead_ms < event->at_ms)
		stream->ahead_ms = event->at_ms - fake.now_ms;
	return CUDA_SUCCESS;
}
static CUresult fake_event_query(CUevent event)
{
	(void)event;
	queued.to = NULL;
	return fake.stuck ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
static CUresult fake_elapsed(float *ms, CUevent start, CUevent end)
{
	*ms = (float)(end->at_ms - start->at_ms);
	return CUDA_SUCCESS;
}

static CUresult fake_device_attribute(int *value, CUdevice_attribute what, CUdevice device)
{
	(void)device;
	*value = what == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH ? fake.memory_bits : 0;
	return CUDA_SUCCESS;
}

static const struct muster_cuda fake_cuda = {
	.cuDeviceGetAttribute = fake_device_attribute,
	.cuMemGetInfo_v2 = fake_memory,
	.cuMemAlloc_v2 = fake_alloc,
	.cuMemFree_v2 = fake_device_free,
	.cuMemHostRegister_v2 = fake_register,
	.cuMemHostUnregister = fake_unregister,
	.cuMemcpyHtoDAsync_v2 = fake_h2d,
	.cuMemcpyDtoHAsync_v2 = fake_d2h,
	.cuMemcpyDtoDAsync_v2 = fake_d2d,
	.cuMemsetD32Async = fake_set,
	.cuStreamCreate = fake_stream,
	.cuStreamDestroy_v2 = fake_stream_end,
	.cuStreamQuery = fake_stream_query,
	.cuStreamWaitEvent = fake_wait_event,
	.cuEventCreate = fake_event,
	.cuEventDestroy_v2 = fake_event_end,
	.cuEventRecord = fake_record,
	.cuEventQuery = fake_event_query,
	.cuEventElapsedTime = fake_elapsed,
};

int muster_cuda_wait(const struct muster_cuda *cuda, CUstream stream, int timeout_ms, struct muster_error *err)
{
	if (cuda->cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
		return muster_fail(err, MUSTER_ETIME, "still busy after %d ms", timeout_ms);
	return 0;
}

static nvmlReturn_t fake_no_fabric(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	(void)device;
	(void)info;
	return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t fake_generation(nvmlDevice_t device, unsigned int *value)
{
	(void)device;
	*value = fake.pcie_gen;
	return fake.pcie_result;
}
static nvmlReturn_t fake_width(nvmlDevice_t device, unsigned int *value)
{
	(void)device;
	*value = fake.pcie_width;
	return fake.pcie_result;
}
static nvmlReturn_t fake_most_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	(void)device;
	ck_assert_int_eq(type, NVML_CLOCK_MEM);
	*mhz = fake.memory_mhz;
	return fake.memory_mhz ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}
static const struct muster_nvml fake_nvml = {
	.nvmlDeviceGetMaxClockInfo = fake_most_clock,
	.nvmlDeviceGetCurrPcieLinkGeneration = fake_generation,
	.nvmlDeviceGetCurrPcieLinkWidth = fake_width,
	.nvmlDeviceGetGpuFabricInfoV = fake_no_fabric,
};
/* A healthy GPU without samples. */
static void fake_gpu_reset(void)
{
	memset(&fake, 0, sizeof fake);
	fake.corrupt_at = SIZE_MAX;
	fake.free_bytes = (size_t)64 << 30;
	fake.pcie_gen = 4;
	fake.pcie_width = 16;
	scripted_cuda = fake_cuda;
	scripted_nvml = fake_nvml;
}

/* The context of a probe on that GPU. */
static struct probe_fake *fake_gpu_new(const struct muster_probe *probe)
{
	struct probe_fake *context = fake_new(probe);
	fake_gpu(context, "0001:00:00.0", "GPU-00000000-0000-0000-0000-000000000001");
	context->gpu.has_nvml = true;
	context->ctx.env.node_name = "gpu-1";
	return context;
}

#endif

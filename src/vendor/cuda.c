/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - the CUDA driver API, opened at run time
 *
 * The driver API alone, no CUDA runtime: libcuda.so.1 comes with the driver, so that its version is right by
 * definition, and muster needs no CUDA Toolkit. Which functions: those that driver R470 has, with their suffixes (_v2)
 * spelled out.
 */
#include "vendor/cuda.h"
#include "vendor/library.h"
#include "system/sysfs.h"
#include "util/text.h"

#include <stdio.h>
#include <string.h>

static struct muster_cuda functions;

static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
};

struct muster_library muster_cuda_library = {
	.title = "CUDA driver",
	.soname = "libcuda.so.1",
	.oldest = "driver R470",
	MUSTER_SYMBOLS(symbols),
};

const struct muster_cuda *muster_cuda(struct muster_error *err)
{
	return muster_library_open(&muster_cuda_library, err) < 0 ? NULL : &functions;
}

/* The driver knows its own errors by name: a newer driver may give codes that cuda_abi.h does not list. */
int muster_cuda_check(const struct muster_cuda *cuda, CUresult result, struct muster_error *err, const char *call)
{
	const char *name = NULL, *text = NULL;
	enum muster_code code = result == CUDA_ERROR_NOT_SUPPORTED   ? MUSTER_ENOTSUPPORTED
				: result == CUDA_ERROR_OUT_OF_MEMORY ? MUSTER_ERESOURCE
								     : MUSTER_EVENDOR;
	if (result == CUDA_SUCCESS)
		return 0;
	if (cuda->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
		return muster_fail(err, code, "%s: error %d, without a name in this driver", call, (int)result);
	if (cuda->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
		return muster_fail(err, code, "%s: %s (%d)", call, name, (int)result);
	return muster_fail(err, code, "%s: %s (%d): %s", call, name, (int)result, text);
}

int muster_cuda_bus_id(
	const struct muster_cuda *cuda, CUdevice device, char *ret, size_t size, struct muster_error *err)
{
	char bus_id[32] = "";
	if (MUSTER_CUDA(cuda, err, cuDeviceGetPCIBusId, bus_id, (int)sizeof bus_id, device) < 0)
		return -1;
	return muster_bus_id_normalise(bus_id, ret, size, err);
}

int muster_cuda_uuid(const struct muster_cuda *cuda, CUdevice device, char *ret, size_t size, struct muster_error *err)
{
	char text[MUSTER_UUID_TEXT_SIZE];
	size_t needed = strlen("GPU-") + sizeof text;
	CUuuid uuid;
	if (MUSTER_CUDA(cuda, err, cuDeviceGetUuid_v2, &uuid, device) < 0)
		return -1;
	if (size < needed)
		return muster_fail(err, MUSTER_EVENDOR, "a GPU's UUID needs %zu bytes, not %zu", needed, size);
	snprintf(ret, size, "GPU-%s", muster_uuid_text(uuid.bytes, text));
	return 0;
}

/* By polling, since cuStreamSynchronize would block for as long as the GPU hangs, and the probe could not report
 * anything. Between two queries the thread sleeps for 20 us. */
int muster_cuda_wait(const struct muster_cuda *cuda, CUstream stream, int timeout_ms, struct muster_error *err)
{
	double deadline = muster_now_ms() + timeout_ms;
	for (;;) {
		CUresult result = cuda->cuStreamQuery(stream);
		if (result != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(cuda, result, err, "cuStreamQuery");
		if (muster_now_ms() >= deadline)
			return muster_fail(
				err, MUSTER_ETIME, "the GPU's stream was still busy after %d ms", timeout_ms);
		muster_sleep_ms(0.02);
	}
}

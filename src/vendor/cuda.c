/* cuda.c - the CUDA driver API, opened at run time */
#include "vendor/cuda.h"
#include "vendor/library.h"
#include "vendor/nvml.h"
#include "util/text.h"

#include <stdio.h>
#include <time.h>

struct muster_library muster_cuda_library = {
	.title = "CUDA driver",
	.soname = "libcuda.so.1",
	.oldest = "driver R470",
};

static struct muster_cuda functions;

static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
};

const struct muster_cuda *muster_cuda(struct muster_error *err)
{
	if (muster_library_open(&muster_cuda_library, symbols, sizeof symbols / sizeof *symbols, err) < 0)
		return NULL;
	return &functions;
}

int muster_cuda_check(const struct muster_cuda *cuda, CUresult result, struct muster_error *err, const char *call)
{
	const char *name = NULL, *text = NULL;
	enum muster_code code = result == CUDA_ERROR_NOT_SUPPORTED ? MUSTER_ENOTSUPPORTED : MUSTER_EVENDOR;
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
	if (muster_cuda_check(cuda, cuda->cuDeviceGetPCIBusId(bus_id, (int)sizeof bus_id, device), err,
		    "cuDeviceGetPCIBusId") < 0)
		return -1;
	return muster_bus_id_normalise(bus_id, ret, size, err);
}

int muster_cuda_uuid(const struct muster_cuda *cuda, CUdevice device, char *ret, size_t size, struct muster_error *err)
{
	char text[sizeof "GPU-01234567-0123-0123-0123-0123456789ab"] = "GPU-";
	size_t used = 4;
	CUuuid uuid;
	if (muster_cuda_check(cuda, cuda->cuDeviceGetUuid_v2(&uuid, device), err, "cuDeviceGetUuid_v2") < 0)
		return -1;
	if (size < sizeof text)
		return muster_fail(err, MUSTER_EVENDOR, "a GPU's UUID needs %zu bytes, not %zu", sizeof text, size);
	for (size_t i = 0; i < sizeof uuid.bytes; i++) {
		const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
		int length = snprintf(text + used, sizeof text - used, "%s%02x", dash, (unsigned char)uuid.bytes[i]);
		used += (size_t)length;
	}
	snprintf(ret, size, "%s", text);
	return 0;
}

int muster_cuda_wait(const struct muster_cuda *cuda, CUstream stream, int timeout_ms, struct muster_error *err)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	double deadline = muster_now_ms() + timeout_ms;
	for (;;) {
		CUresult result = cuda->cuStreamQuery(stream);
		if (result != CUDA_ERROR_NOT_READY)
			return muster_cuda_check(cuda, result, err, "cuStreamQuery");
		if (muster_now_ms() >= deadline)
			return muster_fail(
				err, MUSTER_ETIME, "the GPU's stream was still busy after %d ms", timeout_ms);
		nanosleep(&pause, NULL);
	}
}

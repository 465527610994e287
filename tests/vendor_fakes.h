/* SPDX-License-Identifier: Apache-2.0 */
/* vendor_fakes.h - NVML and the CUDA driver where src/vendor/ would open them: tables of the test's own functions
 *
 * A test links its own muster_nvml and muster_cuda before those of the library, so it includes this in one file.
 */
#ifndef MUSTER_TESTS_VENDOR_FAKES_H
#define MUSTER_TESTS_VENDOR_FAKES_H

#include "vendor/cuda.h"
#include "vendor/nvml.h"

#include <stdbool.h>

/* What the test gives. */
static struct muster_nvml scripted_nvml;
static struct muster_cuda scripted_cuda;
static bool nvml_missing, cuda_missing;

const struct muster_nvml *muster_nvml(struct muster_error *err)
{
	if (!nvml_missing)
		return &scripted_nvml;
	muster_fail(err, MUSTER_ELIB, "NVML: libnvidia-ml.so.1 cannot be opened");
	return NULL;
}

int muster_nvml_check(const struct muster_nvml *nvml, nvmlReturn_t result, struct muster_error *err, const char *call)
{
	(void)nvml;
	return result == NVML_SUCCESS ? 0 : muster_fail(err, MUSTER_EVENDOR, "%s: result %d", call, (int)result);
}

const struct muster_cuda *muster_cuda(struct muster_error *err)
{
	if (!cuda_missing)
		return &scripted_cuda;
	muster_fail(err, MUSTER_ELIB, "CUDA driver: libcuda.so.1 cannot be opened");
	return NULL;
}

int muster_cuda_check(const struct muster_cuda *cuda, CUresult result, struct muster_error *err, const char *call)
{
	(void)cuda;
	return result == CUDA_SUCCESS ? 0 : muster_fail(err, MUSTER_EVENDOR, "%s: result %d", call, (int)result);
}

#endif

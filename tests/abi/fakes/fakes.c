/* SPDX-License-Identifier: Apache-2.0 */
/* fakes.c - vendor libraries that are broken in one way each, for the tests of src/vendor/
 *
 * Only looked up, hardly called: so every function is just a symbol. tests.cmake compiles this file once for each
 * library with FAKE_<library> set, and renames a function to make it missing.
 */
#define FAKE(symbol)                                                                                                   \
	__attribute__((visibility("default"))) int symbol(void);                                                       \
	int symbol(void)                                                                                               \
	{                                                                                                              \
		return 0;                                                                                              \
	}
#define X(symbol, parameters) FAKE(symbol)

#if defined FAKE_cuda
#include "vendor/cuda_abi.h"
MUSTER_CUDA_FUNCTIONS(X)

#elif defined FAKE_nccl
#include "vendor/nccl_abi.h"
MUSTER_NCCL_FUNCTIONS(X)
FAKE(ncclGetErrorString)
FAKE(muster_standin_mark)

#elif defined FAKE_nvml
#include "vendor/nvml_abi.h"

#include <stdlib.h>
#define nvmlInit_v2 unused_init
MUSTER_NVML_FUNCTIONS(X)
#undef nvmlInit_v2

/* Refuses once: whoever asks again would get another answer. Old as it is, it has no optional function. */
__attribute__((visibility("default"))) nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInit_v2(void)
{
	static int calls;
	if (getenv("MUSTER_FAKE_NVML_STARTS"))
		return NVML_SUCCESS;
	return calls++ == 0 ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_SUCCESS;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
	return result == NVML_ERROR_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "another error";
}

#elif defined FAKE_verbs
FAKE(ibv_get_device_list)
FAKE(ibv_free_device_list)
FAKE(ibv_get_device_name)
FAKE(ibv_open_device)
FAKE(ibv_close_device)
FAKE(ibv_query_port)

#endif

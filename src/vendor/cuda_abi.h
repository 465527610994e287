/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_abi.h - the part of the CUDA driver API that muster calls, as cuda.h of driver R470 and later declares it
 *
 * Versioned names are spelled out: cuda.h renames cuMemAlloc to cuMemAlloc_v2 by macro, and dlsym("cuMemAlloc") would
 * find an older function. Types carry cuda.h's names so that tests/abi/ can compare every prototype, size and constant
 * with the vendor's header (it defines MUSTER_ABI_VENDOR_TYPES).
 */
#ifndef MUSTER_VENDOR_CUDA_ABI_H
#define MUSTER_VENDOR_CUDA_ABI_H

#include <stddef.h>

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef enum cudaError_enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum CUdevice_attribute_enum {
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
	CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
	CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124
} CUdevice_attribute;

typedef enum CUjit_option_enum { CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 } CUjit_option;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUuuid_st {
	char bytes[16];
} CUuuid;

#define CU_STREAM_NON_BLOCKING 0x1
#define CU_EVENT_DEFAULT 0x0
#define CU_MEMHOSTREGISTER_PORTABLE 0x01
#endif

/* X(symbol, parameters): every function returns CUresult. */
/* clang-format off */
#define MUSTER_CUDA_FUNCTIONS(X) \
	X(cuInit, (unsigned int flags)) \
	X(cuDriverGetVersion, (int *version)) \
	X(cuGetErrorName, (CUresult error, const char **name)) \
	X(cuGetErrorString, (CUresult error, const char **text)) \
	X(cuDeviceGetCount, (int *count)) \
	X(cuDeviceGet, (CUdevice *device, int ordinal)) \
	X(cuDeviceGetName, (char *name, int size, CUdevice device)) \
	X(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device)) \
	X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device)) \
	X(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer)) \
	X(cuDeviceGetPCIBusId, (char *bus_id, int size, CUdevice device)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	X(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	X(cuCtxSetCurrent, (CUcontext context)) \
	X(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes)) \
	X(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t bytes)) \
	X(cuMemFree_v2, (CUdeviceptr pointer)) \
	X(cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned int flags)) \
	X(cuMemHostUnregister, (void *pointer)) \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
	X(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t words, CUstream stream)) \
	X(cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned int option_count, CUjit_option *options, \
		void **values)) \
	X(cuModuleUnload, (CUmodule module)) \
	X(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	X(cuLaunchKernel, (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, \
		unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, \
		CUstream stream, void **parameters, void **extra)) \
	X(cuStreamCreate, (CUstream *stream, unsigned int flags)) \
	X(cuStreamDestroy_v2, (CUstream stream)) \
	X(cuStreamQuery, (CUstream stream)) \
	X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags)) \
	X(cuEventCreate, (CUevent *event, unsigned int flags)) \
	X(cuEventDestroy_v2, (CUevent event)) \
	X(cuEventRecord, (CUevent event, CUstream stream)) \
	X(cuEventQuery, (CUevent event)) \
	X(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))
/* clang-format on */

#endif

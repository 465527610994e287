/* SPDX-License-Identifier: Apache-2.0 */
/* cufile_abi.h - the part of cuFile (GPUDirect Storage) that muster calls, as cufile.h of CUDA 11.4 and later declares
 * it
 *
 * Types carry the vendor's names so that tests/abi/ can compare every prototype, size and constant with the vendor's
 * header.
 */
#ifndef MUSTER_VENDOR_CUFILE_ABI_H
#define MUSTER_VENDOR_CUFILE_ABI_H

#include "vendor/cuda_abi.h"

#include <sys/types.h>

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef enum CUfileOpError {
	CU_FILE_SUCCESS = 0,
	CU_FILE_DRIVER_NOT_INITIALIZED = 5001,
	CU_FILE_DRIVER_VERSION_MISMATCH = 5004,
	CU_FILE_PLATFORM_NOT_SUPPORTED = 5007,
	CU_FILE_IO_NOT_SUPPORTED = 5008,
	CU_FILE_DEVICE_NOT_SUPPORTED = 5009,
	CU_FILE_CUDA_DRIVER_ERROR = 5011,
	CU_FILE_INVALID_FILE_TYPE = 5018,
	CU_FILE_INVALID_FILE_OPEN_FLAG = 5019,
	CU_FILE_INVALID_VALUE = 5022,
	CU_FILE_PERMISSION_DENIED = 5025,
	CU_FILE_HANDLE_NOT_REGISTERED = 5027,
	CU_FILE_INTERNAL_ERROR = 5030,
	CU_FILE_NVFS_SETUP_ERROR = 5033,
	CU_FILE_IO_DISABLED = 5034
} CUfileOpError;

typedef struct CUfileError {
	CUfileOpError err;
	CUresult cu_err; /* when err is CU_FILE_CUDA_DRIVER_ERROR */
} CUfileError_t;

typedef struct CUfileDrvProps {
	struct {
		unsigned int major_version; /* both 0: nvidia-fs is not loaded */
		unsigned int minor_version;
		size_t poll_thresh_size;
		size_t max_direct_io_size;
		unsigned int dstatusflags;
		unsigned int dcontrolflags;
	} nvfs;
	unsigned int fflags;
	unsigned int max_device_cache_size;
	unsigned int per_buffer_cache_size;
	unsigned int max_device_pinned_mem_size;
	unsigned int max_batch_io_size;
	unsigned int max_batch_io_timeout_msecs;
} CUfileDrvProps_t;

enum CUfileFileHandleType { CU_FILE_HANDLE_TYPE_OPAQUE_FD = 1 };

typedef struct CUfileDescr_t {
	enum CUfileFileHandleType type;
	union {
		int fd;
		void *handle;
	} handle;
	const struct CUfileFSOps *fs_ops; /* NULL: a file of the kernel */
} CUfileDescr_t;

typedef void *CUfileHandle_t;
#endif

/* X(symbol, parameters): every function returns CUfileError_t. */
/* clang-format off */
#define MUSTER_CUFILE_FUNCTIONS(X) \
	X(cuFileDriverOpen, (void)) \
	X(cuFileDriverClose, (void)) \
	X(cuFileDriverGetProperties, (CUfileDrvProps_t *properties)) \
	X(cuFileHandleRegister, (CUfileHandle_t *handle, CUfileDescr_t *description)) \
	X(cuFileBufRegister, (const void *memory, size_t bytes, int flags)) \
	X(cuFileBufDeregister, (const void *memory))
/* X(result, symbol, parameters): a read gives the bytes that were read; -1 and errno, or a negative CUfileOpError. */
#define MUSTER_CUFILE_OTHER_FUNCTIONS(X) \
	X(void, cuFileHandleDeregister, (CUfileHandle_t handle)) \
	X(ssize_t, cuFileRead, (CUfileHandle_t handle, void *memory, size_t bytes, off_t file_offset, \
		off_t memory_offset))
/* clang-format on */

#endif

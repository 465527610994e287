/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt_abi.h - the part of cuBLASLt that muster calls, as cublasLt.h of CUDA 11 and later declares it
 *
 * Types carry the vendor's names so that tests/abi/ can compare every prototype, size and constant with the vendor's
 * headers. A stream is the driver API's CUstream: cudaStream_t is the same type.
 */
#ifndef MUSTER_VENDOR_CUBLASLT_ABI_H
#define MUSTER_VENDOR_CUBLASLT_ABI_H

#include "vendor/cuda_abi.h"

#include <stdint.h>

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef enum {
	CUBLAS_STATUS_SUCCESS = 0,
	CUBLAS_STATUS_NOT_INITIALIZED = 1,
	CUBLAS_STATUS_ALLOC_FAILED = 3,
	CUBLAS_STATUS_INVALID_VALUE = 7,
	CUBLAS_STATUS_ARCH_MISMATCH = 8,
	CUBLAS_STATUS_EXECUTION_FAILED = 13,
	CUBLAS_STATUS_INTERNAL_ERROR = 14,
	CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum cudaDataType_t {
	CUDA_R_32F = 0,
	CUDA_R_64F = 1,
	CUDA_R_16BF = 14,
	CUDA_R_8F_E4M3 = 28 /* since CUDA 11.8 */
} cudaDataType;
typedef enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70 } cublasComputeType_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum {
	CUBLASLT_MATMUL_DESC_TRANSA = 3 /* of cublasOperation_t, as int32_t */
} cublasLtMatmulDescAttributes_t;
typedef enum {
	CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1 /* uint64_t */
} cublasLtMatmulPreferenceAttributes_t;

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef struct {
	uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
	cublasLtMatmulAlgo_t algo;
	size_t workspaceSize; /* bytes */
	cublasStatus_t state;
	float wavesCount;
	int reserved[4];
} cublasLtMatmulHeuristicResult_t;
#endif

/* X(symbol, parameters): every function returns cublasStatus_t. Matrices are column-major; alpha and beta point to host
 * memory, A to D to device memory. */
/* clang-format off */
#define MUSTER_CUBLASLT_FUNCTIONS(X) \
	X(cublasLtCreate, (cublasLtHandle_t *handle)) \
	X(cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *product, cublasComputeType_t compute, cudaDataType scale)) \
	X(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t product)) \
	X(cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t what, \
		const void *value, size_t bytes)) \
	X(cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *matrix, cudaDataType type, uint64_t rows, \
		uint64_t columns, int64_t leading)) \
	X(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t matrix)) \
	X(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *preference)) \
	X(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference)) \
	X(cublasLtMatmulPreferenceSetAttribute, (cublasLtMatmulPreference_t preference, \
		cublasLtMatmulPreferenceAttributes_t what, const void *value, size_t bytes)) \
	X(cublasLtMatmulAlgoGetHeuristic, (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, \
		cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, \
		cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted, \
		cublasLtMatmulHeuristicResult_t *results, int *found)) \
	X(cublasLtMatmul, (cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *A, \
		cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C, \
		cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm, \
		void *workspace, size_t workspace_bytes, CUstream stream))
/* clang-format on */

#endif

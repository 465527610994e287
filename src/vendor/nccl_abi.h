/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_abi.h - the part of NCCL that muster calls, as nccl.h of 2.14 and later declares it
 *
 * ncclConfig_t is the oldest one (2.14: size, magic, version, blocking); later libraries accept it by its size and
 * version. Types carry nccl.h's names so that tests/abi/ can compare them with the vendor's header.
 */
#ifndef MUSTER_VENDOR_NCCL_ABI_H
#define MUSTER_VENDOR_NCCL_ABI_H

#include "vendor/cuda_abi.h"

#include <stddef.h>

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef struct ncclComm *ncclComm_t;
typedef struct {
	char internal[128];
} ncclUniqueId;
typedef enum {
	ncclSuccess = 0,
	ncclUnhandledCudaError = 1,
	ncclSystemError = 2,
	ncclInternalError = 3,
	ncclInvalidArgument = 4,
	ncclInvalidUsage = 5,
	ncclRemoteError = 6,
	ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3 } ncclRedOp_t;
typedef enum { ncclInt8 = 0, ncclUint8 = 1, ncclFloat32 = 7, ncclFloat64 = 8 } ncclDataType_t;
#endif

/* The 2.14 prefix of ncclConfig_t, and the values that mark it (NCCL_API_MAGIC; 2.14.0 by NCCL_VERSION). */
struct muster_nccl_config {
	size_t size;
	unsigned int magic, version;
	int blocking;
};
#define MUSTER_NCCL_CONFIG_MAGIC 0xcafebeefu
#define MUSTER_NCCL_CONFIG_VERSION 21400u

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef struct muster_nccl_config ncclConfig_t;
typedef struct CUstream_st *cudaStream_t;
#endif

/* X(symbol, parameters): every function returns ncclResult_t. A run leaves its communicator to the end of the process,
 * and none is closed in an orderly way. */
/* clang-format off */
#define MUSTER_NCCL_FUNCTIONS(X) \
	X(ncclGetVersion, (int *version)) \
	X(ncclGetUniqueId, (ncclUniqueId *id)) \
	X(ncclCommInitRankConfig, (ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)) \
	X(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *state)) \
	X(ncclCommAbort, (ncclComm_t comm)) \
	X(ncclAllReduce, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, \
		ncclComm_t comm, cudaStream_t stream)) \
	X(ncclAllGather, (const void *send, void *receive, size_t send_count, ncclDataType_t type, ncclComm_t comm, \
		cudaStream_t stream)) \
	X(ncclReduceScatter, (const void *send, void *receive, size_t receive_count, ncclDataType_t type, \
		ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) \
	X(ncclBroadcast, (const void *send, void *receive, size_t count, ncclDataType_t type, int root, \
		ncclComm_t comm, cudaStream_t stream)) \
	X(ncclSend, (const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, \
		cudaStream_t stream)) \
	X(ncclRecv, (void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, \
		cudaStream_t stream)) \
	X(ncclGroupStart, (void)) \
	X(ncclGroupEnd, (void))

/* NULL in struct muster_nccl where the library has none. ncclCommSplit, since 2.18, writes *new_comm when the parent is
 * done. ncclCommInitRankScalable, since 2.23: the ids come from as many processes, in one order on all ranks. */
#define MUSTER_NCCL_OPTIONAL_FUNCTIONS(X) \
	X(ncclCommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *new_comm, ncclConfig_t *config)) \
	X(ncclCommInitRankScalable, (ncclComm_t *comm, int ranks, int rank, int count, ncclUniqueId *ids, \
		ncclConfig_t *config))
/* clang-format on */

#endif

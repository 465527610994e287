/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - print what a header declares: once compiled with our header alone, once with the vendor's beside it
 *
 * compare.sh compiles and runs it; facts.h is the list that it takes from our header.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef ABI_vendor
#define MUSTER_ABI_VENDOR_TYPES
#endif

#if defined ABI_cuda
#ifdef ABI_vendor
#define __CUDA_API_VERSION_INTERNAL /* declares every function under its own symbol, the superseded ones too */
#include <cuda.h>
#endif
#include "vendor/cuda_abi.h"
#define FUNCTIONS MUSTER_CUDA_FUNCTIONS
#define RESULT CUresult
#define MORE_FUNCTIONS(X)

#elif defined ABI_nccl
#ifdef ABI_vendor
#include <nccl.h>
#endif
#include "vendor/nccl_abi.h"
#include "muster/probe.h"
#define FUNCTIONS MUSTER_NCCL_FUNCTIONS
#define RESULT ncclResult_t
#define MORE_FUNCTIONS(X)                                                                                              \
	X(const char *, ncclGetErrorString, (ncclResult_t result))                                                     \
	X(const char *, ncclGetLastError, (ncclComm_t comm))

#elif defined ABI_nvml
#ifdef ABI_vendor
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#endif
#include "vendor/nvml_abi.h"
#define FUNCTIONS MUSTER_NVML_FUNCTIONS
#define RESULT nvmlReturn_t
#define MORE_FUNCTIONS(X) X(const char *, nvmlErrorString, (nvmlReturn_t result))

#elif defined ABI_cublaslt
#ifdef ABI_vendor
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cublasLt.h>
#endif
#include "vendor/cublaslt_abi.h"
#define FUNCTIONS MUSTER_CUBLASLT_FUNCTIONS
#define RESULT cublasStatus_t
#define MORE_FUNCTIONS(X) X(size_t, cublasLtGetVersion, (void))

#elif defined ABI_cufile
#ifdef ABI_vendor
#include <cufile.h>
#undef cuFileDriverClose /* the older name is in every library */
CUfileError_t cuFileDriverClose(void);
#endif
#include "vendor/cufile_abi.h"
#define FUNCTIONS MUSTER_CUFILE_FUNCTIONS
#define RESULT CUfileError_t
#define MORE_FUNCTIONS MUSTER_CUFILE_OTHER_FUNCTIONS

#elif defined ABI_pmix
#ifdef ABI_vendor
#include <pmix.h>
#endif
#include "transport/mpi/pmix_abi.h"
#define FUNCTIONS(X)
#define MORE_FUNCTIONS MUSTER_PMIX_FUNCTIONS
#endif

#ifdef ABI_vendor
#define SAME(result, symbol, parameters) __builtin_types_compatible_p(__typeof__(symbol), result parameters)
#else
#define SAME(result, symbol, parameters) 1
#endif

#ifdef ABI_nccl
/* The prefix of ncclConfig_t that NCCL 2.14 had. */
static void print_config(void)
{
#ifdef ABI_vendor
	const ncclConfig_t start = NCCL_CONFIG_INITIALIZER;
	unsigned int magic = start.magic, version = NCCL_VERSION(2, 14, 0);
	size_t id = NCCL_UNIQUE_ID_BYTES;
#else
	unsigned int magic = MUSTER_NCCL_CONFIG_MAGIC, version = MUSTER_NCCL_CONFIG_VERSION;
	size_t id = MUSTER_RING_ID_BYTES;
#endif
	printf("config: magic %#x, version %u, id of %zu bytes\n", magic, version, id);
#define FIELD(name)                                                                                                    \
	printf("config: %s at %zu, %zu bytes\n", #name, offsetof(ncclConfig_t, name),                                  \
		sizeof((*(ncclConfig_t *)0).name));
	FIELD(size)
	FIELD(magic)
	FIELD(version)
	FIELD(blocking)
}
#endif

int main(void)
{
#define FACT(expression) printf("%s = %lld\n", #expression, (long long)(expression));
#define PROTOTYPE(symbol, parameters) MORE(RESULT, symbol, parameters)
#define MORE(result, symbol, parameters)                                                                               \
	printf("prototype of %s: %s\n", #symbol, SAME(result, symbol, parameters) ? "same" : "another");
#include "facts.h"
#define X(symbol, parameters) MORE(RESULT, symbol, parameters)
	FUNCTIONS(X)
	MORE_FUNCTIONS(MORE)
#ifdef ABI_nccl
	print_config();
#endif
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* thief.c - takes a share of a GPU away from the worker, for prove.py: a library that is preloaded into a run
 *
 * muster opens the vendors' libraries with dlopen, so functions are replaced where dlsym is asked for them.
 * MUSTER_TEST_THIEF says what is taken, as in "copies=0.05 products=8", MUSTER_TEST_THIEF_RANK from which rank:
 *
 * copies: before each copy to or from the host another one of so many times its bytes. In a stream of its own it takes
 *         nothing (H200): a copy engine does what is queued in one stream before it turns to another
 * memory: with each kernel of the memory test the same kernel once more, over so many times its bytes, in a stream of
 *         its own. Reads beside writes would take more than their bytes (3 % of them a sixth of the rate, H200)
 * products: before each matrix product a kernel of one block that reads so many MiB, as if the clocks were lower. A
 * block beside the product, on an SM of its own, takes 45 % of the rate whether there are 1 or 16 of them (H200)
 *
 * Clocks and modes are never changed.
 */
#define _GNU_SOURCE
#include "probes/gpu/kernels.h"
#include "vendor/cublaslt.h"
#include "vendor/cuda.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define COPY_MOST (32 * MIB) /* of one copy that is taken; copies below 1 MiB are no measurement */
#define LARGE (256 * MIB)    /* what the memory test writes and reads; factors of products are smaller */
#define BLOCK 256            /* threads, as muster's kernels have */
#define BLOCKS_OF_SM 8       /* so many of them are on an SM at once */
#define REPORT 6             /* the parameter of muster_verify */

static struct muster_cuda real;
static struct muster_cublaslt real_lt;
static CUresult (*create_stream)(CUstream *stream, unsigned int flags, int priority); /* NULL in a simulation */
static CUfunction fill, verify, checksum;                                             /* muster's kernels */
static CUdeviceptr memory; /* what the memory test used first, as long as it is there, else 0 */
static size_t memory_bytes;

/* How much is taken; 0: nothing, as of all ranks but one. */
static double amount(const char *name)
{
	static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };
	const char *all = getenv("MUSTER_TEST_THIEF"), *robbed = getenv("MUSTER_TEST_THIEF_RANK"), *own = NULL;
	for (size_t i = 0; !own && i < sizeof ranks / sizeof *ranks; i++)
		own = getenv(ranks[i]);
	const char *at = all && !(own && robbed && strcmp(own, robbed) != 0) ? strstr(all, name) : NULL;
	return at ? strtod(at + strlen(name) + 1, NULL) : 0; /* after the = */
}

/* A thief that takes nothing proves nothing: the run must fail. */
static void need(CUresult result)
{
	if (result != CUDA_SUCCESS)
		abort();
}

static double blocks_at_once(void)
{
	int sms = 1;
	need(real.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	return BLOCKS_OF_SM * sms;
}

/* A stream whose work begins with what is queued next in the victim's stream, which begins when all that is in this one
 * already has ended: no kernel of the thief writes when the victim has gone on. Streams of a simulation do not slow
 * each other down: there it is the victim's own, and the theft comes before its work. */
static CUstream beside(CUstream victim)
{
	static CUstream own;
	static CUevent begins, here;
	if (!create_stream)
		return victim;
	if (!own) {
		need(create_stream(&own, CU_STREAM_NON_BLOCKING, INT32_MIN)); /* the highest priority */
		need(real.cuEventCreate(&begins, CU_EVENT_DEFAULT));
		need(real.cuEventCreate(&here, CU_EVENT_DEFAULT));
	}
	need(real.cuEventRecord(begins, victim));
	need(real.cuStreamWaitEvent(own, begins, 0));
	need(real.cuEventRecord(here, own));
	need(real.cuStreamWaitEvent(victim, here, 0));
	return own;
}

static CUdeviceptr report(void)
{
	static CUdeviceptr made;
	if (!made)
		need(real.cuMemAlloc_v2(&made, sizeof(struct muster_kernel_report)));
	return made;
}

/* Blocks in proportion to the bytes: the theft takes as long as the victim's kernel. */
static void steal_memory(CUfunction function, CUstream victim, void **parameters, double more)
{
	double share = blocks_at_once() * more / (1 + more);
	uint64_t words = (uint64_t)((double)*(uint64_t *)parameters[1] * more);
	CUdeviceptr into = report();
	void *mine[REPORT + 1] = { parameters[0], &words, parameters[2], parameters[3], parameters[4], parameters[5],
		&into };
	need(real.cuLaunchKernel(
		function, share > 1 ? (unsigned int)share : 1, 1, 1, BLOCK, 1, 1, 0, beside(victim), mine, NULL));
}

static CUresult launch(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
	void **parameters, void **extra)
{
	size_t bytes = function == fill || function == verify ? *(uint64_t *)parameters[1] * MUSTER_KERNEL_WORD : 0;
	if (bytes >= LARGE && !memory) {
		memory = *(CUdeviceptr *)parameters[0];
		memory_bytes = bytes;
	}
	if (bytes >= LARGE && amount("memory") > 0)
		steal_memory(function, stream, parameters, amount("memory"));
	return real.cuLaunchKernel(
		function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra);
}

static CUresult free_memory(CUdeviceptr pointer)
{
	memory = pointer == memory ? 0 : memory;
	return real.cuMemFree_v2(pointer);
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name)
{
	CUresult result = real.cuModuleGetFunction(function, module, name);
	CUfunction *const kept[] = { &fill, &verify, &checksum };
	const char *const names[] = { "muster_fill", "muster_verify", "muster_checksum" };
	for (size_t i = 0; i < sizeof kept / sizeof *kept && result == CUDA_SUCCESS; i++)
		*kept[i] = strcmp(name, names[i]) == 0 ? *function : *kept[i];
	return result;
}

static cublasStatus_t multiply(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void *alpha, const void *A,
	cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C,
	cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
	void *workspace, size_t workspace_bytes, CUstream stream)
{
	/* a kernel of the simulation takes as long with one block as with all */
	double bytes = amount("products") * (double)MIB * (create_stream ? 1 : blocks_at_once());
	uint64_t words = (uint64_t)(bytes < (double)memory_bytes ? bytes : (double)memory_bytes) / MUSTER_KERNEL_WORD;
	if (words > 0 && memory && checksum) {
		CUdeviceptr into = report();
		void *parameters[] = { &memory, &words, &into };
		need(real.cuLaunchKernel(checksum, 1, 1, 1, BLOCK, 1, 1, 0, stream, parameters, NULL));
	}
	return real_lt.cublasLtMatmul(
		handle, product, alpha, A, a, B, b, beta, C, c, D, d, algorithm, workspace, workspace_bytes, stream);
}

static void steal_copy(size_t bytes, bool to_device, CUstream victim)
{
	static CUdeviceptr device;
	static void *host;
	double wanted = amount("copies") * (double)bytes;
	size_t more = wanted < (double)COPY_MOST ? (size_t)wanted : COPY_MOST;
	if (bytes < MIB || more == 0)
		return;
	if (!host) {
		if (posix_memalign(&host, 2 * MIB, COPY_MOST) != 0)
			abort();
		memset(host, 1, COPY_MOST);
		need(real.cuMemHostRegister_v2(host, COPY_MOST, CU_MEMHOSTREGISTER_PORTABLE));
		need(real.cuMemAlloc_v2(&device, COPY_MOST));
	}
	need(to_device ? real.cuMemcpyHtoDAsync_v2(device, host, more, victim)
		       : real.cuMemcpyDtoHAsync_v2(host, device, more, victim));
}

static CUresult copy_to(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	steal_copy(bytes, true, stream);
	return real.cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}

static CUresult copy_from(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	steal_copy(bytes, false, stream);
	return real.cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}

/* glibc had dlsym in libdl up to 2.33, and on each architecture by another version. */
static void *find(void *handle, const char *name)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	static void *(*found)(void *handle, const char *name);
	for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++) {
		void *address = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
		memcpy(&found, &address, sizeof found);
	}
	return found(handle, name);
}

/* The address of a function becomes that of another one, if there is one for it. */
static void replace(void **address, void *kept, const void *instead)
{
	void *other;
	memcpy(kept, address, sizeof *address);
	memcpy(&other, instead, sizeof other);
	*address = other ? other : *address;
}

void *dlsym(void *restrict handle, const char *restrict symbol)
{
	const struct muster_cuda instead = { .cuLaunchKernel = launch,
		.cuMemFree_v2 = free_memory,
		.cuModuleGetFunction = get_function,
		.cuMemcpyHtoDAsync_v2 = copy_to,
		.cuMemcpyDtoHAsync_v2 = copy_from };
	const struct muster_cublaslt instead_lt = { .cublasLtMatmul = multiply };
	void *address = find(handle, symbol);
#define X(name, parameters)                                                                                            \
	if (address && strcmp(symbol, #name) == 0)                                                                     \
		replace(&address, &real.name, &instead.name);
	MUSTER_CUDA_FUNCTIONS(X)
#undef X
#define X(name, parameters)                                                                                            \
	if (address && strcmp(symbol, #name) == 0)                                                                     \
		replace(&address, &real_lt.name, &instead_lt.name);
	MUSTER_CUBLASLT_FUNCTIONS(X)
#undef X
	if (strcmp(symbol, "cuLaunchKernel") == 0) {
		void *optional = find(handle, "cuStreamCreateWithPriority");
		memcpy(&create_stream, &optional, sizeof create_stream);
	}
	return address;
}

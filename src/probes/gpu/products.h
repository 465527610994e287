/* SPDX-License-Identifier: Apache-2.0 */
/* products.h - products of matrices by cuBLASLt
 *
 * D = A'B: A is k x m, B is k x n, D is m x n, all column-major. The algorithm is the first that the library's
 * heuristic offers; it depends on the shape, the GPU and the library's version alone, so every rank that may be
 * compared with another takes the same one. Results are kept in single precision where they can be.
 */
#ifndef MUSTER_PROBES_GPU_PRODUCTS_H
#define MUSTER_PROBES_GPU_PRODUCTS_H

#include "vendor/cublaslt.h"
#include "vendor/cuda.h"
#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum muster_precision { MUSTER_BF16, MUSTER_FP64, MUSTER_FP8, MUSTER_PRECISIONS };
extern const char *const muster_precision_names[MUSTER_PRECISIONS]; /* "bf16" */

/* Of each precision: bytes of a value of A and B, and of D; and the masks of a muster_pattern that makes every value of
 * A and B ±[0.5, 2). */
struct muster_product_values {
	size_t from_bytes, to_bytes;
	uint64_t and_mask, or_mask;
};
extern const struct muster_product_values muster_product_values[MUSTER_PRECISIONS];

/* Matrices begin at multiples of 2 MiB, the size of a large page of device memory: far more than the 16 bytes that the
 * tensor cores need, and than the 256 bytes that cuBLASLt's heuristic takes for granted. */
/* Bytes of device memory until the next matrix may begin. */
static inline size_t muster_product_aligned(size_t bytes)
{
	const size_t alignment = (size_t)2 << 20;
	return (bytes + alignment - 1) / alignment * alignment;
}

/* The workspace that NVIDIA recommends for Hopper and later (cuBLAS manual, cublasSetWorkspace: 32 MiB); algorithms
 * that split k need it. Products of one stream may share it, since they never run at once. */
#define MUSTER_PRODUCT_WORKSPACE ((size_t)32 << 20) /* bytes of device memory, for all products of a stream */

/* MUSTER_ENOTSUPPORTED where the GPU has no units for the precision. FP64 elsewhere is a small part of the other units,
 * FP8 is not there before Ada, BF16 not before Ampere. */
int muster_product_need_units(
	const struct muster_cuda *cuda, CUdevice device, enum muster_precision precision, struct muster_error *err);

struct muster_product {
	const struct muster_cublaslt *lib;
	enum muster_precision precision;
	size_t m, n, k;
	cublasLtMatmulDesc_t description;
	cublasLtMatrixLayout_t a, b, d;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t chosen;
};

/* Choose the algorithm: 0, or -1 with err: MUSTER_ENOTSUPPORTED where the library has no such product for this GPU,
 * MUSTER_ELIB without the library. Either way to be ended by done. */
int muster_product_init(struct muster_product *ret, enum muster_precision precision, size_t m, size_t n, size_t k,
	struct muster_error *err);
void muster_product_done(struct muster_product *product);

/* Queue one product of device memory. */
int muster_product_queue(const struct muster_product *product, CUdeviceptr a, CUdeviceptr b, CUdeviceptr d,
	CUdeviceptr workspace, CUstream stream, struct muster_error *err);

#endif

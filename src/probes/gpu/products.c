/* SPDX-License-Identifier: Apache-2.0 */
/* products.c - products of matrices by cuBLASLt
 *
 * A product lives from muster_product_init to muster_product_done, and may be queued any number of times between. The
 * library's handle is made with the first product and stays until the process ends.
 */
#include "probes/gpu/products.h"

const char *const muster_precision_names[MUSTER_PRECISIONS] = { "bf16", "fp64", "fp8" };

/* Bytes of a value of A and B, bytes of a value of D, and_mask, or_mask. A word of a pattern is (random & and) | or:
 * signs and fractions are random, and so is one bit of the exponent; the other bits of the exponent are fixed by `or`:
 *
 *   bf16   s eeeeeeee fffffff               and 80ff: s, the lowest e, f         or 3f00
 *   fp64   s eeeeeeeeeee ffff... (52)       and 801f...: s, the lowest e, f      or 3fe0...
 *   fp8    s eeee fff (E4M3)                and 8f: s, the lowest e, f           or 30
 */
const struct muster_product_values muster_product_values[MUSTER_PRECISIONS] = {
	[MUSTER_BF16] = { 2, 4, 0x80ff80ff80ff80ff, 0x3f003f003f003f00 },
	[MUSTER_FP64] = { 8, 8, 0x801fffffffffffff, 0x3fe0000000000000 },
	[MUSTER_FP8] = { 1, 4, 0x8f8f8f8f8f8f8f8f, 0x3030303030303030 },
};

/* Types of A and B, of D, and of the factors; and in what the sums are kept. */
static const struct {
	cudaDataType from, to, scale;
	cublasComputeType_t compute;
} kinds[MUSTER_PRECISIONS] = {
	[MUSTER_BF16] = { CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[MUSTER_FP64] = { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F },
	[MUSTER_FP8] = { CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
};

static cublasLtHandle_t handle; /* of this process; creating one takes time */

/* By compute capability. FP64 counts for 8.0, 9.0 and 10.0 alone (A100, H100, B200), FP8 from Ada (8.9) on. */
int muster_product_need_units(
	const struct muster_cuda *cuda, CUdevice device, enum muster_precision precision, struct muster_error *err)
{
	int major = 0, minor = 0;
	cuda->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	cuda->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	const bool has_units[MUSTER_PRECISIONS] = {
		[MUSTER_BF16] = major >= 8,
		[MUSTER_FP64] = (major == 8 || major == 9 || major == 10) && minor == 0,
		[MUSTER_FP8] = major > 8 || (major == 8 && minor >= 9),
	};
	if (has_units[precision])
		return 0;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "the GPU has no units for matrix products in %s",
		muster_precision_names[precision]);
}

void muster_product_done(struct muster_product *product)
{
	if (product->preference)
		product->lib->cublasLtMatmulPreferenceDestroy(product->preference);
	cublasLtMatrixLayout_t layouts[] = { product->a, product->b, product->d };
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i])
			product->lib->cublasLtMatrixLayoutDestroy(layouts[i]);
	if (product->description)
		product->lib->cublasLtMatmulDescDestroy(product->description);
	*product = (struct muster_product){ 0 };
}

/* A matrix without gaps between its columns. */
static int describe_matrix(const struct muster_cublaslt *lib, cublasLtMatrixLayout_t *ret, cudaDataType type,
	size_t rows, size_t columns, struct muster_error *err)
{
	return MUSTER_CUBLASLT(lib, err, cublasLtMatrixLayoutCreate, ret, type, rows, columns, (int64_t)rows);
}

/* Everything that an algorithm is chosen by. The transposition of A is the only form in which FP8 exists before
 * Blackwell, and BF16 and FP64 have it too. C is D with the factor 0, so no matrix C is read. */
static int describe(struct muster_product *p, struct muster_error *err)
{
	const struct muster_cublaslt *lib = p->lib;
	const int32_t transposed = CUBLAS_OP_T; /* the only form that every precision has */
	const uint64_t workspace = MUSTER_PRODUCT_WORKSPACE;
	int found = 0;
	if (MUSTER_CUBLASLT(lib, err, cublasLtMatmulDescCreate, &p->description, kinds[p->precision].compute,
		    kinds[p->precision].scale) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulDescSetAttribute, p->description, CUBLASLT_MATMUL_DESC_TRANSA,
			&transposed, sizeof transposed) < 0 ||
		describe_matrix(lib, &p->a, kinds[p->precision].from, p->k, p->m, err) < 0 ||
		describe_matrix(lib, &p->b, kinds[p->precision].from, p->k, p->n, err) < 0 ||
		describe_matrix(lib, &p->d, kinds[p->precision].to, p->m, p->n, err) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulPreferenceCreate, &p->preference) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulPreferenceSetAttribute, p->preference,
			CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace) < 0 ||
		MUSTER_CUBLASLT(lib, err, cublasLtMatmulAlgoGetHeuristic, handle, p->description, p->a, p->b, p->d,
			p->d, p->preference, 1, &p->chosen, &found) < 0)
		return -1;
	if (found < 1)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "cublasLtMatmulAlgoGetHeuristic offers no algorithm");
	return muster_cublaslt_check(p->chosen.state, err, "cublasLtMatmulAlgoGetHeuristic");
}

int muster_product_init(struct muster_product *ret, enum muster_precision precision, size_t m, size_t n, size_t k,
	struct muster_error *err)
{
	*ret = (struct muster_product){ .lib = muster_cublaslt(err), .precision = precision, .m = m, .n = n, .k = k };
	if (!ret->lib || (!handle && MUSTER_CUBLASLT(ret->lib, err, cublasLtCreate, &handle) < 0))
		return -1;
	return describe(ret, err);
}

int muster_product_queue(const struct muster_product *product, CUdeviceptr a, CUdeviceptr b, CUdeviceptr d,
	CUdeviceptr workspace, CUstream stream, struct muster_error *err)
{
	static const double one_double = 1, zero_double = 0;
	static const float one_float = 1, zero_float = 0;
	bool doubles = kinds[product->precision].scale == CUDA_R_64F;
	const void *one = doubles ? (const void *)&one_double : &one_float;
	const void *zero = doubles ? (const void *)&zero_double : &zero_float;
	void *to = (void *)(uintptr_t)d; /* CUDA's runtime interface has device addresses as pointers */
	return MUSTER_CUBLASLT(product->lib, err, cublasLtMatmul, handle, product->description, one,
		(const void *)(uintptr_t)a, product->a, (const void *)(uintptr_t)b, product->b, zero, to, product->d,
		to, product->d, &product->chosen.algo, (void *)(uintptr_t)workspace, MUSTER_PRODUCT_WORKSPACE, stream);
}

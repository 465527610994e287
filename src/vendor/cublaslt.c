/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt.c - cuBLASLt, opened at run time
 *
 * The first of three sonames that can be opened is taken, the newest first.
 */
#include "vendor/cublaslt.h"
#include "vendor/library.h"

static struct muster_cublaslt functions;

static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_CUBLASLT_FUNCTIONS(X)
#undef X
		{ .name = "cublasLtGetVersion", .address = &functions.cublasLtGetVersion },
};

struct muster_library muster_cublaslt_library = {
	.title = "cuBLASLt",
	.soname = "libcublasLt.so.13",
	.older_sonames = { "libcublasLt.so.12", "libcublasLt.so.11" },
	.oldest = "CUDA 11",
	MUSTER_SYMBOLS(symbols),
};

const struct muster_cublaslt *muster_cublaslt(struct muster_error *err)
{
	return muster_library_open(&muster_cublaslt_library, err) < 0 ? NULL : &functions;
}

static const char *name_of(cublasStatus_t status)
{
	switch (status) {
	case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
	case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
	case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
	case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
	case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
	case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
	case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
	case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
	}
	return "a status that cuBLASLt's headers do not name";
}

int muster_cublaslt_check(cublasStatus_t status, struct muster_error *err, const char *call)
{
	bool cannot = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH;
	if (status == CUBLAS_STATUS_SUCCESS)
		return 0;
	enum muster_code code = cannot                                 ? MUSTER_ENOTSUPPORTED
				: status == CUBLAS_STATUS_ALLOC_FAILED ? MUSTER_ERESOURCE
								       : MUSTER_EVENDOR;
	return muster_fail(err, code, "%s: %s (%d)", call, name_of(status), (int)status);
}

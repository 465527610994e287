/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt.h - cuBLASLt, opened at run time
 *
 * The library is large (0.5 GB): the first open of a process takes 0.06 to 0.3 s.
 */
#ifndef MUSTER_VENDOR_CUBLASLT_H
#define MUSTER_VENDOR_CUBLASLT_H

#include "vendor/cublaslt_abi.h"
#include "muster/error.h"

struct muster_cublaslt {
#define X(symbol, parameters) cublasStatus_t(*symbol) parameters;
	MUSTER_CUBLASLT_FUNCTIONS(X)
#undef X
	size_t (*cublasLtGetVersion)(void); /* 130101 is 13.1.1 */
};

/* The functions, opened on the first call, from libcublasLt.so.13, .12 or .11, whichever is found first; NULL with err
 * when none is. May be called by several threads at once. */
const struct muster_cublaslt *muster_cublaslt(struct muster_error *err);

/* When status is not CUBLAS_STATUS_SUCCESS: set err to "<call>: CUBLAS_STATUS_NOT_SUPPORTED (15)" and return -1.
 * NOT_SUPPORTED and ARCH_MISMATCH give code MUSTER_ENOTSUPPORTED. Otherwise return 0. */
int muster_cublaslt_check(cublasStatus_t status, struct muster_error *err, const char *call);

/* Call one of the functions: 0, or -1 with err, which names it. */
#define MUSTER_CUBLASLT(library, err, function, ...)                                                                   \
	muster_cublaslt_check((library)->function(__VA_ARGS__), err, #function)

#endif

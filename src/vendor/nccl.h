/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h - NCCL, opened at run time */
#ifndef MUSTER_VENDOR_NCCL_H
#define MUSTER_VENDOR_NCCL_H

#include "vendor/nccl_abi.h"
#include "muster/error.h"

struct muster_nccl {
#define X(symbol, parameters) ncclResult_t(*symbol) parameters;
	MUSTER_NCCL_FUNCTIONS(X)
	MUSTER_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
	const char *(*ncclGetErrorString)(ncclResult_t result);
	const char *(*ncclGetLastError)(ncclComm_t comm); /* since 2.13; NULL when absent */
};

/* The functions, opened on the first call; NULL with err when libnccl.so.2 or one of them is missing or too old. */
const struct muster_nccl *muster_nccl(struct muster_error *err);

/* As muster_cuda_check, with ncclGetLastError's text added when there is one (comm may be NULL, as NCCL allows).
 * ncclInProgress counts as success. */
int muster_nccl_check(const struct muster_nccl *nccl, ncclResult_t result, ncclComm_t comm, struct muster_error *err,
	const char *call);

/* Call one of the functions: 0, or -1 with err, which names it. MUSTER_NCCL(nccl, NULL, err, ncclGetUniqueId, &id) */
#define MUSTER_NCCL(nccl, comm, err, function, ...)                                                                    \
	muster_nccl_check(nccl, (nccl)->function(__VA_ARGS__), comm, err, #function)

/* "2.28.9" from ncclGetVersion's number (X*1000+Y*100+Z up to 2.8, X*10000+Y*100+Z after). */
const char *muster_nccl_version_text(int version, char *out, size_t size);

#endif

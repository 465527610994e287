/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - NCCL, opened at run time */
#include "vendor/nccl.h"
#include "vendor/library.h"

#include <stdio.h>
#include <string.h>

static struct muster_nccl functions;

static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_NCCL_FUNCTIONS(X)
#undef X
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol, .optional = true },
		MUSTER_NCCL_OPTIONAL_FUNCTIONS(X)
#undef X
			{ .name = "ncclGetErrorString", .address = &functions.ncclGetErrorString },
	{ .name = "ncclGetLastError", .address = &functions.ncclGetLastError, .optional = true },
};

struct muster_library muster_nccl_library = {
	.title = "NCCL",
	.soname = "libnccl.so.2",
	.oldest = "NCCL 2.14",
	MUSTER_SYMBOLS(symbols),
};

const struct muster_nccl *muster_nccl(struct muster_error *err)
{
	return muster_library_open(&muster_nccl_library, err) < 0 ? NULL : &functions;
}

/* ncclInProgress is no error: the communicators are non-blocking, and the caller asks again. The text of
 * ncclGetLastError says more than the code, and exists since NCCL 2.13. */
int muster_nccl_check(const struct muster_nccl *nccl, ncclResult_t result, ncclComm_t comm, struct muster_error *err,
	const char *call)
{
	const char *text, *last;
	if (result == ncclSuccess || result == ncclInProgress)
		return 0;
	text = nccl->ncclGetErrorString(result);
	if (!text)
		text = "an error without a text in NCCL";
	last = nccl->ncclGetLastError ? nccl->ncclGetLastError(comm) : NULL;
	/* ncclRemoteError says that this process is not where it began. A full /dev/shm is a system error, and what
	 * CUDA says of its memory is in the text only: "Cuda failure 2 'out of memory'". */
	bool lacks = result == ncclSystemError ||
		     (result == ncclUnhandledCudaError && last && strstr(last, "out of memory"));
	enum muster_code code = result == ncclRemoteError ? MUSTER_EREMOTE : lacks ? MUSTER_ERESOURCE : MUSTER_EVENDOR;
	if (!last || !*last)
		return muster_fail(err, code, "%s: %s (%d)", call, text, (int)result);
	return muster_fail(err, code, "%s: %s (%d): %s", call, text, (int)result, last);
}

/* Up to 2.8 the number is X*1000 + Y*100 + Z (2804), from 2.9 on X*10000 + Y*100 + Z (20900). */
const char *muster_nccl_version_text(int version, char *out, size_t size)
{
	int major = version < 10000 ? version / 1000 : version / 10000;
	int minor = version < 10000 ? version % 1000 / 100 : version % 10000 / 100;
	snprintf(out, size, "%d.%d.%d", major, minor, version % 100);
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cufile.c - cuFile, opened at run time
 *
 * Two settings of cuFile are environment variables: where its log file goes, and whether it may take its compatibility
 * mode. muster_cufile_quiet sets both before cuFile is used. The mode is changed between two opens of cuFile's driver.
 */
#include "vendor/cufile.h"
#include "vendor/library.h"

#include <stdlib.h>
#include <string.h>

static struct muster_cufile functions;

static const struct muster_symbol symbols[] = {
#define X(symbol, parameters) { .name = #symbol, .address = &functions.symbol },
	MUSTER_CUFILE_FUNCTIONS(X)
#undef X
#define X(result, symbol, parameters) { .name = #symbol, .address = &functions.symbol },
		MUSTER_CUFILE_OTHER_FUNCTIONS(X)
#undef X
};

struct muster_library muster_cufile_library = {
	.title = "cuFile",
	.soname = "libcufile.so.0",
	.oldest = "CUDA 11.4",
	MUSTER_SYMBOLS(symbols),
};

const struct muster_cufile *muster_cufile(struct muster_error *err)
{
	return muster_library_open(&muster_cufile_library, err) < 0 ? NULL : &functions;
}

void muster_cufile_quiet(void)
{
	setenv("CUFILE_LOGFILE_PATH", "/dev/null", 0);
	muster_cufile_allow_compatibility(true);
}

/* putenv makes the text itself a part of the environment. A later change of the mode only overwrites the value in
 * place, and does not move the environment while a thread of a library may read it. "true" and "false" both fit. */
void muster_cufile_allow_compatibility(bool allowed)
{
	static char entry[] = "CUFILE_ALLOW_COMPAT_MODE=false";
	char *value = strchr(entry, '=') + 1;
	memcpy(value, allowed ? "true" : "false", allowed ? sizeof "true" : sizeof "false");
	putenv(entry);
}

/* cuFile's header has such a table as well, as a function in the header alone. */
static const struct {
	CUfileOpError code;
	const char *name, *meaning;
} statuses[] = {
	{ CU_FILE_DRIVER_NOT_INITIALIZED, "CU_FILE_DRIVER_NOT_INITIALIZED", "nvidia-fs is not loaded" },
	{ CU_FILE_DRIVER_VERSION_MISMATCH, "CU_FILE_DRIVER_VERSION_MISMATCH", "nvidia-fs has another version" },
	{ CU_FILE_PLATFORM_NOT_SUPPORTED, "CU_FILE_PLATFORM_NOT_SUPPORTED", "cuFile does not support this platform" },
	{ CU_FILE_IO_NOT_SUPPORTED, "CU_FILE_IO_NOT_SUPPORTED", "cuFile does not support this file system" },
	{ CU_FILE_DEVICE_NOT_SUPPORTED, "CU_FILE_DEVICE_NOT_SUPPORTED", "cuFile does not support this GPU" },
	{ CU_FILE_CUDA_DRIVER_ERROR, "CU_FILE_CUDA_DRIVER_ERROR", "the CUDA driver has failed" },
	{ CU_FILE_INVALID_FILE_TYPE, "CU_FILE_INVALID_FILE_TYPE", "cuFile does not support this type of file" },
	{ CU_FILE_INVALID_FILE_OPEN_FLAG, "CU_FILE_INVALID_FILE_OPEN_FLAG", "cuFile needs a file for direct I/O" },
	{ CU_FILE_INVALID_VALUE, "CU_FILE_INVALID_VALUE", "cuFile has refused an argument" },
	{ CU_FILE_PERMISSION_DENIED, "CU_FILE_PERMISSION_DENIED",
		"cuFile has no permission for nvidia-fs or the file" },
	{ CU_FILE_HANDLE_NOT_REGISTERED, "CU_FILE_HANDLE_NOT_REGISTERED", "cuFile does not know the disk of the file" },
	{ CU_FILE_INTERNAL_ERROR, "CU_FILE_INTERNAL_ERROR", "cuFile has an internal error" },
	{ CU_FILE_NVFS_SETUP_ERROR, "CU_FILE_NVFS_SETUP_ERROR", "nvidia-fs could not be set up" },
	{ CU_FILE_IO_DISABLED, "CU_FILE_IO_DISABLED", "cuFile's configuration forbids the direct path for the file" },
};

int muster_cufile_check(CUfileError_t status, struct muster_error *err, const char *call)
{
	const char *name = "a status that muster does not know";
	if (status.err == CU_FILE_SUCCESS)
		return 0;
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i].code == status.err)
			name = statuses[i].name;
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s: %s (%d)", call, name, (int)status.err);
}

const char *muster_cufile_meaning(CUfileError_t status)
{
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i].code == status.err)
			return statuses[i].meaning;
	return "cuFile gives another status";
}

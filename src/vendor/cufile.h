/* SPDX-License-Identifier: Apache-2.0 */
/* cufile.h - cuFile (GPUDirect Storage), opened at run time
 *
 * cuFile moves data from a file to the GPU's memory: directly, by the kernel module nvidia-fs or by PCI peer-to-peer,
 * or in its compatibility mode by ordinary reads and copies, which it takes without a word.
 */
#ifndef MUSTER_VENDOR_CUFILE_H
#define MUSTER_VENDOR_CUFILE_H

#include "vendor/cufile_abi.h"
#include "muster/error.h"

#include <stdbool.h>

struct muster_cufile {
#define X(symbol, parameters) CUfileError_t(*symbol) parameters;
	MUSTER_CUFILE_FUNCTIONS(X)
#undef X
#define X(result, symbol, parameters) result(*symbol) parameters;
	MUSTER_CUFILE_OTHER_FUNCTIONS(X)
#undef X
};

/* The functions, opened on the first call; NULL with err when libcufile.so.0 or one of them is missing. */
const struct muster_cufile *muster_cufile(struct muster_error *err);

/* Before the first call of cuFile, and better before the process has threads: cuFile writes no cufile.log into the
 * current folder, unless the user has chosen a place for it. */
void muster_cufile_quiet(void);

/* Whether cuFile may take its compatibility mode, from the next cuFileDriverOpen on; else what cannot be done directly
 * fails. */
void muster_cufile_allow_compatibility(bool allowed);

/* When status is not CU_FILE_SUCCESS: set err to "<call>: CU_FILE_IO_NOT_SUPPORTED (5008)" and return -1, with code
 * MUSTER_ENOTSUPPORTED. Otherwise return 0. */
int muster_cufile_check(CUfileError_t status, struct muster_error *err, const char *call);

/* What a status means, for people: "nvidia-fs is not loaded". */
const char *muster_cufile_meaning(CUfileError_t status);

#endif

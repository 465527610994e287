/* SPDX-License-Identifier: Apache-2.0 */
/* pmix.c - the functions of libpmix, of the library that MPI has loaded and of no other */
#include "transport/mpi/pmix.h"

#include <dlfcn.h>
#include <string.h>

bool muster_pmix_find(struct muster_pmix *ret)
{
	void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD), *function;
	if (!library)
		return false;
#define X(result, symbol, parameters)                                                                                  \
	if (!(function = dlsym(library, #symbol)))                                                                     \
		return false;                                                                                          \
	memcpy(&ret->symbol, &function, sizeof function);
	MUSTER_PMIX_FUNCTIONS(X)
#undef X
	return true;
}

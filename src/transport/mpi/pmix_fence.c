/* pmix_fence.c - no rank of a job goes on before every rank has come this far
 *
 * MPI_Init ends with a fence, so that nobody sends to a rank that is not ready. It is a fence without data, and those
 * Slurm's PMIx plugin may end on each node by itself (22.05.8 does: in its tree every node is a root). A rank that
 * sends too early then kills the receiver, which has no handler for messages yet: SIGSEGV in mca_btl_tcp. A fence that
 * collects data goes round all nodes in a ring, and works.
 */
#include "transport/mpi/pmix_fence.h"

#include "transport/mpi/pmix_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
#define X(result, symbol, parameters) result(*symbol) parameters;
	MUSTER_PMIX_FUNCTIONS(X)
#undef X
} pmix;

/* The library that MPI has loaded, and no other one. */
static bool find_pmix(void)
{
	void *handle = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return false;
	void *function;
#define X(result, symbol, parameters)                                                                                  \
	if (!(function = dlsym(handle, #symbol)))                                                                      \
		return false;                                                                                          \
	memcpy(&pmix.symbol, &function, sizeof function);
	MUSTER_PMIX_FUNCTIONS(X)
#undef X
	return true;
}

void muster_pmix_fence(struct muster_error *warning)
{
	const char *job = getenv("PMIX_NAMESPACE");
	if (!job || strncmp(job, "slurm.", 6) != 0 || !find_pmix() || !pmix.PMIx_Initialized())
		return;
	const pmix_info_t collect = {
		.key = MUSTER_PMIX_COLLECT_DATA,
		.value = { .type = PMIX_BOOL, .data.flag = true },
	};
	pmix_status_t status = pmix.PMIx_Fence(NULL, 0, &collect, 1);
	if (status != PMIX_SUCCESS)
		(void)muster_fail(warning, MUSTER_EIO, "PMIx_Fence: %s", pmix.PMIx_Error_string(status));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_fence.c - a barrier of all ranks of a job after MPI_Init
 *
 * MPI_Init ends with a fence, so that no rank sends to a rank that is not ready. That fence has no data, and Slurm's
 * PMIx plugin may end such a fence on each node by itself (22.05.8 does: in its tree every node is a root). A message
 * that comes too early then kills the receiver, which has no handler yet: SIGSEGV in mca_btl_tcp. A fence that collects
 * data goes round all nodes, and works.
 */
#include "transport/mpi/pmix_fence.h"

#include "transport/mpi/pmix.h"

#include <stdlib.h>
#include <string.h>

void muster_pmix_fence(struct muster_error *warning)
{
	const char *job = getenv("PMIX_NAMESPACE");
	struct muster_pmix pmix;
	if (!job || strncmp(job, "slurm.", 6) != 0 || !muster_pmix_find(&pmix) || !pmix.PMIx_Initialized())
		return;
	const pmix_info_t collect = {
		.key = MUSTER_PMIX_COLLECT_DATA,
		.value = { .type = PMIX_BOOL, .data.flag = true },
	};
	pmix_status_t status = pmix.PMIx_Fence(NULL, 0, &collect, 1);
	if (status != PMIX_SUCCESS)
		(void)muster_fail(warning, MUSTER_EIO, "PMIx_Fence: %s", pmix.PMIx_Error_string(status));
}

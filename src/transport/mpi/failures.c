/* SPDX-License-Identifier: Apache-2.0 */
/* failures.c - a rank that dies must not end the others */
#include "transport/mpi/failures.h"

#include "transport/mpi/pmix.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

void muster_mpi_tolerate_failures(void)
{
	setenv("OMPI_MCA_mpi_ft_enable", "1", 0);    /* Open MPI 4 ignores it */
	setenv("OMPI_MCA_mpi_abort_delay", "-1", 0); /* for ever */
}

/* By its name: a module that was built with Open MPI 4 also runs with the libmpi.so.40 of Open MPI 5. */
bool muster_mpi_accept_failures(void)
{
	int (*acknowledge)(MPI_Comm);
	void *function = dlsym(RTLD_DEFAULT, "MPIX_Comm_failure_ack");
	if (!function)
		return false;
	memcpy(&acknowledge, &function, sizeof acknowledge);
	return acknowledge(MPI_COMM_WORLD) == MPI_SUCCESS;
}

/* In place of libpmix's function of this name, as this module comes before libpmix where libmpi's symbols are looked
 * up. All but the news of a dead rank is passed on. */
__attribute__((visibility("default"))) pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t *source,
	pmix_data_range_t range, const pmix_info_t info[], size_t count, pmix_op_cbfunc_t done, void *arg);

pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t *source, pmix_data_range_t range,
	const pmix_info_t info[], size_t count, pmix_op_cbfunc_t done, void *arg)
{
	struct muster_pmix pmix;
	if (status == PMIX_ERR_PROC_TERM_WO_SYNC || !muster_pmix_find(&pmix))
		return PMIX_OPERATION_SUCCEEDED; /* done is not called then */
	return pmix.PMIx_Notify_event(status, source, range, info, count, done, arg);
}

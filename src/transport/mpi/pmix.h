/* SPDX-License-Identifier: Apache-2.0 */
/* pmix.h - the functions of libpmix that this module calls */
#ifndef MUSTER_TRANSPORT_MPI_PMIX_H
#define MUSTER_TRANSPORT_MPI_PMIX_H

#include "transport/mpi/pmix_abi.h"

struct muster_pmix {
#define X(result, symbol, parameters) result(*symbol) parameters;
	MUSTER_PMIX_FUNCTIONS(X)
#undef X
};

/* Those of the library that MPI has loaded. False: MPI has none, or a PMIx of its own inside. */
bool muster_pmix_find(struct muster_pmix *ret);

#endif

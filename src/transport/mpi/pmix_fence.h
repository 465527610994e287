/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_fence.h - a barrier of all ranks of a job after MPI_Init */
#ifndef MUSTER_TRANSPORT_MPI_PMIX_FENCE_H
#define MUSTER_TRANSPORT_MPI_PMIX_FENCE_H

#include "muster/error.h"

/* After MPI_Init and before the first message. Waits where MPI_Init may not have waited: in a step that Slurm's PMIx
 * plugin has started. Elsewhere, and where MPI has a PMIx of its own inside, it returns at once. It waits for ever for
 * a rank that died, as MPI_Init does. A fence that failed is a warning. */
void muster_pmix_fence(struct muster_error *warning);

#endif

/* pmix_fence.h - no rank of a job goes on before every rank has come this far */
#ifndef MUSTER_TRANSPORT_PMIX_FENCE_H
#define MUSTER_TRANSPORT_PMIX_FENCE_H

/* After MPI_Init and before the first message. Waits where MPI_Init may not have waited: in a step that Slurm's PMIx
 * plugin has started. Elsewhere, and where MPI has a PMIx of its own inside, it returns at once. It waits for ever for
 * a rank that died, as MPI_Init does. */
void muster_pmix_fence(void);

#endif

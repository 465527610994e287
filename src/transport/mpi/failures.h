/* SPDX-License-Identifier: Apache-2.0 */
/* failures.h - a rank that fails must not end the others: what Open MPI needs to be told for that
 *
 * An MPI_Init that fails aborts the whole job, and leaves no time for a report. With a delay it does not return, as
 * where a rank has died, and each rank says so at its deadline.
 *
 * Open MPI 4 says nothing of a closed connection. Open MPI 5 aborts the process that sees it, unless its fault
 * tolerance (ULFM) is on, whatever error handler the program has set; and it reports the death over PMIx, upon which
 * Slurm ends the whole step. Ranks find out by silence who has died (coord/deadlines.h).
 */
#ifndef MUSTER_TRANSPORT_MPI_FAILURES_H
#define MUSTER_TRANSPORT_MPI_FAILURES_H

#include <stdbool.h>

/* Before MPI_Init: no abort, and fault tolerance, unless the user has chosen otherwise. */
void muster_mpi_tolerate_failures(void);

/* After a receive from any source failed, as all do once a rank has died: accept that it has. False: this MPI has no
 * such call, and the error is another one. */
bool muster_mpi_accept_failures(void);

#endif

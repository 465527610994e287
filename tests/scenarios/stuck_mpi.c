/* SPDX-License-Identifier: Apache-2.0 */
/* stuck_mpi.c - preloaded: MPI never comes back from the third look for messages, when the rank has said that it is
 * there */
#include <mpi.h>
#include <unistd.h>

__attribute__((visibility("default"))) int MPI_Improbe(
	int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
	static int looks;
	while (looks == 2)
		pause();
	looks++;
	return PMPI_Improbe(source, tag, comm, flag, message, status);
}

/* module.h - MPI as a shared object of its own: the only thing that is linked with libmpi
 *
 * Only `muster run` opens it. So neither workers nor any other command load libmpi and what it brings along, a node
 * without MPI can be measured, and one installation can hold a module for each MPI of a site:
 * <libdir>/muster/mpi/<name>.so.
 */
#ifndef MUSTER_TRANSPORT_MODULE_H
#define MUSTER_TRANSPORT_MODULE_H

#include "transport/transport.h"

#define MUSTER_MPI_MODULE_SYMBOL "muster_mpi_module"
enum { MUSTER_MPI_MODULE_VERSION = 1 };

/* What a module exports under that symbol. */
struct muster_mpi_module {
	unsigned int version;
	/* Start MPI. The fabric under test is kept out of it: shared memory and TCP only, unless the user chose
	 * otherwise. MPI_Init waits for ever for a rank that died on its way there. *ret lives as long as the process.
	 * A warning, when there is one, is in warning->text; "" otherwise. */
	int (*open)(const struct muster_clock *clock, int *argc, char ***argv, struct muster_transport **ret,
		struct muster_error *warning, struct muster_error *err);
};

/* Open a module of that directory: the one that $MUSTER_MPI names, or else, in the order of their names, the first that
 * can be opened. -1 with MUSTER_ELIB and the loader's words about each that was tried. */
int muster_mpi_module_open(const char *directory, const struct muster_mpi_module **ret, struct muster_error *err);

/* Before MPI starts: this process's rank and the job's size as the launcher's environment says; 0 and 1 when it says
 * nothing. */
int muster_launch_rank(void);
int muster_launch_size(void);
/* Whether a launcher that MPI can ask started this process. Without one, MPI_Init starts daemons or, inside a Slurm
 * step with the wrong --mpi, ends the process: such a process is a job of one rank, and MPI is left alone. */
bool muster_launched(void);

#endif

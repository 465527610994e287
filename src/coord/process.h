/* process.h - one process of a job: its transport, its worker, its supervisor, its end
 */
#ifndef MUSTER_COORD_PROCESS_H
#define MUSTER_COORD_PROCESS_H

#include "coord/options.h"
#include "transport/module.h"

/* How the ranks of a job reach each other. */
struct muster_process_job {
	/* Either there already (`muster node`), ... */
	struct muster_transport *transport;
	/* ... or what starts MPI; NULL too: this is a job of one rank. */
	const struct muster_mpi_module *mpi;
	int argc;
	char **argv;
	/* What the journals of all ranks call this run; NULL: what the launcher's environment makes of it. */
	const char *run_name;
};

/* Measure with all ranks, and on rank 0 judge and write. Every rank of the job calls it; it does not return. */
_Noreturn void muster_process_run(const struct muster_options *options, const struct muster_process_job *job);

#endif

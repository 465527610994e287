/* process.h - one process of a job: its worker, its transport, its supervisor, its exit */
#ifndef MUSTER_COORD_PROCESS_H
#define MUSTER_COORD_PROCESS_H

#include "coord/options.h"
#include "transport/module.h"

/* How the ranks of a job reach each other. */
struct muster_process_job {
	/* Either open already (`muster node`), ... */
	struct muster_transport *transport;
	/* ... or opened with this module; NULL too: a job of one rank. */
	const struct muster_mpi_module *mpi;
	int argc;
	char **argv;
	/* The run's name in the journals of all ranks; NULL: made from the launcher's environment. */
	const char *run_name;
};

/* Measure with all ranks; on rank 0 evaluate and write. Every rank of the job calls it; it does not return. */
_Noreturn void muster_process_run(const struct muster_options *options, const struct muster_process_job *job);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - one process of a job: its worker, its transport, its supervisor, its exit */
#ifndef MUSTER_COORD_PROCESS_H
#define MUSTER_COORD_PROCESS_H

#include "coord/options.h"
#include "coord/supervisor.h"
#include "eval/select.h"
#include "transport/module.h"

/* How the ranks of a job reach each other. */
struct muster_process_job {
	/* Either open already (`muster node`), ... */
	struct muster_transport *transport;
	/* ... or opened with this module; NULL too: a job of one rank. */
	const struct muster_mpi_module *mpi;
	int argc;
	char **argv;
	/* The run's name in the spools of all ranks; NULL: made from the launcher's environment. */
	const char *run_name;
};

/* Measure with all ranks; on rank 0 evaluate and write. Every rank of the job calls it; it does not return. */
_Noreturn void muster_process_run(const struct muster_options *options, const struct muster_process_job *job);

/* ---- the end of the run on rank 0: evaluate, write, print ---- */

struct muster_finalize {
	struct muster_report judged; /* of the first evaluation, where has_judged */
	bool has_judged;
	struct muster_selection choice; /* what to expect */
	char *run_name;                 /* of the spool; NULL */
	bool silent;                    /* another process of the same launch, a job of its own, writes and prints */
};

/* For struct muster_supervisor_host, whose arg is a struct muster_finalize. */

/* An unknown machine type is measured all the same, and inconclusive; a bad file or no spool cancels the run. */
int muster_finalize_prepare(struct muster_supervisor *s);
/* Evaluate, and keep the result for muster_finalize_run. The probes of all findings about a speed with windows. */
uint64_t muster_finalize_too_slow(struct muster_supervisor *s);
/* When all records are there, or overdue. A large report takes time and a disk may hang: a thread does the work, while
 * rank 0 sends heartbeats, and abandons it after its deadline. */
int muster_finalize_run(struct muster_supervisor *s);

/* MPI_Init did not return: the report of rank 0 alone, at once. s has no transport. */
int muster_finalize_alone(struct muster_supervisor *s);

#endif

/* finalize.h - the end of the run on rank 0: evaluate, write, print */
#ifndef MUSTER_COORD_FINALIZE_H
#define MUSTER_COORD_FINALIZE_H

#include "coord/supervisor.h"
#include "eval/select.h"

struct muster_finalize {
	struct muster_selection choice; /* what to expect */
	char *run_name;                 /* of the journal; NULL */
	bool silent;                    /* another process of the same launch, a job of its own, writes and prints */
};

/* For struct muster_supervisor_host, whose arg is a struct muster_finalize. */

/* An unknown machine type is measured all the same, and inconclusive; a bad file or no journal cancels the run. */
int muster_finalize_prepare(struct muster_supervisor *s);
/* When all records are there, or overdue. A large report takes time and a disk may hang: a thread does the work, while
 * rank 0 sends heartbeats, and abandons it after its deadline. */
int muster_finalize_run(struct muster_supervisor *s);

/* MPI_Init did not return: the report of rank 0 alone, at once. s has no transport. */
int muster_finalize_alone(struct muster_supervisor *s);

#endif

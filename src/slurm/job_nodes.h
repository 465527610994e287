/* job_nodes.h - the nodes that Slurm gave a job */
#ifndef MUSTER_SLURM_JOB_NODES_H
#define MUSTER_SLURM_JOB_NODES_H

#include "muster/arena.h"
#include "muster/error.h"

#include <stddef.h>

/* Ask squeue, and sacct for a job that slurmctld has forgotten. The names live in arena. -1 with err when the job is
 * not known to them, when it is not one job's number, or when it is just ending: squeue then lists only some of its
 * nodes. */
int muster_slurm_job_nodes(const char *job, int deadline_ms, struct muster_arena *arena, const char *const **ret,
	size_t *ret_count, struct muster_error *err);

#endif

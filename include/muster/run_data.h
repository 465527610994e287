/* SPDX-License-Identifier: Apache-2.0 */
/* run_data.h - everything that was measured: the job, its nodes, its ranks, every sample, every probe's outcome;
 * implemented by src/model/run.c
 *
 * What reads a run needs this file alone; what makes one or owns one needs run.h. Evaluate takes a run as it is.
 * All texts and labels are the arena's, stored once each, and live as long as the run; the arrays are malloc'd, and may
 * move while the run grows: a pointer to a node or a rank is good until the next one is added.
 * JSON form: "run" in docs/report.schema.json.
 */
#ifndef MUSTER_RUN_DATA_H
#define MUSTER_RUN_DATA_H

#include "muster/arena.h"
#include "muster/outcome.h"
#include "muster/sample.h"
#include "muster/trial.h"

struct muster_rank {
	int rank;
	int local_rank;                  /* -1 when missing */
	const char *gpu;                 /* PCI bus id of the GPU that it took; NULL if none */
	const char *gpu_uuid;            /* NULL if none */
	const char *missing;             /* NULL, or why nothing came from this rank */
	const char *unfinished;          /* NULL, or why what is here is not all that it had to measure */
	struct muster_samples samples;   /* scopes rank and gpu */
	struct muster_outcomes outcomes; /* every probe that this rank ran or should have run */
};

struct muster_node {
	const char *name;              /* "?" for ranks whose node never became known */
	bool simulated;                /* one of its workers had a stand-in library loaded */
	struct muster_samples samples; /* scopes node and port */
	struct muster_rank *ranks;     /* by rank, ascending */
	size_t rank_count, rank_room;
};

struct muster_job {
	const char *id;                /* Slurm's job id, or NULL */
	const char *started;           /* RFC 3339, UTC */
	double elapsed_s;              /* from the start of rank 0 to the end of gather */
	const char *profile;           /* "quick", "standard", "full" */
	int ranks;                     /* the size of MPI_COMM_WORLD: missing ranks count */
	bool simulated;                /* any worker had a stand-in library loaded */
	const char *version;           /* of the muster that measured */
	int repeats;                   /* how often copies and rings were measured; 0 means once too */
	int measures;                  /* 1 << enum muster_measure */
	const char *interrupted;       /* NULL, or what ended the whole run early */
	bool beside_jobs;              /* other jobs used CPUs of the node meanwhile: slow transfers prove nothing */
	bool assembled;                /* from what the ranks left on disk, not by rank 0 */
	struct muster_samples samples; /* scope job */
};

struct muster_run {
	struct muster_arena *arena; /* owns every string and label */
	struct muster_job job;
	struct muster_node *nodes; /* in order of their lowest rank */
	size_t node_count, node_room;
	struct muster_trial *trials; /* in the order in which they were made */
	size_t trial_count, trial_room;
	const char *judged_as; /* the machine type that a saved report names; NULL in a new run */
};

/* Nodes of the run whose name is known: "?" is no node. */
size_t muster_run_known_nodes(const struct muster_run *run);
/* The lists of samples of a run: the job's, then of each node its own and those of its ranks.
 * for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);) */
struct muster_run_walk {
	const struct muster_samples *samples;
	const struct muster_node *node; /* NULL: samples of the job */
	const struct muster_rank *rank; /* NULL: of the node, or of the job */
};
bool muster_run_next(const struct muster_run *run, struct muster_run_walk *at);

#endif

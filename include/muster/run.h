/* run.h - everything that was measured: the job, its nodes, its ranks, every sample, every probe's outcome;
 * implemented by src/model/run.c
 *
 * Made of the ranks' records, or read back from a saved report. Evaluate takes it as it is.
 * JSON form: "run" in docs/report.schema.json.
 */
#ifndef MUSTER_RUN_H
#define MUSTER_RUN_H

#include "muster/arena.h"
#include "muster/error.h"
#include "muster/sample.h"

/* How much a run measures. */
enum muster_profile { MUSTER_QUICK = 0, MUSTER_STANDARD, MUSTER_FULL, MUSTER_PROFILE_COUNT };
extern const char *const muster_profile_names[MUSTER_PROFILE_COUNT]; /* "quick", "standard", "full" */

/* What a run measures only when the user or the profile asks for it. */
enum muster_measure {
	MUSTER_MEASURE_STORAGE = 0, /* the path from the disk to the GPU */
	MUSTER_MEASURE_CHECKPOINT,  /* all ranks write to a shared folder */
	MUSTER_MEASURE_BROADCAST,   /* one reader for all nodes */
	MUSTER_MEASURE_PATHS,       /* files and folders that must be there */
	MUSTER_MEASURE_COUNT
};
extern const char *const muster_measure_names[MUSTER_MEASURE_COUNT]; /* "storage", "checkpoint"... */

/* How a probe ended on one rank. */
enum muster_outcome_status {
	MUSTER_OUTCOME_OK = 0,
	MUSTER_OUTCOME_ERROR,   /* it said that it could not tell, and why */
	MUSTER_OUTCOME_CRASHED, /* its worker died: signal or exit status */
	MUSTER_OUTCOME_HUNG,    /* it passed its deadline and was killed */
	MUSTER_OUTCOME_NOT_RUN, /* it could not start (no GPU, excluded from the all-reduce, no time left) */
	MUSTER_OUTCOME_COUNT
};

struct muster_outcome {
	const char *probe;
	enum muster_outcome_status status;
	const char *code;   /* muster_code_name of the error when status is ERROR or NOT_RUN; else NULL */
	const char *detail; /* one sentence; NULL when status is OK */
	const char *step;   /* the last step before it crashed or hung; NULL if none is known */
	/* Text of a library or a process that may explain it, and that may differ where the cause is the same: the end
	 * of a log, the last output. NULL if there is none. */
	const char *evidence;
	int ring; /* how many ranks shared the last ring of all, or round of traffic, that it was in; 0: it was in none
		   */
	int partner; /* of a round of two: 1 + the other rank; 0: it was none of two */
	double elapsed_ms;
};

struct muster_outcomes {
	struct muster_outcome *items;
	size_t count, room;
};

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

/* A ring of few nodes, tried to find out what breaks or slows the ring of all. */
enum muster_trial_kind {
	MUSTER_TRIAL_ALONE = 0, /* one node */
	MUSTER_TRIAL_PAIR,
	MUSTER_TRIAL_GROUP, /* more than two */
	MUSTER_TRIAL_REST,  /* no trial: the full ring of all nodes that are left when the others are suspected */
	MUSTER_TRIAL_KIND_COUNT
};

enum muster_trial_status {
	MUSTER_TRIAL_FAILED = 0,
	MUSTER_TRIAL_OK,
	MUSTER_TRIAL_LATE, /* its time ran out, and nothing else is known: whether that is a failure depends on the time
			    */
	MUSTER_TRIAL_STATUS_COUNT
};

struct muster_trial {
	const char *probe;
	enum muster_trial_kind kind;
	const char **nodes;
	size_t node_count;
	enum muster_trial_status status;
	double bytes;      /* of the message; 0: not known */
	double busbw_gbps; /* of a message of this size; 0: not known */
	const char *why;   /* it did not end well; NULL when ok */
	double seconds;    /* until it ended; of a late one, the time that it had */
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

void muster_run_init(struct muster_run *run); /* makes its arena */
void muster_run_done(struct muster_run *run);

struct muster_node *muster_run_add_node(struct muster_run *run, const char *name);
struct muster_rank *muster_node_add_rank(struct muster_node *node, int rank);
/* Nodes in order of their lowest rank, those without ranks first; "?" only when there are ranks on it. */
void muster_run_sort(struct muster_run *run);
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
void muster_run_add_trial(struct muster_run *run, struct muster_trial trial);
void muster_outcomes_add(struct muster_outcomes *outcomes, struct muster_outcome outcome);

extern const char *const muster_trial_kind_names[MUSTER_TRIAL_KIND_COUNT]; /* "alone", "pair", "group" */
extern const char *const muster_outcome_names[MUSTER_OUTCOME_COUNT]; /* "ok", "error", "crashed", "hung", "not_run" */
extern const char *const muster_trial_status_names[MUSTER_TRIAL_STATUS_COUNT]; /* "failed", "ok", "late" */
/* The name of an outcome; "unknown" for what has none. */
const char *muster_outcome_name(enum muster_outcome_status status);

#endif

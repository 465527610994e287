/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - the spool: what a rank has measured, on disk during the run; one file per node, each of its ranks appends
 *
 * When a process dies, what was measured before is there, and `muster assemble` builds the report from it (read.h).
 * A line is a JSON object; "by" is the process that wrote the line, "t" seconds since the start of that process:
 *   {"by":ID,"spool":2,"run":…,"rank":…,"ranks":…, …}   first line of each process: what an evaluation needs
 *   {"by":ID,"rank":…,"ranks":…}                         the same two as MPI knows them
 *   {"by":ID,"t":…,"sample":…}, and the other lines of a record (model/record.h), as they came
 *   {"by":ID,"t":…,"step":…}                             the next step, before a call that may crash or hang
 *   {"by":ID,"t":…,"trial":{…}}                          rank 0: a localisation all-reduce
 *   {"by":ID,"t":…,"end":…}                              last line; the text is empty, or why the process ends early
 * Lines begin and end with a newline: a line that is cut by a death or a full disk damages no other line. A thread
 * writes, so the run does not wait for a file system that hangs.
 */
#ifndef MUSTER_SPOOL_WRITE_H
#define MUSTER_SPOOL_WRITE_H

#include "muster/error.h"

#include <stdbool.h>

struct muster_run;

enum { MUSTER_SPOOL_VERSION = 2, MUSTER_SPOOL_LINE_MAX = 8 << 20 };

struct muster_spool;

/* The first line of a process, and that line's object type. */
struct muster_spool_header {
	int format;           /* MUSTER_SPOOL_VERSION; set by muster_spool_open */
	const char *version;  /* of muster; set by muster_spool_open */
	const char *run;      /* the same for all ranks of a run, and for no other run */
	const char *job;      /* Slurm's job id; NULL */
	int rank, ranks;      /* from the launcher's environment */
	const char *node;     /* the file is DIR/<node>.jsonl */
	const char *nodelist; /* Slurm's list of the nodes that the run was started on; NULL */
	const char *started;  /* RFC 3339, UTC */
	const char *sku, *overlay, *profile;
	int strict; /* an enum muster_strictness */
	bool beside_jobs;
	int repeats, measures; /* measures: 1 << enum muster_measure */
};
extern const struct muster_object_type muster_spool_header_type;

/* The name of the run, from the launcher's environment: equal on all ranks; malloc'd. */
char *muster_spool_run_name(const char *started);

/* The file for a node, malloc'd; every byte of the node's name that is not plain in a file name is encoded as %XX. */
char *muster_spool_path(const char *directory, const char *node);

/* Open the node's file in the directory, which is created when absent, and write the first line. -1 with err:
 * MUSTER_EIO. */
int muster_spool_open(struct muster_spool **ret, const char *directory, const struct muster_spool_header *header,
	double start_ms, struct muster_error *err);

/* These return at once, and do nothing when spool is NULL. */
void muster_spool_place(struct muster_spool *spool, int rank, int ranks);
/* A line of the record, or a step: a JSON object without its newline. sync: the line is soon on the disk itself. A step
 * equal to the last one is not written again. */
void muster_spool_line(struct muster_spool *spool, const char *line, size_t length, bool sync);
/* The trials of the run that are not written yet. */
void muster_spool_trials(struct muster_spool *spool, const struct muster_run *run);
void muster_spool_end(struct muster_spool *spool, const char *why);

/* The first error of writing as a sentence, once; NULL when there is none, or after the first such answer. */
const char *muster_spool_trouble(struct muster_spool *spool);

/* Wait at most grace_ms for what is not on disk yet, and free the spool. */
void muster_spool_close(struct muster_spool *spool, int grace_ms);

#endif

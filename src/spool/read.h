/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - a run from the spools of its ranks (write.h)
 *
 * Input from outside: a malformed line is counted and ignored. Memory is that of the run and of one line.
 */
#ifndef MUSTER_SPOOL_READ_H
#define MUSTER_SPOOL_READ_H

#include "spool/write.h"
#include "model/record.h"
#include "muster/error.h"
#include "muster/run_data.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_spool_set {
	struct muster_arena *arena;         /* borrowed: that of the run into which they are put */
	struct muster_spool_process *ranks; /* by rank, ascending, each once */
	size_t rank_count;
	int job_ranks;                            /* of the whole job */
	const struct muster_spool_header *header; /* of the lowest rank */
	double elapsed_s;                         /* until the last line */
	struct muster_run told;                   /* only its trials, as rank 0 wrote them */
	const char **strays; /* nodes of processes of which a wrong --mpi made jobs of one rank: no part of the run */
	size_t stray_count;
	size_t files, other_runs, bad_lines, bad_files;
	const char *bad_file, *bad_why; /* of the first bad line or file; NULL */
};

/* Read all DIR/NAME.jsonl. run: of this run only; NULL: of the run that was started last. -1 when the directory cannot
 * be read, or (MUSTER_EUSAGE) contains nothing of such a run. The caller releases ret with muster_spool_set_done. */
int muster_spool_set_read(const char *directory, const char *run, struct muster_arena *arena,
	struct muster_spool_set *ret, struct muster_error *err);
void muster_spool_set_done(struct muster_spool_set *set);

/* Put into the run, whose arena is set->arena, the ranks that are absent there or missing. A rank without an end
 * line is unfinished: the reason is that of the missing rank, or else that it did not finish, with its last message.
 * Records are moved. Returns how many ranks were put in. */
size_t muster_spool_set_add(struct muster_spool_set *set, struct muster_run *run);

/* The whole run from the spools alone: ranks that wrote nothing are in it as missing. */
void muster_spool_set_make(struct muster_spool_set *set, struct muster_run *run);

enum { MUSTER_SPOOL_SHOWN = 200 }; /* bytes of a name or a step in a sentence */

/* What one process wrote to its spool: read by read.c, put into a run by recover.c. */
struct muster_spool_process {
	struct muster_spool_header header; /* first: the base of this struct's object type; rank and ranks as MPI's */
	const char *by;
	bool stray;  /* a wrong --mpi made a job of one rank of a process that was started as one of many */
	bool older;  /* its node began another run after it */
	size_t file; /* with the first line: copies of its lines in other files are ignored */
	size_t line; /* number of the first line among those of all processes */
	double last_s, died_s;
	const char *died; /* the probe at which its worker crashed last, at died_s; NULL */
	const char *step; /* the last one, at step_s; NULL */
	double step_s;
	const char *end;                   /* why it ended early, or ""; NULL: it wrote no such line */
	const char *missing;               /* why the run to be completed has its rank as missing; NULL */
	struct muster_record_parts record; /* with has_record */
	bool has_record;
};

#endif

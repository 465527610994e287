/* write.h - what a rank has measured, on disk as it grows: one file per node, lines appended by each of its ranks
 *
 * Whatever dies, what was measured before is there, and `muster assemble` makes the report from it (read.h reads
 * it). A line is a JSON object, and "by" names the process that wrote it:
 *   {"by":ID,"spool":1,"run":…,"rank":…,"ranks":…, …}   the first of each process: what is needed to judge later
 *   {"by":ID,"rank":…,"ranks":…}                         the same two as MPI knows them
 *   {"by":ID,"t":…,"sample":…}, and the other lines of a record (model/record.h), as they came
 *   {"by":ID,"t":…,"step":…}                             what comes next, before a call that may crash or hang
 *   {"by":ID,"t":…,"trial":{…}}                          rank 0: one of the run's trials
 *   {"by":ID,"t":…,"end":…}                              nothing more will come; the text is empty, or why it ends
 * early "t" is in seconds from the process's start. Lines begin and end with a newline, so that one that was cut by a
 * death or a full disk spoils only itself. A thread writes, so a file system that hangs holds up nobody.
 */
#ifndef MUSTER_JOURNAL_WRITE_H
#define MUSTER_JOURNAL_WRITE_H

#include "muster/error.h"
#include "muster/run.h"

#include <stdbool.h>

enum { MUSTER_SPOOL_VERSION = 2, MUSTER_SPOOL_LINE_MAX = 8 << 20 };

struct muster_journal;

/* What the first line says. */
struct muster_journal_header {
	const char *run;      /* the same for all ranks of a run, and for no other run */
	const char *job;      /* Slurm's job id; NULL */
	int rank, ranks;      /* as the launcher's environment says */
	const char *node;     /* the file is DIR/<node>.jsonl */
	const char *nodelist; /* Slurm's list of the nodes that the run was started on; NULL */
	const char *started;  /* RFC 3339, UTC */
	const char *sku, *overlay, *profile;
	bool strict;
	int repeats;
};

/* The name of the run, as the launcher's environment tells it to all ranks; malloc'd. */
char *muster_journal_run_name(const char *started);

/* The file for a node, malloc'd: its name with every byte that could be more than a part of a name encoded as %XX. */
char *muster_journal_path(const char *directory, const char *node);

/* Open the node's file in the folder, which is made when it is not there, and write the first line. */
int muster_journal_open(struct muster_journal **ret, const char *directory, const struct muster_journal_header *header,
	double start_ms, struct muster_error *err);

/* All of these return at once, and do nothing when spool is NULL. */
void muster_journal_place(struct muster_journal *spool, int rank, int ranks);
/* A line of the record, or a step: a JSON object without its newline. sync: it goes to the disk itself soon. A step
 * that is written already is left out. */
void muster_journal_line(struct muster_journal *spool, const char *line, size_t length, bool sync);
/* Those of the run that are new. */
void muster_journal_trials(struct muster_journal *spool, const struct muster_run *run);
void muster_journal_end(struct muster_journal *spool, const char *why);

/* What could not be written, once: a sentence; NULL when all is well or it has been asked before. */
const char *muster_journal_trouble(struct muster_journal *spool);

/* Give what is not on disk yet at most grace_ms. */
void muster_journal_close(struct muster_journal *spool, int grace_ms);

#endif

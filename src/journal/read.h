/* read.h - a run from what its ranks have left on disk (write.h)
 *
 * Input from outside: whatever is no line of the run is counted and left out. Memory is that of the run, and of one
 * line.
 */
#ifndef MUSTER_JOURNAL_READ_H
#define MUSTER_JOURNAL_READ_H

#include "muster/error.h"
#include "muster/run.h"

struct muster_journal_set {
	struct muster_arena *arena;           /* borrowed: that of the run which they will become part of */
	struct muster_journal_process *ranks; /* by rank, ascending, each once */
	size_t rank_count;
	int job_ranks; /* of the whole job */
	/* what the first line of the lowest rank says; NULL for what it does not */
	const char *run, *job, *started, *version, *nodelist, *sku, *overlay, *profile;
	bool strict;
	int repeats;
	double elapsed_s;       /* until the last line */
	struct muster_run told; /* its trials, which rank 0 knew of; nothing else */
	const char **
		strays; /* nodes of processes that this launch made jobs of one rank of their own: no part of the run */
	size_t stray_count;
	/* what was seen besides */
	size_t files, other_runs, bad_lines, bad_files;
	const char *bad_file, *bad_why; /* of the first ones; NULL */
};

/* Read DIR/<any>.jsonl. run: of this run only; NULL: of the one that was started last. -1 when the folder cannot be
 * read, or holds nothing of such a run (MUSTER_EUSAGE). */
int muster_journal_set_read(const char *directory, const char *run, struct muster_arena *arena,
	struct muster_journal_set *ret, struct muster_error *err);
void muster_journal_set_done(struct muster_journal_set *spooled);

/* Put what was left into the run, whose arena is spooled->arena: ranks that it does not have, or only as missing. A
 * rank that did not write its end is unfinished: its own reason for being missing, or else `why`, and its last sign.
 * Their records are moved. Returns how many ranks were put in. */
size_t muster_journal_set_add(struct muster_journal_set *spooled, struct muster_run *run, const char *why);

/* The whole run, from nothing but what was left: ranks that left nothing stand in it as missing. */
void muster_journal_set_make(struct muster_journal_set *spooled, struct muster_run *run);

/* How many of the run's ranks wrote that they ended as they should; the first reason of those that ended early, with
 * the rank's number, or NULL. */
size_t muster_journal_set_ended(const struct muster_journal_set *spooled);
const char *muster_journal_set_interrupted(const struct muster_journal_set *spooled);

#endif

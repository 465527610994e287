/* process.h - what one process wrote to its journal: read by read.c, put into a run by recover.c */
#ifndef MUSTER_JOURNAL_PROCESS_H
#define MUSTER_JOURNAL_PROCESS_H

#include "journal/write.h"
#include "model/record.h"

#include <stdbool.h>
#include <stddef.h>

enum { MUSTER_JOURNAL_SHOWN = 200 }; /* bytes of a name or a step in a sentence */

struct muster_journal_process {
	struct muster_journal_header header; /* first: the base of this struct's object type; rank and ranks as MPI's */
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

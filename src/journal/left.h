/* left.h - what one process wrote to its journal: read by read.c, put into a run by recover.c */
#ifndef MUSTER_JOURNAL_LEFT_H
#define MUSTER_JOURNAL_LEFT_H

#include "model/record.h"

#include <stdbool.h>
#include <stddef.h>

enum { MUSTER_JOURNAL_SHOWN = 200 }; /* bytes of a name or a step in a sentence */

struct muster_journal_process {
	const char *by, *run, *job, *started, *version, *nodelist, *sku, *overlay, *profile;
	const char *node;
	bool strict;
	int repeats;
	int rank, ranks;
	bool stray;   /* a wrong --mpi made a job of one rank of a process that was started as one of many */
	size_t order; /* of the processes, as their first lines were found */
	size_t path;  /* the file with its first line: copies of its lines in other files are ignored */
	double last_s, died_s;
	const char *died; /* the probe at which its worker died last, at died_s; NULL */
	const char *step; /* the last one */
	double step_s;
	const char *end;                   /* why it ended early, or ""; NULL: it wrote no such line */
	struct muster_record_parts record; /* with has_record */
	bool has_record;
};

#endif

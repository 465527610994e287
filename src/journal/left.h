/* left.h - what one process left in the spool: read by read.c, put into a run by recover.c */
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
	bool stray;   /* a job of one rank, by a wrong --mpi, though it was started as one of many */
	size_t order; /* of the processes, as their first lines were found */
	size_t path;  /* the file that it was in: copies of it elsewhere count for nothing */
	double last_s, died_s;
	const char *died; /* the probe at which its worker died last, at died_s; NULL */
	const char *step; /* the last one */
	double step_s;
	const char *end;                   /* NULL: it did not write one */
	struct muster_record_parts record; /* when something of it came */
	bool has_record;
};

#endif

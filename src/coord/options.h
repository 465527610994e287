/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of `muster run` and `muster node` */
#ifndef MUSTER_COORD_OPTIONS_H
#define MUSTER_COORD_OPTIONS_H

#include "muster/finding.h"
#include "muster/probe.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether trial rings search for the cause of a failed or slow ring. */
enum muster_localise {
	MUSTER_LOCALISE_OFF = 0,
	MUSTER_LOCALISE_AUTO, /* when a full ring is slow, or fails without a known cause */
	MUSTER_LOCALISE_ALWAYS,
};

/* How rank 0 shows the progress. */
enum muster_progress_mode {
	MUSTER_PROGRESS_AUTO = 0, /* a line that moves on a terminal, otherwise a line for each phase */
	MUSTER_PROGRESS_LINE,     /* a line that moves through a pipe too */
	MUSTER_PROGRESS_OFF,
	MUSTER_PROGRESS_COUNT
};

struct muster_options {
	const char *sku, *overlay, *report;
	const char *spool;    /* folder; NULL */
	const char *textfile; /* folder of node_exporter's textfile collector; NULL */
	const char *html;     /* file of the HTML page; NULL */
	enum muster_profile profile;
	int deadline_s; /* of the whole run, from the start of rank 0; the report has further time (deadlines.h) */
	int probe_deadline_s; /* the most that one probe's command may take; 0: the probe's own deadline */
	enum muster_strictness strict;
	bool beside_jobs; /* other jobs use CPUs of these nodes, and may use GPUs */
	bool shared;      /* other programs may use the GPUs */
	bool inventory;   /* print what the nodes have in place of the summary */
	const char *hint; /* a line below the summary; NULL */
	enum muster_localise localise;
	enum muster_progress_mode progress;
	uint64_t min_bytes, max_bytes; /* of the ring; 0: the profile's */
	int repeats;                   /* of copies and rings; 0 means once too */
	int soak_s;                    /* load on each GPU; 0: as short as can be */
	int steps;                     /* training steps; 0: none */
	bool long_steps;               /* of about 20 ms each, not 5 */
	int measures;                  /* 1 << enum muster_measure: what follows from the options below */
	bool storage;                  /* measure the path from the disk to the GPU */
	const char *storage_path;      /* folder for that; NULL: the scratch that is found */
	uint64_t storage_bytes;        /* of a node's test file */
	const char *checkpoint_path;   /* shared folder that all ranks write to; NULL: none */
	uint64_t checkpoint_bytes;     /* of each rank */
	const char *broadcast_file;    /* what one reader reads for all nodes; NULL: generated data */
	const char **expect_paths;     /* what must be there on all nodes */
	size_t expect_path_count;
	const char *program, *configs; /* the muster binary, the expectation files */
};

#endif

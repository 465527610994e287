/* options.h - what `muster run` was asked for */
#ifndef MUSTER_COORD_OPTIONS_H
#define MUSTER_COORD_OPTIONS_H

#include "muster/probe.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether to find out by trial rings what breaks or slows a ring. */
enum muster_localise {
	MUSTER_LOCALISE_OFF = 0,
	MUSTER_LOCALISE_AUTO, /* when it fails and nobody is to blame, or is slow */
	MUSTER_LOCALISE_ALWAYS,
};

struct muster_options {
	const char *sku, *overlay, *report;
	const char *spool; /* folder; NULL */
	enum muster_profile profile;
	int deadline_s;
	int probe_deadline_s; /* the most that one probe's command may take; 0: as long as the probe says */
	bool strict;
	enum muster_localise localise;
	uint64_t min_bytes, max_bytes; /* of the ring; 0: the profile's */
	int repeats;                   /* of copies and rings; 0 means once too */
	const char *program, *configs; /* the muster binary, the expectation files */
};

#endif

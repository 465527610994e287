/* options.h - the options of `muster run` and `muster node` */
#ifndef MUSTER_COORD_OPTIONS_H
#define MUSTER_COORD_OPTIONS_H

#include "muster/probe.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether trial rings search for the cause of a failed or slow ring. */
enum muster_localise {
	MUSTER_LOCALISE_OFF = 0,
	MUSTER_LOCALISE_AUTO, /* when a full ring is slow, or fails without a known cause */
	MUSTER_LOCALISE_ALWAYS,
};

struct muster_options {
	const char *sku, *overlay, *report;
	const char *spool; /* folder; NULL */
	enum muster_profile profile;
	int deadline_s;
	int probe_deadline_s; /* the most that one probe's command may take; 0: the probe's own deadline */
	bool strict;
	bool beside_jobs; /* other jobs use CPUs of these nodes, and may use GPUs */
	bool shared;      /* other programs may use the GPUs */
	enum muster_localise localise;
	uint64_t min_bytes, max_bytes; /* of the ring; 0: the profile's */
	int repeats;                   /* of copies and rings; 0 means once too */
	int soak_s;                    /* load on each GPU; 0: as short as can be */
	int steps;                     /* training steps; 0: none */
	bool long_steps;               /* of about 20 ms each, not 5 */
	const char *program, *configs; /* the muster binary, the expectation files */
};

#endif

/* options.h - what `muster run` was asked for */
#ifndef MUSTER_RUN_OPTIONS_H
#define MUSTER_RUN_OPTIONS_H

#include "muster/probe.h"

#include <stdbool.h>
#include <stdint.h>

struct muster_options {
	const char *sku, *overlay, *report;
	const char *spool; /* folder; NULL */
	enum muster_profile profile;
	int deadline_s;
	bool strict;
	uint64_t min_bytes, max_bytes; /* of the ring; 0: the profile's */
	const char *program, *configs; /* the muster binary, the expectation files */
};

#endif

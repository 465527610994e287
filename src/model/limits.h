/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - what the writers and the reader of a report share: the version of its layout and its limits */
#ifndef MUSTER_MODEL_LIMITS_H
#define MUSTER_MODEL_LIMITS_H

#include <stddef.h>

enum {
	MUSTER_REPORT_SCHEMA_VERSION = 1,
	/* What a reader takes from outside. Far beyond any machine, and small enough that reading stays bounded. */
	MUSTER_RUN_STRING_MAX = 4096,   /* bytes of one string */
	MUSTER_RUN_RANKS_MAX = 1 << 24, /* of a job */
	MUSTER_RUN_NODES_MAX = 1 << 22,
	MUSTER_RUN_SAMPLES_MAX = 100000,      /* of one list */
	MUSTER_RUN_OUTCOMES_MAX = 1000,       /* of one rank */
	MUSTER_RUN_PART_BYTES_MAX = 64 << 20, /* JSON text of one node, or of any other part that is parsed at once */
};
#define MUSTER_REPORT_BYTES_MAX ((size_t)4 << 30)

#endif

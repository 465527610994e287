/* drain_reason.h - why a node is drained, as Slurm keeps it */
#ifndef MUSTER_SLURM_DRAIN_REASON_H
#define MUSTER_SLURM_DRAIN_REASON_H

#include "muster/evaluate.h"

/* What stands before every reason of ours: only reasons that begin with it are ours to take back. */
#define MUSTER_REASON_PREFIX "muster:"

/* Slurm itself sets no limit, but its database keeps a reason in a field of 255 bytes. */
enum { MUSTER_DRAIN_REASON_MAX = 255 };

/* "muster: copy.h2d GPU 000b:00:00.0: 11.2 GB/s; expected at least 21 GB/s; and 2 more", cut at a word. faults: how
 * many findings there are, this one included. Printable ASCII, and nothing in it that a shell or scontrol takes for
 * more than text: quotes, backslashes, backquotes and dollars are left out, and what is not ASCII becomes "?". */
void muster_drain_reason_write(
	const struct muster_finding *finding, size_t faults, char out[MUSTER_DRAIN_REASON_MAX + 1]);

#endif

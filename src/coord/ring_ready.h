/* ring_ready.h - what the ranks bring to a round of rings, as rank 0 reads it, and who cannot take part
 */
#ifndef MUSTER_COORD_RING_READY_H
#define MUSTER_COORD_RING_READY_H

#include "coord/barrier.h"
#include "coord/membership.h"
#include "muster/probe.h"

struct muster_ring_entry {
	int rank;
	size_t node;
	struct muster_bytes payload;
	struct muster_ring_ready ready; /* points into the payload; all 0 when that is malformed */
	const char *why;                /* it cannot take part, or was excluded; NULL */
	char excluded[200];             /* what why points to in the second case */
};

struct muster_ring_entries {
	struct muster_ring_entry *items; /* by rank, ascending */
	size_t count;
	struct muster_ring_entry **by_rank; /* of every rank of the job; NULL: it did not come */
};

/* Everyone who entered the barrier, whose payloads are parts. with_ready: read what each brought. */
void muster_ring_entries_read(struct muster_ring_entries *ret, const struct muster_membership *members,
	const struct muster_barrier *barrier, bool with_ready);
void muster_ring_entries_done(struct muster_ring_entries *entries);

void muster_ring_exclude(struct muster_ring_entry *entry, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Two ranks on one GPU: only the first one can be in a ring. */
void muster_ring_exclude_duplicate_gpus(struct muster_ring_entries *entries);
/* A ring of different versions hangs or worse: it is made of those that most ranks have. */
void muster_ring_exclude_version_mismatches(const struct muster_probe *probe, struct muster_ring_entries *entries);

#endif

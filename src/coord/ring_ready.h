/* ring_ready.h - the payloads of a ring barrier, as rank 0 reads them, and the ranks that cannot take part */
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
	const char *why;                /* the reason when it cannot take part or is excluded; NULL */
	char excluded[200];             /* the text of why when it is excluded */
};

struct muster_ring_entries {
	struct muster_barrier_id barrier;
	struct muster_ring_entry *items; /* by rank, ascending */
	size_t count;
	struct muster_ring_entry **by_rank; /* of every rank of the job; NULL: it did not enter */
};

/* The ranks that entered the barrier, whose payloads are parts. with_ready: unpack each payload. */
void muster_ring_entries_read(struct muster_ring_entries *ret, const struct muster_membership *members,
	const struct muster_barrier *barrier, bool with_ready);
void muster_ring_entries_done(struct muster_ring_entries *entries);

void muster_ring_exclude(struct muster_ring_entry *entry, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Of ranks with the same GPU only the first can be in a ring. */
void muster_ring_exclude_duplicate_gpus(struct muster_ring_entries *entries);
/* Ranks whose NCCL versions differ hang in a ring, or compute wrong sums: keep the version that most ranks have. */
void muster_ring_exclude_version_mismatches(const struct muster_probe *probe, struct muster_ring_entries *entries);

#endif

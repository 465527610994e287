/* ring_ready.h - what the ranks bring to the barrier of a ring's round, as rank 0 reads it
 *
 * A text of three lines: "+<GPU's UUID> <its value of the probe's ring_agree>" or "-<why it cannot take part>"; "<enum
 * muster_ring_end> <seconds> <detail>" about the last round; and, from a ring's first rank, its node in JSON with what
 * was measured about the job. At the barrier of the rings' ids the text is an id instead.
 */
#ifndef MUSTER_COORD_RING_READY_H
#define MUSTER_COORD_RING_READY_H

#include "muster/probe.h"
#include "coord/barrier.h"

/* How a ring ended for a rank, in the order of how much that says about the rank itself. */
enum muster_ring_end {
	MUSTER_RING_NONE = 0, /* it was in none */
	MUSTER_RING_OK,
	MUSTER_RING_OFF,    /* called off */
	MUSTER_RING_REMOTE, /* it failed elsewhere, says the library */
	MUSTER_RING_LATE,   /* time ran out */
	MUSTER_RING_GONE,   /* nothing came from the rank any more */
	MUSTER_RING_ERROR,
	MUSTER_RING_HUNG,
	MUSTER_RING_CRASHED,
};

struct muster_coordinator;

struct muster_ring_ready {
	int rank;
	size_t node; /* index */
	char *text;  /* the rest points into it */
	const char *uuid, *kind;
	const char *why; /* it cannot take part, or was left out; NULL */
	char left_out[200];
	enum muster_ring_end end;
	double seconds;
	const char *detail, *facts;
};

/* Everyone who came to the barrier, by rank, with no more than the text. */
struct muster_ring_ready *muster_ring_ready_of(
	const struct muster_coordinator *root, const struct muster_barrier *barrier, size_t *ret_count);
void muster_ring_ready_free(struct muster_ring_ready *hands, size_t count);

/* Read the texts: the members behind `text`. */
void muster_ring_ready_read(struct muster_ring_ready *hands, size_t count);

/* NULL when the rank did not come. */
const struct muster_ring_ready *muster_ring_ready_find(const struct muster_ring_ready *hands, size_t count, int rank);

/* Say why a hand is left out of a ring: format takes a text and a rank. */
void muster_ring_ready_leave_out(struct muster_ring_ready *hand, const char *format, const char *what, int rank);
/* Two ranks on one GPU: only the first one can be in a ring. */
void muster_ring_ready_leave_out_duplicate_gpus(struct muster_ring_ready *hands, size_t count);
/* A ring of different versions hangs or worse: it is made of those that most ranks have. */
void muster_ring_ready_leave_out_mismatches(
	const struct muster_probe *probe, struct muster_ring_ready *hands, size_t count);

#endif

/* cuda_pieces.h - what an allocation holds
 */
#ifndef MUSTER_SIM_STANDINS_CUDA_PIECES_H
#define MUSTER_SIM_STANDINS_CUDA_PIECES_H

#include "sim/standins/cuda.h"

#define MUSTER_SIMCUDA_NOWHERE SIZE_MAX

/* Bytes that repeat. */
struct muster_simcuda_tile {
	size_t references, length; /* references: pieces that have it */
	unsigned char data[];
};

/* The pieces of an allocation are sorted and do not overlap. */
struct muster_simcuda_piece {
	struct muster_simcuda_piece *next;
	size_t from, to;                  /* bytes of the allocation */
	struct muster_pattern pattern;    /* without or_mask */
	struct muster_simcuda_tile *tile; /* in place of the pattern; NULL: none */
	size_t begin;                     /* where the tile begins: bytes of the allocation */
	size_t flipped;                   /* where a word is that has one wrong bit; NOWHERE: there is none */
};

/* The same words by another rule: or_mask is 0, and a pattern that has the same word at each place has seed 0. */
struct muster_pattern muster_simcuda_normalise(const struct muster_pattern *given, size_t offset);
/* The piece that holds the byte at `from`, NULL when none does, and how far that goes, `to` at most. */
struct muster_simcuda_piece *muster_simcuda_piece_find(
	const struct muster_simcuda_allocation *allocation, size_t from, size_t to, size_t *ret_to);

#endif

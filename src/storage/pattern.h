/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - what muster writes to memory and to files, so that each word shows where it belongs
 *
 * The words of a file are those of the pattern with the file's seed and no masks, counted from the start of the file: a
 * block of another run, of another place or with a changed bit differs. No word comes twice, so that nothing between
 * muster and the disk can compress the data or keep it only once. The kernels for the GPU compute the same words.
 *
 * A multiplication by an odd number permutes the 64-bit numbers, and so does x ^= x >> 32: words of different places
 * differ. Two files have a word in common only where their random seeds are nearer to each other than the files have
 * words.
 */
#ifndef MUSTER_STORAGE_PATTERN_H
#define MUSTER_STORAGE_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* What each 8-byte word of a range is, by its place: ((mix(place + seed) & and_mask) | or_mask) ^ xor_mask, where mix
 * spreads a number over 64 bits (a multiplication by 2^64 / the golden ratio) and is another number for each. */
struct muster_pattern {
	uint64_t seed, and_mask, or_mask, xor_mask;
};

/* The word of a pattern at a place, counted in 8-byte words from the start of the range: what kernels.ptx computes.
 * Each place has a word of its own, where the masks let it. */
static inline uint64_t muster_pattern_word(const struct muster_pattern *pattern, uint64_t place)
{
	uint64_t word = (place + pattern->seed) * 0x9e3779b97f4a7c15u;
	word ^= word >> 32;
	return ((word & pattern->and_mask) | pattern->or_mask) ^ pattern->xor_mask;
}

/* The pattern of files: with seed + offset / 8, that of a piece of the file whose first word has place 0. */
static inline struct muster_pattern muster_storage_pattern(uint64_t seed)
{
	return (struct muster_pattern){ .seed = seed, .and_mask = UINT64_MAX };
}

/* A seed for a file of its own: random, and for no two files the same. */
uint64_t muster_storage_seed(void);

/* The content of a file from offset on, in memory that is aligned to 8 bytes. offset and bytes are multiples of 8. */
void muster_storage_fill(void *data, size_t bytes, uint64_t offset, uint64_t seed);
/* The number of 8-byte words that are not as muster_storage_fill would write them. */
uint64_t muster_storage_wrong(const void *data, size_t bytes, uint64_t offset, uint64_t seed);

#endif

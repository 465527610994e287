/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_contents.c - libcuda.so.1 for the simulation: what device memory holds
 *
 * An allocation is a list of pieces, one for each range that was written. A range that a kernel has filled is kept as
 * the pattern it was filled with, so that the memory of a whole GPU needs none here; a matrix product is a pattern too:
 * one that stands for its factors. Places count from the start of the allocation; seeds are changed accordingly, so
 * that equal contents have equal patterns wherever a fill began. Data from elsewhere is a tile: bytes that repeat.
 *
 * An allocation of 1 MiB after a fill of all of it, a flip at offset 4096, and a copy of 100 bytes to offset 512:
 *
 *   from     to         pattern or tile        flipped
 *   0        512        pattern, seed s        4096    (not in this piece, so of no effect)
 *   512      612        tile of 100 bytes      nowhere
 *   612      1 MiB      pattern, seed s        4096
 *
 * Who writes: kernels and products by muster_simcuda_fill(), copies by _put() and _lay(). Who reads: copies to the host
 * by _get(), kernels that compare by cuda_compare.c, NCCL's stand-in by muster_standin_cuda_pattern() or _read().
 */
#include "sim/standins/cuda.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)
#define AT_ONCE 512 /* words that are compared before a difference is seen */
#define NOWHERE MUSTER_SIMCUDA_NOWHERE
#define UNWRITTEN 0xcd                     /* what fresh device memory holds: whatever, but not zeros */
#define PERIOD (MUSTER_STANDIN_WINDOW / 2) /* bytes after which the probes' data repeats (base.h) */
#define INVERSE 0xf1de83e19937733du        /* of muster_pattern_word's factor, modulo 2^64 */

/* The same words by another rule: or_mask is 0, and a pattern that has the same word at each place has seed 0. So
 * patterns are equal when their masks and seeds are. given: place 0 is at `offset` bytes of the allocation; in the
 * answer place 0 is the allocation's start. ((x & a) | o) ^ m is (x & (a & ~o)) ^ (m ^ o), because a bit of o hides
 * that bit of x.
 */
struct muster_pattern muster_simcuda_normalise(const struct muster_pattern *given, size_t offset)
{
	struct muster_pattern same = *given;
	same.and_mask &= ~given->or_mask;
	same.xor_mask ^= given->or_mask;
	same.or_mask = 0;
	same.seed = same.and_mask ? given->seed - offset / WORD : 0;
	return same;
}

/* Put a copy of the piece into the list, which is sorted. The range must be free: muster_simcuda_drop() comes before.
 */
static void add(struct muster_simcuda_allocation *allocation, const struct muster_simcuda_piece *piece)
{
	struct muster_simcuda_piece **at = &allocation->pieces;
	struct muster_simcuda_piece *new = muster_calloc(1, sizeof *new);
	while (*at && (*at)->from < piece->from)
		at = &(*at)->next;
	*new = *piece;
	new->next = *at;
	*at = new;
	if (new->tile)
		new->tile->references++;
}

static void let_go(struct muster_simcuda_tile *tile)
{
	if (tile && --tile->references == 0)
		free(tile);
}

/* Each piece that overlaps the range loses that part: it is cut at its end, cut at its beginning, cut in two, or goes.
 * Both parts of a piece share its tile, which is freed with the last one. */
void muster_simcuda_drop(struct muster_simcuda_range gone, size_t bytes)
{
	struct muster_simcuda_piece **at = &gone.allocation->pieces, *piece;
	size_t from = gone.offset, to = gone.offset + bytes;
	while ((piece = *at) != NULL && bytes > 0) {
		struct muster_simcuda_piece behind = *piece;
		if (piece->to <= from || piece->from >= to) {
			at = &piece->next;
			continue;
		}
		if (piece->from < from) {
			piece->to = from;
			at = &piece->next;
		} else {
			*at = piece->next;
			free(piece);
			piece = NULL;
		}
		if (behind.to > to) {
			behind.from = to;
			add(gone.allocation, &behind);
		}
		if (!piece)
			let_go(behind.tile);
		if (behind.to > to)
			return;
	}
}

void muster_simcuda_fill(struct muster_simcuda_range to, size_t bytes, const struct muster_pattern *pattern)
{
	muster_simcuda_drop(to, bytes);
	add(to.allocation, &(struct muster_simcuda_piece){ .from = to.offset,
				   .to = to.offset + bytes,
				   .pattern = muster_simcuda_normalise(pattern, to.offset),
				   .flipped = NOWHERE });
}

struct muster_simcuda_piece *muster_simcuda_piece_find(
	const struct muster_simcuda_allocation *allocation, size_t from, size_t to, size_t *ret_to)
{
	struct muster_simcuda_piece *piece = allocation->pieces;
	while (piece && piece->to <= from)
		piece = piece->next;
	bool holds = piece && piece->from <= from;
	size_t until = !piece ? to : holds ? piece->to : piece->from;
	*ret_to = until < to ? until : to;
	return holds ? piece : NULL;
}

/* Data is copied: it may change as soon as this returns. A tile that has exactly the place and the length of the new
 * data, and belongs to no other piece, is overwritten, so that repeated copies allocate nothing. */
void muster_simcuda_lay(struct muster_simcuda_range to, size_t bytes, const void *data, size_t length)
{
	size_t until;
	struct muster_simcuda_piece *same =
		muster_simcuda_piece_find(to.allocation, to.offset, to.offset + bytes + 1, &until);
	if (bytes == 0)
		return;
	if (same && same->from == to.offset && same->to == to.offset + bytes && same->tile &&
		same->tile->length == length && same->tile->references == 1 && same->begin == to.offset) {
		memcpy(same->tile->data, data, length); /* a buffer that is filled again and again */
		same->flipped = NOWHERE;
		return;
	}
	struct muster_simcuda_tile *tile = muster_calloc(1, sizeof *tile + length);
	tile->length = length;
	memcpy(tile->data, data, length);
	muster_simcuda_drop(to, bytes);
	add(to.allocation, &(struct muster_simcuda_piece){ .from = to.offset,
				   .to = to.offset + bytes,
				   .tile = tile,
				   .begin = to.offset,
				   .flipped = NOWHERE });
}

/* The words of a pattern from a place on. */
MUSTER_STANDIN_LOOP static void write_words(
	struct muster_pattern pattern, uint64_t place, unsigned char *to, size_t words)
{
	for (size_t i = 0; i < words; i++) {
		uint64_t word = muster_pattern_word(&pattern, place + i);
		memcpy(to + i * WORD, &word, WORD);
	}
}

/* The bits in which words differ from those of a pattern from a place on. */
MUSTER_STANDIN_LOOP static uint64_t compare_words(
	struct muster_pattern pattern, uint64_t place, const unsigned char *data, size_t words)
{
	uint64_t differ = 0;
	for (size_t i = 0; i < words; i++) {
		uint64_t word;
		memcpy(&word, data + i * WORD, WORD);
		differ |= word ^ muster_pattern_word(&pattern, place + i);
	}
	return differ;
}

/* Whether the words are those of a pattern, as the probes write files (muster_storage_pattern): each place has another
 * one. The first word gives the seed: x ^ x >> 32 is undone by itself, and the multiplication by the inverse of its
 * factor.
 */
static bool find_pattern(const unsigned char *data, size_t words, struct muster_pattern *ret)
{
	uint64_t word;
	memcpy(&word, data, WORD);
	*ret = (struct muster_pattern){ .seed = (word ^ word >> 32) * INVERSE, .and_mask = UINT64_MAX };
	for (size_t at = 0; at < words; at += AT_ONCE)
		if (compare_words(*ret, at, data + at * WORD, words - at < AT_ONCE ? words - at : AT_ONCE) != 0)
			return false;
	return true;
}

/* Long data that repeats, or that is a pattern, needs little room here. Other data is kept as it is. */
void muster_simcuda_put(struct muster_simcuda_range to, const void *from, size_t bytes)
{
	const unsigned char *data = from;
	bool is_long = bytes > 4 * PERIOD && bytes % WORD == 0 && to.offset % WORD == 0;
	bool repeats = is_long && memcmp(data, data + PERIOD, 3 * PERIOD) == 0;
	struct muster_pattern pattern;
	if (is_long && !repeats && find_pattern(data, bytes / WORD, &pattern))
		muster_simcuda_fill(to, bytes, &pattern);
	else
		muster_simcuda_lay(to, bytes, data, repeats ? PERIOD : bytes);
}

/* A piece remembers one flipped word, so that a second flip in it replaces the first. Unwritten memory has none. */
void muster_simcuda_flip(struct muster_simcuda_range word)
{
	size_t to;
	struct muster_simcuda_piece *piece =
		muster_simcuda_piece_find(word.allocation, word.offset, word.offset + WORD, &to);
	if (piece)
		piece->flipped = word.offset;
}

/* What the tile has for the bytes of the allocation from offset on. */
static void copy_tile(const struct muster_simcuda_piece *piece, size_t offset, unsigned char *to, size_t bytes)
{
	const struct muster_simcuda_tile *tile = piece->tile;
	for (size_t done = 0, length; done < bytes; done += length) {
		size_t at = (offset + done - piece->begin) % tile->length, left = tile->length - at;
		length = bytes - done < left ? bytes - done : left;
		if (memcmp(to + done, tile->data + at, length) != 0) /* a page that is only read takes no memory */
			memcpy(to + done, tile->data + at, length);
	}
}

/* Of much memory the first window alone: the rest stays as it is, because nothing may rely on it, and pages that are
 * not touched take no memory. What is right already is not written again, for the same reason. */
static void set_unwritten(unsigned char *to, size_t bytes)
{
	bytes = bytes < MUSTER_STANDIN_WINDOW ? bytes : MUSTER_STANDIN_WINDOW;
	if (*to != UNWRITTEN || memcmp(to, to + 1, bytes - 1) != 0)
		memset(to, UNWRITTEN, bytes);
}

/* What the words of a pattern are, by bytes: a part of a word, whole words, a part of one. */
static void copy_pattern(const struct muster_simcuda_piece *piece, size_t offset, unsigned char *to, size_t bytes)
{
	for (size_t done = 0, length; done < bytes; done += length) {
		size_t at = offset + done, left = bytes - done, here = WORD - at % WORD;
		if (here == WORD && left >= WORD) {
			length = left - left % WORD;
			write_words(piece->pattern, at / WORD, to + done, length / WORD);
			continue;
		}
		uint64_t word = muster_pattern_word(&piece->pattern, at / WORD);
		length = left < here ? left : here;
		memcpy(to + done, (unsigned char *)&word + at % WORD, length);
	}
}

/* Piece by piece, with gaps between them. A word with a wrong bit is wrong in its lowest bit: bit 0 of its first byte.
 */
void muster_simcuda_get(struct muster_simcuda_range from, void *to, size_t bytes)
{
	size_t end = from.offset + bytes, until;
	for (size_t at = from.offset; at < end; at = until) {
		const struct muster_simcuda_piece *piece = muster_simcuda_piece_find(from.allocation, at, end, &until);
		unsigned char *target = (unsigned char *)to + (at - from.offset);
		if (!piece)
			set_unwritten(target, until - at);
		else if (piece->tile)
			copy_tile(piece, at, target, until - at);
		else
			copy_pattern(piece, at, target, until - at);
		if (piece && piece->flipped >= at && piece->flipped < until)
			target[piece->flipped - at] ^= 1;
	}
}

/* -- for the other stand-ins -- */

/* Only for a range of whole words that lies in one piece. In the answer place 0 is the range's first word. */
bool muster_standin_cuda_pattern(CUdeviceptr from, size_t bytes, struct muster_standin_pattern *ret)
{
	struct muster_simcuda_range range;
	size_t to;
	if (!muster_simcuda_range_find(from, bytes, &range) || range.offset % WORD != 0 || bytes % WORD != 0)
		return false;
	const struct muster_simcuda_piece *piece =
		muster_simcuda_piece_find(range.allocation, range.offset, range.offset + bytes, &to);
	if (!piece || piece->tile || to != range.offset + bytes)
		return false;
	bool flipped = piece->flipped >= range.offset && piece->flipped < to;
	*ret = (struct muster_standin_pattern){ piece->pattern, flipped ? piece->flipped - range.offset : NOWHERE };
	ret->words.seed += range.offset / WORD;
	return true;
}

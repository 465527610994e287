/* cuda_contents.c - libcuda.so.1 for the simulation: what memory holds that a kernel has written
 *
 * A range that a kernel has filled is kept as the pattern it was filled with, so that the memory of a whole GPU needs
 * none here. A matrix product is a pattern too: one that stands for its factors. Places count from the start of the
 * allocation; seeds are changed accordingly, so that equal contents have equal patterns wherever a fill began.
 */
#include "sim/standins/cuda.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)
#define NOWHERE SIZE_MAX

/* The pieces of an allocation are sorted and do not overlap. */
struct muster_simcuda_piece {
	struct muster_simcuda_piece *next;
	size_t from, to;               /* bytes of the allocation */
	struct muster_pattern pattern; /* without or_mask */
	size_t flipped;                /* where a word is that has one wrong bit; NOWHERE: there is none */
};

/* The same words by another rule: or_mask is 0, and a pattern that has the same word at each place has seed 0. */
static struct muster_pattern normalise(const struct muster_pattern *given, size_t offset)
{
	struct muster_pattern same = *given;
	same.and_mask &= ~given->or_mask;
	same.xor_mask ^= given->or_mask;
	same.or_mask = 0;
	same.seed = same.and_mask ? given->seed - offset / WORD : 0;
	return same;
}

static void add(struct muster_simcuda_allocation *allocation, const struct muster_simcuda_piece *piece)
{
	struct muster_simcuda_piece **at = &allocation->pieces;
	struct muster_simcuda_piece *new = muster_calloc(1, sizeof *new);
	while (*at && (*at)->from < piece->from)
		at = &(*at)->next;
	*new = *piece;
	new->next = *at;
	*at = new;
}

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
		}
		if (behind.to > to) {
			behind.from = to;
			add(gone.allocation, &behind);
			return;
		}
	}
}

void muster_simcuda_fill(struct muster_simcuda_range to, size_t bytes, const struct muster_pattern *pattern)
{
	muster_simcuda_drop(to, bytes);
	add(to.allocation, &(struct muster_simcuda_piece){ .from = to.offset,
				   .to = to.offset + bytes,
				   .pattern = normalise(pattern, to.offset),
				   .flipped = NOWHERE });
}

/* The piece that holds the byte at `from`, NULL when none does, and how far that goes, `to` at most. */
static struct muster_simcuda_piece *find(
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

void muster_simcuda_flip(struct muster_simcuda_range word)
{
	size_t to;
	struct muster_simcuda_piece *piece = find(word.allocation, word.offset, word.offset + WORD, &to);
	if (piece)
		piece->flipped = word.offset;
}

static uint64_t word_of(const struct muster_simcuda_piece *piece, size_t offset)
{
	return muster_pattern_word(&piece->pattern, offset / WORD) ^ (piece->flipped == offset ? 1 : 0);
}

void muster_simcuda_overlay(struct muster_simcuda_range from, void *to, size_t bytes)
{
	size_t end = from.offset + bytes, until;
	for (size_t at = from.offset; at < end && from.allocation->pieces; at = until) {
		const struct muster_simcuda_piece *piece = find(from.allocation, at, end, &until);
		for (size_t i = at; piece && i < until; i++) {
			uint64_t word = word_of(piece, i / WORD * WORD);
			memcpy((unsigned char *)to + (i - from.offset), (unsigned char *)&word + i % WORD, 1);
		}
	}
}

/* -- what a kernel reads -- */

/* Where the memory of this GPU has a bad bit; NOWHERE. */
static size_t bad_word(const struct muster_simcuda_allocation *allocation)
{
	const struct muster_sim_gpu *gpu = allocation->context ? allocation->context->gpu : NULL;
	return gpu && gpu->memory_bad_bit > 0 ? (size_t)gpu->memory_bad_at : NOWHERE;
}

static uint64_t read_word(const struct muster_simcuda_allocation *allocation, size_t offset)
{
	struct muster_simcuda_range place = { (struct muster_simcuda_allocation *)allocation, offset };
	size_t to;
	uint64_t word;
	const struct muster_simcuda_piece *piece = find(allocation, offset, offset + WORD, &to);
	if (piece && to == offset + WORD)
		word = word_of(piece, offset);
	else
		muster_simcuda_get(place, &word, sizeof word);
	if (offset == bad_word(allocation))
		word |= (uint64_t)1 << (allocation->context->gpu->memory_bad_bit - 1);
	return word;
}

/* -- comparing -- */

struct comparison {
	struct muster_simcuda_range read, expected;
	size_t threads;
	size_t differences; /* so far, which at most one thread each notes */
	struct muster_kernel_report *report;
};

static void note(struct comparison *c, size_t at, const uint64_t read[2], const uint64_t expected[2])
{
	c->report->wrong++;
	if (c->differences++ >= c->threads)
		return;
	uint64_t slot = c->report->noted++;
	if (slot < MUSTER_DIFFERENCES_MAX)
		c->report->noticed[slot] = (struct muster_difference){ .place = at / MUSTER_KERNEL_WORD,
			.read = { read[0], read[1] },
			.expected = { expected[0], expected[1] } };
}

/* The 16 bytes at a place of both ranges. */
static void compare_word(struct comparison *c, size_t at)
{
	uint64_t read[2], expected[2];
	for (size_t i = 0; i < 2; i++) {
		read[i] = read_word(c->read.allocation, c->read.offset + at + i * WORD);
		expected[i] = read_word(c->expected.allocation, c->expected.offset + at + i * WORD);
	}
	if (read[0] != expected[0] || read[1] != expected[1])
		note(c, at, read, expected);
}

/* Equal patterns: only words with a wrong bit may differ. */
static void compare_alike(struct comparison *c, size_t from, size_t to, const size_t odd[4])
{
	size_t seen[4];
	for (size_t i = 0; i < 4; i++) {
		bool again = false;
		seen[i] = odd[i] == NOWHERE ? NOWHERE : odd[i] / MUSTER_KERNEL_WORD * MUSTER_KERNEL_WORD;
		for (size_t k = 0; k < i; k++)
			again = again || seen[k] == seen[i];
		if (!again && seen[i] >= from && seen[i] < to)
			compare_word(c, seen[i]);
	}
}

/* Where a word of one of the ranges is in both. */
static size_t place_in(const struct muster_simcuda_range *range, size_t offset)
{
	return offset == NOWHERE || offset < range->offset ? NOWHERE : offset - range->offset;
}

static bool is_alike(const struct comparison *c, const struct muster_simcuda_piece *read,
	const struct muster_simcuda_piece *expected)
{
	const struct muster_pattern *a = &read->pattern, *b = &expected->pattern;
	return a->and_mask == b->and_mask && a->xor_mask == b->xor_mask &&
	       (a->and_mask == 0 || a->seed + c->read.offset / WORD == b->seed + c->expected.offset / WORD);
}

/* Other contents: in a long stretch every word is wrong. */
static void compare_apart(struct comparison *c, size_t from, size_t to)
{
	size_t words = (to - from) / MUSTER_KERNEL_WORD, first = words;
	if (to - from > MUSTER_STANDIN_WINDOW)
		first = MUSTER_DIFFERENCES_MAX;
	for (size_t i = 0; i < first; i++)
		compare_word(c, from + i * MUSTER_KERNEL_WORD);
	size_t more = words - first, idle = c->threads > c->differences ? c->threads - c->differences : 0;
	c->report->wrong += more;
	c->report->noted += more < idle ? more : idle;
	c->differences += more;
}

static void compare(struct comparison *c, size_t bytes)
{
	for (size_t at = 0, to; at < bytes; at = to) {
		size_t read_to, expected_to;
		const struct muster_simcuda_piece *read =
			find(c->read.allocation, c->read.offset + at, c->read.offset + bytes, &read_to);
		const struct muster_simcuda_piece *expected =
			find(c->expected.allocation, c->expected.offset + at, c->expected.offset + bytes, &expected_to);
		read_to -= c->read.offset;
		expected_to -= c->expected.offset;
		to = (read_to < expected_to ? read_to : expected_to) / MUSTER_KERNEL_WORD * MUSTER_KERNEL_WORD;
		if (to <= at) { /* a word that a copy has changed in part */
			to = at + MUSTER_KERNEL_WORD;
			compare_word(c, at);
		} else if (read && expected && is_alike(c, read, expected)) {
			const size_t odd[] = { place_in(&c->read, read->flipped),
				place_in(&c->expected, expected->flipped),
				place_in(&c->read, bad_word(c->read.allocation)),
				place_in(&c->expected, bad_word(c->expected.allocation)) };
			compare_alike(c, at, to, odd);
		} else {
			compare_apart(c, at, to);
		}
	}
}

void muster_simcuda_compare(struct muster_simcuda_range range, struct muster_simcuda_range expected, size_t bytes,
	size_t threads, struct muster_kernel_report *report)
{
	compare(&(struct comparison){ .read = range, .expected = expected, .threads = threads, .report = report },
		bytes);
}

void muster_simcuda_verify(struct muster_simcuda_range range, size_t bytes, const struct muster_pattern *pattern,
	size_t threads, struct muster_kernel_report *report)
{
	struct muster_simcuda_piece piece = { .to = bytes, .pattern = normalise(pattern, 0), .flipped = NOWHERE };
	struct muster_simcuda_allocation expected = { .bytes = bytes, .pieces = &piece };
	muster_simcuda_compare(range, (struct muster_simcuda_range){ &expected, 0 }, bytes, threads, report);
}

/* -- summing up -- */

static uint64_t stir(uint64_t into, uint64_t value)
{
	return muster_pattern_word(&(struct muster_pattern){ .seed = value, .and_mask = UINT64_MAX }, into);
}

/* Of a longer range: from the patterns that it holds, and where. Memory that no kernel has written is all the same. */
static uint64_t sum_patterns(struct muster_simcuda_range range, size_t bytes)
{
	size_t end = range.offset + bytes, to, bad = bad_word(range.allocation);
	uint64_t sum = bytes;
	for (size_t at = range.offset; at < end; at = to) {
		const struct muster_simcuda_piece *piece = find(range.allocation, at, end, &to);
		sum = stir(sum, to - range.offset);
		if (!piece)
			continue;
		const struct muster_pattern *p = &piece->pattern;
		sum = stir(stir(sum, p->and_mask), p->xor_mask);
		sum = stir(sum, p->and_mask ? p->seed + range.offset / WORD : 0);
		if (piece->flipped >= at && piece->flipped < to)
			sum = stir(sum, piece->flipped - range.offset);
		if (bad >= at && bad < to)
			sum = stir(sum, read_word(range.allocation, bad) ^ word_of(piece, bad));
	}
	return sum;
}

uint64_t muster_simcuda_sum(struct muster_simcuda_range range, size_t bytes)
{
	uint64_t sum = 0;
	if (bytes > MUSTER_STANDIN_WINDOW)
		return sum_patterns(range, bytes);
	for (size_t at = 0; at + WORD <= bytes; at += WORD)
		sum += stir(at / WORD, read_word(range.allocation, range.offset + at));
	return sum;
}

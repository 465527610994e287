/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_compare.c - libcuda.so.1 for the simulation: the kernels that read memory: verify, compare, sum up
 *
 * Two ranges are compared stretch by stretch: a stretch ends where a piece of either range does (cuda_contents.c). The
 * rules for a stretch, in the order in which they act:
 *
 *   1. Both sides are the same pattern: nothing is compared.
 *   2. Else a window is compared byte by byte, or all of a tile that is longer. If each of its words is wrong, all
 *      words of the stretch are; else the words after the window count as right.
 *   3. The words with a flipped bit, and with the GPU's bad bit, are compared wherever they are.
 *
 * So a kernel over all of a GPU's memory needs little time here, and still finds each simulated wrong bit. Words are
 * those of the kernels, 16 bytes. verify is a comparison with an allocation that holds one pattern.
 */
#include "sim/standins/cuda.h"

#include <string.h>

#define WORD sizeof(uint64_t)
#define NOWHERE MUSTER_SIMCUDA_NOWHERE

/* -- what a kernel reads -- */

/* Where in the allocation the memory of this GPU has a bad bit; NOWHERE: not in this one. memory_bad_at counts as
 * cluster.h says; an answer behind the allocation's end is never reached. The range of verify's pattern has no context,
 * hence no bad bit.
 */
static size_t bad_word(const struct muster_simcuda_allocation *allocation)
{
	const struct muster_sim_gpu *gpu = allocation->context ? allocation->context->gpu : NULL;
	if (!gpu || gpu->memory_bad_bit == 0 || gpu->memory_bad_at < allocation->before)
		return NOWHERE;
	return (size_t)gpu->memory_bad_at - allocation->before;
}

static uint64_t read_word(const struct muster_simcuda_allocation *allocation, size_t offset)
{
	uint64_t word;
	muster_simcuda_get((struct muster_simcuda_range){ (struct muster_simcuda_allocation *)allocation, offset },
		&word, sizeof word);
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

/* Count a wrong word, as the kernel does: each thread notes at most one difference, and the report keeps the first
 * ones. */
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

/* So many more words differ, which the report does not show. */
static void count_more(struct comparison *c, size_t more)
{
	size_t idle = c->threads > c->differences ? c->threads - c->differences : 0;
	c->report->wrong += more;
	c->report->noted += more < idle ? more : idle;
	c->differences += more;
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

/* Compare the words with a wrong bit in [from, to), which no window has shown, each once. odd: bytes of the ranges, or
 * NOWHERE; several may be in one word of 16 bytes. */
static void compare_odd(struct comparison *c, size_t from, size_t to, const size_t odd[4])
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

/* Whether both pieces are patterns with the same words at the same places of the ranges. Seeds count from the start of
 * their allocations, so the ranges' offsets are added. */
static bool is_alike(const struct comparison *c, const struct muster_simcuda_piece *read,
	const struct muster_simcuda_piece *expected)
{
	const struct muster_pattern *a = &read->pattern, *b = &expected->pattern;
	return !read->tile && !expected->tile && a->and_mask == b->and_mask && a->xor_mask == b->xor_mask &&
	       (a->and_mask == 0 || a->seed + c->read.offset / WORD == b->seed + c->expected.offset / WORD);
}

/* A stretch that lies in one piece of each range, or in none. Data that came by a copy is compared to its end: it may
 * be a file's. */
static void compare_stretch(struct comparison *c, size_t from, size_t to, const struct muster_simcuda_piece *read,
	const struct muster_simcuda_piece *expected)
{
	static unsigned char a[MUSTER_STANDIN_WINDOW], b[MUSTER_STANDIN_WINDOW];
	const size_t odd[] = { read ? place_in(&c->read, read->flipped) : NOWHERE,
		expected ? place_in(&c->expected, expected->flipped) : NOWHERE,
		place_in(&c->read, bad_word(c->read.allocation)),
		place_in(&c->expected, bad_word(c->expected.allocation)) };
	bool alike = read && expected && is_alike(c, read, expected);
	size_t at = from, most = MUSTER_STANDIN_WINDOW, before = c->differences;
	if (read && read->tile && read->tile->length > most)
		most = read->tile->length;
	for (size_t bytes; !alike && at < to && at - from < most; at += bytes) {
		bytes = to - at < sizeof a ? to - at : sizeof a;
		muster_simcuda_get((struct muster_simcuda_range){ c->read.allocation, c->read.offset + at }, a, bytes);
		muster_simcuda_get(
			(struct muster_simcuda_range){ c->expected.allocation, c->expected.offset + at }, b, bytes);
		bool equal = memcmp(a, b, bytes) == 0;
		for (size_t i = 0; i < bytes; i += MUSTER_KERNEL_WORD)
			if ((!equal && memcmp(a + i, b + i, MUSTER_KERNEL_WORD) != 0) ||
				odd[2] / MUSTER_KERNEL_WORD == (at + i) / MUSTER_KERNEL_WORD ||
				odd[3] / MUSTER_KERNEL_WORD == (at + i) / MUSTER_KERNEL_WORD)
				compare_word(c, at + i);
	}
	if (at > from && c->differences - before == (at - from) / MUSTER_KERNEL_WORD)
		count_more(c, (to - at) / MUSTER_KERNEL_WORD);
	else
		compare_odd(c, at, to, odd);
}

/* bytes: of each range, a multiple of 16. */
static void compare(struct comparison *c, size_t bytes)
{
	for (size_t at = 0, to; at < bytes; at = to) {
		size_t read_to, expected_to;
		const struct muster_simcuda_piece *read = muster_simcuda_piece_find(
			c->read.allocation, c->read.offset + at, c->read.offset + bytes, &read_to);
		const struct muster_simcuda_piece *expected = muster_simcuda_piece_find(
			c->expected.allocation, c->expected.offset + at, c->expected.offset + bytes, &expected_to);
		read_to -= c->read.offset;
		expected_to -= c->expected.offset;
		to = (read_to < expected_to ? read_to : expected_to) / MUSTER_KERNEL_WORD * MUSTER_KERNEL_WORD;
		if (to > at) {
			compare_stretch(c, at, to, read, expected);
			continue;
		}
		to = at + MUSTER_KERNEL_WORD; /* a word that a copy has changed in part */
		compare_word(c, at);
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
	struct muster_simcuda_piece piece = {
		.to = bytes, .pattern = muster_simcuda_normalise(pattern, 0), .flipped = NOWHERE
	};
	struct muster_simcuda_allocation expected = { .bytes = bytes, .pieces = &piece };
	muster_simcuda_compare(range, (struct muster_simcuda_range){ &expected, 0 }, bytes, threads, report);
}

/* -- summing up -- */

/* The sum of both, spread over 64 bits. */
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
		const struct muster_simcuda_piece *piece = muster_simcuda_piece_find(range.allocation, at, end, &to);
		sum = stir(sum, to - range.offset);
		if (!piece)
			continue;
		const struct muster_pattern *p = &piece->pattern;
		size_t most = !piece->tile ? 0 : to - at < MUSTER_STANDIN_WINDOW ? to - at : MUSTER_STANDIN_WINDOW;
		for (size_t i = 0; i + WORD <= most; i += WORD)
			sum = stir(sum, read_word(range.allocation, at + i));
		sum = stir(stir(sum, p->and_mask), p->xor_mask);
		sum = stir(sum, p->and_mask ? p->seed + range.offset / WORD : 0);
		if (piece->flipped >= at && piece->flipped < to)
			sum = stir(sum, piece->flipped - range.offset);
		if (bad >= at && bad < to)
			sum = stir(sum, read_word(range.allocation, bad));
	}
	return sum;
}

/* A short range: each word with its place is spread over 64 bits and added, as kernels.h says of the checksum. */
uint64_t muster_simcuda_sum(struct muster_simcuda_range range, size_t bytes)
{
	uint64_t sum = 0;
	if (bytes > MUSTER_STANDIN_WINDOW)
		return sum_patterns(range, bytes);
	for (size_t at = 0; at + WORD <= bytes; at += WORD)
		sum += stir(at / WORD, read_word(range.allocation, range.offset + at));
	return sum;
}

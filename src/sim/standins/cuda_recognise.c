/* cuda_recognise.c - libcuda.so.1 for the simulation: copies from the host whose words are those of a pattern
 *
 * Data that is read from a file has another word at each place, so the fold would lose it. It is known by its first
 * words, and kept as the pattern; words that are not the pattern's lie beside it as they came.
 */
#include "sim/standins/cuda_pieces.h"

#include <string.h>

#define WORD sizeof(uint64_t)
#define LEAST 64                    /* bytes; shorter data is no matter */
#define INVERSE 0xf1de83e19937733du /* of muster_pattern_word's factor, modulo 2^64 */
#define TRIES 4
#define WRONG_SHARE 16 /* one word of so many may be wrong */

static uint64_t word_at(const unsigned char *data, size_t i)
{
	uint64_t word;
	memcpy(&word, data + i * WORD, WORD);
	return word;
}

/* The seed of the pattern that has this word at a place. */
static uint64_t seed_of(uint64_t word, size_t place)
{
	return (word ^ word >> 32) * INVERSE - place;
}

/* The first word from `at` on that is as the pattern says, or that is not; `words`: there is none. */
static size_t find_word(
	const unsigned char *data, size_t words, const struct muster_pattern *pattern, size_t at, bool right)
{
	while (at < words && (word_at(data, at) == muster_pattern_word(pattern, at)) != right)
		at++;
	return at;
}

/* Whether nearly all words are the pattern's. */
static bool is_pattern(const unsigned char *data, size_t words, const struct muster_pattern *pattern)
{
	size_t wrong = 0;
	for (size_t at = find_word(data, words, pattern, 0, false); at < words;
		at = find_word(data, words, pattern, at + 1, false))
		if (++wrong > words / WRONG_SHARE)
			return false;
	return true;
}

/* The first words may be wrong ones, so several places are looked at. */
static bool find_pattern(const unsigned char *data, size_t words, struct muster_pattern *ret)
{
	for (size_t i = 0; i < TRIES; i++) {
		uint64_t seed = seed_of(word_at(data, 2 * i), 2 * i);
		if (seed != seed_of(word_at(data, 2 * i + 1), 2 * i + 1))
			continue;
		*ret = (struct muster_pattern){ .seed = seed, .and_mask = UINT64_MAX };
		if (is_pattern(data, words, ret))
			return true;
	}
	return false;
}

void muster_simcuda_take(struct muster_simcuda_range to, const void *from, size_t bytes)
{
	const unsigned char *data = from;
	struct muster_pattern pattern;
	size_t words = bytes / WORD;
	bool folded = to.allocation->bytes > to.allocation->window;
	if (!folded || bytes < LEAST || bytes % WORD != 0 || to.offset % WORD != 0 ||
		!find_pattern(data, words, &pattern)) {
		muster_simcuda_put(to, from, bytes);
		return;
	}
	muster_simcuda_fill(to, bytes, &pattern);
	for (size_t end, at = find_word(data, words, &pattern, 0, false); at < words;
		at = find_word(data, words, &pattern, end, false)) {
		struct muster_simcuda_range wrong = { to.allocation, to.offset + at * WORD };
		end = find_word(data, words, &pattern, at, true);
		muster_simcuda_lay(wrong, (end - at) * WORD, data + at * WORD, (end - at) * WORD);
	}
}

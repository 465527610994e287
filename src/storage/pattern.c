/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - the content of files
 *
 * Filling and verifying run beside the disk, at several GB/s for each core: compilers make vector instructions of both
 * inner loops.
 */
#include "storage/pattern.h"

#include "util/text.h"

#include <sys/random.h>
#include <unistd.h>

enum {
	WORD = sizeof(uint64_t),
	STRIDE = 512
}; /* bytes; words that are compared before the first difference is looked for */

uint64_t muster_storage_seed(void)
{
	uint64_t seed;
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
		seed = ((uint64_t)getpid() << 40) ^ (uint64_t)(muster_now_ms() * 1e6);
	return seed;
}

void muster_storage_fill(void *data, size_t bytes, uint64_t offset, uint64_t seed)
{
	const struct muster_pattern pattern = muster_storage_pattern(seed);
	uint64_t *words = data, place = offset / WORD;
	size_t count = bytes / WORD;
	for (size_t i = 0; i < count; i++)
		words[i] = muster_pattern_word(&pattern, place + i);
}

/* In steps of STRIDE words: the differences of a stride are first collected by OR without a branch, which compilers
 * turn into vector instructions; only a stride with a difference is counted word by word. */
uint64_t muster_storage_wrong(const void *data, size_t bytes, uint64_t offset, uint64_t seed)
{
	const struct muster_pattern pattern = muster_storage_pattern(seed);
	const uint64_t *words = data;
	uint64_t place = offset / WORD, wrong = 0;
	size_t count = bytes / WORD;
	for (size_t at = 0; at < count; at += STRIDE) {
		size_t end = count - at < STRIDE ? count : at + STRIDE;
		uint64_t differs = 0;
		for (size_t i = at; i < end; i++)
			differs |= words[i] ^ muster_pattern_word(&pattern, place + i);
		for (size_t i = at; differs && i < end; i++)
			wrong += words[i] != muster_pattern_word(&pattern, place + i);
	}
	return wrong;
}

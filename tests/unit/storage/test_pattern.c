/* SPDX-License-Identifier: Apache-2.0 */
/* test_pattern.c - words of a file show their place, their file and every bit that changed
 */
#include "check_main.h"
#include "storage/pattern.h"

#include <string.h>

enum { WORDS = 4096 };

static uint64_t block[WORDS], other[WORDS];

TEST(what_was_filled_has_no_wrong_word)
{
	static const size_t counts[] = { 0, 1, 511, 512, 513, WORDS };
	for (int i = 0; i < LENGTH(counts); i++) {
		muster_storage_fill(block, counts[i] * 8, 1 << 20, 77);
		ck_assert_uint_eq(muster_storage_wrong(block, counts[i] * 8, 1 << 20, 77), 0);
	}
}

TEST(each_changed_word_is_counted_once)
{
	muster_storage_fill(block, sizeof block, 0, 5);
	block[0] ^= 1;
	block[511] ^= 1ull << 63;
	block[512] = 0;
	block[WORDS - 1] ^= 0xff00;
	ck_assert_uint_eq(muster_storage_wrong(block, sizeof block, 0, 5), 4);
	ck_assert_uint_eq(muster_storage_wrong(block + 1, 8 * 510, 8, 5), 0);
}

TEST(a_block_of_another_place_or_of_another_run_is_wrong_in_every_word)
{
	muster_storage_fill(block, sizeof block, 1 << 20, 5);
	ck_assert_uint_eq(muster_storage_wrong(block, sizeof block, 0, 5), WORDS);
	ck_assert_uint_eq(muster_storage_wrong(block, sizeof block, (1 << 20) + 8, 5), WORDS);
	ck_assert_uint_eq(muster_storage_wrong(block, sizeof block, 1 << 20, muster_storage_seed()), WORDS);
	memset(block, 0, sizeof block);
	ck_assert_uint_eq(muster_storage_wrong(block, sizeof block, 1 << 20, 5), WORDS);
}

/* What the kernels for the GPU verify of a piece of a file. */
TEST(a_piece_is_the_pattern_with_the_seed_moved_on)
{
	const uint64_t offset = 3 << 20, seed = UINT64_MAX - 1000;
	const struct muster_pattern piece = muster_storage_pattern(seed + offset / 8);
	muster_storage_fill(block, sizeof block, offset, seed);
	for (size_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(block[i], muster_pattern_word(&piece, i));
	muster_storage_fill(other, sizeof other, 0, seed + offset / 8);
	ck_assert_mem_eq(block, other, sizeof block);
}

/* Compressors look for 4 bytes that were there before. Of 32,768 random pairs of halves a few are equal by chance. */
TEST(the_data_has_next_to_no_repeats)
{
	uint32_t halves[2 * WORDS];
	size_t equal = 0, ones = 0;
	muster_storage_fill(block, sizeof block, 0, 12345);
	memcpy(halves, block, sizeof halves);
	for (size_t i = 0; i < 2 * WORDS; i++) {
		ones += (size_t)__builtin_popcount(halves[i]);
		for (size_t j = 0; j < i; j++)
			equal += halves[i] == halves[j];
	}
	ck_assert_uint_le(equal, 8);
	ck_assert_uint_ge(ones, (size_t)(0.49 * 64 * WORDS));
	ck_assert_uint_le(ones, (size_t)(0.51 * 64 * WORDS));
}

TEST(no_two_seeds_are_equal)
{
	uint64_t first = muster_storage_seed();
	ck_assert_uint_ne(first, muster_storage_seed());
}

TEST_MAIN(.setup = NULL)

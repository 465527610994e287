/* SPDX-License-Identifier: Apache-2.0 */
/* test_xxh64.c - values that xxhsum prints, and contents that come in pieces */
#include "check_main.h"

#include "util/xxh64.h"

#include <string.h>

static uint64_t hash_of(const void *data, size_t bytes)
{
	struct muster_xxh64 hash;
	muster_xxh64_init(&hash);
	muster_xxh64_add(&hash, data, bytes);
	return muster_xxh64_value(&hash);
}

static const struct {
	const char *text;
	uint64_t value;
} known[] = {
	{ "", UINT64_C(0xef46db3751d8e999) },
	{ "a", UINT64_C(0xd24ec4f1a98c6e5b) },
	{ "abc", UINT64_C(0x44bc2cf5ad770999) },
	{ "Nobody inspects the spammish repetition", UINT64_C(0xfbcea83c8a378bf1) },
};

TEST_EACH(values_are_those_of_xxhsum, known)
{
	ck_assert_uint_eq(hash_of(known[_i].text, strlen(known[_i].text)), known[_i].value);
}

TEST(pieces_have_the_hash_of_the_whole)
{
	unsigned char data[200];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 37 + 11);
	for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
		for (size_t piece = 1; piece < 70; piece += 3) {
			struct muster_xxh64 hash;
			muster_xxh64_init(&hash);
			for (size_t at = 0; at < bytes; at += piece) {
				(void)muster_xxh64_value(&hash);
				muster_xxh64_add(&hash, data + at, bytes - at < piece ? bytes - at : piece);
			}
			ck_assert_uint_eq(muster_xxh64_value(&hash), hash_of(data, bytes));
		}
	}
}

TEST(one_other_bit_is_another_hash)
{
	unsigned char data[100] = { 0 };
	uint64_t before = hash_of(data, sizeof data);
	for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		ck_assert_uint_ne(hash_of(data, sizeof data), before);
		data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* xxh64.c - XXH64 with seed 0
 *
 * Names as in the specification (xxhash_spec.md): four accumulators (`lanes`) take stripes of 32 bytes; what does not
 * fill a stripe waits in `rest`; the value mixes the lanes, the length and the rest. muster_xxh64_value changes
 * nothing, so that more can be added after it.
 */
#include "util/xxh64.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)
enum { STRIPE = 32 };

static uint64_t rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/* Little endian, so that all machines have one hash. */
static uint64_t word(const unsigned char *from)
{
	uint64_t value;
	memcpy(&value, from, sizeof value);
	return le64toh(value);
}

static uint64_t half_word(const unsigned char *from)
{
	uint32_t value;
	memcpy(&value, from, sizeof value);
	return le32toh(value);
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
	return rotate(lane + input * PRIME_2, 31) * PRIME_1;
}

static void take_stripe(struct muster_xxh64 *hash, const unsigned char *from)
{
	for (int i = 0; i < 4; i++)
		hash->lanes[i] = mix(hash->lanes[i], word(from + 8 * i));
}

void muster_xxh64_init(struct muster_xxh64 *hash)
{
	*hash = (struct muster_xxh64){ .lanes = { PRIME_1 + PRIME_2, PRIME_2, 0, 0 - PRIME_1 } };
}

void muster_xxh64_add(struct muster_xxh64 *hash, const void *data, size_t bytes)
{
	const unsigned char *from = data;
	size_t kept = (size_t)(hash->bytes % STRIPE);
	hash->bytes += bytes;
	if (kept > 0) {
		size_t part = bytes < STRIPE - kept ? bytes : STRIPE - kept;
		memcpy(hash->rest + kept, from, part);
		from += part;
		bytes -= part;
		if (kept + part < STRIPE)
			return;
		take_stripe(hash, hash->rest);
	}
	for (; bytes >= STRIPE; bytes -= STRIPE, from += STRIPE)
		take_stripe(hash, from);
	if (bytes > 0)
		memcpy(hash->rest, from, bytes);
}

uint64_t muster_xxh64_value(const struct muster_xxh64 *hash)
{
	static const int turns[4] = { 1, 7, 12, 18 };
	const unsigned char *from = hash->rest;
	size_t left = (size_t)(hash->bytes % STRIPE);
	uint64_t value = PRIME_5;
	if (hash->bytes >= STRIPE) {
		value = 0;
		for (int i = 0; i < 4; i++)
			value += rotate(hash->lanes[i], turns[i]);
		for (int i = 0; i < 4; i++)
			value = (value ^ mix(0, hash->lanes[i])) * PRIME_1 + PRIME_4;
	}
	value += hash->bytes;
	for (; left >= 8; left -= 8, from += 8)
		value = rotate(value ^ mix(0, word(from)), 27) * PRIME_1 + PRIME_4;
	if (left >= 4) {
		value = rotate(value ^ (half_word(from) * PRIME_1), 23) * PRIME_2 + PRIME_3;
		left -= 4;
		from += 4;
	}
	for (; left > 0; left--, from++)
		value = rotate(value ^ (*from * PRIME_5), 11) * PRIME_1;
	value = (value ^ value >> 33) * PRIME_2;
	value = (value ^ value >> 29) * PRIME_3;
	return value ^ value >> 32;
}

const char *muster_content_text(const void *data, size_t bytes, char out[MUSTER_CONTENT_TEXT_SIZE])
{
	struct muster_xxh64 hash;
	muster_xxh64_init(&hash);
	muster_xxh64_add(&hash, data, bytes);
	snprintf(out, MUSTER_CONTENT_TEXT_SIZE, "%zu bytes, %016" PRIx64, bytes, muster_xxh64_value(&hash));
	return out;
}

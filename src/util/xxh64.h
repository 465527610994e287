/* SPDX-License-Identifier: Apache-2.0 */
/* xxh64.h - XXH64, a fast hash of 64 bits that tells contents apart; no protection against forged content
 *
 * By the specification of xxHash (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, 0.1.1), with seed 0: `xxhsum -H64`
 * prints the same for a file.
 */
#ifndef MUSTER_UTIL_XXH64_H
#define MUSTER_UTIL_XXH64_H

#include <stddef.h>
#include <stdint.h>

struct muster_xxh64 {
	uint64_t lanes[4];
	unsigned char rest[32]; /* what does not fill a stripe yet */
	uint64_t bytes;         /* in all */
};

void muster_xxh64_init(struct muster_xxh64 *hash);
void muster_xxh64_add(struct muster_xxh64 *hash, const void *data, size_t bytes);
/* Of all bytes so far; more may be added afterwards. */
uint64_t muster_xxh64_value(const struct muster_xxh64 *hash);

/* "153 bytes, 01cf8a...": what tells one content from another. Returns out. */
#define MUSTER_CONTENT_TEXT_SIZE 48
const char *muster_content_text(const void *data, size_t bytes, char out[MUSTER_CONTENT_TEXT_SIZE]);

#endif

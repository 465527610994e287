/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - what each rank brings to a sum, and whether the sum is right; data that NCCL only moves
 *
 * Two kinds of data. Sums need numbers whose sum a float holds exactly and whose wrong values show: muster_nccl_data_*.
 * What NCCL only moves (all-gather, all-to-all, exchanges) is a pattern of 8-byte words that kernels write and verify
 * on the GPU at the memory's rate, so that nothing but the count of wrong words comes to the host:
 * muster_nccl_pattern_*.
 *
 * Why a + b x + c y mod 61: with a constant for each rank, data at the wrong place would be right; with random numbers
 * the expected sum of 1,000 ranks would have to be added up for each place. Here a place is one of 61 x 61
 * combinations, for which the sums of all ranks are made once (muster_nccl_data_expect), and scramble() spreads the
 * combinations over the tile. Values are at most 60, so the sum of 223,260 ranks is at most 13,395,600, less than 2^24:
 * a float holds it exactly.
 *
 * The layout of a buffer of floats, and what is compared where:
 *
 *   | tile 0 | tile 1 | tile 2 | ...          all tiles have the same TILE_VALUES values
 *   | period          | period | ...          two tiles, the smallest number of tiles in whole 16-byte words
 *
 *   GPU    each word with the word one period before it, where kernels are loaded
 *   host   the first period if the GPU has found no difference, else everything, in pieces of CHUNK_BYTES
 */
#include "probes/nccl/session.h"

#include "probes/gpu/kernels.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Kernels compare words of 16 bytes. A tile is no multiple of these; two tiles are. */
#define PERIOD_BYTES (2 * TILE_BYTES)
_Static_assert(PERIOD_BYTES % MUSTER_KERNEL_WORD == 0, "kernels compare whole words");

#define MODULUS 61                               /* prime: values are a field, so that different lines meet seldom */
#define FACTORS (MODULUS - 1)                    /* of the first term: 1 to 60 */
#define PAIRS ((size_t)FACTORS * MODULUS)        /* of two factors: ranks 0 to 3659 have different ones */
#define COMBINATIONS ((size_t)MODULUS * MODULUS) /* of what a place gives */

/* Bits that look random, by Sebastiano Vigna (splitmix64). */
static size_t scramble(size_t number)
{
	uint64_t z = (uint64_t)number * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (size_t)((z ^ (z >> 31)) % COMBINATIONS);
}

/* At a place with the numbers x and y, both below MODULUS, a rank puts a + b x + c y. Ranks with the same b and c
 * differ in a. a is no plain count of ranks: then all values of a would come equally often, and sums be alike
 * everywhere. */
static size_t value_at(int rank, size_t combination)
{
	size_t number = (size_t)rank, pair = number % PAIRS;
	size_t a = scramble(pair) % MODULUS + number / PAIRS, b = 1 + pair % FACTORS,
	       c = pair / FACTORS + pair % FACTORS;
	return (a + b * (combination % MODULUS) + c * (combination / MODULUS)) % MODULUS;
}

float muster_nccl_data_value(int number, size_t place)
{
	return (float)value_at(number, scramble(place % TILE_VALUES));
}

/* For each number the values of all 61 x 61 combinations are added up. They are a + b x + c y mod 61, so the next x is
 * one addition of b, the next y one of c: begin is a, by_x and by_y are b and c, up to a multiple of 61. */
void muster_nccl_data_expect(int first, int count, float tile[TILE_VALUES])
{
	static uint32_t sums[COMBINATIONS];
	memset(sums, 0, sizeof sums);
	for (int rank = first; rank < first + count; rank++) {
		size_t begin = value_at(rank, 0), by_x = value_at(rank, 1) + MODULUS - begin;
		size_t by_y = value_at(rank, MODULUS) + MODULUS - begin;
		for (size_t y = 0, row = begin; y < MODULUS; y++, row = (row + by_y) % MODULUS)
			for (size_t x = 0, value = row; x < MODULUS; x++, value = (value + by_x) % MODULUS)
				sums[y * MODULUS + x] += (uint32_t)value;
	}
	for (size_t place = 0; place < TILE_VALUES; place++)
		tile[place] = (float)sums[scramble(place)];
}

/* One tile from the host, then doubled on the GPU: what is there is copied behind itself, 1, 2, 4 ... tiles. The
 * bus carries one tile only. All is queued; the pinned memory stays in use until the stream is done. */
int muster_nccl_data_fill(const struct muster_nccl_session *s, int number, uint64_t bytes, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_cuda *cuda = resources->cuda;
	float *tile = resources->chunks.data;
	uint64_t done = bytes < TILE_BYTES ? bytes : TILE_BYTES;
	for (size_t place = 0; place < TILE_VALUES; place++)
		tile[place] = muster_nccl_data_value(number, place);
	if (MUSTER_CUDA(cuda, err, cuMemcpyHtoDAsync_v2, resources->data, tile, (size_t)done, resources->stream) < 0)
		return -1;
	for (; done < bytes; done *= 2) {
		uint64_t more = bytes - done < done ? bytes - done : done;
		if (MUSTER_CUDA(cuda, err, cuMemcpyDtoDAsync_v2, resources->data + done, resources->data, (size_t)more,
			    resources->stream) < 0)
			return -1;
	}
	return 0;
}

/* Bit by bit: sums of whole numbers are exact, whatever the order of the additions. memcmp finds equal tiles fast. */
void muster_nccl_data_compare(
	const float *got, const float *expected, size_t values, uint64_t base, struct muster_nccl_mismatch *wrong)
{
	for (size_t at = 0; at < values; at += TILE_VALUES) {
		size_t here = values - at < TILE_VALUES ? values - at : TILE_VALUES;
		if (memcmp(got + at, expected, here * sizeof *got) == 0)
			continue;
		for (size_t i = 0; i < here; i++) {
			if (memcmp(&got[at + i], &expected[i], sizeof *got) == 0)
				continue;
			if (wrong->count++ == 0) {
				wrong->first = base + at + i;
				wrong->got = got[at + i];
				wrong->expected = expected[i];
			}
		}
	}
}

/* Bring a piece of the GPU's memory, of at most CHUNKS_BYTES, to the host's; NULL with err. */
static void *bring(
	const struct muster_nccl_session *s, CUdeviceptr from, size_t bytes, const char *what, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	void *to = resources->chunks.data;
	if (MUSTER_CUDA(resources->cuda, err, cuMemcpyDtoHAsync_v2, to, from, bytes, resources->stream) < 0 ||
		muster_nccl_finish(s, what, err) < 0)
		return NULL;
	return to;
}

/* All bytes from `at` on, piece by piece through the pinned memory. A piece is a whole number of tiles, so each begins
 * with the tile's first value. */
static int compare_on_host(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, const float *expected,
	struct muster_nccl_mismatch *ret, struct muster_error *err)
{
	*ret = (struct muster_nccl_mismatch){ 0 };
	for (uint64_t done = 0, here; done < bytes; done += here) {
		here = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
		const float *got = bring(s, at + done, (size_t)here, "copying the sum to the host", err);
		if (!got)
			return -1;
		muster_nccl_data_compare(got, expected, (size_t)here / sizeof *got, done / sizeof *got, ret);
	}
	return 0;
}

/* ---- what kernels count ---- */

/* Before a kernel that counts: the report is set to zeros, in the stream. */
static int begin_count(const struct muster_nccl_session *s, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	return MUSTER_CUDA(resources->cuda, err, cuMemsetD32Async, resources->report, 0,
		sizeof(struct muster_kernel_report) / sizeof(uint32_t), resources->stream);
}

/* After it: the report, which stays until the next use of the pinned memory; NULL with err. */
static const struct muster_kernel_report *end_count(const struct muster_nccl_session *s, struct muster_error *err)
{
	return bring(s, s->resources->report, sizeof(struct muster_kernel_report), "checking the data", err);
}

/* Whether each value of the sum is equal to the value one period before it. Only asked where kernels are loaded: a
 * quick run does not wait for the driver's compiler. *ret false: a value differs, or nothing was asked. */
static int repeats(
	const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, bool *ret, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_kernels *kernels = muster_kernels_loaded();
	*ret = false;
	if (!kernels || bytes % MUSTER_KERNEL_WORD != 0 || bytes <= PERIOD_BYTES)
		return 0;
	if (begin_count(s, err) < 0 ||
		muster_kernel_compare(resources->cuda, kernels, at + PERIOD_BYTES, at, (size_t)bytes - PERIOD_BYTES,
			resources->report, resources->stream, err) < 0)
		return -1;
	const struct muster_kernel_report *report = end_count(s, err);
	*ret = report && report->wrong == 0;
	return report ? 0 : -1;
}

/* A sum repeats itself as what it is made of does. When it does so everywhere, which the GPU finds out at the memory's
 * rate, its first period shows whether all of it is right: neither the bus nor the host's memory, which all ranks of a
 * node share, carries the rest. Else the host counts, and has the first wrong value. */
int muster_nccl_data_check(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, const float *expected,
	struct muster_nccl_mismatch *ret, struct muster_error *err)
{
	bool same;
	if (repeats(s, at, bytes, &same, err) < 0)
		return -1;
	if (compare_on_host(s, at, same ? PERIOD_BYTES : bytes, expected, ret, err) < 0)
		return -1;
	return same && ret->count > 0 ? compare_on_host(s, at, bytes, expected, ret, err) : 0;
}

/* ---- data that NCCL only moves: written and checked by kernels on the GPU ---- */

int muster_nccl_pattern_fill(
	const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed, struct muster_error *err)
{
	const struct muster_cuda *cuda = s->resources->cuda;
	const struct muster_kernels *kernels = muster_kernels(cuda, err);
	const struct muster_pattern pattern = muster_storage_pattern(seed);
	return kernels ? muster_kernel_fill(cuda, kernels, at, (size_t)bytes, &pattern, s->resources->stream, err) : -1;
}

/* How many values of 4 bytes differ in the 16-byte words that the kernel has counted. Returns false where the kernel
 * has counted more words than it keeps: then the host must look at the data. */
static bool count_kept(const struct muster_kernel_report *report, uint64_t *ret_wrong)
{
	uint64_t wrong = 0;
	if (report->noted != report->wrong || report->noted > MUSTER_DIFFERENCES_MAX)
		return false;
	for (size_t i = 0; i < report->noted; i++) {
		for (size_t half = 0; half < 2; half++) {
			uint64_t bits = report->noticed[i].read[half] ^ report->noticed[i].expected[half];
			wrong += (bits & UINT32_MAX) != 0;
			wrong += bits >> 32 != 0;
		}
	}
	*ret_wrong = wrong;
	return true;
}

/* The same count on the host, of all values. */
static int count_values(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed,
	uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_pattern pattern = muster_storage_pattern(seed);
	*ret_wrong = 0;
	for (uint64_t done = 0, here; done < bytes; done += here) {
		here = bytes - done < CHUNKS_BYTES ? bytes - done : CHUNKS_BYTES;
		const uint32_t *values = bring(s, at + done, (size_t)here, "copying wrong data to the host", err);
		for (size_t i = 0; values && i < here / sizeof(uint64_t); i++) {
			uint64_t word = muster_pattern_word(&pattern, done / sizeof word + i);
			*ret_wrong += values[2 * i] != (uint32_t)word;
			*ret_wrong += values[2 * i + 1] != (uint32_t)(word >> 32);
		}
		if (!values)
			return -1;
	}
	return 0;
}

int muster_nccl_pattern_check(const struct muster_nccl_session *s, CUdeviceptr at, uint64_t bytes, uint64_t seed,
	uint64_t *ret_wrong, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	const struct muster_kernels *kernels = muster_kernels(resources->cuda, err);
	const struct muster_pattern pattern = muster_storage_pattern(seed);
	if (!kernels || begin_count(s, err) < 0 ||
		muster_kernel_verify(resources->cuda, kernels, at, (size_t)bytes, &pattern, resources->report,
			resources->stream, err) < 0)
		return -1;
	const struct muster_kernel_report *report = end_count(s, err);
	if (!report)
		return -1;
	return count_kept(report, ret_wrong) ? 0 : count_values(s, at, bytes, seed, ret_wrong, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - numbers from a seed: the same on every machine (SplitMix64) */
#ifndef MUSTER_TESTS_COORD_RANDOM_H
#define MUSTER_TESTS_COORD_RANDOM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* In [0, 1). */
static inline double random_unit(struct random *r)
{
	return (double)(random_next(r) >> 11) * 0x1p-53;
}

static inline double random_between(struct random *r, double low, double high)
{
	return low + (high - low) * random_unit(r);
}

/* A whole number in [low, high]. */
static inline int random_int(struct random *r, int low, int high)
{
	return low + (int)(random_next(r) % (uint64_t)(high - low + 1));
}

static inline bool random_chance(struct random *r, double share)
{
	return random_unit(r) < share;
}

/* In [low, high], small numbers as likely as large ones. */
static inline int random_size(struct random *r, int low, int high)
{
	return (int)(low * exp(random_unit(r) * log((high + 0.999) / low)));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - what one training step consists of
 *
 * The products of a step in their order; out and in are those of the weight:
 *
 *   index     product                                     m        n        k
 *   0 to 4    forward, of weight 0 to 4                   out      tokens   in
 *   5, 6      backward, of weight 4: its gradient         out      in       tokens
 *             and the gradient of its input               in       tokens   out
 *   7, 8      the same two of weight 3
 *   ...
 *   13, 14    the same two of weight 0
 *
 * All have 2 x m x n x k = 2 x out x in x tokens operations, so the time of all products is proportional to the tokens.
 */
#include "probes/step/plan.h"

#include <math.h>

#define HIDDEN 4096
#define FEED_FORWARD 14336
#define HEAD 128
#define KEY_HEADS 8
#define GRADIENT_BYTES 2 /* BF16, as parameters are */
#define HALVINGS_MOST 10 /* to 0.4 MiB */

/* A weight is a matrix of out x in values. D of the forward pass is out x tokens. */
static const struct {
	size_t out, in;
} weights[MUSTER_STEP_WEIGHTS] = {
	{ HIDDEN + 2 * KEY_HEADS * HEAD, HIDDEN }, /* queries, keys and values in one product */
	{ HIDDEN, HIDDEN },                        /* output */
	{ FEED_FORWARD, HIDDEN },                  /* gate */
	{ FEED_FORWARD, HIDDEN },                  /* up */
	{ HIDDEN, FEED_FORWARD },                  /* down */
};

void muster_step_shapes(size_t tokens, struct muster_step_shape ret[MUSTER_STEP_PRODUCTS])
{
	for (int i = 0; i < MUSTER_STEP_WEIGHTS; i++) {
		size_t out = weights[i].out, in = weights[i].in;
		struct muster_step_shape *backward = &ret[MUSTER_STEP_PRODUCTS - 2 * (i + 1)];
		ret[i] = (struct muster_step_shape){ .m = out, .n = tokens, .k = in, .gradient = -1 };
		backward[0] = (struct muster_step_shape){ .m = out, .n = in, .k = tokens, .gradient = i };
		backward[1] = (struct muster_step_shape){ .m = in, .n = tokens, .k = out, .gradient = -1 };
	}
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* All products use the same A, B and D, so each of the three has the size of the largest product's. */
struct muster_step_room muster_step_room(size_t tokens, size_t from_bytes, size_t to_bytes)
{
	struct muster_step_shape shapes[MUSTER_STEP_PRODUCTS];
	struct muster_step_room room = { 0 };
	muster_step_shapes(tokens, shapes);
	for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++) {
		room.a = larger(room.a, shapes[i].k * shapes[i].m * from_bytes);
		room.b = larger(room.b, shapes[i].k * shapes[i].n * from_bytes);
		room.d = larger(room.d, shapes[i].m * shapes[i].n * to_bytes);
	}
	return room;
}

/* exact: the number of tokens that would take wanted_ms, since the time is proportional to the tokens. The next power
 * of two is taken where it is nearer to exact on a logarithmic scale, which is beyond tokens x sqrt(2). An example:
 * 2048 tokens take 8 ms and 5 ms are wanted; exact is 1280, between 1024 and 1448, so 1024 tokens. The result is never
 * below MUSTER_STEP_TOKENS_LEAST, even if that takes longer. */
size_t muster_step_tokens(size_t measured, double ms, double wanted_ms, size_t most)
{
	double exact = (double)measured * wanted_ms / ms;
	size_t tokens = MUSTER_STEP_TOKENS_LEAST;
	while (2 * tokens <= most && (double)tokens * sqrt(2) < exact)
		tokens *= 2;
	return tokens;
}

uint64_t muster_step_gradient(int weight, int halvings)
{
	return (uint64_t)(weights[weight].out * weights[weight].in) * GRADIENT_BYTES >> halvings;
}

uint64_t muster_step_gradients(int halvings)
{
	uint64_t bytes = 0;
	for (int i = 0; i < MUSTER_STEP_WEIGHTS; i++)
		bytes += muster_step_gradient(i, halvings);
	return bytes;
}

/* The time of an all-reduce is taken as proportional to its bytes. After HALVINGS_MOST halvings the gradients stay as
 * they are, even if their all-reduces take longer than most_ms. */
int muster_step_halvings(double measured, double ms, double most_ms)
{
	int halvings = 0;
	while (halvings < HALVINGS_MOST && (double)muster_step_gradients(halvings) / measured * ms > most_ms)
		halvings++;
	return halvings;
}

size_t muster_step_copies(double copy_ms, double wanted_ms, size_t most)
{
	double wanted = copy_ms > 0 ? round(wanted_ms / copy_ms) : 1; /* no time measured: one copy */
	return wanted < 1 ? 1 : wanted > (double)most ? most : (size_t)wanted;
}

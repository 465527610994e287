/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - what one training step consists of */
#include "probes/step/plan.h"

#include <math.h>

#define HIDDEN 4096
#define FEED_FORWARD 14336
#define HEAD 128
#define KEY_HEADS 8
#define GRADIENT_BYTES 2 /* BF16, as parameters are */
#define HALVINGS_MOST 10 /* to 0.4 MiB */

/* D of the forward pass is out x tokens. */
static const struct {
	size_t out, in;
} weights[MUSTER_STEP_WEIGHTS] = {
	{ HIDDEN + 2 * KEY_HEADS * HEAD, HIDDEN },
	{ HIDDEN, HIDDEN },
	{ FEED_FORWARD, HIDDEN },
	{ FEED_FORWARD, HIDDEN },
	{ HIDDEN, FEED_FORWARD },
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

/* exact is proportional to the time; a step up is taken where the next power of two is nearer on a logarithmic scale:
 * beyond tokens x sqrt(2). */
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

int muster_step_halvings(double measured, double ms, double most_ms)
{
	int halvings = 0;
	while (halvings < HALVINGS_MOST && (double)muster_step_gradients(halvings) / measured * ms > most_ms)
		halvings++;
	return halvings;
}

size_t muster_step_copies(double copy_ms, double wanted_ms, size_t most)
{
	double wanted = copy_ms > 0 ? round(wanted_ms / copy_ms) : 1;
	return wanted < 1 ? 1 : wanted > (double)most ? most : (size_t)wanted;
}

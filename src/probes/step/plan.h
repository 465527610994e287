/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what one training step consists of: products, gradients, tokens. Pure
 *
 * The shapes are those of one layer of Llama 3.1 8B (config.json of meta-llama/Llama-3.1-8B): hidden size 4096, feed
 * forward 14336, 32 heads of 128 with 8 for keys and values. Attention itself, norms and the optimiser are no part of
 * the step: the projections have more than nine tenths of a layer's operations at these lengths.
 */
#ifndef MUSTER_PROBES_STEP_PLAN_H
#define MUSTER_PROBES_STEP_PLAN_H

#include <stddef.h>
#include <stdint.h>

/* The projections of a layer, in the order of the forward pass: queries, keys and values; output; gate; up; down. */
#define MUSTER_STEP_WEIGHTS 5
/* For each: its product forward, and backward those for the gradients of its weight and of its input. */
#define MUSTER_STEP_PRODUCTS (3 * MUSTER_STEP_WEIGHTS)

#define MUSTER_STEP_TOKENS_LEAST 256
#define MUSTER_STEP_TOKENS_MOST 32768

/* D = A'B: A is k x m, B is k x n, D is m x n. */
struct muster_step_shape {
	size_t m, n, k;
	int gradient; /* the weight whose gradient this product makes; -1: of none */
};

/* The products of a step in their order, for so many tokens: forward, then backward from the last weight to the first.
 */
void muster_step_shapes(size_t tokens, struct muster_step_shape ret[MUSTER_STEP_PRODUCTS]);

/* Bytes of the largest A, B and D of these shapes, with so many bytes for a value of A and B, and of D. */
struct muster_step_room {
	size_t a, b, d;
};
struct muster_step_room muster_step_room(size_t tokens, size_t from_bytes, size_t to_bytes);

/* The number of tokens, a power of two of at most `most`, for which the products take about wanted_ms when they take
 * ms for `measured` tokens: the nearest on a logarithmic scale. */
size_t muster_step_tokens(size_t measured, double ms, double wanted_ms, size_t most);

/* How often all gradients (2 bytes a value) are halved until all-reduces of them take no longer than most_ms, when
 * those of `measured` bytes take ms. */
int muster_step_halvings(double measured, double ms, double most_ms);
/* Bytes of a weight's gradient after so many halvings, a multiple of 4; of all weights. */
uint64_t muster_step_gradient(int weight, int halvings);
uint64_t muster_step_gradients(int halvings);

/* How many copies of copy_ms fill wanted_ms, 1 to most. */
size_t muster_step_copies(double copy_ms, double wanted_ms, size_t most);

#endif

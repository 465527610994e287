/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_plan.c - what a training step consists of: shapes, tokens, gradients, copies */
#include "probes/step/plan.h"
#include "check_main.h"

TEST(a_step_has_each_weight_three_times_and_backward_from_the_last)
{
	struct muster_step_shape shapes[MUSTER_STEP_PRODUCTS];
	double operations = 0;
	size_t gradients = 0;
	muster_step_shapes(2048, shapes);
	for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++) {
		const struct muster_step_shape *s = &shapes[i];
		operations += 2.0 * (double)s->m * (double)s->n * (double)s->k;
		if (s->gradient < 0)
			continue;
		ck_assert_int_eq(s->gradient, MUSTER_STEP_WEIGHTS - 1 - (int)gradients++);
		ck_assert_uint_eq(s->k, 2048);
		ck_assert_uint_eq(s->m * s->n * 2, muster_step_gradient(s->gradient, 0));
		ck_assert_uint_ge(i, MUSTER_STEP_WEIGHTS);
	}
	ck_assert_uint_eq(gradients, MUSTER_STEP_WEIGHTS);
	/* 6 operations for each parameter and token */
	ck_assert_double_eq_tol(operations, 6 * 218103808.0 * 2048, 1e6);
	ck_assert_uint_eq(muster_step_gradients(0), 2 * 218103808u);
}

TEST(every_matrix_has_room)
{
	struct muster_step_shape shapes[MUSTER_STEP_PRODUCTS];
	for (size_t tokens = MUSTER_STEP_TOKENS_LEAST; tokens <= MUSTER_STEP_TOKENS_MOST; tokens *= 2) {
		struct muster_step_room room = muster_step_room(tokens, 2, 4);
		muster_step_shapes(tokens, shapes);
		for (size_t i = 0; i < MUSTER_STEP_PRODUCTS; i++) {
			ck_assert_uint_le(shapes[i].k * shapes[i].m * 2, room.a);
			ck_assert_uint_le(shapes[i].k * shapes[i].n * 2, room.b);
			ck_assert_uint_le(shapes[i].m * shapes[i].n * 4, room.d);
		}
	}
	ck_assert_uint_eq(muster_step_room(256, 2, 4).d, (size_t)14336 * 4096 * 4);
	ck_assert_uint_eq(muster_step_room(8192, 2, 4).d, (size_t)14336 * 8192 * 4);
}

/* 1024 tokens take ms; 5 ms are wanted. */
static const struct {
	double ms;
	size_t most, tokens;
} lengths[] = {
	{ 5, 8192, 1024 },
	{ 3.6, 8192, 1024 },
	{ 3.5, 8192, 2048 },
	{ 2.5, 8192, 2048 },
	{ 7, 8192, 1024 },
	{ 7.1, 8192, 512 },
	{ 0.1, 8192, 8192 },
	{ 0.1, 4096, 4096 },
	{ 1e6, 8192, 256 },
	{ 0.1, 256, 256 },
};

TEST(tokens_are_the_power_of_two_that_is_nearest)
{
	for (size_t i = 0; i < LENGTH(lengths); i++)
		ck_assert_uint_eq(muster_step_tokens(1024, lengths[i].ms, 5, lengths[i].most), lengths[i].tokens);
}

TEST(gradients_are_halved_until_they_fit_beside_the_products)
{
	double all = (double)muster_step_gradients(0);
	ck_assert_int_eq(muster_step_halvings(all, 5, 5), 0);
	ck_assert_int_eq(muster_step_halvings(all, 5.1, 5), 1);
	ck_assert_int_eq(muster_step_halvings(all / 4, 5, 5), 2);
	ck_assert_int_eq(muster_step_halvings(all, 1e9, 5), 10);
	for (int halvings = 0; halvings <= 10; halvings++)
		for (int weight = 0; weight < MUSTER_STEP_WEIGHTS; weight++)
			ck_assert_uint_eq(muster_step_gradient(weight, halvings) % 4, 0);
}

TEST(copies_fill_the_time_of_the_products)
{
	ck_assert_uint_eq(muster_step_copies(0.34, 5, 256), 15);
	ck_assert_uint_eq(muster_step_copies(8, 5, 256), 1);
	ck_assert_uint_eq(muster_step_copies(100, 5, 256), 1);
	ck_assert_uint_eq(muster_step_copies(0.001, 5, 256), 256);
	ck_assert_uint_eq(muster_step_copies(0, 5, 256), 1);
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_pairs.c - every edge, every rail and, when asked for, every pair of a node exactly once, and no rank twice in a
 * round
 */
#include "localize/pairs.h"

#include "check_main.h"
#include "muster/arena.h"

#include <stdlib.h>

/* Nodes of `ranks` ranks each, of which `missing` are not in the ring: every missingth rank of the job. */
struct shape {
	size_t nodes, ranks, missing;
	bool uneven; /* node n has 1 + n % ranks of them */
	bool cyclic; /* ranks are placed over the nodes in turn */
};

static const struct shape shapes[] = {
	{ 1, 1, 0, false, false },
	{ 1, 2, 0, false, false },
	{ 1, 3, 0, false, false },
	{ 1, 4, 0, false, false },
	{ 1, 5, 0, false, false },
	{ 1, 6, 0, false, false },
	{ 1, 7, 0, false, false },
	{ 1, 8, 0, false, false },
	{ 1, 9, 0, false, false },
	{ 1, 16, 0, false, false },
	{ 1, 31, 0, false, false },
	{ 2, 1, 0, false, false },
	{ 2, 2, 0, false, false },
	{ 2, 8, 0, false, true },
	{ 3, 1, 0, false, false },
	{ 3, 4, 0, false, false },
	{ 3, 8, 0, false, true },
	{ 3, 9, 0, true, false },
	{ 5, 8, 7, false, false },
	{ 9, 9, 0, true, true },
	{ 16, 8, 0, false, false },
	{ 16, 8, 5, false, true },
	{ 17, 5, 0, true, false },
	{ 1000, 1, 0, false, false },
	{ 1000, 8, 0, false, false },
	{ 999, 4, 11, true, true },
};

enum { NODES = 1000, RANKS = 32 };

static struct muster_pairs_member members[NODES * RANKS];
static size_t count;
static int at[NODES][RANKS]; /* the member's number; -1 */

static size_t size_of(const struct shape *shape, size_t node)
{
	return shape->uneven ? 1 + node % shape->ranks : shape->ranks;
}

static void add(const struct shape *shape, size_t node, size_t position, size_t *job_rank)
{
	at[node][position] = -1;
	if (position >= size_of(shape, node) || (shape->missing && (*job_rank)++ % shape->missing == 1))
		return;
	at[node][position] = (int)count;
	members[count++] = (struct muster_pairs_member){ node, position };
}

static void make(const struct shape *shape)
{
	size_t job_rank = 0;
	count = 0;
	for (size_t outer = 0; outer < (shape->cyclic ? RANKS : shape->nodes); outer++)
		for (size_t inner = 0; inner < (shape->cyclic ? shape->nodes : RANKS); inner++)
			add(shape, shape->cyclic ? inner : outer, shape->cyclic ? outer : inner, &job_rank);
}

/* The pairs that there must be, one by one, as lower number * count + higher number. */
struct wanted {
	size_t *items, count;
};

static void want(struct wanted *wanted, int a, int b)
{
	size_t low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);
	wanted->items[wanted->count++] = low * count + high;
}

/* The cycle of these members; two of them have one edge. */
static void want_cycle(struct wanted *wanted, const int *cycle, size_t size)
{
	for (size_t i = 0; size > 1 && i < (size == 2 ? 1 : size); i++)
		want(wanted, cycle[i], cycle[(i + 1) % size]);
}

static void want_others(struct wanted *wanted, const int *cycle, size_t size)
{
	for (size_t i = 0; i < size; i++)
		for (size_t j = i + 2; j < size; j++)
			if (j - i != size - 1)
				want(wanted, cycle[i], cycle[j]);
}

static void find_wanted(const struct shape *shape, enum muster_traffic_kind kind, struct wanted *wanted)
{
	static int cycle[NODES];
	bool rails = kind == MUSTER_TRAFFIC_KIND_RAIL;
	for (size_t i = 0; i < (rails ? RANKS : shape->nodes); i++) {
		size_t size = 0;
		for (size_t j = 0; j < (rails ? shape->nodes : RANKS); j++) {
			int member = rails ? at[j][i] : at[i][j];
			if (member >= 0)
				cycle[size++] = member;
		}
		if (kind == MUSTER_TRAFFIC_KIND_PAIR)
			want_others(wanted, cycle, size);
		else
			want_cycle(wanted, cycle, size);
	}
}

static int by_number(const void *x, const void *y)
{
	const size_t *a = x, *b = y;
	return (*a > *b) - (*a < *b);
}

static void compare(struct wanted *had, struct wanted *wanted, enum muster_traffic_kind kind)
{
	qsort(had->items, had->count, sizeof *had->items, by_number);
	qsort(wanted->items, wanted->count, sizeof *wanted->items, by_number);
	ck_assert_msg(had->count == wanted->count, "%zu %ss instead of %zu", had->count,
		muster_traffic_kind_names[kind], wanted->count);
	for (size_t i = 0; i < had->count; i++)
		ck_assert_uint_eq(had->items[i], wanted->items[i]);
}

static void check_shape(const struct shape *shape, enum muster_pairs_plan plan)
{
	struct muster_pairs pairs;
	struct wanted had[MUSTER_TRAFFIC_KIND_COUNT], wanted = { 0 };
	int rounds[MUSTER_TRAFFIC_KIND_COUNT] = { 0 }, *peers = muster_calloc(NODES * RANKS, sizeof *peers);
	size_t room = count * RANKS + 1;
	enum muster_traffic_kind last = MUSTER_TRAFFIC_KIND_EDGE;
	for (int kind = 0; kind < MUSTER_TRAFFIC_KIND_COUNT; kind++)
		had[kind] = (struct wanted){ muster_calloc(room, sizeof(size_t)), 0 };
	wanted.items = muster_calloc(room, sizeof(size_t));
	muster_pairs_init(&pairs, members, count, plan);
	for (int round = 0; round < pairs.rounds; round++) {
		enum muster_traffic_kind kind = muster_pairs_round(&pairs, round, peers);
		size_t before = had[kind].count;
		ck_assert_int_ge(kind, last); /* edges, then pairs, then rails */
		last = kind;
		rounds[kind]++;
		for (size_t i = 0; i < count; i++) {
			if (peers[i] < 0)
				continue;
			ck_assert_int_eq(peers[peers[i]], (int)i); /* so no rank is in two pairs */
			ck_assert_int_ne(peers[i], (int)i);
			if (peers[i] > (int)i)
				want(&had[kind], (int)i, peers[i]);
		}
		ck_assert_uint_gt(had[kind].count, before); /* no round is empty */
	}
	ck_assert_int_le(rounds[MUSTER_TRAFFIC_KIND_EDGE], 3);
	ck_assert_int_le(rounds[MUSTER_TRAFFIC_KIND_RAIL], 3);
	ck_assert_int_le(rounds[MUSTER_TRAFFIC_KIND_PAIR], plan == MUSTER_PAIRS_ALL ? (int)(shape->ranks | 1) : 0);
	ck_assert_int_eq(rounds[MUSTER_TRAFFIC_KIND_ALL], 0);
	for (int kind = MUSTER_TRAFFIC_KIND_EDGE; kind < MUSTER_TRAFFIC_KIND_COUNT; kind++) {
		wanted.count = 0;
		if (kind == MUSTER_TRAFFIC_KIND_RAIL || plan == MUSTER_PAIRS_ALL ||
			(kind == MUSTER_TRAFFIC_KIND_EDGE && plan == MUSTER_PAIRS_EDGES))
			find_wanted(shape, (enum muster_traffic_kind)kind, &wanted);
		compare(&had[kind], &wanted, (enum muster_traffic_kind)kind);
	}
	muster_pairs_done(&pairs);
	for (int kind = 0; kind < MUSTER_TRAFFIC_KIND_COUNT; kind++)
		free(had[kind].items);
	free(wanted.items);
	free(peers);
}

TEST_EACH(every_pair_comes_once_and_no_rank_is_in_two, shapes)
{
	make(&shapes[_i]);
	for (int plan = MUSTER_PAIRS_RAILS; plan <= MUSTER_PAIRS_ALL; plan++)
		check_shape(&shapes[_i], (enum muster_pairs_plan)plan);
}

/* ranks of one node, or nodes of one rank → rounds of edges, or of rails */
static const struct {
	size_t size;
	int rounds;
} cycles[] = { { 1, 0 }, { 2, 1 }, { 3, 3 }, { 4, 2 }, { 5, 3 }, { 8, 2 }, { 9, 3 } };

TEST_EACH(an_even_cycle_takes_two_rounds_and_an_odd_one_three, cycles)
{
	struct muster_pairs edges, rails;
	make(&(struct shape){ 1, cycles[_i].size, 0, false, false });
	muster_pairs_init(&edges, members, count, MUSTER_PAIRS_EDGES);
	make(&(struct shape){ cycles[_i].size, 1, 0, false, false });
	muster_pairs_init(&rails, members, count, MUSTER_PAIRS_EDGES);
	ck_assert_int_eq(edges.rounds, cycles[_i].rounds);
	ck_assert_int_eq(rails.rounds, cycles[_i].rounds);
	muster_pairs_done(&edges);
	muster_pairs_done(&rails);
}

TEST(nothing_is_planned_for_an_empty_ring)
{
	struct muster_pairs pairs;
	muster_pairs_init(&pairs, members, 0, MUSTER_PAIRS_ALL);
	ck_assert_int_eq(pairs.rounds, 0);
	muster_pairs_done(&pairs);
}

TEST_MAIN(.timeout = 200)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - made-up networks: trial rings are planned, tried and judged until the cause is named */
#include "muster/arena.h"
#include "localize/plan.h"
#include "unit/localize/attempts.h"
#include "unit/localize/network.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with a network. Nodes count from 0; lists end with -1. */
struct world {
	const char *name;
	size_t nodes;
	int bad[4];        /* fail in every ring with others */
	int dead_alone[2]; /* fail alone, too */
	int links[6];      /* pairs that fail in a ring of both */
	size_t cut;        /* nodes below it cannot talk to the others */
	size_t stride;     /* nodes of different remainders cannot talk to each other */
	bool healthy_ring; /* nothing is wrong, and trials were wanted all the same */
	const char *expected;
	size_t rest;   /* nodes of the last ring */
	size_t rounds; /* at most */
};

#define NONE                                                                                                           \
	{                                                                                                              \
		-1                                                                                                     \
	}

static const struct world worlds[] = {
	{ "healthy", 16, NONE, NONE, NONE, 0, 0, true, "", 16, 6 },
	{ "one bad of 2", 2, { 1, -1 }, NONE, NONE, 0, 0, false, "unexplained 1", 2, 2 },
	{ "one bad of 3", 3, { 1, -1 }, NONE, NONE, 0, 0, false, "node 1", 2, 4 },
	{ "the first bad of 3", 3, { 0, -1 }, NONE, NONE, 0, 0, false, "node 0", 2, 4 },
	{ "the last bad of 3", 3, { 2, -1 }, NONE, NONE, 0, 0, false, "node 2", 2, 4 },
	{ "one bad of 5", 5, { 3, -1 }, NONE, NONE, 0, 0, false, "node 3", 4, 4 },
	{ "one bad of 16", 16, { 6, -1 }, NONE, NONE, 0, 0, false, "node 6", 15, 3 },
	{ "two bad of 16", 16, { 2, 9, -1 }, NONE, NONE, 0, 0, false, "node 2; node 9", 14, 4 },
	{ "two bad neighbours of 16", 16, { 4, 5, -1 }, NONE, NONE, 0, 0, false, "node 4; node 5", 14, 3 },
	{ "three bad of 5", 5, { 0, 1, 2, -1 }, NONE, NONE, 0, 0, false, "node 0; node 1; node 2", 2, 8 },
	{ "one bad of 64", 64, { 63, -1 }, NONE, NONE, 0, 0, false, "node 63", 63, 3 },
	{ "one bad of 1000", 1000, { 500, -1 }, NONE, NONE, 0, 0, false, "node 500", 999, 3 },
	{ "two bad of 1000", 1000, { 0, 999, -1 }, NONE, NONE, 0, 0, false, "node 0; node 999", 998, 3 },
	{ "dead alone of 16", 16, NONE, { 3, -1 }, NONE, 0, 0, false, "node 3 alone", 15, 1 },
	{ "dead alone of 2", 2, NONE, { 1, -1 }, NONE, 0, 0, false, "node 1 alone", 1, 1 },
	{ "a bad link of 3", 3, NONE, NONE, { 0, 2, -1 }, 0, 0, false, "link 0-2", 2, 6 },
	{ "a bad link between neighbours of 16", 16, NONE, NONE, { 2, 3, -1 }, 0, 0, false, "link 2-3", 15, 3 },
	{ "a bad link of 16", 16, NONE, NONE, { 3, 10, -1 }, 0, 0, false, "link 3-10", 15, 17 },
	{ "another bad link of 16", 16, NONE, NONE, { 2, 4, -1 }, 0, 0, false, "link 2-4", 15, 13 },
	{ "two bad links of 16", 16, NONE, NONE, { 0, 1, 7, 12, -1 }, 0, 0, false, "link 0-1; link 7-12", 14, 26 },
	/* that neither 0-2 with 1-3 nor 4 with both look like a split */
	{ "two bad links of 5", 5, NONE, NONE, { 0, 1, 2, 3, -1 }, 0, 0, false, "link 0-1; link 2-3", 3, 12 },
	{ "two bad links of 4", 4, NONE, NONE, { 0, 1, 2, 3, -1 }, 0, 0, false, "link 0-1; link 2-3", 2, 12 },
	{ "a bad link of 1000", 1000, NONE, NONE, { 123, 877, -1 }, 0, 0, false, "link 123-877", 999, 44 },
	{ "half of 16", 16, NONE, NONE, NONE, 8, 0, false, "split 0 8", 8, 7 },
	{ "every other one of 16", 16, NONE, NONE, NONE, 0, 2, false, "split 0 1", 8, 8 },
	{ "every third one of 16", 16, NONE, NONE, NONE, 0, 3, false, "split 0 1 2", 6, 12 },
	{ "two of 5", 5, NONE, NONE, NONE, 2, 0, false, "split 0 2", 3, 6 },
	{ "half of 64", 64, NONE, NONE, NONE, 32, 0, false, "split 0 32", 32, 9 },
	{ "half of 1000", 1000, NONE, NONE, NONE, 500, 0, false, "split 0 500", 500, 14 },
	{ "half of 16 and one bad", 16, { 4, -1 }, NONE, NONE, 8, 0, false, "node 4; split 0 8", 8, 9 },
	{ "one of 16 cut off", 16, NONE, NONE, NONE, 1, 0, false, "node 0", 15, 3 },
	{ "all bad of 5", 5, NONE, NONE, NONE, 0, 5, false, "unexplained 10", 5, 9 },
	{ "all bad of 16", 16, NONE, NONE, NONE, 0, 16, false, "unexplained", 16, 18 },
};

static bool listed(const int *list, const size_t *nodes, size_t count)
{
	for (; *list >= 0; list++)
		for (size_t i = 0; i < count; i++)
			if (nodes[i] == (size_t)*list)
				return true;
	return false;
}

static bool has(const size_t *nodes, size_t count, int node)
{
	const int list[] = { node, -1 };
	return listed(list, nodes, count);
}

/* Whether a ring of these nodes works in this world. */
static bool try(const struct world *world, const size_t *nodes, size_t count)
{
	if (listed(world->dead_alone, nodes, count))
		return false;
	if (count == 1)
		return true;
	for (const int *link = world->links; *link >= 0; link += 2)
		if (has(nodes, count, link[0]) && has(nodes, count, link[1]))
			return false;
	for (size_t i = 1; i < count; i++)
		if ((nodes[i] < world->cut) != (nodes[0] < world->cut) ||
			(world->stride && nodes[i] % world->stride != nodes[0] % world->stride))
			return false;
	return !listed(world->bad, nodes, count);
}

static bool note(struct muster_plan *plan, const struct world *world, const size_t *nodes, size_t count)
{
	bool ok = try(world, nodes, count);
	muster_plan_note(plan, nodes, count,
		(struct muster_plan_result){ ok ? MUSTER_TRIAL_OK : MUSTER_TRIAL_FAILED, .seconds = 1 });
	return ok;
}

/* Try all teams of a round. No node may be in two of them, and none in one that was suspected before. */
static void try_round(struct muster_plan *plan, const struct world *world, const size_t *teams, size_t count)
{
	size_t *nodes = muster_calloc(world->nodes, sizeof *nodes);
	for (size_t team = 0; team < count; team++) {
		size_t members = 0;
		for (size_t i = 0; i < world->nodes; i++)
			if (teams[i] == team)
				nodes[members++] = i;
		ck_assert_uint_gt(members, 0);
		note(plan, world, nodes, members);
	}
	free(nodes);
}

static void describe(const struct muster_plan *plan, char *out, size_t size)
{
	struct muster_suspects s;
	muster_suspects_find(plan->attempts, plan->attempt_count, plan->nodes, &s);
	describe_blame(&s, out, size);
	muster_suspects_done(&s);
}

static const struct test_fixture long_timeout = { .timeout = 200 };

TEST_WITH(the_cause_is_named, .end = LENGTH(worlds), .fixture = &long_timeout)
{
	const struct world *world = &worlds[_i];
	struct muster_plan plan;
	size_t *teams = muster_calloc(world->nodes, sizeof *teams), rounds = 0, count;
	size_t *all = muster_calloc(world->nodes, sizeof *all), rest = 0;
	bool *in = muster_calloc(world->nodes, sizeof *in), good = false;
	char found[4096];
	muster_plan_init(&plan, world->nodes);
	for (size_t i = 0; i < world->nodes; i++)
		all[i] = i;
	if (world->nodes > 2)
		ck_assert_msg(note(&plan, world, all, world->nodes) == world->healthy_ring, "%s", world->name);
	/* as rank 0 does: trials until nothing is left to explain, then a ring of the rest, and so on until it works */
	for (int rings = 0; rings < 3 && !good; rings++) {
		while ((count = muster_plan_next(&plan, teams)) > 0) {
			ck_assert_uint_lt(rounds, 100);
			rounds++;
			try_round(&plan, world, teams, count);
		}
		rest = muster_plan_rest(&plan, in);
		count = 0;
		for (size_t i = 0; i < world->nodes; i++)
			if (in[i])
				all[count++] = i;
		ck_assert_uint_eq(count, rest);
		good = rest < 2 || rest == world->nodes || note(&plan, world, all, rest);
	}
	describe(&plan, found, sizeof found);
	if (strcmp(world->expected, "unexplained") == 0)
		ck_assert_msg(strncmp(found, "unexplained", 11) == 0, "%s: %s", world->name, found);
	else
		ck_assert_msg(
			strcmp(found, world->expected) == 0, "%s: %s, not %s", world->name, found, world->expected);
	ck_assert_msg(good, "%s: the last ring does not work", world->name);
	ck_assert_msg(rest == world->rest, "%s: %zu nodes are left", world->name, rest);
	ck_assert_msg(rounds <= world->rounds, "%s: %zu rounds", world->name, rounds);
	muster_plan_done(&plan);
	free(teams);
	free(all);
	free(in);
}

/* Wherever the bad node or link is. */
TEST_WITH(any_node_and_any_link_of_seven_is_found, .end = 49, .fixture = &long_timeout)
{
	struct world world = worlds[0];
	int a = _i / 7, b = _i % 7;
	char expected[64];
	if (a > b)
		return;
	world.nodes = 7;
	world.healthy_ring = false;
	memcpy(world.bad, a == b ? (int[]){ a, -1 } : (int[]){ -1, -1 }, 2 * sizeof(int));
	memcpy(world.links, a == b ? (int[]){ -1, -1, -1 } : (int[]){ a, b, -1 }, 3 * sizeof(int));
	snprintf(expected, sizeof expected, a == b ? "node %d" : "link %d-%d", a, b);

	struct muster_plan plan;
	size_t teams[7], all[] = { 0, 1, 2, 3, 4, 5, 6 }, count, rounds = 0;
	char found[4096];
	muster_plan_init(&plan, 7);
	ck_assert(!note(&plan, &world, all, 7));
	while ((count = muster_plan_next(&plan, teams)) > 0 && rounds++ < 100)
		try_round(&plan, &world, teams, count);
	describe(&plan, found, sizeof found);
	ck_assert_str_eq(found, expected);
	ck_assert(muster_plan_explained(&plan));
	muster_plan_done(&plan);
}

/* ---- networks from a seed ---- */

/* Plays a search as rank 0 does, and says what a test wants to know of it. */
struct search {
	struct network network;
	struct muster_plan plan;
	size_t teams[NETWORK_NODES_MAX], all[NETWORK_NODES_MAX], left, rounds;
	bool rest[NETWORK_NODES_MAX];
	bool good; /* the last full ring works */
};

static bool note_network(struct search *search, const size_t *nodes, size_t count)
{
	bool ok = network_try(&search->network, nodes, count);
	muster_plan_note(&search->plan, nodes, count,
		(struct muster_plan_result){ ok ? MUSTER_TRIAL_OK : MUSTER_TRIAL_FAILED, .seconds = 1 });
	return ok;
}

static void play_round(struct search *search, size_t count)
{
	size_t members[NETWORK_NODES_MAX];
	for (size_t i = search->network.nodes; i < NETWORK_NODES_MAX; i++)
		ck_assert_uint_eq(search->teams[i], MUSTER_NO_GROUP); /* nothing is written behind the last node */
	for (size_t team = 0; team < count; team++) {
		size_t size = 0;
		for (size_t i = 0; i < search->network.nodes; i++)
			if (search->teams[i] == team)
				members[size++] = i;
		ck_assert_uint_gt(size, 0);
		note_network(search, members, size);
	}
	search->rounds++;
}

/* Trials until nothing is left to explain, then a ring of the rest, and so on until it works. */
static void play(struct search *search)
{
	size_t count, nodes = search->network.nodes;
	memset(search->teams, 0xff, sizeof search->teams); /* MUSTER_NO_GROUP each */
	muster_plan_init(&search->plan, nodes);
	for (size_t i = 0; i < nodes; i++)
		search->all[i] = i;
	if (nodes > 2)
		note_network(search, search->all, nodes);
	for (int rings = 0; rings < 3 && !search->good; rings++) {
		while ((count = muster_plan_next(&search->plan, search->teams)) > 0 && search->rounds < 200)
			play_round(search, count);
		search->left = muster_plan_rest(&search->plan, search->rest);
		count = 0;
		for (size_t i = 0; i < nodes; i++)
			if (search->rest[i])
				search->all[count++] = i;
		search->good = count < 2 || count == nodes || note_network(search, search->all, count);
	}
}

/* The cause as describe_blame() would say it; NULL when trials cannot tell it. */
static const char *cause_of(const struct network *n, char *out, size_t size)
{
	size_t wrong = 0, used = 0, links = 0, members[NETWORK_NODES_MAX] = { 0 }, small = 0;
	*out = '\0';
	for (size_t i = 0; i < n->nodes; i++)
		if (n->bad[i] || n->dead[i]) {
			used += (size_t)snprintf(out + used, size - used, "%snode %zu%s", used ? "; " : "", i,
				n->dead[i] ? " alone" : "");
			wrong += !n->dead[i];
		}
	for (size_t i = 0; i < n->nodes; i++)
		for (size_t j = i + 1; j < n->nodes; j++)
			if (n->link[i][j]) {
				used += (size_t)snprintf(out + used, size - used, "link %zu-%zu", i, j);
				links++;
			}
	for (size_t i = 0; i < n->nodes; i++)
		members[n->group[i]]++;
	for (size_t i = 0; n->groups && i < n->groups; i++)
		small += members[i] < 2 || 3 * members[i] <= n->nodes;
	/* small groups look like bad nodes */
	if (links > 1 || (links == 1 && n->nodes < 3) || small > 0 || 4 * wrong > n->nodes)
		return NULL;
	if (n->groups > 1)
		used += (size_t)snprintf(out + used, size - used, "split");
	for (size_t i = 0; n->groups > 1 && i < n->nodes; i++) {
		bool lowest = true;
		for (size_t j = 0; j < i; j++)
			lowest = lowest && n->group[j] != n->group[i];
		if (lowest)
			used += (size_t)snprintf(out + used, size - used, " %zu", i);
	}
	return out;
}

/* Whatever is wrong: exactly that is suspected, and what is left works. */
TEST_WITH(a_search_ends_with_the_cause_and_nothing_else, .end = 4, .fixture = &long_timeout)
{
	static const enum network_kind kinds[] = { BAD_NODES, BAD_LINKS, PARTITION, DEAD_NODES };
	char found[4096], expected[4096];
	size_t told = 0;
	for (uint64_t seed = 1000; seed < 1400; seed++) {
		struct search search = { .network = network_new(seed, kinds[_i], NETWORK_NODES_MAX) };
		if (!cause_of(&search.network, expected, sizeof expected))
			continue;
		play(&search);
		describe(&search.plan, found, sizeof found);
		ck_assert_msg(strcmp(found, expected) == 0, "kind %d, seed %d, %zu nodes: %s, not %s", kinds[_i],
			(int)seed, search.network.nodes, found, expected);
		ck_assert_msg(search.good && search.left > 0, "kind %d, seed %d", kinds[_i], (int)seed);
		ck_assert(muster_plan_explained(&search.plan));
		muster_plan_done(&search.plan);
		told++;
	}
	ck_assert_uint_gt(told, 40);
}

/* ---- time ---- */

/* The text is trials as attempts.h has them. */
static void note_text(struct muster_plan *plan, const char *text)
{
	struct muster_attempt attempts[32];
	size_t count = attempts_of(text, attempts, 32);
	for (size_t i = 0; i < count; i++)
		muster_plan_note(plan, attempts[i].nodes, attempts[i].nodes[0] == attempts[i].nodes[1] ? 1 : 2,
			(struct muster_plan_result){ attempts[i].status, attempts[i].seconds });
}

TEST(a_round_needs_four_times_the_slowest_trial_that_passed)
{
	static const struct {
		const char *trials;
		double least_ms;
	} cases[] = {
		{ "", 0 },
		{ "0 failed 4s; 1 failed", 0 },
		{ "0 ok 2s; 1 ok 1s; 2 failed 5s; 3 late 9s", 8000 },
		{ "0 ok 1s; 1 ok 1s; 0-1 ok 1.5s", 6000 },
		{ "0 late 1s; 1 failed 1s", 9000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct muster_plan plan;
		muster_plan_init(&plan, 4);
		note_text(&plan, cases[i].trials);
		ck_assert_msg(muster_plan_least_ms(&plan) == cases[i].least_ms, "%s: %g ms", cases[i].trials,
			muster_plan_least_ms(&plan));
		muster_plan_done(&plan);
	}
}

TEST(a_round_gets_what_it_needs_or_is_not_begun)
{
	static const struct {
		double wanted_ms, left_ms, ms;
	} cases[] = {
		{ 5000, 20000, 8000 },
		{ 9000, 20000, 9000 },
		{ 5000, 8000, 8000 },
		{ 5000, 7999, 0 },
		{ 9000, 8999, 0 },
	};
	struct muster_plan plan;
	muster_plan_init(&plan, 4);
	ck_assert_double_eq(muster_plan_round_ms(&plan, 1, 1), 1);
	note_text(&plan, "0 ok 2s");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_double_eq(muster_plan_round_ms(&plan, cases[i].wanted_ms, cases[i].left_ms), cases[i].ms);
	muster_plan_done(&plan);
}

/* The teams of the next round as text, "0 1-3 2": by team. */
static const char *next_text(struct muster_plan *plan)
{
	static char text[256];
	size_t teams[16], used = 0, count = muster_plan_next(plan, teams);
	*text = '\0';
	for (size_t team = 0; team < count; team++)
		for (size_t i = 0, found = 0; i < plan->nodes; i++)
			if (teams[i] == team)
				used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu",
					found++ ? "-"
					: used  ? " "
						: "",
					i);
	return text;
}

TEST(what_had_too_little_time_is_tried_again)
{
	struct muster_plan plan;
	muster_plan_init(&plan, 4);
	ck_assert_str_eq(next_text(&plan), "0 1 2 3");
	note_text(&plan, "0 late 2s; 1 late 2s; 2 late 2s; 3 late 2s");
	ck_assert_str_eq(next_text(&plan), "0 1 2 3");
	note_text(&plan, "0 ok 3s; 1 ok 3s; 2 ok 3s; 3 late 8.9s");
	ck_assert_str_eq(next_text(&plan), "0-1 2-3");
	note_text(&plan, "0-1 late 8.9s; 2-3 late 8.9s");
	ck_assert_str_eq(next_text(&plan), "0-1 2-3");
	note_text(&plan, "0-1 ok 3s; 2-3 late 9s");
	ck_assert_str_eq(next_text(&plan), "0-3 1-2");
	muster_plan_done(&plan);
}

/* A ring that needs more than two nodes to fail: every pair of nodes is tried, and no node is a suspect. */
TEST(every_pair_is_tried_before_the_search_ends)
{
	const struct world world = { .nodes = 9, .bad = { -1 }, .dead_alone = { -1 }, .links = { -1 } };
	const size_t nodes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct muster_plan plan;
	size_t teams[9], count, rounds = 0;
	muster_plan_init(&plan, 9);
	muster_plan_note(&plan, nodes, 9, (struct muster_plan_result){ .status = MUSTER_TRIAL_FAILED });
	while ((count = muster_plan_next(&plan, teams)) > 0 && rounds++ < 20)
		try_round(&plan, &world, teams, count);
	ck_assert_uint_eq(plan.attempt_count, 9 + 9 * 8 / 2);
	ck_assert_uint_eq(plan.suspects.edge_count, 9 * 8 / 2);
	ck_assert(!muster_plan_explained(&plan));
	muster_plan_done(&plan);
}

/* Without a ring that failed it is enough that all nodes work together through others. */
TEST(a_good_ring_needs_no_more_than_a_cycle)
{
	const struct world world = { .nodes = 16, .bad = { -1 }, .dead_alone = { -1 }, .links = { -1 } };
	struct muster_plan plan;
	size_t teams[16], count, rounds = 0;
	muster_plan_init(&plan, 16);
	while ((count = muster_plan_next(&plan, teams)) > 0 && rounds++ < 20)
		try_round(&plan, &world, teams, count);
	ck_assert_uint_eq(rounds, 3);
	ck_assert_uint_eq(plan.attempt_count, 16 + 8 + 8);
	muster_plan_done(&plan);
}

TEST(what_is_left_makes_a_full_ring)
{
	static const struct {
		const char *trials, *left;
	} cases[] = {
		{ "", "012345" },
		{ "2 failed; 3 failed", "0145" },
		/* the largest part of a split, the first one of equals; suspected nodes make a part smaller */
		{ "0-1 ok; 2-3 ok; 3-4 ok; 4-5 ok; 0-2 failed; 1-3 failed; 0-4 failed; 1-5 failed", "2345" },
		{ "0-1 ok; 1-2 ok; 3-4 ok; 4-5 ok; 0-3 failed; 1-4 failed; 2-5 failed; 0-4 failed", "012" },
		{ "0 failed; 0-1 ok; 1-2 ok; 3-4 ok; 4-5 ok; 1-3 failed; 2-4 failed; 1-5 failed; 2-5 failed", "345" },
		/* without a split all parts may be in it */
		{ "0-1 ok; 2-3 ok; 0-2 failed", "012345" },
		/* the second node of each bad link, unless the first one is out already */
		{ "0-1 ok; 1-2 ok; 0-2 failed", "01345" },
		{ "0-1 ok; 1-2 ok; 2-3 ok; 3-4 ok; 4-5 ok; 0-2 failed; 2-4 failed; 3-5 failed", "0134" },
		{ "0-1 ok; 1-2 ok; 2-3 ok; 3-4 ok; 4-5 ok; 0-3 failed; 3-5 failed", "01245" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct muster_plan plan;
		bool in[6];
		char left[8] = "";
		size_t count = 0;
		muster_plan_init(&plan, 6);
		note_text(&plan, cases[i].trials);
		size_t said = muster_plan_rest(&plan, in);
		for (int node = 0; node < 6; node++)
			if (in[node])
				left[count++] = (char)('0' + node);
		ck_assert_msg(strcmp(left, cases[i].left) == 0, "%s: %s, not %s", cases[i].trials, left, cases[i].left);
		ck_assert_uint_eq(said, count);
		muster_plan_done(&plan);
	}
}

/* A scheduler with a clock: a ring takes so many seconds to begin, one with a bad node or link hangs, and a round gets
 * a fifth of what is left, 10 s at most and what the planner wants at least. A worker has a second less. */
static void search_in_time(struct search *search, double begin_s, double left_s)
{
	size_t count, members[NETWORK_NODES_MAX];
	muster_plan_init(&search->plan, search->network.nodes);
	for (size_t i = 0; i < search->network.nodes; i++)
		members[i] = i;
	if (search->network.nodes > 2)
		muster_plan_note(&search->plan, members, search->network.nodes,
			(struct muster_plan_result){ .status = MUSTER_TRIAL_FAILED });
	for (;;) {
		double wanted_s = left_s / 5 < 10 ? left_s / 5 : 10, longest_s = 0;
		double limit_s =
			muster_plan_round_ms(&search->plan, 1e3 * wanted_s - 1e3, 1e3 * left_s - 1e3) / 1e3 + 1;
		if (limit_s < 2 || (count = muster_plan_next(&search->plan, search->teams)) == 0)
			break;
		for (size_t team = 0; team < count; team++) {
			size_t size = 0;
			for (size_t i = 0; i < search->network.nodes; i++)
				if (search->teams[i] == team)
					members[size++] = i;
			struct muster_plan_result tried = { .seconds = begin_s + 0.1 * (double)size };
			bool ok = network_works(&search->network, members, size);
			if (ok && tried.seconds <= limit_s - 1) {
				tried.status = MUSTER_TRIAL_OK;
			} else {
				tried.status = MUSTER_TRIAL_LATE;
				tried.seconds = limit_s - 1;
			}
			longest_s = tried.seconds > longest_s ? tried.seconds : longest_s;
			muster_plan_note(&search->plan, members, size, tried);
		}
		left_s -= longest_s;
		ck_assert_uint_lt(++search->rounds, 200);
	}
}

static void assert_no_other(const char *found, const char *expected)
{
	char one[64];
	for (const char *at = found; *at; at += strspn(at, "; ")) {
		size_t length = strcspn(at, ";");
		snprintf(one, sizeof one, "%.*s", (int)length, at);
		ck_assert_msg(
			strncmp(one, "unexplained", 11) == 0 || strstr(expected, one), "%s, not %s", found, expected);
		at += length;
	}
}

/* However slow the beginning of a ring and however little time: nobody is suspected who is not bad. With time the cause
 * is found; but three times a very slow one is more than what a trial of all nodes alone gets, the first one. */
TEST_LOOP(little_time_blames_nobody_wrongly, 0, 5)
{
	static const double begins_s[] = { 0.2, 1, 2.3, 4, 8 };
	static const enum network_kind kinds[] = { BAD_NODES, BAD_LINKS, DEAD_NODES };
	char found[4096], expected[4096];
	size_t told = 0;
	double begin_s = begins_s[_i];
	for (uint64_t seed = 0; seed < 90; seed++)
		for (double left_s = 4; left_s < 2000; left_s *= 2) {
			struct search search = { .network = network_new(seed, kinds[seed % 3], 16) };
			if (!cause_of(&search.network, expected, sizeof expected))
				continue;
			search_in_time(&search, begin_s, left_s);
			describe(&search.plan, found, sizeof found);
			assert_no_other(found, expected);
			ck_assert_msg(left_s < 1000 || begin_s > 3 || strcmp(found, expected) == 0,
				"seed %d, %g s: %s, not %s", (int)seed, left_s, found, expected);
			told += strcmp(found, expected) == 0;
			muster_plan_done(&search.plan);
		}
	ck_assert_uint_gt(told, 150);
}

/* Four nodes, the last one hangs with the others, and a ring takes more than two seconds to begin: 25 s must do. */
TEST(a_slow_beginning_leaves_time_to_find_the_cause)
{
	struct search search = { .network = { .nodes = 4, .bad = { [3] = true } } };
	char found[256];
	search_in_time(&search, 2.3, 25);
	describe(&search.plan, found, sizeof found);
	ck_assert_str_eq(found, "node 3");
	muster_plan_done(&search.plan);
}

TEST_MAIN(.setup = NULL)

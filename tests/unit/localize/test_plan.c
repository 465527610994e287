/* test_plan.c - made-up networks: trial rings are planned, tried and judged until the culprit is named */
#include "muster/arena.h"
#include "localize/plan.h"
#include "unit/localize/attempts.h"
#include "unit/localize/network.h"
#include "unit/localize/recorded_plans.h"

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
	int slow[3];       /* a ring of one of them and others has a twentieth of the bandwidth */
	int slow_alone[2]; /* in any ring, a half */
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
	{ "healthy", 16, NONE, NONE, NONE, 0, 0, NONE, NONE, true, "", 16, 6 },
	{ "one bad of 2", 2, { 1, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "unexplained 1", 2, 2 },
	{ "one bad of 3", 3, { 1, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 1", 2, 4 },
	{ "the first bad of 3", 3, { 0, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 0", 2, 4 },
	{ "the last bad of 3", 3, { 2, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 2", 2, 4 },
	{ "one bad of 5", 5, { 3, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 3", 4, 4 },
	{ "one bad of 16", 16, { 6, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 6", 15, 3 },
	{ "two bad of 16", 16, { 2, 9, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 2; node 9", 14, 3 },
	{ "two bad neighbours of 16", 16, { 4, 5, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 4; node 5", 14, 3 },
	{ "three bad of 5", 5, { 0, 1, 2, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 0; node 1; node 2", 2, 8 },
	{ "one bad of 64", 64, { 63, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 63", 63, 3 },
	{ "one bad of 1000", 1000, { 500, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 500", 999, 3 },
	{ "two bad of 1000", 1000, { 0, 999, -1 }, NONE, NONE, 0, 0, NONE, NONE, false, "node 0; node 999", 998, 3 },
	{ "dead alone of 16", 16, NONE, { 3, -1 }, NONE, 0, 0, NONE, NONE, false, "node 3 alone", 15, 1 },
	{ "dead alone of 2", 2, NONE, { 1, -1 }, NONE, 0, 0, NONE, NONE, false, "node 1 alone", 1, 1 },
	{ "a bad link of 3", 3, NONE, NONE, { 0, 2, -1 }, 0, 0, NONE, NONE, false, "link 0-2", 2, 6 },
	{ "a bad link between neighbours of 16", 16, NONE, NONE, { 2, 3, -1 }, 0, 0, NONE, NONE, false, "link 2-3", 15,
		3 },
	{ "a bad link of 16", 16, NONE, NONE, { 3, 10, -1 }, 0, 0, NONE, NONE, false, "link 3-10", 15, 13 },
	{ "another bad link of 16", 16, NONE, NONE, { 2, 4, -1 }, 0, 0, NONE, NONE, false, "link 2-4", 15, 13 },
	{ "two bad links of 16", 16, NONE, NONE, { 0, 1, 7, 12, -1 }, 0, 0, NONE, NONE, false, "link 0-1; link 7-12",
		14, 26 },
	/* that neither 0-2 with 1-3 nor 4 with both look like a split */
	{ "two bad links of 5", 5, NONE, NONE, { 0, 1, 2, 3, -1 }, 0, 0, NONE, NONE, false, "link 0-1; link 2-3", 3,
		12 },
	{ "two bad links of 4", 4, NONE, NONE, { 0, 1, 2, 3, -1 }, 0, 0, NONE, NONE, false, "link 0-1; link 2-3", 2,
		12 },
	{ "a bad link of 1000", 1000, NONE, NONE, { 123, 877, -1 }, 0, 0, NONE, NONE, false, "link 123-877", 999, 44 },
	{ "half of 16", 16, NONE, NONE, NONE, 8, 0, NONE, NONE, false, "split 0 8", 8, 7 },
	{ "every other one of 16", 16, NONE, NONE, NONE, 0, 2, NONE, NONE, false, "split 0 1", 8, 8 },
	{ "every third one of 16", 16, NONE, NONE, NONE, 0, 3, NONE, NONE, false, "split 0 1 2", 6, 12 },
	{ "two of 5", 5, NONE, NONE, NONE, 2, 0, NONE, NONE, false, "split 0 2", 3, 6 },
	{ "half of 64", 64, NONE, NONE, NONE, 32, 0, NONE, NONE, false, "split 0 32", 32, 9 },
	{ "half of 1000", 1000, NONE, NONE, NONE, 500, 0, NONE, NONE, false, "split 0 500", 500, 14 },
	{ "half of 16 and one bad", 16, { 4, -1 }, NONE, NONE, 8, 0, NONE, NONE, false, "node 4; split 0 8", 8, 9 },
	{ "one of 16 cut off", 16, NONE, NONE, NONE, 1, 0, NONE, NONE, false, "node 0", 15, 3 },
	{ "all bad of 5", 5, NONE, NONE, NONE, 0, 5, NONE, NONE, false, "unexplained 10", 5, 8 },
	{ "all bad of 16", 16, NONE, NONE, NONE, 0, 16, NONE, NONE, false, "unexplained", 16, 13 },
	{ "one slow of 3", 3, NONE, NONE, NONE, 0, 0, { 2, -1 }, NONE, false, "node 2", 2, 4 },
	{ "one slow of 16", 16, NONE, NONE, NONE, 0, 0, { 9, -1 }, NONE, false, "node 9", 15, 3 },
	{ "two slow of 16", 16, NONE, NONE, NONE, 0, 0, { 8, 9, -1 }, NONE, false, "node 8; node 9", 14, 4 },
	{ "one slow alone of 16", 16, NONE, NONE, NONE, 0, 0, NONE, { 9, -1 }, false, "node 9 alone", 15, 1 },
	{ "one slow of 2", 2, NONE, NONE, NONE, 0, 0, { 1, -1 }, NONE, false, "", 2, 2 },
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

/* How a ring of these nodes goes in this world. */
static bool try(const struct world *world, const size_t *nodes, size_t count, double *ret_gbps)
{
	*ret_gbps = count == 1 ? 230 : 180;
	if (listed(world->slow_alone, nodes, count))
		*ret_gbps /= 2;
	if (listed(world->dead_alone, nodes, count))
		return false;
	if (count == 1)
		return true;
	if (listed(world->slow, nodes, count))
		*ret_gbps /= 20;
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
	struct muster_plan_result tried = { .seconds = 1 };
	if (try(world, nodes, count, &tried.gbps))
		tried.status = MUSTER_TRIAL_OK;
	tried.slow = count > 2 && tried.gbps < 150;
	muster_plan_note(plan, nodes, count, tried);
	return tried.status == MUSTER_TRIAL_OK && !tried.slow;
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
	muster_suspects_find(plan->attempts, plan->attempt_count, plan->nodes, false, &s);
	describe_blame(&s, out, size);
	muster_suspects_done(&s);
}

static const struct test_fixture long_timeout = { .timeout = 60 };

TEST_WITH(the_culprit_is_named, .end = LENGTH(worlds), .fixture = &long_timeout)
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
	uint32_t hash;
};

/* FNV-1a over what was planned, byte by byte. */
static void mix(struct search *search, uint64_t value)
{
	for (int i = 0; i < 8; i++, value >>= 8)
		search->hash = (search->hash ^ (uint32_t)(value & 0xff)) * 16777619u;
}

static bool note_network(struct search *search, const size_t *nodes, size_t count)
{
	struct muster_plan_result tried = { .seconds = 1 };
	if (network_try(&search->network, nodes, count, &tried.gbps))
		tried.status = MUSTER_TRIAL_OK;
	tried.slow = count > 2 && tried.gbps < 150;
	muster_plan_note(&search->plan, nodes, count, tried);
	return tried.status == MUSTER_TRIAL_OK && !tried.slow;
}

static void play_round(struct search *search, size_t count)
{
	size_t members[NETWORK_NODES_MAX];
	for (size_t i = search->network.nodes; i < NETWORK_NODES_MAX; i++)
		ck_assert_uint_eq(search->teams[i], MUSTER_NO_GROUP); /* nothing is written behind the last node */
	mix(search, count);
	for (size_t i = 0; i < search->network.nodes; i++)
		mix(search, search->teams[i]);
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
	search->hash = 2166136261u;
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
		mix(search, search->left);
		count = 0;
		for (size_t i = 0; i < nodes; i++) {
			mix(search, search->rest[i]);
			if (search->rest[i])
				search->all[count++] = i;
		}
		mix(search, muster_plan_explained(&search->plan));
		search->good = count < 2 || count == nodes || note_network(search, search->all, count);
	}
}

static void mix_blame(struct search *search)
{
	struct muster_suspects s;
	muster_suspects_find(search->plan.attempts, search->plan.attempt_count, search->plan.nodes, false, &s);
	for (size_t i = 0; i < s.node_count; i++) {
		mix(search, s.nodes[i].blame);
		mix(search, s.nodes[i].part);
		mix(search, s.nodes[i].passed);
		mix(search, s.nodes[i].failed);
	}
	for (size_t i = 0; i < s.edge_count; i++) {
		mix(search, s.links[i]);
		mix(search, s.edges[i].result);
	}
	mix(search, s.split);
	mix(search, s.unexplained);
	mix(search, s.part_count);
	muster_suspects_done(&s);
}

/* What changes a plan is seen, and meant. */
TEST_WITH(each_round_is_the_recorded_one, .end = NETWORK_KINDS, .fixture = &long_timeout)
{
	for (size_t seed = 0; seed < RECORDED_SEEDS; seed++) {
		struct search search = { .network = network_new(seed, (enum network_kind)_i, NETWORK_NODES_MAX) };
		play(&search);
		mix_blame(&search);
		ck_assert_msg(search.hash == recorded_plans[_i][seed], "kind %d, seed %zu: 0x%08x, not 0x%08x", _i,
			seed, search.hash, recorded_plans[_i][seed]);
		muster_plan_done(&search.plan);
	}
}

/* The cause as describe_blame() would say it; NULL when trials cannot tell it. */
static const char *cause_of(const struct network *n, char *out, size_t size)
{
	size_t wrong = 0, used = 0, links = 0, members[NETWORK_NODES_MAX] = { 0 }, small = 0;
	*out = '\0';
	for (size_t i = 0; i < n->nodes; i++)
		if (n->bad[i] || n->slow[i] || n->dead[i]) {
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
	/* small groups look like bad nodes; and slow is what most are not */
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
TEST_WITH(a_search_ends_with_the_cause_and_nothing_else, .end = 5, .fixture = &long_timeout)
{
	static const enum network_kind kinds[] = { BAD_NODES, BAD_LINKS, PARTITION, SLOW_NODES, DEAD_NODES };
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

/* The text is trials as attempts.h has them; those of more nodes are noted by hand. */
static void note_text(struct muster_plan *plan, const char *text)
{
	struct muster_attempt attempts[32];
	size_t count = attempts_of(text, attempts, 32);
	for (size_t i = 0; i < count; i++)
		muster_plan_note(plan, attempts[i].nodes, attempts[i].nodes[0] == attempts[i].nodes[1] ? 1 : 2,
			(struct muster_plan_result){ .status = attempts[i].status,
				.seconds = attempts[i].seconds,
				.gbps = attempts[i].gbps });
}

TEST(a_round_needs_four_times_the_slowest_trial_that_passed)
{
	static const struct {
		const char *trials;
		struct muster_plan_result group; /* of all four nodes; not noted when it took no time */
		double least_ms;
	} cases[] = {
		{ "", { 0 }, 0 },
		{ "0 failed 4s; 1 failed", { 0 }, 0 },
		{ "0 ok 2s; 1 ok 1s; 2 failed 5s; 3 late 9s", { 0 }, 8000 },
		{ "0 ok 1s; 1 ok 1s; 0-1 ok 1.5s", { 0 }, 6000 },
		{ "0 late 1s; 1 failed 1s", { 0 }, 9000 },
		{ "0 ok 100 1s; 1 ok 100 1s; 2 ok 10 8s", { 0 }, 4000 },
		{ "0 ok 1s", { MUSTER_TRIAL_OK, false, 2.5, 0, 0 }, 10000 },
		{ "0 ok 1s", { MUSTER_TRIAL_OK, true, 2.5, 0, 0 }, 4000 },
		{ "0 ok 1s", { MUSTER_TRIAL_FAILED, false, 2.5, 0, 0 }, 4000 },
		{ "0 failed 1s", { MUSTER_TRIAL_LATE, false, 2.5, 0, 0 }, 9000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct muster_plan plan;
		muster_plan_init(&plan, 4);
		note_text(&plan, cases[i].trials);
		if (cases[i].group.seconds > 0)
			muster_plan_note(&plan, (const size_t[]){ 0, 1, 2, 3 }, 4, cases[i].group);
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
	ck_assert_str_eq(next_text(&plan), "0-2 1-3");
	muster_plan_done(&plan);
}

TEST(a_part_of_the_ring_that_had_too_little_time_is_tried_again)
{
	const size_t nodes[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct muster_plan plan;
	muster_plan_init(&plan, 8);
	muster_plan_note(&plan, nodes, 8, (struct muster_plan_result){ .status = MUSTER_TRIAL_FAILED });
	note_text(&plan,
		"0 ok 1s; 1 ok 1s; 2 ok 1s; 3 ok 1s; 4 ok 1s; 5 ok 1s; 6 ok 1s; 7 ok 1s; 0-1 ok 1s; 1-2 ok 1s; "
		"2-3 ok 1s; 3-4 ok 1s; 4-5 ok 1s; 5-6 ok 1s; 6-7 ok 1s");
	ck_assert_str_eq(next_text(&plan), "0-1-2-3 4-5-6-7");
	muster_plan_note(&plan, nodes, 4, (struct muster_plan_result){ .status = MUSTER_TRIAL_LATE, .seconds = 2.9 });
	muster_plan_note(&plan, nodes + 4, 4, (struct muster_plan_result){ .status = MUSTER_TRIAL_OK, .seconds = 1 });
	ck_assert_str_eq(next_text(&plan), "0-1-2-3");
	muster_plan_note(&plan, nodes, 4, (struct muster_plan_result){ .status = MUSTER_TRIAL_LATE, .seconds = 3 });
	/* that one failed: its own halves are known, so quarters of them */
	ck_assert_str_eq(next_text(&plan), "0-2 1-3");
	muster_plan_done(&plan);
}

/* Two halves of which the first ring of all is made of eight nodes; both pass, so the pair is across. */
TEST(halves_that_pass_are_crossed)
{
	const size_t nodes[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const struct muster_plan_result ok = { .status = MUSTER_TRIAL_OK };
	struct muster_plan plan;
	muster_plan_init(&plan, 8);
	muster_plan_note(&plan, nodes, 8, (struct muster_plan_result){ .status = MUSTER_TRIAL_FAILED });
	note_text(&plan, "0 ok; 0-1 ok; 1-2 ok; 2-3 ok; 3-4 ok; 4-5 ok; 5-6 ok; 6-7 ok");
	ck_assert_str_eq(next_text(&plan), "0-1-2-3 4-5-6-7");
	muster_plan_note(&plan, nodes, 4, ok);
	muster_plan_note(&plan, nodes + 4, 4, ok);
	ck_assert_str_eq(next_text(&plan), "0-1-4-5 2-3-6-7");
	muster_plan_note(&plan, (const size_t[]){ 0, 1, 4, 5 }, 4, ok);
	muster_plan_note(&plan, (const size_t[]){ 2, 3, 6, 7 }, 4, ok);
	ck_assert_str_eq(next_text(&plan), "0-1-6-7 2-3-4-5");
	muster_plan_note(&plan, (const size_t[]){ 0, 1, 6, 7 }, 4, ok);
	muster_plan_note(&plan, (const size_t[]){ 2, 3, 4, 5 }, 4, ok);
	ck_assert_str_eq(next_text(&plan), "");
	ck_assert(!muster_plan_explained(&plan));
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
			bool ok = network_works(&search->network, members, size, &tried.gbps);
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

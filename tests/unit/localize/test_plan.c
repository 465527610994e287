/* test_plan.c - made-up networks: trial rings are planned, tried and judged until the culprit is named */
#include "muster/arena.h"
#include "localize/plan.h"

#include <check.h>
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

static bool note(struct muster_plan *scout, const struct world *world, const size_t *nodes, size_t count)
{
	double gbps;
	bool ok = try(world, nodes, count, &gbps), slow = count > 2 && gbps < 150;
	muster_plan_note(scout, nodes, count, ok, slow, gbps);
	return ok && !slow;
}

/* Try all teams of a round. No node may be in two of them, and none in one that was blamed before. */
static void try_round(struct muster_plan *scout, const struct world *world, const size_t *teams, size_t count)
{
	size_t *nodes = muster_calloc(world->nodes, sizeof *nodes);
	for (size_t team = 0; team < count; team++) {
		size_t members = 0;
		for (size_t i = 0; i < world->nodes; i++)
			if (teams[i] == team)
				nodes[members++] = i;
		ck_assert_uint_gt(members, 0);
		note(scout, world, nodes, members);
	}
	free(nodes);
}

static void describe(const struct muster_plan *scout, char *out, size_t size)
{
	struct muster_suspects s;
	size_t used = 0;
	*out = '\0';
	muster_suspects_find(scout->attempts, scout->attempt_count, scout->nodes, &s);
#define SAY(...) used += (size_t)snprintf(out + used, size - used, __VA_ARGS__)
	for (size_t i = 0; i < s.node_count; i++)
		if (s.nodes[i].blame != MUSTER_BLAME_NONE)
			SAY("%snode %zu%s", used ? "; " : "", i,
				s.nodes[i].blame == MUSTER_BLAME_ALONE ? " alone" : "");
	for (size_t i = 0; i < s.edge_count; i++)
		if (s.links[i])
			SAY("%slink %zu-%zu", used ? "; " : "", s.edges[i].a, s.edges[i].b);
	if (s.split) {
		SAY("%ssplit", used ? "; " : "");
		for (size_t i = 0; i < s.part_count; i++)
			SAY(" %zu", s.parts[i]);
	}
	if (s.unexplained && used == 0)
		SAY("unexplained %zu", s.unexplained);
#undef SAY
	muster_suspects_done(&s);
}

START_TEST(the_culprit_is_named)
{
	const struct world *world = &worlds[_i];
	struct muster_plan scout;
	size_t *teams = muster_calloc(world->nodes, sizeof *teams), rounds = 0, count;
	size_t *all = muster_calloc(world->nodes, sizeof *all), rest = 0;
	bool *in = muster_calloc(world->nodes, sizeof *in), good = false;
	char found[4096];
	muster_plan_init(&scout, world->nodes);
	for (size_t i = 0; i < world->nodes; i++)
		all[i] = i;
	if (world->nodes > 2)
		ck_assert_msg(note(&scout, world, all, world->nodes) == world->healthy_ring, "%s", world->name);
	/* as rank 0 does: trials until nothing is left to explain, then a ring of the rest, and so on until it works */
	for (int rings = 0; rings < 3 && !good; rings++) {
		while ((count = muster_plan_next(&scout, teams)) > 0) {
			ck_assert_uint_lt(rounds, 100);
			rounds++;
			try_round(&scout, world, teams, count);
		}
		rest = muster_plan_rest(&scout, in);
		count = 0;
		for (size_t i = 0; i < world->nodes; i++)
			if (in[i])
				all[count++] = i;
		ck_assert_uint_eq(count, rest);
		good = rest < 2 || rest == world->nodes || note(&scout, world, all, rest);
	}
	describe(&scout, found, sizeof found);
	if (strcmp(world->expected, "unexplained") == 0)
		ck_assert_msg(strncmp(found, "unexplained", 11) == 0, "%s: %s", world->name, found);
	else
		ck_assert_msg(
			strcmp(found, world->expected) == 0, "%s: %s, not %s", world->name, found, world->expected);
	ck_assert_msg(good, "%s: the last ring does not work", world->name);
	ck_assert_msg(rest == world->rest, "%s: %zu nodes are left", world->name, rest);
	ck_assert_msg(rounds <= world->rounds, "%s: %zu rounds", world->name, rounds);
	muster_plan_done(&scout);
	free(teams);
	free(all);
	free(in);
}
END_TEST

/* Wherever the bad node or link is. */
START_TEST(any_node_and_any_link_of_seven_is_found)
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

	struct muster_plan scout;
	size_t teams[7], all[] = { 0, 1, 2, 3, 4, 5, 6 }, count, rounds = 0;
	char found[4096];
	muster_plan_init(&scout, 7);
	ck_assert(!note(&scout, &world, all, 7));
	while ((count = muster_plan_next(&scout, teams)) > 0 && rounds++ < 100)
		try_round(&scout, &world, teams, count);
	describe(&scout, found, sizeof found);
	ck_assert_str_eq(found, expected);
	ck_assert(muster_plan_explained(&scout));
	muster_plan_done(&scout);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_scout");
	TCase *tcase = tcase_create("worlds");
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, the_culprit_is_named, 0, sizeof worlds / sizeof *worlds);
	tcase_add_loop_test(tcase, any_node_and_any_link_of_seven_is_found, 0, 49);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

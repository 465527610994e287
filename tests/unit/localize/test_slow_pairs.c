/* SPDX-License-Identifier: Apache-2.0 */
/* test_slow_pairs.c - which part makes exchanges slow: over drawn clusters, with faults of every kind */
#include "localize/slow_pairs.h"

#include "muster/arena.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 20 * 8, PAIRS_MAX = RANKS_MAX * 8 };

struct cluster {
	size_t nodes, gpus, share; /* share: ranks of a node that use one NIC */
	bool rack;                 /* NVLink joins the nodes */
	struct muster_pair pairs[PAIRS_MAX];
	size_t count;
	size_t node_of[RANKS_MAX];
};

static void add(struct cluster *c, size_t a, size_t b, bool network)
{
	size_t share = c->share;
	ck_assert_uint_lt(c->count, PAIRS_MAX);
	c->pairs[c->count++] = (struct muster_pair){
		.ranks = { a, b },
		.nics = { a - a % c->gpus % share, b - b % c->gpus % share },
		.network = network,
	};
}

/* Edges of each node as a cycle (all: every pair of it), rails over a cycle of nodes. */
static void make(struct cluster *c, bool all)
{
	c->count = 0;
	for (size_t n = 0; n < c->nodes; n++)
		for (size_t i = 0; i < c->gpus; i++) {
			size_t rank = n * c->gpus + i, next = i + 1 < c->gpus ? rank + 1 : n * c->gpus;
			c->node_of[rank] = n;
			for (size_t j = i + 1; all && j < c->gpus; j++)
				add(c, rank, n * c->gpus + j, false);
			if (!all && c->gpus > 1 && !(c->gpus == 2 && i == 1))
				add(c, rank, next, false);
		}
	for (size_t n = 0; n < c->nodes && c->nodes > 1; n++)
		for (size_t i = 0; i < c->gpus && !(c->nodes == 2 && n == 1); i++)
			add(c, n * c->gpus + i, (n + 1) % c->nodes * c->gpus + i, !c->rack);
}

static bool has(const size_t ends[2], size_t a, size_t b)
{
	return (ends[0] == a && ends[1] == b) || (ends[0] == b && ends[1] == a);
}

/* "gpu 3": all exchanges of a rank. "edges 3", "rails 3": those of one medium. "nic 8": through a NIC. "node 1": rails
 * of a node, "inside 1": its edges. "pair 0-1", "nodes 0-1", "all edges", "all rails". "doubt ..." is the same, but
 * only doubtful; "out 5": not measured. */
static void apply(struct cluster *c, const char *fault)
{
	enum muster_pair_state state = MUSTER_PAIR_SLOW;
	char word[16], where[16] = "";
	size_t a = 0, b = 0;
	if (strncmp(fault, "doubt ", 6) == 0) {
		state = MUSTER_PAIR_DOUBTFUL;
		fault += 6;
	}
	ck_assert_int_eq(sscanf(fault, "%15s %15s", word, where), 2);
	if (sscanf(where, "%zu-%zu", &a, &b) < 1)
		ck_assert_str_eq(word, "all");
	if (strcmp(word, "out") == 0)
		state = MUSTER_PAIR_UNUSED;
	for (size_t i = 0; i < c->count; i++) {
		struct muster_pair *pair = &c->pairs[i];
		const size_t nodes[2] = { c->node_of[pair->ranks[0]], c->node_of[pair->ranks[1]] };
		bool of_rank = pair->ranks[0] == a || pair->ranks[1] == a, hit = false;
		if (strcmp(word, "gpu") == 0 || strcmp(word, "out") == 0)
			hit = of_rank;
		else if (strcmp(word, "edges") == 0)
			hit = of_rank && !pair->network;
		else if (strcmp(word, "rails") == 0)
			hit = of_rank && nodes[0] != nodes[1];
		else if (strcmp(word, "nic") == 0)
			hit = pair->network && (pair->nics[0] == a || pair->nics[1] == a);
		else if (strcmp(word, "node") == 0)
			hit = nodes[0] != nodes[1] && (nodes[0] == a || nodes[1] == a);
		else if (strcmp(word, "inside") == 0)
			hit = nodes[0] == a && nodes[1] == a;
		else if (strcmp(word, "pair") == 0)
			hit = has(pair->ranks, a, b);
		else if (strcmp(word, "nodes") == 0)
			hit = has(nodes, a, b);
		else if (strcmp(where, "edges") == 0)
			hit = nodes[0] == nodes[1];
		else if (strcmp(where, "rails") == 0)
			hit = nodes[0] != nodes[1];
		if (hit && pair->state < state)
			pair->state = state;
	}
}

static const char *named(struct cluster *c, struct muster_slow_parts *parts)
{
	static const char *const kinds[] = { "gpu", "nic", "node", "all" };
	static char text[2048];
	size_t used = 0;
	text[0] = '\0';
	muster_slow_pairs_name(c->pairs, c->count, c->node_of, c->nodes * c->gpus, parts);
	for (size_t i = 0; i < parts->count && used < sizeof text - 64; i++) {
		const struct muster_part *part = &parts->items[i];
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", i ? "; " : "",
			part->link ? "link " : "", kinds[part->kind]);
		if (part->kind == MUSTER_PART_ALL)
			used += (size_t)snprintf(
				text + used, sizeof text - used, " %s", part->network ? "rails" : "edges");
		else
			used += (size_t)snprintf(text + used, sizeof text - used, " %zu", part->ends[0]);
		if (part->between_nodes)
			used += (size_t)snprintf(text + used, sizeof text - used, " between");
		if (part->link)
			used += (size_t)snprintf(
				text + used, sizeof text - used, "-%zu%s", part->ends[1], part->undecided ? "?" : "");
	}
	return text;
}

static const struct {
	size_t nodes, gpus, share;
	bool rack, all;
	const char *faults, *parts;
} cases[] = {
	{ 1, 8, 1, false, false, "", "" },
	{ 1, 1, 1, false, false, "", "" },
	{ 16, 8, 1, false, true, "", "" },
	/* a GPU, when two others tell */
	{ 1, 8, 1, false, false, "gpu 5", "gpu 5" },
	{ 1, 8, 1, false, true, "gpu 5", "gpu 5" },
	{ 1, 3, 1, false, false, "gpu 0", "gpu 0" },
	{ 1, 4, 1, false, false, "gpu 3", "gpu 3" },
	{ 1, 8, 1, false, false, "gpu 0; gpu 2", "gpu 0; gpu 2" },
	{ 1, 8, 1, false, false, "gpu 0; gpu 1", "gpu 0; gpu 1" },
	{ 1, 8, 1, false, true, "gpu 0; gpu 1; gpu 2", "gpu 0; gpu 1; gpu 2" },
	/* three side by side: the one in the middle has no well neighbour */
	{ 1, 8, 1, false, false, "gpu 0; gpu 1; gpu 2", "gpu 0; gpu 2" },
	/* its rails are slow too: the GPU, not the NIC */
	{ 2, 8, 1, false, false, "gpu 11", "gpu 11" },
	{ 3, 4, 1, false, false, "gpu 0; gpu 11", "gpu 0; gpu 11" },
	{ 16, 8, 1, false, false, "gpu 127", "gpu 127" },
	{ 2, 8, 1, false, false, "edges 3", "gpu 3" },
	/* of two GPUs it cannot be decided, but by their rails */
	{ 1, 2, 1, false, false, "gpu 1", "link gpu 0-1?" },
	{ 3, 2, 1, false, false, "edges 2", "link gpu 2-3?" },
	{ 3, 2, 1, false, false, "gpu 2", "gpu 2" },
	{ 2, 2, 1, false, false, "gpu 3", "gpu 3" },
	/* only one pair: the link */
	{ 1, 8, 1, false, false, "pair 2-3", "link gpu 2-3" },
	{ 1, 8, 1, false, true, "pair 2-6", "link gpu 2-6" },
	{ 1, 8, 1, false, false, "pair 2-3; pair 6-7", "link gpu 2-3; link gpu 6-7" },
	/* a rank that is out leaves one neighbour, which is well elsewhere */
	{ 1, 8, 1, false, false, "out 0; gpu 1", "link gpu 1-2?" },
	/* most: the job; all of one node: the node */
	{ 1, 8, 1, false, false, "all edges", "all edges" },
	{ 1, 8, 1, false, false, "gpu 0; gpu 2; gpu 4; gpu 6", "all edges" },
	{ 1, 2, 1, false, false, "all edges", "link gpu 0-1?" },
	{ 4, 2, 1, false, false, "all edges", "all edges" },
	{ 2, 8, 1, false, false, "inside 1", "node 1" },
	{ 16, 8, 1, false, false, "inside 1; inside 7", "node 1; node 7" },
	/* a NIC, folded over the ranks that share it */
	{ 3, 8, 1, false, false, "nic 9", "nic 9" },
	{ 16, 8, 1, false, false, "nic 9; nic 100", "nic 9; nic 100" },
	{ 3, 8, 2, false, false, "nic 10", "nic 10" },
	{ 3, 4, 4, false, false, "nic 4", "nic 4" },
	{ 4, 1, 1, false, false, "nic 2", "nic 2" },
	/* one of the ranks that share a NIC: that GPU's path to it */
	{ 3, 8, 2, false, false, "rails 10", "gpu 10" },
	/* two nodes: either NIC, or what is between them */
	{ 2, 8, 1, false, false, "nic 9", "link nic 1-9?" },
	{ 2, 8, 2, false, false, "nic 10", "link nic 2-10?" },
	{ 2, 8, 1, false, false, "pair 1-9", "link nic 1-9?" },
	{ 2, 1, 1, false, false, "nic 1", "link nic 0-1?" },
	/* a node */
	{ 3, 8, 1, false, false, "node 2", "node 2" },
	{ 16, 8, 1, false, false, "node 0; node 1", "node 0; node 1" },
	{ 16, 8, 2, false, false, "node 5", "node 5" },
	{ 2, 8, 1, false, false, "node 1", "link node 0-1?" },
	{ 2, 8, 1, false, false, "nic 9; nic 10; nic 11; nic 12; nic 13", "link node 0-1?" },
	/* one of the two ranks of a NIC is enough, whichever it is */
	{ 2, 8, 2, false, false, "pair 0-8; pair 1-9; pair 3-11; pair 5-13; pair 7-15", "link node 0-1?" },
	/* only these two nodes are slow with each other */
	{ 16, 8, 1, false, false, "nodes 3-4", "link node 3-4" },
	{ 16, 8, 1, false, false, "nodes 7-8; nodes 0-15", "link node 0-15; link node 7-8" },
	{ 16, 8, 1, false, false, "pair 9-17", "link nic 9-17" },
	{ 3, 4, 1, false, false, "all rails", "all rails" },
	{ 3, 4, 1, false, false, "all rails; gpu 5", "gpu 5; all rails" },
	{ 16, 8, 1, false, false, "node 3; gpu 80; nic 100", "gpu 80; node 3; nic 100" },
	/* a rack: rails go over NVLink, so a slow one is the GPU's */
	{ 4, 4, 1, true, false, "gpu 6", "gpu 6" },
	{ 18, 4, 1, true, false, "gpu 6; gpu 70", "gpu 6; gpu 70" },
	{ 4, 1, 1, true, false, "gpu 2", "gpu 2" },
	/* but where those within the node are well, it is the way to other nodes: of the GPU, or of all GPUs of a node
	 */
	{ 4, 4, 1, true, false, "rails 6", "gpu 6 between" },
	{ 6, 4, 1, true, false, "node 4", "node 4 between" },
	{ 3, 4, 1, true, false, "node 0", "node 0 between" },
	{ 18, 4, 1, true, false, "node 4; node 5; gpu 40", "gpu 40; node 4 between; node 5 between" },
	{ 18, 4, 1, true, false, "node 4; pair 60-61; nodes 10-11", "node 4 between; link node 10-11; link gpu 60-61" },
	{ 2, 4, 1, true, false, "node 1", "link node 0-1" },
	{ 6, 4, 1, true, false, "nodes 3-4", "link node 3-4" },
	{ 4, 4, 1, true, false, "all rails", "link node 0-1; link node 0-3; link node 1-2; link node 2-3" },
	/* doubtful ones name no part by themselves, and clear another only where they are not a GPU's own */
	{ 1, 8, 1, false, false, "doubt all edges", "" },
	{ 1, 8, 1, false, false, "doubt all edges; gpu 4", "gpu 4" },
	{ 1, 8, 1, false, false, "doubt all edges; pair 4-5", "link gpu 4-5" },
	{ 1, 8, 1, false, false, "doubt gpu 4; pair 4-5", "gpu 4" },
	{ 1, 8, 1, false, false, "doubt pair 4-5", "" },
};

TEST_EACH(slow_exchanges_name_their_part, cases)
{
	static struct cluster c;
	struct muster_slow_parts parts;
	char faults[256], *rest = faults;
	c = (struct cluster){
		.nodes = cases[_i].nodes, .gpus = cases[_i].gpus, .share = cases[_i].share, .rack = cases[_i].rack
	};
	make(&c, cases[_i].all);
	snprintf(faults, sizeof faults, "%s", cases[_i].faults);
	for (char *fault; *faults && (fault = strsep(&rest, ";"));)
		apply(&c, fault + (*fault == ' '));
	ck_assert_msg(strcmp(named(&c, &parts), cases[_i].parts) == 0, "case %d, %zu x %zu, %s: %s, expected %s", _i,
		c.nodes, c.gpus, cases[_i].faults, named(&c, &parts), cases[_i].parts);
	for (size_t i = 0; i < c.count; i++) {
		ck_assert_uint_le(c.pairs[i].part, parts.count);
		if (c.pairs[i].state == MUSTER_PAIR_SLOW)
			ck_assert_msg(c.pairs[i].part > 0, "slow pair %zu-%zu has no part", c.pairs[i].ranks[0],
				c.pairs[i].ranks[1]);
		if (c.pairs[i].state == MUSTER_PAIR_GOOD)
			ck_assert_uint_eq(c.pairs[i].part, 0);
	}
	free(parts.items);
}

/* One of two GPUs that share a NIC is slow, and within the node its only exchange is no more than doubtful. */
TEST(a_gpu_that_its_rails_name_explains_what_is_doubtful_within_its_node)
{
	static struct cluster c;
	struct muster_slow_parts parts;
	c = (struct cluster){ .nodes = 3, .gpus = 2, .share = 2 };
	make(&c, false);
	apply(&c, "doubt edges 2");
	apply(&c, "rails 2");
	ck_assert_str_eq(named(&c, &parts), "gpu 2");
	for (size_t i = 0; i < c.count; i++)
		ck_assert_uint_eq(c.pairs[i].part, c.pairs[i].state != MUSTER_PAIR_GOOD);
	free(parts.items);
}

/* One fault of a known part, in clusters of drawn sizes: that part alone is named. */
TEST(one_fault_names_one_part)
{
	static struct cluster c;
	srand(14);
	for (int round = 0; round < 3000; round++) {
		struct muster_slow_parts parts;
		char fault[64], expected[64];
		size_t share = 1 + (size_t)rand() % 2;
		c = (struct cluster){
			.nodes = 3 + (size_t)rand() % 14, .gpus = 2 * share * (1 + (size_t)rand() % 2), .share = share
		};
		c.gpus = c.gpus < 3 ? 4 : c.gpus;
		make(&c, rand() % 2);
		size_t rank = (size_t)rand() % (c.nodes * c.gpus), node = c.node_of[rank];
		size_t nic = rank - rank % c.gpus % share;
		switch (rand() % 4) {
		case 0:
			snprintf(fault, sizeof fault, "gpu %zu", rank);
			snprintf(expected, sizeof expected, "gpu %zu", rank);
			break;
		case 1:
			snprintf(fault, sizeof fault, "nic %zu", nic);
			snprintf(expected, sizeof expected, "nic %zu", nic);
			break;
		case 2:
			snprintf(fault, sizeof fault, "node %zu", node);
			snprintf(expected, sizeof expected, "node %zu", node);
			break;
		default:
			snprintf(fault, sizeof fault, "inside %zu", node);
			snprintf(expected, sizeof expected, "node %zu", node);
			break;
		}
		apply(&c, fault);
		ck_assert_msg(strcmp(named(&c, &parts), expected) == 0, "%zu x %zu, share %zu, %s: %s", c.nodes, c.gpus,
			share, fault, named(&c, &parts));
		free(parts.items);
	}
}

TEST_MAIN(.setup = NULL)

/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - networks with made-up faults, drawn from a seed, and the rings that are tried in them
 *
 * Whoever includes this brings the planner; a ring's end depends on the network, on its nodes and on nothing else,
 * except where the network is said to be unsteady.
 */
#ifndef MUSTER_TESTS_NETWORK_H
#define MUSTER_TESTS_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NETWORK_NODES_MAX 64

enum network_kind { BAD_NODES, BAD_LINKS, PARTITION, DEAD_NODES, RANDOM_PAIRS, MIXTURE, UNSTEADY, NETWORK_KINDS };

struct network {
	uint64_t state;
	size_t nodes;
	bool bad[NETWORK_NODES_MAX];                     /* fails with every other node */
	bool dead[NETWORK_NODES_MAX];                    /* fails alone, too */
	bool link[NETWORK_NODES_MAX][NETWORK_NODES_MAX]; /* fails when both are in a ring; [lower][higher] */
	size_t group[NETWORK_NODES_MAX], groups;         /* nodes of different groups do not reach each other */
	unsigned int percent_wrong;                      /* of rings, that end otherwise than they should */
};

static inline uint64_t network_draw(struct network *n, uint64_t below)
{
	uint64_t z = n->state += 0x9e3779b97f4a7c15u; /* splitmix64, by Sebastiano Vigna */
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

static inline void draw_nodes(struct network *n, bool *ret, size_t most)
{
	for (size_t count = 1 + network_draw(n, most); count > 0; count--)
		ret[network_draw(n, n->nodes)] = true;
}

static inline void draw_link(struct network *n)
{
	size_t a = network_draw(n, n->nodes), b = network_draw(n, n->nodes);
	if (a != b)
		n->link[a < b ? a : b][a < b ? b : a] = true;
}

/* Blocks of neighbours, nodes by turns, or any. */
static inline void draw_groups(struct network *n, size_t groups)
{
	uint64_t how = network_draw(n, 3), begin = 0;
	n->groups = groups;
	for (size_t i = 0; i < n->nodes; i++)
		n->group[i] = how == 0 ? i * groups / n->nodes : how == 1 ? i % groups : network_draw(n, groups);
	if (how == 0 && n->nodes > 2) /* a block of another size */
		begin = 1 + network_draw(n, n->nodes - 1);
	for (size_t i = 0; how == 0 && groups == 2 && i < n->nodes; i++)
		n->group[i] = i >= begin;
}

static inline struct network network_new(uint64_t seed, enum network_kind kind, size_t nodes_max)
{
	struct network n = { .state = seed * 0x2545f4914f6cdd1du + (uint64_t)kind };
	n.nodes = 2 + network_draw(&n, nodes_max - 1);
	if (kind == BAD_NODES || kind == MIXTURE || kind == UNSTEADY)
		draw_nodes(&n, n.bad, 1 + n.nodes / 4);
	for (size_t i = network_draw(&n, 4); (kind == BAD_LINKS || kind == MIXTURE) && i < 4; i++)
		draw_link(&n);
	if (kind == PARTITION || kind == MIXTURE)
		draw_groups(&n, 2 + network_draw(&n, 3));
	if (kind == DEAD_NODES || kind == UNSTEADY)
		draw_nodes(&n, n.dead, 1 + n.nodes / 8);
	unsigned int percent = kind == RANDOM_PAIRS ? 1 + (unsigned int)network_draw(&n, 70) : 0;
	for (size_t a = 0; percent > 0 && a < n.nodes; a++)
		for (size_t b = a + 1; b < n.nodes; b++)
			n.link[a][b] = network_draw(&n, 100) < percent;
	n.percent_wrong = kind == UNSTEADY ? (unsigned int)network_draw(&n, 20) : 0;
	return n;
}

/* How a ring of these nodes ends, without chance. */
static inline bool network_works(const struct network *n, const size_t *nodes, size_t count)
{
	bool ok = true;
	for (size_t i = 0; i < count; i++) {
		ok = ok && !n->dead[nodes[i]] && (count == 1 || !n->bad[nodes[i]]);
		ok = ok && n->group[nodes[i]] == n->group[nodes[0]];
		for (size_t j = i + 1; j < count; j++)
			ok = ok && !n->link[nodes[i]][nodes[j]];
	}
	return ok;
}

/* The same with chance: some end otherwise. */
static inline bool network_try(struct network *n, const size_t *nodes, size_t count)
{
	bool ok = network_works(n, nodes, count);
	return n->percent_wrong ? ok != (network_draw(n, 100) < n->percent_wrong) : ok;
}

#endif

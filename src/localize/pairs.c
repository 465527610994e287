/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.c - which two ranks of a ring exchange data with each other, round after round */
#include "localize/pairs.h"

#include "muster/arena.h"
#include "util/array.h"

#include <stdlib.h>

const char *const muster_traffic_kind_names[MUSTER_TRAFFIC_KIND_COUNT] = {
	[MUSTER_TRAFFIC_KIND_ALL] = "all",
	[MUSTER_TRAFFIC_KIND_EDGE] = "edge",
	[MUSTER_TRAFFIC_KIND_PAIR] = "pair",
	[MUSTER_TRAFFIC_KIND_RAIL] = "rail",
};

/* ---- groups ---- */

struct key {
	size_t at[2]; /* the group, and the place in it */
	int member;
};

static int by_group(const void *a, const void *b)
{
	return muster_sizes_order(((const struct key *)a)->at, ((const struct key *)b)->at, 2);
}

/* Sort members by group, then by their place in it. Frees the keys; the arrays of the result are malloc'd. */
static struct muster_pairs_groups make_groups(struct key *keys, size_t count)
{
	struct muster_pairs_groups groups = {
		.order = muster_calloc(count + 1, sizeof *groups.order),
		.first = muster_calloc(count + 1, sizeof *groups.first),
	};
	if (count)
		qsort(keys, count, sizeof *keys, by_group);
	for (size_t i = 0; i < count; i++) {
		groups.order[i] = keys[i].member;
		if (i == 0 || keys[i].at[0] != keys[i - 1].at[0])
			groups.first[groups.count++] = i;
		size_t size = i + 1 - groups.first[groups.count - 1];
		groups.largest = size > groups.largest ? size : groups.largest;
	}
	groups.first[groups.count] = count;
	free(keys);
	return groups;
}

static void free_groups(struct muster_pairs_groups *groups)
{
	free(groups->order);
	free(groups->first);
}

/* ---- cycles ---- */

/* The rounds that a cycle of this size needs, so that no member has two edges in one round. */
static int cycle_rounds(size_t size)
{
	return size < 2 ? 0 : size == 2 ? 1 : size % 2 == 0 ? 2 : 3;
}

/* Most rounds of any group: the largest one may be even and another one odd. */
static int most_cycle_rounds(const struct muster_pairs_groups *groups)
{
	int most = 0;
	for (size_t g = 0; g < groups->count; g++) {
		int rounds = cycle_rounds(groups->first[g + 1] - groups->first[g]);
		most = rounds > most ? rounds : most;
	}
	return most;
}

/* The round of the edge from `place` to the next place of the cycle; -1: there is no such edge. Of five places 0-1 and
 * 2-3 have round 0, 1-2 and 3-4 round 1, and 4-0 round 2. Of two places 1-0 would be 0-1 once more. */
static int cycle_round(size_t size, size_t place)
{
	if (size < 2 || (size == 2 && place == 1))
		return -1;
	return size % 2 == 1 && place == size - 1 ? 2 : (int)(place % 2);
}

static void join(int *peers, int a, int b)
{
	peers[a] = b;
	peers[b] = a;
}

static void join_neighbours(const struct muster_pairs_groups *groups, int round, int *peers)
{
	for (size_t g = 0; g < groups->count; g++) {
		const int *members = groups->order + groups->first[g];
		size_t size = groups->first[g + 1] - groups->first[g];
		for (size_t i = 0; i < size; i++)
			if (cycle_round(size, i) == round)
				join(peers, members[i], members[(i + 1) % size]);
	}
}

/* ---- tournaments ---- */

/* The partner of `place` in a round-robin tournament by the circle method: places 0 to m - 1 stand on a circle, m being
 * the odd one of size and size - 1, and the sum of two partners is the round modulo m. Returns size when the place has
 * none: it is free, or the two are neighbours on the cycle and have had their round as an edge. With eight places m is
 * 7: in round 3 the pairs are those whose sum is 3 or 10, 0-3, 1-2 (neighbours), 4-6, and 5 with place 7, because 5 + 5
 * is 10. */
static size_t tournament_partner(size_t size, size_t place, size_t round)
{
	size_t m = size % 2 == 0 ? size - 1 : size, other;
	if (round >= m)
		return size;
	/* of an even number, the last place: its partner is the place that the rule below would give itself, which is
	 * the x with 2 x = round modulo m; (m + 1) / 2 is the inverse of 2, since m is odd */
	if (place == m)
		other = round * ((m + 1) / 2) % m;
	else
		other = (round + m - place) % m;
	if (other == place)
		other = m;
	size_t apart = other > place ? other - place : place - other;
	return other >= size || apart == 1 || apart == size - 1 ? size : other;
}

/* Whether the round has a pair in any group. Groups of equal size have the same pairs, so the second of two neighbours
 * is not looked at. Up to three places have no pairs besides edges. */
static bool has_pairs(const struct muster_pairs_groups *nodes, size_t round)
{
	for (size_t g = 0; g < nodes->count; g++) {
		size_t size = nodes->first[g + 1] - nodes->first[g];
		if (g > 0 && size == nodes->first[g] - nodes->first[g - 1])
			continue;
		for (size_t i = 0; size > 3 && i < size; i++)
			if (tournament_partner(size, i, round) < size)
				return true;
	}
	return false;
}

/* peers: members without a partner in this round keep what they have, which is -1. */
static void join_tournament(const struct muster_pairs_groups *nodes, size_t round, int *peers)
{
	for (size_t g = 0; g < nodes->count; g++) {
		const int *members = nodes->order + nodes->first[g];
		size_t size = nodes->first[g + 1] - nodes->first[g];
		for (size_t i = 0; i < size; i++) {
			size_t other = tournament_partner(size, i, round);
			if (other < size)
				peers[members[i]] = members[other];
		}
	}
}

/* ---- plans ---- */

void muster_pairs_init(struct muster_pairs *pairs, const struct muster_pairs_member *members, size_t count,
	enum muster_pairs_plan plan)
{
	struct key *by_node = muster_calloc(count + 1, sizeof *by_node),
		   *by_position = muster_calloc(count + 1, sizeof *by_position);
	for (size_t i = 0; i < count; i++) {
		by_node[i] = (struct key){ { members[i].node, members[i].position }, (int)i };
		by_position[i] = (struct key){ { members[i].position, members[i].node }, (int)i };
	}
	*pairs = (struct muster_pairs){
		.count = count,
		.nodes = make_groups(by_node, count),
		.rails = make_groups(by_position, count),
	};
	pairs->edge_rounds = plan == MUSTER_PAIRS_RAILS ? 0 : most_cycle_rounds(&pairs->nodes);
	pairs->rail_rounds = most_cycle_rounds(&pairs->rails);
	pairs->tournament = muster_calloc(pairs->nodes.largest + 1, sizeof *pairs->tournament);
	for (size_t round = 0; plan == MUSTER_PAIRS_ALL && round < pairs->nodes.largest; round++)
		if (has_pairs(&pairs->nodes, round))
			pairs->tournament[pairs->pair_rounds++] = (int)round;
	pairs->rounds = pairs->edge_rounds + pairs->pair_rounds + pairs->rail_rounds;
}

void muster_pairs_done(struct muster_pairs *pairs)
{
	free_groups(&pairs->nodes);
	free_groups(&pairs->rails);
	free(pairs->tournament);
	*pairs = (struct muster_pairs){ 0 };
}

enum muster_traffic_kind muster_pairs_round(const struct muster_pairs *pairs, int round, int *peers)
{
	for (size_t i = 0; i < pairs->count; i++)
		peers[i] = -1;
	if (round < pairs->edge_rounds) {
		join_neighbours(&pairs->nodes, round, peers);
		return MUSTER_TRAFFIC_KIND_EDGE;
	}
	round -= pairs->edge_rounds;
	if (round < pairs->pair_rounds) {
		join_tournament(&pairs->nodes, (size_t)pairs->tournament[round], peers);
		return MUSTER_TRAFFIC_KIND_PAIR;
	}
	join_neighbours(&pairs->rails, round - pairs->pair_rounds, peers);
	return MUSTER_TRAFFIC_KIND_RAIL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h - which two ranks of a ring exchange data with each other, round after round
 *
 * Pure. First edges: the ranks of a node as a cycle, each with the next one. Then, when all pairs are asked for, the
 * other pairs of each node. Then rails: the ranks at one position of all nodes as a cycle. All pairs of a round work at
 * once, no rank is in two of them, so the number of rounds does not grow with the number of nodes.
 *
 * A cycle of an even number of ranks takes two rounds, of an odd number three, of two ranks one. Two nodes with eight
 * GPUs, ranks 0 to 7 and 8 to 15:
 *   round 0, edges  0-1 2-3 4-5 6-7    8-9 10-11 12-13 14-15
 *   round 1, edges  1-2 3-4 5-6 7-0    9-10 11-12 13-14 15-8
 *   round 2, rails  0-8 1-9 2-10 3-11 4-12 5-13 6-14 7-15
 * All pairs of a node are a round-robin tournament: seven rounds for eight GPUs, of which those between neighbours on
 * the cycle are left out, as they were edges.
 */
#ifndef MUSTER_LOCALIZE_PAIRS_H
#define MUSTER_LOCALIZE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

enum muster_traffic_kind {
	MUSTER_TRAFFIC_KIND_ALL = 0, /* of all ranks at once, not of pairs */
	MUSTER_TRAFFIC_KIND_EDGE,
	MUSTER_TRAFFIC_KIND_PAIR,
	MUSTER_TRAFFIC_KIND_RAIL,
	MUSTER_TRAFFIC_KIND_COUNT
};
extern const char *const muster_traffic_kind_names[MUSTER_TRAFFIC_KIND_COUNT]; /* "all", "edge", "pair", "rail" */

/* A rank of the ring. */
struct muster_pairs_member {
	size_t node;
	size_t position; /* among all ranks of its node, in the ring or not: the same on each node is the same rail */
};

/* Members that share a node, or a position: group g is order[first[g]] to order[first[g + 1] - 1]. */
struct muster_pairs_groups {
	int *order; /* numbers of members */
	size_t *first, count;
	size_t largest;
};

struct muster_pairs {
	size_t count; /* of members */
	struct muster_pairs_groups nodes, rails;
	int edge_rounds, pair_rounds, rail_rounds;
	int *tournament; /* of each round of kind PAIR: its round of the tournament */
	int rounds;      /* all of them */
};

/* Which rounds: rails alone, edges and rails, or other pairs of a node too. */
enum muster_pairs_plan { MUSTER_PAIRS_RAILS, MUSTER_PAIRS_EDGES, MUSTER_PAIRS_ALL };

/* Plan the rounds of these members, whose numbers are their places in the array. No two of them have both the same node
 * and the same position. */
void muster_pairs_init(struct muster_pairs *pairs, const struct muster_pairs_member *members, size_t count,
	enum muster_pairs_plan plan);
void muster_pairs_done(struct muster_pairs *pairs);

/* The partner of each member in a round: its number, -1 when it has none. Returns the kind. */
enum muster_traffic_kind muster_pairs_round(const struct muster_pairs *pairs, int round, int *ret_peers);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* slow_pairs.h - which part makes exchanges of pairs of ranks slow: a GPU, a NIC, a node, a link between two of these
 */
#ifndef MUSTER_LOCALIZE_SLOW_PAIRS_H
#define MUSTER_LOCALIZE_SLOW_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

enum muster_pair_state {
	MUSTER_PAIR_GOOD = 0,
	MUSTER_PAIR_DOUBTFUL, /* slower than usual: proves neither that its ranks are well nor that they are not */
	MUSTER_PAIR_SLOW,
	MUSTER_PAIR_UNUSED, /* says nothing: it was not measured, or something else explains it */
};

/* One exchange of two ranks. Ranks are numbered from 0, and a NIC has the number of one of its ranks. */
struct muster_pair {
	size_t ranks[2];
	size_t nics[2]; /* with network: the NIC of each rank in this exchange */
	bool network;   /* through NICs; else within a node or an NVLink domain */
	enum muster_pair_state state;
	size_t part; /* result: 1 + the part that makes it slow; 0 for none */
};

enum muster_part_kind { MUSTER_PART_GPU = 0, MUSTER_PART_NIC, MUSTER_PART_NODE, MUSTER_PART_ALL };

struct muster_part {
	enum muster_part_kind kind; /* of each end; ALL: most exchanges are slow, and no end is known */
	bool link;                  /* between ends[0] and ends[1]; else the part is ends[0] */
	bool undecided;             /* a link: one of its ends may be the cause as well */
	bool network;               /* seen in exchanges through NICs; else in those within a node or NVLink domain */
	bool between_nodes;         /* a GPU or a node, in exchanges over NVLink with other nodes alone */
	size_t ends[2];             /* ranks (GPU), numbers of NICs, or nodes */
};

struct muster_slow_parts {
	struct muster_part *items; /* malloc'd; the caller frees */
	size_t count, room;
};

/* Name the parts that explain all slow exchanges, and set `part` of each exchange (also of doubtful ones with a named
 * GPU or NIC). nodes: for each of rank_count ranks, the number of its node, below rank_count.
 *
 * A rank is named when all its exchanges are slow, with two other ranks at least, one of which has exchanges that are
 * not slow; in an NVLink domain of several nodes also when that holds for its exchanges with other nodes alone. The
 * ranks that share a NIC become the NIC; all NICs of a node, or all its GPUs between nodes (two at least), the node.
 * What is left are links; when that is more than half of all exchanges, no part is named. O(n log n). */
void muster_slow_pairs_name(
	struct muster_pair *pairs, size_t count, const size_t *nodes, size_t rank_count, struct muster_slow_parts *ret);

#endif

/* peers.h - the nodes or ranks that a check with same_across compares with each other
 */
#ifndef MUSTER_EVAL_PEERS_H
#define MUSTER_EVAL_PEERS_H

#include "eval/eval.h"

/* A value seen at one peer, within a label's value. Texts are the arena's: equal ones are equal pointers. */
struct muster_seen {
	const char *within;      /* NULL when all are compared */
	const char *value, *key; /* as it is shown, and as it is compared */
	struct muster_place place;
	const struct muster_sample *sample;
};

/* A node or a rank that is compared with the others. */
struct muster_across_peer {
	uint32_t node, rank; /* rank is MUSTER_NOWHERE when nodes are compared */
	const char *within, *value, *key;
	const struct muster_seen *seen; /* the arena's */
	size_t seen_count;
	struct muster_block block; /* of a warning about one of its values */
};

/* The peers of a check, in order of node and rank; the caller frees them. of_ranks: ranks are compared, else nodes.
 * Values that prove nothing, or are missing or blocked, are taken in as results of the check here. */
struct muster_across_peer *muster_peers_find(struct muster_eval *eval, size_t check, bool of_ranks, size_t *ret_count);

#endif

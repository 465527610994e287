/* SPDX-License-Identifier: Apache-2.0 */
/* membership.h - the ranks that said hello, their nodes, the leader of each node
 *
 * Filled hello by hello. muster_membership_close numbers the nodes; after it nothing changes.
 */
#ifndef MUSTER_COORD_MEMBERSHIP_H
#define MUSTER_COORD_MEMBERSHIP_H

#include "muster/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_member {
	bool here, gone;  /* gone: it died before the end of hellos */
	const char *node; /* NULL before it said hello; "<name>#2" when it is the second host of this name */
	const char *host; /* the boot id of its kernel */
	int node_index;
};

struct muster_membership {
	struct muster_arena *arena; /* borrowed: of all names */
	int ranks;
	struct muster_member *members; /* by rank */
	int here_count, gone_count;    /* gone: ranks that died before hellos were over */
	/* by node, in the order of the nodes' lowest ranks */
	size_t node_count;
	int *leaders;  /* the lowest rank of each */
	int *by_node;  /* ranks that are here, node by node, ascending in each */
	size_t *first; /* index in by_node of each node's first rank; node_count + 1 of them */
	const char **names;
};

void muster_membership_init(struct muster_membership *m, int ranks, struct muster_arena *arena);
void muster_membership_done(struct muster_membership *m);

/* A hello. False when this rank has said one already, or has died. */
bool muster_membership_hello(struct muster_membership *m, int rank, const char *node, const char *host);
/* A rank has died, before the end of hellos. Further calls for the same rank change nothing. */
void muster_membership_gone(struct muster_membership *m, int rank);
/* Whether each rank has said hello or has died. */
bool muster_membership_complete(const struct muster_membership *m);
/* Number the nodes. Hosts that share a name are told apart, with a line in the log. */
void muster_membership_close(struct muster_membership *m);

/* The ranks of a node that are here; *ret_count of them. */
const int *muster_membership_ranks(const struct muster_membership *m, size_t node, size_t *ret_count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* blame.h - which nodes, links or partitions explain the localisation all-reduces that failed
 *
 * Pure. The planner uses it to decide whether a failure is still unexplained, and evaluate to report the findings. A
 * localisation all-reduce only shows whether its nodes work at all: how fast they are is for the exchanges of pairs.
 *
 * Nodes are the vertices of a graph. An all-reduce of two nodes is an edge, which passed or failed; one of a single
 * node says whether the node works alone. Nodes that are joined by edges that passed are a component.
 *
 * Examples with six nodes, 0 to 5:
 *   node 3 fails alone                                  node 3 (ALONE)
 *   3 works alone, 2-3 and 3-4 failed, 0-1, 1-2, 4-5    node 3 (PARTNERS): it passed with no node, and failed with some
 *     and 5-0 passed                                    that work with others
 *   only 2-3 failed, each of both passed with others    the link 2-3
 *   0-1, 1-2 and 3-4, 4-5 passed; 0-3, 1-4, 2-5 and     a split: two components, and four pairs across them failed,
 *     0-5 failed                                        with no node in all of them
 *   only 0-1 was tried, and failed                      unexplained: either node, or the link
 */
#ifndef MUSTER_LOCALIZE_BLAME_H
#define MUSTER_LOCALIZE_BLAME_H

#include "muster/arena.h"
#include "muster/trial.h"

#include <stdbool.h>

/* A trial ring of one node or of two. */
struct muster_attempt {
	size_t nodes[2]; /* equal: the node was alone */
	enum muster_trial_status status;
	double seconds; /* until it ended; of a late one, the time that it had */
};

/* What ran out of time did not work only if it had time enough. Otherwise it counts as not tried. */
#define MUSTER_LATE_FACTOR 3       /* times the slowest trial that passed */
#define MUSTER_LATE_FULL_SECONDS 9 /* when none passed: what a worker has of a trial's full time */

enum muster_result { MUSTER_UNTRIED = 0, MUSTER_PASSED, MUSTER_BROKEN };

/* Two nodes that were tried with each other; a < b. */
struct muster_edge {
	size_t a, b;
	bool failed;
	size_t trial; /* index of the attempt */
};

enum muster_blame {
	MUSTER_BLAME_NONE = 0,
	MUSTER_BLAME_PARTNERS, /* it failed with at least two others, at least one of which is known to be good */
	MUSTER_BLAME_ALONE,    /* it failed alone */
};

struct muster_suspect { /* a node */
	enum muster_result alone;
	size_t trial;          /* index of the attempt alone */
	size_t passed, failed; /* partners */
	enum muster_blame blame;
	size_t component; /* nodes that are known to work together, directly or through others, share a number */
};

/* Two components with failed pairs of nodes across them. */
struct muster_gap {
	size_t components[2]; /* numbers, ascending */
	size_t failed;        /* pairs */
	/* For each component the lowest and the highest node of these pairs. If they differ in both, two of the pairs
	 * have no node in common. */
	size_t lowest[2], highest[2];
};

/* So many failed pairs across two components are needed for a split, or all pairs if there are fewer. With less, a few
 * bad connections between nodes of one component look like a split. */
#define MUSTER_SPLIT_PAIRS 4

/* Up to so many nodes that work with no other one are tried with each other too (plan.c), before they are suspected. */
#define MUSTER_ISOLATED_FEW 3

struct muster_suspects {
	struct muster_arena *arena; /* owns the arrays */
	struct muster_suspect *nodes;
	size_t node_count;
	struct muster_edge *edges; /* sorted; each pair once, its last trial counts */
	size_t edge_count;
	size_t *node_edges;      /* indices of the edges of node 0, of node 1, ...; each edge stands here twice */
	size_t *first_edge;      /* for each node: where its edges begin in node_edges; one more entry ends the last */
	bool *links;             /* for each edge: it fails though both of its nodes are good with others */
	size_t *component_sizes; /* for each number: the nodes of the component that are not suspected */
	size_t *components;      /* numbers of the components that have more than one node, ascending */
	size_t component_count;  /* whether or not there is a split */
	struct muster_gap *gaps; /* between components that have more than one node; sorted */
	size_t gap_count;
	/* These components work, each for itself, and no pair across them does. Every node that is no suspect was tried
	 * with another one. */
	bool split;
	size_t isolated;    /* nodes that work alone and passed with no other one */
	size_t suspected;   /* nodes */
	size_t link_count;  /* edges */
	size_t unexplained; /* failed pairs that none of these explains */
	size_t counted;     /* attempts that count as passed or failed */
	size_t not_tried;   /* attempts that ran out of time, and had too little */
	double slowest;     /* seconds of the slowest attempt that passed; 0: none */
};

void muster_suspects_find(
	const struct muster_attempt *attempts, size_t count, size_t nodes, struct muster_suspects *ret);
void muster_suspects_done(struct muster_suspects *suspects);

/* Whether the node is faulty. */
bool muster_suspects_suspected(const struct muster_suspects *suspects, size_t node);
/* Whether the node passed with another one, did not fail alone, and is not suspected. */
bool muster_suspects_good(const struct muster_suspects *suspects, size_t node);
/* The pair's edge; NULL when it was not tried. */
const struct muster_edge *muster_suspects_edge(const struct muster_suspects *suspects, size_t a, size_t b);
/* The edge's other node. */
size_t muster_edge_other(const struct muster_edge *edge, size_t node);
/* Whether the edge's nodes are of two components that have more than one node. */
bool muster_suspects_across(const struct muster_suspects *suspects, const struct muster_edge *edge);
/* Whether this edge, by index, passed, or failed by what is known: a suspected node or link, or a split. */
bool muster_suspects_explain(const struct muster_suspects *suspects, size_t edge);
/* Whether a suspected node, a bad link or two sides of the split are in a ring of these nodes (for each node: whether
 * it is in): then its failure is explained. */
bool muster_suspects_explain_ring(const struct muster_suspects *suspects, const bool *in);

#endif

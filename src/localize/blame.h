/* blame.h - from trial rings to blame: which nodes, links or partitions explain the pairs that failed
 *
 * Pure: the planner of trials asks it whether anything is left to explain, and evaluate what to report.
 */
#ifndef MUSTER_LOCALIZE_BLAME_H
#define MUSTER_LOCALIZE_BLAME_H

#include <stdbool.h>
#include <stddef.h>

/* A trial ring of one node or of two. */
struct muster_attempt {
	size_t nodes[2]; /* equal: the node was alone */
	bool ok;
	double gbps; /* 0: not known */
};

enum muster_result { MUSTER_UNTRIED = 0, MUSTER_PASSED, MUSTER_SLOW, MUSTER_BROKEN };

/* Two nodes that were tried with each other; a < b. */
struct muster_edge {
	size_t a, b;
	enum muster_result result;
	double gbps;
	size_t trial; /* index of the attempt */
};

enum muster_blame {
	MUSTER_BLAME_NONE = 0,
	MUSTER_BLAME_PARTNERS, /* it failed with at least two others, at least one of which is known to be good */
	MUSTER_BLAME_ALONE,    /* it failed alone */
};

struct muster_suspect { /* a node */
	enum muster_result alone;
	double alone_gbps;
	size_t trial;          /* index of the attempt alone */
	size_t passed, failed; /* partners */
	enum muster_blame blame;
	size_t part; /* nodes that are known to work together, directly or through others, share a number */
};

struct muster_suspects {
	struct muster_suspect *nodes;
	size_t node_count;
	struct muster_edge *edges; /* sorted; each pair once, its last trial counts */
	size_t edge_count;
	bool *links;        /* for each edge: it fails though both of its nodes are good with others */
	size_t *parts;      /* numbers of the parts that have more than one node, ascending */
	size_t part_count;  /* whether or not there is a split */
	bool split;         /* these parts work, each for itself, and no pair across them does */
	size_t blamed;      /* nodes */
	size_t link_count;  /* edges */
	size_t unexplained; /* failed pairs that none of these explains */
	/* [0] of nodes alone, [1] of pairs: what each is compared with, and from how many nodes; 0: from too few */
	double medians[2];
	size_t compared[2];
};

/* A slow trial counts as failed: less than MUSTER_SLOW_SHARE of the median of what each node showed at best in this
 * kind of trial, when at least three nodes showed something. */
#define MUSTER_SLOW_SHARE 0.7

void muster_suspects_find(
	const struct muster_attempt *attempts, size_t count, size_t nodes, struct muster_suspects *ret);
void muster_suspects_done(struct muster_suspects *suspects);

/* Whether the node passed alone and with another one. */
bool muster_suspects_good(const struct muster_suspects *suspects, size_t node);
/* The pair's edge; NULL when it was not tried. */
const struct muster_edge *muster_suspects_edge(const struct muster_suspects *suspects, size_t a, size_t b);
/* Whether the node failed with somebody of the part. */
bool muster_suspects_failed_with(const struct muster_suspects *suspects, size_t node, size_t part);
bool muster_edge_failed(const struct muster_edge *edge);
/* Pairs that failed across two parts and have no node in common, up to two of them. */
size_t muster_suspects_across(
	const struct muster_suspects *suspects, size_t part, size_t other, const struct muster_edge *ret[2]);

#endif

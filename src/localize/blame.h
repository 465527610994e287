/* blame.h - which nodes, links or partitions explain the localisation all-reduces that failed
 *
 * Pure. The planner uses it to decide whether a failure is still unexplained, and evaluate to report the findings.
 */
#ifndef MUSTER_LOCALIZE_BLAME_H
#define MUSTER_LOCALIZE_BLAME_H

#include "muster/arena.h"
#include "muster/run.h"

/* A trial ring of one node or of two. */
struct muster_attempt {
	size_t nodes[2]; /* equal: the node was alone */
	enum muster_trial_status status;
	double seconds; /* until it ended; of a late one, the time that it had */
	double gbps;    /* 0: not known */
	double least;   /* slower than this is slow; 0: no such threshold */
};

/* What ran out of time did not work only if it had time enough. Otherwise it counts as not tried. */
#define MUSTER_LATE_FACTOR 3       /* times the slowest trial that passed and was not slow for its kind */
#define MUSTER_LATE_FULL_SECONDS 9 /* when none passed: what a worker has of a trial's full time */

enum muster_result { MUSTER_UNTRIED = 0, MUSTER_PASSED, MUSTER_SLOW, MUSTER_BROKEN };

/* Two nodes that were tried with each other; a < b. */
struct muster_edge {
	size_t a, b;
	enum muster_result result;
	double gbps, least;
	size_t trial; /* index of the attempt */
};

enum muster_blame {
	MUSTER_BLAME_NONE = 0,
	MUSTER_BLAME_PARTNERS, /* it failed with at least two others, at least one of which is known to be good */
	MUSTER_BLAME_ALONE,    /* it failed alone */
};

struct muster_suspect { /* a node */
	enum muster_result alone;
	double alone_gbps, alone_least;
	size_t trial;          /* index of the attempt alone */
	size_t passed, failed; /* partners */
	enum muster_blame blame;
	size_t part; /* nodes that are known to work together, directly or through others, share a number */
};

/* Two parts with a failed pair of nodes across them. */
struct muster_gap {
	size_t parts[2]; /* numbers, ascending */
	/* indices of two failed edges without a node in common; when there are none, [0] is the last failed edge */
	size_t edges[2];
	size_t edge_count; /* 1 or 2 */
	size_t failed;     /* all failed pairs across them */
};

/* So many failed pairs across two parts are needed for a split, or all pairs if there are fewer. With less, a few bad
 * connections between nodes of one part look like a split. */
#define MUSTER_SPLIT_PAIRS 4

struct muster_suspects {
	struct muster_arena *arena; /* owns the arrays */
	struct muster_suspect *nodes;
	size_t node_count;
	struct muster_edge *edges; /* sorted; each pair once, its last trial counts */
	size_t edge_count;
	size_t *node_edges;      /* indices of the edges of node 0, of node 1, ...; each edge stands here twice */
	size_t *first_edge;      /* for each node: where its edges begin in node_edges; one more entry ends the last */
	bool *links;             /* for each edge: it fails though both of its nodes are good with others */
	size_t *part_sizes;      /* for each number: the nodes of the part that can be tried */
	size_t *parts;           /* numbers of the parts that have more than one node, ascending */
	size_t part_count;       /* whether or not there is a split */
	bool *is_part;           /* for each number: it is in parts */
	struct muster_gap *gaps; /* between parts that have more than one node; sorted */
	size_t gap_count;
	/* These parts work, each for itself, and no pair across them does. Every node that is no suspect was tried with
	 * another one. */
	bool split;
	size_t suspected;   /* nodes */
	size_t link_count;  /* edges */
	size_t unexplained; /* failed pairs that none of these explains */
	size_t counted;     /* attempts that count as passed, slow or failed */
	size_t not_tried;   /* attempts that ran out of time, and had too little */
	double slowest;     /* seconds of the slowest attempt that passed; 0: none */
	/* [0] of nodes alone, [1] of pairs: what each is compared with, and from how many nodes; 0: from too few */
	double medians[2];
	size_t compared[2];
};

/* A slow trial counts as failed: less than its own threshold, or less than MUSTER_SLOW_SHARE of the median of what each
 * node showed at best in this kind of trial, when at least three nodes showed something. */
#define MUSTER_SLOW_SHARE 0.7

/* rest_failed: a ring of nodes of which none was suspected did not work either. */
void muster_suspects_find(const struct muster_attempt *attempts, size_t count, size_t nodes, bool rest_failed,
	struct muster_suspects *ret);
void muster_suspects_done(struct muster_suspects *suspects);

/* Whether the node is faulty. */
bool muster_suspects_suspected(const struct muster_suspects *suspects, size_t node);
/* Whether the node passed alone and with another one. */
bool muster_suspects_good(const struct muster_suspects *suspects, size_t node);
/* The pair's edge; NULL when it was not tried. */
const struct muster_edge *muster_suspects_edge(const struct muster_suspects *suspects, size_t a, size_t b);
/* Whether the node failed with a node of the part. */
bool muster_suspects_failed_with(const struct muster_suspects *suspects, size_t node, size_t part);
bool muster_edge_failed(const struct muster_edge *edge);
/* The edge's other node. */
size_t muster_edge_other(const struct muster_edge *edge, size_t node);
/* Whether the edge's nodes are of two parts that have more than one node. */
bool muster_suspects_across(const struct muster_suspects *suspects, const struct muster_edge *edge);
/* Whether this edge, by index, passed, or failed by what is known: a suspected node or link, or a split. */
bool muster_suspects_explain(const struct muster_suspects *suspects, size_t edge);
/* The seconds that a late trial must have had to count as failed. slowest: seconds of the slowest that passed; 0: none
 */
double muster_late_seconds(double slowest);
/* The gap between two parts that have more than one node; NULL when no pair across them failed. */
const struct muster_gap *muster_suspects_gap(const struct muster_suspects *suspects, size_t part, size_t other);
/* How many pairs across the gap are still needed before it can belong to a split; 0: none. */
size_t muster_gap_needs(const struct muster_suspects *suspects, const struct muster_gap *gap);
/* Whether a suspected node, a bad link or two sides of the split are in a ring of these nodes (for each node: whether
 * it is in): then its failure is explained. */
bool muster_suspects_explain_ring(const struct muster_suspects *suspects, const bool *in);

#endif

/* drained_nodes.h - how many nodes of a partition muster has drained, and whether these are too many */
#ifndef MUSTER_SLURM_DRAINED_NODES_H
#define MUSTER_SLURM_DRAINED_NODES_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

/* "8", or "10%" of each partition that the node is in, but at least one node. */
struct muster_drained_most {
	bool is_set, is_share;
	int number;
};

int muster_drained_most_parse(const char *text, struct muster_drained_most *ret, struct muster_error *err);

/* Whether one node more may be drained (already: the node is one of them now, and may stay). 0, or -1 with err: code
 * MUSTER_EUSAGE when there are too many, in any partition of the node; another code when text tells nothing of the
 * node. text: a line for each node in each partition, "NODE|PARTITION|STATE|REASON". */
int muster_drained_nodes_check(const char *text, const char *node, bool already, const struct muster_drained_most *most,
	struct muster_error *err);

/* The same; the text is that of sinfo. */
int muster_slurm_drained_nodes_check(const char *node, bool already, const struct muster_drained_most *most,
	int deadline_ms, struct muster_error *err);

#endif

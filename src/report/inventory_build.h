/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_build.h - the steps from a run to the tables of inventory.h
 *
 * values: the text of each row of each node, from its samples or with the reason why there is none; nodes with equal
 * rows become a group, the largest first; what most nodes have becomes the usual value, and a cell that is not equal to
 * it differs; each group becomes a block. Texts are compared by their pointers, since the arena has each text once: a
 * text that was not made by these functions would be equal to none.
 */
#ifndef MUSTER_REPORT_INVENTORY_BUILD_H
#define MUSTER_REPORT_INVENTORY_BUILD_H

#include "muster/probe.h"
#include "report/inventory.h"

/* ---- values: inventory_values.c ---- */

/* A value of one node. Its text is the arena's only copy: equal texts are equal pointers. */
struct muster_inventory_value {
	const char *text, *why; /* as in a cell */
	bool is_number;         /* a column that is `own` then shows a range of the numbers of several nodes */
	double number;
};

/* What is read of a rank's GPU, a port, a node: samples and, when there is no sample, why. */
struct muster_inventory_place {
	const struct muster_run *run;
	const struct muster_node *node;
	const struct muster_rank *rank; /* NULL: the node's samples */
	const char *gpu, *port;         /* NULL: any */
	const char *link_layer;         /* of the port */
};

/* The first sample of the metric at the place; NULL when there is none, or no metric. A sample without the label "gpu"
 * or "port" fits every GPU or port. */
const struct muster_sample *muster_inventory_find(
	const struct muster_inventory_place *place, const struct muster_metric *metric);
/* The text of that sample with its unit, without it when `bare`; or "unknown" and why. */
struct muster_inventory_value muster_inventory_read(struct muster_arena *arena,
	const struct muster_inventory_place *place, const struct muster_metric *metric, bool bare);
/* One metric or two as one text, "12 x 25 GB/s", as the row of the catalogue says. */
struct muster_inventory_value muster_inventory_read_shown(struct muster_arena *arena,
	const struct muster_inventory_place *place, const struct muster_metric *metric, const struct muster_shown *as);
struct muster_inventory_value muster_inventory_unknown(struct muster_arena *arena, const char *why);
struct muster_inventory_value muster_inventory_text(struct muster_arena *arena, const char *text);

/* A list of nodes of the run by their places, "sim-[1-12]"; of names that are no plain host names, or of a list that is
 * too long, the first ones. The text is the arena's. */
const char *muster_inventory_nodes_text(
	struct muster_arena *arena, const struct muster_run *run, const size_t *nodes, size_t count);

/* ---- groups of equal nodes: inventory_fold.c ---- */

struct muster_inventory_groups {
	size_t *order; /* the nodes, equal ones next to each other */
	struct muster_inventory_group {
		size_t first, count; /* in that order */
	} * items;                   /* the largest first, then by their first node */
	size_t count;
};

/* How two nodes are ordered; 0: they are equal. */
typedef int muster_inventory_order(const void *arg, size_t a, size_t b);

/* Group nodes by this order. The caller frees order and items. */
struct muster_inventory_groups muster_inventory_group(size_t nodes, muster_inventory_order *compare, const void *arg);

/* The rows of one node. */
struct muster_inventory_rows {
	const char **keys; /* of each row: what stands for the same row on another node ("mlx5_ib3/1") */
	struct muster_inventory_value *values; /* row_count x columns */
	size_t row_count;
	const char *empty;
};

/* Fold the rows of all nodes (rows[i] is of the run's node i) into blocks. columns: one for each of the table. */
void muster_inventory_fold(const struct muster_run *run, const struct muster_shown_metric *columns,
	const struct muster_inventory_rows *rows, struct muster_inventory *inventory, enum muster_inventory_kind kind);

/* ---- the table of the nodes: inventory_nodes.c ---- */

void muster_inventory_nodes(const struct muster_run *run, struct muster_inventory *inventory);

#endif

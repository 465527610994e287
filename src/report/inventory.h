/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h - what the nodes of a run have, as three tables for people: topology by rank, node deep dive, state of
 * the fabric by port
 *
 * Collected from a run. Pure: no I/O, no clock. Nodes with equal values share a row, so a large cluster is a short
 * table. Where nodes differ, the value that most nodes have is the reference, and the other values are marked; where no
 * value is more frequent than all others, each is marked.
 */
#ifndef MUSTER_REPORT_INVENTORY_H
#define MUSTER_REPORT_INVENTORY_H

#include "muster/arena.h"

struct muster_run;

enum muster_inventory_kind {
	MUSTER_INVENTORY_RANKS = 0, /* rank → GPU, NUMA node, CPUs, RDMA devices; a block is a group of equal nodes */
	MUSTER_INVENTORY_NODES,     /* property → value → nodes that have it; a block is a subject ("GPUs") */
	MUSTER_INVENTORY_PORTS, /* RDMA port → state, rate, addresses, errors; a block is a group of equal nodes */
	MUSTER_INVENTORY_COUNT
};

struct muster_inventory_cell {
	const char *text;  /* never NULL; as the machine gave it: to be escaped */
	const char *why;   /* of a value that is not known: why; else NULL */
	const char *usual; /* of a value that differs from other nodes: the one of most nodes, "" when there is none */
};

struct muster_inventory_block {
	const char *title;                   /* "sim-[1-12] (12 nodes)", "GPUs"; to be escaped */
	struct muster_inventory_cell *cells; /* row_count rows of the table's column_count cells */
	size_t row_count;
	const char *empty; /* without rows: why, "no RDMA port" */
	size_t nodes;      /* of a group of nodes: how many */
	size_t first;      /* and the place of its first node in the run */
};

struct muster_inventory_table {
	const char *title;          /* "Topology by rank" */
	const char *const *columns; /* column_count headings */
	size_t column_count;        /* cells of a row */
	size_t shown; /* columns to print, from the first one: not the nodes of a row where there is one node */
	struct muster_inventory_block *blocks; /* groups of nodes: the largest one first */
	size_t block_count;
	size_t cut; /* nodes of further groups, which are not here */
};

struct muster_inventory {
	struct muster_arena *arena;
	struct muster_inventory_table tables[MUSTER_INVENTORY_COUNT];
	size_t differing; /* cells with a `usual` */
};

/* Collect the tables. They borrow from the run, which must outlive them. O(n log n). */
void muster_inventory_make(const struct muster_run *run, struct muster_inventory *ret);
void muster_inventory_done(struct muster_inventory *inventory);

#endif

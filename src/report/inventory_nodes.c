/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_nodes.c - the table of the nodes: each property with its values, and which nodes have which
 *
 * A block is a subject, such as "GPUs", and has three columns:
 *
 *   property    value                                           nodes
 *   driver      580.105.08                                      sim-[1-10]
 *   driver      570.86.15 (marked: it differs)                  sim-[11-12]
 *   model       8 x NVIDIA H100 80GB HBM3                       all
 *   memory      7 x 80 GiB, 1 x 79 GiB (GPU 3 (000b:00:00.0))   sim-12
 *
 * Two steps. read_node() makes one text of a property of a node: where the property is of its GPUs or ports, their
 * values are counted (add_share, sum_up). add_property() groups the nodes by that text, and adds a row for each group.
 */
#include "report/inventory_build.h"

#include "model/gpu.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	VALUES_MAX = 8,     /* values of a property that differs between nodes */
	OWN_VALUES_MAX = 4, /* of a property that each node has of its own */
	EXCEPTIONS_MAX = 4, /* GPUs or ports of one node that are named, each with its value */
	COLUMNS = 3,
};
#define CLOSE 0.01 /* the part of a node's memory that a kernel or a firmware keeps differs a little */

static const struct {
	const char *title;
	enum muster_shown_table properties;
} subjects[] = {
	{ "machine", MUSTER_SHOWN_MACHINE },
	{ "software", MUSTER_SHOWN_SOFTWARE },
	{ "GPUs", MUSTER_SHOWN_GPUS },
	{ "network", MUSTER_SHOWN_NETWORK },
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* ---- the value of one node ---- */

/* A value that some parts of a node have. A part is a GPU, a port or a rank. */
struct share {
	const char *text, *why;
	size_t count, first; /* how many parts have the value; the index of the first one */
	const char *part;    /* the name of the first one, "GPU 0 (0001:00:00.0)" */
};

struct shares {
	struct share *items;
	size_t count, parts; /* different values; parts */
};

static void add_share(struct shares *shares, struct muster_inventory_value value, const char *part)
{
	size_t at = 0;
	while (at < shares->count && shares->items[at].text != value.text)
		at++;
	if (at == shares->count)
		shares->items[shares->count++] =
			(struct share){ .text = value.text, .why = value.why, .first = shares->parts, .part = part };
	shares->items[at].count++;
	shares->parts++;
}

static int by_count(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

/* The values of the parts of a node as one text:
 *
 *   all parts have A            "A"; "8 x A" where how many there are is part of the value (`counted`)
 *   all differ by their nature  "8 different ones" (`own`)
 *   else, the most frequent     "7 x A, 1 x B (GPU 000b:00:00.0)": a value that a single part has names that part
 *   first                       "4 x A, 2 x B, 1 x C (GPU ...), 1 x D (GPU ...) and 1 more values"
 */
static struct muster_inventory_value sum_up(
	struct muster_arena *arena, struct shares *shares, const struct muster_shown *as)
{
	const char *text = "";
	if (shares->count == 1) {
		const struct share *only = &shares->items[0];
		text = as->counted && !only->why ? muster_arena_printf(arena, "%zu x %s", only->count, only->text)
						 : only->text;
		return (struct muster_inventory_value){ .text = text, .why = only->why };
	}
	if (as->own && shares->count == shares->parts)
		return muster_inventory_text(arena, muster_arena_printf(arena, "%zu different ones", shares->count));
	qsort(shares->items, shares->count, sizeof *shares->items, by_count);
	for (size_t i = 0; i < shares->count && i < EXCEPTIONS_MAX; i++) {
		const struct share *share = &shares->items[i];
		text = muster_arena_printf(arena, "%s%s%zu x %s", text, i ? ", " : "", share->count, share->text);
		if (i > 0 && share->count == 1)
			text = muster_arena_printf(arena, "%s (%s)", text, share->part);
	}
	if (shares->count > EXCEPTIONS_MAX)
		text = muster_arena_printf(arena, "%s and %zu more values", text, shares->count - EXCEPTIONS_MAX);
	return muster_inventory_text(arena, text);
}

/* The same GPU as of a rank before: MIG, or ranks that share a GPU. */
static bool is_shared(const struct muster_node *node, size_t rank)
{
	const char *gpu = node->ranks[rank].gpu;
	for (size_t i = 0; gpu && i < rank; i++)
		if (node->ranks[i].gpu && strcmp(node->ranks[i].gpu, gpu) == 0)
			return true;
	return false;
}

/* The values of all GPUs, each once, or of all ranks. */
static void read_ranks(struct muster_arena *arena, const struct muster_run *run, const struct muster_node *node,
	const struct muster_shown_metric *property, struct shares *shares)
{
	for (size_t r = 0; r < node->rank_count; r++) {
		const struct muster_rank *rank = &node->ranks[r];
		const struct muster_inventory_place place = {
			.run = run, .node = node, .rank = rank, .gpu = rank->gpu
		};
		bool of_gpu = property->metric->scope == MUSTER_SCOPE_GPU;
		if (of_gpu && is_shared(node, r))
			continue;
		add_share(shares, muster_inventory_read_shown(arena, &place, property->metric, property->as),
			of_gpu && rank->gpu ? muster_node_gpu_text(arena, node, rank->gpu)
					    : muster_arena_printf(arena, "rank %d", rank->rank));
	}
}

static void read_ports(struct muster_arena *arena, const struct muster_run *run, const struct muster_node *node,
	const struct muster_shown_metric *property, struct shares *shares)
{
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		const char *port = muster_label_string(sample->labels, sample->label_count, "port");
		const struct muster_inventory_place place = { .run = run, .node = node, .port = port };
		if (sample->metric == property->metric && port)
			add_share(shares, muster_inventory_read_shown(arena, &place, property->metric, property->as),
				muster_arena_printf(arena, "port %s", port));
	}
}

/* The value of a property of GPUs or ports on a node that has none of them: that there is no RDMA port, or "unknown"
 * and why. */
static struct muster_inventory_value read_without_parts(struct muster_arena *arena,
	const struct muster_inventory_place *place, const struct muster_shown_metric *property)
{
	if (property->metric->scope == MUSTER_SCOPE_PORT &&
		!muster_inventory_read(arena, place, muster_metric_find("node.ib_ports"), false).why)
		return muster_inventory_text(arena, "no RDMA port");
	return muster_inventory_read_shown(arena, place, property->metric, property->as);
}

/* The property of one node as one text: of its own sample, or summed up over its GPUs, ranks or ports. */
static struct muster_inventory_value read_node(struct muster_arena *arena, const struct muster_run *run,
	const struct muster_node *node, const struct muster_shown_metric *property)
{
	const struct muster_inventory_place place = { .run = run, .node = node };
	if (property->metric->scope == MUSTER_SCOPE_NODE)
		return muster_inventory_read_shown(arena, &place, property->metric, property->as);
	struct shares shares = { .items = muster_calloc(
					 node->rank_count + node->samples.count + 1, sizeof *shares.items) };
	if (property->metric->scope == MUSTER_SCOPE_PORT)
		read_ports(arena, run, node, property, &shares);
	else
		read_ranks(arena, run, node, property, &shares);
	struct muster_inventory_value value =
		shares.count ? sum_up(arena, &shares, property->as) : read_without_parts(arena, &place, property);
	free(shares.items);
	return value;
}

/* ---- the values of all nodes ---- */

static int by_value(const void *arg, size_t a, size_t b)
{
	const struct muster_inventory_value *values = arg;
	return strverscmp(values[a].text, values[b].text);
}

/* Numbers within CLOSE of the median of all nodes become equal: they get the text of the first of them. */
static void join_close(struct muster_inventory_value *values, size_t count)
{
	double *numbers = muster_calloc(count + 1, sizeof *numbers);
	const char *text = NULL;
	size_t known = 0;
	for (size_t i = 0; i < count; i++)
		if (values[i].is_number)
			numbers[known++] = values[i].number;
	double median = known ? muster_median_of(numbers, known) : 0;
	for (size_t i = 0; i < count; i++) {
		if (!values[i].is_number || fabs(values[i].number - median) > CLOSE * median)
			continue;
		text = text ? text : values[i].text;
		values[i].text = text;
	}
	free(numbers);
}

/* Which nodes: "all", "sim-[1-2]". */
static const char *where(struct muster_arena *arena, const struct muster_run *run, const size_t *nodes, size_t count)
{
	if (count == run->node_count && count > 1)
		return "all";
	return muster_inventory_nodes_text(arena, run, nodes, count);
}

static void add_row(
	struct muster_inventory_block *block, const char *title, struct muster_inventory_cell value, const char *nodes)
{
	struct muster_inventory_cell *cells = &block->cells[block->row_count++ * COLUMNS];
	cells[0].text = title;
	cells[1] = value;
	cells[2].text = nodes;
}

/* The rows of one property: one for each value, the most frequent first, and one for further values; at most VALUES_MAX
 * + 1. Of an `own` property with many values there is one row with their number. values: of each node; close numbers
 * become equal in it. Where one value is more frequent than each other one, all others are marked as different; where
 * none is, all are. */
static void add_property(struct muster_inventory *inventory, const struct muster_run *run,
	const struct muster_shown *as, struct muster_inventory_value *values, struct muster_inventory_block *block)
{
	struct muster_arena *arena = inventory->arena;
	size_t count = 0, others = 0, known = 0;
	for (size_t i = 0; i < run->node_count; i++)
		known += !values[i].why;
	if (as->optional && known == 0)
		return;
	if (as->close)
		join_close(values, run->node_count);
	struct muster_inventory_groups by = muster_inventory_group(run->node_count, by_value, values);
	const struct muster_inventory_group *groups = by.items;
	count = by.count;
	const char *usual =
		count > 1 && groups[0].count > groups[1].count ? values[by.order[groups[0].first]].text : "";
	if (as->own && count > OWN_VALUES_MAX) {
		add_row(block, as->title,
			(struct muster_inventory_cell){
				.text = muster_arena_printf(arena, "%zu different values", count) },
			where(arena, run, by.order, run->node_count));
		count = 0;
	}
	for (size_t g = 0; g < count && g < VALUES_MAX; g++) {
		const struct muster_inventory_value *value = &values[by.order[groups[g].first]];
		bool differs = !as->own && count > 1 && (g > 0 || !*usual);
		add_row(block, as->title,
			(struct muster_inventory_cell){ value->text, value->why, differs ? usual : NULL },
			where(arena, run, &by.order[groups[g].first], groups[g].count));
	}
	for (size_t g = VALUES_MAX; g < count; g++)
		others += groups[g].count;
	if (others > 0)
		add_row(block, as->title,
			(struct muster_inventory_cell){
				muster_arena_printf(arena, "%zu more values", count - VALUES_MAX), NULL, usual },
			muster_arena_printf(arena, "%zu nodes", others));
	free(by.order);
	free(by.items);
}

void muster_inventory_nodes(const struct muster_run *run, struct muster_inventory *inventory)
{
	static const char *const columns[COLUMNS] = { "property", "value", "nodes" };
	struct muster_inventory_value *values = muster_calloc(run->node_count + 1, sizeof *values);
	struct muster_inventory_table *table = &inventory->tables[MUSTER_INVENTORY_NODES];
	*table = (struct muster_inventory_table){ .title = "Nodes",
		.columns = columns,
		.column_count = COLUMNS,
		.blocks = muster_arena_alloc(inventory->arena, SUBJECTS * sizeof *table->blocks),
		.block_count = SUBJECTS };
	for (size_t s = 0; s < SUBJECTS; s++) {
		size_t count;
		const struct muster_shown_metric *properties = muster_metrics_shown(subjects[s].properties, &count);
		size_t rows = count * (VALUES_MAX + 1);
		struct muster_inventory_block *block = &table->blocks[s];
		block->title = subjects[s].title;
		block->cells = muster_arena_alloc(inventory->arena, rows * COLUMNS * sizeof *block->cells);
		for (size_t i = 0; i < count; i++) {
			for (size_t n = 0; n < run->node_count; n++)
				values[n] = read_node(inventory->arena, run, &run->nodes[n], &properties[i]);
			add_property(inventory, run, properties[i].as, values, block);
		}
	}
	free(values);
}

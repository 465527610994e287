/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.c - the tables of ranks and of ports; a row of a node's table is a row of its block
 *
 * muster_inventory_make() makes all three tables of inventory.h; that of the nodes is in inventory_nodes.c. The other
 * two are alike (add_table): the columns are metrics of the catalogue and a few others (rank, GPU, port), by their
 * places; find_places_fn finds the rows of a node; value_of() has the value of a row in a column. The rows of all nodes
 * are then folded into blocks of equal nodes (inventory_fold.c).
 */
#include "report/inventory_build.h"

#include "model/gpu.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdlib.h>
#include <string.h>

/* Columns that are no metrics: value_of() knows them by their addresses. `own` ones differ from node to node by their
 * nature, so they do not make nodes differ. */
static const struct muster_shown rank_column = { .place = 10, .title = "rank", .own = true };
static const struct muster_shown index_column = { .place = 20, .title = "GPU" };
static const struct muster_shown bus_id_column = { .place = 40, .title = "bus id", .own = true };
static const struct muster_shown port_column = { .place = 10, .title = "port" };

/* ---- values ---- */

/* The sum of the port's counters, and, when `named`, the counters that are not 0: "3 (symbol_error 2, link_downed 1)".
 * Each counter is a sample of its own of the same metric. Where none is a number, why the first sample has no value. */
static struct muster_inventory_value read_errors(struct muster_arena *arena, const struct muster_inventory_place *place,
	const struct muster_metric *metric, bool named)
{
	struct muster_inventory_value value = muster_inventory_read(arena, place, metric, false);
	const char *which = "";
	double sum = 0;
	bool known = false;
	for (size_t i = 0; i < place->node->samples.count; i++) {
		const struct muster_sample *sample = &place->node->samples.items[i];
		const char *port = muster_label_string(sample->labels, sample->label_count, "port");
		const char *counter = muster_label_string(sample->labels, sample->label_count, "counter");
		if (sample->metric != metric || sample->value.type != MUSTER_NUMBER || !port || !counter ||
			!place->port || strcmp(port, place->port) != 0)
			continue;
		known = true;
		sum += sample->value.number;
		if (named && sample->value.number != 0)
			which = muster_arena_printf(
				arena, "%s%s%s %.15g", which, *which ? ", " : "", counter, sample->value.number);
	}
	if (!known)
		return value;
	return (struct muster_inventory_value){
		.text = muster_arena_printf(arena, "%.15g%s%s%s", sum, *which ? " (" : "", which, *which ? ")" : ""),
		.is_number = true,
		.number = sum,
	};
}

/* "IB 4x HDR": the lanes of the link, and their speed. A port that is no InfiniBand has no such names: there the link
 * layer stands alone, "Ethernet". */
static struct muster_inventory_value read_link(struct muster_arena *arena, const struct muster_inventory_place *place,
	const struct muster_shown_metric *column)
{
	struct muster_inventory_value link = muster_inventory_read(arena, place, column->metric, true);
	struct muster_inventory_value speed =
		muster_inventory_read(arena, place, muster_metric_find(column->as->second), true);
	if (strcmp(place->link_layer, "InfiniBand") != 0)
		return muster_inventory_text(arena, place->link_layer);
	if (!link.why)
		link.text = muster_arena_printf(
			arena, "IB %sx%s%s", link.text, speed.why ? "" : " ", speed.why ? "" : speed.text);
	return link;
}

/* The rank's GPU as nvidia-smi counts. */
static struct muster_inventory_value read_index(struct muster_arena *arena, const struct muster_inventory_place *place)
{
	int index = muster_node_gpu_index(place->node, place->rank->gpu);
	if (index < 0)
		return muster_inventory_unknown(arena, "neither nvidia-smi's order nor NVML's index is known");
	return (struct muster_inventory_value){
		.text = muster_arena_printf(arena, "%d", index), .is_number = true, .number = index
	};
}

/* The value of one row in one column. Of a missing rank its number is known, and its GPU where the report has one; in
 * all other columns stands why nothing came from the rank. */
static struct muster_inventory_value value_of(struct muster_arena *arena, const struct muster_inventory_place *place,
	const struct muster_shown_metric *column)
{
	const struct muster_rank *rank = place->rank;
	if (column->as == &port_column)
		return muster_inventory_text(arena, place->port);
	if (column->as == &rank_column)
		return (struct muster_inventory_value){
			.text = muster_arena_printf(arena, "%d", rank->rank), .is_number = true, .number = rank->rank
		};
	if (column->as == &index_column && rank->gpu)
		return read_index(arena, place);
	if (column->as == &bus_id_column && rank->gpu)
		return muster_inventory_text(arena, rank->gpu);
	if (rank && rank->missing)
		return muster_inventory_unknown(arena, rank->missing);
	if (column->as == &bus_id_column || column->as == &index_column)
		return muster_inventory_unknown(arena, "the rank has no GPU");
	if (column->as->is_link)
		return read_link(arena, place, column);
	if (column->metric->counts_errors)
		return read_errors(arena, place, column->metric, !column->as->own);
	return muster_inventory_read_shown(arena, place, column->metric, column->as);
}

/* ---- rows ---- */

/* Put the places of the node's rows into ret, which has room for one of each rank and sample. Returns how many. */
typedef size_t find_places_fn(
	const struct muster_run *run, const struct muster_node *node, struct muster_inventory_place *ret);

static size_t find_ranks(
	const struct muster_run *run, const struct muster_node *node, struct muster_inventory_place *ret)
{
	for (size_t r = 0; r < node->rank_count; r++)
		ret[r] = (struct muster_inventory_place){
			.run = run, .node = node, .rank = &node->ranks[r], .gpu = node->ranks[r].gpu
		};
	return node->rank_count;
}

/* Only a port that has a state is a row. */
static size_t find_ports(
	const struct muster_run *run, const struct muster_node *node, struct muster_inventory_place *ret)
{
	const struct muster_metric *state = muster_metric_find("port.state");
	size_t count = 0;
	for (size_t i = 0; i < node->samples.count; i++) {
		const struct muster_sample *sample = &node->samples.items[i];
		const char *port = muster_label_string(sample->labels, sample->label_count, "port");
		const char *layer = muster_label_string(sample->labels, sample->label_count, "link_layer");
		if (sample->metric == state && port)
			ret[count++] = (struct muster_inventory_place){ .run = run,
				.node = node,
				.port = port,
				.link_layer = layer ? layer : "unknown link layer" };
	}
	return count;
}

/* Why a node has no row in the table. A node without RDMA ports has the number of its ports all the same; where that
 * number is not known either, its reason is the reason here. */
static const char *why_none(struct muster_arena *arena, const struct muster_run *run, const struct muster_node *node,
	enum muster_inventory_kind kind)
{
	const struct muster_inventory_place place = { .run = run, .node = node };
	if (kind == MUSTER_INVENTORY_RANKS)
		return "no rank of this node is known";
	struct muster_inventory_value ports =
		muster_inventory_read(arena, &place, muster_metric_find("node.ib_ports"), false);
	return ports.why ? muster_arena_printf(arena, "unknown: %s", ports.why)
			 : muster_arena_string(arena, "no RDMA port");
}

enum { OTHERS_MAX = 3 };

/* A table whose columns are metrics, and others, by their places. */
struct table {
	const char *title;
	enum muster_shown_table metrics;
	const struct muster_shown *others[OTHERS_MAX];
	find_places_fn *find;
};

static const struct table tables[MUSTER_INVENTORY_COUNT] = {
	[MUSTER_INVENTORY_RANKS] = { "Topology by rank", MUSTER_SHOWN_RANKS,
		{ &rank_column, &index_column, &bus_id_column }, find_ranks },
	[MUSTER_INVENTORY_PORTS] = { "Fabric by port", MUSTER_SHOWN_PORTS, { &port_column }, find_ports },
};

static int by_place(const void *a, const void *b)
{
	const struct muster_shown_metric *x = a, *y = b;
	return (x->as->place > y->as->place) - (x->as->place < y->as->place);
}

/* The columns of a table from left to right, in arena. The metric of the `others` is NULL. */
static struct muster_shown_metric *make_columns(
	const struct table *table, struct muster_arena *arena, size_t *ret_count)
{
	size_t count;
	const struct muster_shown_metric *metrics = muster_metrics_shown(table->metrics, &count);
	struct muster_shown_metric *columns = muster_arena_alloc(arena, (count + OTHERS_MAX) * sizeof *columns);
	memcpy(columns, metrics, count * sizeof *columns);
	for (size_t i = 0; i < OTHERS_MAX && table->others[i]; i++)
		columns[count++] = (struct muster_shown_metric){ NULL, table->others[i] };
	qsort(columns, count, sizeof *columns, by_place);
	*ret_count = count;
	return columns;
}

/* Make the table of ranks or of ports. The key of a row stands for the same row on other nodes: a port's name, or the
 * index of the rank on its node, since the ranks' numbers differ from node to node. */
static void add_table(const struct muster_run *run, struct muster_inventory *inventory, enum muster_inventory_kind kind)
{
	struct muster_arena *arena = inventory->arena;
	size_t width;
	const struct muster_shown_metric *columns = make_columns(&tables[kind], arena, &width);
	const char **titles = muster_arena_alloc(arena, width * sizeof *titles);
	struct muster_inventory_rows *all = muster_calloc(run->node_count + 1, sizeof *all);
	for (size_t c = 0; c < width; c++)
		titles[c] = columns[c].as->title;
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		struct muster_inventory_rows *rows = &all[n];
		struct muster_inventory_place *places =
			muster_calloc(node->rank_count + node->samples.count + 1, sizeof *places);
		rows->row_count = tables[kind].find(run, node, places);
		rows->keys = muster_arena_alloc(arena, (rows->row_count + 1) * sizeof *rows->keys);
		rows->values = muster_arena_alloc(arena, (rows->row_count * width + 1) * sizeof *rows->values);
		for (size_t r = 0; r < rows->row_count; r++)
			rows->keys[r] = places[r].port ? muster_arena_string(arena, places[r].port)
						       : muster_arena_printf(arena, "rank %zu of its node", r);
		for (size_t i = 0; i < rows->row_count * width; i++)
			rows->values[i] = value_of(arena, &places[i / width], &columns[i % width]);
		rows->empty = rows->row_count ? NULL : why_none(arena, run, node, kind);
		free(places);
	}
	inventory->tables[kind] = (struct muster_inventory_table){
		.title = tables[kind].title, .columns = titles, .column_count = width
	};
	muster_inventory_fold(run, columns, all, inventory, kind);
	free(all);
}

/* ---- all of it ---- */

void muster_inventory_make(const struct muster_run *run, struct muster_inventory *ret)
{
	*ret = (struct muster_inventory){ .arena = muster_arena_new() };
	add_table(run, ret, MUSTER_INVENTORY_RANKS);
	muster_inventory_nodes(run, ret);
	add_table(run, ret, MUSTER_INVENTORY_PORTS);
	for (size_t t = 0; t < MUSTER_INVENTORY_COUNT; t++) {
		struct muster_inventory_table *table = &ret->tables[t];
		table->shown = table->column_count - (t == MUSTER_INVENTORY_NODES && run->node_count == 1);
		for (size_t b = 0; b < table->block_count; b++)
			for (size_t i = 0; i < table->blocks[b].row_count * table->column_count; i++)
				ret->differing += table->blocks[b].cells[i].usual != NULL;
	}
}

void muster_inventory_done(struct muster_inventory *inventory)
{
	muster_arena_free(inventory->arena);
	*inventory = (struct muster_inventory){ 0 };
}

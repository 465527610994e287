/* inventory.c - the tables of ranks and of ports; a row of a node's table is a row of its block */
#include "report/inventory_build.h"

#include "muster/probe.h"

#include <stdlib.h>
#include <string.h>

/* ---- topology by rank ---- */

static const struct muster_inventory_fact rank_facts[] = {
	{ .title = "rank", .own = true },
	{ .title = "GPU", .metric = "gpu.nvml_index" },
	{ .title = "model", .metric = "gpu.name" },
	{ .title = "bus id", .own = true },
	{ .title = "NUMA", .metric = "rank.gpu_numa_node" },
	{ .title = "CPUs of the rank", .metric = "rank.cpu_list" },
	{ .title = "locality", .metric = "rank.cpu_locality" },
	{ .title = "nearest RDMA devices", .metric = "rank.near_nics" },
};
enum { RANK_COLUMNS = sizeof rank_facts / sizeof *rank_facts, RANK = 0, GPU = 1, BUS_ID = 3 };

static struct muster_inventory_value rank_value(
	struct muster_arena *arena, const struct muster_inventory_place *place, size_t column)
{
	const struct muster_rank *rank = place->rank;
	if (column == RANK)
		return (struct muster_inventory_value){
			.text = muster_arena_printf(arena, "%d", rank->rank), .is_number = true, .number = rank->rank
		};
	if (column == BUS_ID && rank->gpu)
		return muster_inventory_text(arena, rank->gpu);
	if (rank->missing)
		return muster_inventory_unknown(arena, rank->missing);
	if (column == BUS_ID)
		return muster_inventory_unknown(arena, "the rank has no GPU");
	return muster_inventory_read_fact(arena, place, &rank_facts[column]);
}

static void add_ranks(const struct muster_run *run, struct muster_inventory *inventory)
{
	struct muster_arena *arena = inventory->arena;
	struct muster_inventory_rows *all = muster_calloc(run->node_count + 1, sizeof *all);
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		struct muster_inventory_rows *rows = &all[n];
		*rows = (struct muster_inventory_rows){ .keys = muster_arena_alloc(
								arena, (node->rank_count + 1) * sizeof *rows->keys),
			.values =
				muster_arena_alloc(arena, (node->rank_count * RANK_COLUMNS + 1) * sizeof *rows->values),
			.row_count = node->rank_count,
			.empty = node->rank_count ? NULL : "no rank of this node is known" };
		for (size_t r = 0; r < node->rank_count; r++) {
			const struct muster_rank *rank = &node->ranks[r];
			const struct muster_inventory_place place = { run, node, rank, rank->gpu, NULL };
			rows->keys[r] = muster_arena_printf(arena, "rank %zu of its node", r);
			for (size_t c = 0; c < RANK_COLUMNS; c++)
				rows->values[r * RANK_COLUMNS + c] = rank_value(arena, &place, c);
		}
	}
	muster_inventory_fold(run, rank_facts, all, inventory, MUSTER_INVENTORY_RANKS);
	free(all);
}

/* ---- fabric by port ---- */

enum port_column { PORT, STATE, RATE, LINK, MTU, LID, GUID, NUMA, NEW_ERRORS, OLD_ERRORS, PORT_COLUMNS };

static const struct muster_inventory_fact port_facts[] = {
	[PORT] = { .title = "port" },
	[STATE] = { .title = "state", .metric = "port.state", .second = "port.phys_state" },
	[RATE] = { .title = "Gb/s", .metric = "port.rate_gbps", .bare = true },
	[LINK] = { .title = "link", .metric = "port.width", .second = "port.speed" },
	[MTU] = { .title = "MTU", .metric = "port.mtu_bytes", .bare = true },
	[LID] = { .title = "LID", .metric = "port.lid", .own = true },
	[GUID] = { .title = "node GUID", .metric = "port.guid", .own = true },
	[NUMA] = { .title = "NUMA", .metric = "port.numa_node" },
	[NEW_ERRORS] = { .title = "new errors", .metric = "port.counter_increase" },
	[OLD_ERRORS] = { .title = "before", .metric = "port.counter", .own = true },
};

/* The sum of the port's counters, with the names of the counters above 0: "3 (symbol_error 2, link_downed 1)". */
static struct muster_inventory_value read_errors(
	struct muster_arena *arena, const struct muster_inventory_place *place, const char *name, bool named)
{
	const struct muster_metric *metric = muster_metric_find(name);
	struct muster_inventory_value value = muster_inventory_read(arena, place, name, false);
	const char *which = "";
	double sum = 0;
	bool known = false;
	for (size_t i = 0; i < place->node->samples.count; i++) {
		const struct muster_sample *sample = &place->node->samples.items[i];
		const char *port = muster_label_string(sample->labels, sample->label_count, "port");
		const char *counter = muster_label_string(sample->labels, sample->label_count, "counter");
		if (sample->metric != metric || sample->value.type != MUSTER_NUMBER || !port || !counter ||
			strcmp(port, place->port) != 0)
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

/* "ACTIVE"; the physical state only where it is not the usual one: "DOWN, Polling". */
static struct muster_inventory_value read_state(struct muster_arena *arena, const struct muster_inventory_place *place)
{
	struct muster_inventory_value state = muster_inventory_read(arena, place, port_facts[STATE].metric, false);
	struct muster_inventory_value physical = muster_inventory_read(arena, place, port_facts[STATE].second, false);
	if (!state.why && !physical.why && strcmp(physical.text, "LinkUp") != 0)
		state.text = muster_arena_printf(arena, "%s, %s", state.text, physical.text);
	return state;
}

/* "IB 4x HDR"; the lanes and their speed have no such name on Ethernet. */
static struct muster_inventory_value read_link(
	struct muster_arena *arena, const struct muster_inventory_place *place, const char *link_layer)
{
	struct muster_inventory_value link = muster_inventory_read(arena, place, port_facts[LINK].metric, true);
	struct muster_inventory_value speed = muster_inventory_read(arena, place, port_facts[LINK].second, true);
	if (strcmp(link_layer, "InfiniBand") != 0)
		return muster_inventory_text(arena, link_layer);
	if (!link.why)
		link.text = muster_arena_printf(
			arena, "IB %sx%s%s", link.text, speed.why ? "" : " ", speed.why ? "" : speed.text);
	return link;
}

static struct muster_inventory_value port_value(struct muster_arena *arena, const struct muster_inventory_place *place,
	const char *link_layer, enum port_column column)
{
	switch (column) {
	case PORT: return muster_inventory_text(arena, place->port);
	case STATE: return read_state(arena, place);
	case LINK: return read_link(arena, place, link_layer);
	case NEW_ERRORS:
	case OLD_ERRORS: return read_errors(arena, place, port_facts[column].metric, column == NEW_ERRORS);
	default: return muster_inventory_read_fact(arena, place, &port_facts[column]);
	}
}

/* The states of the node's ports, each of which is one row. */
static size_t find_ports(const struct muster_node *node, const struct muster_sample **ret)
{
	const struct muster_metric *state = muster_metric_find("port.state");
	size_t count = 0;
	for (size_t i = 0; i < node->samples.count; i++)
		if (node->samples.items[i].metric == state &&
			muster_label_string(node->samples.items[i].labels, node->samples.items[i].label_count, "port"))
			ret[count++] = &node->samples.items[i];
	return count;
}

static const char *why_no_port(struct muster_arena *arena, const struct muster_run *run, const struct muster_node *node)
{
	const struct muster_inventory_place place = { .run = run, .node = node };
	struct muster_inventory_value ports = muster_inventory_read(arena, &place, "node.ib_ports", false);
	return ports.why ? muster_arena_printf(arena, "unknown: %s", ports.why)
			 : muster_arena_string(arena, "no RDMA port");
}

static void add_ports(const struct muster_run *run, struct muster_inventory *inventory)
{
	struct muster_arena *arena = inventory->arena;
	struct muster_inventory_rows *all = muster_calloc(run->node_count + 1, sizeof *all);
	for (size_t n = 0; n < run->node_count; n++) {
		const struct muster_node *node = &run->nodes[n];
		struct muster_inventory_rows *rows = &all[n];
		const struct muster_sample **ports = muster_calloc(node->samples.count + 1, sizeof(*ports));
		size_t count = find_ports(node, ports);
		*rows = (struct muster_inventory_rows){ .keys = muster_arena_alloc(
								arena, (count + 1) * sizeof *rows->keys),
			.values = muster_arena_alloc(arena, (count * PORT_COLUMNS + 1) * sizeof *rows->values),
			.row_count = count,
			.empty = count ? NULL : why_no_port(arena, run, node) };
		for (size_t p = 0; p < count; p++) {
			const struct muster_label *labels = ports[p]->labels;
			const char *port = muster_label_string(labels, ports[p]->label_count, "port");
			const char *layer = muster_label_string(labels, ports[p]->label_count, "link_layer");
			const struct muster_inventory_place place = { run, node, NULL, NULL, port };
			rows->keys[p] = muster_arena_string(arena, port);
			for (int c = 0; c < PORT_COLUMNS; c++)
				rows->values[p * PORT_COLUMNS + (size_t)c] = port_value(
					arena, &place, layer ? layer : "unknown link layer", (enum port_column)c);
		}
		free(ports);
	}
	muster_inventory_fold(run, port_facts, all, inventory, MUSTER_INVENTORY_PORTS);
	free(all);
}

/* ---- all of it ---- */

static void begin_table(struct muster_inventory *inventory, enum muster_inventory_kind kind, const char *title,
	const struct muster_inventory_fact *facts, size_t count)
{
	const char **columns = muster_arena_alloc(inventory->arena, count * sizeof *columns);
	for (size_t i = 0; i < count; i++)
		columns[i] = facts[i].title;
	inventory->tables[kind] = (struct muster_inventory_table){
		.title = title,
		.columns = columns,
		.column_count = count,
	};
}

void muster_inventory_make(const struct muster_run *run, struct muster_inventory *ret)
{
	*ret = (struct muster_inventory){ .arena = muster_arena_new() };
	begin_table(ret, MUSTER_INVENTORY_RANKS, "Topology by rank", rank_facts, RANK_COLUMNS);
	begin_table(ret, MUSTER_INVENTORY_PORTS, "Fabric by port", port_facts, PORT_COLUMNS);
	add_ranks(run, ret);
	muster_inventory_nodes(run, ret);
	add_ports(run, ret);
	for (size_t t = 0; t < MUSTER_INVENTORY_COUNT; t++) {
		const struct muster_inventory_table *table = &ret->tables[t];
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

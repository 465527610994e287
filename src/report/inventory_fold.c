/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_fold.c - nodes with equal rows become one block, and what differs from most nodes is marked
 *
 * All texts are the arena's or the run's, and each is the only copy of its text in the arena: equal texts are equal
 * pointers.
 *
 * muster_inventory_fold() gets the rows of each node of the run. The steps:
 *
 * 1. Groups: nodes whose rows have equal keys and texts in all columns but the `own` ones (compare_nodes).
 * 2. The usual text of each cell over all groups, weighed by their numbers of nodes (find_usual).
 * 3. A block for each group, the largest first, at most BLOCKS_MAX (make_block). A cell whose text is not the usual one
 *    is marked; a row that at least half of the nodes have and the group has not is added as "absent".
 *
 *   nodes              state of mlx5_ib0/1    usual     block
 *   sim-1 to sim-10    ACTIVE                 ACTIVE    "sim-[1-10] (10 nodes)", nothing is marked
 *   sim-11, sim-12     DOWN                   ACTIVE    "sim-[11-12] (2 nodes)", DOWN is marked
 *
 * The rows of a fold are those of ranks and ports; the table of the nodes uses the groups alone.
 */
#include "muster/run_data.h"
#include "report/inventory_build.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_MAX = 48,
	LISTED_MAX = 3, /* nodes whose own values are listed */
};

struct fold {
	const struct muster_run *run;
	const struct muster_shown_metric *shown;  /* of each column */
	const struct muster_inventory_rows *rows; /* of each node of the run */
	struct muster_arena *arena;
	size_t columns;
	struct muster_inventory_groups groups; /* nodes with equal rows */
};

/* ---- groups ---- */

struct sorting {
	muster_inventory_order *compare;
	const void *arg;
	const size_t *order;
};

static int by_order(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = s->compare(s->arg, x, y);
	return order ? order : (x > y) - (x < y);
}

static int by_size(const void *a, const void *b, void *arg)
{
	const struct muster_inventory_group *x = a, *y = b;
	const struct sorting *s = arg;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return s->order[x->first] < s->order[y->first] ? -1 : 1;
}

struct muster_inventory_groups muster_inventory_group(size_t nodes, muster_inventory_order *compare, const void *arg)
{
	struct muster_inventory_groups groups = { .order = muster_calloc(nodes + 1, sizeof *groups.order),
		.items = muster_calloc(nodes + 1, sizeof *groups.items) };
	struct sorting sorting = { compare, arg, groups.order };
	for (size_t i = 0; i < nodes; i++)
		groups.order[i] = i;
	qsort_r(groups.order, nodes, sizeof *groups.order, by_order, &sorting);
	for (size_t first = 0, end; first < nodes; first = end) {
		for (end = first + 1; end < nodes && compare(arg, groups.order[first], groups.order[end]) == 0;)
			end++;
		groups.items[groups.count++] = (struct muster_inventory_group){ first, end - first };
	}
	qsort_r(groups.items, groups.count, sizeof *groups.items, by_size, &sorting);
	return groups;
}

static int by_pointer(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
	return (x > y) - (x < y);
}

/* An order of nodes in which equal ones are neighbours. Which of two different nodes comes first depends on addresses:
 * it must not be seen, and by_size() sorts the groups. */
static int compare_nodes(const void *arg, size_t a, size_t b)
{
	const struct fold *fold = arg;
	const struct muster_inventory_rows *x = &fold->rows[a], *y = &fold->rows[b];
	int order = (x->row_count > y->row_count) - (x->row_count < y->row_count);
	if (!order)
		order = by_pointer(x->empty, y->empty);
	for (size_t row = 0; !order && row < x->row_count; row++) {
		order = by_pointer(x->keys[row], y->keys[row]);
		for (size_t i = 0; !order && i < fold->columns; i++)
			if (!fold->shown[i].as->own)
				order = by_pointer(x->values[row * fold->columns + i].text,
					y->values[row * fold->columns + i].text);
	}
	return order;
}

/* The rows of the group's first node: but for the `own` columns those of all its nodes. */
static const struct muster_inventory_rows *rows_of(const struct fold *fold, const struct muster_inventory_group *group)
{
	return &fold->rows[fold->groups.order[group->first]];
}

/* ---- what most nodes have ---- */

/* A text in one cell of so many nodes; sorted, all texts of a cell follow each other. A cell is the same one on two
 * nodes when key and column are the same. After find_usual() an entry is the usual text of its cell: NULL where all
 * nodes have one text, "" where no text is more frequent than all others; nodes is then of all that have the cell. */
struct entry {
	const char *key, *text;
	size_t column, nodes;
};

struct usual {
	struct entry *entries;
	size_t count;
};

static int by_cell(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strverscmp(x->key, y->key);
	return order ? order : (x->column > y->column) - (x->column < y->column);
}

static int by_cell_and_text(const void *a, const void *b)
{
	int order = by_cell(a, b);
	return order ? order : by_pointer(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

/* The usual text of a cell, whose entries, sorted by text, are those from first to before end. */
static struct entry sum_up(const struct entry *entries, size_t first, size_t end)
{
	struct entry best = entries[first];
	size_t texts = 0, all = 0, most = 0;
	for (size_t i = first, next; i < end; i = next) {
		size_t nodes = 0;
		for (next = i; next < end && entries[next].text == entries[i].text; next++)
			nodes += entries[next].nodes;
		if (nodes > most)
			best.text = entries[i].text;
		else if (nodes == most)
			best.text = "";
		most = nodes > most ? nodes : most;
		all += nodes;
		texts++;
	}
	if (texts == 1)
		best.text = NULL;
	best.nodes = all;
	return best;
}

/* The usual text of each cell, sorted by_cell(); the caller frees the entries. They are summed up in place: the usual
 * texts overwrite entries that are done. */
static void find_usual(const struct fold *fold, struct usual *usual)
{
	size_t room = 0, count = 0;
	for (size_t g = 0; g < fold->groups.count; g++)
		room += rows_of(fold, &fold->groups.items[g])->row_count * fold->columns;
	*usual = (struct usual){ .entries = muster_calloc(room + 1, sizeof *usual->entries) };
	for (size_t g = 0; g < fold->groups.count; g++) {
		const struct muster_inventory_rows *rows = rows_of(fold, &fold->groups.items[g]);
		for (size_t i = 0; i < rows->row_count * fold->columns; i++)
			usual->entries[count++] = (struct entry){ rows->keys[i / fold->columns], rows->values[i].text,
				i % fold->columns, fold->groups.items[g].count };
	}
	qsort(usual->entries, count, sizeof *usual->entries, by_cell_and_text);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && by_cell(&usual->entries[first], &usual->entries[end]) == 0;)
			end++;
		usual->entries[usual->count++] = sum_up(usual->entries, first, end);
	}
}

/* ---- blocks ---- */

/* The value of the cell at index `at` (row x columns + column) of one of the group's nodes. */
static const struct muster_inventory_value *value_of(
	const struct fold *fold, const struct muster_inventory_group *group, size_t node, size_t at)
{
	return &fold->rows[fold->groups.order[group->first + node]].values[at];
}

/* "0, 8, ... 88" of numbers at equal distances, such as the first ranks of nodes; else "3 to 88". Of two nodes at
 * least.
 */
static const char *numbers_text(const struct fold *fold, const struct muster_inventory_group *group, size_t at)
{
	double first = value_of(fold, group, 0, at)->number, lowest = first, highest = first;
	double step = value_of(fold, group, 1, at)->number - first;
	bool regular = true;
	for (size_t i = 1; i < group->count; i++) {
		double number = value_of(fold, group, i, at)->number;
		regular = regular && number == first + step * (double)i;
		lowest = number < lowest ? number : lowest;
		highest = number > highest ? number : highest;
	}
	if (!regular)
		return muster_arena_printf(fold->arena, "%.15g to %.15g", lowest, highest);
	return muster_arena_printf(fold->arena, "%.15g, %.15g, ... %.15g", first, first + step, highest);
}

/* A cell whose values are each node's own, and never marked: the common text, the list of up to LISTED_MAX texts, the
 * range of the numbers, or "one per node". */
static struct muster_inventory_cell own_cell(
	const struct fold *fold, const struct muster_inventory_group *group, size_t at)
{
	const struct muster_inventory_value *first = value_of(fold, group, 0, at);
	struct muster_inventory_cell cell = { .text = first->text, .why = first->why };
	bool same = true, numbers = true;
	for (size_t i = 0; i < group->count; i++) {
		same = same && value_of(fold, group, i, at)->text == first->text;
		numbers = numbers && value_of(fold, group, i, at)->is_number;
	}
	if (same)
		return cell;
	if (group->count > LISTED_MAX)
		return (struct muster_inventory_cell){ .text = numbers ? numbers_text(fold, group, at)
								       : "one per node" };
	for (size_t i = 1; i < group->count; i++)
		cell.text = muster_arena_printf(fold->arena, "%s, %s", cell.text, value_of(fold, group, i, at)->text);
	return cell;
}

/* The cell at index `at` of the group's block, with the usual text where that is another one. */
static struct muster_inventory_cell cell_of(
	const struct fold *fold, const struct usual *usual, const struct muster_inventory_group *group, size_t at)
{
	const struct muster_inventory_rows *rows = rows_of(fold, group);
	const struct muster_inventory_value *value = &rows->values[at];
	const struct entry key = { .key = rows->keys[at / fold->columns], .column = at % fold->columns };
	if (fold->shown[key.column].as->own)
		return own_cell(fold, group, at);
	const struct entry *found = bsearch(&key, usual->entries, usual->count, sizeof *usual->entries, by_cell);
	return (struct muster_inventory_cell){ .text = value->text,
		.why = value->why,
		.usual = found && found->text != value->text ? found->text : NULL };
}

static bool has_key(const struct muster_inventory_rows *rows, const char *key)
{
	for (size_t i = 0; i < rows->row_count; i++)
		if (rows->keys[i] == key)
			return true;
	return false;
}

/* Rows that at least half of the nodes have, and this group has not: the key, "absent" in the second column, and that
 * cell is marked. A row that fewer nodes have is something that these nodes have besides, and is not missing here. */
static void add_absent(const struct fold *fold, const struct usual *usual, const struct muster_inventory_rows *rows,
	struct muster_inventory_block *block)
{
	for (size_t i = 0; i < usual->count; i++) {
		const struct entry *entry = &usual->entries[i];
		if (entry->column != 0 || entry->nodes * 2 < fold->run->node_count || has_key(rows, entry->key))
			continue;
		struct muster_inventory_cell *cells = &block->cells[block->row_count++ * fold->columns];
		for (size_t c = 0; c < fold->columns; c++)
			cells[c].text = c == 0 ? entry->key : c == 1 ? "absent" : "-";
		cells[1].usual = "present";
	}
}

static void make_block(const struct fold *fold, const struct usual *usual, const struct muster_inventory_group *group,
	struct muster_inventory_block *block)
{
	const struct muster_inventory_rows *rows = rows_of(fold, group);
	const char *nodes =
		muster_inventory_nodes_text(fold->arena, fold->run, fold->groups.order + group->first, group->count);
	size_t cells = rows->row_count * fold->columns, keys = 0;
	for (size_t i = 0; i < usual->count; i++)
		keys += usual->entries[i].column == 0;
	*block = (struct muster_inventory_block){
		.title = group->count > 1 ? muster_arena_printf(fold->arena, "%s (%zu nodes)", nodes, group->count)
					  : nodes,
		.cells = muster_arena_alloc(
			fold->arena, (rows->row_count + keys) * fold->columns * sizeof *block->cells + 1),
		.row_count = rows->row_count,
		.empty = rows->empty,
		.nodes = group->count,
		.first = fold->groups.order[group->first],
	};
	for (size_t i = 0; i < cells; i++)
		block->cells[i] = cell_of(fold, usual, group, i);
	if (!rows->empty)
		add_absent(fold, usual, rows, block);
}

void muster_inventory_fold(const struct muster_run *run, const struct muster_shown_metric *columns,
	const struct muster_inventory_rows *rows, struct muster_inventory *inventory, enum muster_inventory_kind kind)
{
	struct muster_inventory_table *table = &inventory->tables[kind];
	struct fold fold = {
		.run = run, .shown = columns, .rows = rows, .arena = inventory->arena, .columns = table->column_count
	};
	struct usual usual;
	fold.groups = muster_inventory_group(run->node_count, compare_nodes, &fold);
	find_usual(&fold, &usual);
	size_t shown = fold.groups.count < BLOCKS_MAX ? fold.groups.count : BLOCKS_MAX;
	table->blocks = muster_arena_alloc(fold.arena, (shown + 1) * sizeof *table->blocks);
	for (; table->block_count < shown; table->block_count++)
		make_block(&fold, &usual, &fold.groups.items[table->block_count], &table->blocks[table->block_count]);
	for (size_t g = shown; g < fold.groups.count; g++)
		table->cut += fold.groups.items[g].count;
	free(usual.entries);
	free(fold.groups.items);
	free(fold.groups.order);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* inventory_text.c - the inventory for a terminal: the verdict, then the three tables
 *
 * A value that differs between nodes ends with " !". Why a value is not known is a note after its table: "unknown [1]",
 * and below "[1] rank 3: killed by signal 9". Each reason is one note, however many values have it.
 *
 * All texts of a table are made first (make_texts), because its columns have the widths of the longest texts of all
 * blocks.
 */
#include "muster/report.h"
#include "muster/run_data.h"
#include "report/inventory.h"
#include "report/text_grid.h"
#include "util/array.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

enum { NOTES_MAX = 40, INLINE_MAX = 60 };

struct writer {
	const struct muster_text_page *page;
	const struct muster_inventory_table *table;
	struct muster_arena *arena;
	const char **notes; /* each reason once */
	size_t note_count, note_room;
	size_t differing; /* marks of this table */
};

/* The number of a note, from 1. */
static size_t note_of(struct writer *w, const char *why)
{
	for (size_t i = 0; i < w->note_count; i++)
		if (strcmp(w->notes[i], why) == 0)
			return i + 1;
	MUSTER_ARRAY_PUSH(w->notes, w->note_count, w->note_room, why);
	return w->note_count;
}

/* The text of a cell with its mark and its note. In the table of the nodes, which has few columns, a short reason
 * stands beside the value in place of a note. */
static const char *text_of(struct writer *w, const struct muster_inventory_cell *cell)
{
	const char *mark = cell->usual ? " !" : "";
	w->differing += cell->usual != NULL;
	if (!cell->why)
		return *mark ? muster_arena_printf(w->arena, "%s%s", cell->text, mark) : cell->text;
	if (w->table->column_count <= 3 && strlen(cell->why) <= INLINE_MAX)
		return muster_arena_printf(w->arena, "%s: %s%s", cell->text, cell->why, mark);
	return muster_arena_printf(w->arena, "%s [%zu]%s", cell->text, note_of(w, cell->why), mark);
}

/* All texts of a table in their order. */
static const char **make_texts(struct writer *w)
{
	size_t rows = 0, count = 0;
	for (size_t b = 0; b < w->table->block_count; b++)
		rows += w->table->blocks[b].row_count;
	const char **texts = muster_calloc(rows * w->table->column_count + 1, sizeof *texts);
	for (size_t b = 0; b < w->table->block_count; b++)
		for (size_t i = 0; i < w->table->blocks[b].row_count * w->table->column_count; i++)
			texts[count++] = text_of(w, &w->table->blocks[b].cells[i]);
	return texts;
}

static void paints_of(const struct muster_inventory_cell *cells, size_t count, enum muster_paint *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = cells[i].usual ? MUSTER_PAINT_WARN : cells[i].why ? MUSTER_PAINT_DIM : MUSTER_PAINT_OK;
}

static void print_blocks(struct writer *w, const struct muster_text_grid *grid, const char **texts)
{
	enum muster_paint paints[MUSTER_GRID_COLUMNS_MAX];
	for (size_t b = 0; b < w->table->block_count; b++) {
		const struct muster_inventory_block *block = &w->table->blocks[b];
		muster_text_lines(w->page, block->title, 0, 2);
		if (block->empty && block->row_count == 0) {
			fputs("  ", w->page->out);
			muster_text_lines(w->page, block->empty, 2, 4);
		}
		for (size_t r = 0; r < block->row_count; r++, texts += w->table->column_count) {
			paints_of(&block->cells[r * w->table->column_count], grid->columns, paints);
			muster_grid_print(grid, w->page, texts, paints);
		}
	}
}

static void print_notes(struct writer *w)
{
	for (size_t i = 0; i < w->note_count && i < NOTES_MAX; i++) {
		size_t used = (size_t)fprintf(w->page->out, "[%zu] ", i + 1);
		muster_text_lines(w->page, w->notes[i], used, used);
	}
	if (w->note_count > NOTES_MAX)
		fprintf(w->page->out, "and %zu more reasons, all of them in the JSON report\n",
			w->note_count - NOTES_MAX);
	if (w->table->cut > 0)
		fprintf(w->page->out, "and %zu more nodes that differ, all of them in the JSON report\n",
			w->table->cut);
	if (w->differing > 0)
		fputs("! differs between nodes\n", w->page->out);
}

static void print_table(
	const struct muster_text_page *page, const struct muster_inventory *inventory, enum muster_inventory_kind kind)
{
	const struct muster_inventory_table *table = &inventory->tables[kind];
	struct writer w = { .page = page, .table = table, .arena = inventory->arena };
	struct muster_text_grid grid = { .indent = 2, .columns = table->shown };
	const char **texts = make_texts(&w), **row = texts;
	bool rows = false;
	fputc('\n', page->out);
	muster_text_paint(page, MUSTER_PAINT_STRONG, table->title);
	fputc('\n', page->out);
	for (size_t b = 0; b < table->block_count; b++)
		for (size_t r = 0; r < table->blocks[b].row_count; r++, row += table->column_count, rows = true)
			muster_grid_measure(&grid, row);
	if (rows)
		muster_grid_measure(&grid, table->columns);
	muster_grid_fit(&grid, muster_text_width(page));
	if (rows)
		muster_grid_print(&grid, page, table->columns, NULL);
	print_blocks(&w, &grid, texts);
	print_notes(&w);
	free(texts);
	free(w.notes);
}

void muster_report_print_inventory_text(
	const struct muster_report *report, const struct muster_layout *layout, FILE *out)
{
	const struct muster_text_page page = { .report = report, .out = out, .layout = *layout };
	struct muster_inventory inventory;
	muster_inventory_make(report->run, &inventory);
	muster_text_head(&page);
	for (int i = 0; i < MUSTER_INVENTORY_COUNT; i++)
		print_table(&page, &inventory, (enum muster_inventory_kind)i);
	fputc('\n', out);
	muster_inventory_done(&inventory);
}

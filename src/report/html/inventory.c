/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.c - the inventory: topology by rank, nodes, fabric by port (report/inventory.h)
 *
 * A value that differs between nodes is a <mark>; why a value is not known stands beside it.
 */
#include "muster/run_data.h"
#include "report/html/html.h"
#include "report/inventory.h"

#include <string.h>

static void print_cell(const struct muster_html *page, const struct muster_inventory_cell *cell, bool is_heading)
{
	fputs(is_heading ? "<th scope='row'>" : "<td>", page->out);
	muster_html_within(page, cell->usual ? "<mark>" : "", cell->text, cell->usual ? "</mark>" : "");
	if (cell->usual && *cell->usual) {
		muster_html_within(page, " <span class='note'>most nodes: ", cell->usual, "</span>");
	} else if (cell->usual) {
		fputs(" <span class='note'>differs</span>", page->out);
	}
	if (cell->why) {
		muster_html_within(page, " <span class='note'>", cell->why, "</span>");
	}
	fputs(is_heading ? "</th>" : "</td>", page->out);
}

static void print_block(const struct muster_html *page, const struct muster_inventory_table *table,
	const struct muster_inventory_block *block)
{
	fprintf(page->out, "<tbody><tr><th scope='rowgroup' colspan='%zu' class='block'>", table->shown);
	muster_html_put(page, block->title);
	fputs("</th></tr>\n", page->out);
	if (block->row_count == 0) {
		fprintf(page->out, "<tr><td colspan='%zu'>", table->shown);
		muster_html_put(page, block->empty ? block->empty : "nothing");
		fputs("</td></tr>\n", page->out);
	}
	for (size_t row = 0; row < block->row_count; row++) {
		fputs("<tr>", page->out);
		for (size_t i = 0; i < table->shown; i++)
			print_cell(page, &block->cells[row * table->column_count + i], i == 0);
		fputs("</tr>\n", page->out);
	}
	fputs("</tbody>\n", page->out);
}

static void print_table(
	const struct muster_html *page, const struct muster_inventory *inventory, enum muster_inventory_kind kind)
{
	const struct muster_inventory_table *table = &inventory->tables[kind];
	muster_html_table_begin(page, table->title);
	muster_html_headings(page, table->columns, table->shown);
	for (size_t b = 0; b < table->block_count; b++)
		print_block(page, table, &table->blocks[b]);
	muster_html_table_end(page);
	if (table->cut > 0)
		fprintf(page->out, "<p class='note'>%zu more nodes differ; the JSON report has all of them.</p>\n",
			table->cut);
}

/* The expectation files of "/a/b.json < /a/c.json", without their directories. */
static void put_expectations(const struct muster_html *page, const char *origin)
{
	fputs("<p class='note'>Expectations: ", page->out);
	for (const char *at = origin; *at;) {
		size_t length = strcspn(at, "<"), base = 0;
		for (size_t i = 0; i < length; i++)
			base = at[i] == '/' ? i + 1 : base;
		muster_html_print(page, "%.*s", (int)(length - base), at + base);
		at += length;
		if (*at && *++at)
			fputs("&lt; ", page->out);
	}
	fputs("</p>\n", page->out);
}

void muster_html_inventory(const struct muster_html *page)
{
	struct muster_inventory inventory;
	if (page->report->run->node_count == 0)
		return;
	muster_inventory_make(page->report->run, &inventory);
	fputs("<p>Nodes with equal values share a block or a row. ", page->out);
	if (inventory.differing > 0)
		fputs("A <mark>marked value</mark> differs between nodes.", page->out);
	else if (page->report->run->node_count > 1)
		fputs("No value differs between nodes.", page->out);
	fputs("</p>\n<div class='inventory'>\n", page->out);
	for (int i = 0; i < MUSTER_INVENTORY_COUNT; i++)
		print_table(page, &inventory, (enum muster_inventory_kind)i);
	fputs("</div>\n", page->out);
	if (page->report->sku_origin)
		put_expectations(page, page->report->sku_origin);
	muster_inventory_done(&inventory);
}

/* inventory_markdown.c - the inventory for a ticket or a pull request */
#include "muster/report.h"

#include "report/inventory.h"
#include "report/markdown.h"

/* "580.105.08, **differs**", "unknown: why" */
static void put_cell(FILE *out, const struct muster_inventory_cell *cell)
{
	muster_markdown_put(out, cell->text);
	if (cell->why) {
		fputs(": ", out);
		muster_markdown_put(out, cell->why);
	}
	if (cell->usual)
		fputs(", **differs**", out);
}

static void put_heading(FILE *out, const struct muster_inventory_table *table, size_t columns)
{
	for (size_t i = 0; i < columns; i++)
		fprintf(out, "%s%s", i ? " | " : "| ", table->columns[i]);
	fputs(" |\n|", out);
	for (size_t i = 0; i < columns; i++)
		fputs("---|", out);
	fputc('\n', out);
}

static void put_block(FILE *out, const struct muster_inventory_table *table, const struct muster_inventory_block *block,
	size_t columns)
{
	fputs("\n**", out);
	muster_markdown_put(out, block->title);
	fputs("**\n\n", out);
	if (block->row_count == 0) {
		muster_markdown_put(out, block->empty ? block->empty : "nothing");
		fputc('\n', out);
		return;
	}
	put_heading(out, table, columns);
	for (size_t row = 0; row < block->row_count; row++) {
		for (size_t i = 0; i < columns; i++) {
			fputs(i ? " | " : "| ", out);
			put_cell(out, &block->cells[row * table->column_count + i]);
		}
		fputs(" |\n", out);
	}
}

void muster_report_print_inventory_markdown(const struct muster_report *report, FILE *out)
{
	struct muster_inventory inventory;
	muster_inventory_make(report->run, &inventory);
	muster_markdown_head(report, out);
	for (size_t i = 0; i < MUSTER_INVENTORY_COUNT; i++) {
		const struct muster_inventory_table *table = &inventory.tables[i];
		/* of one node, the column that says which nodes says nothing */
		bool alone = i == MUSTER_INVENTORY_NODES && report->run->node_count == 1;
		fprintf(out, "\n#### %s\n", table->title);
		for (size_t b = 0; b < table->block_count; b++)
			put_block(out, table, &table->blocks[b], table->column_count - alone);
		if (table->cut > 0)
			fprintf(out, "\nand %zu more nodes that differ, all of them in the JSON report.\n", table->cut);
	}
	muster_inventory_done(&inventory);
}

/* table_html.c - an answer of a history as an HTML page: one file, no script, no request */
#include "history/table.h"

#include "report/html/html.h"

#include <string.h>

static void print_cell(const struct muster_html *page, const struct muster_table *table, size_t index)
{
	struct muster_value value = table->cells[index];
	const char *class = value.type == MUSTER_NUMBER ? " class='number'" : "";
	char text[64];
	if (value.type == MUSTER_STRING && (strcmp(value.string, "fail") == 0 || strcmp(value.string, "worse") == 0))
		class = " class='fail'";
	else if (value.type == MUSTER_STRING && strcmp(value.string, "warn") == 0)
		class = " class='warn'";
	else if (value.type == MUSTER_STRING && strcmp(value.string, "inconclusive") == 0)
		class = " class='inconclusive'";
	fprintf(page->out, "<td%s>", class);
	muster_html_put(page, value.type == MUSTER_NULL     ? "-"
			      : value.type == MUSTER_STRING ? value.string
							    : muster_value_text(value, text, sizeof text));
	fputs("</td>", page->out);
}

void muster_table_print_html(const struct muster_table *table, FILE *out)
{
	const struct muster_html page = { .out = out };
	const char *titles[MUSTER_TABLE_COLUMNS_MAX];
	size_t rows = table->cell_count / table->column_count;
	size_t shown = table->shown && table->shown < rows ? table->shown : rows;
	muster_html_head(&page, table->title);
	fputs("<body>\n<header>\n<h1>", out);
	muster_html_put(&page, table->title);
	fputs("</h1>\n</header>\n<main>\n", out);
	for (size_t i = 0; i < table->note_count; i++) {
		fputs("<p>", out);
		muster_html_put(&page, table->notes[i]);
		fputs("</p>\n", out);
	}
	if (rows == 0) {
		fprintf(out, "<p>%s</p>\n", table->empty);
	} else {
		for (size_t c = 0; c < table->column_count; c++)
			titles[c] = table->columns[c].title;
		muster_html_table_begin(&page, "Answer");
		muster_html_headings(&page, titles, table->column_count);
		for (size_t i = 0; i < shown * table->column_count; i++) {
			fputs(i % table->column_count ? "" : "<tr>", out);
			print_cell(&page, table, i);
			fputs((i + 1) % table->column_count ? "" : "</tr>\n", out);
		}
		muster_html_table_end(&page);
	}
	if (shown < rows)
		fprintf(out, "<p>%zu more rows: --count 0 prints all</p>\n", rows - shown);
	fputs("</main>\n<footer><p>Written by muster " MUSTER_VERSION ".</p></footer>\n</body>\n</html>\n", out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - an answer of a history as text, JSON, CSV and HTML
 *
 * A question of a history makes a struct muster_table, and perhaps more behind it (table.h). Each form prints all of
 * them:
 *
 *    text   notes, then aligned columns; rows that share the first group_count cells stand below one heading
 *    JSON   one object: title, notes, rows as objects, and the next table in "next"; all rows
 *    CSV    a line of keys, then the rows; the next table after an empty line; all rows
 *    HTML   a page with one section for each table
 *
 * Text and HTML show at most `shown` rows, and say how many there are more. Cells and notes have texts of machines;
 * each form escapes them in its own way.
 */
#include "history/table.h"

#include "json/writer.h"
#include "report/html/html.h"
#include "report/print_escaped.h"
#include "report/text_grid.h"
#include "util/array.h"
#include "util/version.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const muster_table_format_names[] = { "text", "json", "csv", "html" };
_Static_assert(sizeof muster_table_format_names / sizeof *muster_table_format_names == MUSTER_TABLE_FORMAT_COUNT,
	"every format has a name");

void muster_table_note(struct muster_table *table, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = muster_vasprintf(format, args);
	va_end(args);
	MUSTER_ARRAY_PUSH(table->notes, table->note_count, table->note_room, muster_arena_take(table->arena, text));
}

void muster_table_row(struct muster_table *table, const struct muster_value *cells, enum muster_status status)
{
	MUSTER_ARRAY_PUSH(table->statuses, table->row_count, table->row_room, status);
	MUSTER_ARRAY_RESERVE(table->cells, table->cell_count, table->cell_room, table->column_count);
	memcpy(table->cells + table->cell_count, cells, table->column_count * sizeof *cells);
	table->cell_count += table->column_count;
}

void muster_table_done(struct muster_table *table)
{
	if (table->next)
		muster_table_done(table->next);
	free(table->notes);
	free(table->cells);
	free(table->statuses);
}

const char *muster_table_sparkline(struct muster_arena *arena, const double *values, size_t count)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	double lowest = 0, highest = 0;
	const char *line = "";
	for (size_t i = 0; i < count; i++) {
		lowest = i == 0 || values[i] < lowest ? values[i] : lowest;
		highest = i == 0 || values[i] > highest ? values[i] : highest;
	}
	/* what differs by less than a thousandth is the same */
	double flat = 0.001 * (highest > -lowest ? highest : -lowest);
	for (size_t i = 0; i < count; i++) {
		size_t bar = highest - lowest > flat ? (size_t)((values[i] - lowest) / (highest - lowest) * 7.999) : 3;
		line = muster_arena_printf(arena, "%s%s", line, bars[bar]);
	}
	return line;
}

/* ---- text ---- */

/* How many rows text and HTML show. */
static size_t shown_of(const struct muster_table *table)
{
	return table->shown && table->shown < table->row_count ? table->shown : table->row_count;
}

/* A cell for people: "-" for null. The text of a number goes to the arena. */
static const char *text_of(const struct muster_table *table, struct muster_value value)
{
	char number[64];
	return value.type == MUSTER_STRING ? value.string
	       : value.type == MUSTER_NULL
		       ? "-"
		       : muster_arena_string(table->arena, muster_value_text(value, number, sizeof number));
}

/* Fill in ret with the cells of a row behind its group, not escaped: the grid escapes them. Returns ret. */
static const char *const *texts_of(const struct muster_table *table, size_t row, const char **ret)
{
	for (size_t c = table->group_count; c < table->column_count; c++)
		ret[c - table->group_count] = text_of(table, table->cells[row * table->column_count + c]);
	return ret;
}

/* Whether two rows have the same cells in the first group_count columns: they stand below one heading. */
static bool same_group(const struct muster_table *table, const struct muster_value *a, const struct muster_value *b)
{
	for (size_t c = 0; c < table->group_count; c++)
		if (!muster_value_equal(a[c], b[c]))
			return false;
	return true;
}

/* Print the table and those behind it. The columns are measured over the rows that are shown. A column with any number
 * in them is aligned at the right. */
static void print_text(const struct muster_table *table, FILE *out)
{
	const struct muster_text_page page = { .out = out, .layout = { .columns = SIZE_MAX } };
	struct muster_text_grid grid = { .columns = table->column_count - table->group_count };
	const char *titles[MUSTER_TABLE_COLUMNS_MAX], *texts[MUSTER_TABLE_COLUMNS_MAX];
	size_t shown = shown_of(table);
	const struct muster_value *before = NULL, *row = table->cells;
	for (size_t i = 0; i < table->note_count; i++)
		muster_print_text(out, "%s", table->notes[i]), fputc('\n', out);
	for (size_t c = 0; c < grid.columns; c++)
		titles[c] = table->columns[table->group_count + c].title;
	muster_grid_measure(&grid, titles);
	for (size_t i = 0; i < shown * table->column_count; i++)
		if (i % table->column_count >= table->group_count)
			grid.right[i % table->column_count - table->group_count] |= row[i].type == MUSTER_NUMBER;
	for (size_t r = 0; r < shown; r++)
		muster_grid_measure(&grid, texts_of(table, r, texts));
	for (size_t r = 0; r < shown; r++, before = row, row += table->column_count) {
		if (!before || !same_group(table, before, row)) {
			for (size_t c = 0; c < table->group_count; c++) {
				fputs(c ? ", " : "\n", out);
				muster_print_text(out, "%s", text_of(table, row[c]));
			}
			fputs(table->group_count ? "\n" : "", out);
			muster_grid_print(&grid, &page, titles, NULL);
		}
		muster_grid_print(&grid, &page, texts_of(table, r, texts), NULL);
	}
	if (table->row_count == 0)
		fprintf(out, "%s\n", table->empty);
	if (shown < table->row_count)
		fprintf(out, "%zu more rows: --rows 0 prints all\n", table->row_count - shown);
	if (table->next) {
		fprintf(out, "\n%s\n", table->next->title);
		print_text(table->next, out);
	}
}

/* ---- JSON and CSV: all rows ---- */

/* Write the table as an object; the next one is a member of it. */
static void put_table(struct muster_json_writer *w, const struct muster_table *table)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "title", muster_string(table->title));
	muster_json_writer_array_of(w, "notes");
	for (size_t i = 0; i < table->note_count; i++)
		muster_json_writer_string(w, table->notes[i]);
	muster_json_writer_array_end(w);
	muster_json_writer_array_of(w, "rows");
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t c = i % table->column_count;
		if (c == 0)
			muster_json_writer_object(w);
		muster_json_writer_pair(w, table->columns[c].key, table->cells[i]);
		if (c + 1 == table->column_count)
			muster_json_writer_object_end(w);
	}
	muster_json_writer_array_end(w);
	if (table->next) {
		muster_json_writer_key(w, "next");
		put_table(w, table->next);
	}
	muster_json_writer_object_end(w);
}

static void print_json(const struct muster_table *table, FILE *out)
{
	struct muster_json_writer w;
	muster_json_writer_init(&w, out, 2);
	put_table(&w, table);
	fputc('\n', out);
}

/* RFC 4180. A spreadsheet takes a text that begins with one of these for a formula; an apostrophe before it does not
 * let it (https://owasp.org/www-community/attacks/CSV_Injection). */
static void print_csv_text(const char *text, FILE *out)
{
	char *escaped = muster_escaped(text);
	fputs(strchr("=+-@\t\r", *escaped) && *escaped ? "\"'" : "\"", out);
	for (const char *at = escaped; *at; at++)
		fputs(*at == '"' ? "\"\"" : (char[]){ *at, '\0' }, out);
	fputc('"', out);
	free(escaped);
}

static void print_csv(const struct muster_table *table, FILE *out)
{
	for (size_t c = 0; c < table->column_count; c++)
		fprintf(out, "%s%s", c ? "," : "", table->columns[c].key);
	fputs("\r\n", out);
	for (size_t row = 0; row < table->cell_count; row += table->column_count) {
		for (size_t c = 0; c < table->column_count; c++) {
			const struct muster_value *cell = &table->cells[row + c];
			fputs(c ? "," : "", out);
			if (cell->type == MUSTER_STRING)
				print_csv_text(cell->string, out);
			else if (cell->type == MUSTER_NUMBER)
				fprintf(out, "%.15g", cell->number);
		}
		fputs("\r\n", out);
	}
	if (table->next) {
		fputs("\r\n", out);
		print_csv(table->next, out);
	}
}

/* ---- HTML: one file, no script, no request ---- */

/* The class of a cell on the page: a number, or in the column of the status the status of its row. index: of the cell.
 */
static const char *class_of(const struct muster_table *table, size_t index)
{
	enum muster_status status = table->statuses[index / table->column_count];
	if (table->cells[index].type == MUSTER_NUMBER)
		return " class='number'";
	if (index % table->column_count != table->status_column)
		return "";
	return status == MUSTER_FAIL           ? " class='fail'"
	       : status == MUSTER_WARN         ? " class='warn'"
	       : status == MUSTER_INCONCLUSIVE ? " class='inconclusive'"
					       : "";
}

static void print_cell(const struct muster_html *page, const struct muster_table *table, size_t index)
{
	fprintf(page->out, "<td%s", class_of(table, index));
	muster_html_within(page, ">", text_of(table, table->cells[index]), "</td>");
}

static void print_section(const struct muster_html *page, const struct muster_table *table)
{
	FILE *out = page->out;
	const char *titles[MUSTER_TABLE_COLUMNS_MAX];
	size_t rows = table->row_count, shown = shown_of(table);
	for (size_t i = 0; i < table->note_count; i++)
		muster_html_within(page, "<p>", table->notes[i], "</p>\n");
	if (rows == 0) {
		fprintf(out, "<p>%s</p>\n", table->empty);
	} else {
		for (size_t c = 0; c < table->column_count; c++)
			titles[c] = table->columns[c].title;
		muster_html_table_begin(page, table->title);
		muster_html_headings(page, titles, table->column_count);
		for (size_t i = 0; i < shown * table->column_count; i++) {
			fputs(i % table->column_count ? "" : "<tr>", out);
			print_cell(page, table, i);
			fputs((i + 1) % table->column_count ? "" : "</tr>\n", out);
		}
		muster_html_table_end(page);
	}
	if (shown < rows)
		fprintf(out, "<p>%zu more rows: --rows 0 prints all</p>\n", rows - shown);
}

static void print_html(const struct muster_table *table, FILE *out)
{
	const struct muster_html page = { .out = out };
	muster_html_head(&page, table->title);
	muster_html_within(&page, "<body>\n<header>\n<h1>", table->title, "</h1>\n</header>\n<main>\n");
	print_section(&page, table);
	for (table = table->next; table; table = table->next) {
		muster_html_within(&page, "<h2>", table->title, "</h2>\n");
		print_section(&page, table);
	}
	fprintf(out, "</main>\n<footer><p>Written by muster %s.</p></footer>\n</body>\n</html>\n", muster_version);
}

void muster_table_print(const struct muster_table *table, enum muster_table_format format, FILE *out)
{
	static void (*const print[])(const struct muster_table *table, FILE *out) = {
		[MUSTER_TABLE_TEXT] = print_text,
		[MUSTER_TABLE_JSON] = print_json,
		[MUSTER_TABLE_CSV] = print_csv,
		[MUSTER_TABLE_HTML] = print_html,
	};
	print[format](table, out);
}

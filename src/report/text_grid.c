/* text_grid.c - a table of texts whose columns share the width of the page; a long text takes several lines */
#include "report/text_grid.h"

#include "report/print_escaped.h"
#include "report/text_lines.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, NARROWEST = 8 };

void muster_text_grid_measure(struct muster_text_grid *grid, const char *const *texts)
{
	for (size_t i = 0; i < grid->columns; i++) {
		size_t width = muster_print_escaped(NULL, texts[i]);
		grid->widths[i] = width > grid->widths[i] ? width : grid->widths[i];
	}
}

void muster_text_grid_fit(struct muster_text_grid *grid)
{
	for (;;) {
		size_t all = grid->indent, widest = 0;
		for (size_t i = 0; i < grid->columns; i++) {
			all += grid->widths[i] + (i ? GAP : 0);
			widest = grid->widths[i] > grid->widths[widest] ? i : widest;
		}
		if (all <= MUSTER_TEXT_WIDTH || grid->widths[widest] <= NARROWEST)
			return;
		size_t less = all - MUSTER_TEXT_WIDTH, spare = grid->widths[widest] - NARROWEST;
		size_t step = less > 64 ? less / 2 : 1;
		grid->widths[widest] -= step < spare ? step : spare;
	}
}

/* The bytes of the next line of an escaped text, at most `width` columns, with a break after a blank or a comma where
 * there is one. */
static size_t next_line(const char *text, size_t width, size_t *ret_columns)
{
	size_t bytes = 0, columns = 0, good = 0, good_columns = 0;
	while (text[bytes] && columns < width) {
		unsigned long point;
		size_t step = muster_utf8_next(text + bytes, strlen(text + bytes), &point);
		bytes += step ? step : 1;
		columns++;
		if (text[bytes - 1] == ' ' || text[bytes - 1] == ',') {
			good = bytes;
			good_columns = columns;
		}
	}
	if (!text[bytes] || text[bytes] == ' ' || good == 0) {
		*ret_columns = columns;
		return bytes;
	}
	*ret_columns = good_columns;
	return good;
}

/* The next line of each column; false when there is none. */
static bool print_line(const struct muster_text_grid *grid, const struct muster_text_page *page, const char **rest,
	const enum muster_paint *paints)
{
	size_t blanks = grid->indent; /* before the next text: none behind the last one */
	bool any = false;
	for (size_t i = 0; i < grid->columns; i++)
		any = any || *rest[i];
	for (size_t i = 0; any && i < grid->columns; i++) {
		size_t columns = 0, bytes = 0;
		while (*rest[i] == ' ')
			rest[i]++;
		if (*rest[i])
			bytes = next_line(rest[i], grid->widths[i], &columns);
		if (bytes > 0) {
			bool blank = rest[i][bytes - 1] == ' '; /* the break */
			char *line = strndup(rest[i], bytes - blank);
			columns -= blank;
			fprintf(page->out, "%*s", (int)blanks, "");
			blanks = 0;
			if (paints && paints[i] != MUSTER_PAINT_OK)
				muster_text_paint(page, paints[i], line ? line : "");
			else
				fputs(line ? line : "", page->out);
			free(line);
		}
		rest[i] += bytes;
		blanks += grid->widths[i] + GAP - columns;
	}
	if (any)
		fputc('\n', page->out);
	return any;
}

void muster_text_grid_print(const struct muster_text_grid *grid, const struct muster_text_page *page,
	const char *const *texts, const enum muster_paint *paints)
{
	char *escaped[MUSTER_GRID_COLUMNS_MAX];
	const char *rest[MUSTER_GRID_COLUMNS_MAX];
	for (size_t i = 0; i < grid->columns; i++)
		rest[i] = escaped[i] = muster_escaped(texts[i]);
	while (print_line(grid, page, rest, paints))
		;
	for (size_t i = 0; i < grid->columns; i++)
		free(escaped[i]);
}

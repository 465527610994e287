/* SPDX-License-Identifier: Apache-2.0 */
/* text_grid.c - a table of texts whose columns share the width of the page
 *
 * By numbers: two columns of 30 and 60, a page of 60 columns. The table is 30 + GAP + 60 = 92 wide, 32 too much. The
 * widest column is narrowed first, until both are equal; then both in turns, until each has 29. A text of more than 29
 * columns takes several lines, on which the other column is blank.
 *
 * Texts are measured and printed as they are escaped: an escape takes more columns than the character.
 */
#include "report/text_grid.h"

#include "report/print_escaped.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* GAP: blanks between columns. NARROWEST: columns below which no text is narrowed. */
enum { GAP = 2, NARROWEST = 8 };

/* A line may break behind a blank, and behind a comma, since lists of hosts have no blanks. */
static bool ends_word(char c)
{
	return c == ' ' || c == ',';
}

/* The columns of the longest word of an escaped text; a comma is a word's last character. */
static size_t longest_word(const char *text)
{
	size_t longest = 0, word = 0;
	for (; *text; text++) {
		word += *text != ' ' && ((unsigned char)*text & 0xc0) != 0x80;
		longest = word > longest ? word : longest;
		word = ends_word(*text) ? 0 : word;
	}
	return longest;
}

void muster_grid_measure(struct muster_text_grid *grid, const char *const *texts)
{
	for (size_t i = 0; i < grid->columns; i++) {
		char *escaped = muster_escaped(texts[i]);
		size_t width = muster_print_escaped(NULL, texts[i]), word = longest_word(escaped);
		grid->widths[i] = width > grid->widths[i] ? width : grid->widths[i];
		grid->words[i] = word > grid->words[i] ? word : grid->words[i];
		free(escaped);
	}
}

/* Narrow columns by `over` in all, the widest one first, none below its least width. Returns what is still too much. */
static size_t narrow(struct muster_text_grid *grid, size_t over, const size_t *least)
{
	while (over > 0) {
		size_t widest = grid->columns;
		for (size_t i = 0; i < grid->columns; i++)
			if (grid->widths[i] > least[i] &&
				(widest == grid->columns || grid->widths[i] > grid->widths[widest]))
				widest = i;
		if (widest == grid->columns)
			break;
		/* a text of thousands of columns is not narrowed one by one */
		size_t step = over > 64 ? over / 2 : 1, spare = grid->widths[widest] - least[widest];
		step = step < spare ? step : spare;
		grid->widths[widest] -= step;
		over -= step;
	}
	return over;
}

size_t muster_grid_width(const struct muster_text_grid *grid)
{
	size_t all = grid->indent;
	for (size_t i = 0; i < grid->columns; i++)
		all += grid->widths[i] + (i ? GAP : 0);
	return all;
}

/* Two rounds: first no column gets narrower than its longest word; then, if the table is still too wide, no column gets
 * narrower than NARROWEST. On a page for which even that is too wide, the lines stay too wide. */
bool muster_grid_fit(struct muster_text_grid *grid, size_t width)
{
	size_t all = muster_grid_width(grid), least[MUSTER_GRID_COLUMNS_MAX];
	for (size_t i = 0; i < grid->columns; i++)
		least[i] = NARROWEST;
	size_t over = narrow(grid, all > width ? all - width : 0, grid->words);
	narrow(grid, over, least);
	return over == 0;
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
		if (ends_word(text[bytes - 1])) {
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

/* Print the next line of each column and move rest[] behind it; false when no column has any text left. A column whose
 * text has ended is blank. Blanks are printed in front of the next text only, so no line ends with blanks. */
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
			blanks += grid->right[i] ? grid->widths[i] - columns : 0;
			fprintf(page->out, "%*s", (int)blanks, "");
			blanks = 0;
			if (paints && paints[i] != MUSTER_PAINT_OK)
				muster_text_paint(page, paints[i], line ? line : "");
			else
				fputs(line ? line : "", page->out);
			free(line);
		}
		rest[i] += bytes;
		blanks += (grid->right[i] && bytes > 0 ? 0 : grid->widths[i] - columns) + GAP;
	}
	if (any)
		fputc('\n', page->out);
	return any;
}

void muster_grid_print(const struct muster_text_grid *grid, const struct muster_text_page *page,
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

/* SPDX-License-Identifier: Apache-2.0 */
/* text_grid.h - a table of texts whose columns share the width of the page; a long text takes several lines */
#ifndef MUSTER_REPORT_TEXT_GRID_H
#define MUSTER_REPORT_TEXT_GRID_H

#include "report/text_summary.h"

enum { MUSTER_GRID_COLUMNS_MAX = 16 };

/* How columns get their widths: measure widens each to its longest text; fit takes what a line has too much from the
 * widest columns first, down to their longest word, then, if that is not enough, down to a few letters; print wraps
 * what is longer than its column, and right-aligns numbers.
 *
 * Begin with zeros but indent, columns and right. First measure every row, then fit, then print. Texts are as a machine
 * gave them: they are escaped here. */
struct muster_text_grid {
	size_t indent, columns;              /* indent: blanks before each line */
	bool right[MUSTER_GRID_COLUMNS_MAX]; /* numbers, which end below each other */
	size_t widths[MUSTER_GRID_COLUMNS_MAX];
	size_t words[MUSTER_GRID_COLUMNS_MAX]; /* the longest word of each column */
};

void muster_grid_measure(struct muster_text_grid *grid, const char *const *texts);

/* Columns of a line of the table, with its indent. */
size_t muster_grid_width(const struct muster_text_grid *grid);

/* Make the widest columns narrower until a line has at most `width` columns: as narrow as their words are, and if that
 * is not enough, narrower. Returns whether all words stay whole. */
bool muster_grid_fit(struct muster_text_grid *grid, size_t width);

/* paints: of each column; NULL: none. */
void muster_grid_print(const struct muster_text_grid *grid, const struct muster_text_page *page,
	const char *const *texts, const enum muster_paint *paints);

#endif

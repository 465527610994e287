/* text_grid.h - a table of texts whose columns share the width of the page; a long text takes several lines */
#ifndef MUSTER_REPORT_TEXT_GRID_H
#define MUSTER_REPORT_TEXT_GRID_H

#include "report/text_summary.h"

enum { MUSTER_GRID_COLUMNS_MAX = 16 };

/* Begin with columns of no width; indent: blanks before each line. */
struct muster_text_grid {
	size_t indent, columns;
	size_t widths[MUSTER_GRID_COLUMNS_MAX];
};

/* Texts are as a machine gave them: they are escaped here. First measure every row, then fit, then print. */
void muster_text_grid_measure(struct muster_text_grid *grid, const char *const *texts);
/* Make the widest columns narrower until a line fits the page. */
void muster_text_grid_fit(struct muster_text_grid *grid);
/* paints: of each column; NULL: none. */
void muster_text_grid_print(const struct muster_text_grid *grid, const struct muster_text_page *page,
	const char *const *texts, const enum muster_paint *paints);

#endif

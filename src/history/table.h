/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - an answer of a history: a table, or several on one page, written as text, JSON, CSV or HTML
 *
 * Texts of machines can inject nothing: neither a terminal, nor a page, nor a spreadsheet obeys them.
 */
#ifndef MUSTER_HISTORY_TABLE_H
#define MUSTER_HISTORY_TABLE_H

#include "muster/arena.h"
#include "muster/finding.h"

#include <stdio.h>

struct muster_table_column {
	const char *key;   /* in JSON and CSV */
	const char *title; /* for people */
};

enum { MUSTER_TABLE_COLUMNS_MAX = 16 };

struct muster_table {
	struct muster_arena *arena; /* owns texts of cells and notes */
	const char *title;
	const char **notes; /* sentences before the table */
	size_t note_count, note_room;
	const struct muster_table_column *columns;
	size_t column_count;
	size_t group_count;         /* the first columns: as text they are a heading above the rows that share them */
	struct muster_value *cells; /* row by row */
	size_t cell_count, cell_room;
	enum muster_status *statuses; /* of each row: that of its cell in status_column */
	size_t row_count, row_room;
	size_t status_column;      /* the cells that a page shows in the colour of a status; 0: the first */
	size_t shown;              /* rows as text and HTML; 0: all */
	const char *empty;         /* the sentence when there is no row */
	struct muster_table *next; /* the arena's, with a title of its own; NULL: the last one */
};

#define MUSTER_TABLE_COLUMNS(table) .columns = (table), .column_count = sizeof(table) / sizeof *(table)

void muster_table_note(struct muster_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Add a row: as many cells as columns. status: MUSTER_PASS has no colour. */
void muster_table_row(struct muster_table *table, const struct muster_value *cells, enum muster_status status);
void muster_table_done(struct muster_table *table);

enum muster_table_format {
	MUSTER_TABLE_TEXT = 0,
	MUSTER_TABLE_JSON,
	MUSTER_TABLE_CSV,
	MUSTER_TABLE_HTML,
	MUSTER_TABLE_FORMAT_COUNT
};
extern const char *const muster_table_format_names[MUSTER_TABLE_FORMAT_COUNT];
void muster_table_print(const struct muster_table *table, enum muster_table_format format, FILE *out);

/* Values from the lowest to the highest as eight heights of a bar; all the same is half a height. Interned. */
const char *muster_table_sparkline(struct muster_arena *arena, const double *values, size_t count);

#endif

/* cells.h - what the answers to several questions have in common */
#ifndef MUSTER_HISTORY_CELLS_H
#define MUSTER_HISTORY_CELLS_H

#include "history/db.h"
#include "history/table.h"

struct muster_value muster_cell_text(const char *text); /* null of NULL */
const char *muster_cell_node(const char *node);         /* "(job)" of NULL */
/* Four digits are enough for a value that scatters. */
struct muster_value muster_cell_rounded(double value);
/* A note of which reports an answer is, when it is not of all. */
void muster_cell_note_use(struct muster_table *table, const struct muster_history_use *use);

#endif

/* walk.h - which reports and nodes a walk over verdicts, findings or values takes
 *
 * All reports are in memory during a walk (some 100 bytes each), so that rows are joined with them by their number.
 */
#ifndef MUSTER_HISTORY_SQLITE_WALK_H
#define MUSTER_HISTORY_SQLITE_WALK_H

#include "history/sqlite/history.h"

struct muster_history_entry {
	int64_t id;
	bool wanted;
	struct muster_history_report report;
};

/* Ids of wanted reports, and perhaps others between. */
struct muster_history_range {
	int64_t first, last;
};

struct muster_history_walk {
	struct muster_history *h;
	const struct muster_history_filter *filter;
	struct muster_error *err;
	struct muster_history_entry *entries; /* by id */
	size_t entry_count, entry_room;
	const struct muster_history_entry
		*last; /* found last: rows of one report follow each other, or are of the next one */
	struct muster_history_range *ranges;
	size_t range_count, range_room;
	struct muster_arena *arena;
	int64_t *nodes; /* wanted ids, ascending; NULL: all */
	size_t node_count;
};

/* Begin a transaction, read all reports, and find those and the nodes that the filter wants. The caller sets h, filter
 * and err, and calls the end in any case: that gives rc back. -1 with err. */
int muster_history_walk_begin(struct muster_history_walk *w);
int muster_history_walk_end(struct muster_history_walk *w, int rc);
/* Of the wanted reports keep those of the wanted nodes, and at most filter->reports_most; find their ranges. */
int muster_history_walk_choose(struct muster_history_walk *w);

/* NULL with err when a row is of no report. */
const struct muster_history_entry *muster_history_walk_report(struct muster_history_walk *w, int64_t id);
bool muster_history_walk_wants(const struct muster_history_walk *w, int64_t node);
/* The text of an id, NULL of 0. -1 with err. */
int muster_history_walk_name(struct muster_history_walk *w, int64_t id, const char **ret);

#endif

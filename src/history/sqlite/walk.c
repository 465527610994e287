/* walk.c - which reports and nodes a walk over verdicts, findings or values takes */
#include "history/sqlite/walk.h"

#include "history/thin.h"
#include "muster/arena.h"
#include "util/array.h"
#include "util/sort.h"

#include <stdlib.h>
#include <string.h>

/* So many reports in a row that are not wanted are passed over; fewer are read and dropped. */
enum { GAP_LEAST = 200 };

/* ---- reports ---- */

int muster_history_walk_name(struct muster_history_walk *w, int64_t id, const char **ret)
{
	*ret = id ? muster_history_name(w->h, id, w->err) : NULL;
	return id && !*ret ? -1 : 0;
}

static bool is_wanted(const struct muster_history_filter *f, const struct muster_history_report *r)
{
	return r->simulated == f->simulated && (!f->since || r->started >= f->since) &&
	       (!f->until || r->started < f->until) &&
	       (!f->machine_type || muster_text_order(f->machine_type, r->machine_type) == 0) &&
	       (!f->profile || muster_text_order(f->profile, r->profile) == 0);
}

static int read_entry(struct muster_history_walk *w, sqlite3_stmt *row)
{
	const struct muster_sqlite *sql = w->h->sql;
	struct muster_history_entry entry = { .id = sql->column_int64(row, 0) };
	struct muster_history_report *r = &entry.report;
	int64_t verdict = sql->column_int64(row, 6), flags = sql->column_int64(row, 7),
		nodes = sql->column_int64(row, 8);
	r->started = sql->column_int64(row, 1);
	r->simulated = flags & MUSTER_HISTORY_SIMULATED;
	r->beside_jobs = flags & MUSTER_HISTORY_BESIDE_JOBS;
	if (entry.id <= 0 || verdict < 0 || verdict >= MUSTER_STATUS_COUNT || nodes < 0 || r->started < 0)
		return muster_history_damaged(w->h, "a report has a number that cannot be", w->err);
	r->verdict = (enum muster_status)verdict;
	r->nodes = (size_t)nodes;
	if (muster_history_walk_name(w, sql->column_int64(row, 3), &r->machine_type) < 0 ||
		muster_history_walk_name(w, sql->column_int64(row, 4), &r->profile) < 0 ||
		muster_history_walk_name(w, sql->column_int64(row, 5), &r->version) < 0)
		return -1;
	if (!r->profile)
		return muster_history_damaged(w->h, "a report has no profile", w->err);
	if (sql->column_type(row, 2) == SQLITE_TEXT)
		r->job = muster_arena_string(w->arena, (const char *)sql->column_text(row, 2));
	entry.wanted = is_wanted(w->filter, r);
	MUSTER_ARRAY_PUSH(w->entries, w->entry_count, w->entry_room, entry);
	return 0;
}

static int read_reports(struct muster_history_walk *w)
{
	int rc;
	sqlite3_stmt *row = muster_history_statement(w->h,
		"SELECT id, started, job, type, profile, version, verdict, flags, nodes FROM reports ORDER BY id",
		w->err);
	if (!row)
		return -1;
	while ((rc = muster_history_step(w->h, row, w->err)) > 0 && (rc = read_entry(w, row)) == 0)
		;
	w->h->sql->finalize(row);
	return rc;
}

/* Values are asked of fewer reports than there are. */
static void thin(struct muster_history_walk *w)
{
	const struct muster_history_filter *filter = w->filter;
	struct muster_thin_item *items = muster_calloc(w->entry_count + 1, sizeof *items);
	struct muster_history_use use = { 0 };
	for (size_t i = 0; i < w->entry_count; i++) {
		items[i] = (struct muster_thin_item){ .wanted = w->entries[i].wanted,
			.second = w->entries[i].report.started >= filter->split };
		use.of += items[i].wanted;
	}
	use.reports = filter->reports_most ? muster_thin(items, w->entry_count, filter->reports_most) : use.of;
	for (size_t i = 0; i < w->entry_count; i++)
		w->entries[i].wanted = items[i].wanted;
	if (filter->use)
		*filter->use = use;
	free(items);
}

static void find_ranges(struct muster_history_walk *w)
{
	size_t unwanted = 0;
	for (size_t i = 0; i < w->entry_count; i++) {
		int64_t id = w->entries[i].id;
		if (!w->entries[i].wanted) {
			unwanted++;
			continue;
		}
		if (w->range_count == 0 || unwanted >= GAP_LEAST)
			MUSTER_ARRAY_PUSH(w->ranges, w->range_count, w->range_room,
				((struct muster_history_range){ .first = id }));
		w->ranges[w->range_count - 1].last = id;
		unwanted = 0;
	}
}

static int by_id(const void *key, const void *item)
{
	int64_t a = *(const int64_t *)key, b = ((const struct muster_history_entry *)item)->id;
	return a < b ? -1 : a > b;
}

const struct muster_history_entry *muster_history_walk_report(struct muster_history_walk *w, int64_t id)
{
	const struct muster_history_entry *end = w->entries + w->entry_count;
	if (w->last && w->last->id != id && w->last + 1 < end)
		w->last++;
	if (!w->last || w->last->id != id)
		w->last = w->entry_count ? bsearch(&id, w->entries, w->entry_count, sizeof *w->entries, by_id) : NULL;
	if (!w->last)
		(void)muster_history_damaged(w->h, "a row belongs to a report that is not there", w->err);
	return w->last;
}

/* ---- the walk ---- */

static int compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static int find_nodes(struct muster_history_walk *w)
{
	if (!w->filter->nodes)
		return 0;
	w->nodes = muster_calloc(w->filter->node_count + 1, sizeof *w->nodes);
	for (size_t i = 0; i < w->filter->node_count; i++) {
		int64_t id;
		if (muster_history_name_id(w->h, w->filter->nodes[i], false, &id, w->err) < 0)
			return -1;
		if (id)
			w->nodes[w->node_count++] = id;
	}
	qsort(w->nodes, w->node_count, sizeof *w->nodes, compare_ids);
	return 0;
}

/* Reports without any of the wanted nodes are not wanted. */
static int keep_reports_of_nodes(struct muster_history_walk *w)
{
	const struct muster_sqlite *sql = w->h->sql;
	bool *has = muster_calloc(w->entry_count + 1, sizeof *has);
	sqlite3_stmt *row = muster_history_statement(w->h, "SELECT report FROM verdicts WHERE node = ?1", w->err);
	int rc = row ? 0 : -1;
	for (size_t i = 0; i < w->node_count && rc == 0; i++) {
		sql->bind_int64(row, 1, w->nodes[i]);
		while ((rc = muster_history_step(w->h, row, w->err)) > 0) {
			const struct muster_history_entry *entry =
				muster_history_walk_report(w, sql->column_int64(row, 0));
			if (!entry)
				break;
			has[entry - w->entries] = true;
		}
		rc = rc > 0 ? -1 : rc;
		sql->reset(row);
	}
	sql->finalize(row);
	for (size_t i = 0; i < w->entry_count; i++)
		w->entries[i].wanted = w->entries[i].wanted && has[i];
	free(has);
	return rc;
}

bool muster_history_walk_wants(const struct muster_history_walk *w, int64_t node)
{
	return !w->nodes || bsearch(&node, w->nodes, w->node_count, sizeof node, compare_ids);
}

int muster_history_walk_begin(struct muster_history_walk *w)
{
	if (muster_history_exec(w->h, "BEGIN", w->err) < 0)
		return -1;
	w->arena = muster_arena_new();
	return read_reports(w) < 0 ? -1 : find_nodes(w);
}

int muster_history_walk_end(struct muster_history_walk *w, int rc)
{
	struct muster_error ignored;
	if (!w->h->sql->get_autocommit(w->h->db))
		(void)muster_history_exec(w->h, "ROLLBACK", &ignored); /* nothing was written */
	muster_arena_free(w->arena);
	free(w->entries);
	free(w->ranges);
	free(w->nodes);
	return rc;
}

int muster_history_walk_choose(struct muster_history_walk *w)
{
	if (w->nodes && keep_reports_of_nodes(w) < 0)
		return -1;
	thin(w);
	find_ranges(w);
	return 0;
}

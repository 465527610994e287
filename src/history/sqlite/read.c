/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - walks over verdicts, findings and values
 *
 * The reports come first, all of them, as the filter is about reports; rows of other tables are then joined with them
 * by number, in memory. Values of a key lie in the order of the reports, so of the wanted reports ranges are read
 * (find_ranges), with small gaps read and dropped, because a step to the next row costs less than a new search.
 *
 *    begin_walk       BEGIN; all reports (read_reports); the ids of the wanted nodes (find_nodes)
 *    choose_reports   for values only: reports with a wanted node; part of them, if there are too many (thin); ranges
 *    the walk         verdicts and findings: all rows in one query, by node
 *                     values: key after key (visit_keys), and of each key range after range (visit_range)
 *    end_walk         ROLLBACK, and the memory is released
 *
 * An example: of the reports 1 to 1,000 those from 10 to 300 and from 900 to 910 are wanted, except 50. The ranges are
 * 10 to 300, in which the row of 50 is read and dropped, and 900 to 910: the gap between is 599 reports long.
 */
#include "history/pack.h"
#include "history/sqlite/history.h"
#include "history/thin.h"
#include "util/array.h"
#include "muster/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which reports and nodes a walk over verdicts, findings or values takes ---- */

/* All reports are in memory during a walk (some 100 bytes each), so that rows are joined with them by their number. */
struct entry {
	int64_t id;
	bool wanted;
	struct muster_history_report report;
};

/* Ids of wanted reports, and perhaps others between. */
struct range {
	int64_t first, last;
};

struct walk {
	struct muster_history *h;
	const struct muster_history_filter *filter;
	struct muster_error *err;
	struct entry *entries; /* by id */
	size_t entry_count, entry_room;
	const struct entry *last; /* found last: rows of one report follow each other, or are of the next one */
	struct range *ranges;
	size_t range_count, range_room;
	struct muster_arena *arena;
	int64_t *nodes; /* wanted ids, ascending; NULL: all */
	size_t node_count;
};

/* So many reports in a row that are not wanted are passed over; fewer are read and dropped. */
enum { GAP_LEAST = 200 };

/* ---- reports ---- */

/* The text of an id, NULL of 0. -1 with err. */
static int name_of(struct walk *w, int64_t id, const char **ret)
{
	*ret = id ? muster_history_name(w->h, id, w->err) : NULL;
	return id && !*ret ? -1 : 0;
}

/* Whether the filter wants a report, by all but its nodes. */
static bool is_wanted(const struct muster_history_filter *f, const struct muster_history_report *r)
{
	return r->simulated == f->simulated && (!f->since || r->started >= f->since) &&
	       (!f->until || r->started < f->until) &&
	       (!f->machine_type || muster_text_order(f->machine_type, r->machine_type) == 0) &&
	       (!f->profile || muster_text_order(f->profile, r->profile) == 0);
}

/* Append a row of reports to the entries. -1 with err for a number that muster cannot have written. */
static int read_entry(struct walk *w, sqlite3_stmt *row)
{
	const struct muster_sqlite *sql = w->h->sql;
	struct entry entry = { .id = sql->column_int64(row, 0) };
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
	if (name_of(w, sql->column_int64(row, 3), &r->machine_type) < 0 ||
		name_of(w, sql->column_int64(row, 4), &r->profile) < 0 ||
		name_of(w, sql->column_int64(row, 5), &r->version) < 0)
		return -1;
	if (!r->profile)
		return muster_history_damaged(w->h, "a report has no profile", w->err);
	if (sql->column_type(row, 2) == SQLITE_TEXT)
		r->job = muster_arena_string(w->arena, (const char *)sql->column_text(row, 2));
	entry.wanted = is_wanted(w->filter, r);
	MUSTER_ARRAY_PUSH(w->entries, w->entry_count, w->entry_room, entry);
	return 0;
}

static int read_reports(struct walk *w)
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

/* Of the wanted reports keep at most filter->reports_most, half of them from before filter->split where there are so
 * many (muster_thin), and say in filter->use how many there were. */
static void thin(struct walk *w)
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

/* Find the ranges of ids of wanted reports. A gap of fewer than GAP_LEAST reports is part of a range. */
static void find_ranges(struct walk *w)
{
	size_t unwanted = 0;
	for (size_t i = 0; i < w->entry_count; i++) {
		int64_t id = w->entries[i].id;
		if (!w->entries[i].wanted) {
			unwanted++;
			continue;
		}
		if (w->range_count == 0 || unwanted >= GAP_LEAST)
			MUSTER_ARRAY_PUSH(w->ranges, w->range_count, w->range_room, ((struct range){ .first = id }));
		w->ranges[w->range_count - 1].last = id;
		unwanted = 0;
	}
}

/* Ids, or what begins with an id. */
static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* NULL with err when a row is of no report. */
static const struct entry *report_of(struct walk *w, int64_t id)
{
	const struct entry *end = w->entries + w->entry_count;
	if (w->last && w->last->id != id && w->last + 1 < end)
		w->last++;
	if (!w->last || w->last->id != id)
		w->last = w->entry_count ? bsearch(&id, w->entries, w->entry_count, sizeof *w->entries, by_id) : NULL;
	if (!w->last)
		(void)muster_history_damaged(w->h, "a row belongs to a report that is not there", w->err);
	return w->last;
}

/* ---- the walk ---- */

/* Find the ids of the wanted nodes, ascending. A node that the history has never seen has none, and no row. */
static int find_nodes(struct walk *w)
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
	qsort(w->nodes, w->node_count, sizeof *w->nodes, by_id);
	return 0;
}

/* Reports without any of the wanted nodes are not wanted. */
static int keep_reports_of_nodes(struct walk *w)
{
	const struct muster_sqlite *sql = w->h->sql;
	bool *has = muster_calloc(w->entry_count + 1, sizeof *has);
	sqlite3_stmt *row = muster_history_statement(w->h, "SELECT report FROM verdicts WHERE node = ?1", w->err);
	int rc = row ? 0 : -1;
	for (size_t i = 0; i < w->node_count && rc == 0; i++) {
		sql->bind_int64(row, 1, w->nodes[i]);
		while ((rc = muster_history_step(w->h, row, w->err)) > 0) {
			const struct entry *entry = report_of(w, sql->column_int64(row, 0));
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

/* Whether rows of this node are wanted. Values of the job have the node 0, which is wanted only where all nodes are. */
static bool wants_node(const struct walk *w, int64_t node)
{
	return !w->nodes || bsearch(&node, w->nodes, w->node_count, sizeof node, by_id);
}

/* Begin a transaction, read all reports, and find those and the nodes that the filter wants. The caller sets h, filter
 * and err, and calls the end in any case: that gives rc back. -1 with err. */
static int begin_walk(struct walk *w)
{
	if (muster_history_exec(w->h, "BEGIN", w->err) < 0)
		return -1;
	w->arena = muster_arena_new();
	return read_reports(w) < 0 ? -1 : find_nodes(w);
}

static int end_walk(struct walk *w, int rc)
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

/* Of the wanted reports keep those of the wanted nodes, and at most filter->reports_most; find their ranges. */
static int choose_reports(struct walk *w)
{
	if (w->nodes && keep_reports_of_nodes(w) < 0)
		return -1;
	thin(w);
	find_ranges(w);
	return 0;
}

/* ---- verdicts and findings ---- */

/* A row {node, report, status}, of a finding with {check, part, fault} behind. 1: to be visited, 0: not, -1. */
static int read_row(struct walk *w, sqlite3_stmt *row, bool of_finding, struct muster_history_verdict *ret)
{
	const struct muster_sqlite *sql = w->h->sql;
	int64_t node = sql->column_int64(row, 0), status = sql->column_int64(row, 2);
	if (!wants_node(w, node))
		return 0;
	const struct entry *entry = report_of(w, sql->column_int64(row, 1));
	if (!entry || !entry->wanted)
		return entry ? 0 : -1;
	if (status < 0 || status >= MUSTER_STATUS_COUNT)
		return muster_history_damaged(w->h, "a verdict is none", w->err);
	*ret = (struct muster_history_verdict){ .report = &entry->report,
		.report_id = entry->id,
		.node = muster_history_name(w->h, node, w->err),
		.status = (enum muster_status)status };
	if (!ret->node || !of_finding)
		return ret->node ? 1 : -1;
	int64_t fault = sql->column_int64(row, 5);
	if (fault < 0 || fault >= MUSTER_FAULT_COUNT)
		return muster_history_damaged(w->h, "a finding has a fault that is none", w->err);
	ret->fault = (enum muster_history_fault)fault;
	ret->check = muster_history_name(w->h, sql->column_int64(row, 3), w->err);
	return !ret->check || name_of(w, sql->column_int64(row, 4), &ret->part) < 0 ? -1 : 1;
}

int muster_history_each_verdict(struct muster_history *h, const struct muster_history_filter *filter, bool findings,
	muster_history_verdict_fn *visit, void *arg, struct muster_error *err)
{
	const char *sql = findings
				  ? "SELECT node, report, status, rule, part, fault FROM findings ORDER BY node, report"
				  : "SELECT node, report, status FROM verdicts ORDER BY node, report";
	struct walk w = { .h = h, .filter = filter, .err = err };
	int rc = begin_walk(&w);
	sqlite3_stmt *row = rc < 0 ? NULL : muster_history_statement(h, sql, err);
	rc = row ? rc : -1;
	while (rc >= 0 && (rc = muster_history_step(h, row, err)) > 0) {
		struct muster_history_verdict verdict;
		rc = read_row(&w, row, findings, &verdict);
		if (rc > 0)
			rc = visit(arg, &verdict, err);
	}
	h->sql->finalize(row);
	return end_walk(&w, rc);
}

/* ---- values ---- */

struct values {
	struct walk w;
	muster_history_visit_fn *visit;
	void *arg;
	struct muster_history_value value;
	double *numbers;
	size_t room;
};

/* Visit the values of a row {report, node, parts, packed}, one for each part. A number that is no blob is the value of
 * all parts. 0, also for a row that is not wanted; -1 with err. */
static int visit_row(struct values *v, sqlite3_stmt *row)
{
	struct walk *w = &v->w;
	const struct muster_sqlite *sql = w->h->sql;
	const char *const *parts;
	size_t count;
	int64_t node = sql->column_int64(row, 1);
	const struct entry *entry = report_of(w, sql->column_int64(row, 0));
	if (!entry || !entry->wanted || !wants_node(w, node))
		return entry ? 0 : -1;
	v->value.report = &entry->report;
	if (name_of(w, node, &v->value.node) < 0 ||
		muster_history_parts(w->h, sql->column_int64(row, 2), &parts, &count, w->err) < 0)
		return -1;
	MUSTER_ARRAY_RESERVE(v->numbers, 0, v->room, count);
	int type = sql->column_type(row, 3);
	bool good = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
	double one = good ? sql->column_double(row, 3) : 0;
	if (type == SQLITE_BLOB)
		good = muster_unpack(sql->column_blob(row, 3), (size_t)sql->column_bytes(row, 3), v->numbers, count);
	if (!good || !isfinite(one))
		return muster_history_damaged(w->h, "the numbers of a sample cannot be read", w->err);
	for (size_t i = 0; i < count; i++) {
		v->value.part = parts[i];
		v->value.value = type == SQLITE_BLOB ? v->numbers[i] : one;
		if (v->visit(v->arg, &v->value, w->err) < 0)
			return -1;
	}
	return 0;
}

/* Whether the filter asks for a key: the key is the text of filter->metric, or that and labels behind it. Then
 * v->value.metric is set. A key of a metric that this muster does not know is passed over. */
static bool wants_key(struct values *v, const char *key)
{
	const struct muster_history_filter *f = v->w.filter;
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t count, length = f->metric ? strlen(f->metric) : 0;
	if (f->metric && (strncmp(key, f->metric, length) != 0 || (key[length] && key[length] != '{')))
		return false;
	return muster_history_key_read(v->w.arena, key, &v->value.metric, labels, &count, NULL) == 0 &&
	       (!f->wanted || f->wanted(v->value.metric));
}

/* Visit the rows of one key whose reports are in the range. report_of() searches the first report, and finds the others
 * next to it. */
static int visit_range(struct values *v, sqlite3_stmt *rows, int64_t key, const struct range *range)
{
	struct muster_history *h = v->w.h;
	const int64_t bound[] = { key, range->first, range->last };
	int rc;
	v->w.last = NULL;
	for (int i = 0; i < 3; i++)
		h->sql->bind_int64(rows, i + 1, bound[i]);
	while ((rc = muster_history_step(h, rows, v->w.err)) > 0 && (rc = visit_row(v, rows)) == 0)
		;
	h->sql->reset(rows);
	return rc;
}

/* Visit all keys that the filter asks for, in the order of their ids. The next key is found by one search in the index,
 * so keys that are not asked for cost no more than that. */
static int visit_keys(struct values *v, sqlite3_stmt *next, sqlite3_stmt *rows)
{
	struct muster_history *h = v->w.h;
	int64_t key = 0;
	int rc;
	for (;;) {
		h->sql->bind_int64(next, 1, key);
		rc = muster_history_step(h, next, v->w.err);
		bool any = rc > 0 && h->sql->column_type(next, 0) == SQLITE_INTEGER;
		key = any ? h->sql->column_int64(next, 0) : 0;
		h->sql->reset(next);
		if (!any)
			return rc < 0 ? -1 : 0;
		v->value.key = muster_history_name(h, key, v->w.err);
		if (!v->value.key)
			return -1;
		if (!wants_key(v, v->value.key))
			continue;
		for (size_t i = 0; i < v->w.range_count; i++)
			if (visit_range(v, rows, key, &v->w.ranges[i]) < 0)
				return -1;
	}
}

int muster_history_each_value(struct muster_history *h, const struct muster_history_filter *filter,
	muster_history_visit_fn *visit, void *arg, struct muster_error *err)
{
	struct values v = { .w = { .h = h, .filter = filter, .err = err }, .visit = visit, .arg = arg };
	sqlite3_stmt *next = NULL, *rows = NULL;
	int rc = begin_walk(&v.w);
	if (rc == 0)
		rc = choose_reports(&v.w);
	if (rc == 0 && v.w.range_count > 0) {
		next = muster_history_statement(h, "SELECT min(key) FROM samples WHERE key > ?1", err);
		rows = next ? muster_history_statement(h,
				      "SELECT report, node, parts, packed FROM samples WHERE key = ?1 AND report "
				      "BETWEEN ?2 AND ?3",
				      err)
			    : NULL;
		rc = rows ? visit_keys(&v, next, rows) : -1;
	}
	h->sql->finalize(next);
	h->sql->finalize(rows);
	free(v.numbers);
	return end_walk(&v.w, rc);
}

/* read.c - walks over verdicts, findings and values */
#include "history/sqlite/walk.h"

#include "history/pack.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- verdicts and findings ---- */

/* The report of a row {node, report, ..., status}, and its status. 1: to be visited, 0: not, -1. */
static int read_row(struct muster_history_walk *w, sqlite3_stmt *row, int status_column,
	const struct muster_history_entry **ret_entry, const char **ret_node, enum muster_status *ret_status)
{
	const struct muster_sqlite *sql = w->h->sql;
	int64_t node = sql->column_int64(row, 0), status = sql->column_int64(row, status_column);
	if (!muster_history_walk_wants(w, node))
		return 0;
	*ret_entry = muster_history_walk_report(w, sql->column_int64(row, 1));
	if (!*ret_entry || !(*ret_entry)->wanted)
		return *ret_entry ? 0 : -1;
	if (status < 0 || status >= MUSTER_STATUS_COUNT)
		return muster_history_damaged(w->h, "a verdict is none", w->err);
	*ret_status = (enum muster_status)status;
	*ret_node = muster_history_name(w->h, node, w->err);
	return *ret_node ? 1 : -1;
}

int muster_history_each_verdict(struct muster_history *h, const struct muster_history_filter *filter,
	muster_history_verdict_fn *visit, void *arg, struct muster_error *err)
{
	struct muster_history_walk w = { .h = h, .filter = filter, .err = err };
	int rc = muster_history_walk_begin(&w);
	sqlite3_stmt *row = rc < 0 ? NULL
				   : muster_history_statement(
					     h, "SELECT node, report, status FROM verdicts ORDER BY node, report", err);
	rc = row ? rc : -1;
	while (rc >= 0 && (rc = muster_history_step(h, row, err)) > 0) {
		struct muster_history_verdict verdict;
		const struct muster_history_entry *entry;
		rc = read_row(&w, row, 2, &entry, &verdict.node, &verdict.status);
		if (rc <= 0)
			continue;
		verdict.report = &entry->report;
		verdict.report_id = entry->id;
		rc = visit(arg, &verdict, err);
	}
	h->sql->finalize(row);
	return muster_history_walk_end(&w, rc);
}

int muster_history_each_finding(struct muster_history *h, const struct muster_history_filter *filter,
	muster_history_finding_fn *visit, void *arg, struct muster_error *err)
{
	struct muster_history_walk w = { .h = h, .filter = filter, .err = err };
	int rc = muster_history_walk_begin(&w);
	sqlite3_stmt *row =
		rc < 0 ? NULL
		       : muster_history_statement(
				 h, "SELECT node, report, rule, part, status FROM findings ORDER BY node, report", err);
	rc = row ? rc : -1;
	while (rc >= 0 && (rc = muster_history_step(h, row, err)) > 0) {
		struct muster_history_finding finding;
		const struct muster_history_entry *entry;
		rc = read_row(&w, row, 4, &entry, &finding.node, &finding.status);
		if (rc <= 0)
			continue;
		finding.report = &entry->report;
		finding.report_id = entry->id;
		finding.check = muster_history_name(h, h->sql->column_int64(row, 2), err);
		rc = !finding.check ? -1 : muster_history_walk_name(&w, h->sql->column_int64(row, 3), &finding.part);
		if (rc == 0)
			rc = visit(arg, &finding, err);
	}
	h->sql->finalize(row);
	return muster_history_walk_end(&w, rc);
}

/* ---- values ---- */

struct values {
	struct muster_history_walk w;
	muster_history_visit_fn *visit;
	void *arg;
	struct muster_history_value value;
	double *numbers;
	size_t room;
};

static int visit_row(struct values *v, sqlite3_stmt *row)
{
	struct muster_history_walk *w = &v->w;
	const struct muster_sqlite *sql = w->h->sql;
	const char *const *parts;
	size_t count;
	int64_t node = sql->column_int64(row, 1);
	const struct muster_history_entry *entry = muster_history_walk_report(w, sql->column_int64(row, 0));
	if (!entry || !entry->wanted || !muster_history_walk_wants(w, node))
		return entry ? 0 : -1;
	v->value.report = &entry->report;
	if (muster_history_walk_name(w, node, &v->value.node) < 0 ||
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

/* Whether the filter asks for a key. Keys of metrics that are no longer known are skipped. */
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

static int visit_range(struct values *v, sqlite3_stmt *rows, int64_t key, const struct muster_history_range *range)
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
	int rc = muster_history_walk_begin(&v.w);
	if (rc == 0)
		rc = muster_history_walk_choose(&v.w);
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
	return muster_history_walk_end(&v.w, rc);
}

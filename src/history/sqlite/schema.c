/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - the tables of a history, and how an older file becomes a newer one
 *
 * The table samples has one row for one key on one node in one report, with the numbers of all parts in it (pack.h): a
 * report of 16 GPUs has some 350 rows for 2,700 numbers. The rows of a key are next to each other, in the order in
 * which reports were added, as the questions are about one key over time.
 *
 * A file has its schema version in PRAGMA user_version. What muster_history_prepare() does with a file:
 *
 *    application id, version, tables       to read it                   to write it
 *    all 0                                 error: empty                 all steps
 *    another id, or tables without an id   error                        error
 *    ours, an older version                error: add a report first    the steps that are missing
 *    ours, this version                    nothing                      nothing
 *    ours, a newer version                 error                        error
 *    ours, and tables that do not fit      error: damaged               error: damaged
 */
#include "history/sqlite/history.h"

#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step is never changed once it was released: files made by it are compared with it (compare_definitions).
 *
 *   reports   started: seconds since 1970. identity, evaluation: hashes, see add.c. job: Slurm's id, or NULL
 *             type, profile, version: names. flags: bits MUSTER_HISTORY_. nodes: how many. verdict: enum muster_status
 *   verdicts  how a node, a name, came out of a report
 *   findings  rule: the name of the check. part: the name of a GPU or port; 0: the whole node
 *   samples   key, node, parts: names; node 0: the job; parts 0: one number of the whole node
 *             packed: that number, or the numbers of all parts, in the order of the list, by pack.h
 */
const char *const muster_history_steps[] = {
	"CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE reports(id INTEGER PRIMARY KEY, started INTEGER NOT NULL, identity INTEGER NOT NULL,"
	" evaluation INTEGER NOT NULL, job TEXT, type INTEGER NOT NULL, profile INTEGER NOT NULL,"
	" version INTEGER NOT NULL, flags INTEGER NOT NULL, nodes INTEGER NOT NULL, verdict INTEGER NOT NULL,"
	" UNIQUE(started, identity));"
	"CREATE TABLE verdicts(node INTEGER NOT NULL, report INTEGER NOT NULL, status INTEGER NOT NULL,"
	" PRIMARY KEY(node, report)) WITHOUT ROWID;"
	"CREATE TABLE findings(node INTEGER NOT NULL, report INTEGER NOT NULL, rule INTEGER NOT NULL,"
	" part INTEGER NOT NULL, status INTEGER NOT NULL, PRIMARY KEY(node, report, rule, part)) WITHOUT ROWID;"
	"CREATE TABLE samples(key INTEGER NOT NULL, report INTEGER NOT NULL, node INTEGER NOT NULL,"
	" parts INTEGER NOT NULL, packed NOT NULL, PRIMARY KEY(key, report, node)) WITHOUT ROWID;",
	/* fault: an enum muster_history_fault. Of what was stored before, a failure (2) is a soft one (1). */
	"ALTER TABLE findings ADD COLUMN fault INTEGER NOT NULL DEFAULT 0;"
	"UPDATE findings SET fault = 1 WHERE status = 2;",
};
_Static_assert(MUSTER_FAIL == 2 && MUSTER_FAULT_SOFT == 1, "as the step has them");
_Static_assert(sizeof muster_history_steps / sizeof *muster_history_steps == MUSTER_HISTORY_SCHEMA,
	"as many steps as the version says");

/* Take the steps from version `from` to version `to`, and mark the file with both numbers. -1 with err. */
static int apply(struct muster_history *h, const char *const *steps, int from, int to, struct muster_error *err)
{
	char sql[64];
	for (int i = from; i < to; i++)
		if (muster_history_exec(h, steps[i], err) < 0)
			return -1;
	snprintf(sql, sizeof sql, "PRAGMA application_id = %d", MUSTER_HISTORY_APPLICATION);
	if (muster_history_exec(h, sql, err) < 0)
		return -1;
	snprintf(sql, sizeof sql, "PRAGMA user_version = %d", to);
	return muster_history_exec(h, sql, err);
}

/* All definitions of the database as one text, in a fixed order; malloc'd. NULL with err. Indices that SQLite makes
 * itself have no SQL, and count by their names. */
static char *definitions(const struct muster_history *h, struct muster_error *err)
{
	char *text;
	size_t length;
	int rc;
	sqlite3_stmt *statement = muster_history_statement(
		h, "SELECT type, name, ifnull(sql, '') FROM sqlite_master ORDER BY name, type", err);
	if (!statement)
		return NULL;
	FILE *out = muster_memory_open(&text, &length);
	while ((rc = muster_history_step(h, statement, err)) > 0)
		fprintf(out, "%s %s %s\n", h->sql->column_text(statement, 0), h->sql->column_text(statement, 1),
			h->sql->column_text(statement, 2));
	h->sql->finalize(statement);
	muster_memory_close(out);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

/* 0 when the database has exactly the tables that the steps up to `target` make; -1 with err if not: a view, a trigger
 * or another column could change what a query returns. The steps are taken in an empty database in memory, and the
 * definitions of the two are compared as texts. */
static int compare_definitions(
	const struct muster_history *h, const char *const *steps, int target, struct muster_error *err)
{
	struct muster_history fresh = { .sql = h->sql, .path = h->path };
	int rc = h->sql->open_v2(":memory:", &fresh.db, SQLITE_OPEN_READWRITE, NULL);
	rc = rc == SQLITE_OK ? apply(&fresh, steps, 0, target, err) : muster_history_fail(&fresh, rc, err);
	char *expected = rc == 0 ? definitions(&fresh, err) : NULL;
	char *found = expected ? definitions(h, err) : NULL;
	if (found && strcmp(found, expected) != 0)
		rc = muster_history_damaged(h, "its tables are not those of a history", err);
	else if (!found)
		rc = -1;
	free(found);
	free(expected);
	h->sql->close(fresh.db);
	return rc;
}

/* -1 with err for a file of another program, and for a version that this muster does not know. An empty file, without
 * an id and tables, can become a history. */
static int check_version(const struct muster_history *h, int64_t application, int64_t version, int64_t tables,
	int target, struct muster_error *err)
{
	if (application != MUSTER_HISTORY_APPLICATION && (application != 0 || tables != 0))
		return muster_fail(
			err, MUSTER_EUSAGE, "%s: a database of another program, not a history of muster", h->path);
	if (version > target)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: a newer muster made this history (schema %d, this muster knows %d): use that muster",
			h->path, (int)version, target);
	return 0;
}

/* The steps of muster_history_prepare() within its transaction. -1 with err, and nothing has changed once the caller
 * has rolled back. */
static int prepare_in_transaction(
	struct muster_history *h, bool write, const char *const *steps, int target, struct muster_error *err)
{
	int64_t application, version, tables;
	if (muster_history_number(h, "PRAGMA application_id", 0, &application, err) < 0 ||
		muster_history_number(h, "PRAGMA user_version", 0, &version, err) < 0 ||
		muster_history_number(h, "SELECT count(*) FROM sqlite_master", 0, &tables, err) < 0 ||
		check_version(h, application, version, tables, target, err) < 0)
		return -1;
	if (version < 0 || (version == 0) != (tables == 0))
		return muster_history_damaged(h, "its schema version does not fit its tables", err);
	if (version == 0 && !write)
		return muster_fail(err, MUSTER_EUSAGE, "%s: empty: no report has been added", h->path);
	if (version < target && !write)
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: an older muster made this history (schema %d, this muster needs %d): the next `muster "
			"history add` brings it up to date",
			h->path, (int)version, target);
	if (version > 0 && compare_definitions(h, steps, (int)version, err) < 0)
		return -1;
	return version < target ? apply(h, steps, (int)version, target, err) : 0;
}

/* To write, the transaction takes the lock at once (BEGIN IMMEDIATE): of two processes that find an empty file, the
 * second one waits, and then finds the tables. */
int muster_history_prepare(
	struct muster_history *h, bool write, const char *const *steps, int target, struct muster_error *err)
{
	struct muster_error ignored;
	if (muster_history_exec(h, write ? "BEGIN IMMEDIATE" : "BEGIN", err) < 0)
		return -1;
	int rc = prepare_in_transaction(h, write, steps, target, err);
	if (rc == 0)
		rc = muster_history_exec(h, "COMMIT", err);
	if (rc < 0)
		(void)muster_history_exec(h, "ROLLBACK", &ignored);
	return rc;
}

/* open.c - open and close a history
 *
 * The journal is SQLite's default, a file that is deleted after each transaction, and not a write-ahead log: a user who
 * may read the file but not write to its folder can read the history, one file is all of it, and it works on network
 * file systems whose locks do.
 */
#include "history/sqlite/history.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX (1 << 24)              /* bytes of one text or blob */
#define CHECKED_BYTES ((off_t)16 << 20) /* a file up to this size is checked whole before it is written: some 20 ms */

/* Nothing in the file may do anything: no triggers or functions of its schema, and no page that lies about its size. */
static int set_up(struct muster_history *h, bool write, struct muster_error *err)
{
	struct stat found;
	sqlite3_stmt *check;
	h->sql->extended_result_codes(h->db, 1);
	h->sql->busy_timeout(h->db, MUSTER_HISTORY_BUSY_MS);
	h->sql->limit(h->db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
	h->sql->db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	h->sql->db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (muster_history_exec(h, "PRAGMA cell_size_check = ON; PRAGMA cache_size = -32768;", err) < 0)
		return -1;
	if (!write || stat(h->path, &found) < 0 || found.st_size > CHECKED_BYTES)
		return 0;
	check = muster_history_statement(h, "PRAGMA quick_check(1)", err);
	int rc = check ? muster_history_step(h, check, err) : -1;
	const char *said = rc > 0 ? (const char *)h->sql->column_text(check, 0) : NULL;
	if (said && strcmp(said, "ok") != 0)
		rc = muster_history_damaged(h, said, err);
	h->sql->finalize(check);
	return rc < 0 ? -1 : 0;
}

static int open_database(struct muster_history *h, bool write, struct muster_error *err)
{
	int flags = (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
	int rc = h->sql->open_v2(h->path, &h->db, flags, NULL);
	if (rc != SQLITE_OK)
		return muster_history_fail(h, rc, err);
	if (set_up(h, write, err) < 0)
		return -1;
	return muster_history_prepare(h, write, muster_history_steps, MUSTER_HISTORY_SCHEMA, err);
}

int muster_history_open(const char *path, bool write, struct muster_history **ret, struct muster_error *err)
{
	const struct muster_sqlite *sql = muster_sqlite(err);
	char *safe = sql ? muster_history_safe_path(path, write, err) : NULL;
	if (!safe)
		return -1;
	struct muster_history *h = muster_calloc(1, sizeof *h);
	*h = (struct muster_history){ .sql = sql, .path = safe, .arena = muster_arena_new() };
	if (open_database(h, write, err) < 0) {
		muster_history_close(h);
		return -1;
	}
	*ret = h;
	return 0;
}

void muster_history_close(struct muster_history *h)
{
	if (!h)
		return;
	muster_history_names_done(h);
	h->sql->close(h->db); /* rolls back what was not committed */
	free(h->path);
	free(h);
}

int muster_history_begin(struct muster_history *h, struct muster_error *err)
{
	if (muster_history_exec(h, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	h->batch = true;
	return 0;
}

int muster_history_commit(struct muster_history *h, struct muster_error *err)
{
	if (muster_history_exec(h, "COMMIT", err) < 0)
		return -1;
	h->batch = false;
	return 0;
}

int muster_history_measure(struct muster_history *h, struct muster_history_size *ret, struct muster_error *err)
{
	static const struct {
		const char *sql;
		size_t offset;
		int64_t none;
	} numbers[] = {
		{ "SELECT count(*) FROM reports", offsetof(struct muster_history_size, reports), 0 },
		{ "SELECT count(*) FROM reports WHERE flags & 1", offsetof(struct muster_history_size, simulated), 0 },
		{ "WITH RECURSIVE each(node) AS (SELECT min(node) FROM verdicts UNION ALL SELECT (SELECT min(node) "
		  "FROM verdicts WHERE node > each.node) FROM each WHERE node IS NOT NULL) SELECT count(node) FROM "
		  "each",
			offsetof(struct muster_history_size, nodes), 0 },
		{ "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
			offsetof(struct muster_history_size, bytes), 0 },
		{ "SELECT min(started) FROM reports", offsetof(struct muster_history_size, first),
			MUSTER_HISTORY_NEVER },
		{ "SELECT max(started) FROM reports", offsetof(struct muster_history_size, last),
			MUSTER_HISTORY_NEVER },
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (muster_history_number(h, numbers[i].sql, numbers[i].none,
			    (int64_t *)(void *)((char *)ret + numbers[i].offset), err) < 0)
			return -1;
	return 0;
}

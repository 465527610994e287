/* SPDX-License-Identifier: Apache-2.0 */
/* statement.c - SQLite, opened at run time, and its calls with errors as values
 *
 * muster_sqlite() opens the library and fills in the table of functions once in a process. All other functions here
 * call one function of SQLite and turn its result into 0, 1 or -1 with a sentence that names the file. The caller of a
 * statement finalizes it; muster_history_put() and muster_history_step() do not.
 */
#include "history/sqlite/history.h"

#include "vendor/library.h"

#include <string.h>

static struct muster_sqlite functions;

static const struct muster_symbol symbols[] = {
#define X(function) { .name = "sqlite3_" #function, .address = &functions.function },
	MUSTER_SQLITE_FUNCTIONS(X)
#undef X
};

static struct muster_library library = {
	.title = "SQLite",
	.soname = "libsqlite3.so.0",
	.oldest = "SQLite 3.34",
	.symbols = symbols,
	.symbol_count = sizeof symbols / sizeof *symbols,
};

const struct muster_sqlite *muster_sqlite(struct muster_error *err)
{
	return muster_library_open(&library, err) < 0 ? NULL : &functions;
}

int muster_history_damaged(const struct muster_history *h, const char *what, struct muster_error *err)
{
	return muster_fail(err, MUSTER_EUSAGE,
		"%s: damaged: %s. Nothing was changed; `sqlite3 %s .recover` prints what can be read of it", h->path,
		what, h->path);
}

/* The lowest byte of a result is its class; the rest says more (extended_result_codes). What the user can correct in
 * the file is MUSTER_EUSAGE, what the system refuses is MUSTER_EIO. The reason of the system, such as "Permission
 * denied", is better than SQLite's own text where there is one. Without a database SQLite had no memory for it. */
int muster_history_fail(const struct muster_history *h, int rc, struct muster_error *err)
{
	int system = h->db ? h->sql->system_errno(h->db) : 0;
	const char *why = system ? strerror(system) : h->db ? h->sql->errmsg(h->db) : "out of memory";
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return muster_fail(err, MUSTER_EIO, "%s: other processes have kept it locked for %d s", h->path,
			MUSTER_HISTORY_BUSY_MS / 1000);
	case SQLITE_FULL: return muster_fail(err, MUSTER_EIO, "%s: the disk or the user's quota is full", h->path);
	case SQLITE_READONLY:
		return muster_fail(
			err, MUSTER_EIO, "%s: cannot be written: the file or its folder is read-only", h->path);
	case SQLITE_NOTADB: return muster_fail(err, MUSTER_EUSAGE, "%s: not an SQLite database", h->path);
	case SQLITE_CORRUPT: return muster_history_damaged(h, h->sql->errmsg(h->db), err);
	case SQLITE_PERM:
	case SQLITE_CANTOPEN: return muster_fail(err, MUSTER_EIO, "%s: cannot be opened: %s", h->path, why);
	default: return muster_fail(err, MUSTER_EIO, "%s: cannot be read or written: %s", h->path, why);
	}
}

int muster_history_exec(const struct muster_history *h, const char *sql, struct muster_error *err)
{
	int rc = h->sql->exec(h->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : muster_history_fail(h, rc, err);
}

sqlite3_stmt *muster_history_statement(const struct muster_history *h, const char *sql, struct muster_error *err)
{
	sqlite3_stmt *statement;
	int rc = h->sql->prepare_v2(h->db, sql, -1, &statement, NULL);
	if (rc != SQLITE_OK)
		(void)muster_history_fail(h, rc, err);
	return rc == SQLITE_OK ? statement : NULL;
}

int muster_history_step(const struct muster_history *h, sqlite3_stmt *statement, struct muster_error *err)
{
	int rc = h->sql->step(statement);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : muster_history_fail(h, rc, err);
}

int muster_history_put(const struct muster_history *h, sqlite3_stmt *statement, const int64_t *numbers, size_t count,
	struct muster_error *err)
{
	for (size_t i = 0; i < count; i++)
		h->sql->bind_int64(statement, (int)i + 1, numbers[i]);
	int rc = muster_history_step(h, statement, err);
	h->sql->reset(statement);
	return rc;
}

int muster_history_number(
	const struct muster_history *h, const char *sql, int64_t none, int64_t *ret, struct muster_error *err)
{
	sqlite3_stmt *statement = muster_history_statement(h, sql, err);
	int rc = statement ? muster_history_step(h, statement, err) : -1;
	if (rc >= 0)
		*ret = rc > 0 && h->sql->column_type(statement, 0) == SQLITE_INTEGER
			       ? h->sql->column_int64(statement, 0)
			       : none;
	h->sql->finalize(statement);
	return rc < 0 ? -1 : 0;
}

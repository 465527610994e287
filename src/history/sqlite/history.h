/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - an open history: what the files of this folder share
 *
 * Every text that repeats (nodes, keys, checks, lists of parts) is a row of the table names and elsewhere a small
 * number; 0 stands for none. schema.c has the tables.
 */
#ifndef MUSTER_HISTORY_SQLITE_HISTORY_H
#define MUSTER_HISTORY_SQLITE_HISTORY_H

#include "history/db.h"

#include <sqlite3.h>

/* SQLite, opened at run time: no process without a history loads it. Functions of SQLite 3.34 (2020) and
 * later; the types are those of sqlite3.h. */
#define MUSTER_SQLITE_FUNCTIONS(X)                                                                                     \
	X(bind_blob)                                                                                                   \
	X(bind_double)                                                                                                 \
	X(bind_int64)                                                                                                  \
	X(bind_null)                                                                                                   \
	X(bind_text)                                                                                                   \
	X(busy_timeout)                                                                                                \
	X(close)                                                                                                       \
	X(column_blob)                                                                                                 \
	X(column_bytes)                                                                                                \
	X(column_double)                                                                                               \
	X(column_int64)                                                                                                \
	X(column_text)                                                                                                 \
	X(column_type)                                                                                                 \
	X(db_config)                                                                                                   \
	X(errmsg)                                                                                                      \
	X(exec)                                                                                                        \
	X(extended_result_codes)                                                                                       \
	X(finalize)                                                                                                    \
	X(get_autocommit)                                                                                              \
	X(last_insert_rowid)                                                                                           \
	X(limit)                                                                                                       \
	X(open_v2)                                                                                                     \
	X(prepare_v2)                                                                                                  \
	X(reset)                                                                                                       \
	X(step)                                                                                                        \
	X(system_errno)

struct muster_sqlite {
#define X(name) __typeof__(sqlite3_##name) *name;
	MUSTER_SQLITE_FUNCTIONS(X)
#undef X
};

/* The functions; NULL with err when the library is not on this machine. */
const struct muster_sqlite *muster_sqlite(struct muster_error *err);

/* Bits of the column flags of a report. */
enum { MUSTER_HISTORY_SIMULATED = 1, MUSTER_HISTORY_BESIDE_JOBS = 2 };

enum { MUSTER_HISTORY_NAMES_MAX = 1 << 22 };

struct muster_history_name {
	const char *text;   /* NULL: not read yet */
	const char **parts; /* of a list of parts; NULL: not read yet */
	size_t part_count;
};

struct muster_history {
	const struct muster_sqlite *sql;
	sqlite3 *db;
	char *path;
	struct muster_arena *arena; /* texts of names */
	struct muster_history_name *names;
	size_t name_count;
	sqlite3_stmt *find_text, *find_id; /* of names; NULL until used */
};

/* ---- schema.c ---- */

extern const char *const muster_history_steps[]; /* SQL from one schema version to the next; step 0 makes version 1 */
enum { MUSTER_HISTORY_SCHEMA = 2 };              /* the number of steps */
#define MUSTER_HISTORY_APPLICATION 0x4d757374    /* "Must" in the header of the file */

/* Check that an open database is a history with the tables of step `target`, and when write is set make or upgrade it.
 * In one transaction. */
int muster_history_prepare(
	struct muster_history *h, bool write, const char *const *steps, int target, struct muster_error *err);

/* ---- statement.c ---- */

/* -1 with err: what SQLite says of the last call, which returned rc. */
int muster_history_fail(const struct muster_history *h, int rc, struct muster_error *err);
/* -1 with err: the content is not what muster writes. */
int muster_history_damaged(const struct muster_history *h, const char *what, struct muster_error *err);

int muster_history_exec(const struct muster_history *h, const char *sql, struct muster_error *err);
/* NULL with err; the caller finalizes. */
sqlite3_stmt *muster_history_statement(const struct muster_history *h, const char *sql, struct muster_error *err);
/* 1: a row, 0: no more rows, -1 with err. */
int muster_history_step(const struct muster_history *h, sqlite3_stmt *statement, struct muster_error *err);
/* Run a statement that gives no row with these numbers bound to ?1, ?2 ..., and reset it. */
int muster_history_put(const struct muster_history *h, sqlite3_stmt *statement, const int64_t *numbers, size_t count,
	struct muster_error *err);
/* The first column of the first row of a query, or `none` when there is no row or no number. */
int muster_history_number(
	const struct muster_history *h, const char *sql, int64_t none, int64_t *ret, struct muster_error *err);

/* ---- names.c ---- */

/* The text of an id above 0, kept as long as the history is open. NULL with err when there is none. */
const char *muster_history_name(struct muster_history *h, int64_t id, struct muster_error *err);
/* The parts of a list of parts (NULL among them: the whole node); id 0 is one part, the whole node. */
int muster_history_parts(
	struct muster_history *h, int64_t id, const char *const **ret, size_t *ret_count, struct muster_error *err);
/* The id of a text; with `add` it gets one when it has none, else *ret is 0. NULL is 0. */
int muster_history_name_id(
	struct muster_history *h, const char *text, bool add, int64_t *ret, struct muster_error *err);
void muster_history_names_done(struct muster_history *h);

#endif

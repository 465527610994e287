/* calls.h - SQLite, opened at run time: no process but that of `muster history` loads it
 *
 * The types are those of sqlite3.h. Functions of SQLite 3.34 (2020) and later.
 */
#ifndef MUSTER_HISTORY_SQLITE_CALLS_H
#define MUSTER_HISTORY_SQLITE_CALLS_H

#include "muster/error.h"

#include <sqlite3.h>

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

#endif

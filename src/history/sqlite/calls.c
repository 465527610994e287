/* calls.c - SQLite, opened at run time */
#include "history/sqlite/calls.h"

#include "vendor/library.h"

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

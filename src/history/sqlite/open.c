/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - open and close a history
 *
 * The journal is SQLite's default, a file that is deleted after each transaction, and not a write-ahead log: a user who
 * may read the file but not write to its folder can read the history, one file is all of it, and it works on network
 * file systems whose locks do.
 *
 * A database is input like any other: a schema can hold triggers and views that run when it is read. So a file is
 * opened with SQLite's defences on, its tables must be exactly those of schema.c, and one of moderate size is checked
 * whole before it is written.
 *
 * muster_history_open() in its order: load SQLite; find the real path, and refuse what is no place for a history
 * (safe_path); open the file, or make it (open_database, set_up); check or make the tables (muster_history_prepare).
 */
#include "history/sqlite/history.h"
#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX (1 << 24)              /* bytes of one text or blob */
#define CHECKED_BYTES ((off_t)16 << 20) /* a file up to this size is checked whole before it is written: some 20 ms */

/* ---- where a history is, and whether it is safe to write there ---- */

/* Whether a file or folder belongs to root or to this user. */
static bool is_ours(const struct stat *found)
{
	return found->st_uid == 0 || found->st_uid == geteuid();
}

/* -1 with err unless other users cannot put another file in place of the history or of its journal: the folder is
 * root's, and neither its group nor others can write to it; those above are root's, too, and others cannot write to
 * them, or keep each name for its owner (the sticky bit). folder: an absolute path without links, "" for the root of
 * all. Only root is checked so: others write with their own rights only. */
static int check_folders(const char *folder, struct muster_error *err)
{
	char *path = muster_strdup(folder);
	int rc = 0;
	for (bool first = true;; first = false) {
		struct stat found;
		char *slash = strrchr(path, '/');
		if (lstat(*path ? path : "/", &found) < 0)
			rc = muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
		else if (!is_ours(&found) || (found.st_mode & (first ? S_IWGRP | S_IWOTH : S_IWOTH) &&
						     (first || !(found.st_mode & S_ISVTX))))
			rc = muster_fail(err, MUSTER_EUSAGE,
				"%s: users can change what is in it: root writes a history, or reads one with a "
				"write-ahead log, only in a folder that only root can write",
				*path ? path : "/");
		if (rc < 0 || !slash)
			break;
		*slash = '\0';
	}
	free(path);
	return rc;
}

static const char none[] = "there is no such history: `muster history add REPORT` makes one";

/* -1 with err for what is no regular file, and for no file at all when it is to be read. When root writes, a link and a
 * file of a user are refused, too. */
static int check_file(const char *path, bool write, struct muster_error *err)
{
	struct stat found;
	bool root = write && geteuid() == 0;
	if ((root ? lstat(path, &found) : stat(path, &found)) < 0) {
		if (errno == ENOENT && write)
			return 0;
		return muster_fail(err, errno == ENOENT ? MUSTER_EUSAGE : MUSTER_EIO, "%s: %s", path,
			errno == ENOENT ? none : strerror(errno));
	}
	if (root && S_ISLNK(found.st_mode))
		return muster_fail(
			err, MUSTER_EUSAGE, "%s: a symbolic link: root writes only to the file itself", path);
	if (!S_ISREG(found.st_mode))
		return muster_fail(err, MUSTER_EUSAGE, "%s: not a file", path);
	if (root && !is_ours(&found))
		return muster_fail(err, MUSTER_EUSAGE, "%s: belongs to a user: root does not write to it", path);
	return 0;
}

/* The folder `given`, absolute and with all links resolved; malloc'd. To write, the last folder of the path is made
 * when the one above is there, and is safe for root. NULL with err. */
static char *find_folder(const char *given, bool write, struct muster_error *err)
{
	char *folder = realpath(given, NULL);
	const char *slash = strrchr(given, '/');
	if (folder || errno != ENOENT || !write || !slash || slash == given || !slash[1]) {
		if (!folder)
			muster_fail(
				err, errno == ENOENT ? MUSTER_EUSAGE : MUSTER_EIO, "%s: %s", given, strerror(errno));
		return folder;
	}
	char *above = muster_asprintf("%.*s", (int)(slash - given), given);
	char *real = realpath(above, NULL);
	if (!real)
		muster_fail(err, errno == ENOENT ? MUSTER_EUSAGE : MUSTER_EIO, "%s: %s", above, strerror(errno));
	else if (geteuid() != 0 || check_folders(strcmp(real, "/") == 0 ? "" : real, err) == 0) {
		char *made = muster_asprintf("%s%s", strcmp(real, "/") == 0 ? "" : real, slash);
		if (mkdir(made, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST)
			muster_fail(err, MUSTER_EIO, "%s: %s", made, strerror(errno));
		else
			folder = realpath(made, NULL);
		free(made);
	}
	free(real);
	free(above);
	return folder;
}

/* Whether the file is a database with a write-ahead log: byte 19 of its header, the version for reading, is 2 then.
 * SQLite makes files beside such a database when it only reads, too, so root must not do that in a folder of users. */
static bool has_log_ahead(const char *path)
{
	char header[20] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool ahead = fd >= 0 && pread(fd, header, sizeof header, 0) > 0 && header[19] == 2;
	if (fd >= 0)
		close(fd);
	return ahead;
}

/* The path to give to SQLite, malloc'd: of a file that is or can become a history, see muster_history_open. Only the
 * folder is resolved, so that a link in the place of the file itself can be seen (check_file). NULL with err. */
static char *safe_path(const char *path, bool write, struct muster_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *given = slash == path ? muster_strdup("/")
		      : slash       ? muster_asprintf("%.*s", (int)(slash - path), path)
				    : muster_strdup(".");
	char *whole = NULL, *folder = NULL;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		muster_fail(err, MUSTER_EUSAGE, "\"%s\": the path of a file is needed", path);
	else if (!write && access(given, F_OK) < 0 && errno == ENOENT)
		muster_fail(err, MUSTER_EUSAGE, "%s: %s", path, none);
	else
		folder = find_folder(given, write, err);
	if (folder)
		whole = muster_asprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
	bool root_writes = whole && geteuid() == 0 && (write || has_log_ahead(whole));
	if (whole && ((root_writes && check_folders(strcmp(folder, "/") == 0 ? "" : folder, err) < 0) ||
			     check_file(whole, write, err) < 0)) {
		free(whole);
		whole = NULL;
	}
	free(folder);
	free(given);
	return whole;
}

/* ---- open and close ---- */

/* Prepare a connection. Nothing in the file may do anything: SQLite's defensive mode is on, the schema is not trusted,
 * no text is longer than TEXT_MAX, and pages are checked for cells that lie about their size. The cache has 32 MiB. A
 * file that is to be written is checked whole first, up to CHECKED_BYTES. -1 with err. */
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
	char *safe = sql ? safe_path(path, write, err) : NULL;
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

int muster_history_simulated(struct muster_history *h, int64_t *ret, struct muster_error *err)
{
	return muster_history_number(h, "SELECT count(*) FROM reports WHERE flags & 1", 0, ret, err);
}

/* path.c - where a history is, and whether it is safe to write there */
#include "history/sqlite/history.h"

#include "muster/arena.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const struct stat *found)
{
	return found->st_uid == 0 || found->st_uid == geteuid();
}

/* Root writes only where users cannot put another file in place of the history or of its journal: the folder is root's
 * and writable for root alone; those above are too, or keep each name for its owner (the sticky bit). */
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
				"%s: users can change what is in it: root writes a history only in a folder that only "
				"root can write",
				*path ? path : "/");
		if (rc < 0 || !slash)
			break;
		*slash = '\0';
	}
	free(path);
	return rc;
}

static const char none[] = "there is no such history: `muster history add REPORT` makes one";

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

/* The folder that will hold the file, with all links resolved; malloc'd. To write, it is made if the one above it is
 * there. NULL with err. */
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

char *muster_history_safe_path(const char *path, bool write, struct muster_error *err)
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
	if (whole && ((write && geteuid() == 0 && check_folders(strcmp(folder, "/") == 0 ? "" : folder, err) < 0) ||
			     check_file(whole, write, err) < 0)) {
		free(whole);
		whole = NULL;
	}
	free(folder);
	free(given);
	return whole;
}

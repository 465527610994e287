/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - may muster write into a folder, and is there room for its files?
 *
 * As root, each part of the path is opened from the one before it, without following links (openat with O_NOFOLLOW), so
 * that no other user can put a link into the path between the check and the use. The descriptor that results is what
 * files are made in: the path is not looked up again. Other users may follow links, since they can only write where
 * they have the right to.
 *
 * O_PATH: a folder that may be entered need not be readable.
 */
#include "storage/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };

static int refuse_open(const char *folder, const char *part, int at, struct muster_error *err)
{
	int error = errno;
	struct stat status;
	if ((error == ELOOP || error == ENOTDIR) && fstatat(at, part, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISLNK(status.st_mode))
		return muster_fail(err, MUSTER_EUSAGE,
			"%s: \"%s\" is a symbolic link, and root follows none to write: give the path without it",
			folder, part);
	return muster_fail(err,
		error == EACCES || error == EPERM     ? MUSTER_ENOPERMISSION
		: error == ENOENT || error == ENOTDIR ? MUSTER_EUSAGE
						      : MUSTER_EIO,
		"%s: %s", folder, strerror(error));
}

/* The path must be shorter than PATH_MAX, which muster_storage_folder_open checks. O_NOFOLLOW with O_PATH opens a link
 * itself, and O_DIRECTORY then fails with ENOTDIR: refuse_open finds out which of the two it was. */
static int open_strictly(const char *folder, struct muster_error *err)
{
	char path[PATH_MAX], *rest, *part;
	int at = open("/", FLAGS);
	if (at < 0)
		return muster_fail(err, MUSTER_EIO, "/: %s", strerror(errno));
	memcpy(path, folder, strlen(folder) + 1);
	for (part = strtok_r(path, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		int next = openat(at, part, FLAGS | O_NOFOLLOW);
		int result = next < 0 ? refuse_open(folder, part, at, err) : 0;
		close(at);
		if (result < 0)
			return -1;
		at = next;
	}
	return at;
}

static int open_as_is(const char *folder, struct muster_error *err)
{
	int at = open(folder, FLAGS);
	return at < 0 ? refuse_open(folder, folder, AT_FDCWD, err) : at;
}

/* Whether muster may use the opened folder: it belongs to this user or to root, and this user may write into it.
 * AT_EACCESS: by the effective user, as open(2) would decide. */
static int look_at(int at, const char *folder, struct muster_error *err)
{
	struct stat status;
	if (fstat(at, &status) < 0)
		return muster_fail(err, MUSTER_EIO, "%s: %s", folder, strerror(errno));
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return muster_fail(err, MUSTER_ENOPERMISSION,
			"%s belongs to another user (%u): muster writes only into folders of the user that it runs as "
			"and of root",
			folder, (unsigned)status.st_uid);
	if (faccessat(at, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return muster_fail(err,
			errno == EACCES || errno == EPERM ? MUSTER_ENOPERMISSION
			: errno == EROFS                  ? MUSTER_ENOTSUPPORTED
							  : MUSTER_EIO,
			"%s is not writable: %s", folder, strerror(errno));
	return 0;
}

int muster_storage_folder_open(const char *folder, struct muster_error *err)
{
	if (*folder != '/')
		return muster_fail(err, MUSTER_EUSAGE, "%s: an absolute path is needed", *folder ? folder : "\"\"");
	if (strlen(folder) >= PATH_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "%.60s...: the path is too long", folder);
	int at = geteuid() == 0 ? open_strictly(folder, err) : open_as_is(folder, err);
	if (at >= 0 && look_at(at, folder, err) < 0) {
		close(at);
		return -1;
	}
	return at;
}

int muster_storage_folder_check(const char *folder, struct muster_error *err)
{
	int at = muster_storage_folder_open(folder, err);
	if (at < 0)
		return -1;
	close(at);
	return 0;
}

/* ---- is there room for the files of all ranks? ---- */

double muster_storage_free_bytes(const struct statvfs *space)
{
	unsigned long unit = space->f_frsize ? space->f_frsize : space->f_bsize;
	return space->f_blocks > 0 ? (double)space->f_bavail * (double)unit : INFINITY;
}

int muster_storage_space_check(const char *folder, int ranks, uint64_t bytes, struct muster_error *err)
{
	struct statvfs space;
	double all = (double)ranks * (double)bytes;
	if (statvfs(folder, &space) < 0)
		return 0;
	double free_bytes = muster_storage_free_bytes(&space);
	if (all <= free_bytes / 2)
		return 0;
	return muster_fail(err, MUSTER_ENOTSUPPORTED,
		"%s has %.1f GB free, and %d ranks write %.1f GB: muster takes at most half of what is free", folder,
		free_bytes / 1e9, ranks, all / 1e9);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - files without a name, and direct access where the file system takes that
 *
 * How a new file is made, in this order:
 *
 *    1. the folder is checked and opened (folder.c), and all that follows is relative to its descriptor
 *    2. the free space: at most half of it is taken
 *    3. O_TMPFILE; where the file system has none, a random name that is unlinked before the first byte
 *    4. fallocate; where that is missing, ftruncate
 *    5. O_DIRECT by F_SETFL, and one block as a trial
 *
 * Overlay file systems of containers, tmpfs and some network file systems refuse O_DIRECT or the trial. The file is
 * buffered then, with the reason in why_buffered, which becomes a part of what the probe reports.
 *
 * Errors have the code of who can mend them:
 *
 *    EACCES, EPERM             MUSTER_ENOPERMISSION
 *    ENOSPC, EDQUOT, EROFS     MUSTER_ENOTSUPPORTED
 *    ENOENT                    MUSTER_EUSAGE
 *    all others                MUSTER_EIO: the disk or the file system is faulty
 */
#include "storage/file.h"
#include "storage/folder.h"
#include "storage/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCK_MAX = 1 << 20, NAMES_TRIED = 8, FLAGS = O_CLOEXEC | O_NOCTTY };

/* A file for file systems without O_TMPFILE. All signals are blocked meanwhile, so that none ends the process while the
 * file has a name: only SIGKILL between the two system calls could leave the name behind. O_EXCL and O_NOFOLLOW: a file
 * or a link of another user is never opened. */
static int open_named(int folder)
{
	sigset_t all, before;
	int fd = -1, error = EEXIST;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (int i = 0; i < NAMES_TRIED && fd < 0 && error == EEXIST; i++) {
		char name[64];
		snprintf(name, sizeof name, ".muster-scratch-%016llx", (unsigned long long)muster_storage_seed());
		fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | FLAGS, 0600);
		error = errno;
		if (fd >= 0)
			unlinkat(folder, name, 0);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return fd;
}

/* A file without a name in the folder. The errnos in the condition mean that O_TMPFILE is not known here; every other
 * one is final. */
static int open_new(int folder)
{
	int fd = openat(folder, ".", O_RDWR | O_TMPFILE | FLAGS, 0600);
	/* EISDIR: a kernel before 3.11; the others: the file system */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL || errno == ENOSYS))
		fd = open_named(folder);
	return fd;
}

static int refuse(const char *path, const char *call, int error, struct muster_error *err)
{
	return muster_fail(err,
		error == EACCES || error == EPERM                      ? MUSTER_ENOPERMISSION
		: error == ENOSPC || error == EDQUOT || error == EROFS ? MUSTER_ENOTSUPPORTED
		: error == ENOENT                                      ? MUSTER_EUSAGE
								       : MUSTER_EIO,
		"%s: %s%s", path, call, strerror(error));
}

/* The block in bytes that direct access needs: the multiple for offsets and memory addresses that the kernel tells by
 * statx (since Linux 6.1), at least BLOCK. 0 when the kernel says that there is no direct access, BLOCK when it does
 * not say. */
static size_t block_of(int fd)
{
	size_t block = BLOCK;
#ifdef STATX_DIOALIGN
	struct statx status;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 && status.stx_mask & STATX_DIOALIGN) {
		if (status.stx_dio_offset_align == 0 || status.stx_dio_mem_align == 0)
			return 0;
		while (block < BLOCK_MAX && (block < status.stx_dio_offset_align || block < status.stx_dio_mem_align))
			block *= 2;
	}
#else
	(void)fd;
#endif
	return block;
}

/* Write or read the first block. Some file systems take O_DIRECT and refuse the first access. A new file has no content
 * yet, so that zeros do no harm. 0, or an errno. */
static int try_direct(const struct muster_storage_file *file, bool write)
{
	void *block = aligned_alloc(file->block, file->block);
	if (!block)
		return ENOMEM;
	memset(block, 0, file->block);
	ssize_t done = write ? pwrite(file->fd, block, file->block, 0) : pread(file->fd, block, file->block, 0);
	int error = done < 0 ? errno : 0;
	free(block);
	return error;
}

/* Set file->direct and file->block, with the reason in why_buffered where direct access does not work. EINVAL and
 * EOPNOTSUPP mean that the file system has no direct access; any other error is an error of the file. O_DIRECT is set
 * on the open file: open(2) with O_DIRECT may create the file and fail then. */
static int choose_way(struct muster_storage_file *file, bool write, const char *path, struct muster_error *err)
{
	const char *call = "O_DIRECT: ";
	int flags = fcntl(file->fd, F_GETFL), error = 0;
	if (flags < 0)
		return refuse(path, "F_GETFL: ", errno, err);
	file->block = block_of(file->fd);
	file->direct = file->block > 0 && fcntl(file->fd, F_SETFL, flags | O_DIRECT) == 0;
	if (file->direct) {
		call = write ? "first direct write: " : "first direct read: ";
		error = try_direct(file, write);
		file->direct = !error;
	} else {
		error = file->block > 0 ? errno : EOPNOTSUPP;
	}
	if (error && error != EINVAL && error != EOPNOTSUPP)
		return refuse(path, call, error, err);
	if (error) {
		snprintf(file->why_buffered, sizeof file->why_buffered, "%s%s", call, strerror(error));
		file->block = BLOCK;
		fcntl(file->fd, F_SETFL, flags);
	}
	return 0;
}

static int check_space(int folder, const char *path, uint64_t bytes, struct muster_error *err)
{
	struct statvfs space;
	if (fstatvfs(folder, &space) < 0)
		return refuse(path, "fstatvfs: ", errno, err);
	double free_bytes = muster_storage_free_bytes(&space);
	if ((double)bytes > free_bytes / 2)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"%s: %.1f GB are free, and a file of %.1f GB would take more than half of that", path,
			free_bytes / 1e9, (double)bytes / 1e9);
	return 0;
}

/* Reserve the space, so that the disk cannot become full while muster writes. Where fallocate is missing or was
 * interrupted, the file gets its size without a reservation. */
static int reserve(const struct muster_storage_file *file, const char *path, struct muster_error *err)
{
	int error = fallocate(file->fd, 0, 0, (off_t)file->bytes) < 0 ? errno : 0;
	if (error == EOPNOTSUPP || error == ENOSYS || error == EINTR)
		error = ftruncate(file->fd, (off_t)file->bytes) < 0 ? errno : 0;
	return error ? refuse(path, "space for the file: ", error, err) : 0;
}

/* file->block comes first, since the size is rounded up to whole blocks of it. -1 may leave file->fd open: the caller
 * closes it. */
static int make(
	int folder, const char *path, uint64_t bytes, struct muster_storage_file *file, struct muster_error *err)
{
	file->fd = open_new(folder);
	if (file->fd < 0)
		return refuse(path, "a file in it: ", errno, err);
	size_t block = block_of(file->fd);
	file->block = block ? block : BLOCK;
	file->bytes = muster_storage_blocks(file, bytes);
	if (reserve(file, path, err) < 0)
		return -1;
	return choose_way(file, true, path, err);
}

int muster_storage_file_open(
	const char *folder, uint64_t bytes, struct muster_storage_file *ret, struct muster_error *err)
{
	struct muster_storage_file file = { .fd = -1, .block = BLOCK };
	if (bytes == 0 || bytes > INT64_MAX / 2)
		return muster_fail(
			err, MUSTER_EUSAGE, "%s: a file of %llu bytes cannot be", folder, (unsigned long long)bytes);
	int at = muster_storage_folder_open(folder, err);
	if (at < 0)
		return -1;
	int result = check_space(at, folder, bytes, err);
	if (result == 0)
		result = make(at, folder, bytes, &file, err);
	close(at);
	if (result < 0)
		muster_storage_file_close(&file);
	else
		*ret = file;
	return result;
}

int muster_storage_file_open_existing(const char *path, struct muster_storage_file *ret, struct muster_error *err)
{
	struct muster_storage_file file = { .fd = -1, .block = BLOCK };
	struct stat status;
	/* O_NONBLOCK: what is a FIFO does not make this wait */
	file.fd = open(path, O_RDONLY | O_NONBLOCK | FLAGS);
	if (file.fd < 0)
		return refuse(path, "", errno, err);
	int result = 0;
	if (fstat(file.fd, &status) < 0)
		result = refuse(path, "fstat: ", errno, err);
	else if (!S_ISREG(status.st_mode))
		result = muster_fail(err, MUSTER_EUSAGE, "%s is not a regular file", path);
	if (result == 0) {
		file.bytes = (uint64_t)status.st_size;
		result = choose_way(&file, false, path, err);
	}
	if (result < 0)
		muster_storage_file_close(&file);
	else
		*ret = file;
	return result;
}

int muster_storage_file_settle(const struct muster_storage_file *file, struct muster_error *err)
{
	if (fdatasync(file->fd) < 0 && errno != EINVAL && errno != EROFS)
		return muster_fail(err, MUSTER_EIO, "fdatasync: %s", strerror(errno));
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED); /* a hint: what it says does not matter */
	return 0;
}

void muster_storage_file_close(struct muster_storage_file *file)
{
	if (file->fd >= 0 && file->block > 0)
		close(file->fd);
	*file = (struct muster_storage_file){ .fd = -1 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - what programs ask the C library of files on a simulated volume, as a part of libmuster-preload.so
 *
 * Reads and writes take virtual time, space and access are those of the scenario. Direct access goes through the cache
 * of the machine that is really there: its disk has no part in the simulation, and its file system may have no direct
 * access. Files that are on no simulated volume are the C library's.
 *
 *   pread, pwrite           virtual time, stalls, errors and wrong bits (volume.c)
 *   fdatasync               takes no time; EIO on an array that has lost a disk
 *   statvfs, fstatvfs       size and free space of the scenario; whether the volume is mounted read-only
 *   open, openat, fcntl     without O_DIRECT; EROFS for writing on a volume that is mounted read-only
 *   faccessat               EROFS for W_OK there
 */

#include "sim/standins/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

MUSTER_STANDIN_EXPORT ssize_t pread(int fd, void *data, size_t bytes, off_t offset);
MUSTER_STANDIN_EXPORT ssize_t pread64(int fd, void *data, size_t bytes, off_t offset) __attribute__((alias("pread")));
MUSTER_STANDIN_EXPORT ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset);
MUSTER_STANDIN_EXPORT ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t offset)
	__attribute__((alias("pwrite")));
MUSTER_STANDIN_EXPORT int statvfs(const char *path, struct statvfs *ret);
MUSTER_STANDIN_EXPORT int fstatvfs(int fd, struct statvfs *ret);
MUSTER_STANDIN_EXPORT int open(const char *path, int flags, ...);
MUSTER_STANDIN_EXPORT int openat(int at, const char *path, int flags, ...);
MUSTER_STANDIN_EXPORT int faccessat(int at, const char *path, int mode, int flags);
MUSTER_STANDIN_EXPORT int fcntl(int fd, int command, ...);
MUSTER_STANDIN_EXPORT int fdatasync(int fd);

static struct muster_standin_next functions;

static void find_functions(void)
{
	void *function;
#define X(type, name, parameters)                                                                                      \
	if (!(function = dlsym(RTLD_NEXT, #name)))                                                                     \
		muster_standin_end("no library after this one has %s", #name);                                         \
	memcpy(&functions.name, &function, sizeof function);
	MUSTER_STANDIN_NEXT_FUNCTIONS(X)
#undef X
}

const struct muster_standin_next *muster_standin_next(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_functions);
	return &functions;
}

/* -- reads and writes -- */

/* One read or write, which is over when the process has waited for its end on the virtual clock. A request that never
 * ends stays here for ever, in real time. */
static ssize_t transfer(bool write, int fd, void *data, size_t bytes, off_t offset)
{
	double end;
	ssize_t done = muster_standin_volume_transfer(
		&(struct muster_standin_transfer){ write, fd, data, bytes, offset }, &end);
	while (isinf(end))
		pause();
	if (done < 0) {
		errno = (int)-done;
		return -1;
	}
	muster_standin_host_wait_until(end);
	return done;
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	return transfer(false, fd, data, bytes, offset);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	return transfer(true, fd, (void *)(uintptr_t)data, bytes, offset);
}

int fdatasync(int fd)
{
	const struct muster_sim_volume *volume = muster_standin_volume_of(fd);
	if (volume && volume->missing_members > 0) {
		errno = EIO;
		return -1;
	}
	return volume ? 0 : muster_standin_next()->fdatasync(fd);
}

/* -- space -- */

/* Replace what the real file system says of its space. */
static void put_space(const struct muster_sim_volume *volume, struct statvfs *ret)
{
	enum { BLOCK = 4096 };
	ret->f_bsize = ret->f_frsize = BLOCK;
	ret->f_blocks = (fsblkcnt_t)(volume->gb * 1e9 / BLOCK);
	ret->f_bfree = ret->f_bavail = (fsblkcnt_t)(volume->free_gb * 1e9 / BLOCK);
	if (volume->read_only)
		ret->f_flag |= ST_RDONLY;
	else
		ret->f_flag &= ~(unsigned long)ST_RDONLY;
}

int statvfs(const char *path, struct statvfs *ret)
{
	int result = muster_standin_next()->statvfs(path, ret);
	const struct muster_sim_volume *volume = result == 0 ? muster_standin_volume_at(AT_FDCWD, path) : NULL;
	if (volume)
		put_space(volume, ret);
	return result;
}

int fstatvfs(int fd, struct statvfs *ret)
{
	int result = muster_standin_next()->fstatvfs(fd, ret);
	const struct muster_sim_volume *volume = result == 0 ? muster_standin_volume_of(fd) : NULL;
	if (volume)
		put_space(volume, ret);
	return result;
}

/* -- access -- */

/* EROFS, or 0 and the flags without what the machine need not know. */
static int adapt(int at, const char *path, int *flags)
{
	bool writes = (*flags & O_ACCMODE) != O_RDONLY || *flags & (O_CREAT | O_TRUNC);
	if (!writes && !(*flags & O_DIRECT))
		return 0;
	const struct muster_sim_volume *volume = muster_standin_volume_at(at, path);
	if (volume && writes && volume->read_only)
		return EROFS;
	*flags &= ~O_DIRECT;
	return 0;
}

static int open_at(int at, const char *path, int flags, mode_t mode)
{
	int error = adapt(at, path, &flags);
	if (error) {
		errno = error;
		return -1;
	}
	return muster_standin_next()->openat(at, path, flags, mode);
}

static bool has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

int openat(int at, const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = has_mode(flags) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return open_at(at, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = has_mode(flags) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return open_at(AT_FDCWD, path, flags, mode);
}

int faccessat(int at, const char *path, int mode, int flags)
{
	const struct muster_sim_volume *volume = mode & W_OK ? muster_standin_volume_at(at, path) : NULL;
	if (volume && volume->read_only) {
		errno = EROFS;
		return -1;
	}
	return muster_standin_next()->faccessat(at, path, mode, flags);
}

/* Every argument of fcntl is an int or a pointer. */
int fcntl(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	if (command == F_SETFL)
		argument = (void *)((uintptr_t)argument & ~(uintptr_t)O_DIRECT);
	return muster_standin_next()->fcntl(fd, command, argument);
}

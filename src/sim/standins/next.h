/* next.h - for libmuster-preload.so: functions of the C library (or of a sanitizer that comes before it) that it stands
 * in for */
#ifndef MUSTER_SIM_STANDINS_NEXT_H
#define MUSTER_SIM_STANDINS_NEXT_H

#include <stdarg.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/* X(type, name, parameters) */
#define MUSTER_STANDIN_NEXT_FUNCTIONS(X)                                                                               \
	X(ssize_t, pread, (int fd, void *data, size_t bytes, off_t offset))                                            \
	X(ssize_t, pwrite, (int fd, const void *data, size_t bytes, off_t offset))                                     \
	X(int, statvfs, (const char *path, struct statvfs *ret))                                                       \
	X(int, fstatvfs, (int fd, struct statvfs *ret))                                                                \
	X(int, openat, (int at, const char *path, int flags, ...))                                                     \
	X(int, faccessat, (int at, const char *path, int mode, int flags))                                             \
	X(int, fcntl, (int fd, int command, ...))                                                                      \
	X(int, fdatasync, (int fd))

struct muster_standin_next {
#define X(type, name, parameters) type(*name) parameters;
	MUSTER_STANDIN_NEXT_FUNCTIONS(X)
#undef X
};

const struct muster_standin_next *muster_standin_next(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* preload.h - the parts of libmuster-preload.so and what they know of each other
 *
 * preload.c has CPU masks, libraries and memory policy, preload_numa.c the bandwidth of memory, files.c and uring.c the
 * access to files, volume.c the file systems, host_clock.c the virtual clock.
 *
 * LD_PRELOAD names the library in a worker's environment (worker_env.c), so its functions come before those of the C
 * library. Each looks whether the call is about the simulated machine; if not, the call goes on to the next library.
 */
#ifndef MUSTER_SIM_STANDINS_PRELOAD_H
#define MUSTER_SIM_STANDINS_PRELOAD_H

#include "sim/standins/base.h"

#include <sched.h>
#include <stdarg.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>

/* -- functions of the C library (or of a sanitizer that comes before it) that this one stands in for -- */

/* X(type, name, parameters) */
#define MUSTER_STANDIN_NEXT_FUNCTIONS(X)                                                                               \
	X(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t * set))                                           \
	X(int, sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *set))                                      \
	X(void *, dlopen, (const char *file, int mode))                                                                \
	X(char *, dlerror, (void))                                                                                     \
	X(long, syscall, (long number, ...))                                                                           \
	X(int, clock_gettime, (clockid_t id, struct timespec * ret))                                                   \
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

/* They are found by name with the first call, and missing ones end the process. */
const struct muster_standin_next *muster_standin_next(void);

/* -- the time that threads take to pass over memory -- */

/* The calling thread has bound so much memory to the NUMA node. */
void muster_standin_numa_bound(int numa_node, size_t bytes);

/* Seconds that the calling thread has spent on the memory that it has bound: 0 in the main thread, and in one that has
 * bound none. A thread looks at its clock before and after each pass over all of this memory, so each call counts one
 * pass: as long as the memory of the NUMA node takes for the part that it has of all threads. */
double muster_standin_numa_passed(void);

/* -- the file systems of the simulated node --
 *
 * A file below the place where a volume is mounted, in the root of the simulated node, is really read and written, with
 * the machine's own system calls and through its cache. How long that takes is the scenario's: a request takes bytes /
 * bandwidth, behind the requests of the same direction that came before it, and a small one the latency as well, which
 * requests have side by side.
 *
 * Whether the other ranks of the node use the disk too is not asked of real time, so that every run gives the same
 * values: who reads into memory that CUDA has pinned feeds a GPU, which all ranks of a node do at once, and has its
 * share of the bandwidth. A folder that nodes share has its bandwidth for all ranks of the job, but for a file with a
 * name, which one of them reads for all.
 *
 * Files of the machine that is really there, outside the simulated node's root, count as files in a folder that nodes
 * share: what a user names on the command line is there for all simulated nodes.
 */

/* The volume on which a file is; NULL: it is not on a simulated one. */
const struct muster_sim_volume *muster_standin_volume_of(int fd);
/* That of a path, absolute or below the folder `at` (AT_FDCWD: the working directory, which is on none). */
const struct muster_sim_volume *muster_standin_volume_at(int at, const char *path);

struct muster_standin_transfer {
	bool write;
	int fd;
	void *data;
	size_t bytes;
	off_t offset;
};

/* Carry it out. Returns the bytes, or -errno; *ret_end is the moment of virtual time at which it is done, INFINITY for
 * one that never ends, which nothing was done of. Also for files that are on no volume: they take no time. */
ssize_t muster_standin_volume_transfer(const struct muster_standin_transfer *transfer, double *ret_end);

#endif

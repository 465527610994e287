/* SPDX-License-Identifier: Apache-2.0 */
/* volume.c - the file systems of the simulated node, as a part of libmuster-preload.so
 *
 * preload.h says what is simulated. A read or write goes through these steps (muster_standin_volume_transfer):
 *
 *   1. On which volume is the file? A file on none is read and written as it is, and takes no virtual time.
 *   2. A volume that stalls: nothing is done, and the end is infinite.
 *   3. An array that has lost a disk: -EIO.
 *   4. The time: behind the requests of the same direction, bytes / bandwidth, and for a small one the latency on top.
 *   5. The data, really, from or to the file.
 *   6. The fault bit-rot or checkpoint-wrong: one bit of what was read is flipped.
 */

#include "sim/standins/preload.h"
#include "util/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_BYTES ((size_t)64 << 10) /* up to this size a request takes the latency as well */

enum { VOLUMES_MAX = 16, SLOW_EVERY = 50, SLOW_FACTOR = 2 }; /* one small request of so many is slower */

static struct {
	pthread_mutex_t lock;
	double busy_until[VOLUMES_MAX][2]; /* reads, writes */
	unsigned long small;               /* requests so far */
} disks = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -- where a file is -- */

/* Path of the simulated node's root, without links, because the kernel's names of open files have none; "" when it is
 * not there. Looked up once.
 */
static const char *root(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char path[PATH_MAX];
	static bool known;
	pthread_mutex_lock(&lock);
	if (!known && !realpath(muster_sim_this_node()->directory, path))
		path[0] = '\0';
	known = true;
	pthread_mutex_unlock(&lock);
	return path;
}

static bool is_shared(const struct muster_sim_volume *volume)
{
	return strcmp(volume->path, MUSTER_SIM_SHARED) == 0;
}

/* Of the volumes that are mounted on the way, the last one. */
static const struct muster_sim_volume *find(const char *path)
{
	const struct muster_sim_node *node = muster_sim_this_node();
	const struct muster_sim_volume *found = NULL;
	if (!*root() || !muster_path_is_below(path, root()))
		return NULL;
	path += strlen(root());
	for (size_t i = 0; i < node->volume_count && i < VOLUMES_MAX; i++)
		if (muster_path_is_below(path, node->volumes[i].path) &&
			(!found || strlen(node->volumes[i].path) > strlen(found->path)))
			found = &node->volumes[i];
	return found;
}

/* The kernel's name of an open file: behind that of one without a name stands " (deleted)". */
static bool name_of(int fd, char ret[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = readlinkat(AT_FDCWD, link, ret, PATH_MAX - 1);
	if (length < 0)
		return false;
	ret[length] = '\0';
	return true;
}

const struct muster_sim_volume *muster_standin_volume_of(int fd)
{
	char path[PATH_MAX];
	int kept_errno = errno;
	bool named = fd >= 0 && name_of(fd, path);
	errno = kept_errno;
	return named ? find(path) : NULL;
}

/* That of a transfer: a file of the machine that is really there, which a user has named, is in a folder that all nodes
 * share. */
static const struct muster_sim_volume *find_for_transfer(int fd)
{
	static const char *const others[] = { "/dev", "/proc", "/sys" };
	const struct muster_sim_node *node = muster_sim_this_node();
	const struct muster_sim_volume *shared = NULL;
	char path[PATH_MAX];
	struct stat status;
	int kept_errno = errno;
	bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && name_of(fd, path);
	errno = kept_errno;
	if (!regular || *path != '/' || strncmp(path, "/memfd:", 7) == 0)
		return NULL;
	if (muster_path_is_below(path, root()))
		return find(path);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (muster_path_is_below(path, others[i]))
			return NULL;
	for (size_t i = 0; i < node->volume_count && i < VOLUMES_MAX; i++)
		if (is_shared(&node->volumes[i]))
			shared = &node->volumes[i];
	return shared;
}

const struct muster_sim_volume *muster_standin_volume_at(int at, const char *path)
{
	if (*path == '/')
		return find(path);
	return at == AT_FDCWD ? NULL : muster_standin_volume_of(at);
}

/* -- time -- */

/* A file with a name was there before: one rank reads it for all. */
static bool has_name(int fd)
{
	struct stat status;
	return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

/* The ranks that use the volume at once, when this one uses pinned memory. */
static size_t count_users(const struct muster_sim_volume *volume, const struct muster_standin_transfer *transfer)
{
	const struct muster_sim_cluster *cluster = muster_sim_cluster();
	size_t users = 0;
	if (is_shared(volume))
		return has_name(transfer->fd) ? 1 : cluster->rank_count;
	if (transfer->write)
		return 1;
	for (size_t i = 0; i < cluster->rank_count; i++)
		users += cluster->ranks[i].node == muster_sim_this_rank()->node;
	return users;
}

static bool is_pinned(const void *data, size_t bytes)
{
	const struct muster_standin_cuda *cuda = muster_standin_cuda_if_loaded();
	return cuda && cuda->muster_standin_cuda_pinned(data, bytes);
}

/* The moment of virtual time at which the request is done. Requests of one direction follow each other on the volume;
 * the latency of a small one is not added to busy_until, because requests have it side by side. */
static double take_time(const struct muster_sim_volume *volume, const struct muster_standin_transfer *transfer)
{
	double gbps = transfer->write ? volume->write_gbps : volume->read_gbps;
	if (is_pinned(transfer->data, transfer->bytes))
		gbps /= (double)count_users(volume, transfer);
	double *busy_until = &disks.busy_until[volume - muster_sim_this_node()->volumes][transfer->write];
	double now = muster_standin_host_now(), latency = 0;
	pthread_mutex_lock(&disks.lock);
	*busy_until = fmax(*busy_until, now) + (double)transfer->bytes / (gbps * 1e9);
	if (transfer->bytes <= SMALL_BYTES)
		latency = volume->latency_us / 1e6 * (++disks.small % SLOW_EVERY == 0 ? SLOW_FACTOR : 1);
	double end = *busy_until + latency;
	pthread_mutex_unlock(&disks.lock);
	return end;
}

/* -- content -- */

/* The bit that is wrong in what is read of each file. */
static void flip(const struct muster_sim_volume *volume, const struct muster_standin_transfer *transfer, ssize_t bytes)
{
	unsigned long long from = (unsigned long long)transfer->offset, at = volume->flipped_at;
	if (at > 0 && bytes > 0 && at >= from && at - from < (unsigned long long)bytes)
		((unsigned char *)transfer->data)[at - from] ^= 1;
}

static ssize_t carry_out(const struct muster_standin_transfer *t)
{
	const struct muster_standin_next *next = muster_standin_next();
	int kept_errno = errno;
	ssize_t done = t->write ? next->pwrite(t->fd, t->data, t->bytes, t->offset)
				: next->pread(t->fd, t->data, t->bytes, t->offset);
	if (done < 0)
		done = -errno;
	errno = kept_errno;
	return done;
}

ssize_t muster_standin_volume_transfer(const struct muster_standin_transfer *transfer, double *ret_end)
{
	const struct muster_sim_volume *volume = find_for_transfer(transfer->fd);
	*ret_end = muster_standin_host_now();
	if (!volume)
		return carry_out(transfer);
	if (strcmp(volume->stalls, transfer->write ? "write" : "read") == 0) {
		*ret_end = (double)INFINITY;
		return 0;
	}
	if (volume->missing_members > 0)
		return -EIO;
	*ret_end = take_time(volume, transfer);
	ssize_t done = carry_out(transfer);
	if (!transfer->write)
		flip(volume, transfer, done);
	return done;
}

/* volume.h - the file systems of the simulated node, as a part of libmuster-preload.so
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
#ifndef MUSTER_SIM_STANDINS_VOLUME_H
#define MUSTER_SIM_STANDINS_VOLUME_H

#include "sim/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

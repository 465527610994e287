/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h - the processes of the node, as far as the kernel shows them to this process
 *
 * The names are those of /proc/PID/comm, which a process may change: a name is a sign that a service runs, and no
 * proof.
 */
#ifndef MUSTER_SYSTEM_PROCESSES_H
#define MUSTER_SYSTEM_PROCESSES_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

struct muster_process {
	long pid;
	char name[16]; /* what /proc/PID/comm has: at most 15 bytes */
};

struct muster_processes {
	struct muster_process *items; /* by pid, ascending */
	size_t count;
	bool complete; /* false: the time was over before all of them were read */
};

/* All processes but the kernel's own threads, in at most about most_ms milliseconds. root is the prefix of /proc. -1
 * with err (MUSTER_ENOTSUPPORTED) where other processes may be hidden: in a process namespace of a container, and where
 * /proc is mounted with hidepid. The sign of a whole view is kthreadd, which has pid 2 on every Linux. The caller
 * releases ret with muster_processes_done. */
int muster_processes_list(const char *root, double most_ms, struct muster_processes *ret, struct muster_error *err);
void muster_processes_done(struct muster_processes *processes);

/* The first with this name, of which only 15 bytes count; NULL when there is none. */
const struct muster_process *muster_processes_find(const struct muster_processes *processes, const char *name);

#endif

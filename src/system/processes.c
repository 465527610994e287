/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - the processes of the node, as far as the kernel shows them to this process
 *
 * Used to see whether a service runs (nvidia-persistenced and others), within a time limit.
 *
 * Only names are read: three system calls for each process. The threads of the kernel, thousands on a large node, are
 * left out by the list of the children of kthreadd, which has pid 2. When pid 2 is not kthreadd, this process does not
 * see all processes of the node, and there is no list.
 */
#include "system/processes.h"

#include "util/array.h"
#include "util/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHILDREN_OF_KTHREADD "2/task/2/children" /* missing in kernels without CONFIG_PROC_CHILDREN */

struct pids {
	long *items;
	size_t count, room;
};

static int by_number(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;
	return (x > y) - (x < y);
}

/* The children of kthreadd, sorted; empty where the kernel does not tell them, and then their names are read like all
 * others. */
static struct pids read_kernel_threads(int proc)
{
	struct pids pids = { 0 };
	int fd = openat(proc, CHILDREN_OF_KTHREADD, O_RDONLY | O_CLOEXEC);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	char word[32];
	while (in && fscanf(in, "%31s", word) == 1) {
		char *end;
		long pid = strtol(word, &end, 10);
		if (*end == '\0')
			MUSTER_ARRAY_PUSH(pids.items, pids.count, pids.room, pid);
	}
	if (in)
		fclose(in);
	if (pids.count)
		qsort(pids.items, pids.count, sizeof *pids.items, by_number);
	return pids;
}

/* Whether the process lives, and may be looked at. */
static bool read_name(int proc, const char *pid, struct muster_process *ret)
{
	char path[64], text[sizeof ret->name + 1];
	snprintf(path, sizeof path, "%.40s/comm", pid);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return false;
	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)sizeof ret->name - 1, text);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	return by_number(&((const struct muster_process *)a)->pid, &((const struct muster_process *)b)->pid);
}

/* The list ends when the time is over (`complete` is false then). A process that ends meanwhile has no name any more
 * and is left out. */
static void read_all(DIR *proc, double end_ms, struct muster_processes *ret)
{
	struct muster_processes all = { .complete = true };
	struct muster_process process;
	size_t room = 0;
	struct pids threads = read_kernel_threads(dirfd(proc));
	const struct dirent *entry;
	while (all.complete && (entry = readdir(proc))) {
		char *end;
		process.pid = strtol(entry->d_name, &end, 10);
		if (*end || process.pid <= 0 ||
			(threads.count &&
				bsearch(&process.pid, threads.items, threads.count, sizeof *threads.items, by_number)))
			continue;
		if (read_name(dirfd(proc), entry->d_name, &process))
			MUSTER_ARRAY_PUSH(all.items, all.count, room, process);
		all.complete = muster_now_ms() < end_ms;
	}
	free(threads.items);
	if (all.count)
		qsort(all.items, all.count, sizeof *all.items, by_pid);
	*ret = all;
}

int muster_processes_list(const char *root, double most_ms, struct muster_processes *ret, struct muster_error *err)
{
	char path[PATH_MAX];
	struct muster_process second = { 0 };
	double end_ms = muster_now_ms() + most_ms;
	snprintf(path, sizeof path, "%s/proc", root);
	DIR *proc = opendir(path);
	if (!proc)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	int result = 0;
	if (!read_name(dirfd(proc), "2", &second) || strcmp(second.name, "kthreadd") != 0)
		result = muster_fail(err, MUSTER_ENOTSUPPORTED,
			"/proc does not show all processes of the node: process 2 is not kthreadd, as in a container "
			"or where /proc is mounted with hidepid");
	else
		read_all(proc, end_ms, ret);
	closedir(proc);
	return result;
}

void muster_processes_done(struct muster_processes *processes)
{
	free(processes->items);
	*processes = (struct muster_processes){ 0 };
}

const struct muster_process *muster_processes_find(const struct muster_processes *processes, const char *name)
{
	for (size_t i = 0; i < processes->count; i++)
		if (strncmp(processes->items[i].name, name, sizeof processes->items[i].name - 1) == 0)
			return &processes->items[i];
	return NULL;
}

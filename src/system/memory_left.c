/* SPDX-License-Identifier: Apache-2.0 */
/* memory_left.c - how much memory, and the time of how many CPUs, a process may still use
 *
 * A cgroup's limit holds for all groups below it, so that every level up to the mount point is asked, and the least of
 * all answers counts. Version 2 has one tree ("0::/path"), version 1 one for each controller ("4:memory:/slurm/job_7");
 * a machine may have both.
 *
 * What is asked in each folder:
 *
 *               version 2                      version 1
 *    memory     memory.max, memory.current     memory.limit_in_bytes, memory.usage_in_bytes
 *    CPUs       cpu.max ("200000 100000")      cpu.cfs_quota_us, cpu.cfs_period_us
 *
 * A folder or file that does not exist sets no limit. Memory that only holds inactive parts of files counts as free.
 */
#include "system/memory_left.h"

#include "system/sysfs.h"
#include "util/file.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the control groups that this process is in ---- */

typedef void cgroup_fn(void *arg, const char *folder, bool second);

#define FILE_MAX ((size_t)64 << 10)

/* Call each() with the folder of the group, its parent, and so on up to the mount point. The last part of the path is
 * cut off in place. */
static void walk_up(
	const char *root, const char *mount_point, const char *group, bool second, cgroup_fn *each, void *arg)
{
	char folder[PATH_MAX];
	int mount = snprintf(folder, sizeof folder, "%s%s", root, mount_point);
	if (mount < 0 || (size_t)mount + strlen(group) >= sizeof folder)
		return;
	memcpy(folder + mount, group, strlen(group) + 1);
	for (;;) {
		each(arg, folder, second);
		char *slash = strrchr(folder + mount, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

/* Call each() with the folder of the process's group that has the controller ("memory", "cpu"), and of those above it,
 * up to the mount point, which in a container is the container's own; of version 2 and of version 1. root is the prefix
 * of /proc and /sys. A folder need not exist. The lines are "0::/user.slice", or of version 1 "4:memory:/slurm/job_7".
 */
static void cgroups_each(const char *root, const char *controller, cgroup_fn *each, void *arg)
{
	char path[PATH_MAX], mount_point[64], *text = NULL, *rest = NULL;
	size_t length;
	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	snprintf(mount_point, sizeof mount_point, "/sys/fs/cgroup/%s", controller);
	if (muster_file_read(path, FILE_MAX, &text, &length, NULL) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		controllers++;
		if (!*controllers)
			walk_up(root, "/sys/fs/cgroup", group, true, each, arg);
		else if (muster_text_has_word(controllers, controller)) /* "cpu,cpuacct" */
			walk_up(root, mount_point, group, false, each, arg);
	}
	free(text);
}

/* The quota divided by the period is a number of CPUs; the least one is kept. Version 2: "200000 100000", or "max
 * 100000" for no limit; version 1: a file each, -1 for no limit. */
static void take_cpus(void *arg, const char *folder, bool second)
{
	double *least = arg, quota = 0, period = 0;
	char path[PATH_MAX + 64], text[64], other[64] = "", *end;
	snprintf(path, sizeof path, "%s/%s", folder, second ? "cpu.max" : "cpu.cfs_quota_us");
	if (muster_read_line(path, text, sizeof text, NULL) < 0)
		return;
	quota = strtod(text, &end);
	snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
	if (second)
		period = strtod(end, NULL);
	else if (muster_read_line(path, other, sizeof other, NULL) == 0)
		period = strtod(other, NULL);
	if (end != text && quota > 0 && period > 0 && (*least <= 0 || quota / period < *least))
		*least = quota / period;
}

double muster_cgroup_cpus(const char *root)
{
	double least = 0;
	cgroups_each(root, "cpu", take_cpus, &least);
	return least;
}

/* ---- memory ---- */

/* A number after a key of such a file, times unit. */
static int read_number(const char *path, const char *key, uint64_t unit, uint64_t *ret, struct muster_error *err)
{
	char text[128], *end;
	if (muster_sysfs_line(path, key, text, sizeof text, err) < 0)
		return -1;
	unsigned long long number = strtoull(text, &end, 10);
	if (end == text || number > UINT64_MAX / unit)
		return muster_fail(err, MUSTER_EIO, "%s: %s is no number: \"%s\"", path, key, text);
	*ret = number * unit;
	return 0;
}

int muster_memory_left_on(const char *root, unsigned int numa_node, uint64_t *ret_bytes, struct muster_error *err)
{
	char path[PATH_MAX], key[64];
	uint64_t unused, files = 0;
	snprintf(path, sizeof path, "%s/sys/devices/system/node/node%u/meminfo", root, numa_node);
	snprintf(key, sizeof key, "Node %u MemFree", numa_node);
	if (read_number(path, key, 1024, &unused, err) < 0)
		return -1;
	snprintf(key, sizeof key, "Node %u Inactive(file)", numa_node);
	(void)read_number(path, key, 1024, &files, NULL);
	*ret_bytes = unused + files;
	return 0;
}

/* What the limit of a cgroup leaves: limit - (usage - inactive parts of files), in bytes. UINT64_MAX when there is no
 * limit: no such file, or "max", which is no number. Version 1 has a number near 2^63 there, which leaves more than any
 * machine has. */
static uint64_t left_in(const char *folder, const char *limit_name, const char *usage_name, const char *files_key)
{
	char path[PATH_MAX + 64], text[64], *end;
	uint64_t files = 0;
	unsigned long long values[2];
	const char *const names[] = { limit_name, usage_name };
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		if (muster_read_line(path, text, sizeof text, NULL) < 0)
			return UINT64_MAX;
		values[i] = strtoull(text, &end, 10);
		if (end == text)
			return UINT64_MAX;
	}
	snprintf(path, sizeof path, "%s/memory.stat", folder);
	(void)read_number(path, files_key, 1, &files, NULL);
	uint64_t used = values[1] > files ? values[1] - files : 0;
	return values[0] > used ? values[0] - used : 0;
}

static void take_left(void *arg, const char *folder, bool second)
{
	uint64_t *least = arg;
	uint64_t left =
		second ? left_in(folder, "memory.max", "memory.current", "inactive_file")
		       : left_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
	*least = left < *least ? left : *least;
}

int muster_memory_left(const char *root, uint64_t *ret_bytes, struct muster_error *err)
{
	char path[PATH_MAX];
	uint64_t least;
	snprintf(path, sizeof path, "%s/proc/meminfo", root);
	if (read_number(path, "MemAvailable", 1024, &least, err) < 0)
		return -1;
	cgroups_each(root, "memory", take_left, &least);
	*ret_bytes = least;
	return 0;
}

/* memory_left.c - how much memory a process may still use
 */
#include "system/memory_left.h"

#include "system/cgroup.h"
#include "system/sysfs.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What the limit of a cgroup leaves; UINT64_MAX when there is none. "max" and a limit of 2^63 are none. */
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
	muster_cgroups_each(root, "memory", take_left, &least);
	*ret_bytes = least;
	return 0;
}

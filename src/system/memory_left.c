/* memory_left.c - how much memory a process may still use
 */
#include "system/memory_left.h"

#include "system/sysfs.h"
#include "util/file.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CGROUP_FILE_MAX ((size_t)64 << 10)

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

struct version {
	const char *mount, *limit, *usage, *files;
};

/* The limits of a cgroup and of those above it, up to the mount point, which in a container is the container's own. */
static uint64_t left_along(const char *root, const struct version *version, const char *group)
{
	char folder[PATH_MAX];
	uint64_t least = UINT64_MAX;
	int mount = snprintf(folder, sizeof folder, "%s%s", root, version->mount);
	if (mount < 0 || (size_t)mount + strlen(group) >= sizeof folder)
		return least;
	memcpy(folder + mount, group, strlen(group) + 1);
	for (;;) {
		uint64_t left = left_in(folder, version->limit, version->usage, version->files);
		least = left < least ? left : least;
		char *slash = strrchr(folder + mount, '/');
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* A line of /proc/self/cgroup: "0::/user.slice", or of version 1 "4:memory:/slurm/job_7". */
static uint64_t left_by_line(const char *root, char *line)
{
	static const struct version second = { "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" };
	static const struct version first = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
		"total_inactive_file" };
	char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	controllers++;
	if (!*controllers)
		return left_along(root, &second, group);
	return strcmp(controllers, "memory") == 0 ? left_along(root, &first, group) : UINT64_MAX;
}

int muster_memory_left(const char *root, uint64_t *ret_bytes, struct muster_error *err)
{
	char path[PATH_MAX], *text = NULL, *rest = NULL;
	size_t length;
	uint64_t least;
	snprintf(path, sizeof path, "%s/proc/meminfo", root);
	if (read_number(path, "MemAvailable", 1024, &least, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	if (muster_file_read(path, CGROUP_FILE_MAX, &text, &length, NULL) == 0) {
		for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			uint64_t left = left_by_line(root, line);
			least = left < least ? left : least;
		}
		free(text);
	}
	*ret_bytes = least;
	return 0;
}

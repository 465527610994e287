/* cgroup.c - the control groups that this process is in
 */
#include "system/cgroup.h"

#include "util/file.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 10)

static void walk_up(
	const char *root, const char *mount_point, const char *group, bool second, muster_cgroup_fn *each, void *arg)
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

/* Whether "cpu,cpuacct" has "cpu". */
static bool has_controller(const char *list, const char *controller)
{
	size_t length = strlen(controller);
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == length && strncmp(at, controller, length) == 0)
			return true;
	return false;
}

/* "0::/user.slice", or of version 1 "4:memory:/slurm/job_7". */
void muster_cgroups_each(const char *root, const char *controller, muster_cgroup_fn *each, void *arg)
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
		else if (has_controller(controllers, controller))
			walk_up(root, mount_point, group, false, each, arg);
	}
	free(text);
}

/* Version 2: "200000 100000", or "max 100000"; version 1: a file each, -1 for no limit. */
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
	muster_cgroups_each(root, "cpu", take_cpus, &least);
	return least;
}

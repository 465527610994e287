/* mounts.c - what is mounted where, as this process sees it
 *
 * proc(5): "36 35 98:0 /source /mount/point rw,noatime shared:1 - type device options".
 */
#include "system/mounts.h"

#include "util/text.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse(const char *line, const char *mount_point, struct muster_mount *ret)
{
	struct muster_mount mount = { .type = "" };
	char point[1024];
	const char *dash = strstr(line, " - ");
	if (!dash || sscanf(line, "%*s %*s %*s %1023s %1023s", mount.source, point) != 2 ||
		strcmp(point, mount_point) != 0 || sscanf(dash, " - %31s %*s %4095s", mount.type, mount.options) != 2)
		return false;
	*ret = mount;
	return true;
}

int muster_mount_find(const char *root, const char *mount_point, struct muster_mount *ret, struct muster_error *err)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	bool found = false;
	snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
	FILE *in = fopen(path, "re");
	if (!in)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	while (getline(&line, &room, in) >= 0)
		found |= parse(line, mount_point, ret);
	free(line);
	fclose(in);
	return found ? 0 : muster_fail(err, MUSTER_ENOTSUPPORTED, "nothing is mounted on %s", mount_point);
}

int muster_mount_tmpfs_mib(const struct muster_mount *mount, double memory_mib, double *ret, struct muster_error *err)
{
	const char *at = mount->options;
	while (strncmp(at, "size=", strlen("size=")) != 0) {
		at += strcspn(at, ",");
		if (*at++ == '\0') {
			*ret = memory_mib / 2;
			return 0;
		}
	}
	char *end;
	double kib = strtod(at + strlen("size="), &end);
	if (end == at + strlen("size=") || *end != 'k' || (end[1] != ',' && end[1] != '\0') || !(kib >= 0))
		return muster_fail(err, MUSTER_EIO, "a size of a tmpfs that is not in KiB: \"%.60s\"", at);
	*ret = kib == 0 ? memory_mib : kib / 1024; /* 0: no limit but the memory */
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.c - what is mounted where, as this process sees it
 *
 * A line of /proc/self/mountinfo (proc(5)):
 *
 *    36 35 98:0 /top /mount/point rw,noatime shared:1 - type source rw,errors=continue
 *          number                                       of the file system: type, source, options
 *
 * The fields before " - " vary in number, so that the second half is found by the dash. In a container these are the
 * mounts of its own namespace. The same point may occur several times: the last one is what a process sees.
 */
#include "system/mounts.h"
#include "util/array.h"
#include "util/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In place: the kernel writes blanks, tabs, line ends and backslashes in these fields as \ooo (three octal digits). */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		int byte, used = 0;
		if (*from == '\\' && sscanf(from, "\\%3o%n", (unsigned *)&byte, &used) == 1 && used == 4) {
			*to++ = (char)byte;
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

static bool parse(const char *line, struct muster_mount *ret)
{
	const char *dash = strstr(line, " - ");
	if (!dash || sscanf(line, "%*s %*s %31s %4095s %4095s", ret->number, ret->top, ret->point) != 3 ||
		sscanf(dash, " - %31s %255s %4095s", ret->type, ret->source, ret->options) != 3)
		return false;
	unescape(ret->top);
	unescape(ret->point);
	unescape(ret->source);
	return true;
}

int muster_mounts_read(const char *root, struct muster_mounts *ret, struct muster_error *err)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
	FILE *in = fopen(path, "re");
	if (!in)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	*ret = (struct muster_mounts){ 0 };
	while (getline(&line, &room, in) >= 0) {
		MUSTER_ARRAY_GROW(ret->items, ret->count, ret->room);
		ret->count += parse(line, &ret->items[ret->count]);
	}
	free(line);
	fclose(in);
	return 0;
}

/* From the last mount to the first, since a later mount hides an earlier one at the same point. */
int muster_mount_find(const char *root, const char *mount_point, struct muster_mount *ret, struct muster_error *err)
{
	struct muster_mounts mounts;
	if (muster_mounts_read(root, &mounts, err) < 0)
		return -1;
	size_t at = mounts.count;
	while (at > 0 && strcmp(mounts.items[at - 1].point, mount_point) != 0)
		at--;
	if (at > 0)
		*ret = mounts.items[at - 1];
	free(mounts.items);
	return at > 0 ? 0 : muster_fail(err, MUSTER_ENOTSUPPORTED, "nothing is mounted on %s", mount_point);
}

/* "size=65536k" among the options; the kernel writes the size in KiB. Without it the size is the default, half of the
 * memory; size=0k is no limit but the memory. */
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

/* ---- the kind of container that this process runs in ---- */

static const struct {
	const char *file, *variable, *name;
} marks[] = {
	{ .variable = "APPTAINER_CONTAINER", .name = "apptainer" },
	{ .variable = "SINGULARITY_CONTAINER", .name = "apptainer" },
	{ .file = "/.singularity.d", .name = "apptainer" },
	{ .variable = "KUBERNETES_SERVICE_HOST", .name = "kubernetes" },
	{ .file = "/run/.containerenv", .name = "podman" },
	{ .file = "/.dockerenv", .name = "docker" },
};

/* The root file system comes from a directory of enroot, as with Slurm's --container-image. */
static bool is_enroot(const char *root)
{
	struct muster_mount mount;
	return muster_mount_find(root, "/", &mount, NULL) == 0 &&
	       (strstr(mount.top, "/enroot") || strstr(mount.options, "/enroot"));
}

/* A variable is of this process: for another root it says nothing. */
static bool has_mark(const char *root, const char *file, const char *variable)
{
	char path[PATH_MAX];
	if (variable)
		return !*root && getenv(variable);
	snprintf(path, sizeof path, "%s%s", root, file);
	return access(path, F_OK) == 0;
}

/* enroot first, then the marks in their order, then /run/systemd/container. */
const char *muster_container_name(const char *root, char *ret, size_t size)
{
	char path[PATH_MAX];
	const char *name = is_enroot(root) ? "enroot" : NULL;
	for (size_t i = 0; i < sizeof marks / sizeof *marks && !name; i++)
		if (has_mark(root, marks[i].file, marks[i].variable))
			name = marks[i].name;
	snprintf(path, sizeof path, "%s/run/systemd/container", root); /* as systemd-detect-virt(1) reads it */
	if (name || muster_read_line(path, ret, size, NULL) < 0 || *ret == '\0')
		snprintf(ret, size, "%s", name ? name : "none");
	return ret;
}

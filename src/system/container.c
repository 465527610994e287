/* container.c - the kind of container that this process runs in */
#include "system/container.h"

#include "system/mounts.h"
#include "util/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	       (strstr(mount.source, "/enroot") || strstr(mount.options, "/enroot"));
}

static bool has_mark(const char *root, const char *file, const char *variable)
{
	char path[PATH_MAX];
	if (variable) /* of this process: it says nothing of another root */
		return !*root && getenv(variable);
	snprintf(path, sizeof path, "%s%s", root, file);
	return access(path, F_OK) == 0;
}

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

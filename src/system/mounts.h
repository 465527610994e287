/* SPDX-License-Identifier: Apache-2.0 */
/* mounts.h - what is mounted where, as this process sees it */
#ifndef MUSTER_SYSTEM_MOUNTS_H
#define MUSTER_SYSTEM_MOUNTS_H

#include "muster/error.h"

#include <limits.h>
#include <stddef.h>

struct muster_mount {
	char number[32];      /* of the device, "98:0" */
	char top[PATH_MAX];   /* the directory of the file system that is mounted */
	char point[PATH_MAX]; /* where it is mounted */
	char type[32];        /* "tmpfs" */
	char source[256];
	char options[4096]; /* of the file system */
};

struct muster_mounts {
	struct muster_mount *items; /* in the order of their mounting; the caller frees them */
	size_t count, room;
};

/* All of /proc/self/mountinfo. root is the prefix of /proc. -1 with MUSTER_EIO when the file cannot be read. */
int muster_mounts_read(const char *root, struct muster_mounts *ret, struct muster_error *err);

/* The last one on the mount point. -1 with err: MUSTER_EIO when the file cannot be read, MUSTER_ENOTSUPPORTED when
 * nothing is mounted there. */
int muster_mount_find(const char *root, const char *mount_point, struct muster_mount *ret, struct muster_error *err);

/* The size in MiB of the tmpfs by its options: the kernel leaves the default, half of the memory, out.
 * -1 with err (MUSTER_EIO) for a size that is no number. */
int muster_mount_tmpfs_mib(const struct muster_mount *mount, double memory_mib, double *ret, struct muster_error *err);

/* ---- the kind of container that this process runs in ---- */

/* "docker", "podman", "apptainer", "enroot", "kubernetes", or what /run/systemd/container says; "none" when nothing is
 * known of a container. By the files and variables that each kind leaves for the programs in it; root is the prefix of
 * the files, and the variables count where it is "". Returns ret. */
const char *muster_container_name(const char *root, char *ret, size_t size);

#endif

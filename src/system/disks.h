/* SPDX-License-Identifier: Apache-2.0 */
/* disks.h - block devices, and the disks that they consist of, as sysfs shows them
 *
 * root is the prefix of /sys and /dev. Links that lead out of it are not followed. Devices have the kernel's names:
 * "nvme0n1", "nvme0n1p1", "md127", "dm-0".
 */
#ifndef MUSTER_SYSTEM_DISKS_H
#define MUSTER_SYSTEM_DISKS_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>

/* nvme0n1, but neither nvme0n1p1 nor nvme0c1n1, which is one of the paths to nvme0n1. */
bool muster_disk_is_nvme(const char *name);
/* Whether the kernel still shows the disk but does not use it any more: its controller has failed. */
bool muster_disk_is_dead(const char *root, const char *disk);

/* Whether an NVMe disk is in this machine: what is on it is lost with a virtual machine. Clouds show network disks as
 * NVMe too: those are not local. -1 with err when that is not known. */
int muster_disk_is_local(const char *root, const char *disk, bool *ret, struct muster_error *err);

/* The size of a disk or partition in GB (10^9 bytes). */
int muster_disk_gb(const char *root, const char *device, double *ret, struct muster_error *err);

/* The disk that the distribution's rules call the cloud's temporary one: MUSTER_ENOTSUPPORTED when there is none. */
int muster_disk_temporary(const char *root, char *ret, size_t size, struct muster_error *err);

/* The device with this number ("259:3"). MUSTER_ENOTSUPPORTED when sysfs has none, as for file systems without one. */
int muster_disk_by_number(const char *root, const char *number, char *ret, size_t size, struct muster_error *err);

/* Devices that a volume may have at most, and bytes of a name. */
#define MUSTER_DISKS_MAX 64
#define MUSTER_DISK_NAME 64

/* What a device consists of. */
struct muster_volume {
	/* "raid0", "raid1", "linear" and so on: of md, or of btrfs; "lvm-striped", "linear": of LVM; "none" */
	char raid[32];
	char disks[MUSTER_DISKS_MAX][MUSTER_DISK_NAME]; /* whole disks, each once, in no order */
	size_t disk_count;
	size_t nvme_count;      /* of them, local NVMe disks */
	size_t members;         /* of the array that there are; without one, 1 */
	size_t members_missing; /* which the array has lost */
	bool encrypted;
};

/* Walk from a device down to its disks. -1 with err when sysfs does not say all of that. */
int muster_volume_of(const char *root, const char *device, struct muster_volume *ret, struct muster_error *err);
/* The same of a btrfs, whose devices are an array of its own: `device` is one of them. */
int muster_volume_of_btrfs(const char *root, const char *device, struct muster_volume *ret, struct muster_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - the file system that a job may fill: on the node's local disks, and not the system's own
 */
#ifndef MUSTER_SYSTEM_SCRATCH_H
#define MUSTER_SYSTEM_SCRATCH_H

#include "muster/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct muster_scratch {
	char path[PATH_MAX];      /* where it is mounted, or the folder that was asked for */
	char folder[PATH_MAX];    /* the same with the root prefix; only of muster_scratch_choose */
	char filesystem[32];      /* "xfs" */
	char raid[32];            /* as of struct muster_volume; "" when the volume is not known */
	size_t members, missing;  /* of the array; 0 members when the volume is not known */
	char why_no_members[256]; /* the reason, when it is not known */
	bool read_only;           /* the file system, not only this mount of it */
	/* What decides how fast it can be: "raid0 of 8 NVMe disks", "1 NVMe disk", "temporary disk", else "other disks"
	 * or the file system; with ", btrfs" and ", encrypted" where that is so. */
	char layout[96];
};

/* Where a test writes, by /proc/self/mountinfo and sysfs below root: the file system on which the folder is, whatever
 * that is. Where folder is NULL the scratch of the node: of the file systems (xfs, ext4, btrfs) that are mounted whole
 * and consist of local NVMe disks alone, the one with most disks, then the largest; without one, that of the cloud's
 * temporary disk. Never one that shares a disk with the root file system, and none whose mount point belongs to the
 * system: /boot, /home, /var and so on. MUSTER_ENOTSUPPORTED when there is none. */
int muster_scratch_choose(const char *root, const char *folder, struct muster_scratch *ret, struct muster_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - the file system that a job may fill
 *
 * Names of mount points say nothing: images mount the same disks at /mnt, /mnt/resource_nvme, /mnt/localdisk, /scratch.
 * What the file system consists of decides.
 *
 * Without a folder (find_scratch), in this order:
 *
 *    1. all mounts that may be a scratch (may_be_scratch): xfs, ext4 or btrfs, whole, visible, no folder of the system
 *    2. the disks below each of them (disks.c); none of them may carry the root file system too
 *    3. the best by rank_of: local NVMe disks before the cloud's temporary disk, then more disks, then more GB
 *
 * With a folder (find_at): the mount that the folder is on, whatever that is.
 *
 * Mounts of which sysfs does not tell the disks are named in the error if nothing else is found.
 */
#include "system/scratch.h"
#include "system/disks.h"
#include "system/mounts.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A later mount at the same place hides this one. */
static bool is_hidden(const struct muster_mounts *mounts, size_t index)
{
	for (size_t i = index + 1; i < mounts->count; i++)
		if (strcmp(mounts->items[i].point, mounts->items[index].point) == 0)
			return true;
	return false;
}

/* The device below a file system: by its number, or by the name of the source for btrfs, whose number is one of its own
 * (0:N) and not that of a disk. tmpfs and network file systems have no device here. */
static int device_of(
	const char *root, const struct muster_mount *mount, char *ret, size_t size, struct muster_error *err)
{
	const char *name = strncmp(mount->source, "/dev/", 5) == 0 ? strrchr(mount->source, '/') + 1 : NULL;
	if (strncmp(mount->number, "0:", 2) != 0)
		return muster_disk_by_number(root, mount->number, ret, size, err);
	if (!name || strcmp(mount->type, "btrfs") != 0 || strlen(name) >= size)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is on no disk of this node", mount->type);
	memcpy(ret, name, strlen(name) + 1);
	return 0;
}

static int volume_of(
	const char *root, const struct muster_mount *mount, struct muster_volume *ret, struct muster_error *err)
{
	char device[MUSTER_DISK_NAME];
	if (device_of(root, mount, device, sizeof device, err) < 0)
		return -1;
	return strcmp(mount->type, "btrfs") == 0 ? muster_volume_of_btrfs(root, device, ret, err)
						 : muster_volume_of(root, device, ret, err);
}

static bool share_a_disk(const struct muster_volume *a, const struct muster_volume *b)
{
	for (size_t i = 0; i < a->disk_count; i++)
		for (size_t j = 0; j < b->disk_count; j++)
			if (strcmp(a->disks[i], b->disks[j]) == 0)
				return true;
	return false;
}

static bool is_temporary(const char *root, const struct muster_volume *volume)
{
	char disk[MUSTER_DISK_NAME];
	return volume->disk_count == 1 && muster_disk_temporary(root, disk, sizeof disk, NULL) == 0 &&
	       strcmp(disk, volume->disks[0]) == 0;
}

/* Where a distribution and its users have what is not to be filled. */
static bool is_of_the_system(const char *point)
{
	static const char *const places[] = { "/boot", "/dev", "/efi", "/etc", "/home", "/nix", "/opt", "/proc",
		"/root", "/run", "/snap", "/srv", "/sys", "/usr", "/var" };
	if (strcmp(point, "/") == 0)
		return true;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (muster_path_is_below(point, places[i]))
			return true;
	return false;
}

/* Also where a container sees the root file system of its host, at any place. */
static bool has_a_system(const char *root, const char *point)
{
	char path[2 * PATH_MAX];
	snprintf(path, sizeof path, "%s%s/etc/passwd", root, point);
	return access(path, F_OK) == 0;
}

static bool may_be_scratch(const char *root, const struct muster_mounts *mounts, size_t index)
{
	const struct muster_mount *mount = &mounts->items[index];
	bool whole = strcmp(mount->top, "/") == 0 || strcmp(mount->type, "btrfs") == 0; /* not its subvolumes */
	return whole && muster_text_has_word("xfs ext4 btrfs", mount->type) && mount->point[0] == '/' &&
	       !is_of_the_system(mount->point) && !is_hidden(mounts, index) && !has_a_system(root, mount->point);
}

/* The volume in words (layout): what decides how fast it can be. */
static void describe(const char *root, const struct muster_mount *mount, const struct muster_volume *volume,
	struct muster_scratch *ret)
{
	size_t disks = volume->members + volume->members_missing;
	bool local = volume->nvme_count == volume->disk_count;
	int length;
	if (local && strcmp(volume->raid, "none") == 0)
		length = snprintf(ret->layout, sizeof ret->layout, "1 NVMe disk");
	else if (local)
		length = snprintf(ret->layout, sizeof ret->layout, "%s of %zu NVMe disks", volume->raid, disks);
	else
		length = snprintf(ret->layout, sizeof ret->layout, "%s",
			is_temporary(root, volume) ? "temporary disk" : "other disks");
	snprintf(ret->layout + length, sizeof ret->layout - (size_t)length, "%s%s",
		strcmp(mount->type, "btrfs") == 0 ? ", btrfs" : "", volume->encrypted ? ", encrypted" : "");
	snprintf(ret->raid, sizeof ret->raid, "%s", volume->raid);
	ret->members = volume->members;
	ret->missing = volume->members_missing;
}

/* What is known without the disks. layout is the type of the file system until describe() knows better. The first of
 * the options is "ro" or "rw". */
static void start(const struct muster_mount *mount, const char *path, struct muster_scratch *ret)
{
	const char *first = mount->options;
	*ret = (struct muster_scratch){
		.read_only = strncmp(first, "ro", 2) == 0 && (first[2] == ',' || first[2] == '\0'),
	};
	snprintf(ret->path, sizeof ret->path, "%s", path);
	snprintf(ret->filesystem, sizeof ret->filesystem, "%s", mount->type);
	snprintf(ret->layout, sizeof ret->layout, "%s", mount->type);
}

/* How good a place for the scratch it is: more is better, 0 is none. Local disks before the cloud's, more of them
 * before larger ones. */
struct rank {
	size_t kind, disks;
	double gb;
};

static struct rank rank_of(const char *root, const struct muster_mount *mount, const struct muster_volume *volume)
{
	char device[MUSTER_DISK_NAME];
	struct rank rank = { .disks = volume->disk_count };
	if (volume->disk_count > 0 && volume->nvme_count == volume->disk_count)
		rank.kind = 2;
	else if (is_temporary(root, volume))
		rank.kind = 1;
	if (rank.kind > 0 && device_of(root, mount, device, sizeof device, NULL) == 0)
		(void)muster_disk_gb(root, device, &rank.gb, NULL);
	return rank;
}

static bool is_better(const struct rank *a, const struct rank *b)
{
	if (a->kind != b->kind)
		return a->kind > b->kind;
	return a->disks != b->disks ? a->disks > b->disks : a->gb > b->gb;
}

/* The disks of the root file system; none where it is an overlay or on the network. */
static struct muster_volume volume_of_system(const char *root, const struct muster_mounts *mounts)
{
	struct muster_volume volume = { .disk_count = 0 };
	for (size_t i = 0; i < mounts->count; i++)
		if (strcmp(mounts->items[i].point, "/") == 0 && !is_hidden(mounts, i))
			(void)volume_of(root, &mounts->items[i], &volume, NULL);
	return volume;
}

/* `unknown` keeps the last mount whose disks are not known, for the error. */
static int find_scratch(const char *root, struct muster_scratch *ret, struct muster_error *err)
{
	struct muster_mounts mounts;
	struct rank best = { 0 };
	struct muster_scratch found = { .path = "" };
	char unknown[512] = "";
	if (muster_mounts_read(root, &mounts, err) < 0)
		return -1;
	const struct muster_volume system = volume_of_system(root, &mounts);
	for (size_t i = 0; i < mounts.count; i++) {
		struct muster_volume volume;
		struct muster_error why;
		if (!may_be_scratch(root, &mounts, i))
			continue;
		if (volume_of(root, &mounts.items[i], &volume, &why) < 0) {
			snprintf(unknown, sizeof unknown, "; %s: %s", mounts.items[i].point, why.text);
			continue;
		}
		if (share_a_disk(&volume, &system))
			continue;
		struct rank rank = rank_of(root, &mounts.items[i], &volume);
		if (rank.kind == 0 || !is_better(&rank, &best))
			continue;
		best = rank;
		start(&mounts.items[i], mounts.items[i].point, &found);
		describe(root, &mounts.items[i], &volume, &found);
	}
	free(mounts.items);
	if (best.kind == 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"no scratch: no xfs, ext4 or btrfs on local NVMe disks or on the cloud's temporary "
			"disk is mounted outside the folders of the system%s",
			unknown);
	*ret = found;
	return 0;
}

/* The mount with the longest point that is the folder or above it; of equal ones the last, which hides the others.
 * Links in the folder's path are followed where they stay below root. */
static int find_at(const char *root, const char *folder, struct muster_scratch *ret, struct muster_error *err)
{
	struct muster_mounts mounts;
	struct muster_volume volume;
	struct muster_error why;
	const struct muster_mount *on = NULL;
	char whole[2 * PATH_MAX], real[PATH_MAX];
	snprintf(whole, sizeof whole, "%s%s", root, folder);
	const char *at =
		realpath(whole, real) && (!*root || muster_path_is_below(real, root)) ? real + strlen(root) : folder;
	if (muster_mounts_read(root, &mounts, err) < 0)
		return -1;
	for (size_t i = 0; i < mounts.count; i++) {
		const char *point = mounts.items[i].point;
		bool above = strcmp(point, "/") == 0 || muster_path_is_below(at, point);
		if (above && (!on || strlen(point) >= strlen(on->point)))
			on = &mounts.items[i];
	}
	int result = on ? 0 : muster_fail(err, MUSTER_EIO, "%s: no mount of it is known", folder);
	if (result == 0) {
		start(on, folder, ret);
		if (volume_of(root, on, &volume, &why) == 0)
			describe(root, on, &volume, ret);
		else
			snprintf(ret->why_no_members, sizeof ret->why_no_members, "%s", why.text);
	}
	free(mounts.items);
	return result;
}

int muster_scratch_choose(const char *root, const char *folder, struct muster_scratch *ret, struct muster_error *err)
{
	if ((folder ? find_at(root, folder, ret, err) : find_scratch(root, ret, err)) < 0)
		return -1;
	int length = snprintf(ret->folder, sizeof ret->folder, "%s%s", root, ret->path);
	return length < (int)sizeof ret->folder ? 0 : muster_fail(err, MUSTER_EUSAGE, "%s: too long", ret->path);
}

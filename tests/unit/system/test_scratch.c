/* SPDX-License-Identifier: Apache-2.0 */
/* test_scratch.c - which file system of a small node is its scratch, and what it consists of */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/disks.h"
#include "system/scratch.h"

#include <stdbool.h>

#define LOCAL "Microsoft NVMe Direct Disk v2"
#define ROOT_MOUNT "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"

static struct muster_scratch scratch;
static struct muster_error err;

/* A device as sysfs shows it: its path below /sys/block, its number, its size. */
static void device(const char *path, const char *number, const char *sectors)
{
	char file[256], target[256];
	snprintf(file, sizeof file, "/sys/block/%s/size", path);
	put(file, sectors);
	if (strchr(path, '/')) {
		snprintf(file, sizeof file, "/sys/block/%s/partition", path);
		put(file, "1\n");
	}
	snprintf(file, sizeof file, "/sys/dev/block/%s", number);
	snprintf(target, sizeof target, "../../block/%s", path);
	put_link(file, target);
}

static void nvme(int number, const char *model)
{
	char name[64], path[128], dev[32];
	snprintf(name, sizeof name, "nvme%dn1", number);
	snprintf(dev, sizeof dev, "259:%d", number);
	device(name, dev, "1875000000\n");
	snprintf(path, sizeof path, "/sys/block/%s/device/model", name);
	put(path, model);
}

/* An array of the disks first to last, of `wanted`. */
static void md(const char *name, const char *number, const char *level, int first, int last, const char *wanted)
{
	char path[128];
	device(name, number, "15000000000\n");
	snprintf(path, sizeof path, "/sys/block/%s/md/level", name);
	put(path, level);
	snprintf(path, sizeof path, "/sys/block/%s/md/raid_disks", name);
	put(path, wanted);
	for (int i = first; i <= last; i++) {
		char target[64];
		snprintf(path, sizeof path, "/sys/block/%s/slaves/nvme%dn1", name, i);
		snprintf(target, sizeof target, "../../nvme%dn1", i);
		put_link(path, target);
	}
}

static void temporary_disk(void)
{
	device("sdb", "8:16", "5872025600\n");
	device("sdb/sdb1", "8:17", "5872025600\n");
	put_link("/dev/disk/azure/resource", "../../sdb");
}

static void setup(void)
{
	tree_make();
	device("sda", "8:0", "62500000\n");
	device("sda/sda1", "8:1", "62500000\n");
	for (int i = 0; i < 8; i++)
		nvme(i, LOCAL);
}

static void find(const char *mounts)
{
	char text[4096];
	snprintf(text, sizeof text, ROOT_MOUNT "%s", mounts);
	put("/proc/self/mountinfo", text);
	ck_assert_msg(muster_scratch_choose(root, NULL, &scratch, &err) == 0, "%s", err.text);
}

/* "PATH FILESYSTEM RAID: LAYOUT, N members, N missing[, read-only]" */
static void found(const char *mounts, const char *expected)
{
	char text[512];
	find(mounts);
	snprintf(text, sizeof text, "%s %s %s: %s, %zu members, %zu missing%s", scratch.path, scratch.filesystem,
		scratch.raid, scratch.layout, scratch.members, scratch.missing, scratch.read_only ? ", read-only" : "");
	ck_assert_str_eq(text, expected);
}

static void find_none(const char *mounts, const char *part)
{
	char text[4096];
	snprintf(text, sizeof text, ROOT_MOUNT "%s", mounts);
	put("/proc/self/mountinfo", text);
	ck_assert_msg(muster_scratch_choose(root, NULL, &scratch, &err) < 0, "%s", scratch.path);
	ck_assert_msg(err.code == MUSTER_ENOTSUPPORTED && strstr(err.text, part), "%s", err.text);
}

TEST(an_array_of_all_disks_is_the_scratch_wherever_it_is_mounted)
{
	md("md127", "9:127", "raid0\n", 0, 7, "8\n");
	temporary_disk();
	found("30 22 8:17 / /mnt rw,relatime - ext4 /dev/sdb1 rw\n"
	      "31 22 9:127 / /mnt/resource_nvme rw,relatime shared:9 - xfs /dev/md127 rw,attr2,inode64\n",
		"/mnt/resource_nvme xfs raid0: raid0 of 8 NVMe disks, 8 members, 0 missing");
}

TEST(most_disks_come_before_size_and_size_before_order)
{
	md("md0", "9:0", "raid0\n", 0, 1, "2\n");
	device("nvme3n1/nvme3n1p1", "259:30", "99999999999\n");
	device("nvme4n1/nvme4n1p1", "259:40", "1000\n");
	found("30 22 259:30 / /data rw - xfs /dev/nvme3n1p1 rw\n31 22 9:0 / /two rw - xfs /dev/md0 rw\n",
		"/two xfs raid0: raid0 of 2 NVMe disks, 2 members, 0 missing");
	found("30 22 259:40 / /small rw - xfs /dev/nvme4n1p1 rw\n31 22 259:30 / /large rw - ext4 /dev/nvme3n1p1 rw\n",
		"/large ext4 none: 1 NVMe disk, 1 members, 0 missing");
}

TEST(the_temporary_disk_is_the_scratch_of_a_node_without_others)
{
	temporary_disk();
	found("30 22 8:17 / /mnt rw,relatime - ext4 /dev/sdb1 rw\n",
		"/mnt ext4 none: temporary disk, 1 members, 0 missing");
}

#define ON_MD127 "31 22 9:127 / /scratch rw - xfs /dev/md127 rw\n"

static void missing_are(size_t count)
{
	find(ON_MD127);
	ck_assert_uint_eq(scratch.missing, count);
}

TEST(a_disk_that_an_array_lost_is_counted)
{
	md("md127", "9:127", "raid0\n", 1, 7, "8\n");
	found(ON_MD127, "/scratch xfs raid0: raid0 of 8 NVMe disks, 7 members, 1 missing");
	put("/sys/block/md127/md/dev-nvme3n1/state", "faulty\n");
	missing_are(2);
}

TEST(an_array_that_the_kernel_has_failed_has_lost_a_disk)
{
	md("md127", "9:127", "raid0\n", 0, 7, "8\n");
	put("/sys/block/md127/md/array_state", "clean\n");
	missing_are(0);
	put("/sys/block/md127/md/array_state", "broken\n");
	missing_are(1);
	put("/sys/block/nvme3n1/device/state", "dead\n");
	put("/sys/block/nvme4n1/size", "0\n");
	missing_are(2);
}

/* mdadm makes an array of level 5 by rebuilding its last disk. */
TEST(an_array_that_is_being_built_has_lost_nothing)
{
	md("md127", "9:127", "raid5\n", 0, 7, "8\n");
	put("/sys/block/md127/md/degraded", "1\n");
	missing_are(1);
	put("/sys/block/md127/md/sync_action", "recover\n");
	missing_are(0);
	put("/sys/block/md127/md/sync_action", "idle\n");
	missing_are(1);
}

static const struct {
	const char *least, *best, *raid;
} stripes[] = {
	{ "65536\n", "524288\n", "lvm-striped" },
	{ "512\n", "0\n", "linear" },
	{ "4096\n", "4096\n", "linear" },
};

TEST_EACH(a_volume_of_lvm_is_striped_or_not, stripes)
{
	device("dm-0", "253:0", "15000000000\n");
	put("/sys/block/dm-0/dm/uuid", "LVM-Zk3mVQ6s0YhUeN1rjBqXtW8d2LwGf5aC\n");
	put("/sys/block/dm-0/queue/minimum_io_size", stripes[_i].least);
	put("/sys/block/dm-0/queue/optimal_io_size", stripes[_i].best);
	put_link("/sys/block/dm-0/slaves/nvme0n1", "../../nvme0n1");
	put_link("/sys/block/dm-0/slaves/nvme1n1", "../../nvme1n1");
	find("31 22 253:0 / /scratch rw - xfs /dev/mapper/vg-data rw\n");
	ck_assert_str_eq(scratch.raid, stripes[_i].raid);
	ck_assert_uint_eq(scratch.members, 2);
}

TEST(encryption_is_in_the_layout)
{
	md("md127", "9:127", "raid0\n", 0, 7, "8\n");
	device("dm-0", "253:0", "15000000000\n");
	put("/sys/block/dm-0/dm/uuid", "CRYPT-LUKS2-0123-scratch\n");
	put_link("/sys/block/dm-0/slaves/md127", "../../md127");
	find("31 22 253:0 / /scratch rw - ext4 /dev/mapper/scratch rw\n");
	ck_assert_str_eq(scratch.layout, "raid0 of 8 NVMe disks, encrypted");
}

TEST(devices_of_btrfs_are_an_array)
{
	static const char btrfs[] = "31 22 0:55 /@data /data rw - btrfs /dev/nvme2n1 rw,subvol=/@data\n";
	for (int i = 0; i < 4; i++) {
		char path[128], target[64];
		snprintf(path, sizeof path, "/sys/fs/btrfs/1234-abcd/devices/nvme%dn1", i);
		snprintf(target, sizeof target, "../../../../block/nvme%dn1", i);
		put_link(path, target);
		snprintf(path, sizeof path, "/sys/fs/btrfs/1234-abcd/devinfo/%d/missing", i + 1);
		put(path, "0\n");
	}
	put("/sys/fs/btrfs/1234-abcd/allocation/data/raid0/used_bytes", "0\n");
	put("/sys/fs/btrfs/1234-abcd/allocation/data/flags", "1\n");
	found(btrfs, "/data btrfs raid0: raid0 of 4 NVMe disks, btrfs, 4 members, 0 missing");
	put("/sys/fs/btrfs/1234-abcd/devinfo/5/missing", "1\n");
	find(btrfs);
	ck_assert_uint_eq(scratch.missing, 1);
	ck_assert_uint_eq(scratch.members, 4);
}

TEST(a_read_only_file_system_is_the_scratch_and_said_to_be_one)
{
	find("31 22 259:3 / /scratch ro - xfs /dev/nvme3n1 ro,attr2\n");
	ck_assert(scratch.read_only);
	/* a container's mount of it */
	find("31 22 259:3 / /scratch ro - xfs /dev/nvme3n1 rw,attr2\n");
	ck_assert(!scratch.read_only);
	find("31 22 259:3 / /scratch rw - ext4 /dev/nvme3n1 rw,errors=remount-ro\n");
	ck_assert(!scratch.read_only);
}

static const char *const no_scratch[] = {
	"",
	"31 22 259:3 / /boot rw - ext4 /dev/nvme3n1 rw\n",
	"31 22 259:3 / /boot/efi rw - ext4 /dev/nvme3n1 rw\n",
	"31 22 259:3 / /home rw - ext4 /dev/nvme3n1 rw\n",
	"31 22 259:3 / /var/lib/docker rw - ext4 /dev/nvme3n1 rw\n",
	"31 22 259:3 / /data rw - vfat /dev/nvme3n1 rw\n",
	"31 22 259:3 /work /workspace rw - ext4 /dev/nvme3n1 rw\n", /* a folder of it, in a container */
	"31 22 259:99 / /data rw - xfs /dev/nvme99n1 rw\n",         /* the network's, see setup */
	"31 22 8:1 / /mnt rw - ext4 /dev/sda1 rw\n",                /* the system's own disk */
	"31 22 0:44 / /mnt rw - nfs4 server:/export rw\n",
	"31 22 0:44 / /lustre rw - lustre 10.0.0.1@tcp:/fs rw\n",
	"31 22 259:3 / /mnt rw - xfs /dev/nvme3n1 rw\n32 22 0:44 / /mnt rw - nfs4 server:/export rw\n", /* hidden */
	"31 22 259:4 / /data rw - xfs /dev/nvme4n1 rw\n30 1 259:40 / / rw - ext4 /dev/nvme4n1p1 rw\n",
	"31 22 259:5 / /host rw - xfs /dev/nvme5n1 rw\n",
	"a line of another kind\n",
};

TEST_EACH(what_is_no_scratch_is_not_found, no_scratch)
{
	nvme(99, "MSFT NVMe Accelerator v1.0");
	device("nvme4n1/nvme4n1p1", "259:40", "1000\n");
	put("/host/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
	find_none(no_scratch[_i], "no scratch: no xfs, ext4 or btrfs on local NVMe disks");
}

TEST(an_array_with_one_disk_of_the_network_is_no_scratch)
{
	nvme(8, "MSFT NVMe Accelerator v1.0");
	md("md127", "9:127", "raid0\n", 7, 8, "2\n");
	find_none("31 22 9:127 / /data rw - xfs /dev/md127 rw\n", "no scratch");
}

TEST(what_sysfs_does_not_say_is_in_the_reason)
{
	find_none("31 22 259:77 / /data rw - xfs /dev/nvme77n1 rw\n", "; /data: /sys/dev/block/259:77");
	put_link("/sys/dev/block/259:78", "../../block/../../../etc/x y");
	find_none("31 22 259:78 / /data rw - xfs /dev/nvme77n1 rw\n", "which is not a device");
	device("md1", "9:1", "1000\n");
	put_link("/sys/block/md1/slaves/md1", "../../md1");
	find_none("31 22 9:1 / /data rw - xfs /dev/md1 rw\n", "devices on devices without end");
}

TEST(blanks_in_a_mount_point_are_read)
{
	find("31 22 259:3 / /fast\\040disk rw - xfs /dev/nvme3n1 rw\n");
	ck_assert_str_eq(scratch.path, "/fast disk");
}

static const struct {
	const char *folder, *layout, *filesystem;
	size_t members;
} given[] = {
	{ "/mnt/nvme/a/b", "1 NVMe disk", "xfs", 1 },
	{ "/mnt/nvme", "1 NVMe disk", "xfs", 1 },
	{ "/mnt/nvmexyz", "other disks", "ext4", 1 },
	{ "/shared/x", "nfs4", "nfs4", 0 },
	{ "/home/user", "other disks", "ext4", 1 },
	{ "/link/a", "1 NVMe disk", "xfs", 1 },
};

TEST_EACH(a_given_folder_has_the_facts_of_its_file_system, given)
{
	put("/mnt/nvme/a/file", "");
	put_link("/link", "mnt/nvme");
	put("/proc/self/mountinfo", ROOT_MOUNT "31 22 259:3 / /mnt/nvme rw - xfs /dev/nvme3n1 rw\n"
					       "32 22 0:44 / /shared rw - nfs4 server:/export rw\n");
	ck_assert_msg(muster_scratch_choose(root, given[_i].folder, &scratch, &err) == 0, "%s", err.text);
	ck_assert_str_eq(scratch.path, given[_i].folder);
	ck_assert_str_eq(scratch.layout, given[_i].layout);
	ck_assert_str_eq(scratch.filesystem, given[_i].filesystem);
	ck_assert_uint_eq(scratch.members, given[_i].members);
	ck_assert_int_eq(scratch.why_no_members[0] != '\0', given[_i].members == 0);
}

TEST(a_node_that_does_not_show_its_mounts_is_an_error)
{
	ck_assert_int_eq(muster_scratch_choose(root, NULL, &scratch, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
	ck_assert_int_eq(muster_scratch_choose(root, "/x", &scratch, &err), -1);
}

TEST_MAIN(.setup = setup, .teardown = tree_remove)

/* fs_disks.c - the disks of a simulated node, and the file systems on them, as its kernel shows them
 */
#include "sim/fs_disks.h"

#include <stdlib.h>
#include <string.h>

/* Major numbers of the kernel's devices.txt; that of device mappers is taken when the module is loaded. */
enum { MAJOR_SD = 8, MAJOR_MD = 9, MAJOR_DM = 253, MAJOR_NVME = 259 };

/* Bytes that go to one disk before the next one's turn: the defaults of mdadm and LVM. */
enum { CHUNK = 512 << 10, STRIPE = 64 << 10 };

struct number {
	int major, minor;
};

static bool is_remote(const struct muster_sim_volume *volume)
{
	return strchr(volume->device, ':') != NULL;
}

/* -- devices -- */

/* A device that was entered, sys/block/NAME, or a partition of it: its size, and the link by its number. */
static void put_block(struct muster_sim_tree *t, const char *path, struct number number, double gb)
{
	char name[32], link[256];
	muster_sim_tree_enter(t, "sys/block/%s", path);
	muster_sim_tree_put(t, "size", "%.0f", gb * 1e9 / 512);
	muster_sim_tree_put(t, "ro", "0");
	muster_sim_tree_put(t, "dev", "%d:%d", number.major, number.minor);
	snprintf(name, sizeof name, "%d:%d", number.major, number.minor);
	snprintf(link, sizeof link, "../../block/%s", path);
	muster_sim_tree_enter(t, "sys/dev/block");
	muster_sim_tree_link(t, name, link);
	const char *slash = strrchr(path, '/');
	muster_sim_tree_enter(t, "dev");
	muster_sim_tree_finish(t, slash ? slash + 1 : path, muster_sim_tree_start(t, slash ? slash + 1 : path));
	muster_sim_tree_enter(t, "sys/block/%s", path);
}

/* Bytes of the smallest request that makes sense, and of the best one; 0: not known. */
static void put_queue(struct muster_sim_tree *t, const char *device, size_t smallest, size_t best)
{
	muster_sim_tree_enter(t, "sys/block/%s/queue", device);
	muster_sim_tree_put(t, "rotational", "0");
	muster_sim_tree_put(t, "minimum_io_size", "%zu", smallest);
	muster_sim_tree_put(t, "optimal_io_size", "%zu", best);
}

static void put_disk(struct muster_sim_tree *t, const char *disk, struct number number, double gb)
{
	put_block(t, disk, number, gb);
	muster_sim_tree_put(t, "removable", "0");
	muster_sim_tree_enter(t, "sys/block/%s/slaves", disk);
	muster_sim_tree_enter(t, "sys/block/%s/holders", disk);
	put_queue(t, disk, 4096, 0);
}

/* Disk nvme0n1 hangs on controller nvme0. */
static void put_nvme(struct muster_sim_tree *t, const struct muster_sim_disk *disk, int minor)
{
	static const char prefix[] = "nvme";
	char link[256];
	if (strncmp(disk->device, prefix, strlen(prefix)) != 0) {
		muster_sim_tree_refuse(t, "disk", disk->device, "must be a name such as nvme0n1");
		return;
	}
	int length = (int)(strlen(prefix) + strspn(disk->device + strlen(prefix), "0123456789"));
	put_disk(t, disk->device, (struct number){ MAJOR_NVME, minor }, disk->gb);
	muster_sim_tree_enter(t, "sys/class/nvme/%.*s", length, disk->device);
	muster_sim_tree_put(t, "model", "%-40s", disk->model);
	muster_sim_tree_put(t, "transport", "pcie");
	muster_sim_tree_put(t, "state", "live");
	muster_sim_tree_enter(t, "sys/block/%s", disk->device);
	snprintf(link, sizeof link, "../../class/nvme/%.*s", length, disk->device);
	muster_sim_tree_link(t, "device", link);
}

static void put_temp_disk(struct muster_sim_tree *t, double gb)
{
	put_disk(t, "sdb", (struct number){ MAJOR_SD, 16 }, gb);
	muster_sim_tree_enter(t, "sys/block/sdb/device");
	muster_sim_tree_put(t, "model", "%-16s", "Virtual Disk");
	put_block(t, "sdb/sdb1", (struct number){ MAJOR_SD, 17 }, gb);
	muster_sim_tree_put(t, "partition", "1");
	muster_sim_tree_enter(t, "dev/disk/azure");
	muster_sim_tree_link(t, "resource", "../../sdb");
}

/* -- volumes -- */

/* The disks that a device consists of, but for those that it has lost. */
static void put_members(
	struct muster_sim_tree *t, const struct muster_sim_node *node, const struct muster_sim_volume *volume)
{
	char link[256];
	muster_sim_tree_enter(t, "sys/block/%s/slaves", volume->device);
	for (size_t i = (size_t)volume->missing_members; i < node->disk_count; i++) {
		snprintf(link, sizeof link, "../../%s", node->disks[i].device);
		muster_sim_tree_link(t, node->disks[i].device, link);
	}
	for (size_t i = (size_t)volume->missing_members; i < node->disk_count; i++) {
		snprintf(link, sizeof link, "../../%s", volume->device);
		muster_sim_tree_enter(t, "sys/block/%s/holders", node->disks[i].device);
		muster_sim_tree_link(t, volume->device, link);
	}
}

/* An array without redundancy that has lost a disk is "broken" since Linux 5.4, and still there. */
static void put_array(struct muster_sim_tree *t, const struct muster_sim_node *node,
	const struct muster_sim_volume *volume, struct number number)
{
	put_block(t, volume->device, number, volume->gb);
	muster_sim_tree_enter(t, "sys/block/%s/md", volume->device);
	muster_sim_tree_put(t, "level", "%s", volume->layout);
	muster_sim_tree_put(t, "raid_disks", "%zu", node->disk_count);
	muster_sim_tree_put(t, "chunk_size", "%d", CHUNK);
	muster_sim_tree_put(t, "metadata_version", "1.2");
	muster_sim_tree_put(t, "array_state", volume->missing_members > 0 ? "broken" : "clean");
	for (size_t i = (size_t)volume->missing_members; i < node->disk_count; i++) {
		muster_sim_tree_enter(t, "sys/block/%s/md/dev-%s", volume->device, node->disks[i].device);
		muster_sim_tree_put(t, "state", "in_sync");
		muster_sim_tree_put(t, "slot", "%zu", i);
	}
	put_queue(t, volume->device, CHUNK, CHUNK * node->disk_count);
	put_members(t, node, volume);
}

static void put_mapped(struct muster_sim_tree *t, const struct muster_sim_node *node,
	const struct muster_sim_volume *volume, struct number number)
{
	put_block(t, volume->device, number, volume->gb);
	muster_sim_tree_enter(t, "sys/block/%s/dm", volume->device);
	muster_sim_tree_put(t, "name", "scratch-data");
	muster_sim_tree_put(t, "uuid", "LVM-Zk3mVQ6s0YhUeN1rjBqXtW8d2LwGf5aCpH7oTi4nKbRx9yDvEuJgMSlAcOzPI0Fk");
	muster_sim_tree_put(t, "suspended", "0");
	put_queue(t, volume->device, STRIPE, STRIPE * node->disk_count);
	put_members(t, node, volume);
}

/* Number of the volume's device, which is made where it is neither a disk nor a partition. */
static struct number put_device(
	struct muster_sim_tree *t, const struct muster_sim_node *node, const struct muster_sim_volume *volume)
{
	const char *digits = volume->device + strcspn(volume->device, "0123456789");
	struct number number = { 0, 50 };
	if (is_remote(volume))
		return number;
	if (strcmp(volume->device, "sdb1") == 0)
		return (struct number){ MAJOR_SD, 17 };
	if (strncmp(volume->device, "md", 2) == 0) {
		number = (struct number){ MAJOR_MD, (int)strtol(digits, NULL, 10) };
		put_array(t, node, volume, number);
		return number;
	}
	if (strncmp(volume->device, "dm-", 3) == 0) {
		number = (struct number){ MAJOR_DM, (int)strtol(digits, NULL, 10) };
		put_mapped(t, node, volume, number);
		return number;
	}
	for (size_t i = 0; i < node->disk_count; i++)
		if (strcmp(node->disks[i].device, volume->device) == 0)
			return (struct number){ MAJOR_NVME, (int)i };
	muster_sim_tree_refuse(t, "volume", volume->device, "must be a disk, sdb1, md127, dm-0 or of another machine");
	return number;
}

static void put_mounts(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	enum { FIRST_ID = 30 };
	struct number numbers[16];
	size_t count = node->volume_count < 16 ? node->volume_count : 16;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = put_device(t, node, &node->volumes[i]);
		muster_sim_tree_enter(t, ".%s", node->volumes[i].path);
	}
	char shm[64] = "";
	if (node->shm_mib > 0)
		snprintf(shm, sizeof shm, ",size=%.0fk", node->shm_mib * 1024);
	muster_sim_tree_enter(t, "proc/self");
	FILE *out = muster_sim_tree_start(t, "mountinfo");
	if (!out)
		return;
	fprintf(out,
		"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"27 22 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw%s,inode64\n",
		shm);
	for (size_t i = 0; i < count; i++) {
		const struct muster_sim_volume *volume = &node->volumes[i];
		const char *way = volume->read_only ? "ro" : "rw";
		bool mapped = strncmp(volume->device, "dm-", 3) == 0;
		fprintf(out, "%zu 22 %d:%d / %s %s,relatime shared:%zu - %s %s%s %s\n", FIRST_ID + i, numbers[i].major,
			numbers[i].minor, volume->path, way, FIRST_ID + i, volume->filesystem,
			is_remote(volume) ? "" : "/dev/", mapped ? "mapper/scratch-data" : volume->device, way);
	}
	muster_sim_tree_finish(t, "mountinfo", out);
}

void muster_sim_disks_write(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	muster_sim_tree_enter(t, "sys/block");
	for (size_t i = 0; i < node->disk_count; i++)
		put_nvme(t, &node->disks[i], (int)i);
	if (node->temp_disk_gb > 0)
		put_temp_disk(t, node->temp_disk_gb);
	put_mounts(t, node);
}

/* test_storage.c - disks of nodes of our own making */
#include "check_main.h"
#include "probe_fake.h"

#include "system/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_storage;

#define LOCAL "Microsoft NVMe Direct Disk v2         \n"

static struct probe_fake *context;

static void setup(void)
{
	context = fake_new(&muster_probe_storage);
	fake_file(context, "/sys/block", NULL);
}

static void teardown(void)
{
	fake_free(context);
}

/* A disk as the kernel shows it; NULL leaves a file out. */
static void put_disk(const char *name, const char *size, const char *model, const char *transport)
{
	char path[256];
	const char *const files[][2] = { { "size", size }, { "device/model", model },
		{ "device/transport", transport } };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "/sys/block/%s/%s", name, files[i][0]);
		if (files[i][1])
			fake_file(context, path, files[i][1]);
	}
}

static void put_link(const char *path, const char *target)
{
	char whole[512], directory[512];
	snprintf(directory, sizeof directory, "%s/x", path);
	fake_file(context, directory, ""); /* makes the directories above it */
	snprintf(whole, sizeof whole, "%s%s/x", context->root, path);
	ck_assert_int_eq(remove(whole), 0);
	snprintf(whole, sizeof whole, "%s%s", context->root, path);
	ck_assert_int_eq(remove(whole), 0);
	ck_assert_int_eq(symlink(target, whole), 0);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_int_eq(muster_probe_storage.run(&context->ctx, &err), 0);
	fake_complete(context, NULL);
}

TEST(a_node_without_nvme_has_none)
{
	put_disk("sda", "2048\n", "Virtual Disk\n", NULL);
	measure();
	ck_assert_double_eq(fake_number(context, "node.nvme_disks", NULL), 0);
	ck_assert_double_eq(fake_number(context, "node.nvme_gb", NULL), 0);
	ck_assert_str_eq(fake_reason(context, "node.temp_disk_gb", NULL),
		"there is no link /dev/disk/azure/resource or /dev/disk/cloud/azure_resource");
}

TEST(local_disks_are_counted_and_remote_ones_are_not)
{
	put_disk("nvme0n1", "62500000\n", "MSFT NVMe Accelerator v1.0              \n", "pcie\n");
	put_disk("nvme1n1", "1875000000\n", LOCAL, "pcie\n");
	put_disk("nvme10n1", "1875000000\n", "Microsoft NVMe Direct Disk\n", NULL);
	put_disk("nvme2n1", "3750000000\n", "A shelf in the next room\n", "rdma\n");
	put_disk("nvme3n1", "1875000000\n", "Amazon Elastic Block Store\n", "pcie\n");
	measure();
	ck_assert_double_eq(fake_number(context, "node.nvme_disks", NULL), 2);
	ck_assert_double_eq(fake_number(context, "node.nvme_gb", NULL), 1920);
}

TEST(partitions_and_paths_are_no_disks)
{
	static const char *const names[] = { "nvme0n1p1", "nvme0c0n1", "nvme0", "nvmen1", "nvme0n", "nvme-n1", "nvm0n1",
		"nvme0n1x" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		put_disk(names[i], "1875000000\n", LOCAL, NULL);
	put_disk("nvme0n1", "1875000000\n", LOCAL, NULL);
	put_disk("nvme0n2", "1875000000\n", LOCAL, NULL);
	measure();
	ck_assert_double_eq(fake_number(context, "node.nvme_disks", NULL), 2);
}

TEST(a_disk_without_a_model_leaves_the_count_open)
{
	put_disk("nvme0n1", "1875000000\n", LOCAL, NULL);
	put_disk("nvme1n1", "1875000000\n", NULL, NULL);
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.nvme_disks", NULL), "/sys/block/nvme1n1/device/model"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.nvme_gb", NULL), "/sys/block/nvme1n1/device/model"));
}

TEST(a_disk_without_a_size_leaves_the_total_open)
{
	put_disk("nvme0n1", "1875000000\n", LOCAL, NULL);
	put_disk("nvme1n1", "-8\n", LOCAL, NULL);
	measure();
	ck_assert_double_eq(fake_number(context, "node.nvme_disks", NULL), 2);
	ck_assert_str_eq(fake_reason(context, "node.nvme_gb", NULL), "size of nvme1n1: not a count of sectors: \"-8\"");
}

TEST(a_node_that_does_not_show_its_disks_is_not_one_without_any)
{
	char path[512];
	snprintf(path, sizeof path, "%s/sys/block", context->root);
	ck_assert_int_eq(rmdir(path), 0);
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.nvme_disks", NULL), "/sys/block: No such file"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.nvme_gb", NULL), "/sys/block: No such file"));
}

TEST(links_inside_the_root_are_followed_and_links_out_of_it_are_not)
{
	char outside[] = "/tmp/muster-outside-XXXXXX", path[512];
	put_disk("../devices/pci/nvme0n1", "1875000000\n", LOCAL, NULL);
	put_link("/sys/block/nvme0n1", "../devices/pci/nvme0n1");
	measure();
	ck_assert_double_eq(fake_number(context, "node.nvme_disks", NULL), 1);

	fake_forget(context);
	int fd = mkstemp(outside);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "8000000000\n", 11), 11);
	close(fd);
	snprintf(path, sizeof path, "%s/sys/devices/pci/nvme0n1/size", context->root);
	ck_assert_int_eq(remove(path), 0);
	ck_assert_int_eq(symlink(outside, path), 0);
	measure();
	ck_assert_ptr_nonnull(
		strstr(fake_reason(context, "node.nvme_gb", NULL), "/sys/block/nvme0n1/size points outside the root"));
	ck_assert_int_eq(remove(outside), 0);
}

static const struct {
	const char *link, *target, *why; /* why NULL: it is found */
} links[] = {
	{ "/dev/disk/azure/resource", "../../sdb", NULL },
	{ "/dev/disk/cloud/azure_resource", "../../sdb", NULL },
	{ "/dev/disk/azure/resource", "/dev/sdb", NULL }, /* only its name is taken: it is looked for in the root */
	{ "/dev/disk/azure/resource", "../../sdz", "there is no device sdz in " },
	{ "/dev/disk/azure/resource", "../../..", "points to \"..\", which is not a disk" },
	{ "/dev/disk/azure/resource", "../../", "which is not a disk" },
};

TEST_EACH(the_temporary_disk_is_where_the_link_leads, links)
{
	put_disk("sdb", "5871093750\n", "Virtual Disk\n", NULL);
	put_link(links[_i].link, links[_i].target);
	measure();
	if (links[_i].why)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.temp_disk_gb", NULL), links[_i].why));
	else
		ck_assert_double_eq(fake_number(context, "node.temp_disk_gb", NULL), 3006);
}

static const struct {
	const char *text;
	double gb; /* negative: an error */
} sizes[] = {
	{ "0", 0 },
	{ "1953125", 1 },
	{ "0001953125", 1 },
	{ "36028797018963967", 18446744073.709551 }, /* just below 2^64 bytes */
	{ "36028797018963968", -1 },
	{ "99999999999999999999999", -1 },
	{ "", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ " 1", -1 },
	{ "1 ", -1 },
	{ "1.5", -1 },
	{ "0x10", -1 },
};

TEST_EACH(a_size_is_a_count_of_sectors_and_nothing_else, sizes)
{
	struct muster_error err;
	double gb = -1;
	size_t length = strlen(sizes[_i].text);
	char *text = muster_realloc(NULL, length + 1, 1); /* just its size, for the sanitizer to watch */
	memcpy(text + 1, sizes[_i].text, length);
	int result = muster_sectors_gb(text + 1, length, &gb, &err);
	free(text);
	ck_assert_int_eq(result, sizes[_i].gb < 0 ? -1 : 0);
	ck_assert_double_eq_tol(gb, sizes[_i].gb, 1e-6);
}

TEST(each_step_is_named)
{
	char *steps = muster_asprintf(
		"list %s/sys/block\nlook for the temporary disk\nlook for the scratch\n", context->root);
	measure();
	ck_assert_str_eq(context->steps, steps);
	free(steps);
}

/* Its size and what is free are those of the machine that the test runs on. */
TEST(the_scratch_is_described)
{
	put_disk("nvme0n1", "1875000000\n", LOCAL, NULL);
	put_link("/sys/dev/block/259:3", "../../block/nvme0n1");
	fake_file(context, "/data", NULL);
	fake_file(context, "/proc/self/mountinfo", "31 22 259:3 / /data rw - xfs /dev/nvme0n1 ro,attr2\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.scratch_path", NULL), "/data");
	ck_assert_str_eq(fake_string(context, "node.scratch_filesystem", NULL), "xfs");
	ck_assert_str_eq(fake_string(context, "node.scratch_raid", NULL), "none");
	ck_assert_double_eq(fake_number(context, "node.scratch_members", "none"), 1);
	ck_assert_double_eq(fake_number(context, "node.scratch_missing_members", NULL), 0);
	ck_assert(fake_boolean(context, "node.scratch_read_only", NULL));
	double size = fake_number(context, "node.scratch_size_gb", NULL);
	double left = fake_number(context, "node.scratch_free_gb", NULL);
	ck_assert_double_gt(size, 0);
	ck_assert_double_le(left, size);
	ck_assert_double_eq_tol(fake_number(context, "node.scratch_free_share", NULL), left / size, 1e-9);
}

TEST(a_node_without_scratch_says_what_was_looked_for)
{
	fake_file(context, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.scratch_path", NULL), "no scratch: "));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.scratch_free_share", NULL), "no scratch: "));
}

TEST(a_given_folder_takes_the_place_of_the_scratch)
{
	context->ctx.env.storage_path = "/shared/me";
	fake_file(context, "/proc/self/mountinfo", "31 22 0:44 / /shared rw - nfs4 server:/export rw\n");
	measure();
	ck_assert_str_eq(fake_string(context, "node.scratch_path", NULL), "/shared/me");
	ck_assert_str_eq(fake_string(context, "node.scratch_filesystem", NULL), "nfs4");
	ck_assert_str_eq(fake_reason(context, "node.scratch_raid", NULL), "nfs4 is on no disk of this node");
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.scratch_size_gb", NULL), "No such file"));
}

TEST(a_link_to_a_neighbour_of_the_root_is_not_followed)
{
	char *outside = muster_asprintf("%s-beside", context->root), *path;
	ck_assert_int_eq(mkdir(outside, 0700), 0);
	put_disk("nvme0n1", NULL, LOCAL, NULL);
	path = muster_asprintf("%s/sys/block/nvme0n1/size", context->root);
	ck_assert_int_eq(symlink(outside, path), 0);
	measure();
	ck_assert_double_eq(fake_number(context, "node.nvme_disks", NULL), 1);
	ck_assert_ptr_nonnull(
		strstr(fake_reason(context, "node.nvme_gb", NULL), "/sys/block/nvme0n1/size points outside the root"));
	ck_assert_int_eq(rmdir(outside), 0);
	free(path);
	free(outside);
}

TEST(of_two_links_to_a_temporary_disk_the_first_counts)
{
	put_disk("sdb", "5871093750\n", "Virtual Disk\n", NULL);
	put_disk("sdc", "1953125\n", "Virtual Disk\n", NULL);
	put_link("/dev/disk/azure/resource", "../../sdc");
	put_link("/dev/disk/cloud/azure_resource", "../../sdb");
	measure();
	ck_assert_double_eq(fake_number(context, "node.temp_disk_gb", NULL), 1);
}

TEST_LOOP(the_name_of_a_disk_has_at_most_63_bytes, 0, 2)
{
	char name[65], *target;
	memset(name, 'a', sizeof name);
	name[63 + _i] = '\0';
	target = muster_asprintf("../../%s", name);
	put_disk(name, "1953125\n", "Virtual Disk\n", NULL);
	put_link("/dev/disk/azure/resource", target);
	free(target);
	measure();
	if (_i == 0)
		ck_assert_double_eq(fake_number(context, "node.temp_disk_gb", NULL), 1);
	else
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.temp_disk_gb", NULL), "which is not a disk"));
}

TEST_MAIN(.setup = setup, .teardown = teardown)

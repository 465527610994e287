/* test_scratch.c - the test of the scratch on a small file, with disks that fail, lie and are full
 *
 * This program has a pread, a pwrite and a statvfs of its own between the probe and the kernel, and refuses io_uring,
 * so that the requests come through them.
 */
#include "check_main.h"
#include "probe_fake.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef MUSTER_HAVE_LIBURING
#include <liburing.h>

int io_uring_queue_init(unsigned depth, struct io_uring *ring, unsigned flags)
{
	(void)depth, (void)ring, (void)flags;
	return -EPERM;
}
#endif

extern const struct muster_probe muster_probe_scratch;

enum { MIB = 1 << 20 };

static struct probe_fake *context;
static struct muster_error err;
static int read_error, write_error; /* errno of requests of 1 MiB; 0: what the kernel says */
static bool stale;                  /* reads give what the first round wrote */
static off_t flipped;               /* a bit is wrong in this byte of what is read; -1: in none */
static double free_bytes;           /* of every file system; negative: what the kernel says */
static atomic_int writes;
static char *first_round; /* 16 MiB */

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	if (bytes >= MIB && read_error) {
		errno = read_error;
		return -1;
	}
	ssize_t done = syscall(SYS_pread64, fd, data, bytes, offset);
	if (stale && done > 0)
		memcpy(data, first_round + offset, (size_t)done);
	if (flipped >= offset && flipped < offset + done)
		((char *)data)[flipped - offset] ^= 4;
	return done;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	if (bytes >= MIB && write_error) {
		errno = write_error;
		return -1;
	}
	if (bytes >= MIB && atomic_fetch_add(&writes, 1) < 16)
		memcpy(first_round + offset, data, bytes);
	return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

static void lie_of_space(struct statvfs *space)
{
	if (free_bytes >= 0)
		space->f_bavail = (fsblkcnt_t)(free_bytes / (double)space->f_frsize);
}

int statvfs(const char *path, struct statvfs *ret)
{
	int fd = open(path, O_PATH | O_CLOEXEC), result = fd < 0 ? -1 : fstatvfs(fd, ret);
	if (fd >= 0)
		close(fd);
	return result;
}

int fstatvfs(int fd, struct statvfs *ret)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int result = statvfs64(path, (struct statvfs64 *)ret);
	if (result == 0)
		lie_of_space(ret);
	return result;
}

static void setup(void)
{
	context = fake_new(&muster_probe_scratch);
	context->ctx.env.storage = true;
	context->ctx.env.storage_bytes = 16 * MIB;
	fake_file(context, "/data", NULL);
	fake_file(context, "/proc/self/mountinfo", "31 22 0:44 / /data rw - tmpfs none rw\n");
	context->ctx.env.storage_path = "/data";
	read_error = write_error = 0;
	stale = false;
	flipped = -1;
	free_bytes = -1;
	first_round = calloc(16, MIB);
	ck_assert_ptr_nonnull(first_round);
}

static void teardown(void)
{
	char folder[512];
	snprintf(folder, sizeof folder, "%s/data", context->root);
	ck_assert(rmdir(folder) == 0 || errno == ENOENT); /* nothing is left in it */
	free(first_round);
	fake_free(context);
}

static void measure(void)
{
	ck_assert_msg(muster_probe_scratch.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
}

TEST(nothing_is_written_unless_the_run_asks_for_it)
{
	context->ctx.env.storage = false;
	ck_assert_int_eq(muster_probe_scratch.run(&context->ctx, &err), 0);
	ck_assert_uint_eq(context->samples.count, 0);
	ck_assert_int_eq(writes, 0);
}

TEST(a_good_disk_has_rates_and_no_wrong_word)
{
	measure();
	ck_assert_double_eq(fake_number(context, "node.scratch_wrong", NULL), 0);
	ck_assert_double_eq(fake_number(context, "node.scratch_failed", NULL), 0);
	ck_assert_double_eq(fake_number(context, "node.scratch_tested_mib", NULL), 16);
	ck_assert_double_gt(fake_number(context, "node.scratch_write_gbps", NULL), 0);
	ck_assert_double_gt(fake_number(context, "node.scratch_read_gbps", NULL), 0);
	ck_assert_int_eq(writes, 2 * 16);
	const char *how = fake_string(context, "node.scratch_io", NULL);
	ck_assert_msg(strncmp(how, "threads: ", 9) == 0, "%s", how);
	const char *layout = fake_sample(context, "node.scratch_write_gbps", NULL, NULL)->labels[0].value.string;
	ck_assert_msg(strncmp(layout, "tmpfs", 5) == 0, "%s", layout);
}

TEST(a_flipped_bit_is_one_wrong_word_of_each_round)
{
	flipped = 5 * MIB + 4242;
	measure();
	double wrong = fake_number(context, "node.scratch_wrong", NULL);
	ck_assert_double_ge(wrong, 2); /* more where small reads met the byte */
	ck_assert_double_gt(fake_number(context, "node.scratch_read_gbps", NULL), 0);
}

TEST(what_an_earlier_round_left_is_wrong)
{
	stale = true;
	measure();
	ck_assert_double_ge(fake_number(context, "node.scratch_wrong", NULL), 16.0 * MIB / 8);
}

static const struct {
	int error;
	double failed; /* negative: null */
} errors[] = { { EIO, 1 }, { ETIMEDOUT, 1 }, { ENOSPC, -1 }, { EDQUOT, -1 }, { EROFS, -1 } };

TEST_EACH(a_request_that_the_disk_refuses_has_failed_and_a_full_disk_has_not, errors)
{
	write_error = errors[_i].error;
	/* of a folder that was asked for, what is no fault of the disk is an error */
	int result = muster_probe_scratch.run(&context->ctx, &err);
	if (errors[_i].failed < 0) {
		ck_assert_int_eq(result, -1);
		ck_assert_ptr_nonnull(strstr(err.text, strerror(errors[_i].error)));
		return;
	}
	ck_assert_int_eq(result, 0);
	fake_complete(context, NULL);
	ck_assert_double_eq(fake_number(context, "node.scratch_failed", NULL), errors[_i].failed);
	ck_assert_ptr_nonnull(
		strstr(fake_reason(context, "node.scratch_write_gbps", NULL), strerror(errors[_i].error)));
}

TEST(a_disk_that_cannot_be_read_has_failed)
{
	read_error = EIO;
	measure();
	ck_assert_double_eq(fake_number(context, "node.scratch_failed", NULL), 1);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.scratch_read_gbps", NULL), "read of 1 MiB at "));
}

/* A local disk of its own, mounted at /data. */
static void put_scratch(const char *way)
{
	char link[512], mounts[128];
	fake_file(context, "/sys/block/nvme0n1/size", "1875000000\n");
	fake_file(context, "/sys/block/nvme0n1/device/model", "Microsoft NVMe Direct Disk v2\n");
	fake_file(context, "/sys/dev/block/x", "");
	snprintf(link, sizeof link, "%s/sys/dev/block/259:3", context->root);
	ck_assert_int_eq(symlink("../../block/nvme0n1", link), 0);
	snprintf(mounts, sizeof mounts, "31 22 259:3 / /data rw - xfs /dev/nvme0n1 %s\n", way);
	fake_file(context, "/proc/self/mountinfo", mounts);
	context->ctx.env.storage_path = NULL;
}

TEST(the_scratch_that_is_found_is_tested)
{
	put_scratch("rw");
	measure();
	ck_assert_double_eq(fake_number(context, "node.scratch_tested_mib", NULL), 16);
	ck_assert_double_eq(fake_number(context, "node.scratch_wrong", NULL), 0);
	const char *layout = fake_sample(context, "node.scratch_write_gbps", NULL, NULL)->labels[0].value.string;
	ck_assert_msg(strncmp(layout, "1 NVMe disk", 11) == 0, "%s", layout);
}

static const struct {
	double free_bytes, tested_mib; /* 0: nothing */
	const char *why;
} spaces[] = {
	{ 20.0 * MIB, 0, "has 0.02 GB free, which is too little" },
	{ 0, 0, "has 0.00 GB free" },
	{ 33.0 * MIB, 16, NULL },
	{ 50.0 * MIB, 25, NULL },
	{ 500.0 * MIB, 64, NULL },
};

TEST_EACH(the_file_takes_at_most_half_of_what_is_free, spaces)
{
	put_scratch("rw");
	context->ctx.env.storage_bytes = 64 * MIB;
	free_bytes = spaces[_i].free_bytes;
	free(first_round);
	first_round = calloc(64, MIB);
	ck_assert_ptr_nonnull(first_round);
	measure();
	ck_assert_double_eq(fake_number(context, "node.scratch_tested_mib", NULL), spaces[_i].tested_mib);
	if (spaces[_i].why)
		ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.scratch_read_gbps", NULL), spaces[_i].why));
}

TEST(a_node_without_scratch_has_nothing_to_test)
{
	fake_file(context, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	context->ctx.env.storage_path = NULL;
	measure();
	ck_assert_double_eq(fake_number(context, "node.scratch_tested_mib", NULL), 0);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "node.scratch_failed", NULL), "no scratch: "));
	ck_assert_int_eq(writes, 0);
}

TEST(a_given_folder_that_is_not_there_is_an_error)
{
	context->ctx.env.storage_path = "/data/missing";
	ck_assert_int_eq(muster_probe_scratch.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/data/missing: No such file or directory"));
	ck_assert_int_eq(writes, 0);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .begin = check_needs_root_folder)

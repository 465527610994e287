/* SPDX-License-Identifier: Apache-2.0 */
/* test_scratch.c - the test of the scratch on a small file, with disks that fail, lie and are full
 *
 * This program has a pread, a pwrite and a statvfs of its own between the probe and the kernel, and refuses io_uring,
 * so that the requests come through them. A window is 4 MiB here.
 */
#include "probes/windows.h"
#undef MUSTER_WINDOW_BYTES
#define MUSTER_WINDOW_BYTES ((uint64_t)4 << 20)
#define muster_storage_file_open open_as_scripted
#include "storage/file.h"
#include "probes/scratch.c"
#undef muster_storage_file_open
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

enum { MIB = 1 << 20 };

static struct probe_fake *context;
static int read_error, write_error; /* errno of requests of 1 MiB; 0: what the kernel says */
static bool stale;                  /* reads give what the first round wrote */
static off_t flipped;               /* a bit is wrong in this byte of what is read; -1: in none */
static double free_bytes;           /* of every file system; negative: what the kernel says */
static bool direct;                 /* the file is said to be, whatever the file system has */
static atomic_int writes;
static char *first_round;

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

int open_as_scripted(const char *folder, uint64_t bytes, struct muster_storage_file *ret, struct muster_error *failure)
{
	int muster_storage_file_open(const char *, uint64_t, struct muster_storage_file *, struct muster_error *);
	int result = muster_storage_file_open(folder, bytes, ret, failure);
	if (result == 0 && direct)
		ret->direct = true;
	return result;
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

static int written;                /* writes, after the run */
static size_t writes_of, reads_of; /* windows; 0 where a value has only one */
static const struct fake_knob knobs[] = { FAKE_KNOB("read_error", read_error), FAKE_KNOB("write_error", write_error),
	FAKE_KNOB("stale", stale), FAKE_KNOB("flipped", flipped), FAKE_KNOB("free", free_bytes),
	FAKE_KNOB("written", written), FAKE_KNOB("direct", direct), FAKE_KNOB("write_windows", writes_of),
	FAKE_KNOB("read_windows", reads_of), { .name = NULL } };

enum { ROUND_MIB = 64 }; /* at most */

static void setup(void)
{
	context = fake_new(&muster_probe_scratch);
	context->knobs = knobs;
	fake_given(context,
		"storage=1 | storage_bytes=16777216 | storage_path=/data | /data/ | read_error=0 | write_error=0 | "
		"stale=0 | flipped=-1 | free=-1 | direct=0 | "
		"/proc/self/mountinfo=31 22 0:44 / /data rw - tmpfs none rw");
	atomic_store(&writes, 0);
	first_round = calloc(ROUND_MIB, MIB);
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

/* A local disk of its own, mounted at /data. */
#define FOUND                                                                                                          \
	"/sys/block/nvme0n1/size=1875000000 | /sys/block/nvme0n1/device/model=Microsoft NVMe Direct Disk v2 | "        \
	"/sys/dev/block/259:3->../../block/nvme0n1 | "                                                                 \
	"/proc/self/mountinfo=31 22 259:3 / /data rw - xfs /dev/nvme0n1 rw | storage_path="
#define FREE(bytes) FOUND " | storage_bytes=67108864 | free=" bytes
#define TESTED(mib) "node.scratch_tested_mib " mib
#define REFUSED(error, why)                                                                                            \
	{                                                                                                              \
		"a request that the disk refuses has failed: " why, "write_error=" error,                              \
			"node.scratch_failed 1 | node.scratch_write_gbps -*" why "*"                                   \
	}
/* Of a folder that was asked for, what is no fault of the disk is an error. */
#define FULL(error, why)                                                                                               \
	{                                                                                                              \
		"a full disk has not failed: " why, "write_error=" error, "error '*" why "*"                           \
	}

static const struct fake_row rows[] = {
	{ "nothing is written unless the run asks for it", "storage=0", "node.scratch_tested_mib #0 | written 0" },
	{ "a good disk has rates and no wrong word", NULL,
		"node.scratch_wrong 0 | node.scratch_failed 0 | " TESTED(
			"16") " | node.scratch_write_gbps >0 | "
			      "node.scratch_read_gbps >0 | written 32 | node.scratch_io 'threads: *" },
	{ "windows of both rounds are counted", "direct=1", "write_windows 8 | read_windows 8 | node.scratch_wrong 0" },
	{ "what remains after the windows is tested and no window", "direct=1 | storage_bytes=19922944",
		"write_windows 8 | read_windows 8 | node.scratch_wrong 0 | written 38 | " TESTED("19") },
	{ "a bit is found in any window", "direct=1 | flipped=15733298", "node.scratch_wrong >=2" },
	/* byte 5 MiB and 4242; more where small reads met it */
	{ "a flipped bit is one wrong word of each round", "flipped=5247122",
		"node.scratch_wrong >=2 | node.scratch_read_gbps >0" },
	{ "what an earlier round left is wrong", "stale=1", "node.scratch_wrong >=2097152" },
	REFUSED("5", "Input/output error"),
	REFUSED("110", "Connection timed out"),
	FULL("28", "No space left on device"),
	FULL("122", "Disk quota exceeded"),
	FULL("30", "Read-only file system"),
	{ "a disk that cannot be read has failed", "read_error=5",
		"node.scratch_failed 1 | node.scratch_read_gbps -*read of 1 MiB at *" },
	{ "the scratch that is found is tested", FOUND, TESTED("16") " | node.scratch_wrong 0" },
	{ "20 MiB are too little", FREE("20971520"),
		TESTED("0") " | node.scratch_read_gbps -*has 0.02 GB free, which is too little*" },
	{ "nothing is free", FREE("0"), TESTED("0") " | node.scratch_read_gbps -*has 0.00 GB free*" },
	{ "the file takes at most half of 33 MiB", FREE("34603008"), TESTED("16") },
	{ "the file takes at most half of 50 MiB", FREE("52428800"), TESTED("25") },
	{ "the file takes what was asked for", FREE("524288000"), TESTED("64") },
	{ "a node without scratch has nothing to test",
		"storage_path= | /proc/self/mountinfo=22 1 8:1 / / rw - ext4 /dev/sda1 rw",
		TESTED("0") " | node.scratch_failed -*no scratch: * | written 0" },
	{ "a given folder that is not there is an error", "storage_path=/data/missing",
		"error '*/data/missing: No such file or directory* | written 0" },
};

TEST_EACH(the_scratch_is_written_and_read, rows)
{
	fake_given(context, rows[_i].given);
	if (context->ctx.env.storage_path && !*context->ctx.env.storage_path)
		context->ctx.env.storage_path = NULL; /* none is given: what is found */
	fake_run(context);
	written = atomic_load(&writes);
	if (context->result == 0 && fake_count(context, "node.scratch_write_gbps") > 0) {
		writes_of = fake_sample(context, "node.scratch_write_gbps", NULL, NULL)->value_count;
		reads_of = fake_sample(context, "node.scratch_read_gbps", NULL, NULL)->value_count;
	}
	fake_expect(context, rows[_i].expected, rows[_i].name);
	if (context->result < 0 || !context->ctx.env.storage)
		return;
	fake_complete(context, NULL);
	const char *layout = fake_sample(context, "node.scratch_write_gbps", NULL, NULL)->labels[0].value.string;
	const char *expected = context->ctx.env.storage_path ? "tmpfs" : "1 NVMe disk";
	if (fake_number(context, "node.scratch_tested_mib", NULL) > 0)
		ck_assert_msg(strncmp(layout, expected, strlen(expected)) == 0, "%s", layout);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .begin = check_needs_root_folder)

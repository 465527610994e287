/* SPDX-License-Identifier: Apache-2.0 */
/* test_file.c - files without a name
 *
 * This program has an openat, a fallocate and a pwrite of its own, which stand between muster and the kernel: a file
 * system that has no O_TMPFILE, no reservation, no direct access.
 */
#include "check_main.h"
#include "temporary_root.h"
#include "storage/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

static char root[64], path[256], made[256];
static struct muster_storage_file file;
static struct muster_error err;
static int no_tmpfile, no_fallocate, no_direct; /* errno to answer with; 0: what the kernel says */
static int had_name;                            /* a file was made with a name */

int openat(int folder, const char *name, int flags, ...)
{
	va_list rest;
	va_start(rest, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	if ((flags & O_TMPFILE) == O_TMPFILE && no_tmpfile) {
		errno = no_tmpfile;
		return -1;
	}
	if (flags & O_CREAT) {
		had_name++;
		snprintf(made, sizeof made, "%s", name);
		ck_assert_int_eq(flags & (O_EXCL | O_NOFOLLOW), O_EXCL | O_NOFOLLOW);
	}
	return (int)syscall(SYS_openat, folder, name, flags, mode);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	if (no_fallocate) {
		errno = no_fallocate;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	if (no_direct && fcntl(fd, F_GETFL) & O_DIRECT) {
		errno = no_direct;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

static void setup(void)
{
	/* /tmp may be a tmpfs: some of those have no direct access */
	temporary_root_make_below(root, sizeof root, "/var/tmp", "file");
	no_tmpfile = no_fallocate = no_direct = had_name = 0;
	file = (struct muster_storage_file){ .fd = -1 };
}

static void teardown(void)
{
	muster_storage_file_close(&file);
	ck_assert_int_eq(rmdir(root), 0); /* nothing is left in it */
}

static void open_file(uint64_t bytes)
{
	ck_assert_msg(muster_storage_file_open(root, bytes, &file, &err) == 0, "%s", err.text);
}

static int entries(void)
{
	DIR *folder = opendir(root);
	int count = -2; /* "." and ".." */
	ck_assert_ptr_nonnull(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void refused(const char *folder, uint64_t bytes, enum muster_code code, const char *part)
{
	struct muster_storage_file none = { .fd = -7 };
	ck_assert_int_eq(muster_storage_file_open(folder, bytes, &none, &err), -1);
	ck_assert_int_eq(none.fd, -7);
	ck_assert_msg(err.code == code && strstr(err.text, part), "%s (%s)", err.text, muster_code_name(err.code));
}

TEST(a_file_has_its_bytes_in_whole_blocks_and_no_name)
{
	struct stat status;
	open_file((1 << 20) + 1);
	ck_assert_uint_eq(file.bytes, (1 << 20) + file.block);
	ck_assert_uint_ge(file.block, 4096);
	ck_assert_int_eq(fstat(file.fd, &status), 0);
	ck_assert_uint_eq((uint64_t)status.st_size, file.bytes);
	ck_assert_uint_ge((uint64_t)status.st_blocks * 512, file.bytes);
	ck_assert_uint_eq(status.st_nlink, 0);
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	ck_assert_int_eq(entries(), 0);
	ck_assert_int_eq(had_name, 0);
	ck_assert_int_eq(!file.direct, file.why_buffered[0] != '\0');
	ck_assert_int_eq(!(fcntl(file.fd, F_GETFL) & O_DIRECT), !file.direct);
}

static const int without_tmpfile[] = { EOPNOTSUPP, EISDIR, ENOENT, EINVAL };
TEST_EACH(without_o_tmpfile_the_name_is_gone_before_the_first_byte, without_tmpfile)
{
	no_tmpfile = without_tmpfile[_i];
	open_file(1 << 20);
	ck_assert_int_eq(had_name, 1);
	ck_assert_msg(strncmp(made, ".muster-", 8) == 0, "%s", made);
	ck_assert_int_eq(entries(), 0);
	ck_assert_uint_eq(file.bytes, 1 << 20);
}

TEST(a_folder_that_may_not_be_written_to_gets_no_second_try)
{
	no_tmpfile = EACCES;
	refused(root, 1 << 20, MUSTER_ENOPERMISSION, "Permission denied");
	no_tmpfile = EROFS;
	refused(root, 1 << 20, MUSTER_ENOTSUPPORTED, "Read-only file system");
	ck_assert_int_eq(had_name, 0);
}

TEST(a_file_system_that_reserves_nothing_is_written_to_as_it_is)
{
	no_fallocate = EOPNOTSUPP;
	open_file(1 << 20);
	struct stat status;
	ck_assert_int_eq(fstat(file.fd, &status), 0);
	ck_assert_int_eq(status.st_size, 1 << 20);
}

TEST(space_that_is_not_there_is_an_error)
{
	no_fallocate = ENOSPC;
	refused(root, 1 << 20, MUSTER_ENOTSUPPORTED, "space for the file: No space left on device");
	no_fallocate = EDQUOT;
	refused(root, 1 << 20, MUSTER_ENOTSUPPORTED, "Disk quota exceeded");
}

TEST(a_file_takes_at_most_half_of_what_is_free)
{
	struct statvfs space;
	ck_assert_int_eq(statvfs(root, &space), 0);
	uint64_t bytes = (uint64_t)space.f_bavail * space.f_frsize;
	refused(root, bytes / 4 * 3, MUSTER_ENOTSUPPORTED, "would take more than half of that");
	ck_assert_int_eq(had_name, 0);
}

static const int without_direct[] = { EINVAL, EOPNOTSUPP };
TEST_EACH(a_file_system_that_refuses_direct_access_gives_a_buffered_file, without_direct)
{
	no_direct = without_direct[_i];
	open_file(1 << 20);
	ck_assert(!file.direct);
	ck_assert_ptr_nonnull(strstr(file.why_buffered, strerror(no_direct)));
	ck_assert_int_eq(fcntl(file.fd, F_GETFL) & O_DIRECT, 0);
	ck_assert_int_eq(pwrite(file.fd, "odd", 3, 5), 3);
	ck_assert_int_eq(muster_storage_file_settle(&file, &err), 0);
}

TEST(a_disk_that_fails_at_once_is_an_error)
{
	no_direct = EIO;
	muster_storage_file_open(root, 1 << 20, &file, &err);
	if (file.fd >= 0) /* no direct access here at all */
		return;
	ck_assert_msg(strstr(err.text, "first direct write: Input/output error") != NULL, "%s", err.text);
}

TEST(sizes_that_cannot_be_are_refused)
{
	refused(root, 0, MUSTER_EUSAGE, "0 bytes");
	refused(root, UINT64_MAX, MUSTER_EUSAGE, "cannot be");
	refused("missing", 1, MUSTER_EUSAGE, "absolute");
}

TEST(an_existing_file_is_read_and_only_a_regular_one)
{
	snprintf(path, sizeof path, "%s/data", root);
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	for (int i = 0; i < 5000; i++)
		fputc('x', out);
	fclose(out);
	ck_assert_msg(muster_storage_file_open_existing(path, &file, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(file.bytes, 5000);
	ck_assert_uint_eq(muster_storage_blocks(&file, file.bytes) % file.block, 0);
	ck_assert_int_eq(pwrite(file.fd, "y", 1, 0), -1);
	muster_storage_file_close(&file);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(muster_storage_file_open_existing(path, &file, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_int_eq(muster_storage_file_open_existing(root, &file, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "not a regular file"));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(muster_storage_file_open_existing(path, &file, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "not a regular file"));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(file.fd, -1);
}

TEST(closing_twice_and_closing_nothing_is_harmless)
{
	struct muster_storage_file zeros = { 0 };
	muster_storage_file_close(&zeros);
	ck_assert_int_ne(fcntl(0, F_GETFD), -2);
	open_file(4096);
	muster_storage_file_close(&file);
	muster_storage_file_close(&file);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .begin = check_needs_root_folder)

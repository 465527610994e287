/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.c - the folders that muster writes to, and those that it does not
 *
 * This program has a statvfs of its own: file systems that report no size.
 */
#include "check_main.h"
#include "temporary_root.h"
#include "storage/folder.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/statvfs.h>

enum { NOBODY = 65534, SOMEONE = 12345 };

static char root[64], path[256];
static struct muster_error err;

static void setup(void)
{
	temporary_root_make(root, sizeof root, "folder");
	err = (struct muster_error){ 0 };
}

static void teardown(void)
{
	temporary_root_remove(root);
}

static const char *in_root(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", root, name);
	return path;
}

static void folder(const char *name, mode_t mode, uid_t owner)
{
	ck_assert_int_eq(mkdir(in_root(name), 0755), 0);
	ck_assert(owner == geteuid() || chown(path, owner, owner) == 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void become(uid_t user)
{
	ck_assert_int_eq(chmod(root, 0755), 0);
	ck_assert(setegid(user) == 0 && seteuid(user) == 0);
}

static void become_root(void)
{
	ck_assert(seteuid(0) == 0 && setegid(0) == 0);
}

static void refused(const char *folder_path, enum muster_code code, const char *part)
{
	ck_assert_int_eq(muster_storage_folder_check(folder_path, &err), -1);
	ck_assert_msg(err.code == code, "%s: code %s", err.text, muster_code_name(err.code));
	ck_assert_msg(strstr(err.text, part) != NULL, "%s", err.text);
}

TEST(a_folder_of_this_user_is_accepted_with_any_slashes)
{
	folder("a", 0700, geteuid());
	folder("a/b", 0700, geteuid());
	ck_assert_msg(muster_storage_folder_check(in_root("a/b"), &err) == 0, "%s", err.text);
	ck_assert_msg(muster_storage_folder_check(in_root("/a//b/"), &err) == 0, "%s", err.text);
	int at = muster_storage_folder_open(in_root("a"), &err);
	ck_assert_int_ge(at, 0);
	ck_assert_int_eq(faccessat(at, "b", F_OK, 0), 0);
	close(at);
	ck_assert_int_eq(muster_storage_folder_check("/", &err), geteuid() == 0 ? 0 : -1);
}

TEST(what_is_no_folder_is_refused)
{
	refused("relative/path", MUSTER_EUSAGE, "an absolute path is needed");
	refused("", MUSTER_EUSAGE, "an absolute path is needed");
	refused(in_root("missing"), MUSTER_EUSAGE, "No such file or directory");
	int fd = open(in_root("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	refused(in_root("file"), MUSTER_EUSAGE, "Not a directory");
	refused(in_root("file/below"), MUSTER_EUSAGE, "Not a directory");
}

TEST(root_follows_no_link_wherever_it_is)
{
	if (geteuid() != 0)
		return;
	folder("real", 0755, 0);
	folder("real/below", 0755, 0);
	ck_assert_int_eq(symlink("real", in_root("link")), 0);
	ck_assert_int_eq(symlink("below", in_root("real/last")), 0);
	refused(in_root("link"), MUSTER_EUSAGE, "\"link\" is a symbolic link");
	refused(in_root("link/below"), MUSTER_EUSAGE, "\"link\" is a symbolic link");
	refused(in_root("real/last"), MUSTER_EUSAGE, "\"last\" is a symbolic link");
	refused(in_root("real/last/"), MUSTER_EUSAGE, "\"last\" is a symbolic link");
}

TEST(a_user_follows_links_to_folders_that_muster_may_write_to)
{
	if (geteuid() != 0)
		return;
	folder("mine", 0755, SOMEONE);
	folder("theirs", 0777, NOBODY);
	ck_assert_int_eq(symlink("mine", in_root("link")), 0);
	ck_assert_int_eq(symlink("theirs", in_root("away")), 0);
	become(SOMEONE);
	ck_assert_msg(muster_storage_folder_check(in_root("link"), &err) == 0, "%s", err.text);
	refused(in_root("away"), MUSTER_ENOPERMISSION, "belongs to another user");
	become_root();
}

TEST(the_folder_of_another_user_is_refused)
{
	if (geteuid() != 0)
		return;
	folder("theirs", 0777, SOMEONE);
	refused(in_root("theirs"), MUSTER_ENOPERMISSION, "belongs to another user (12345)");
	folder("open", 01777, 0);
	folder("closed", 0755, 0);
	become(SOMEONE);
	ck_assert_msg(muster_storage_folder_check(in_root("theirs"), &err) == 0, "%s", err.text);
	ck_assert_msg(muster_storage_folder_check(in_root("open"), &err) == 0, "%s", err.text);
	refused(in_root("closed"), MUSTER_ENOPERMISSION, "is not writable: Permission denied");
	become_root();
}

TEST(a_folder_that_may_be_entered_and_not_read_is_accepted)
{
	if (geteuid() != 0)
		return;
	folder("blind", 0300, SOMEONE);
	become(SOMEONE);
	ck_assert_msg(muster_storage_folder_check(in_root("blind"), &err) == 0, "%s", err.text);
	become_root();
}

static const struct {
	struct statvfs space;
	int result;
} spaces[] = {
	{ { .f_frsize = 4096, .f_blocks = 1000, .f_bavail = 512 }, 0 },
	{ { .f_frsize = 4096, .f_blocks = 1000, .f_bavail = 511 }, -1 },
	{ { .f_bsize = 4096, .f_blocks = 1000, .f_bavail = 512 }, 0 },
	{ { .f_frsize = 4096 }, 0 },
};
static size_t asked;

int statvfs(const char *folder_path, struct statvfs *ret)
{
	(void)folder_path;
	*ret = spaces[asked].space;
	return 0;
}

TEST_EACH(files_take_at_most_half_of_what_is_free_where_that_is_known, spaces)
{
	asked = (size_t)_i;
	ck_assert_int_eq(muster_storage_space_check("/", 1, 1 << 20, &err), spaces[_i].result);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .begin = check_needs_root_folder)

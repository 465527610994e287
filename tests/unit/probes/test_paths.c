/* SPDX-License-Identifier: Apache-2.0 */
/* test_paths.c - files, folders and other things at expected paths, and what their hash covers */
#include "check_main.h"
#include "probe_fake.h"

#include "probes/paths/content.h"
#include "util/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

extern const struct muster_probe muster_probe_paths;

static struct probe_fake *context;
static const char *paths[8];

static void setup(void)
{
	context = fake_new(&muster_probe_paths);
	context->ctx.env.expect_paths = paths;
}

static void teardown(void)
{
	fake_free(context);
}

static const char *whole(const char *path)
{
	static char text[PATH_MAX];
	snprintf(text, sizeof text, "%s%s", context->root, path);
	return text;
}

static void measure(size_t count)
{
	struct muster_error err;
	fake_forget(context);
	context->ctx.env.expect_path_count = count;
	ck_assert_int_eq(muster_probe_paths.run(&context->ctx, &err), 0);
	if (count > 0)
		fake_complete(context, NULL);
}

/* The hash of one path. */
static const char *hash_of(const char *path)
{
	static char texts[4][160];
	static int next;
	char *text = texts[next++ % 4];
	paths[0] = path;
	measure(1);
	if (strncmp(path, "content:", 8) == 0)
		path += 8;
	snprintf(text, sizeof *texts, "%s", fake_string(context, "node.path_hash", path));
	return text;
}

TEST(without_paths_there_are_no_samples)
{
	measure(0);
	ck_assert_uint_eq(context->samples.count, 0);
}

TEST(a_file_is_hashed_by_its_bytes)
{
	fake_file(context, "/data/abc", "abc");
	fake_file(context, "/data/empty", "");
	ck_assert_str_eq(hash_of("/data/abc"), "44bc2cf5ad770999, 3 bytes");
	ck_assert_str_eq(fake_string(context, "node.path_type", "/data/abc"), "file");
	ck_assert_str_eq(fake_reason(context, "node.path_entries", "/data/abc"), "a file has no entries");
	ck_assert_double_ge(fake_number(context, "node.path_open_ms", "/data/abc"), 0);
	ck_assert_ptr_nonnull(strstr(context->steps, "read /data/abc\n"));
	ck_assert_str_eq(hash_of("/data/empty"), "ef46db3751d8e999, 0 bytes");
}

/* An emulator may need longer for a GiB than a path may take. */
TEST_WITH(a_large_file_is_hashed_at_both_ends, .end = 1, .not_emulated = true)
{
	const off_t size = (off_t)1 << 30;
	char first[160], other[160];
	fake_file(context, "/big", "x");
	ck_assert_int_eq(truncate(whole("/big"), size + 4096), 0);
	snprintf(first, sizeof first, "%s", hash_of("/big"));
	ck_assert_ptr_nonnull(strstr(first, " of the first and the last 512 MiB, 1073745920 bytes"));
	int fd = open(whole("/big"), O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "y", 1, size + 4095), 1);
	close(fd);
	snprintf(other, sizeof other, "%s", hash_of("/big"));
	ck_assert_str_ne(first, other);
}

TEST(a_folder_is_hashed_by_names_types_and_sizes)
{
	char first[160];
	fake_file(context, "/apps/bin/python", "1234");
	fake_file(context, "/apps/lib/empty", NULL);
	fake_file(context, "/apps/VERSION", "2.9");
	ck_assert_int_eq(symlink("bin/python", whole("/apps/python")), 0);
	snprintf(first, sizeof first, "%s", hash_of("/apps"));
	ck_assert_ptr_nonnull(strstr(first, ", 6 entries"));
	ck_assert_double_eq(fake_number(context, "node.path_entries", "/apps"), 6);
	fake_file(context, "/apps/VERSION", "2.8");
	ck_assert_str_eq(hash_of("/apps"), first); /* of the same size */
	fake_file(context, "/apps/VERSION", "2.10");
	ck_assert_str_ne(hash_of("/apps"), first);
	fake_file(context, "/apps/VERSION", "2.9");
	ck_assert_str_eq(hash_of("/apps"), first);
	ck_assert_int_eq(remove(whole("/apps/python")), 0);
	ck_assert_int_eq(symlink("bin/python3", whole("/apps/python")), 0);
	ck_assert_str_ne(hash_of("/apps"), first);
	ck_assert_int_eq(remove(whole("/apps/python")), 0);
	fake_file(context, "/apps/bin/a", "");
	ck_assert_str_ne(hash_of("/apps"), first);
}

/* The same names in other folders. */
TEST(where_an_entry_lies_counts)
{
	char first[160];
	fake_file(context, "/one/a/b", NULL);
	fake_file(context, "/one/c", NULL);
	fake_file(context, "/two/a/b/c", NULL);
	fake_file(context, "/three/a/b", NULL);
	fake_file(context, "/three/a/c", NULL);
	snprintf(first, sizeof first, "%s", hash_of("/one"));
	ck_assert_str_ne(hash_of("/two"), first);
	ck_assert_str_ne(hash_of("/three"), first);
	ck_assert_ptr_nonnull(strstr(first, "3 entries"));
}

TEST(with_content_the_bytes_of_files_count)
{
	char first[160];
	fake_file(context, "/apps/bin/python", "1234");
	fake_file(context, "/apps/VERSION", "2.9");
	snprintf(first, sizeof first, "%s", hash_of("content:/apps"));
	ck_assert_ptr_nonnull(strstr(first, ", 3 entries, 7 bytes of content"));
	fake_file(context, "/apps/VERSION", "2.8");
	ck_assert_str_ne(hash_of("content:/apps"), first);
	fake_file(context, "/apps/VERSION", "2.9");
	ck_assert_str_eq(hash_of("content:/apps"), first);
}

static const char *type_of(const char *path)
{
	paths[0] = path;
	measure(1);
	ck_assert_str_eq(fake_reason(context, "node.path_hash", path), fake_string(context, "node.path_type", path));
	return fake_string(context, "node.path_type", path);
}

/* None of them is opened, so a FIFO without a writer does not stop anything. */
TEST(what_is_neither_file_nor_folder_is_named)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	ck_assert_int_eq(mkfifo(whole("/fifo"), 0600), 0);
	ck_assert_str_eq(type_of("/fifo"), "a FIFO");
	ck_assert_int_eq(symlink("/dev/null", whole("/null")), 0);
	ck_assert_str_eq(type_of("/null"), "a device");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%.90s", whole("/socket"));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_str_eq(type_of("/socket"), "a socket");
	close(fd);
	ck_assert_str_eq(type_of("/nothing"), "missing");
	ck_assert_str_eq(type_of("/fifo/below"), "missing");
	ck_assert_int_eq(symlink("/nowhere/at/all", whole("/dangling")), 0);
	ck_assert_str_eq(type_of("/dangling"), "missing");
	ck_assert_int_eq(symlink("loop", whole("/loop")), 0);
	ck_assert_str_eq(type_of("/loop"), "unreadable: Too many levels of symbolic links");
}

TEST(special_files_in_a_folder_are_listed_and_not_opened)
{
	fake_file(context, "/apps/file", "");
	char first[160];
	snprintf(first, sizeof first, "%s", hash_of("content:/apps"));
	ck_assert_int_eq(mkfifo(whole("/apps/pipe"), 0600), 0);
	ck_assert_str_ne(hash_of("content:/apps"), first);
	ck_assert_double_eq(fake_number(context, "node.path_entries", "/apps"), 2);
}

TEST(a_link_to_a_folder_is_the_folder)
{
	char first[160];
	fake_file(context, "/store/env-1/file", "abc");
	ck_assert_int_eq(symlink("store/env-1", whole("/env")), 0);
	snprintf(first, sizeof first, "%s", hash_of("/store/env-1"));
	ck_assert_str_eq(hash_of("/env"), first);
	ck_assert_str_eq(fake_string(context, "node.path_type", "/env"), "folder");
}

TEST(what_may_not_be_read_is_not_missing)
{
	fake_file(context, "/closed/file", "abc");
	ck_assert_int_eq(chmod(whole("/closed/file"), 0), 0);
	if (access(whole("/closed/file"), R_OK) == 0) /* root reads everything */
		return;
	ck_assert_str_eq(type_of("/closed/file"), "unreadable: Permission denied");
	ck_assert_int_eq(chmod(whole("/closed"), 0), 0);
	ck_assert_str_eq(type_of("/closed/file"), "unreadable: Permission denied");
	ck_assert_str_eq(type_of("/closed"), "unreadable: Permission denied");
	ck_assert_int_eq(chmod(whole("/closed"), 0700), 0);
}

TEST(each_path_has_its_samples)
{
	char longest[PATH_MAX + 10];
	memset(longest, 'x', sizeof longest - 1);
	longest[0] = '/';
	longest[sizeof longest - 1] = '\0';
	fake_file(context, "/a", "1");
	fake_file(context, "/b", "1");
	paths[0] = "/a";
	paths[1] = "/b";
	paths[2] = longest;
	measure(3);
	ck_assert_uint_eq(context->samples.count, 12);
	ck_assert_str_eq(fake_string(context, "node.path_hash", "/a"), fake_string(context, "node.path_hash", "/b"));
	ck_assert_str_eq(fake_string(context, "node.path_type", longest), "unreadable: File name too long");
}

TEST(a_path_that_takes_too_long_has_no_hash)
{
	struct muster_path_content content;
	fake_file(context, "/apps/a", "abc");
	muster_path_content_read(whole("/apps"), false, muster_now_ms() - 1, &content);
	ck_assert_str_eq(content.type, "folder");
	ck_assert_str_eq(content.hash, "");
	ck_assert_str_eq(content.why, "not read within 0.0 s: 0 entries so far");
	muster_path_content_read(whole("/apps/a"), false, muster_now_ms() - 1, &content);
	ck_assert_str_eq(content.why, "not read within 0.0 s: 0 of 3 bytes so far");
}

/* Stopped by a count, two nodes stop at the same entry. */
TEST(only_the_first_entries_of_a_large_folder_count)
{
	char path[64], first[160];
	for (int i = 0; i < MUSTER_PATH_ENTRIES; i++) {
		snprintf(path, sizeof path, "/apps/%03d", i / 1000);
		if (i % 1000 == 0)
			fake_file(context, path, NULL);
		snprintf(path, sizeof path, "%s/apps/%03d/%03d", context->root, i / 1000, i % 1000);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	snprintf(first, sizeof first, "%s", hash_of("/apps"));
	ck_assert_ptr_nonnull(strstr(first, ", the first 100000 entries"));
	fake_file(context, "/apps/099/999", "behind the last one");
	ck_assert_str_eq(hash_of("/apps"), first);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200)

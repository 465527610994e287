/* SPDX-License-Identifier: Apache-2.0 */
/* test_input.c - files as they are and of gzip are read to the end, and written whole */
#include "util/input.h"
#include "muster/arena.h"
#include "util/file.h"

#include "check_main.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 20000 };

static char directory[64], path[96];

static void make_directory(void)
{
	snprintf(directory, sizeof directory, "/tmp/muster-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/text.gz", directory);
}

static void remove_directory(void)
{
	unlink(path);
	ck_assert_msg(rmdir(directory) == 0, "something was left in %s", directory);
}

/* A file of LINES numbers; the caller frees its text. */
static char *write_lines(const char *name)
{
	struct muster_file file;
	struct muster_error err;
	char *text = muster_calloc(LINES, 8), *end = text;
	for (int i = 0; i < LINES; i++)
		end += snprintf(end, 8, "%d\n", i * 37 % 9973);
	ck_assert_msg(muster_file_open(&file, name, &err) == 0, "%s", err.text);
	fputs(text, file.out);
	ck_assert_msg(muster_file_commit(&file, &err) == 0, "%s", err.text);
	return text;
}

/* The bytes of the file, first of which `left` are kept, once or twice. */
static size_t rewrite(size_t left, int times)
{
	struct muster_error err;
	char *bytes;
	size_t length;
	ck_assert_msg(muster_file_read(path, 1 << 20, &bytes, &length, &err) == 0, "%s", err.text);
	left = left < length ? left : length;
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	for (int i = 0; i < times; i++)
		ck_assert_uint_eq(fwrite(bytes, 1, left, out), left);
	ck_assert_int_eq(fclose(out), 0);
	free(bytes);
	return length;
}

static void assert_refused(size_t limit, const char *why)
{
	struct muster_error err;
	char *text;
	size_t length;
	ck_assert_int_eq(muster_input_read_file(path, limit, &text, &length, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0 && strstr(err.text, why), "%s", err.text);
}

TEST(a_file_that_is_not_of_gzip_is_read_as_it_is)
{
	struct muster_error err;
	char plain[sizeof path], *text = NULL, *back = NULL;
	size_t length;
	snprintf(plain, sizeof plain, "%s/text", directory);
	text = write_lines(plain);
	ck_assert_msg(muster_input_read_file(plain, strlen(text), &back, &length, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(length, strlen(text));
	ck_assert_str_eq(back, text);
	free(back);
	ck_assert_int_eq(muster_input_read_file(plain, strlen(text) - 1, &back, &length, &err), -1);
	ck_assert_msg(strstr(err.text, "bytes, at most"), "%s", err.text);
	unlink(plain);
	free(text);
}

TEST(a_pipe_is_read_as_standard_input_alone)
{
	struct muster_input input;
	struct muster_error err;
	int ends[2];
	char text[16];
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_eq(muster_input_begin(&input, ends[0], "fifo", 100, &err), -1);
	ck_assert_str_eq(err.text, "is not a regular file");
	muster_input_done(&input);
	ck_assert_int_eq(muster_input_begin(&input, ends[0], "-", 4, &err), 0);
	ck_assert_int_eq(write(ends[1], "four", 4), 4);
	ck_assert_int_eq(muster_input_read(&input, text, sizeof text, &err), 4);
	ck_assert_int_eq(write(ends[1], "5", 1), 1);
	ck_assert_int_eq(muster_input_read(&input, text, sizeof text, &err), -1);
	ck_assert_str_eq(err.text, "has more than 4 bytes");
	muster_input_done(&input);
	close(ends[0]);
	close(ends[1]);
}

#ifdef MUSTER_HAVE_ZLIB

/* Files of gzip, one after the other, are one text, as they are for zcat. */
TEST_LOOP(a_name_that_ends_in_gz_is_written_as_gzip_and_read_back, 1, 3)
{
	struct muster_error err;
	char *text = write_lines(path), *back = NULL;
	size_t length, once = strlen(text);
	ck_assert_uint_lt(rewrite(SIZE_MAX, _i), once / 2);
	ck_assert_msg(muster_input_read_file(path, 1 << 20, &back, &length, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(length, once * (size_t)_i);
	for (int i = 0; i < _i; i++)
		ck_assert_int_eq(memcmp(back + once * (size_t)i, text, once), 0);
	free(back);
	free(text);
}

TEST(what_inflates_to_more_than_the_limit_is_refused)
{
	char *text = write_lines(path);
	assert_refused(strlen(text) - 1, "inflated from gzip, it has more than ");
	free(text);
}

TEST(a_file_of_gzip_that_ends_too_early_is_refused)
{
	free(write_lines(path));
	for (size_t left = rewrite(SIZE_MAX, 1) - 1; left >= 2; left = left > 30 ? left / 2 : left - 1) {
		rewrite(left, 1);
		assert_refused(1 << 20, "the gzip file ends too early");
	}
}

TEST(a_damaged_file_of_gzip_is_refused)
{
	free(write_lines(path));
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, "\xff\xff\xff\xff", 4, 2000), 4);
	close(fd);
	assert_refused(1 << 20, "the gzip file is damaged");
}

TEST(what_follows_a_file_of_gzip_is_gzip_too)
{
	free(write_lines(path));
	FILE *out = fopen(path, "ae");
	fputs("more", out);
	fclose(out);
	assert_refused(1 << 20, "the gzip file is damaged");
}

TEST(an_abandoned_file_of_gzip_leaves_nothing)
{
	struct muster_file file;
	struct muster_error err;
	ck_assert_int_eq(muster_file_open(&file, path, &err), 0);
	fputs("text", file.out);
	muster_file_abandon(&file);
	ck_assert_int_eq(access(path, F_OK), -1);
}

TEST(a_device_that_is_full_is_said)
{
	struct muster_file file;
	struct muster_error err;
	ck_assert_int_eq(symlink("/dev/full", path), 0);
	ck_assert_int_eq(muster_file_open(&file, path, &err), 0);
	fputs("text", file.out);
	ck_assert_int_eq(muster_file_commit(&file, &err), -1);
	ck_assert_msg(strstr(err.text, "No space left on device"), "%s", err.text);
}

#else

TEST(without_zlib_the_message_says_what_to_do)
{
	struct muster_file file;
	struct muster_error err;
	char *text;
	size_t length;
	ck_assert_int_eq(muster_file_open(&file, path, &err), -1);
	ck_assert_msg(strstr(err.text, "write the file without .gz"), "%s", err.text);
	FILE *out = fopen(path, "we");
	fputs("\x1f\x8b", out);
	fclose(out);
	ck_assert_int_eq(muster_input_read_file(path, 100, &text, &length, &err), -1);
	ck_assert_msg(strstr(err.text, "zcat"), "%s", err.text);
}

#endif

TEST_MAIN(.setup = make_directory, .teardown = remove_directory)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_line_reader.c - lines of a pipe and of a file, whole, cut or too long */
#include "util/line_reader.h"

#include "check_main.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 100 };

static struct muster_line_reader lines;
static int writer;

static void setup(void)
{
	int ends[2];
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	writer = ends[1];
	muster_line_reader_init(&lines, ends[0], MOST);
}

static void teardown(void)
{
	close(writer);
	muster_line_reader_done(&lines);
}

static void say(const char *text)
{
	ck_assert_int_eq(write(writer, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect(const char *wanted)
{
	const char *text;
	size_t length;
	ck_assert_int_eq(muster_line_reader_next(&lines, &text, &length), 1);
	ck_assert_str_eq(text, wanted);
	ck_assert_uint_eq(length, strlen(wanted));
}

static void expect_nothing_yet(void)
{
	const char *text;
	size_t length;
	ck_assert_int_eq(muster_line_reader_next(&lines, &text, &length), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

static void expect_end(void)
{
	const char *text;
	size_t length;
	close(writer);
	ck_assert_int_eq(muster_line_reader_next(&lines, &text, &length), 0);
	ck_assert_int_eq(muster_line_reader_next(&lines, &text, &length), 0);
	writer = dup(0);
}

TEST(lines_come_one_by_one)
{
	say("one\n\n\ntwo\nthr");
	expect("one");
	expect("two");
	expect_nothing_yet();
	say("ee\n");
	expect("three");
	ck_assert(!lines.cut);
	expect_nothing_yet();
	expect_end();
}

TEST(the_end_may_cut_a_line)
{
	say("one\ntw");
	expect("one");
	close(writer);
	expect("tw");
	ck_assert(lines.cut);
	writer = dup(0);
}

/* Read in several pieces, and never kept whole. */
TEST(a_line_that_is_too_long_is_left_out_and_counted)
{
	static char large[60001];
	memset(large, 'x', sizeof large - 1);
	say("before\n");
	for (int i = 0; i < 4; i++) {
		say(large);
		if (i == 0)
			expect("before");
		expect_nothing_yet();
		ck_assert_uint_lt(lines.room, 4 << 16);
	}
	say("\nbehind\n");
	expect("behind");
	ck_assert_uint_eq(lines.too_long, 1);
	expect_end();
}

TEST(only_a_regular_file_is_opened)
{
	struct muster_line_reader file;
	struct muster_error err;
	char path[] = "/tmp/muster-lines-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(muster_line_reader_open(&file, path, MOST, &err), -1);
	ck_assert_str_eq(err.text, "is not a regular file");
	rmdir(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(muster_line_reader_open(&file, path, MOST, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
	unlink(path);
	ck_assert_int_eq(muster_line_reader_open(&file, path, MOST, &err), -1);
	ck_assert_str_eq(err.text, "No such file or directory");
	int before = dup(0);
	close(before);
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	fputs("a line\n", out);
	fclose(out);
	const char *text;
	size_t length;
	ck_assert_int_eq(muster_line_reader_open(&file, path, MOST, &err), 0);
	ck_assert_int_eq(muster_line_reader_next(&file, &text, &length), 1);
	ck_assert_str_eq(text, "a line");
	muster_line_reader_done(&file);
	int after = dup(0);
	close(after);
	ck_assert_int_eq(before, after);
	unlink(path);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

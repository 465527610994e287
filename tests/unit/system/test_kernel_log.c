/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_log.c - kernel logs of our own making, as files in a root of our own */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/kernel_log.h"
#include "muster/arena.h"
#include "util/text.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct muster_kernel_log reader;
static struct muster_kernel_reach reach;
static struct muster_error err;
static char taken[1 << 16]; /* "AGE text|", in the order in which records came */

static void setup(void)
{
	tree_make();
	put("proc/uptime", "7200.00 1.00\n");
	put("proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n");
}

static void teardown(void)
{
	muster_kernel_log_done(&reader);
	tree_remove();
}

static void take(void *arg, const struct muster_kernel_record *record)
{
	(void)arg;
	ck_assert_double_ge(record->age_s, 0);
	size_t used = strlen(taken);
	snprintf(taken + used, sizeof taken - used, "%g %s|", record->age_s, record->text);
}

/* The first record's text. */
static void take_some(void *arg, const struct muster_kernel_record *record)
{
	if (reach.records == 1)
		snprintf(arg, 128, "%s", record->text);
}

static int read_log(void)
{
	*taken = '\0';
	return muster_kernel_log_read(&reader, root, take, NULL, &reach, &err);
}

static const struct {
	const char *line, *text; /* NULL: no record of the kernel */
	double sequence, seconds;
} records[] = {
	{ "6,1234,5678901,-;usb 1-1: new device", "usb 1-1: new device", 1234, 5.678901 },
	{ "0,0,0,-;", "", 0, 0 },
	{ "3,7,1,c,caller=T12;text; with a semicolon", "text; with a semicolon", 7, 1e-6 },
	{ "4,7,1,-;a\\x0ab\\x5cx41 \\xc3\\xa9", "a b\\x41 \xc3\xa9", 7, 1e-6 },
	{ "4,7,1,-;a\\x00b", "a?b", 7, 1e-6 },
	{ "4,7,1,-;a\\x0", "a\\x0", 7, 1e-6 },
	{ "4,7,1,-;\\x", "\\x", 7, 1e-6 },
	/* what programs write to /dev/kmsg: facility 1 and others */
	{ "12,7,1,-;NVRM: Xid (PCI:0000:3b:00): 79", NULL, 0, 0 },
	{ "30,7,1,-;systemd[1]: Started", NULL, 0, 0 },
	{ " SUBSYSTEM=pci", NULL, 0, 0 },
	{ "", NULL, 0, 0 },
	{ "6", NULL, 0, 0 },
	{ "6,", NULL, 0, 0 },
	{ "6,7,8,-", NULL, 0, 0 },
	{ "6,7;text", NULL, 0, 0 },
	{ "-6,7,8,-;text", NULL, 0, 0 },
	{ "6,7,12345678901234567890,-;text", NULL, 0, 0 },
};

TEST_EACH(a_record_is_read_as_the_kernel_writes_it, records)
{
	char text[MUSTER_KERNEL_TEXT_MAX + 1];
	uint64_t sequence;
	double seconds;
	size_t length = strlen(records[_i].line);
	char *line = muster_realloc(NULL, length + 1, 1); /* of just its size, for the sanitizer to watch */
	memcpy(line + 1, records[_i].line, length);
	bool got = muster_kernel_record_parse(line + 1, length, &sequence, &seconds, text);
	free(line);
	ck_assert_int_eq(got, records[_i].text != NULL);
	if (!got)
		return;
	ck_assert_str_eq(text, records[_i].text);
	ck_assert_double_eq((double)sequence, records[_i].sequence);
	ck_assert_double_eq_tol(seconds, records[_i].seconds, 1e-9);
}

TEST(a_long_text_is_cut)
{
	char line[3 * MUSTER_KERNEL_TEXT_MAX], text[MUSTER_KERNEL_TEXT_MAX + 1];
	uint64_t sequence;
	double seconds;
	memset(line, 'x', sizeof line);
	memcpy(line, "6,1,2,-;", 8);
	ck_assert(muster_kernel_record_parse(line, sizeof line, &sequence, &seconds, text));
	ck_assert_uint_eq(strlen(text), MUSTER_KERNEL_TEXT_MAX);
}

TEST(a_file_is_read_from_its_newest_record)
{
	put("dev/kmsg", "6,0,0,-;first\n6,1,7000000000,-;second\n SUBSYSTEM=pci\n DEVICE=+pci:0\n12,2,1,-;program\n"
			"6,3,7199000000,-;third\n6,4,7199000000,-;being wri");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "1 third|200 second|7200 first|");
	ck_assert_uint_eq(reach.records, 3);
	ck_assert_double_eq(reach.oldest_s, 7200);
	ck_assert_double_eq(reach.uptime_s, 7200);
	ck_assert_str_eq(reach.limit, "");
	ck_assert_int_eq(reader.source, MUSTER_KERNEL_LOG_KMSG);
}

TEST(the_next_read_gives_what_was_added)
{
	put("dev/kmsg", "6,0,0,-;first\n6,1,1000000,-;sec");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "7200 first|");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "");
	put_as("dev/kmsg", "ond\n6,2,8000000000,-;third\n", "a");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "0 third|7199 second|"); /* a clock that runs ahead makes no negative age */
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "");
	put("dev/kmsg", "6,9,1000000,-;anew\n");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "7199 anew|");
}

TEST(lines_are_read_across_the_parts_of_a_file)
{
	enum { LINES = 2000, LONG = 1500, WIDTH = 1500 }; /* three parts of a MiB and more */
	char text[128];
	put("dev/kmsg", "6,0,0,-;first\n");
	FILE *out = fopen(in_tree("dev/kmsg"), "ae");
	ck_assert_ptr_nonnull(out);
	for (int i = 1; i < LINES; i++) {
		fprintf(out, "6,%d,%d,-;%*d\n", i, i, WIDTH + i % 100, i);
		if (i == LONG)
			fprintf(out, "6,%d,%d,-;%*d\n", i, i, 3 << 20, 1); /* longer than any part */
	}
	ck_assert_int_eq(fclose(out), 0);
	/* on a busy machine the time may be over first */
	for (int attempt = 0; attempt < 50; attempt++) {
		muster_kernel_log_done(&reader);
		ck_assert_int_eq(muster_kernel_log_read(&reader, root, take_some, text, &reach, &err), 0);
		if (!*reach.limit)
			break;
	}
	ck_assert_str_eq(reach.limit, "");
	ck_assert_uint_eq(reach.records, LINES);
}

TEST(a_log_that_lacks_its_beginning_says_so)
{
	put("dev/kmsg", "6,50,3600000000,-;text\n");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_double_eq(reach.oldest_s, 3600);
	ck_assert_str_eq(reach.limit, "older records of this boot were overwritten");
}

TEST(an_empty_log_is_a_log)
{
	put("dev/kmsg", "");
	ck_assert_int_eq(read_log(), 0);
	ck_assert_uint_eq(reach.records, 0);
	ck_assert_double_eq(reach.oldest_s, 0);
	ck_assert_str_ne(reach.limit, "");
}

TEST(a_log_of_gigabytes_is_read_from_its_end_in_a_moment)
{
	char text[128];
	put("dev/kmsg", "6,0,0,-;first\n");
	ck_assert_int_eq(truncate(in_tree("dev/kmsg"), (off_t)1 << 32), 0); /* a hole */
	FILE *out = fopen(in_tree("dev/kmsg"), "ae");
	ck_assert_ptr_nonnull(out);
	fputc('\n', out);
	for (int i = 1; i < 300000; i++)
		fprintf(out, "6,%d,%d,-;%s\n", i, i,
			"pcieport 0000:00:03.1: AER: a line of the length that many lines have");
	fputs("6,300000,7199000000,-;last\n", out);
	ck_assert_int_eq(fclose(out), 0);
	double before = muster_now_ms();
	ck_assert_int_eq(muster_kernel_log_read(&reader, root, take_some, text, &reach, &err), 0);
	ck_assert_str_eq(text, "last");
	ck_assert_double_lt(muster_now_ms() - before, 8000); /* on a machine that has other work too */
	ck_assert_uint_ge(reach.records, 64);
	ck_assert(reach.cut);
	ck_assert_msg(strstr(reach.limit, "newest records") || strstr(reach.limit, "64 MiB"), "%s", reach.limit);
}

/* A file in place of the device, which is read in its order. */
TEST(the_limit_that_ended_the_reading_is_named)
{
	put("dev/kmsg", "6,0,0,-;first\n");
	ck_assert_int_eq(truncate(in_tree("dev/kmsg"), (off_t)65 << 20), 0);
	reader.fd = open(in_tree("dev/kmsg"), O_RDONLY | O_CLOEXEC);
	reader.source = MUSTER_KERNEL_LOG_KMSG;
	ck_assert_int_eq(read_log(), 0);
	ck_assert(reach.cut);
	ck_assert_str_eq(reach.limit,
		"after 1 records the limit of 64 MiB was reached; newer ones are read at the end of the run");
}

TEST(a_machine_without_a_log_has_both_reasons)
{
	char expected[512];
	ck_assert_int_eq(read_log(), -1);
	snprintf(expected, sizeof expected,
		"%s/dev/kmsg: No such file or directory; neither /var/log/journal nor /run/log/journal has a journal "
		"of "
		"this boot",
		root);
	ck_assert_str_eq(err.text, expected);
	ck_assert_int_eq(err.code, MUSTER_ENOTSUPPORTED);
	ck_assert_int_eq(reader.source, MUSTER_KERNEL_LOG_NONE);
}

TEST_LOOP(what_is_not_the_kernels_log_is_left_alone, 0, 3)
{
	const char *path = in_tree("dev/kmsg");
	if (_i == 0)
		ck_assert_int_eq(symlink("/dev/null", path), 0);
	else if (_i == 1)
		ck_assert_int_eq(mkfifo(path, 0644), 0);
	else
		ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(read_log(), -1);
	ck_assert_msg(strstr(err.text, "/dev/kmsg is not the kernel's log; "), "%s", err.text);
}

TEST_LOOP(a_machine_without_a_clock_has_no_ages, 0, 2)
{
	put("dev/kmsg", "6,0,0,-;first\n");
	put("proc/uptime", _i == 0 ? "soon\n" : "-5 1\n");
	ck_assert_int_eq(read_log(), -1);
	ck_assert_msg(strstr(err.text, "/proc/uptime: no time"), "%s", err.text);
}

TEST(the_machines_own_log_can_be_read_or_says_why_not)
{
	if (muster_kernel_log_read(&reader, "", take_some, taken, &reach, &err) < 0) {
		ck_assert_msg(strstr(err.text, "/dev/kmsg"), "%s", err.text);
		return;
	}
	ck_assert_double_gt(reach.uptime_s, 0);
	ck_assert_double_le(reach.oldest_s, reach.uptime_s + 1);
	ck_assert_double_ge(muster_kernel_log_slack_s(""), 2);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200)

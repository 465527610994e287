/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c - journals of our own making, written by systemd-journal-remote where that is installed */
#include "check_main.h"
#include "unit/system/tree.h"
#include "system/kernel_log.h"
#include "util/child.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WRITER "/usr/lib/systemd/systemd-journal-remote"
#define MACHINE "0123456789abcdef0123456789abcdef"
#define BOOT "11111111111111111111111111111111"
#define OTHER_BOOT "22222222222222222222222222222222"
#define UPTIME_S 7200

static struct muster_kernel_log reader;
static struct muster_kernel_reach reach;
static struct muster_error err;
static long long source_us; /* stamps of the kernel; 0: entries have none */
static char taken[4096];    /* "AGE text|", in the order in which records came */

static void setup(void)
{
	source_us = 0;
	tree_make();
	put("proc/uptime", "7200.00 1.00\n");
	put("proc/sys/kernel/random/boot_id", "11111111-1111-1111-1111-111111111111\n");
}

static void teardown(void)
{
	muster_kernel_log_done(&reader);
	tree_remove();
}

struct entry {
	const char *boot;
	int seconds; /* since boot */
	const char *transport, *message;
	int facility;
};

/* As `journalctl -o export` prints entries. A message with a newline has its length before it. */
static void write_journal(const char *base, const char *name, const struct entry *entries, size_t count)
{
	char path[256], output[256];
	FILE *out = fopen(in_tree("export"), "we");
	for (size_t i = 0; i < count; i++) {
		const struct entry *e = &entries[i];
		bool now = strcmp(e->boot, BOOT) == 0;
		long long real = ((long long)time(NULL) - (now ? UPTIME_S : 10 * UPTIME_S) + e->seconds) * 1000000;
		fprintf(out, "__REALTIME_TIMESTAMP=%lld\n__MONOTONIC_TIMESTAMP=%lld\n_BOOT_ID=%s\n_MACHINE_ID=%s\n",
			real, e->seconds * 1000000LL, e->boot, MACHINE);
		if (source_us)
			fprintf(out, "_SOURCE_MONOTONIC_TIMESTAMP=%lld\n", source_us);
		fprintf(out, "_TRANSPORT=%s\nSYSLOG_FACILITY=%d\nMESSAGE", e->transport, e->facility);
		unsigned long long length = strlen(e->message);
		if (strchr(e->message, '\n')) {
			fputc('\n', out);
			for (int b = 0; b < 8; b++)
				fputc((int)(length >> 8 * b & 0xff), out);
		} else {
			fputc('=', out);
		}
		fprintf(out, "%s\n\n", e->message);
	}
	ck_assert_int_eq(fclose(out), 0);
	snprintf(path, sizeof path, "%s/%s/%s/x", root, base, MACHINE);
	put(path + strlen(root) + 1, "");
	snprintf(output, sizeof output, "--output=%s/%s/%s/%s", root, base, MACHINE, name);
	snprintf(path, sizeof path, "%s/export", root);
	struct muster_child_output printed;
	const char *const argv[] = { WRITER, output, path, NULL };
	ck_assert_msg(muster_child_run(argv, 30000, &printed, &err) == 0, "%s", err.text);
	ck_assert_msg(printed.exit_code == 0, "%s", printed.error);
	muster_child_output_done(&printed);
}

static void take(void *arg, const struct muster_kernel_record *record)
{
	(void)arg;
	ck_assert(record->backwards);
	size_t used = strlen(taken);
	snprintf(taken + used, sizeof taken - used, "%g %s|", record->age_s, record->text);
}

static int read_log(void)
{
	*taken = '\0';
	return muster_kernel_log_read(&reader, root, take, NULL, &reach, &err);
}

static const struct entry entries[] = {
	{ OTHER_BOOT, 100, "kernel", "of the boot before", 0 },
	{ BOOT, 1, "kernel", "first", 0 },
	{ BOOT, 3000, "kernel", "The NVIDIA GPU\nfallen off the bus", 0 },
	{ BOOT, 3600, "kernel", "of a program", 3 },
	{ BOOT, 3601, "syslog", "of a program too", 0 },
	{ BOOT, 7100, "kernel", "last", 0 },
};

TEST_LOOP(this_boots_kernel_messages_are_read_from_the_newest_on, 0, 2)
{
	write_journal(_i ? "run/log/journal" : "var/log/journal", "system.journal", entries, 6);
	ck_assert_msg(read_log() == 0, "%s", err.text);
	ck_assert_str_eq(taken, "100 last|4200 The NVIDIA GPU fallen off the bus|7199 first|");
	ck_assert_int_eq(reader.source, MUSTER_KERNEL_LOG_JOURNAL);
	ck_assert_uint_eq(reach.records, 3);
	ck_assert_double_eq(reach.oldest_s, UPTIME_S);
	ck_assert_str_eq(reach.limit, "");
	/* and no record twice */
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "");
}

TEST(full_files_are_read_after_the_present_one_and_those_of_users_are_not)
{
	char old[256];
	write_journal("var/log/journal", "system@0001-2.journal", entries + 2, 1);
	write_journal("var/log/journal", "user-1000.journal", entries + 1, 1);
	write_journal("var/log/journal", "system.journal", entries + 5, 1);
	snprintf(old, sizeof old, "%s/var/log/journal/%s/system@0001-2.journal", root, MACHINE);
	struct timespec times[2] = { { .tv_sec = time(NULL) - 60 }, { .tv_sec = time(NULL) - 60 } };
	ck_assert_int_eq(utimensat(AT_FDCWD, old, times, 0), 0);
	ck_assert_msg(read_log() == 0, "%s", err.text);
	ck_assert_str_eq(taken, "100 last|4200 The NVIDIA GPU fallen off the bus|");
	ck_assert_double_eq(reach.oldest_s, 4200);
	ck_assert_str_eq(reach.limit, "the journal has no older records of this boot");
}

TEST_LOOP(what_was_overwritten_in_kmsg_is_read_from_the_journal, 0, 2)
{
	put("dev/kmsg", _i ? "6,50,3000000000,-;newer\n6,51,7100000000,-;last\n" : "");
	write_journal("var/log/journal", "system.journal", entries, 6);
	ck_assert_msg(read_log() == 0, "%s", err.text);
	ck_assert_int_eq(reader.source, MUSTER_KERNEL_LOG_KMSG);
	ck_assert_str_eq(taken,
		_i ? "100 last|4200 newer|7199 first|" : "100 last|4200 The NVIDIA GPU fallen off the bus|7199 first|");
	ck_assert_double_eq(reach.oldest_s, UPTIME_S);
	ck_assert_str_eq(reach.limit, "");
	/* only kmsg has what comes later */
	ck_assert_int_eq(read_log(), 0);
	ck_assert_str_eq(taken, "");
}

TEST(a_record_has_the_kernels_stamp_and_not_when_the_journal_took_it)
{
	static const struct entry late[] = { { BOOT, 3600, "kernel", "text\n_SOURCE", 0 } };
	source_us = 1000000;
	write_journal("var/log/journal", "system.journal", late, 1);
	ck_assert_msg(read_log() == 0, "%s", err.text);
	ck_assert_str_eq(taken, "7199 text _SOURCE|");
}

TEST(a_file_that_is_no_journal_is_an_error_that_names_it)
{
	put("var/log/journal/" MACHINE "/system.journal", "this is no journal");
	ck_assert_int_eq(read_log(), -1);
	ck_assert_msg(strstr(err.text, "/dev/kmsg: ") && strstr(err.text, "/system.journal: "), "%s", err.text);
}

TEST(a_file_that_is_no_journal_does_not_hide_the_others)
{
	write_journal("var/log/journal", "system@0001-2.journal", entries + 5, 1);
	put("var/log/journal/" MACHINE "/system.journal", "this is no journal");
	put("var/log/journal/" MACHINE "/system@0001", "nor is this one");
	ck_assert_msg(read_log() == 0, "%s", err.text);
	ck_assert_str_eq(taken, "100 last|");
}

TEST(a_journal_without_a_message_of_this_boot_is_empty)
{
	write_journal("var/log/journal", "system.journal", entries, 1);
	ck_assert_msg(read_log() == 0, "%s", err.text);
	ck_assert_str_eq(taken, "");
	ck_assert_double_eq(reach.oldest_s, 0);
}

static void begin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (access(WRITER, X_OK) != 0) {
		puts("skipped: no " WRITER "; Debian's package systemd-journal-remote has it");
		exit(77);
	}
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200, .begin = begin)

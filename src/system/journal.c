/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - the kernel's messages in the files of the systemd journal, by libsystemd, opened at run time
 *
 * Used where /dev/kmsg cannot be opened, or has lost records of this boot to newer ones.
 *
 *    1. find_files      the system's files that were written to since this boot, the newest first
 *    2. read_files      one file at a time, since a directory may have gigabytes of older ones
 *    3. read_entries    from the file's end backwards, until an entry is of another boot or older than the range
 *
 * libsystemd is opened at run time, so that nothing but this function needs it. It is no vendor's library, and is no
 * part of what a run reports.
 */
#include "system/journal.h"

#include "system/journal_abi.h"
#include "system/sysfs.h"
#include "util/array.h"
#include "util/text.h"
#include "muster/arena.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	MACHINES_MAX = 64, /* directories of machines, that is, of this one and of containers */
	FILES_MAX = 256,
	CLOCK_EACH = 16, /* records between two looks at the clock */
};

static struct {
#define X(result, symbol, parameters) result(*symbol) parameters;
	MUSTER_JOURNAL_FUNCTIONS(X)
#undef X
} lib;

static int open_library(struct muster_error *err)
{
	static const char soname[] = "libsystemd.so.0";
	static const struct {
		const char *name;
		void *address;
	} symbols[] = {
#define X(result, symbol, parameters) { #symbol, &lib.symbol },
		MUSTER_JOURNAL_FUNCTIONS(X)
#undef X
	};
	static void *handle;
	if (!handle && !(handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL)))
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s", dlerror());
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *function = dlsym(handle, symbols[i].name);
		if (!function)
			return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s has no function %s", soname, symbols[i].name);
		memcpy(symbols[i].address, &function, sizeof function);
	}
	return 0;
}

/* ---- files ---- */

struct file {
	char *path;
	struct timespec changed;
};

struct files {
	struct file *items;
	size_t count, room;
	time_t since; /* files that were not written to since then have nothing of this boot */
};

/* The file that was written to last comes first. */
static int by_change(const void *a, const void *b)
{
	const struct timespec *x = &((const struct file *)a)->changed, *y = &((const struct file *)b)->changed;
	return x->tv_sec != y->tv_sec ? (x->tv_sec < y->tv_sec) - (x->tv_sec > y->tv_sec)
				      : (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* "system.journal", and the full files of before: "system@....journal". */
static int add_files(struct files *files, const char *directory, struct muster_error *err)
{
	struct muster_names names = { 0 };
	if (muster_sysfs_names(directory, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i], *dot = strrchr(name, '.');
		struct stat status;
		if (strncmp(name, "system", 6) != 0 || (name[6] != '.' && name[6] != '@') || !dot ||
			strcmp(dot, ".journal") != 0)
			continue;
		char *path = muster_asprintf("%s/%s", directory, name);
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_mtim.tv_sec >= files->since)
			MUSTER_ARRAY_PUSH(files->items, files->count, files->room,
				(struct file){ .path = path, .changed = status.st_mtim });
		else
			free(path);
	}
	muster_names_done(&names);
	return 0;
}

/* All journals of this boot, the newest first. A directory that cannot be read is an error only when no file was found:
 * then err has the reason of the first such directory. */
static int find_files(const char *root, struct files *files, struct muster_error *err)
{
	static const char *const bases[] = { "/var/log/journal", "/run/log/journal" };
	char path[PATH_MAX];
	struct muster_error why;
	bool failed = false;
	for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
		struct muster_names machines = { 0 };
		snprintf(path, sizeof path, "%s%s", root, bases[b]);
		failed = muster_sysfs_names(path, &machines, failed ? NULL : &why) < 0 || failed;
		for (size_t m = 0; m < machines.count && m < MACHINES_MAX; m++) {
			if (strspn(machines.items[m], "0123456789abcdef") != 32 || strlen(machines.items[m]) != 32)
				continue;
			snprintf(path, sizeof path, "%s%s/%s", root, bases[b], machines.items[m]);
			failed = add_files(files, path, failed ? NULL : &why) < 0 || failed;
		}
		muster_names_done(&machines);
	}
	if (files->count > 0) {
		qsort(files->items, files->count, sizeof *files->items, by_change);
		return 0;
	}
	if (failed)
		return muster_fail(err, why.code, "%s", why.text);
	return muster_fail(
		err, MUSTER_ENOTSUPPORTED, "neither %s nor %s has a journal of this boot", bases[0], bases[1]);
}

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
}

/* ---- records ---- */

struct reading {
	muster_kernel_record_fn *take;
	void *arg;
	struct muster_kernel_reach *reach;
	const struct muster_journal_range *range;
	uint8_t boot_id[16];
	uint64_t newest_us;
	size_t bytes;
};

/* "0f1e2d3c-...": 16 bytes. */
static int read_boot_id(const char *root, uint8_t ret[16], struct muster_error *err)
{
	char path[PATH_MAX], text[64];
	snprintf(path, sizeof path, "%s/proc/sys/kernel/random/boot_id", root);
	if (muster_read_line(path, text, sizeof text, err) < 0)
		return -1;
	size_t digits = 0;
	for (const char *at = text; *at; at++) {
		const char *all = "0123456789abcdef", *digit = strchr(all, *at);
		if (*at == '-')
			continue;
		if (!digit || digits == 32)
			return muster_fail(err, MUSTER_EIO, "%s: no boot id: \"%.40s\"", path, text);
		ret[digits / 2] = (uint8_t)(ret[digits / 2] << 4 | (digit - all));
		digits++;
	}
	return digits == 32 ? 0 : muster_fail(err, MUSTER_EIO, "%s: no boot id: \"%.40s\"", path, text);
}

/* The kernel's own stamp of the entry at hand, in microseconds since boot. journald's stamp is of when the record came
 * to journald; it is used where the kernel's is missing. */
static uint64_t stamp_of(sd_journal *journal, uint64_t received_us)
{
	static const char field[] = "_SOURCE_MONOTONIC_TIMESTAMP=";
	char digits[24];
	const void *data;
	size_t length;
	if (lib.sd_journal_get_data(journal, "_SOURCE_MONOTONIC_TIMESTAMP", &data, &length) < 0 ||
		length <= strlen(field) || length - strlen(field) >= sizeof digits)
		return received_us;
	length -= strlen(field);
	memcpy(digits, (const char *)data + strlen(field), length);
	digits[length] = '\0';
	return strspn(digits, "0123456789") == length ? strtoull(digits, NULL, 10) : received_us;
}

/* Hand the message of the entry at hand on, as one line. MESSAGE may have newlines and NULs. */
static void give(struct reading *r, sd_journal *journal, uint64_t us)
{
	static const char field[] = "MESSAGE=";
	char text[MUSTER_KERNEL_TEXT_MAX + 1];
	const void *data;
	size_t length, used = 0;
	if (lib.sd_journal_get_data(journal, "MESSAGE", &data, &length) < 0 || length < strlen(field))
		return;
	for (const char *at = (const char *)data + strlen(field), *end = (const char *)data + length;
		at < end && used < MUSTER_KERNEL_TEXT_MAX; at++)
		text[used++] = *at == '\n' ? ' ' : *at ? *at : '?';
	text[used] = '\0';
	const struct muster_kernel_record record = {
		.age_s = fmax(0, r->reach->uptime_s - (double)us / 1e6),
		.seconds = (double)us / 1e6,
		.backwards = true,
		.text = text,
	};
	r->bytes += length;
	r->newest_us = us > r->newest_us ? us : r->newest_us;
	r->reach->records++;
	r->reach->oldest_s = fmax(r->reach->oldest_s, record.age_s);
	r->take(r->arg, &record);
}

static void tell_limit(struct reading *r)
{
	r->reach->cut = true;
	snprintf(r->reach->limit, sizeof r->reach->limit,
		"after the %zu newest records the limit of %s was reached; older ones were not read", r->reach->records,
		MUSTER_KERNEL_LOG_LIMIT(r->bytes));
}

/* True when no older file can have more: an entry is of another boot or not newer than range->after_us, or the time or
 * the bytes are over. */
static bool read_entries(struct reading *r, sd_journal *journal)
{
	lib.sd_journal_seek_tail(journal);
	for (size_t entries = 1; lib.sd_journal_previous(journal) > 0; entries++) {
		sd_id128_t boot_id;
		uint64_t us;
		if (lib.sd_journal_get_monotonic_usec(journal, &us, &boot_id) < 0)
			continue;
		us = stamp_of(journal, us);
		if (memcmp(boot_id.bytes, r->boot_id, sizeof r->boot_id) != 0 || us <= r->range->after_us)
			return true;
		if (us < r->range->before_us)
			give(r, journal, us);
		if (r->bytes > MUSTER_KERNEL_LOG_BYTES ||
			(entries % CLOCK_EACH == 0 && muster_now_ms() > r->range->deadline_ms)) {
			tell_limit(r);
			return true;
		}
	}
	return false;
}

/* 0, or -1 where the file could not be opened; *ret_last as read_entries. Matches of different fields must both be
 * fulfilled: records of the kernel itself, and no messages that programs wrote to /dev/kmsg. */
static int read_one(struct reading *r, const char *path, bool *ret_last, struct muster_error *err)
{
	static const char transport[] = "_TRANSPORT=kernel", facility[] = "SYSLOG_FACILITY=0";
	const char *paths[] = { path, NULL };
	sd_journal *journal = NULL;
	int result = lib.sd_journal_open_files(&journal, paths, 0);
	if (result < 0)
		return muster_fail(err, result == -EACCES || result == -EPERM ? MUSTER_ENOPERMISSION : MUSTER_EIO,
			"%s: %s", path, strerror(-result));
	lib.sd_journal_add_match(journal, transport, strlen(transport));
	lib.sd_journal_add_match(journal, facility, strlen(facility));
	*ret_last = read_entries(r, journal);
	lib.sd_journal_close(journal);
	return 0;
}

/* A file that cannot be opened is skipped. -1 when none could be opened. */
static int read_files(struct reading *r, const struct files *files, struct muster_error *err)
{
	bool opened = false, last = false;
	for (size_t i = 0; i < files->count && i < FILES_MAX && !last; i++) {
		if (read_one(r, files->items[i].path, &last, err) == 0)
			opened = true;
		if (!last && i + 1 < files->count && muster_now_ms() > r->range->deadline_ms) {
			tell_limit(r);
			break;
		}
	}
	return opened ? 0 : -1;
}

/* When nothing cut the reading short, and the oldest record is from the first BOOT_S seconds, the journal reaches back
 * to the boot: then oldest_s is the whole uptime. */
int muster_journal_read(const char *root, const struct muster_journal_range *range, muster_kernel_record_fn *take,
	void *arg, struct muster_kernel_reach *ret, uint64_t *ret_newest_us, struct muster_error *err)
{
	enum {
		MARGIN_S = 3600, /* the time of day may have been set since boot */
		BOOT_S = 120,    /* the kernel's first messages have such stamps */
	};
	struct reading r = { .take = take, .arg = arg, .reach = ret, .range = range };
	struct files files = { .since = time(NULL) - (time_t)ret->uptime_s - MARGIN_S };
	int result = read_boot_id(root, r.boot_id, err);
	if (result == 0)
		result = find_files(root, &files, err);
	if (result == 0)
		result = open_library(err);
	if (result == 0)
		result = read_files(&r, &files, err);
	files_done(&files);
	if (result < 0)
		return -1;
	if (*ret->limit == '\0' && ret->uptime_s - ret->oldest_s < BOOT_S)
		ret->oldest_s = ret->uptime_s;
	else if (*ret->limit == '\0')
		snprintf(ret->limit, sizeof ret->limit, "the journal has no older records of this boot");
	if (ret_newest_us && r.newest_us > 0)
		*ret_newest_us = r.newest_us;
	return 0;
}

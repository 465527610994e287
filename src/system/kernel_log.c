/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_log.c - what the kernel has logged since this boot, record by record
 *
 * Where the records come from (muster_kernel_log_read), the first source that works:
 *
 *    /dev/kmsg, the device    one record for each read, the oldest first; each reader gets all of them
 *    /dev/kmsg, a file        in a copied or simulated root: a record on each line, read from its end backwards
 *    the journal              journal.c, backwards; also for records that the device has overwritten by newer ones
 *
 * A log may be read several times: at the start of a run and at its end. Each read gives what came since the one
 * before. The device keeps the place of the descriptor, of a file log->end is kept, and of the journal the time of the
 * newest record.
 *
 * A record of kmsg is "6,1234,5678901,-;text": priority and facility, sequence number, microseconds since boot, flags.
 * A first read that begins with sequence number 0 has all records of the boot.
 *
 * Reading is bounded by MUSTER_KERNEL_LOG_MS and MUSTER_KERNEL_LOG_BYTES. What was not read is told in reach->limit,
 * and reach->cut makes checks of events inconclusive.
 */
#include "system/kernel_log.h"

#include "system/journal.h"
#include "system/start.h"
#include "util/text.h"
#include "muster/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
	READ_BYTES = 16384,   /* longer than any record: the kernel refuses a shorter buffer */
	PART_BYTES = 1 << 20, /* of a file, at a time */
	CLOCK_EACH = 64,      /* records between two looks at the clock */
	REFUSALS_MAX = 1000,
	KMSG_MAJOR = 1, /* Linux, Documentation/admin-guide/devices.txt */
	KMSG_MINOR = 11,
};

struct reading {
	muster_kernel_record_fn *take;
	void *arg;
	struct muster_kernel_reach *reach;
	double now_s;       /* since boot, by the log's clock */
	double deadline_ms; /* as of muster_now_ms */
	bool backwards;
	uint64_t first_sequence;
};

/* ---- clocks ---- */

static double clock_s(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Records carry the scheduler's clock: time since boot without corrections, as that of CLOCK_MONOTONIC_RAW. In another
 * root it is as late as its /proc/uptime says. */
static int read_now(const char *root, double *ret, struct muster_error *err)
{
	if (*root)
		return muster_node_up_s(root, ret, err);
	*ret = clock_s(CLOCK_MONOTONIC_RAW);
	return 0;
}

double muster_kernel_log_slack_s(const char *root)
{
	const double reading = 2; /* the clocks start within a second of each other */
	return *root ? 0 : reading + fabs(clock_s(CLOCK_MONOTONIC) - clock_s(CLOCK_MONOTONIC_RAW));
}

/* ---- one record ---- */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* The kernel writes what is not printable ASCII, and the backslash, as \xNN. A newline becomes a blank, since the text
 * is one line for all readers, and a NUL, which no text has, becomes '?'. ret has room for MUSTER_KERNEL_TEXT_MAX bytes
 * and a NUL. */
static void undo_escapes(const char *text, size_t length, char *ret)
{
	size_t used = 0;
	for (size_t i = 0; i < length && used < MUSTER_KERNEL_TEXT_MAX; i++) {
		char c = text[i];
		if (c == '\\' && i + 3 < length && text[i + 1] == 'x' && hex_digit(text[i + 2]) >= 0 &&
			hex_digit(text[i + 3]) >= 0) {
			c = (char)(hex_digit(text[i + 2]) << 4 | hex_digit(text[i + 3]));
			i += 3;
		}
		ret[used++] = c == '\n' ? ' ' : c ? c : '?';
	}
	ret[used] = '\0';
}

/* Digits and the comma after them; NULL when they are not there, or too many. */
static const char *take_number(const char *at, const char *end, uint64_t *ret)
{
	const char *begin = at;
	uint64_t number = 0;
	for (; at < end && *at >= '0' && *at <= '9' && at - begin < 18; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (at == begin || at == end || *at != ',')
		return NULL;
	*ret = number;
	return at + 1;
}

/* Facility 0 is the kernel itself. The number before the first comma is facility * 8 + priority. */
bool muster_kernel_record_parse(
	const char *line, size_t length, uint64_t *ret_sequence, double *ret_seconds, char *ret_text)
{
	enum { FACILITY_SHIFT = 3 }; /* the three bits below are the priority */
	const char *at = line, *end = line + length;
	uint64_t priority, sequence, us;
	if (!(at = take_number(at, end, &priority)) || !(at = take_number(at, end, &sequence)) ||
		!(at = take_number(at, end, &us)))
		return false;
	const char *text = memchr(at, ';', (size_t)(end - at));
	if (!text || priority >> FACILITY_SHIFT != 0)
		return false;
	undo_escapes(text + 1, (size_t)(end - text - 1), ret_text);
	*ret_sequence = sequence;
	*ret_seconds = (double)us / 1e6;
	return true;
}

/* Hand one record on, with its age by the log's clock. */
static void give(struct reading *r, const char *line, size_t length)
{
	char text[MUSTER_KERNEL_TEXT_MAX + 1];
	struct muster_kernel_record record = { .backwards = r->backwards, .text = text };
	uint64_t sequence;
	if (!muster_kernel_record_parse(line, length, &sequence, &record.seconds, text))
		return;
	record.age_s = fmax(0, r->now_s - record.seconds);
	if (r->reach->records++ == 0 || sequence < r->first_sequence)
		r->first_sequence = sequence;
	r->reach->oldest_s = fmax(r->reach->oldest_s, record.age_s);
	r->take(r->arg, &record);
}

/* ---- kmsg ---- */

static int open_kmsg(struct muster_kernel_log *log, const char *root, struct muster_error *err)
{
	char path[PATH_MAX];
	struct stat status;
	snprintf(path, sizeof path, "%s/dev/kmsg", root);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		bool rights = errno == EPERM || errno == EACCES;
		return muster_fail(err, rights ? MUSTER_ENOPERMISSION : MUSTER_ENOTSUPPORTED, "%s: %s%s", path,
			strerror(errno), errno == EPERM ? " (kernel.dmesg_restrict)" : "");
	}
	/* in containers it may be a link to the console, whose input is not ours to take, or to /dev/null */
	bool kmsg = fstat(fd, &status) == 0 &&
		    (S_ISREG(status.st_mode) ||
			    (S_ISCHR(status.st_mode) && status.st_rdev == makedev(KMSG_MAJOR, KMSG_MINOR)));
	if (!kmsg) {
		close(fd);
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "%s is not the kernel's log", path);
	}
	log->source = MUSTER_KERNEL_LOG_KMSG;
	log->fd = fd;
	log->regular = S_ISREG(status.st_mode);
	return 0;
}

static bool is_over(const struct reading *r)
{
	return muster_now_ms() > r->deadline_ms;
}

/* The descriptor does not block: EAGAIN means that all records were read. With EPIPE the kernel says that records were
 * overwritten before they were read; the next read goes on with the oldest one that is left. More than REFUSALS_MAX
 * such answers are an error. */
static int read_device(struct muster_kernel_log *log, struct reading *r, struct muster_error *err)
{
	char text[READ_BYTES];
	size_t bytes = 0, refusals = 0;
	log->unread = false;
	for (size_t reads = 1;; reads++) {
		ssize_t got = read(log->fd, text, sizeof text);
		if (got < 0 && errno == EAGAIN)
			break;
		if (got < 0 && (errno == EPIPE || errno == EINVAL || errno == EINTR) && refusals++ < REFUSALS_MAX)
			continue;
		if (got < 0)
			return muster_fail(err, MUSTER_EIO, "read /dev/kmsg: %s", strerror(errno));
		if (got == 0)
			break;
		const char *newline = memchr(text, '\n', (size_t)got);
		give(r, text, newline ? (size_t)(newline - text) : (size_t)got);
		bytes += (size_t)got;
		if (bytes > MUSTER_KERNEL_LOG_BYTES || (reads % CLOCK_EACH == 0 && is_over(r))) {
			snprintf(r->reach->limit, sizeof r->reach->limit,
				"after %zu records the limit of %s was reached; newer ones are read at the end of the "
				"run",
				r->reach->records, MUSTER_KERNEL_LOG_LIMIT(bytes));
			r->reach->cut = log->unread = true;
			return 0;
		}
	}
	return 0;
}

/* The lines of a text, which ends with a newline, from its last one on. False when the time is over and lines are left.
 */
static bool give_lines(struct reading *r, const char *text, size_t length)
{
	for (size_t lines = 1; length > 0; lines++) {
		const char *newline = length > 1 ? memrchr(text, '\n', length - 1) : NULL;
		const char *line = newline ? newline + 1 : text;
		give(r, line, (size_t)(text + length - 1 - line));
		length = (size_t)(line - text);
		if (lines % CLOCK_EACH == 0 && length > 0 && is_over(r))
			return false;
	}
	return true;
}

/* What stands between the offsets `from` and `to` of the file, in parts of PART_BYTES from its end on:
 *
 *    from [ .. line | line | li][ne | line | line ][line | li ] to
 *                             part before   part       not whole yet
 *
 * The first line of a part usually begins in the part before: it is left for that part, whose end moves behind it
 * (`to`). A line at the end of the file without a newline is still being written: *ret_end is where that line begins,
 * and the next read begins there. A line that is longer than a part is left out. */
static int read_parts(int fd, struct reading *r, off_t from, off_t to, off_t *ret_end, struct muster_error *err)
{
	char *text = muster_calloc(PART_BYTES, 1);
	bool ended = false, go_on = true;
	*ret_end = from;
	while (go_on && to > from) {
		off_t begin = to - from > PART_BYTES ? to - PART_BYTES : from;
		ssize_t got = pread(fd, text, (size_t)(to - begin), begin);
		if (got < 0) {
			free(text);
			return muster_fail(err, MUSTER_EIO, "read kmsg: %s", strerror(errno));
		}
		const char *last = memrchr(text, '\n', (size_t)got);
		const char *first = begin == from ? text : memchr(text, '\n', (size_t)got);
		const char *lines = begin == from || !first ? first : first + 1;
		if (last && !ended)
			*ret_end = begin + (last + 1 - text);
		ended = ended || last;
		if (last && lines && lines <= last)
			go_on = give_lines(r, lines, (size_t)(last + 1 - lines));
		to = begin > from && lines && lines <= last ? begin + (lines - text) : begin;
		go_on = go_on && (to == from || !is_over(r));
	}
	free(text);
	r->reach->cut = !go_on;
	if (!go_on)
		snprintf(r->reach->limit, sizeof r->reach->limit,
			"%.2f s were over after the %zu newest records; %.0f MiB of older ones were not read",
			MUSTER_KERNEL_LOG_MS / 1000, r->reach->records, ceil((double)(to - from) / (1 << 20)));
	return 0;
}

/* A file that has become shorter was written anew, and is read from its start. Of a file with more than
 * MUSTER_KERNEL_LOG_BYTES of news only the last ones are read. */
static int read_file(struct muster_kernel_log *log, struct reading *r, struct muster_error *err)
{
	struct stat status;
	if (fstat(log->fd, &status) < 0)
		return muster_fail(err, MUSTER_EIO, "fstat kmsg: %s", strerror(errno));
	off_t from = status.st_size < log->end ? 0 : log->end, most = (off_t)MUSTER_KERNEL_LOG_BYTES;
	bool whole = status.st_size - from <= most;
	r->backwards = true;
	if (read_parts(log->fd, r, whole ? from : status.st_size - most, status.st_size, &log->end, err) < 0)
		return -1;
	r->reach->cut = r->reach->cut || !whole;
	if (!whole && !*r->reach->limit)
		snprintf(r->reach->limit, sizeof r->reach->limit, "only the last %zu MiB were read",
			MUSTER_KERNEL_LOG_BYTES >> 20);
	return 0;
}

/* kmsg has lost the oldest records of this boot: the journal may have them. Only records older than kmsg's oldest one
 * are taken. */
static void add_journal(const char *root, struct reading *r)
{
	struct muster_kernel_reach *reach = r->reach;
	const double oldest_us = (reach->uptime_s - reach->oldest_s) * 1e6;
	const struct muster_journal_range range = {
		.before_us = reach->records > 0 ? (uint64_t)fmax(0, oldest_us) : UINT64_MAX,
		.deadline_ms = r->deadline_ms,
	};
	if (muster_journal_read(root, &range, r->take, r->arg, reach, NULL, NULL) < 0)
		snprintf(reach->limit, sizeof reach->limit, "older records of this boot were overwritten");
}

/* After the records: how far back they reach. When reading was cut short, reach->limit says so already. When the first
 * read of the log began with the boot's first record, they reach back to the boot. Otherwise the journal is asked for
 * older ones, at the first read only. */
static int read_kmsg(struct muster_kernel_log *log, const char *root, struct reading *r, struct muster_error *err)
{
	if (log->regular && read_file(log, r, err) < 0)
		return -1;
	if (!log->regular && read_device(log, r, err) < 0)
		return -1;
	bool again = log->begun;
	if (!again)
		log->from_boot = r->reach->records > 0 && r->first_sequence == 0;
	log->begun = true;
	struct muster_kernel_reach *reach = r->reach;
	if (log->from_boot && !*reach->limit)
		reach->oldest_s = reach->uptime_s;
	else if (!*reach->limit && !again)
		add_journal(root, r);
	return 0;
}

/* ---- either ---- */

/* kmsg is opened at the first read. When it cannot be opened, the journal is read, and the errors of both are put
 * together if the journal fails too. A journal that could be read before and now cannot be gives its error alone. */
int muster_kernel_log_read(struct muster_kernel_log *log, const char *root, muster_kernel_record_fn *take, void *arg,
	struct muster_kernel_reach *ret, struct muster_error *err)
{
	struct muster_error no_kmsg = { 0 }, no_journal;
	struct reading r = { .take = take, .arg = arg, .reach = ret };
	r.deadline_ms = muster_now_ms() + MUSTER_KERNEL_LOG_MS;
	*ret = (struct muster_kernel_reach){ 0 };
	if (read_now(root, &r.now_s, err) < 0)
		return -1;
	ret->uptime_s = r.now_s;
	if (log->source == MUSTER_KERNEL_LOG_NONE)
		open_kmsg(log, root, &no_kmsg);
	if (log->source == MUSTER_KERNEL_LOG_KMSG)
		return read_kmsg(log, root, &r, err);
	const struct muster_journal_range range = {
		.after_us = log->newest_us,
		.before_us = UINT64_MAX,
		.deadline_ms = r.deadline_ms,
	};
	if (muster_journal_read(root, &range, take, arg, ret, &log->newest_us, &no_journal) == 0) {
		log->source = MUSTER_KERNEL_LOG_JOURNAL;
		return 0;
	}
	if (!*no_kmsg.text) { /* a journal that could be read before */
		if (err)
			*err = no_journal;
		return -1;
	}
	bool rights = no_kmsg.code == MUSTER_ENOPERMISSION || no_journal.code == MUSTER_ENOPERMISSION;
	return muster_fail(
		err, rights ? MUSTER_ENOPERMISSION : MUSTER_ENOTSUPPORTED, "%s; %s", no_kmsg.text, no_journal.text);
}

void muster_kernel_log_done(struct muster_kernel_log *log)
{
	if (log->source == MUSTER_KERNEL_LOG_KMSG)
		close(log->fd);
	*log = (struct muster_kernel_log){ 0 };
}

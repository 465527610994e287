/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_log.h - what the kernel has logged since this boot, record by record
 *
 * From /dev/kmsg, and where records of this boot were overwritten there, or where it cannot be opened, from the files
 * of the systemd journal. Both need a right that ordinary users often lack.
 */
#ifndef MUSTER_SYSTEM_KERNEL_LOG_H
#define MUSTER_SYSTEM_KERNEL_LOG_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MUSTER_KERNEL_TEXT_MAX = 2047 }; /* bytes of a record's text; the rest is cut off */

/* One read takes at most so long, and so many bytes: about a million records a second of one CPU. */
#define MUSTER_KERNEL_LOG_MS 3000.0
#define MUSTER_KERNEL_LOG_BYTES ((size_t)64 << 20)
/* The one of the two that ended a read of so many bytes. */
#define MUSTER_KERNEL_LOG_LIMIT(bytes) ((bytes) > MUSTER_KERNEL_LOG_BYTES ? "64 MiB" : "3 s")

struct muster_kernel_record {
	double age_s;     /* since the record was written; not negative */
	double seconds;   /* since boot */
	bool backwards;   /* the records of this read come from the newest to the oldest */
	const char *text; /* one line, borrowed; may hold bytes that are not UTF-8, and controls */
};

typedef void muster_kernel_record_fn(void *arg, const struct muster_kernel_record *record);

enum muster_kernel_log_source { MUSTER_KERNEL_LOG_NONE = 0, MUSTER_KERNEL_LOG_KMSG, MUSTER_KERNEL_LOG_JOURNAL };

/* A log that is read more than once: each read gives what came since the one before. All zeros is a log that has not
 * been read. */
struct muster_kernel_log {
	enum muster_kernel_log_source source;
	int fd;             /* of kmsg */
	bool regular;       /* kmsg is a file, in a copied or simulated root */
	off_t end;          /* of such a file: up to where it was read */
	uint64_t newest_us; /* of the journal: the newest record's time since boot */
	bool unread;        /* the last read ended before the newest record */
	bool begun;         /* it was read before, and then: */
	bool from_boot;     /* kmsg's first record was the boot's first */
};

struct muster_kernel_reach {
	double uptime_s;
	double oldest_s; /* age of the oldest record that was read; uptime_s when there is none older since boot */
	size_t records;  /* of the kernel itself */
	bool cut;        /* the time was over, or there were too many bytes: more is there, and was not read */
	char limit[200]; /* why nothing older was read, or nothing newer; "" when all since boot was */
};

/* Call take for each record of the kernel itself (facility 0) that came since the last call: what programs write to
 * /dev/kmsg is no message of the kernel. root is the prefix of /dev, /proc and /var. -1 with err when neither kmsg nor
 * a journal can be read, with both reasons (MUSTER_ENOPERMISSION when it is for rights, else MUSTER_ENOTSUPPORTED). */
int muster_kernel_log_read(struct muster_kernel_log *log, const char *root, muster_kernel_record_fn *take, void *arg,
	struct muster_kernel_reach *ret, struct muster_error *err);
void muster_kernel_log_done(struct muster_kernel_log *log);

/* A record's line of /dev/kmsg, "6,1234,5678901,-;text", of `length` bytes without its newline (Linux,
 * Documentation/ABI/testing/dev-kmsg). The text's escapes are undone. False when it is not of this form, or is not the
 * kernel's own. text has room for MUSTER_KERNEL_TEXT_MAX bytes and a NUL. */
bool muster_kernel_record_parse(
	const char *line, size_t length, uint64_t *ret_sequence, double *ret_seconds, char *ret_text);

/* How far the drift of the log's clock may go, which no time server corrects as it does the others: a record is at most
 * so much older or younger than its age says. */
double muster_kernel_log_slack_s(const char *root);

#endif

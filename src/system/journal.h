/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - the kernel's messages in the files of the systemd journal, by libsystemd, opened at run time */
#ifndef MUSTER_SYSTEM_JOURNAL_H
#define MUSTER_SYSTEM_JOURNAL_H

#include "system/kernel_log.h"

struct muster_journal_range { /* in microseconds since boot, by the kernel's stamps; the ends are not given */
	uint64_t after_us, before_us;
	double deadline_ms; /* as of muster_now_ms */
};

/* The records of this boot within the range, from the newest backwards, as muster_kernel_log_read gives them: its
 * uptime_s is set, and the rest of *ret is added to. *ret_newest_us (may be NULL) becomes the newest record's time,
 * when there is one. */
int muster_journal_read(const char *root, const struct muster_journal_range *range, muster_kernel_record_fn *take,
	void *arg, struct muster_kernel_reach *ret, uint64_t *ret_newest_us, struct muster_error *err);

#endif

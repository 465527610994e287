/* journal.h - the kernel's messages in the files of the systemd journal, by libsystemd, opened at run time */
#ifndef MUSTER_SYSTEM_JOURNAL_H
#define MUSTER_SYSTEM_JOURNAL_H

#include "system/kernel_log.h"

/* The records of this boot, from the newest backwards to the one at newest_us, which is not given: as of
 * muster_kernel_log_read. *ret_newest_us becomes the newest record's time. */
int muster_journal_read(const char *root, uint64_t newest_us, muster_kernel_record_fn *take, void *arg,
	struct muster_kernel_reach *ret, uint64_t *ret_newest_us, struct muster_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* journal_abi.h - the functions of libsystemd that muster calls, as <systemd/sd-journal.h> declares them
 *
 * tests/abi/journal.sh compares them with that header where it is installed. All are in libsystemd since version 209.
 */
#ifndef MUSTER_SYSTEM_JOURNAL_ABI_H
#define MUSTER_SYSTEM_JOURNAL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifndef MUSTER_ABI_VENDOR_TYPES
typedef struct sd_journal sd_journal;
typedef union {
	uint8_t bytes[16];
	uint64_t qwords[2];
} sd_id128_t;
#endif

#define MUSTER_JOURNAL_FUNCTIONS(X)                                                                                    \
	X(int, sd_journal_open_files, (sd_journal * *ret, const char **paths, int flags))                              \
	X(void, sd_journal_close, (sd_journal * journal))                                                              \
	X(int, sd_journal_add_match, (sd_journal * journal, const void *data, size_t size))                            \
	X(int, sd_journal_seek_tail, (sd_journal * journal))                                                           \
	X(int, sd_journal_previous, (sd_journal * journal))                                                            \
	X(int, sd_journal_get_data, (sd_journal * journal, const char *field, const void **data, size_t *length))      \
	X(int, sd_journal_get_monotonic_usec, (sd_journal * journal, uint64_t * ret, sd_id128_t * ret_boot_id))

#endif

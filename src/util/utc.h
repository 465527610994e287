/* SPDX-License-Identifier: Apache-2.0 */
/* utc.h - a moment as reports have it, "2026-11-23T12:24:01Z" */
#ifndef MUSTER_UTIL_UTC_H
#define MUSTER_UTIL_UTC_H

#include <stdint.h>

#define MUSTER_UTC_SIZE 24

/* As seconds since 1970; -1 when text is no such time of the years 1970 to 9999. */
int muster_utc_read(const char *text, int64_t *ret);

/* And back. Returns out; "unknown" of what is before 1970. */
const char *muster_utc_text(int64_t time, char out[MUSTER_UTC_SIZE]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - what the parser and the splitter share: the grammar, and where a text breaks it */
#ifndef MUSTER_JSON_SCAN_H
#define MUSTER_JSON_SCAN_H

#include "muster/error.h"

/* "line L, column C: ..." of the byte at `at`, with code MUSTER_EUSAGE. Always -1. */
int muster_json_fail_at(const char *text, size_t at, struct muster_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The byte after the string whose opening quote is at `at`; -1 with err when it is malformed. */
int muster_json_string_end(const char *text, size_t at, size_t length, size_t *ret, struct muster_error *err);

/* -1 with err at the first byte that cJSON would let through or could not bear. */
int muster_json_scan(const char *text, size_t length, struct muster_error *err);

#endif

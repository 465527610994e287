/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what the fuzzers share
 *
 * Each fuzz_*.c takes any bytes for one of muster's inputs, and checks what must hold whatever they are. It is linked
 * with libFuzzer to find new cases, and with replay.c to go through those that are kept in corpus/.
 */
#ifndef MUSTER_FUZZ_H
#define MUSTER_FUZZ_H

#include "json/json.h"
#include "muster/error.h"
#include "muster/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One input. Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A property that does not hold ends the process, so that libFuzzer keeps the input. */
#define FUZZ_CHECK(condition, ...)                                                                                     \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			fuzz_broken(__FILE__, __LINE__, #condition, __VA_ARGS__);                                      \
	} while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *condition, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The path of a file in memory that holds these bytes until the slot is used again. */
enum { FUZZ_FILES = 3 };
const char *fuzz_file(int slot, const void *bytes, size_t size);

/* Put a file of this name into a folder of this process, which is removed at the end; returns the folder's path. */
const char *fuzz_folder_put(const char *name, const void *bytes, size_t size);

/* An input of two parts: the length of what stands before the first line "---"; size when there is none. *ret_second is
 * where the second part begins. */
size_t fuzz_split(const uint8_t *bytes, size_t size, size_t *ret_second);

/* A copy with a NUL behind it; a NUL inside ends it. The caller frees it. */
char *fuzz_string(const uint8_t *bytes, size_t size);

/* Well-formed UTF-8 that does nothing to a terminal; lines: may hold newlines. */
void fuzz_check_plain(const char *text, size_t size, bool lines);
/* An error that may be shown: it has a code, and says something on one plain line. */
void fuzz_check_error(const struct muster_error *err);

bool fuzz_same(const struct muster_json *a, const struct muster_json *b);

/* The report as JSON, checked to be JSON; and the summary for people, checked to be plain. Both with the last line. The
 * caller frees what is returned. */
char *fuzz_report_json(const struct muster_report *report, size_t *ret_length);
void fuzz_report_text(const struct muster_report *report);

#endif

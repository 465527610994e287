/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - parsing and printing of small texts, each with its whole input used up or an error */
#ifndef MUSTER_UTIL_TEXT_H
#define MUSTER_UTIL_TEXT_H

#include "muster/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A whole decimal number in [low, high]; `what` names it in the message ("--deadline"). Code MUSTER_EUSAGE. */
int muster_parse_int(const char *text, long low, long high, long *ret, const char *what, struct muster_error *err);
/* The same of seconds, as "90", "90s", "5m", "2h", "1d" or "4w". */
int muster_parse_seconds(const char *text, long low, long high, long *ret, const char *what, struct muster_error *err);
int muster_parse_double(const char *text, double *ret, const char *what, struct muster_error *err);
/* A byte count with an optional K, M or G (powers of 1024): "256M". */
int muster_parse_bytes(const char *text, uint64_t *ret, const char *what, struct muster_error *err);
/* The place of text among the names; -1 with "<what>: a, b or c is needed, found ..." when it is none of them. */
int muster_parse_name(
	const char *text, const char *const *names, size_t count, const char *what, struct muster_error *err);
/* A byte count as people say it: "256 MiB", "8 B". Returns out. */
const char *muster_bytes_text(uint64_t bytes, char *out, size_t size);

/* Whether a word is in a list separated by spaces or commas. */
bool muster_text_has_word(const char *list, const char *word);
/* Whether a path is a folder's, or below it, by its text. */
bool muster_path_is_below(const char *path, const char *folder);
bool muster_text_ends_in(const char *text, const char *end);
/* Whether a text is one of so many. */
bool muster_text_among(const char *text, const char *const *texts, size_t count);

/* Whether it is one or more letters, digits, '.', '_' and '-', and begins with no '-': a name from outside that is one
 * word for a shell, no option and no path. */
bool muster_text_is_plain(const char *text);

/* A UUID as text, "01234567-89ab-cdef-0123-456789abcdef", of its 16 bytes. Returns out. */
#define MUSTER_UUID_TEXT_SIZE 37
const char *muster_uuid_text(const void *bytes, char out[MUSTER_UUID_TEXT_SIZE]);

/* The first line of a small file (at most 4096 bytes) without trailing white space, for sysfs and procfs. 0, or -1 with
 * err (MUSTER_EIO, MUSTER_EABSENT, MUSTER_ENOPERMISSION) naming the path. */
int muster_read_line(const char *path, char *ret, size_t size, struct muster_error *err);

/* A stream into memory, as of open_memstream(3). *ret_text is complete, and the caller's, once the stream is closed.
 * Out of memory ends the process. */
FILE *muster_memory_open(char **ret_text, size_t *ret_length);
void muster_memory_close(FILE *stream);

/* Milliseconds of the monotonic clock. */
double muster_now_ms(void);
/* Sleep for so long, or until a signal comes: between two polls. */
void muster_sleep_ms(double ms);

/* ---- characters of UTF-8; characters that must be escaped for a terminal or a reader ---- */

/* The character that text, of `left` bytes, begins with: the bytes that it takes, and its code point. 0 when they are
 * not well-formed UTF-8. */
size_t muster_utf8_next(const char *text, size_t left, unsigned long *ret_point);
/* A character that is not just seen but does something: controls (C0, DEL, C1), line separators, what is invisible, and
 * marks that turn the writing direction. A terminal obeys what it is sent. */
bool muster_utf8_is_harmful(unsigned long point);
/* Whether a text of well-formed UTF-8 has a control character: C0, DEL or C1. */
bool muster_utf8_has_control(const char *text);

/* The text between quotation marks, as a JSON string: harmful characters are escaped, and bytes that are not UTF-8
 * become U+FFFD. */
void muster_utf8_quote(FILE *out, const char *text);

/* ---- suggest names that are similar to a mistyped one ---- */

/* Number of letters to change, add or remove to turn a into b (Levenshtein), ignoring case; large for a long name. */
size_t muster_suggest_distance(const char *a, const char *b);

/* "; did you mean \"a\", \"b\" or \"c\"?": first the names that begin with `name`, then the names nearest to it, then
 * names that contain `name`; three at most, and "" when there is none. Names are the strings that the elements of an
 * array are, or begin with. Returns out. */
#define MUSTER_SUGGEST_MAX 320
const char *muster_suggest(
	const char *name, const void *names, size_t count, size_t element, char out[MUSTER_SUGGEST_MAX]);

#endif

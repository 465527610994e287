/* utf8.h - characters of UTF-8, and those that a terminal or a reader must not be sent as they are */
#ifndef MUSTER_UTIL_UTF8_H
#define MUSTER_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

#endif

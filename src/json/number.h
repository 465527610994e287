/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - numbers as text and back, exactly as by printf and strtod, and several times as fast */
#ifndef MUSTER_JSON_NUMBER_H
#define MUSTER_JSON_NUMBER_H

#include <stddef.h>

enum { MUSTER_JSON_NUMBER_MAX = 64 }; /* a number's text is shorter; cJSON reads no longer one */

/* A finite number by "%.15g" when that reads back as the same number, else by "%.17g". Returns the length. */
size_t muster_json_number_text(double number, char out[MUSTER_JSON_NUMBER_MAX]);

/* The end of the number that starts at `at` by JSON's grammar (RFC 8259, section 6), or `at` if it is none. The number
 * may be infinite. That of a text of MUSTER_JSON_NUMBER_MAX bytes or more is not said. */
size_t muster_json_number_at(const char *text, size_t at, size_t length, double *ret);

#endif

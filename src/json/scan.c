/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - the grammar of JSON, byte by byte, as far as cJSON does not see to it
 *
 * cJSON sees to the order of values, commas and colons. This file sees to what cJSON lets through or cannot bear: bytes
 * that are not UTF-8, control characters and NUL, forms of numbers that JSON does not have, brackets that do not
 * match, nesting beyond MUSTER_JSON_DEPTH_MAX, and too many values. stream.c uses the same function for strings.
 *
 * Letters a to z are passed: they can only be true, false and null, and cJSON refuses every other word.
 */
#include "json/scan.h"

#include "json/json.h"
#include "json/number.h"
#include "util/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int muster_json_fail_at(const char *text, size_t at, struct muster_error *err, const char *format, ...)
{
	size_t line = 1, column = 1;
	for (size_t i = 0; i < at; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	char what[256];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return muster_fail(err, MUSTER_EUSAGE, "line %zu, column %zu: %s", line, column, what);
}

/* A byte of ASCII is one step; muster_utf8_next is asked for others only. \u0000 is refused, since strings end at NUL
 * everywhere in muster. Whether other escapes are right is left to cJSON. */
int muster_json_string_end(const char *text, size_t at, size_t length, size_t *ret, struct muster_error *err)
{
	size_t start = at++;
	while (at < length && text[at] != '"') {
		unsigned char c = (unsigned char)text[at];
		if (c < 0x20)
			return muster_json_fail_at(
				text, at, err, "control character 0x%02x in a string (write it as \\u%04x)", c, c);
		if (c == '\\') {
			if (length - at >= 6 && memcmp(text + at, "\\u0000", 6) == 0)
				return muster_json_fail_at(text, at, err, "NUL in a string");
			at += 2;
			continue;
		}
		unsigned long point;
		size_t step = c < 0x80 ? 1 : muster_utf8_next(text + at, length - at, &point);
		if (step == 0)
			return muster_json_fail_at(text, at, err, "byte 0x%02x is not UTF-8", c);
		at += step;
	}
	if (at >= length)
		return muster_json_fail_at(text, start, err, "string without an end");
	*ret = at + 1;
	return 0;
}

/* Blanks, separators, and the letters of true, false and null. */
static bool is_filler(char c)
{
	return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\t' || c == '\r' || (c >= 'a' && c <= 'z');
}

/* What is there and cannot be: a form that other languages have is named. */
static int fail_character(const char *text, size_t at, size_t length, struct muster_error *err)
{
	static const struct {
		const char *text, *why;
	} foreign[] = {
		{ "\xef\xbb\xbf", "a byte order mark: save the file as UTF-8 without it" },
		{ "//", "JSON has no comments" },
		{ "/*", "JSON has no comments" },
		{ "#", "JSON has no comments" },
		{ "'", "a string needs double quotes" },
		{ "NaN", "JSON has no NaN" },
		{ "Infinity", "JSON has no infinity" },
		{ "True", "JSON writes true" },
		{ "False", "JSON writes false" },
		{ "None", "JSON writes null" },
	};
	unsigned char c = (unsigned char)text[at];
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
		if (length - at >= strlen(foreign[i].text) &&
			memcmp(text + at, foreign[i].text, strlen(foreign[i].text)) == 0)
			return muster_json_fail_at(text, at, err, "%s", foreign[i].why);
	if (c > ' ' && c < 0x7f)
		return muster_json_fail_at(text, at, err, "unexpected character '%c'", c);
	return muster_json_fail_at(text, at, err, c ? "unexpected character 0x%02x" : "NUL byte", c);
}

/* The number at *at, which then is its end. */
static int scan_number(const char *text, size_t *at, size_t length, struct muster_error *err)
{
	double number;
	size_t end = muster_json_number_at(text, *at, length, &number);
	if (end == *at)
		return muster_json_fail_at(text, *at, err, "malformed number");
	if (end - *at >= MUSTER_JSON_NUMBER_MAX)
		return muster_json_fail_at(
			text, *at, err, "a number of more than %d characters", MUSTER_JSON_NUMBER_MAX - 1);
	if (!isfinite(number))
		return muster_json_fail_at(text, *at, err, "a number is too large for a double");
	*at = end;
	return 0;
}

int muster_json_scan(const char *text, size_t length, struct muster_error *err)
{
	char closing[MUSTER_JSON_DEPTH_MAX]; /* of each open bracket, the one that closes it */
	size_t depth = 0, values = 1; /* values: an upper limit, since each ',', '{' and '[' begins one at most */
	for (size_t at = 0; at < length;) {
		char c = text[at];
		if ((c == ',' || c == '{' || c == '[') && ++values > MUSTER_JSON_VALUES_MAX)
			return muster_json_fail_at(text, at, err, "more than %d values", MUSTER_JSON_VALUES_MAX);
		if (c == '"') {
			if (muster_json_string_end(text, at, length, &at, err) < 0)
				return -1;
		} else if (c == '{' || c == '[') {
			if (depth == MUSTER_JSON_DEPTH_MAX)
				return muster_json_fail_at(
					text, at, err, "nested deeper than %d levels", MUSTER_JSON_DEPTH_MAX);
			closing[depth++] = c == '{' ? '}' : ']';
			at++;
		} else if (c == '}' || c == ']') {
			if (depth == 0)
				return muster_json_fail_at(text, at, err, "nothing is open that '%c' could close", c);
			if (closing[--depth] != c)
				return muster_json_fail_at(
					text, at, err, "'%c' is needed here, found '%c'", closing[depth], c);
			at++;
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			if (scan_number(text, &at, length, err) < 0)
				return -1;
		} else if (is_filler(c)) {
			at++;
		} else {
			return fail_character(text, at, length, err);
		}
	}
	if (depth > 0)
		return muster_json_fail_at(
			text, length, err, "the text ends too early: '%c' is missing", closing[depth - 1]);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* regex_limits.c - regular expressions that can be compiled and matched in little time and memory
 *
 * The C library's compiler calls itself for every parenthesis, copies what stands before {n} n times, and its matcher
 * of back references (which POSIX does not have) may take for ever: a line of an expectation file could end the
 * process.
 *
 * What counts is the number of characters with all repetitions written out, and 1 for each parenthesis: "(ab{3}){4}" is
 * 4 x (1 + 3 + 1) = 20.
 */
#include "expect/operators.h"

#include "muster/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_BYTES_MAX 256
#define PATTERN_PARTS_MAX 200 /* characters to match, with every repetition written out */

/* Behind the bracket expression that starts at `at`, or at the end. */
static const char *behind_bracket(const char *at)
{
	at++;
	at += *at == '^';
	at += *at == ']';
	while (*at && *at != ']') {
		if (*at == '[' && at[1] && strchr(".:=", at[1])) { /* [:alpha:] */
			const char end[] = { at[1], ']', '\0' }, *inner = strstr(at + 2, end);
			at = inner ? inner + 1 : at;
		}
		at++;
	}
	return *at ? at + 1 : at;
}

/* The repeat count of the repetition at `at`, at least 1; *ret_end is the byte after it. */
static unsigned long copies(const char *at, const char **ret_end)
{
	char *end;
	unsigned long low, high;
	*ret_end = at + 1;
	if (*at != '{')
		return *at == '+' ? 2 : 1; /* x+ becomes xx* */
	low = strtoul(at + 1, &end, 10);
	high = *end == ',' ? strtoul(end + 1, &end, 10) : low;
	if (*end == '}')
		*ret_end = end + 1;
	if (high < low) /* {n,} becomes n copies and a star */
		high = (low < PATTERN_PARTS_MAX ? low : PATTERN_PARTS_MAX) + 1;
	return high == 0 ? 1 : high > PATTERN_PARTS_MAX ? PATTERN_PARTS_MAX + 1 : high;
}

const char *muster_regex_problem(const char *pattern)
{
	unsigned long parts[PATTERN_BYTES_MAX + 1] = { 0 }; /* within each open parenthesis */
	unsigned long last = 0;                             /* of what a repetition would copy */
	size_t depth = 0;
	if (strlen(pattern) > PATTERN_BYTES_MAX)
		return "it is longer than 256 bytes";
	while (*pattern) {
		char c = *pattern;
		if (c == '\\' && pattern[1] >= '0' && pattern[1] <= '9')
			return "it has a back reference, which POSIX extended regular expressions do not have";
		if (c == '(') {
			parts[++depth] = 0;
			last = 0;
			pattern++;
			continue;
		}
		if (c == '*' || c == '?' || c == '+' || c == '{') {
			unsigned long times = copies(pattern, &pattern);
			parts[depth] += last * (times - 1);
			last *= times;
		} else if (c == ')' && depth > 0) {
			last = parts[depth--] + 1;
			parts[depth] += last;
			pattern++;
		} else {
			last = 1;
			parts[depth]++;
			pattern = c == '[' ? behind_bracket(pattern) : pattern + (c == '\\' && pattern[1] ? 2 : 1);
		}
		if (parts[depth] > PATTERN_PARTS_MAX)
			return "its repetitions multiply to more than 200 characters";
	}
	return NULL;
}

regex_t *muster_regex_compile(const char *pattern, bool ignore_case, char *why, size_t size)
{
	const char *problem = muster_regex_problem(pattern);
	regex_t *regex;
	char message[128];
	int code;
	if (problem) {
		snprintf(why, size, "too large a regular expression: %s", problem);
		return NULL;
	}
	regex = muster_calloc(1, sizeof *regex);
	code = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0));
	if (code == 0)
		return regex;
	regerror(code, regex, message, sizeof message);
	snprintf(why, size, "not a POSIX extended regular expression: %s", message);
	free(regex);
	return NULL;
}

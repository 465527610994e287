/* regex_limits.h - regular expressions of expectation files */
#ifndef MUSTER_EXPECT_REGEX_LIMITS_H
#define MUSTER_EXPECT_REGEX_LIMITS_H

#include <regex.h>
#include <stdbool.h>

/* Why a regular expression could cost more than a check may; NULL when it can be compiled (or refused) and matched in
 * little time and memory. */
const char *muster_regex_problem(const char *pattern);

/* Compile a POSIX extended regular expression of bounded cost. The caller ends it with regfree and free. NULL with what
 * it is, after "is", in why: "too large a regular expression: ...". */
regex_t *muster_regex_compile(const char *pattern, bool ignore_case, char *why, size_t size);

#endif

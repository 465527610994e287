/* version.h - versions of numbers with dots between them: "2.9.9" */
#ifndef MUSTER_EXPECT_VERSION_H
#define MUSTER_EXPECT_VERSION_H

#include <stdbool.h>

/* Whether the text is nothing but numbers with dots between them. */
bool muster_version_valid(const char *text);

/* Whether a version is `least` or later, which must be valid. Numbers are compared as numbers, and one that is left out
 * is 0: 2.10 reaches 2.9.9 and 2.10.0. What follows the version's numbers ("-1040-azure", "+cuda12.4") is ignored; a
 * text that does not begin with a digit is no version and reaches nothing. */
bool muster_version_reaches(const char *version, const char *least);

#endif

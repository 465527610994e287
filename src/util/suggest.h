/* suggest.h - suggest names that are similar to a mistyped one */
#ifndef MUSTER_UTIL_SUGGEST_H
#define MUSTER_UTIL_SUGGEST_H

#include <stddef.h>

/* Number of letters to change, add or remove to turn a into b (Levenshtein), ignoring case; large for a long name. */
size_t muster_suggest_distance(const char *a, const char *b);

/* The names nearest to `name`, then those that contain it, quoted and joined ("a", "b" or "c"), at most `most`; "" when
 * there is none. Returns out. */
const char *muster_suggest(const char *name, size_t count, const char *(*at)(const void *arg, size_t index),
	const void *arg, size_t most, char *out, size_t size);

#endif

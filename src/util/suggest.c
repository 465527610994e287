/* suggest.c - suggest names that are similar to a mistyped one */
#include "util/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_COMPARED 96
#define PART_LEAST 3 /* letters: fewer are part of too many names */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t muster_suggest_distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_COMPARED + 1];
	size_t m = strlen(a), n = strlen(b);
	if (m > NAME_MAX_COMPARED || n > NAME_MAX_COMPARED)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t above = row[j];
			bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);

			row[j] = least(corner + !same, least(above, row[j - 1]) + 1);
			corner = above;
		}
	}
	return row[n];
}

/* "H100" of "Standard_NC40ads_H100_v5" */
static bool is_part(const char *name, const char *candidate)
{
	return strlen(name) >= PART_LEAST && strlen(name) <= NAME_MAX_COMPARED && strcasestr(candidate, name);
}

const char *muster_suggest(const char *name, size_t count, const char *(*at)(const void *arg, size_t index),
	const void *arg, size_t most, char *out, size_t size)
{
	enum { KEPT_MAX = 4 };
	const char *best[KEPT_MAX];
	size_t far[KEPT_MAX], kept = 0, limit = strlen(name) / 2 + 1, used = 0;

	out[0] = '\0';
	most = least(most, KEPT_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *candidate = at(arg, i);
		size_t d = muster_suggest_distance(name, candidate), place = kept;

		if (d > limit && !is_part(name, candidate))
			continue;
		d = least(d, limit + 1);
		while (place > 0 && far[place - 1] > d)
			place--;
		if (place == most)
			continue;
		kept += kept < most;
		for (size_t j = kept - 1; j > place; j--) {
			best[j] = best[j - 1];
			far[j] = far[j - 1];
		}
		best[place] = candidate;
		far[place] = d;
	}
	for (size_t i = 0; i < kept && used < size; i++) {
		const char *joint = i == 0 ? "" : i + 1 == kept ? " or " : ", ";

		used += (size_t)snprintf(out + used, size - used, "%s\"%s\"", joint, best[i]);
	}
	return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - arrays that grow at their end
 *
 * Room doubles, so that n elements cost n copies at most in all.
 */
#include "util/array.h"
#include "muster/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* At least eight elements, so that a short list does not grow once for each element. */
void *muster_array_grow(void *items, size_t *room, size_t least, size_t size)
{
	enum { FIRST = 8 };
	size_t twice = *room > 0 ? 2 * *room : FIRST;
	*room = twice > least ? twice : least;
	return muster_realloc(items, *room, size);
}

/* ---- comparisons for qsort and bsearch, the median and percentiles ---- */

/* Binary search: everything before `low` comes before the key, nothing from `high` on does. */
size_t muster_array_before(const void *key, const void *items, size_t count, size_t size,
	int (*order)(const void *element, const void *key))
{
	size_t low = 0;
	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (order((const char *)items + middle * size, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int muster_by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int muster_by_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

int muster_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int muster_sizes_order(const size_t *a, const size_t *b, size_t count)
{
	for (; count > 0 && *a == *b; a++, b++)
		count--;
	return count == 0 ? 0 : *a < *b ? -1 : 1;
}

int muster_text_order(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

double muster_median_of(double *values, size_t count)
{
	qsort(values, count, sizeof *values, muster_by_double);
	return values[(count - 1) / 2] / 2 + values[count / 2] / 2; /* the sum of two may be infinite */
}

double muster_percentile_of(const double *ascending, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);
	return ascending[rank > 0 ? rank - 1 : 0];
}

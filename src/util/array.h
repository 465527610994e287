/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - arrays that grow at their end
 *
 * struct { struct thing *items; size_t count, room; } is an empty one when it is all zeros. Pointers to elements are
 * good until the next element is added: what must last longer is an index.
 */
#ifndef MUSTER_UTIL_ARRAY_H
#define MUSTER_UTIL_ARRAY_H

#include <stddef.h>

/* items (NULL at first; freed by its owner) has count elements, and is allocated for room of them; count and room are
 * size_t. Room for `more` elements, from items[count] on; each such call may move the elements. Out of memory ends the
 * process. */
#define MUSTER_ARRAY_RESERVE(items, count, room, more)                                                                 \
	((room) - (count) >= (more)                                                                                    \
			? (void)0                                                                                      \
			: (void)((items) = muster_array_grow((items), &(room), (count) + (more), sizeof *(items))))

/* Room for one element more. */
#define MUSTER_ARRAY_GROW(items, count, room) MUSTER_ARRAY_RESERVE(items, count, room, 1)

/* An element more: MUSTER_ARRAY_PUSH(items, count, room, (struct thing){ .a = 1, .b = 2 }) */
#define MUSTER_ARRAY_PUSH(items, count, room, ...)                                                                     \
	(MUSTER_ARRAY_GROW(items, count, room), (void)((items)[(count)++] = (__VA_ARGS__)))

/* At least twice the room, and for at least `least` elements of `size` bytes. Returns items, moved. */
void *muster_array_grow(void *items, size_t *room, size_t least, size_t size);

/* ---- comparisons for qsort and bsearch, the median and percentiles ---- */

/* How many of the elements, ascending by `order`, come before the key: the place of the first one that does not. */
size_t muster_array_before(const void *key, const void *items, size_t count, size_t size,
	int (*order)(const void *element, const void *key));

/* Elements of type double, and of type int. */
int muster_by_double(const void *a, const void *b);
int muster_by_int(const void *a, const void *b);

/* Elements that are, or begin with, a pointer to a string. */
int muster_by_text(const void *a, const void *b);

/* As strcmp, but NULL comes before every string. */
int muster_text_order(const char *a, const char *b);

/* So many sizes, the first ones that differ decide. */
int muster_sizes_order(const size_t *a, const size_t *b, size_t count);

/* The median of count > 0 finite values, which are sorted; the mean of the two in the middle when count is even. */
double muster_median_of(double *values, size_t count);

/* The value that `share` (0 to 1) of count > 0 ascending values, and at least one of them, do not exceed: a percentile
 * by nearest rank, which is always one of the values. */
double muster_percentile_of(const double *ascending, size_t count, double share);

#endif

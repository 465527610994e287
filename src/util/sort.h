/* sort.h - comparisons for qsort and bsearch, and the median */
#ifndef MUSTER_UTIL_SORT_H
#define MUSTER_UTIL_SORT_H

#include <stddef.h>

/* Elements of type double, and of type int. */
int muster_by_double(const void *a, const void *b);
int muster_by_int(const void *a, const void *b);

/* Elements that are, or begin with, a pointer to a string. */
int muster_by_text(const void *a, const void *b);

/* As strcmp, but NULL comes before every string. */
int muster_text_order(const char *a, const char *b);

/* The median of count > 0 finite values, which are sorted; the mean of the two in the middle when count is even. */
double muster_median_of(double *values, size_t count);

#endif

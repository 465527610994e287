/* sort.h - comparisons for qsort and bsearch, the median and percentiles */
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

/* The value that `share` (0 to 1) of count > 0 ascending values, and at least one of them, do not exceed: a percentile
 * by nearest rank, which is always one of the values. */
double muster_percentile_of(const double *ascending, size_t count, double share);

#endif

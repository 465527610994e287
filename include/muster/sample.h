/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - one measured value; implemented by src/model/sample.c
 *
 * A sample is {metric, labels, value}. A value that could not be measured is null with a reason; it is never 0 and
 * never absent.
 */
#ifndef MUSTER_SAMPLE_H
#define MUSTER_SAMPLE_H

#include "muster/metric.h"

struct muster_sample {
	const struct muster_metric *metric;
	const struct muster_label *labels; /* label_count of them, in the metric's order */
	unsigned int label_count;
	unsigned short value_count; /* 0 or at least 2, at most MUSTER_VALUES_MAX */
	bool tried;                 /* a number that was measured once more */
	struct muster_value value;
	const char *reason; /* set if and only if value is null */
	union {
		/* Of a null: the code's name of the error that kept its source from being read; NULL: the machine or
		 * the run has no such value. muster_sample_unread() is NULL of all others too. */
		const char *unread;
		/* Of a number that was measured several times: all value_count of them, in their order. Behind them,
		 * of one that was tried: the two that it was before, and then. */
		const double *values;
	};
};
/* A run has millions of them. */
_Static_assert(sizeof(struct muster_sample) <= 56, "a sample takes no more memory");

const char *muster_sample_unread(const struct muster_sample *sample);

/* What a number was before it was measured once more, and then; NULL when it was not. */
const double *muster_sample_tries(const struct muster_sample *sample);

/* A growing array; the labels and strings of its samples live in an arena. */
struct muster_samples {
	struct muster_sample *items;
	size_t count, room;
};

void muster_samples_add(struct muster_samples *samples, struct muster_sample sample);
void muster_samples_done(struct muster_samples *samples);
/* The first sample of this metric; NULL when there is none, or no metric. */
const struct muster_sample *muster_samples_find(
	const struct muster_samples *samples, const struct muster_metric *metric);

/* The label's value, or NULL when the sample does not carry it. */
const struct muster_value *muster_sample_label(const struct muster_sample *sample, const char *key);

/* Whether both have the same labels, in one order, with equal values. except: a label that does not matter, or NULL. */
bool muster_labels_equal(
	const struct muster_label *a, size_t a_count, const struct muster_label *b, size_t b_count, const char *except);

/* The label's text; "" when the sample does not carry it. */
const char *muster_sample_label_text(const struct muster_sample *sample, const char *key);

/* What a label says: NULL, or 0, when none of the labels has this key, or its value is of the other type. */
const char *muster_label_string(const struct muster_label *labels, size_t count, const char *key);
double muster_label_number(const struct muster_label *labels, size_t count, const char *key);

#endif

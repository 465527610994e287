/* SPDX-License-Identifier: Apache-2.0 */
/* strips.h - the values of one metric over all GPUs, ports or ranks, and what the checks ask of them
 *
 * A strip is what values.c draws on one scale: values that are comparable. Values of one metric are, unless they differ
 * in a label that makes another measurement of them (`variant` in the table of labels), such as a message size.
 */
#ifndef MUSTER_REPORT_HTML_STRIPS_H
#define MUSTER_REPORT_HTML_STRIPS_H

#include "report/figures.h"
#include "report/html/html.h"

struct muster_strip_value {
	double value;
	enum muster_status status; /* of the finding about this value; PASS: there is none */
	size_t node;               /* index; SIZE_MAX: of the job */
	const struct muster_rank *rank;
	const struct muster_sample *sample;
	bool outlier; /* far from the others, or with a finding */
};

/* The thresholds of a strip, as indices of `bounds`. */
enum {
	MUSTER_STRIP_FAIL_BELOW,
	MUSTER_STRIP_WARN_BELOW,
	MUSTER_STRIP_WARN_ABOVE,
	MUSTER_STRIP_FAIL_ABOVE,
	MUSTER_STRIP_BOUNDS
};

struct muster_strip {
	const struct muster_metric *metric;
	const struct muster_shown *figure; /* NULL: it is no speed of the summary */
	const char *title;
	char *variant; /* the labels that tell it from other strips of the metric, "hw-thermal"; "" for none */
	int order;     /* on the page: figures by their places, then other speeds, then all else */
	struct muster_strip_value *values; /* ascending, by value */
	size_t count, room;
	double median;
	const struct muster_metric *limit;  /* the limit that the values are shown with; NULL */
	double lowest_limit, highest_limit; /* NAN: not known */
	const char *limit_of;               /* "PCIe 4.0 x16"; NULL: of several links, or not known */
	double bounds[MUSTER_STRIP_BOUNDS]; /* NAN: there is none */
};

struct muster_strips {
	struct muster_strip *items;
	size_t count, room;
};

/* The strips of a report, speeds first: every speed, and of other metrics that checks read those whose values differ or
 * have a finding. */
void muster_strips_make(const struct muster_html *page, struct muster_strips *ret);
void muster_strips_done(struct muster_strips *strips);

#endif

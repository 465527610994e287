/* figures.h - the speeds that every writer shows, in their order, with their titles */
#ifndef MUSTER_REPORT_FIGURES_H
#define MUSTER_REPORT_FIGURES_H

#include "muster/sample.h"

/* About the samples of the metric whose label `key` has this value; NULL: about all. */
struct muster_figure {
	const char *metric, *title, *key, *value;
	const char *limit; /* the metric of its limit, where the metric does not say one; NULL */
};

enum { MUSTER_FIGURE_COUNT = 20 };
extern const struct muster_figure muster_figures[MUSTER_FIGURE_COUNT];

/* Whether labels are those of a figure; labels without its key are of each. */
bool muster_figure_is_about(const struct muster_figure *figure, const struct muster_label *labels, size_t count);
/* The figure of such samples; NULL when there is none. */
const struct muster_figure *muster_figure_of(const char *metric, const struct muster_label *labels, size_t count);
/* The limit that a sample is shown with, among the samples of its place; figure may be NULL. NULL when none is known.
 */
const struct muster_sample *muster_figure_limit(
	const struct muster_figure *figure, const struct muster_samples *samples, const struct muster_sample *sample);

#endif

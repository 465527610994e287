/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - the speeds that every writer shows: MUSTER_SHOWN_SPEEDS */
#ifndef MUSTER_REPORT_FIGURES_H
#define MUSTER_REPORT_FIGURES_H

#include "muster/sample.h"

/* Whether samples with these labels are shown so. */
bool muster_figure_is_about(const struct muster_shown *figure, const struct muster_label *labels, size_t count);
/* The figure of a sample; NULL when there is none. */
const struct muster_shown *muster_figure_of(const struct muster_sample *sample);
/* The limit that a sample is shown with, among the samples of its place; figure may be NULL. NULL when none is known.
 */
const struct muster_sample *muster_figure_limit(
	const struct muster_shown *figure, const struct muster_samples *samples, const struct muster_sample *sample);

#endif

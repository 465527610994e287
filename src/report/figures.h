/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - the speeds that every writer shows: MUSTER_SHOWN_SPEEDS
 *
 * A figure is a row of the catalogue that says how a metric is shown (struct muster_shown). A metric has one figure, or
 * one for each value of a label: exchanges within the node (kind "edge") and with the next node (kind "rail").
 */
#ifndef MUSTER_REPORT_FIGURES_H
#define MUSTER_REPORT_FIGURES_H

#include "muster/sample.h"

/* Whether samples with these labels are shown so: the label of the figure has its value, or is not among them. */
bool muster_figure_is_about(const struct muster_shown *figure, const struct muster_label *labels, size_t count);
/* The figure of a sample; NULL when there is none. */
const struct muster_shown *muster_figure_of(const struct muster_sample *sample);
/* The limit that a sample is shown with, among the samples of its place; figure may be NULL. NULL when none is known.
 */
const struct muster_sample *muster_figure_limit(
	const struct muster_shown *figure, const struct muster_samples *samples, const struct muster_sample *sample);

#endif

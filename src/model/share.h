/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - how much of its limit a measured speed reaches
 *
 * A speed alone says little about a machine that the reader does not know: 27 GB/s are all of PCIe 4.0 x16 and less
 * than half of PCIe 5.0 x16.
 */
#ifndef MUSTER_MODEL_SHARE_H
#define MUSTER_MODEL_SHARE_H

#include "muster/finding.h"

#define MUSTER_SHARE_TEXT_MAX 256

/* Whether a limit at the same place is that of the sample: labels that both have are equal. */
bool muster_limit_fits(const struct muster_sample *limit, const struct muster_sample *sample);

/* The limit of this metric that fits the sample; NULL when none of the samples is one. */
const struct muster_sample *muster_limit_named(
	const struct muster_samples *samples, const char *metric, const struct muster_sample *sample);

/* The limit that a sample of these is shown with; NULL when none of them is known. */
const struct muster_sample *muster_limit_among(
	const struct muster_samples *samples, const struct muster_sample *sample);

/* Count a number in. limit: its limit, or NULL; one that is null or not above 0 counts as none. */
void muster_share_add(struct muster_share *share, double number, const struct muster_sample *limit);

/* "43 % of PCIe 5.0 x16"; with_limit: "43 % of PCIe 5.0 x16 (63 GB/s)". "" where there is no share. Returns out. */
const char *muster_share_text(
	const struct muster_share *share, const char *unit, bool with_limit, char out[MUSTER_SHARE_TEXT_MAX]);

/* What was observed, for people: "27 GB/s, 43 % of PCIe 5.0 x16 (63 GB/s)". malloc'd; "" where observed is NULL. */
char *muster_finding_observed(const struct muster_finding *finding);
/* "reset-gpu: reset GPU ...", malloc'd: the action's code, and the advice where there is one. */
char *muster_finding_action(const struct muster_finding *finding);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - how much of its limit a measured speed reaches
 *
 * A limit is a sample too, such as "gpu.pcie_limit_gbps" with 63 GB/s and the label link="PCIe 5.0 x16". The metric of
 * a speed names the metrics of its limits (muster_metric.limits), and muster_limit_among finds the sample that fits:
 *
 *    speed     gpu.h2d_gbps {gpu=0001:00:00.0} = 27
 *    limit     gpu.pcie_limit_gbps {gpu=0001:00:00.0, link=PCIe 5.0 x16} = 63
 *    text      "43 % of PCIe 5.0 x16 (63 GB/s)"
 *
 * struct muster_share collects the shares of one or more values, each with its own limit: the lowest and the highest
 * share, and the lowest limit. Values with different limits are shown as "40 to 43 % of the limit of each".
 */
#include "model/share.h"

#include "muster/arena.h"

#include <stdio.h>
#include <string.h>

/* Labels that only one of the two has do not matter. Both mostly have their labels in the same order, so that the place
 * is tried before a search. */
bool muster_limit_fits(const struct muster_sample *limit, const struct muster_sample *sample)
{
	for (size_t i = 0; i < limit->label_count; i++) {
		const char *key = limit->labels[i].key;
		bool same_place = i < sample->label_count && strcmp(sample->labels[i].key, key) == 0;
		const struct muster_value *own =
			same_place ? &sample->labels[i].value : muster_sample_label(sample, key);
		if (own && !muster_value_equal(*own, limit->labels[i].value))
			return false;
	}
	return true;
}

const struct muster_sample *muster_limit_named(
	const struct muster_samples *samples, const char *metric, const struct muster_sample *sample)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *limit = &samples->items[i];
		if (limit->value.type == MUSTER_NUMBER && strcmp(limit->metric->name, metric) == 0 &&
			muster_limit_fits(limit, sample))
			return limit;
	}
	return NULL;
}

/* The first metric of the list that has a fitting sample counts, not the lowest limit. */
const struct muster_sample *muster_limit_among(const struct muster_samples *samples, const struct muster_sample *sample)
{
	const struct muster_sample *limit = NULL;
	for (const char *const *name = sample->metric->limits; *name && !limit; name++)
		limit = muster_limit_named(samples, *name, sample);
	return limit;
}

/* The limit in words: its label, what people call it, or the metric's name. */
static const char *words_of(const struct muster_sample *limit)
{
	const char *link = muster_label_string(limit->labels, limit->label_count, "link");
	const char *called = limit->metric->called;
	return link ? link : called ? called : limit->metric->name;
}

void muster_share_add(struct muster_share *share, double number, const struct muster_sample *limit)
{
	if (!limit || limit->value.type != MUSTER_NUMBER || !(limit->value.number > 0))
		return;
	double part = number / limit->value.number;
	const char *words = words_of(limit);
	if (!share->known) {
		*share = (struct muster_share){ true, part, part, limit->value.number, words };
		return;
	}
	share->lowest = part < share->lowest ? part : share->lowest;
	share->highest = part > share->highest ? part : share->highest;
	if (limit->value.number < share->limit)
		share->limit = limit->value.number;
	if (strcmp(share->of, words) != 0)
		share->of = "the limit of each";
}

/* Per cent, with one decimal place below 10. The bound is 9.95 %, since from there on "%.1f" would print "10.0". */
static const char *per_cent(double part, char out[32])
{
	snprintf(out, 32, part < 0.0995 ? "%.1f" : "%.0f", part * 100);
	return out;
}

/* The lowest and the highest share are compared as texts: 42.6 and 43.4 are both "43 %". */
const char *muster_share_text(
	const struct muster_share *share, const char *unit, bool with_limit, char out[MUSTER_SHARE_TEXT_MAX])
{
	char lowest[32], highest[32], limit[96] = "";
	*out = '\0';
	if (!share->known)
		return out;
	per_cent(share->lowest, lowest);
	per_cent(share->highest, highest);
	bool same = strcmp(lowest, highest) == 0;
	if (with_limit)
		snprintf(limit, sizeof limit, share->limit < 1000 ? " (%.3g%s%s)" : " (%.0f%s%s)", share->limit,
			*unit ? " " : "", unit);
	snprintf(out, MUSTER_SHARE_TEXT_MAX, "%s%s%s %% of %s%s", lowest, same ? "" : " to ", same ? "" : highest,
		share->of, limit);
	return out;
}

char *muster_finding_observed(const struct muster_finding *finding)
{
	char share[MUSTER_SHARE_TEXT_MAX];
	const char *unit = finding->unit ? finding->unit : "";
	bool number = finding->observed && finding->value.type == MUSTER_NUMBER && *unit;
	muster_share_text(&finding->share, unit, true, share);
	return muster_asprintf("%s%s%s%s%s%s%s", finding->observed ? finding->observed : "", number ? " " : "",
		number ? unit : "", *share ? ", " : "", share, finding->tries ? ", " : "",
		finding->tries ? finding->tries : "");
}

char *muster_finding_action(const struct muster_finding *finding)
{
	const char *code = finding->action_code ? finding->action_code : "", *advice = finding->advice;
	return muster_asprintf("%s%s%s", code, *code && advice ? ": " : "", advice ? advice : "");
}

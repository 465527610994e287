/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c - the speeds that every writer shows: which samples they are of, and the limit of each */
#include "report/figures.h"

#include "model/share.h"

#include <string.h>

bool muster_figure_is_about(const struct muster_shown *figure, const struct muster_label *labels, size_t count)
{
	const char *value = figure->key ? muster_label_string(labels, count, figure->key) : NULL;
	return !value || strcmp(value, figure->value) == 0;
}

const struct muster_shown *muster_figure_of(const struct muster_sample *sample)
{
	for (const struct muster_shown *as = sample->metric->shown; as && as->title; as++)
		if (as->table == MUSTER_SHOWN_SPEEDS && muster_figure_is_about(as, sample->labels, sample->label_count))
			return as;
	return NULL;
}

const struct muster_sample *muster_figure_limit(
	const struct muster_shown *figure, const struct muster_samples *samples, const struct muster_sample *sample)
{
	const struct muster_sample *limit =
		figure && figure->limit ? muster_limit_named(samples, figure->limit, sample) : NULL;
	return limit ? limit : muster_limit_among(samples, sample);
}

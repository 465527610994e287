/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - labels and growing arrays of samples */
#include "muster/sample.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

void muster_samples_add(struct muster_samples *samples, struct muster_sample sample)
{
	MUSTER_ARRAY_PUSH(samples->items, samples->count, samples->room, sample);
}

void muster_samples_done(struct muster_samples *samples)
{
	free(samples->items);
	*samples = (struct muster_samples){ 0 };
}

const struct muster_sample *muster_samples_find(
	const struct muster_samples *samples, const struct muster_metric *metric)
{
	for (size_t i = 0; metric && i < samples->count; i++)
		if (samples->items[i].metric == metric)
			return &samples->items[i];
	return NULL;
}

const char *muster_sample_unread(const struct muster_sample *sample)
{
	return sample->value.type == MUSTER_NULL ? sample->unread : NULL;
}

const double *muster_sample_tries(const struct muster_sample *sample)
{
	return sample->tried ? sample->values + sample->value_count : NULL;
}

/* Most keys are those of the catalogue: one text has one address. */
static bool same_key(const char *a, const char *b)
{
	return a == b || (a[0] == b[0] && strcmp(a, b) == 0);
}

static const struct muster_value *find_label(const struct muster_label *labels, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (same_key(labels[i].key, key))
			return &labels[i].value;
	return NULL;
}

const struct muster_value *muster_sample_label(const struct muster_sample *sample, const char *key)
{
	return find_label(sample->labels, sample->label_count, key);
}

bool muster_labels_equal(
	const struct muster_label *a, size_t a_count, const struct muster_label *b, size_t b_count, const char *except)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++) {
		bool matters = !except || !same_key(a[i].key, except);
		if (!same_key(a[i].key, b[i].key) || (matters && !muster_value_equal(a[i].value, b[i].value)))
			return false;
	}
	return true;
}

const char *muster_sample_label_text(const struct muster_sample *sample, const char *key)
{
	const char *text = muster_label_string(sample->labels, sample->label_count, key);
	return text ? text : "";
}

const char *muster_label_string(const struct muster_label *labels, size_t count, const char *key)
{
	const struct muster_value *value = find_label(labels, count, key);
	return value && value->type == MUSTER_STRING ? value->string : NULL;
}

double muster_label_number(const struct muster_label *labels, size_t count, const char *key)
{
	const struct muster_value *value = find_label(labels, count, key);
	return value && value->type == MUSTER_NUMBER ? value->number : 0;
}

/* sample.c - values, labels and growing arrays of samples */
#include "muster/sample.h"

#include "muster/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
	[MUSTER_NULL] = "null",
	[MUSTER_NUMBER] = "number",
	[MUSTER_STRING] = "string",
	[MUSTER_BOOLEAN] = "boolean",
};
_Static_assert(sizeof type_names / sizeof *type_names == MUSTER_TYPE_COUNT, "every type has a name");

static const char *const scope_names[] = {
	[MUSTER_SCOPE_JOB] = "job",
	[MUSTER_SCOPE_NODE] = "node",
	[MUSTER_SCOPE_RANK] = "rank",
	[MUSTER_SCOPE_GPU] = "gpu",
	[MUSTER_SCOPE_PORT] = "port",
};
_Static_assert(sizeof scope_names / sizeof *scope_names == MUSTER_SCOPE_COUNT, "every scope has a name");

const char *muster_type_name(enum muster_type type)
{
	return (unsigned int)type < MUSTER_TYPE_COUNT ? type_names[type] : "unknown";
}

const char *muster_scope_name(enum muster_scope scope)
{
	return (unsigned int)scope < MUSTER_SCOPE_COUNT ? scope_names[scope] : "unknown";
}

void muster_samples_add(struct muster_samples *samples, struct muster_sample sample)
{
	if (samples->count == samples->room) {
		samples->room = samples->room ? samples->room * 2 : 16;
		samples->items = muster_realloc(samples->items, samples->room, sizeof *samples->items);
	}
	samples->items[samples->count++] = sample;
}

void muster_samples_done(struct muster_samples *samples)
{
	free(samples->items);
	*samples = (struct muster_samples){ 0 };
}

struct muster_value muster_number(double number)
{
	return (struct muster_value){ .type = MUSTER_NUMBER, .number = number };
}

struct muster_value muster_string(const char *string)
{
	return (struct muster_value){ .type = MUSTER_STRING, .string = string };
}

struct muster_value muster_boolean(bool boolean)
{
	return (struct muster_value){ .type = MUSTER_BOOLEAN, .boolean = boolean };
}

struct muster_value muster_null(void)
{
	return (struct muster_value){ .type = MUSTER_NULL };
}

bool muster_value_equal(struct muster_value a, struct muster_value b)
{
	if (a.type != b.type)
		return false;
	switch (a.type) {
	case MUSTER_NUMBER: return !(a.number < b.number) && !(a.number > b.number);
	case MUSTER_STRING: return a.string == b.string || strcmp(a.string, b.string) == 0;
	case MUSTER_BOOLEAN: return a.boolean == b.boolean;
	default: return true;
	}
}

const char *muster_value_text(struct muster_value value, char *out, size_t size)
{
	switch (value.type) {
	case MUSTER_NUMBER:
		if (fabs(value.number) < 1e15 && !(value.number < trunc(value.number)) &&
			!(value.number > trunc(value.number)))
			snprintf(out, size, "%.0f", value.number);
		else
			snprintf(out, size, fabs(value.number) < 1000 ? "%.4g" : "%.0f", value.number);
		break;
	case MUSTER_STRING: snprintf(out, size, "%s", value.string); break;
	case MUSTER_BOOLEAN: snprintf(out, size, "%s", value.boolean ? "true" : "false"); break;
	default: snprintf(out, size, "null"); break;
	}
	return out;
}

const struct muster_value *muster_sample_label(const struct muster_sample *sample, const char *key)
{
	for (size_t i = 0; i < sample->label_count; i++)
		if (strcmp(sample->labels[i].key, key) == 0)
			return &sample->labels[i].value;
	return NULL;
}

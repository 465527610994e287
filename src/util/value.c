/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - a number, a string, a boolean or nothing */
#include "muster/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
	[MUSTER_NULL] = "null",
	[MUSTER_NUMBER] = "number",
	[MUSTER_STRING] = "string",
	[MUSTER_BOOLEAN] = "boolean",
};
_Static_assert(sizeof type_names / sizeof *type_names == MUSTER_TYPE_COUNT, "every type has a name");

const char *muster_type_name(enum muster_type type)
{
	return (unsigned int)type < MUSTER_TYPE_COUNT ? type_names[type] : "unknown";
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

/* Whole numbers below 10^15 in full, others with four significant digits, but from 1000 on without a fraction: "26.1",
 * "0.4567", "1234", "8589934592". */
const char *muster_value_text(struct muster_value value, char *out, size_t size)
{
	switch (value.type) {
	case MUSTER_NUMBER:
		if (fabs(value.number) < 1e15 && !(value.number < trunc(value.number)) &&
			!(value.number > trunc(value.number)))
			snprintf(out, size, "%.0f", value.number);
		else
			snprintf(out, size, fabs(value.number) < 1000 || fabs(value.number) > 1e15 ? "%.4g" : "%.0f",
				value.number);
		break;
	case MUSTER_STRING: snprintf(out, size, "%s", value.string); break;
	case MUSTER_BOOLEAN: snprintf(out, size, "%s", value.boolean ? "true" : "false"); break;
	default: snprintf(out, size, "%s", MUSTER_NO_VALUE); break;
	}
	return out;
}

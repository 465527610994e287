/* prometheus_name.c - what a metric of the catalogue is called in Prometheus, and in which unit */
#include "report/prometheus_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool ends_in(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);
	return length >= end && strcmp(name + length - end, suffix) == 0;
}

struct muster_prometheus_name muster_prometheus_name_of(const struct muster_metric *metric)
{
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	struct muster_prometheus_name ret = { .unit = unit->base, .factor = unit->factor };
	const char *name = metric->exported_as ? metric->exported_as : metric->name;
	bool cut = *unit->ending && ends_in(name, unit->ending);
	int kept = (int)(strlen(name) - (cut ? strlen(unit->ending) : 0));
	bool counts = cut && metric->unit == MUSTER_UNIT_NONE; /* "_count" has a meaning in Prometheus */
	snprintf(ret.text, sizeof ret.text, "muster_%.*s%s%s%s", kept, name, counts ? "s" : "", *ret.unit ? "_" : "",
		ret.unit);
	for (char *at = ret.text; *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	return ret;
}

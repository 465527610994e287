/* SPDX-License-Identifier: Apache-2.0 */
/* metric.c - units, and what follows from the row of a metric
 *
 * The table of units: text for people, ending of metric names, unit of Prometheus with its factor. The functions below
 * decide by the row of a metric, never by its name.
 */
#include "muster/metric.h"

#define BYTE_OF_BIT 0.125
/* Shares: of single runs, of repeated ones, and of metrics with `varies`; their source is in metric.h. */
#define NOISE 0.08
#define NOISE_OF_REPEATED 0.05
#define NOISE_OF_VARYING 0.25

const struct muster_unit_row muster_units[MUSTER_UNIT_COUNT] = {
	[MUSTER_UNIT_NONE] = { "", "_count", "", .factor = 1 },
	[MUSTER_UNIT_RATIO] = { "", "_share", "ratio", .factor = 1 },
	[MUSTER_UNIT_GB_PER_S] = { "GB/s", "_gbps", "bytes_per_second", .factor = 1e9, .speed = true,
		.transfer = true },
	[MUSTER_UNIT_GBIT_PER_S] = { "Gb/s", "_gbps", "bytes_per_second", .factor = 1e9 * BYTE_OF_BIT },
	[MUSTER_UNIT_TFLOP_PER_S] = { "TFLOP/s", "_tflops", "flops", .factor = 1e12, .speed = true },
	[MUSTER_UNIT_GB] = { "GB", "_gb", "bytes", .factor = 1e9 },
	[MUSTER_UNIT_MEBIBYTES] = { "MiB", "_mib", "bytes", .factor = 1048576 },
	[MUSTER_UNIT_BYTES] = { "bytes", "_bytes", "bytes", .factor = 1 },
	[MUSTER_UNIT_BITS] = { "bits", "_bits", "bytes", .factor = BYTE_OF_BIT },
	[MUSTER_UNIT_MHZ] = { "MHz", "_mhz", "hertz", .factor = 1e6 },
	[MUSTER_UNIT_WATTS] = { "W", "_watts", "watts", .factor = 1 },
	[MUSTER_UNIT_CELSIUS] = { "\xc2\xb0"
				  "C",
		"_celsius", "celsius", .factor = 1 },
	[MUSTER_UNIT_HOURS] = { "h", "_hours", "seconds", .factor = 3600 },
	[MUSTER_UNIT_SECONDS] = { "s", "_seconds", "seconds", .factor = 1, .time = true },
	[MUSTER_UNIT_MS] = { "ms", "_ms", "seconds", .factor = 1e-3, .time = true },
	[MUSTER_UNIT_US] = { "us", "_us", "seconds", .factor = 1e-6, .transfer = true, .time = true },
	[MUSTER_UNIT_LANES] = { "lanes", "", "", .factor = 1 },
};

static const char *const scope_names[] = {
	[MUSTER_SCOPE_JOB] = "job",
	[MUSTER_SCOPE_NODE] = "node",
	[MUSTER_SCOPE_RANK] = "rank",
	[MUSTER_SCOPE_GPU] = "gpu",
	[MUSTER_SCOPE_PORT] = "port",
};
_Static_assert(sizeof scope_names / sizeof *scope_names == MUSTER_SCOPE_COUNT, "every scope has a name");

const char *muster_scope_name(enum muster_scope scope)
{
	return (unsigned int)scope < MUSTER_SCOPE_COUNT ? scope_names[scope] : "unknown";
}

const char *muster_metric_unit(const struct muster_metric *metric)
{
	return muster_units[metric->unit].text;
}

enum muster_worse muster_metric_worse(const struct muster_metric *metric)
{
	if (metric->type != MUSTER_NUMBER)
		return MUSTER_WORSE_NEITHER;
	if (metric->better == MUSTER_BETTER_MORE)
		return MUSTER_WORSE_BELOW;
	return metric->better == MUSTER_BETTER_LESS || muster_units[metric->unit].time ? MUSTER_WORSE_ABOVE
										       : MUSTER_WORSE_NEITHER;
}

bool muster_metric_scatters(const struct muster_metric *metric)
{
	const struct muster_unit_row *unit = &muster_units[metric->unit];
	return metric->type == MUSTER_NUMBER &&
	       (metric->better == MUSTER_BETTER_DRIFTS ||
		       (metric->better != MUSTER_BETTER_FACT && (unit->speed || unit->transfer)));
}

double muster_metric_best(const struct muster_metric *metric, const double *values, size_t count)
{
	double best = values[0];
	for (size_t i = 1; i < count; i++)
		if (metric->better == MUSTER_BETTER_MORE ? values[i] > best : values[i] < best)
			best = values[i];
	return best;
}

bool muster_metric_is_speed(const struct muster_metric *metric)
{
	return metric->better == MUSTER_BETTER_MORE && muster_units[metric->unit].speed;
}

double muster_metric_noise(const struct muster_metric *metric, bool repeated)
{
	return metric->varies ? NOISE_OF_VARYING : repeated ? NOISE_OF_REPEATED : NOISE;
}

/* prometheus_name.c - what a metric of the catalogue is called in Prometheus, and in which unit */
#include "report/prometheus_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BYTE_OF_BIT 0.125

/* How a unit of the catalogue stands at the end of a metric's name, and what Prometheus has instead. */
static const struct unit {
	const char *unit, *suffix, *base;
	double factor;
} units[] = {
	{ "GB/s", "_gbps", "bytes_per_second", 1e9 },
	{ "Gb/s", "_gbps", "bytes_per_second", 1e9 * BYTE_OF_BIT },
	{ "GB", "_gb", "bytes", 1e9 },
	{ "MiB", "_mib", "bytes", 1048576 },
	{ "bytes", "_bytes", "bytes", 1 },
	{ "bits", "_bits", "bytes", BYTE_OF_BIT },
	{ "TFLOP/s", "_tflops", "flops", 1e12 },
	{ "MHz", "_mhz", "hertz", 1e6 },
	{ "W", "_watts", "watts", 1 },
	{ "\xc2\xb0"
	  "C",
		"_celsius", "celsius", 1 },
	{ "h", "_hours", "seconds", 3600 },
	{ "s", "_seconds", "seconds", 1 },
	{ "ms", "_ms", "seconds", 1e-3 },
	{ "us", "_us", "seconds", 1e-6 },
	{ "lanes", "", "", 1 },
	/* without a unit: shares, and counts, whose ending Prometheus keeps for histograms */
	{ "", "_share", "ratio", 1 },
	{ "", "_count", "", 1 },
	{ "", "", "", 1 },
};

/* Shares whose names do not say so. */
static const char *const ratios[] = { "gpu.d2h_spread", "gpu.gemm_drift", "gpu.gemm_spread", "gpu.h2d_spread",
	"gpu.utilisation_before", "job.overlap", "job.step_spread", "nccl.allreduce_outliers" };

/* Names that Prometheus's rules do not allow: a type as a part of a name. */
static const struct other_name {
	const char *metric, *name;
} other_names[] = {
	{ "port.counter", "port.errors" },
	{ "port.counter_increase", "port.errors_increase" },
};

static bool ends_in(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);
	return length >= end && strcmp(name + length - end, suffix) == 0;
}

static const struct unit *unit_of(const struct muster_metric *metric)
{
	const struct unit *unit = units;
	while (*unit->unit && (strcmp(unit->unit, metric->unit) != 0 || !ends_in(metric->name, unit->suffix)))
		unit++;
	while (!ends_in(metric->name, unit->suffix))
		unit++;
	return unit;
}

struct muster_prometheus_name muster_prometheus_name_of(const struct muster_metric *metric)
{
	const struct unit *unit = unit_of(metric);
	struct muster_prometheus_name ret = { .unit = unit->base, .factor = unit->factor };
	const char *name = metric->name;
	int kept = (int)(strlen(name) - strlen(unit->suffix));
	for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
		if (strcmp(name, ratios[i]) == 0)
			ret.unit = "ratio";
	for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++) {
		if (strcmp(name, other_names[i].metric) != 0)
			continue;
		name = other_names[i].name;
		kept = (int)strlen(name);
	}
	bool counts = strcmp(unit->suffix, "_count") == 0;
	snprintf(ret.text, sizeof ret.text, "muster_%.*s%s%s%s", kept, name, counts ? "s" : "", *ret.unit ? "_" : "",
		ret.unit);
	for (char *at = ret.text; *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	return ret;
}

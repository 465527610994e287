/* prometheus_name.h - what a metric of the catalogue is called in Prometheus, and in which unit
 *
 * Prometheus wants base units in the names (https://prometheus.io/docs/practices/naming/), so "gpu.h2d_gbps" in GB/s
 * becomes muster_gpu_h2d_bytes_per_second, and a value of 26 becomes 26e9. One rule makes all names: dots become
 * underlines, the unit at the end of the name becomes the base unit. Names do not change from version to version.
 */
#ifndef MUSTER_REPORT_PROMETHEUS_NAME_H
#define MUSTER_REPORT_PROMETHEUS_NAME_H

#include "muster/sample.h"

struct muster_prometheus_name {
	char text[96];
	const char *unit; /* the end of the name: "bytes_per_second"; "" for none */
	double factor;    /* from the metric's unit */
};

/* metric: a number or a boolean, which is 1 or 0. */
struct muster_prometheus_name muster_prometheus_name_of(const struct muster_metric *metric);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.h - the parts of Prometheus's text format: a metric's head, labels, series
 *
 * Format: https://prometheus.io/docs/instrumenting/exposition_formats/. For the files of this writer only.
 */
#ifndef MUSTER_REPORT_PROMETHEUS_H
#define MUSTER_REPORT_PROMETHEUS_H

#include "muster/report.h"

struct muster_prometheus_series {
	const char *name;   /* what it is sorted by: of a metric its name in the catalogue, of a count "" */
	const char *labels; /* "{...}", or "" */
	double value;
	const struct muster_metric *metric; /* NULL: a count */
	size_t place;                       /* in the order in which they were found */
};

/* One writing of a report. Series are printed at once, or kept in `series` where those with equal labels must become
 * one first: muster_prometheus_add, muster_prometheus_fold, print; count is set to 0 before the next use. */
struct muster_prometheus {
	const struct muster_report *report;
	FILE *out;
	struct muster_arena *arena;              /* of names and labels */
	struct muster_prometheus_series *series; /* malloc'd */
	size_t count, room;
};

/* Begin a metric, a gauge. unit: the end of its name, or "". Help texts are of one line. */
void muster_prometheus_begin(
	const struct muster_prometheus *page, const char *name, const char *unit, const char *help);
/* A series of it, with labels as of muster_prometheus_labels_end. */
void muster_prometheus_put(const struct muster_prometheus *page, const char *name, const char *labels, double value);
/* A series with one label. */
void muster_prometheus_put_of(
	const struct muster_prometheus *page, const char *name, const char *key, const char *text, double value);

/* The labels of a series, one after the other; all NULL at the beginning. */
struct muster_prometheus_labels {
	FILE *stream;
	char *text;
	size_t length;
};

/* value: of any bytes; NULL for no label. */
void muster_prometheus_label(struct muster_prometheus_labels *labels, const char *key, const char *value);
/* The text, which is the arena's. */
const char *muster_prometheus_labels_end(struct muster_prometheus_labels *labels, struct muster_arena *arena);

/* Keep a series for later; its place is set here. */
void muster_prometheus_add(struct muster_prometheus *page, struct muster_prometheus_series series);
/* Sort what is kept; values of one metric with the same labels become the worst of them, counts their sum. */
void muster_prometheus_fold(struct muster_prometheus *page);

/* What a metric of the catalogue is called in Prometheus, and in which unit.
 *
 * Prometheus wants base units in the names (https://prometheus.io/docs/practices/naming/), so "gpu.h2d_gbps" in GB/s
 * becomes muster_gpu_h2d_bytes_per_second, and a value of 26 becomes 26e9. One rule makes all names: dots become
 * underlines, the unit at the end of the name becomes the base unit. Names do not change from version to version.
 */
struct muster_prometheus_name {
	char text[96];
	const char *unit; /* the end of the name: "bytes_per_second"; "" for none */
	double factor;    /* from the metric's unit */
};
/* metric: a number or a boolean, which is 1 or 0. */
struct muster_prometheus_name muster_prometheus_name_of(const struct muster_metric *metric);

/* prometheus_values.c: the values of the run. */
void muster_prometheus_values(struct muster_prometheus *page);

#endif

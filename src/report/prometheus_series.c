/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_series.c - the parts of Prometheus's text format: a metric's head, labels, series
 *
 * The format escapes a backslash and a newline in help texts, and also a quotation mark in a label's value. Help texts
 * are muster's own and have one line. Values are made printable before, so they have no newline either.
 */
#include "report/prometheus.h"

#include "report/print_escaped.h"
#include "util/array.h"
#include "util/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A label's value. What a machine gave is made printable first, so that it is UTF-8 on one line. */
static void put_value(FILE *out, const char *text)
{
	char *safe = muster_escaped(text);
	fputc('"', out);
	for (const char *at = safe; *at; at++) {
		if (*at == '\\' || *at == '"')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
	free(safe);
}

void muster_prometheus_label(struct muster_prometheus_labels *labels, const char *key, const char *value)
{
	if (!value)
		return;
	if (!labels->stream)
		labels->stream = muster_memory_open(&labels->text, &labels->length);
	fprintf(labels->stream, "%s%s=", ftello(labels->stream) == 0 ? "{" : ",", key);
	put_value(labels->stream, value);
}

const char *muster_prometheus_labels_end(struct muster_prometheus_labels *labels, struct muster_arena *arena)
{
	if (!labels->stream)
		return "";
	fputc('}', labels->stream);
	muster_memory_close(labels->stream);
	return muster_arena_take(arena, labels->text);
}

void muster_prometheus_begin(const struct muster_prometheus *page, const char *name, const char *unit, const char *help)
{
	fprintf(page->out, "# HELP %s ", name);
	for (const char *at = help; *at; at++)
		fputs(*at == '\\' ? "\\\\" : (char[]){ *at, '\0' }, page->out);
	if (*unit)
		fprintf(page->out, "\n# UNIT %s %s", name, unit);
	fprintf(page->out, "\n# TYPE %s gauge\n", name);
}

void muster_prometheus_put(const struct muster_prometheus *page, const char *name, const char *labels, double value)
{
	fprintf(page->out, "%s%s %.15g\n", name, labels, value);
}

void muster_prometheus_put_of(
	const struct muster_prometheus *page, const char *name, const char *key, const char *text, double value)
{
	fprintf(page->out, "%s{%s=", name, key);
	put_value(page->out, text);
	fprintf(page->out, "} %.15g\n", value);
}

/* ---- series ---- */

void muster_prometheus_add(struct muster_prometheus *page, struct muster_prometheus_series series)
{
	MUSTER_ARRAY_GROW(page->series, page->count, page->room);
	series.place = page->count;
	page->series[page->count++] = series;
}

/* The last key is the order in which they were found: it makes the result of qsort the same in each run. */
static int by_name_and_labels(const void *a, const void *b)
{
	const struct muster_prometheus_series *one = a, *other = b;
	int order = strcmp(one->name, other->name);
	if (order == 0)
		order = strcmp(one->labels, other->labels);
	return order ? order : (one->place > other->place) - (one->place < other->place);
}

/* Of values that share a series, the worst: the lowest of speeds, of flags (false), and of what is better with more;
 * the highest of all others. */
static double worst(const struct muster_metric *metric, double a, double b)
{
	bool lowest = metric->better == MUSTER_BETTER_MORE || metric->type == MUSTER_BOOLEAN ||
		      metric->unit == MUSTER_UNIT_GB_PER_S;
	return lowest ? fmin(a, b) : fmax(a, b);
}

void muster_prometheus_fold(struct muster_prometheus *page)
{
	size_t kept = 0;
	if (page->count > 0)
		qsort(page->series, page->count, sizeof *page->series, by_name_and_labels);
	for (size_t i = 0; i < page->count; i++) {
		struct muster_prometheus_series *next = &page->series[i], *last = kept ? &page->series[kept - 1] : NULL;
		if (!last || strcmp(last->name, next->name) != 0 || strcmp(last->labels, next->labels) != 0)
			page->series[kept++] = *next;
		else
			last->value = next->metric ? worst(next->metric, last->value, next->value)
						   : last->value + next->value;
	}
	page->count = kept;
}

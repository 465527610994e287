/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - `muster metrics`: the catalogue of what can be measured, for those who write expectations
 *
 * As text, a table with a row for each metric; as JSON, an array of objects. A column is as wide as its longest cell;
 * where the terminal has no room for all columns, each metric is a paragraph (print_paragraph). The catalogue is that
 * of the probes: muster_metric_at() gives all metrics in the order of their names.
 */
#include "cli/cli.h"
#include "json/writer.h"
#include "muster/arena.h"
#include "muster/sample.h"
#include "muster/probe.h"
#include "report/text_grid.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "port,counter", the names of the metric's labels; "-" when the metric has none. Returns out. */
static const char *labels_text(const struct muster_metric *metric, char *out, size_t size)
{
	size_t used = 0;
	snprintf(out, size, "-");
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "," : "", metric->labels[i]);
	return out;
}

enum { COLUMNS = 7, METRICS_MAX = 100 };
static const char *const headings[COLUMNS] = { "NAME", "TYPE", "UNIT", "SCOPE", "PROBE", "LABELS", "MEANING" };

/* The metrics that were asked for; without any, all. */
struct wanted {
	const char *names[METRICS_MAX];
	size_t count;
};

static bool is_wanted(const struct wanted *wanted, const struct muster_metric *metric)
{
	return wanted->count == 0 || muster_text_among(metric->name, wanted->names, wanted->count);
}

/* Fill in the cells of a row. They point into the metric and into labels, which must live as long. */
static void cells_of(const struct muster_metric *metric, const char *cells[COLUMNS], char labels[256])
{
	const char *const all[COLUMNS] = { metric->name, muster_type_name(metric->type),
		*muster_metric_unit(metric) ? muster_metric_unit(metric) : "-", muster_scope_name(metric->scope),
		muster_metric_probe(metric), labels_text(metric, labels, 256), metric->meaning };
	memcpy(cells, all, sizeof all);
}

/* What has no room in columns: the name, and below it the rest. */
static void print_paragraph(const struct muster_text_page *page, const char *const cells[COLUMNS])
{
	char *line = muster_asprintf(
		"%s, %s, %s, probe %s, labels %s: %s", cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]);
	fprintf(page->out, "%s\n    ", cells[0]);
	muster_text_lines(page, line, 4, 4);
	free(line);
}

/* Print a line for each metric, in columns; the meaning is last, because it is long. The columns are measured over all
 * rows first. Where the terminal is too narrow for them, each metric is a paragraph. */
static void print_rows(const struct wanted *wanted)
{
	const struct muster_text_page page = { .out = stdout, .layout = muster_cli_list_layout() };
	struct muster_text_grid grid = { .columns = COLUMNS };
	const char *cells[COLUMNS];
	char labels[256];
	muster_grid_measure(&grid, headings);
	for (size_t i = 0; i < muster_metric_count(); i++) {
		cells_of(muster_metric_at(i), cells, labels);
		if (is_wanted(wanted, muster_metric_at(i)))
			muster_grid_measure(&grid, cells);
	}
	bool fits = muster_grid_fit(&grid, muster_text_width(&page));
	if (fits)
		muster_grid_print(&grid, &page, headings, NULL);
	for (size_t i = 0; i < muster_metric_count(); i++) {
		cells_of(muster_metric_at(i), cells, labels);
		if (!is_wanted(wanted, muster_metric_at(i)))
			continue;
		if (fits)
			muster_grid_print(&grid, &page, cells, NULL);
		else
			print_paragraph(&page, cells);
	}
}

static void print_json(FILE *out, const struct wanted *wanted)
{
	struct muster_json_writer w;
	muster_json_writer_init(&w, out, 1);
	muster_json_writer_array(&w);
	for (size_t i = 0; i < muster_metric_count(); i++) {
		const struct muster_metric *metric = muster_metric_at(i);
		if (!is_wanted(wanted, metric))
			continue;
		muster_json_writer_object(&w);
		muster_json_writer_pair(&w, "name", muster_string(metric->name));
		muster_json_writer_pair(&w, "type", muster_string(muster_type_name(metric->type)));
		muster_json_writer_pair(&w, "unit", muster_string(muster_metric_unit(metric)));
		muster_json_writer_pair(&w, "scope", muster_string(muster_scope_name(metric->scope)));
		muster_json_writer_pair(&w, "probe", muster_string(muster_metric_probe(metric)));
		muster_json_writer_array_of(&w, "labels");
		for (size_t j = 0; j < MUSTER_LABELS_MAX && metric->labels[j]; j++)
			muster_json_writer_string(&w, metric->labels[j]);
		muster_json_writer_array_end(&w);
		muster_json_writer_pair(&w, "meaning", muster_string(metric->meaning));
		muster_json_writer_object_end(&w);
	}
	muster_json_writer_array_end(&w);
}

int muster_cmd_metrics(int argc, char **argv)
{
	struct wanted wanted = { .count = 0 };
	enum muster_form form = MUSTER_FORM_TEXT;
	const struct muster_option options[] = { MUSTER_CLI_FORMAT(&form), MUSTER_CLI_JSON };
	struct muster_cli cli = {
		.usage = "muster metrics [NAME...] [options]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Lists the metrics that checks in expectation files can use (docs/expectations.md): "
			    "all metrics, or only those given as NAME.\n",
		.prints = true,
		.operands = wanted.names,
		.operands_most = METRICS_MAX,
		.words = muster_words_metrics,
	};
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	wanted.count = cli.operand_count;
	for (size_t i = 0; i < wanted.count; i++)
		if (!muster_cli_metric(wanted.names[i], "metrics", &err))
			return muster_cli_usage(&err);
	if (form == MUSTER_FORM_JSON)
		print_json(stdout, &wanted);
	else
		print_rows(&wanted);
	return muster_cli_printed(MUSTER_EXIT_PASS);
}

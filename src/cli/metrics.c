/* metrics.c - `muster metrics`: the catalogue of what can be measured, for those who write expectations
 */
#include "cli/cli.h"
#include "json/writer.h"
#include "muster/report.h"
#include "muster/sample.h"
#include "muster/probe.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "port, counter", or "-" when the metric has none. Returns out. */
static const char *labels_text(const struct muster_metric *metric, char *out, size_t size)
{
	size_t used = 0;
	snprintf(out, size, "-");
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "," : "", metric->labels[i]);
	return out;
}

/* One line a metric, in columns; the meaning last, because it is long. Without out only the columns' widths are set. */
enum { COLUMNS = 6, METRICS_MAX = 100 };

static void print_row(FILE *out, const char *const *cells, const char *meaning, int widths[COLUMNS])
{
	for (size_t c = 0; c < COLUMNS; c++) {
		/* "°C" has one byte more than it shows */
		int extra = strncmp(cells[c], "\xc2\xb0", 2) == 0, length = (int)strlen(cells[c]) - extra;

		if (out)
			fprintf(out, "%-*s  ", widths[c] + extra, cells[c]);
		else if (length > widths[c])
			widths[c] = length;
	}
	if (out)
		fprintf(out, "%s\n", meaning);
}

/* The metrics that were asked for; without any, all. */
struct wanted {
	const char *names[METRICS_MAX];
	size_t count;
};

static bool is_wanted(const struct wanted *wanted, const struct muster_metric *metric)
{
	return wanted->count == 0 || muster_text_among(metric->name, wanted->names, wanted->count);
}

static int names_known(const struct wanted *wanted, struct muster_error *err)
{
	for (size_t i = 0; i < wanted->count; i++) {
		size_t count = muster_metric_count();
		char near[256];
		if (muster_metric_find(wanted->names[i]))
			continue;
		const char **all = muster_calloc(count, sizeof *all);
		for (size_t j = 0; j < count; j++)
			all[j] = muster_metric_at(j)->name;
		muster_suggest(wanted->names[i], all, count, sizeof *all, 3, near, sizeof near);
		free(all);
		return muster_fail(err, MUSTER_EUSAGE, "metrics: no such metric: \"%.100s\"%s%s", wanted->names[i],
			*near ? "; did you mean " : "", near);
	}
	return 0;
}

static void print_rows(FILE *out, const struct wanted *wanted, int widths[COLUMNS])
{
	static const char *const heads[COLUMNS] = { "NAME", "TYPE", "UNIT", "SCOPE", "PROBE", "LABELS" };
	char labels[256];
	print_row(out, heads, "MEANING", widths);
	for (size_t i = 0; i < muster_metric_count(); i++) {
		const struct muster_metric *metric = muster_metric_at(i);
		const char *cells[COLUMNS] = { metric->name, muster_type_name(metric->type),
			*muster_metric_unit(metric) ? muster_metric_unit(metric) : "-",
			muster_scope_name(metric->scope), muster_metric_probe(metric),
			labels_text(metric, labels, sizeof labels) };
		if (is_wanted(wanted, metric))
			print_row(out, cells, metric->meaning, widths);
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
	fputc('\n', out);
}

int muster_cmd_metrics(int argc, char **argv)
{
	struct wanted wanted = { .count = 0 };
	bool json = false;
	const struct muster_option options[] = {
		{ "--json", NULL, "print a JSON array", .flag = &json },
	};
	struct muster_cli cli = {
		.usage = "muster metrics [NAME...] [--json]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Lists the metrics that checks in expectation files can use (docs/expectations.md): "
			    "all metrics, or only those given as NAME.\n",
		.operands = wanted.names,
		.operands_most = METRICS_MAX,
		.words = muster_words_metrics,
	};
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, NULL, &code))
		return code;
	wanted.count = cli.operand_count;
	if (names_known(&wanted, &err) < 0)
		return muster_cli_usage(&err);
	int widths[COLUMNS] = { 0 };
	if (json) {
		print_json(stdout, &wanted);
	} else {
		print_rows(NULL, &wanted, widths);
		print_rows(stdout, &wanted, widths);
	}
	return muster_cli_printed(MUSTER_EXIT_PASS);
}

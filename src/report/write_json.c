/* write_json.c - the report as JSON, and one node of it as leaders send it
 *
 * The layout is that of docs/report.schema.json: one sample, one probe outcome, one check, one "where" on a line, so
 * that two reports can be compared line by line. What is absent is left out; only a sample's or finding's value may be
 * null.
 */
#include "muster/report.h"

#include "util/file.h"
#include "json/writer.h"
#include "model/run_json.h"
#include "model/limits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Everything that is opened until the matching line_end() stays on one line. */
static int line_begin(struct muster_json_writer *w)
{
	int saved = w->indent_depth;
	if (w->indent_depth > w->depth)
		w->indent_depth = w->depth;
	return saved;
}

static void line_end(struct muster_json_writer *w, int saved)
{
	w->indent_depth = saved;
}

static void write_text(struct muster_json_writer *w, const char *key, const char *text)
{
	if (text)
		muster_json_writer_pair(w, key, muster_string(text));
}

static void write_count(struct muster_json_writer *w, const char *key, size_t count)
{
	muster_json_writer_pair(w, key, muster_number((double)count));
}

static void write_labels(struct muster_json_writer *w, const char *key, const struct muster_label *labels, size_t count)
{
	if (count == 0)
		return;
	muster_json_writer_key(w, key);
	muster_json_writer_object(w);
	for (size_t i = 0; i < count; i++)
		muster_json_writer_pair(w, labels[i].key, labels[i].value);
	muster_json_writer_object_end(w);
}

/* JSON knows neither NaN nor infinity: such a value could not be had. */
static bool finite_or_other(struct muster_value value)
{
	return value.type != MUSTER_NUMBER || isfinite(value.number);
}

static void write_values(struct muster_json_writer *w, const struct muster_sample *sample)
{
	if (sample->value_count == 0)
		return;
	muster_json_writer_key(w, "values");
	muster_json_writer_array(w);
	for (size_t i = 0; i < sample->value_count; i++)
		muster_json_writer_number(w, sample->values[i]);
	muster_json_writer_array_end(w);
}

static void write_sample(struct muster_json_writer *w, const struct muster_sample *sample)
{
	bool fit = finite_or_other(sample->value);
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "metric", muster_string(sample->metric->name));
	write_labels(w, "labels", sample->labels, sample->label_count);
	muster_json_writer_pair(w, "value", fit ? sample->value : muster_null());
	if (!fit || sample->value.type == MUSTER_NULL)
		write_text(w, "reason", !fit ? "the measured value is not a finite number" : sample->reason);
	else
		write_values(w, sample);
	muster_json_writer_object_end(w);
}

static void write_samples(struct muster_json_writer *w, const struct muster_samples *samples)
{
	muster_json_writer_key(w, "samples");
	muster_json_writer_array(w);
	int saved = line_begin(w);
	for (size_t i = 0; i < samples->count; i++)
		write_sample(w, &samples->items[i]);
	line_end(w, saved);
	muster_json_writer_array_end(w);
}

static void write_outcomes(struct muster_json_writer *w, const struct muster_outcomes *outcomes)
{
	muster_json_writer_key(w, "probes");
	muster_json_writer_array(w);
	int saved = line_begin(w);
	for (size_t i = 0; i < outcomes->count; i++)
		muster_object_write(w, &muster_outcome_type, &outcomes->items[i]);
	line_end(w, saved);
	muster_json_writer_array_end(w);
}

static void write_rank(struct muster_json_writer *w, const struct muster_rank *rank)
{
	muster_json_writer_object(w);
	muster_members_write(w, &muster_rank_type, rank);
	write_outcomes(w, &rank->outcomes);
	write_samples(w, &rank->samples);
	muster_json_writer_object_end(w);
}

static void write_node(struct muster_json_writer *w, const struct muster_node *node)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "name", muster_string(node->name));
	muster_json_writer_pair(w, "simulated", muster_boolean(node->simulated));
	write_samples(w, &node->samples);
	muster_json_writer_key(w, "ranks");
	muster_json_writer_array(w);
	for (size_t i = 0; i < node->rank_count; i++)
		write_rank(w, &node->ranks[i]);
	muster_json_writer_array_end(w);
	muster_json_writer_object_end(w);
}

static void write_run(struct muster_json_writer *w, const struct muster_run *run)
{
	muster_json_writer_object(w);
	muster_json_writer_key(w, "job");
	muster_json_writer_object(w);
	muster_members_write(w, &muster_job_type, &run->job);
	write_samples(w, &run->job.samples);
	muster_json_writer_object_end(w);
	muster_json_writer_key(w, "nodes");
	muster_json_writer_array(w);
	for (size_t i = 0; i < run->node_count; i++)
		write_node(w, &run->nodes[i]);
	muster_json_writer_array_end(w);
	if (run->trial_count > 0) {
		muster_json_writer_key(w, "trials");
		muster_json_writer_array(w);
		int saved = line_begin(w);
		for (size_t i = 0; i < run->trial_count; i++)
			muster_object_write(w, &muster_trial_type, &run->trials[i]);
		line_end(w, saved);
		muster_json_writer_array_end(w);
	}
	muster_json_writer_object_end(w);
}

/* Findings stand by status, then by node: within one status the same node comes in one row. */
static void write_failed_nodes(struct muster_json_writer *w, const struct muster_report *report)
{
	const char *last = NULL;
	muster_json_writer_key(w, "failed_nodes");
	int saved = line_begin(w);
	muster_json_writer_array(w);
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (finding->status != MUSTER_FAIL || !finding->node || strcmp(finding->node, "?") == 0 ||
			(last && strcmp(last, finding->node) == 0))
			continue;
		last = finding->node;
		muster_json_writer_string(w, last);
	}
	muster_json_writer_array_end(w);
	line_end(w, saved);
}

static void write_missing_ranks(struct muster_json_writer *w, const struct muster_run *run)
{
	muster_json_writer_key(w, "missing_ranks");
	int saved = line_begin(w);
	muster_json_writer_array(w);
	for (size_t i = 0; i < run->node_count; i++)
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			if (run->nodes[i].ranks[j].missing || run->nodes[i].ranks[j].unfinished)
				muster_json_writer_number(w, run->nodes[i].ranks[j].rank);
	muster_json_writer_array_end(w);
	line_end(w, saved);
}

static void write_report(struct muster_json_writer *w, const struct muster_report *report)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "schema_version", muster_number(MUSTER_REPORT_SCHEMA_VERSION));
	muster_json_writer_pair(w, "muster", muster_string(MUSTER_VERSION));
	muster_json_writer_pair(w, "verdict", muster_string(muster_status_name(report->verdict)));
	muster_json_writer_pair(w, "simulated", muster_boolean(report->run->job.simulated));
	muster_json_writer_pair(w, "strict", muster_boolean(report->strict));
	muster_json_writer_key(w, "sku");
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "name", muster_string(report->sku ? report->sku : "unknown"));
	write_text(w, "origin", report->sku_origin);
	muster_json_writer_pair(w, "observe", muster_boolean(report->observe));
	muster_json_writer_object_end(w);

	muster_json_writer_key(w, "summary");
	muster_json_writer_object(w);
	write_count(w, "nodes", muster_run_known_nodes(report->run));
	muster_json_writer_pair(w, "ranks", muster_number(report->run->job.ranks));
	if (report->domains)
		write_count(w, "domains", report->domains);
	write_missing_ranks(w, report->run);
	write_failed_nodes(w, report);
	muster_json_writer_key(w, "count");
	int saved = line_begin(w);
	muster_object_write(w, &muster_counts_type, report->count);
	line_end(w, saved);
	muster_json_writer_object_end(w);

	muster_json_writer_key(w, "findings");
	muster_json_writer_array(w);
	for (size_t i = 0; i < report->finding_count; i++)
		muster_object_write(w, &muster_finding_type, &report->findings[i]);
	muster_json_writer_array_end(w);

	muster_json_writer_key(w, "checks");
	muster_json_writer_array(w);
	saved = line_begin(w);
	for (size_t i = 0; i < report->tally_count; i++)
		muster_object_write(w, &muster_tally_type, &report->tallies[i]);
	line_end(w, saved);
	muster_json_writer_array_end(w);

	muster_json_writer_key(w, "run");
	write_run(w, report->run);
	muster_json_writer_object_end(w);
}

int muster_report_print_json(const struct muster_report *report, FILE *out, struct muster_error *err)
{
	struct muster_json_writer writer;
	muster_json_writer_init(&writer, out, MUSTER_WRITER_DEPTH_MAX);
	errno = 0;
	write_report(&writer, report);
	if (fflush(out) != 0 || ferror(out))
		return muster_fail(err, MUSTER_EIO, "%s", errno ? strerror(errno) : "write error");
	return 0;
}

int muster_report_write_json(const struct muster_report *report, const char *path, struct muster_error *err)
{
	struct muster_file file;
	if (muster_file_open(&file, path, err) < 0)
		return muster_wrap(err, "report");
	if (muster_report_print_json(report, file.out, err) < 0) {
		muster_file_abandon(&file);
		return muster_wrap(err, "report: %s", path);
	}
	return muster_file_commit(&file, err) < 0 ? muster_wrap(err, "report") : 0;
}

char *muster_node_to_json(const struct muster_node *node, size_t *ret_length)
{
	struct muster_json_writer_text text;
	muster_json_writer_text_begin(&text);
	write_node(&text.w, node);
	muster_json_writer_text_end(&text);
	if (ret_length)
		*ret_length = text.length;
	return text.text;
}

char *muster_trial_to_json(const struct muster_trial *trial)
{
	struct muster_json_writer_text text;
	muster_json_writer_text_begin(&text);
	muster_object_write(&text.w, &muster_trial_type, trial);
	return muster_json_writer_text_end(&text);
}

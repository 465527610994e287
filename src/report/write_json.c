/* write_json.c - the report as JSON, and one node of it as leaders send it
 *
 * The layout is that of docs/report.schema.json: one sample, one probe outcome, one check, one "where" on a line, so
 * that two reports can be compared line by line. What is absent is left out; only a sample's or finding's value may be
 * null.
 */
#include "muster/report.h"

#include "util/file.h"
#include "json/writer.h"
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

/* What is held against a figure, as most checks are, says nothing. */
static void write_uncalibrated(struct muster_json_writer *w, bool uncalibrated)
{
	if (uncalibrated)
		muster_json_writer_pair(w, "calibrated", muster_boolean(false));
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
	for (size_t i = 0; i < outcomes->count; i++) {
		const struct muster_outcome *outcome = &outcomes->items[i];
		muster_json_writer_object(w);
		muster_json_writer_pair(w, "probe", muster_string(outcome->probe));
		muster_json_writer_pair(w, "status", muster_string(muster_outcome_name(outcome->status)));
		write_text(w, "code", outcome->code);
		write_text(w, "detail", outcome->detail);
		write_text(w, "step", outcome->step);
		if (outcome->ring > 0)
			muster_json_writer_pair(w, "ring", muster_number(outcome->ring));
		muster_json_writer_pair(
			w, "elapsed_ms", muster_number(isfinite(outcome->elapsed_ms) ? outcome->elapsed_ms : 0));
		muster_json_writer_object_end(w);
	}
	line_end(w, saved);
	muster_json_writer_array_end(w);
}

static void write_rank(struct muster_json_writer *w, const struct muster_rank *rank)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "rank", muster_number(rank->rank));
	if (rank->local_rank >= 0)
		muster_json_writer_pair(w, "local_rank", muster_number(rank->local_rank));
	write_text(w, "gpu", rank->gpu);
	write_text(w, "gpu_uuid", rank->gpu_uuid);
	write_text(w, "missing", rank->missing);
	write_text(w, "unfinished", rank->unfinished);
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

static void write_trial(struct muster_json_writer *w, const struct muster_trial *trial)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "probe", muster_string(trial->probe));
	muster_json_writer_pair(w, "kind", muster_string(muster_trial_kind_name(trial->kind)));
	muster_json_writer_key(w, "nodes");
	muster_json_writer_array(w);
	for (size_t i = 0; i < trial->node_count; i++)
		muster_json_writer_string(w, trial->nodes[i]);
	muster_json_writer_array_end(w);
	muster_json_writer_pair(w, "status", muster_string(muster_trial_status_name(trial->status)));
	if (trial->busbw_gbps > 0 && isfinite(trial->busbw_gbps))
		muster_json_writer_pair(w, "busbw_gbps", muster_number(trial->busbw_gbps));
	write_text(w, "why", trial->why);
	muster_json_writer_pair(w, "seconds", muster_number(isfinite(trial->seconds) ? trial->seconds : 0));
	muster_json_writer_object_end(w);
}

static void write_run(struct muster_json_writer *w, const struct muster_run *run)
{
	const struct muster_job *job = &run->job;
	muster_json_writer_object(w);
	muster_json_writer_key(w, "job");
	muster_json_writer_object(w);
	write_text(w, "id", job->id);
	write_text(w, "started", job->started);
	muster_json_writer_pair(w, "elapsed_s", muster_number(isfinite(job->elapsed_s) ? job->elapsed_s : 0));
	write_text(w, "profile", job->profile);
	muster_json_writer_pair(w, "ranks", muster_number(job->ranks));
	muster_json_writer_pair(w, "simulated", muster_boolean(job->simulated));
	write_text(w, "muster", job->version);
	if (job->repeats > 1)
		muster_json_writer_pair(w, "repeats", muster_number(job->repeats));
	write_text(w, "interrupted", job->interrupted);
	if (job->assembled)
		muster_json_writer_pair(w, "assembled", muster_boolean(true));
	write_samples(w, &job->samples);
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
			write_trial(w, &run->trials[i]);
		line_end(w, saved);
		muster_json_writer_array_end(w);
	}
	muster_json_writer_object_end(w);
}

static void write_finding(struct muster_json_writer *w, const struct muster_finding *finding)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "check", muster_string(finding->check));
	muster_json_writer_pair(w, "status", muster_string(muster_status_name(finding->status)));
	muster_json_writer_key(w, "where");
	int saved = line_begin(w);
	muster_json_writer_object(w);
	write_text(w, "node", finding->node);
	if (finding->rank >= 0)
		muster_json_writer_pair(w, "rank", muster_number(finding->rank));
	write_text(w, "gpu", finding->gpu);
	write_text(w, "port", finding->port);
	write_labels(w, "labels", finding->labels, finding->label_count);
	muster_json_writer_object_end(w);
	line_end(w, saved);
	write_text(w, "metric", finding->metric);
	write_text(w, "expected", finding->expected);
	write_text(w, "observed", finding->observed);
	muster_json_writer_pair(w, "value", finite_or_other(finding->value) ? finding->value : muster_null());
	muster_json_writer_pair(w, "unit", muster_string(finding->unit ? finding->unit : ""));
	write_text(w, "advice", finding->advice);
	write_text(w, "source", finding->source);
	write_text(w, "certainty", finding->certainty);
	write_uncalibrated(w, finding->uncalibrated);
	if (finding->unjudged_count > 0) {
		muster_json_writer_key(w, "unjudged");
		saved = line_begin(w);
		muster_json_writer_array(w);
		for (size_t i = 0; i < finding->unjudged_count; i++)
			muster_json_writer_string(w, finding->unjudged[i]);
		muster_json_writer_array_end(w);
		line_end(w, saved);
	}
	muster_json_writer_object_end(w);
}

static void write_counts(struct muster_json_writer *w, const char *key, const size_t count[MUSTER_STATUS_COUNT])
{
	muster_json_writer_key(w, key);
	int saved = line_begin(w);
	muster_json_writer_object(w);
	for (enum muster_status status = 0; status < MUSTER_STATUS_COUNT; status++)
		write_count(w, muster_status_name(status), count[status]);
	muster_json_writer_object_end(w);
	line_end(w, saved);
}

static void write_tally(struct muster_json_writer *w, const struct muster_tally *tally)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "check", muster_string(tally->check));
	write_text(w, "metric", tally->metric);
	write_text(w, "probe", tally->probe);
	write_labels(w, "where", tally->where, tally->where_count);
	write_counts(w, "count", tally->count);
	write_text(w, "skipped", tally->skipped);
	if (tally->has_numbers) {
		muster_json_writer_pair(w, "lowest", muster_number(tally->lowest));
		muster_json_writer_pair(w, "highest", muster_number(tally->highest));
	}
	write_text(w, "value", tally->value);
	muster_json_writer_pair(w, "unit", muster_string(tally->unit ? tally->unit : ""));
	write_text(w, "expected", tally->expected);
	write_text(w, "source", tally->source);
	write_text(w, "certainty", tally->certainty);
	write_uncalibrated(w, tally->uncalibrated);
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
	write_counts(w, "count", report->count);
	muster_json_writer_object_end(w);

	muster_json_writer_key(w, "findings");
	muster_json_writer_array(w);
	for (size_t i = 0; i < report->finding_count; i++)
		write_finding(w, &report->findings[i]);
	muster_json_writer_array_end(w);

	muster_json_writer_key(w, "checks");
	muster_json_writer_array(w);
	int saved = line_begin(w);
	for (size_t i = 0; i < report->tally_count; i++)
		write_tally(w, &report->tallies[i]);
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

/* What write() puts on one line; malloc'd. */
static char *to_text(
	void (*write)(struct muster_json_writer *w, const void *thing), const void *thing, size_t *ret_length)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort(); /* only for want of memory, which ends the process everywhere */
	struct muster_json_writer writer;
	muster_json_writer_init(&writer, out, 0);
	write(&writer, thing);
	if (fclose(out) != 0)
		abort();
	if (ret_length)
		*ret_length = length;
	return text;
}

static void write_any_node(struct muster_json_writer *w, const void *node)
{
	write_node(w, node);
}

static void write_any_trial(struct muster_json_writer *w, const void *trial)
{
	write_trial(w, trial);
}

char *muster_node_to_json(const struct muster_node *node, size_t *ret_length)
{
	return to_text(write_any_node, node, ret_length);
}

char *muster_trial_to_json(const struct muster_trial *trial)
{
	return to_text(write_any_trial, trial, NULL);
}

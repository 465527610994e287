/* run_json_write.c - a run as JSON, and a node or a trial of it alone
 *
 * One sample, one probe's outcome and one trial on a line, so that two reports can be compared line by line. What is
 * absent is left out; only a sample's value may be null.
 */
#include "model/run_json.h"

#include <math.h>

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
		muster_json_writer_pair(w, "reason",
			muster_string(!fit ? "the measured value is not a finite number" : sample->reason));
	else
		write_values(w, sample);
	muster_json_writer_object_end(w);
}

static void write_samples(struct muster_json_writer *w, const struct muster_samples *samples)
{
	muster_json_writer_key(w, "samples");
	muster_json_writer_array(w);
	int saved = muster_json_writer_line_begin(w);
	for (size_t i = 0; i < samples->count; i++)
		write_sample(w, &samples->items[i]);
	muster_json_writer_line_end(w, saved);
	muster_json_writer_array_end(w);
}

static void write_outcomes(struct muster_json_writer *w, const struct muster_outcomes *outcomes)
{
	muster_json_writer_key(w, "probes");
	muster_json_writer_array(w);
	int saved = muster_json_writer_line_begin(w);
	for (size_t i = 0; i < outcomes->count; i++)
		muster_object_write(w, &muster_outcome_type, &outcomes->items[i]);
	muster_json_writer_line_end(w, saved);
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

void muster_run_write(struct muster_json_writer *w, const struct muster_run *run)
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
		int saved = muster_json_writer_line_begin(w);
		for (size_t i = 0; i < run->trial_count; i++)
			muster_object_write(w, &muster_trial_type, &run->trials[i]);
		muster_json_writer_line_end(w, saved);
		muster_json_writer_array_end(w);
	}
	muster_json_writer_object_end(w);
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

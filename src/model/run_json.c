/* SPDX-License-Identifier: Apache-2.0 */
/* run_json.c - a run: its job, its nodes, and its localisation all-reduces
 *
 * The form of a run in a report, and the tables that read and write each part:
 *
 *    "run": { "job":    { "ranks": 8, "profile": "quick", "simulated": false, ..., "samples": [ ... ] },   job_fields
 *             "nodes":  [ ... ],                                                                           node_json.c
 *             "trials": [ {"probe": "nccl_...", "kind": "pair", "nodes": ["gpu-1", "gpu-2"], ...} ] }      trial_fields
 *
 * The small functions at the beginning read and write values whose form in JSON differs from the C type: names of
 * profiles and measures, strictness, times.
 */
#include "model/run_json.h"

#include "model/limits.h"
#include "model/windows.h"
#include "muster/finding.h"
#include "muster/profile.h"
#include "muster/run.h"
#include "util/array.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A time is always there. */
void muster_time_write(struct muster_json_writer *w, const void *from)
{
	double time = *(const double *)from;
	muster_json_writer_number(w, isfinite(time) ? time : 0);
}

int muster_profile_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int profile = muster_json_name_read(r, json, muster_profile_names, MUSTER_PROFILE_COUNT);
	if (profile >= 0)
		*(const char **)into = muster_profile_names[profile];
	return profile < 0 ? -1 : 0;
}

static int read_measure(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int measure = muster_json_name_read(r, json, muster_measure_names, MUSTER_MEASURE_COUNT);
	if (measure >= 0)
		*(int *)into |= 1 << measure;
	return measure < 0 ? -1 : 0;
}

/* ["storage", "paths"] becomes an int with the bits of these measures. each_read gets an item size of 0, so that each
 * element sets its bit in the same int. */
int muster_measures_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_ARRAY)) < 0)
		return -1;
	return muster_json_each_read(r, json, read_measure, into, 0);
}

void muster_measures_write(struct muster_json_writer *w, const void *from)
{
	muster_json_writer_array(w);
	for (size_t i = 0; i < MUSTER_MEASURE_COUNT; i++)
		if (*(const int *)from & 1 << i)
			muster_json_writer_value(w, muster_string(muster_measure_names[i]));
	muster_json_writer_array_end(w);
}

/* false, true or "all" becomes an enum muster_strictness. After an error *into is set too, and is not used. */
int muster_strictness_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const char *const all[] = { "all" };
	bool strict = false;
	int result;
	if (muster_json_type(json) == MUSTER_JSON_STRING) {
		result = muster_json_name_read(r, json, all, 1);
		*(int *)into = MUSTER_STRICT_ALL;
	} else {
		result = muster_json_boolean_read(r, &strict, json);
		*(int *)into = strict ? MUSTER_STRICT : MUSTER_LENIENT;
	}
	return result;
}

void muster_strictness_write(struct muster_json_writer *w, const void *from)
{
	int strict = *(const int *)from;
	muster_json_writer_value(w, strict == MUSTER_STRICT_ALL ? muster_string("all") : muster_boolean(strict));
}

static int read_samples(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	struct muster_job *job = base;
	(void)field;
	return muster_samples_read(r, s, (struct muster_sample_lists){ MUSTER_HOLDER_JOB, { &job->samples } });
}

static const struct muster_field job_fields[] = {
	{ MUSTER_FIELD(muster_job, id, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, started, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, elapsed_s, NUMBER), .write = muster_time_write },
	{ MUSTER_FIELD(muster_job, profile, TEXT), .read = muster_profile_read },
	{ MUSTER_FIELD(muster_job, ranks, INT), .low = 1, .high = MUSTER_RUN_RANKS_MAX },
	{ MUSTER_FIELD(muster_job, simulated, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_job, "muster", version, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, repeats, INT), .low = 1, .high = MUSTER_REPEATS_MAX, .optional = true, .absent = 1 },
	{ MUSTER_FIELD(muster_job, measures, INT), .read = muster_measures_read, .write = muster_measures_write,
		.optional = true },
	{ MUSTER_FIELD(muster_job, beside_jobs, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_job, interrupted, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, assembled, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_job, samples, OBJECT), .parts = read_samples, .write = muster_samples_write },
};
static const struct muster_object_type job_type = MUSTER_OBJECT_TYPE(muster_job, job_fields);

/* The ranks that may come are those of the job. */
static int read_job(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	struct muster_run_reader *reader = (struct muster_run_reader *)r;
	struct muster_run *run = base;
	if (muster_json_stream_object(r, s, field->object, &run->job) < 0)
		return -1;
	reader->seen = muster_calloc((size_t)run->job.ranks / 8 + 1, 1);
	return 0;
}

static const struct muster_field trial_fields[] = {
	{ MUSTER_FIELD(muster_trial, probe, TEXT) },
	{ MUSTER_FIELD(muster_trial, kind, NAME), MUSTER_FIELD_NAMES(muster_trial_kind_names) },
	{ MUSTER_FIELD(muster_trial, nodes, TEXT), MUSTER_FIELD_MANY(muster_trial, node_count),
		.most = MUSTER_RUN_NODES_MAX },
	{ MUSTER_FIELD(muster_trial, status, NAME), MUSTER_FIELD_NAMES(muster_trial_status_names) },
	{ MUSTER_FIELD(muster_trial, bytes, NUMBER), .optional = true },
	{ MUSTER_FIELD(muster_trial, busbw_gbps, NUMBER), .optional = true },
	{ MUSTER_FIELD(muster_trial, why, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_trial, seconds, NUMBER), .write = muster_time_write },
};
const struct muster_object_type muster_trial_type = MUSTER_OBJECT_TYPE(muster_trial, trial_fields);

/* A trial is added to the run and not to *into: the field has no array of its own while it is read
 * (muster_json_stream_field). How many nodes each kind of trial may have is the table `span`. */
int muster_trial_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct {
		size_t least, most;
	} span[MUSTER_TRIAL_KIND_COUNT] = {
		[MUSTER_TRIAL_ALONE] = { 1, 1 },
		[MUSTER_TRIAL_PAIR] = { 2, 2 },
		[MUSTER_TRIAL_GROUP] = { 3, SIZE_MAX },
		[MUSTER_TRIAL_REST] = { 1, SIZE_MAX },
	};
	struct muster_trial trial = { .busbw_gbps = 0 };
	(void)into;
	if (muster_object_read(r, json, &muster_trial_type, &trial) < 0)
		return -1;
	if (trial.status != MUSTER_TRIAL_OK && !trial.why)
		return muster_json_reader_fail(r, "the status is not \"ok\", so the key \"why\" is needed");
	if (trial.node_count < span[trial.kind].least || trial.node_count > span[trial.kind].most)
		return muster_json_reader_fail_member(r, "nodes", "%zu nodes do not fit the kind \"%s\"",
			trial.node_count, muster_trial_kind_names[trial.kind]);
	muster_run_add_trial(((struct muster_run_reader *)r)->run, trial);
	return 0;
}

/* Findings name their node, so that no two nodes may have one name. "?" stands for ranks whose node never became known,
 * and may occur several times. The names are sorted, and equal ones are then neighbours. */
static int check_names(struct muster_json_reader *r, const struct muster_run *run)
{
	const char **names = muster_calloc(run->node_count + 1, sizeof(*names));
	size_t count = 0, i = 1;
	for (size_t n = 0; n < run->node_count; n++)
		if (strcmp(run->nodes[n].name, "?") != 0)
			names[count++] = run->nodes[n].name;
	qsort(names, count, sizeof(*names), muster_by_text);
	while (i < count && strcmp(names[i - 1], names[i]) != 0)
		i++;
	const char *twice = i < count ? names[i] : NULL;
	free(names);
	return twice ? muster_json_reader_fail_member(r, "nodes", "two nodes have the name \"%.100s\"", twice) : 0;
}

/* What holds for the run as a whole. A simulated pass must not be taken for a real one: a simulated node makes the job
 * simulated. No rank may be missing from the file without a word: a rank without results stands there with "missing".
 */
static int check_run(struct muster_json_reader *r, const struct muster_run *run, const unsigned char *seen)
{
	for (size_t i = 0; i < run->node_count; i++)
		if (run->nodes[i].simulated && !run->job.simulated)
			return muster_json_reader_fail_member(r, "job",
				"simulated is false, but the node \"%.100s\" is simulated", run->nodes[i].name);
	for (size_t rank = 0; rank < (size_t)run->job.ranks; rank++)
		if (!(seen[rank / 8] & 1u << rank % 8))
			return muster_json_reader_fail_member(r, "nodes",
				"rank %zu of %d is absent; a rank without results must be present with \"missing\"",
				rank, run->job.ranks);
	return 0;
}

static const struct muster_field run_fields[] = {
	{ MUSTER_FIELD(muster_run, job, OBJECT), .object = &job_type, .parts = read_job },
	{ MUSTER_FIELD(muster_run, nodes, OBJECT), MUSTER_FIELD_MANY(muster_run, node_count),
		.most = MUSTER_RUN_NODES_MAX, .parts = muster_nodes_parts, .needs = "job", .write = muster_node_write,
		.size = sizeof(struct muster_node) },
	{ MUSTER_FIELD(muster_run, trials, OBJECT), MUSTER_FIELD_MANY(muster_run, trial_count),
		.most = MUSTER_RUN_NODES_MAX, .read = muster_trial_read, .size = sizeof(struct muster_trial),
		.object = &muster_trial_type, .one_line = true, .optional = true },
};
static const struct muster_object_type run_type = MUSTER_OBJECT_TYPE(muster_run, run_fields);

/* "run" as a stream: the job first, since ranks are checked against its number of ranks. reader->seen is allocated when
 * the job was read (read_job). */
int muster_run_read(struct muster_run_reader *reader, struct muster_json_stream *s)
{
	struct muster_json_reader *r = &reader->samples.json;
	return muster_json_stream_object(r, s, &run_type, reader->run) < 0 || check_names(r, reader->run) < 0
		       ? -1
		       : check_run(r, reader->run, reader->seen);
}

/* The kept texts of samples live as long as this call: they are found by addresses, which stay the same while the run
 * does. */
void muster_run_write(struct muster_json_writer *w, const struct muster_run *run)
{
	w->sample_texts = muster_sample_texts_new();
	muster_object_write(w, &run_type, run);
	muster_sample_texts_free(w->sample_texts);
	w->sample_texts = NULL;
}

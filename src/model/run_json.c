/* run_json.c - a run: its job, its nodes, and the trials that were made of the ring */
#include "model/run_json.h"

#include "model/trend.h"
#include "model/limits.h"

#include <math.h>
#include <stddef.h>

/* A time is always there. */
void muster_time_write(struct muster_json_writer *w, const void *from)
{
	double time = *(const double *)from;
	muster_json_writer_number(w, isfinite(time) ? time : 0);
}

static int read_profile(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int profile = muster_json_name_read(r, json, muster_profile_names, MUSTER_PROFILE_COUNT);
	if (profile >= 0)
		*(const char **)into = muster_profile_names[profile];
	return profile < 0 ? -1 : 0;
}

static const struct muster_field job_fields[] = {
	{ MUSTER_FIELD(muster_job, id, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, started, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, elapsed_s, NUMBER), .write = muster_time_write },
	{ MUSTER_FIELD(muster_job, profile, TEXT), .read = read_profile },
	{ MUSTER_FIELD(muster_job, ranks, INT), .low = 1, .high = MUSTER_RUN_RANKS_MAX },
	{ MUSTER_FIELD(muster_job, simulated, BOOLEAN) },
	{ MUSTER_FIELD_AS(muster_job, "muster", version, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, repeats, INT), .low = 1, .high = MUSTER_REPEATS_MAX, .optional = true, .absent = 1 },
	{ MUSTER_FIELD(muster_job, interrupted, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_job, assembled, BOOLEAN), .optional = true },
};
const struct muster_object_type muster_job_type = MUSTER_OBJECT_TYPE(muster_job, job_fields);

struct job_parts {
	struct muster_job job;
	const struct muster_json *samples;
};
static const struct muster_field job_lists[] = {
	{ MUSTER_FIELD(job_parts, samples, JSON), .types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY) },
};
static const struct muster_object_type job_parts_type = {
	.fields = job_lists, .count = 1, .size = sizeof(struct job_parts), .base = &muster_job_type
};

static int read_job(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_job *job = &((struct muster_run_reader *)r)->run->job;
	struct job_parts parts = { .job = *job };
	struct muster_sample_lists lists = { MUSTER_HOLDER_JOB, { &job->samples } };
	(void)into;
	if (muster_object_read(r, json, &job_parts_type, &parts) < 0)
		return -1;
	*job = parts.job;
	return muster_json_member_read(r, "samples", 0, muster_samples_read, &lists, parts.samples);
}

static const struct muster_field trial_fields[] = {
	{ MUSTER_FIELD(muster_trial, probe, TEXT) },
	{ MUSTER_FIELD(muster_trial, kind, NAME), MUSTER_FIELD_NAMES(muster_trial_kind_names) },
	{ MUSTER_FIELD(muster_trial, nodes, TEXT), MUSTER_FIELD_MANY(muster_trial, node_count),
		.most = MUSTER_RUN_NODES_MAX },
	{ MUSTER_FIELD(muster_trial, status, NAME), MUSTER_FIELD_NAMES(muster_trial_status_names) },
	{ MUSTER_FIELD(muster_trial, busbw_gbps, NUMBER), .optional = true },
	{ MUSTER_FIELD(muster_trial, why, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_trial, seconds, NUMBER), .write = muster_time_write },
};
const struct muster_object_type muster_trial_type = MUSTER_OBJECT_TYPE(muster_trial, trial_fields);

int muster_trial_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_trial trial = { .busbw_gbps = 0 };
	(void)into;
	if (muster_object_read(r, json, &muster_trial_type, &trial) < 0)
		return -1;
	if (trial.status != MUSTER_TRIAL_OK && !trial.why)
		return muster_json_reader_fail(r, "the status is not \"ok\", so the key \"why\" is needed");
	if (trial.kind == MUSTER_TRIAL_GROUP ? trial.node_count < 3
					     : trial.node_count != (trial.kind == MUSTER_TRIAL_PAIR ? 2 : 1))
		return muster_json_reader_fail_member(r, "nodes", "%zu nodes do not fit the kind \"%s\"",
			trial.node_count, muster_trial_kind_name(trial.kind));
	muster_run_add_trial(((struct muster_run_reader *)r)->run, trial);
	return 0;
}

/* A simulated pass must not be taken for a real one, and no rank may be forgotten. */
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

int muster_run_read(struct muster_run_reader *reader, struct muster_json_part whole)
{
	enum { JOB, NODES, TRIALS, COUNT };
	static const struct muster_field fields[COUNT] = {
		[JOB] = { .key = "job", .read = read_job },
		[NODES] = { .key = "nodes", .read = muster_node_read, .many = true, .most = MUSTER_RUN_NODES_MAX },
		[TRIALS] = { .key = "trials",
			.read = muster_trial_read,
			.many = true,
			.most = MUSTER_RUN_NODES_MAX,
			.optional = true },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_run, fields);
	struct muster_json_reader *r = &reader->samples.json;
	struct muster_json_part parts[COUNT];
	if (muster_json_part_split(r, whole, &type, parts) < 0 ||
		muster_json_part_read(r, parts[JOB], &fields[JOB], reader->run) < 0)
		return -1;
	reader->seen = muster_calloc((size_t)reader->run->job.ranks / 8 + 1, 1);
	for (size_t i = NODES; i < COUNT; i++)
		if (parts[i].text && muster_json_part_read(r, parts[i], &fields[i], reader->run) < 0)
			return -1;
	return check_run(r, reader->run, reader->seen);
}

/* run_json.c - a run: its job, its nodes, and the trials that were made of the ring */
#include "model/run_json.h"

#include "model/trend.h"
#include "muster/probe.h"
#include "model/limits.h"

#include <string.h>

static int read_job(struct muster_run_reader *reader, const struct muster_json *json, const struct muster_json_path *at,
	struct muster_error *err)
{
	enum {
		ID,
		STARTED,
		ELAPSED,
		PROFILE,
		RANKS,
		SIMULATED,
		VERSION,
		REPEATS,
		INTERRUPTED,
		ASSEMBLED,
		SAMPLES,
		COUNT
	};
	static const struct muster_json_field fields[COUNT] = {
		[ID] = { "id", FIELD_STRING, false },
		[STARTED] = { "started", FIELD_STRING, false },
		[ELAPSED] = { "elapsed_s", FIELD_NUMBER, true },
		[PROFILE] = { "profile", FIELD_STRING, true },
		[RANKS] = { "ranks", FIELD_NUMBER, true },
		[SIMULATED] = { "simulated", FIELD_BOOLEAN, true },
		[VERSION] = { "muster", FIELD_STRING, false },
		[REPEATS] = { "repeats", FIELD_NUMBER, false },
		[INTERRUPTED] = { "interrupted", FIELD_STRING, false },
		[ASSEMBLED] = { "assembled", FIELD_BOOLEAN, false },
		[SAMPLES] = { "samples", FIELD_ARRAY, true },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path ranks_at = { .up = at, .key = "ranks" },
				      profile_at = { .up = at, .key = "profile" };
	const struct muster_json_path repeats_at = { .up = at, .key = "repeats" };
	struct muster_job *job = &reader->run->job;
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0 ||
		muster_json_field_int(part[RANKS], &ranks_at, 1, MUSTER_RUN_RANKS_MAX, &job->ranks, err) < 0 ||
		(part[REPEATS] && muster_json_field_int(
					  part[REPEATS], &repeats_at, 1, MUSTER_REPEATS_MAX, &job->repeats, err) < 0))
		return -1;
	for (size_t i = 0; i < MUSTER_PROFILE_COUNT; i++)
		if (strcmp(muster_profile_names[i], muster_json_string(part[PROFILE])) == 0)
			job->profile = muster_profile_names[i];
	if (!job->profile)
		return place_fail(&profile_at, err, "\"%.100s\" is none of quick, standard, full",
			muster_json_string(part[PROFILE]));
	job->id = muster_json_field_text(reader->run->arena, part[ID]);
	job->started = muster_json_field_text(reader->run->arena, part[STARTED]);
	job->elapsed_s = muster_json_number(part[ELAPSED]);
	job->simulated = muster_json_boolean(part[SIMULATED]);
	job->version = muster_json_field_text(reader->run->arena, part[VERSION]);
	job->interrupted = muster_json_field_text(reader->run->arena, part[INTERRUPTED]);
	job->assembled = part[ASSEMBLED] && muster_json_boolean(part[ASSEMBLED]);
	struct muster_samples *const lists[] = { [MUSTER_HOLDER_JOB] = &job->samples };
	return muster_samples_read(&reader->samples, part[SAMPLES], at, MUSTER_HOLDER_JOB, lists, err);
}

int muster_trial_read(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum { PROBE, KIND, NODES, STATUS, BUSBW, WHY, SECONDS, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[PROBE] = { "probe", FIELD_STRING, true },
		[KIND] = { "kind", FIELD_STRING, true },
		[NODES] = { "nodes", FIELD_ARRAY, true },
		[STATUS] = { "status", FIELD_STRING, true },
		[BUSBW] = { "busbw_gbps", FIELD_NUMBER, false },
		[WHY] = { "why", FIELD_STRING, false },
		[SECONDS] = { "seconds", FIELD_NUMBER, true },
	};
	const struct muster_json *part[COUNT];
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	const struct muster_json_path kind_at = { .up = at, .key = "kind" }, nodes_at = { .up = at, .key = "nodes" };
	const struct muster_json_path status_at = { .up = at, .key = "status" };
	const char *kind = muster_json_string(part[KIND]), *status = muster_json_string(part[STATUS]);
	struct muster_trial trial = {
		.probe = muster_json_field_text(reader->run->arena, part[PROBE]),
		.node_count = muster_json_size(part[NODES]),
		.busbw_gbps = part[BUSBW] ? muster_json_number(part[BUSBW]) : 0,
		.why = muster_json_field_text(reader->run->arena, part[WHY]),
		.seconds = muster_json_number(part[SECONDS]),
	};
	while (trial.kind < MUSTER_TRIAL_KIND_COUNT && strcmp(kind, muster_trial_kind_name(trial.kind)) != 0)
		trial.kind++;
	if (trial.kind == MUSTER_TRIAL_KIND_COUNT)
		return place_fail(&kind_at, err, "\"%.100s\" is none of alone, pair, group", kind);
	while (trial.status < MUSTER_TRIAL_STATUS_COUNT && strcmp(status, muster_trial_status_name(trial.status)) != 0)
		trial.status++;
	if (trial.status == MUSTER_TRIAL_STATUS_COUNT)
		return place_fail(&status_at, err, "\"%.100s\" is none of failed, ok, late", status);
	if (trial.status != MUSTER_TRIAL_OK && !trial.why)
		return place_fail(at, err, "the status is not \"ok\", so the key \"why\" is needed");
	if (trial.node_count > MUSTER_RUN_NODES_MAX ||
		(trial.kind == MUSTER_TRIAL_GROUP ? trial.node_count < 3
						  : trial.node_count != (trial.kind == MUSTER_TRIAL_PAIR ? 2 : 1)))
		return place_fail(&nodes_at, err, "%zu nodes cannot be of the kind \"%s\"", trial.node_count, kind);
	trial.nodes = muster_arena_alloc(reader->run->arena, trial.node_count * sizeof *trial.nodes);
	struct muster_json_path here = { .up = &nodes_at };
	const struct muster_json *node = muster_json_first(part[NODES]);
	for (; node; node = muster_json_next(node), here.index++) {
		if (muster_json_field_check(node, &here, FIELD_STRING, err) < 0)
			return -1;
		trial.nodes[here.index] = muster_json_field_text(reader->run->arena, node);
	}
	muster_run_add_trial(reader->run, trial);
	return 0;
}

int muster_run_read(struct muster_run_reader *reader, struct muster_json_part whole, const struct muster_json_path *at,
	struct muster_error *err)
{
	enum { JOB, NODES, TRIALS, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[JOB] = { "job", FIELD_OBJECT, true },
		[NODES] = { "nodes", FIELD_ARRAY, true },
		[TRIALS] = { "trials", FIELD_ARRAY, false },
	};
	struct muster_json_part parts[COUNT];
	const struct muster_json_path job_at = { .up = at, .key = "job" }, nodes_at = { .up = at, .key = "nodes" };
	const struct muster_json_path trials_at = { .up = at, .key = "trials" };
	struct muster_json *job = NULL;
	if (muster_json_part_fields(whole, at, fields, COUNT, parts, err) < 0)
		return -1;
	int rc = muster_json_part_parse(parts[JOB], &job_at, &job, err);
	if (rc == 0)
		rc = read_job(reader, job, &job_at, err);
	muster_json_free(job);
	if (rc < 0)
		return -1;

	size_t ranks = (size_t)reader->run->job.ranks;
	reader->seen = muster_calloc(ranks / 8 + 1, 1);
	if (muster_json_part_elements(parts[NODES], &nodes_at, muster_node_read, reader, err) < 0 ||
		(parts[TRIALS].text &&
			muster_json_part_elements(parts[TRIALS], &trials_at, muster_trial_read, reader, err) < 0))
		return -1;
	for (size_t i = 0; i < reader->run->node_count; i++) /* a simulated pass must not be taken for a real one */
		if (reader->run->nodes[i].simulated && !reader->run->job.simulated)
			return place_fail(&job_at, err, "simulated is false, and yet the node \"%.100s\" is simulated",
				reader->run->nodes[i].name);
	for (size_t rank = 0; rank < ranks; rank++)
		if (!(reader->seen[rank / 8] & 1u << rank % 8))
			return place_fail(&nodes_at, err,
				"rank %zu of %zu stands nowhere; one that sent nothing stands there as missing", rank,
				ranks);
	return 0;
}

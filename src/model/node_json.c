/* node_json.c - a node and its ranks: what each measured, and how its probes ended */
#include "model/run_json.h"

#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

static int read_outcome_status(const struct muster_json *json, const struct muster_json_path *at,
	enum muster_outcome_status *ret, struct muster_error *err)
{
	for (enum muster_outcome_status status = 0; status < MUSTER_OUTCOME_COUNT; status++) {
		if (strcmp(muster_json_string(json), muster_outcome_name(status)) == 0) {
			*ret = status;
			return 0;
		}
	}
	return place_fail(at, err, "\"%.100s\" is none of ok, error, crashed, hung, not_run", muster_json_string(json));
}

static int read_outcome(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_outcome *ret, struct muster_error *err)
{
	enum { PROBE, STATUS, CODE, DETAIL, STEP, RING, ELAPSED, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[PROBE] = { "probe", FIELD_STRING, true },
		[STATUS] = { "status", FIELD_STRING, true },
		[CODE] = { "code", FIELD_STRING, false },
		[DETAIL] = { "detail", FIELD_STRING, false },
		[STEP] = { "step", FIELD_STRING, false },
		[RING] = { "ring", FIELD_NUMBER, false },
		[ELAPSED] = { "elapsed_ms", FIELD_NUMBER, true },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path status_at = { .up = at, .key = "status" }, ring_at = { .up = at, .key = "ring" };
	struct muster_outcome outcome = { 0 };
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0 ||
		read_outcome_status(part[STATUS], &status_at, &outcome.status, err) < 0 ||
		(part[RING] &&
			muster_json_field_int(part[RING], &ring_at, 1, MUSTER_RUN_RANKS_MAX, &outcome.ring, err) < 0))
		return -1;
	if (outcome.status != MUSTER_OUTCOME_OK && !part[DETAIL])
		return place_fail(at, err, "the status is not \"ok\", so the key \"detail\" is needed");
	outcome.probe = muster_json_field_text(reader->run->arena, part[PROBE]);
	outcome.code = muster_json_field_text(reader->run->arena, part[CODE]);
	outcome.detail = muster_json_field_text(reader->run->arena, part[DETAIL]);
	outcome.step = muster_json_field_text(reader->run->arena, part[STEP]);
	outcome.elapsed_ms = muster_json_number(part[ELAPSED]);
	*ret = outcome;
	return 0;
}

static int read_outcomes(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *up, struct muster_outcomes *outcomes, struct muster_error *err)
{
	const struct muster_json_path all = { .up = up, .key = "probes" };
	struct muster_json_path here = { .up = &all };
	if (muster_json_size(json) > MUSTER_RUN_OUTCOMES_MAX)
		return place_fail(&all, err, "%zu probes, at most %d are allowed", muster_json_size(json),
			MUSTER_RUN_OUTCOMES_MAX);
	for (json = muster_json_first(json); json; json = muster_json_next(json), here.index++) {
		struct muster_outcome outcome;
		if (read_outcome(reader, json, &here, &outcome, err) < 0)
			return -1;
		muster_outcomes_add(outcomes, outcome);
	}
	return 0;
}

static int rank_compare(const void *key, const void *item)
{
	int wanted = *(const int *)key, found = ((const struct muster_rank *)item)->rank;
	return (wanted > found) - (wanted < found);
}

/* Is the rank in a node other than the last, which is being read? */
static bool rank_known(struct muster_run_reader *reader, int rank)
{
	const struct muster_run *run = reader->run;
	if (reader->seen) {
		unsigned char bit = (unsigned char)(1u << rank % 8);
		bool known = reader->seen[rank / 8] & bit;
		reader->seen[rank / 8] |= bit;
		return known;
	}
	for (size_t i = 0; i + 1 < run->node_count; i++) {
		const struct muster_node *node = &run->nodes[i];
		if (node->rank_count > 0 && node->ranks[0].rank <= rank &&
			node->ranks[node->rank_count - 1].rank >= rank &&
			bsearch(&rank, node->ranks, node->rank_count, sizeof *node->ranks, rank_compare))
			return true;
	}
	return false;
}

static int read_rank(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_node *node, struct muster_error *err)
{
	enum { RANK, LOCAL_RANK, GPU, GPU_UUID, MISSING, UNFINISHED, PROBES, SAMPLES, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[RANK] = { "rank", FIELD_NUMBER, true },
		[LOCAL_RANK] = { "local_rank", FIELD_NUMBER, false },
		[GPU] = { "gpu", FIELD_STRING, false },
		[GPU_UUID] = { "gpu_uuid", FIELD_STRING, false },
		[MISSING] = { "missing", FIELD_STRING, false },
		[UNFINISHED] = { "unfinished", FIELD_STRING, false },
		[PROBES] = { "probes", FIELD_ARRAY, true },
		[SAMPLES] = { "samples", FIELD_ARRAY, true },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path rank_at = { .up = at, .key = "rank" },
				      local_at = { .up = at, .key = "local_rank" };
	int ranks = reader->run->job.ranks > 0 ? reader->run->job.ranks : MUSTER_RUN_RANKS_MAX;
	int number, local_rank = -1;
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0 ||
		muster_json_field_int(part[RANK], &rank_at, 0, ranks - 1, &number, err) < 0 ||
		(part[LOCAL_RANK] &&
			muster_json_field_int(part[LOCAL_RANK], &local_at, 0, ranks - 1, &local_rank, err) < 0))
		return -1;
	if (node->rank_count > 0 && node->ranks[node->rank_count - 1].rank > number)
		return place_fail(&rank_at, err, "rank %d stands after rank %d; they must ascend", number,
			node->ranks[node->rank_count - 1].rank);
	if ((node->rank_count > 0 && node->ranks[node->rank_count - 1].rank == number) || rank_known(reader, number))
		return place_fail(&rank_at, err, "rank %d stands twice in the run", number);
	struct muster_rank *rank = muster_node_add_rank(node, number);
	rank->local_rank = local_rank;
	rank->gpu = muster_json_field_text(reader->run->arena, part[GPU]);
	rank->gpu_uuid = muster_json_field_text(reader->run->arena, part[GPU_UUID]);
	rank->missing = muster_json_field_text(reader->run->arena, part[MISSING]);
	rank->unfinished = muster_json_field_text(reader->run->arena, part[UNFINISHED]);
	struct muster_samples *const lists[] = {
		[MUSTER_HOLDER_JOB] = &reader->run->job.samples,
		[MUSTER_HOLDER_NODE] = &node->samples,
		[MUSTER_HOLDER_RANK] = &rank->samples,
	};
	return read_outcomes(reader, part[PROBES], at, &rank->outcomes, err) < 0
		       ? -1
		       : muster_samples_read(&reader->samples, part[SAMPLES], at, MUSTER_HOLDER_RANK, lists, err);
}

int muster_node_read(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum { NAME, SIMULATED, SAMPLES, RANKS, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[NAME] = { "name", FIELD_STRING, true },
		[SIMULATED] = { "simulated", FIELD_BOOLEAN, true },
		[SAMPLES] = { "samples", FIELD_ARRAY, true },
		[RANKS] = { "ranks", FIELD_ARRAY, true },
	};
	const struct muster_json *part[COUNT];
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	struct muster_node *node = muster_run_add_node(reader->run, muster_json_string(part[NAME]));
	node->simulated = muster_json_boolean(part[SIMULATED]);
	struct muster_samples *const lists[] = {
		[MUSTER_HOLDER_JOB] = &reader->run->job.samples,
		[MUSTER_HOLDER_NODE] = &node->samples,
	};
	if (muster_samples_read(&reader->samples, part[SAMPLES], at, MUSTER_HOLDER_NODE, lists, err) < 0)
		return -1;
	const struct muster_json_path all = { .up = at, .key = "ranks" };
	struct muster_json_path here = { .up = &all };
	for (json = muster_json_first(part[RANKS]); json; json = muster_json_next(json), here.index++)
		if (read_rank(reader, json, &here, node, err) < 0)
			return -1;
	return 0;
}

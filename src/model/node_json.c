/* node_json.c - a node and its ranks: what each measured, and how its probes ended */
#include "model/run_json.h"

#include "model/limits.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_field outcome_fields[] = {
	{ MUSTER_FIELD(muster_outcome, probe, TEXT) },
	{ MUSTER_FIELD(muster_outcome, status, NAME), MUSTER_FIELD_NAMES(muster_outcome_names) },
	{ MUSTER_FIELD(muster_outcome, code, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, detail, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, step, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, evidence, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, ring, INT), .low = 1, .high = MUSTER_RUN_RANKS_MAX, .optional = true },
	{ MUSTER_FIELD(muster_outcome, elapsed_ms, NUMBER), .write = muster_time_write },
};
const struct muster_object_type muster_outcome_type = MUSTER_OBJECT_TYPE(muster_outcome, outcome_fields);

static int read_outcome(struct muster_json_reader *r, void *outcomes, const struct muster_json *json)
{
	struct muster_outcome outcome = { .ring = 0 };
	if (muster_object_read(r, json, &muster_outcome_type, &outcome) < 0)
		return -1;
	if (outcome.status != MUSTER_OUTCOME_OK && !outcome.detail)
		return muster_json_reader_fail(r, "the status is not \"ok\", so the key \"detail\" is needed");
	muster_outcomes_add(outcomes, outcome);
	return 0;
}

static int read_outcomes(struct muster_json_reader *r, void *outcomes, const struct muster_json *json)
{
	if (muster_json_size(json) > MUSTER_RUN_OUTCOMES_MAX)
		return muster_json_reader_fail(
			r, "%zu probes, at most %d are allowed", muster_json_size(json), MUSTER_RUN_OUTCOMES_MAX);
	return muster_json_each_read(r, json, read_outcome, outcomes, 0);
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

/* A number from 0 to the last rank of the job. */
static int read_number(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int ranks = ((struct muster_run_reader *)r)->run->job.ranks;
	return muster_json_int_read(r, json, 0, ranks > 0 ? ranks - 1 : MUSTER_RUN_RANKS_MAX - 1, into);
}

static const struct muster_field rank_fields[] = {
	{ MUSTER_FIELD(muster_rank, rank, INT), .read = read_number },
	{ MUSTER_FIELD(muster_rank, local_rank, INT), .read = read_number, .optional = true, .absent = -1 },
	{ MUSTER_FIELD(muster_rank, gpu, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_rank, gpu_uuid, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_rank, missing, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_rank, unfinished, TEXT), .optional = true },
};
const struct muster_object_type muster_rank_type = MUSTER_OBJECT_TYPE(muster_rank, rank_fields);

#define LIST(tag, name)                                                                                                \
	{                                                                                                              \
		.key = #name, .type = MUSTER_FIELD_JSON, .offset = offsetof(struct tag, name),                         \
		.types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY)                                                            \
	}

struct rank_parts {
	struct muster_rank rank;
	const struct muster_json *probes, *samples;
};
static const struct muster_field rank_lists[] = { LIST(rank_parts, probes), LIST(rank_parts, samples) };
static const struct muster_object_type rank_parts_type = {
	.fields = rank_lists, .count = 2, .size = sizeof(struct rank_parts), .base = &muster_rank_type
};

static int read_rank(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_run_reader *reader = (struct muster_run_reader *)r;
	struct muster_node *node = into;
	struct rank_parts parts = { .rank.local_rank = -1 };
	if (muster_object_read(r, json, &rank_parts_type, &parts) < 0)
		return -1;
	int number = parts.rank.rank, last = node->rank_count > 0 ? node->ranks[node->rank_count - 1].rank : -1;
	if (last > number)
		return muster_json_reader_fail_member(
			r, "rank", "rank %d after rank %d: ranks must be in ascending order", number, last);
	if (last == number || rank_known(reader, number))
		return muster_json_reader_fail_member(r, "rank", "rank %d occurs twice in the run", number);
	struct muster_rank *rank = muster_node_add_rank(node, number);
	*rank = parts.rank;
	struct muster_sample_lists lists = { MUSTER_HOLDER_RANK,
		{ &reader->run->job.samples, &node->samples, &rank->samples } };
	return muster_json_member_read(r, "probes", 0, read_outcomes, &rank->outcomes, parts.probes) < 0
		       ? -1
		       : muster_json_member_read(r, "samples", 0, muster_samples_read, &lists, parts.samples);
}

struct node_parts {
	const char *name;
	bool simulated;
	const struct muster_json *samples, *ranks;
};

static const struct muster_field node_fields[] = {
	{ MUSTER_FIELD(node_parts, name, TEXT) },
	{ MUSTER_FIELD(node_parts, simulated, BOOLEAN) },
	LIST(node_parts, samples),
	LIST(node_parts, ranks),
};
static const struct muster_object_type node_type = MUSTER_OBJECT_TYPE(node_parts, node_fields);

static int read_ranks(struct muster_json_reader *r, void *node, const struct muster_json *json)
{
	return muster_json_each_read(r, json, read_rank, node, 0);
}

int muster_node_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_run *run = ((struct muster_run_reader *)r)->run;
	struct node_parts parts;
	(void)into;
	if (muster_object_read(r, json, &node_type, &parts) < 0)
		return -1;
	struct muster_node *node = muster_run_add_node(run, parts.name);
	node->simulated = parts.simulated;
	struct muster_sample_lists lists = { MUSTER_HOLDER_NODE, { &run->job.samples, &node->samples } };
	return muster_json_member_read(r, "samples", 0, muster_samples_read, &lists, parts.samples) < 0
		       ? -1
		       : muster_json_member_read(r, "ranks", 0, read_ranks, node, parts.ranks);
}

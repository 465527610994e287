/* SPDX-License-Identifier: Apache-2.0 */
/* node_json.c - a node and its ranks: what each measured, and how its probes ended
 *
 * The form of a node in a report, and what reads each part:
 *
 *    { "name": "gpu-1", "simulated": false,
 *      "samples": [ ... ],                      read_node_samples
 *      "ranks": [                               read_ranks, read_rank
 *        { "rank": 0, "local_rank": 0, "gpu": "0001:00:00.0",
 *          "probes": [ { "probe": "gpu_copy", "status": "ok", "elapsed_ms": 812.4 } ],
 *          "samples": [ ... ] } ] }
 *
 * The arrays grow with the job, so that each of them is read element by element from the stream (`.parts`). Outcomes
 * repeat from rank to rank with another elapsed_ms, and are read through json/known.h.
 *
 * A node is added to the run before its members are read, under the name "?", and a rank with a number above all
 * others. The functions that read samples need the node and the rank while they read.
 */
#include "model/run_json.h"

#include "model/limits.h"
#include "muster/run.h"

#include <stddef.h>

/* In a file "partner" is the number of the other rank. In struct muster_outcome it is that number plus 1, since 0 means
 * "none" there. */
static int read_partner(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int *partner = into;
	if (muster_json_int_read(r, json, 0, MUSTER_RUN_RANKS_MAX - 1, partner) < 0)
		return -1;
	++*partner;
	return 0;
}

static void write_partner(struct muster_json_writer *w, const void *from)
{
	muster_json_writer_value(w, muster_number(*(const int *)from - 1));
}

static const struct muster_field outcome_fields[] = {
	{ MUSTER_FIELD(muster_outcome, probe, TEXT) },
	{ MUSTER_FIELD(muster_outcome, status, NAME), MUSTER_FIELD_NAMES(muster_outcome_names) },
	{ MUSTER_FIELD(muster_outcome, code, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, detail, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, step, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, evidence, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_outcome, ring, INT), .low = 1, .high = MUSTER_RUN_RANKS_MAX, .optional = true },
	{ MUSTER_FIELD(muster_outcome, partner, INT), .read = read_partner, .write = write_partner, .optional = true },
	{ MUSTER_FIELD(muster_outcome, elapsed_ms, NUMBER), .write = muster_time_write },
};
const struct muster_object_type muster_outcome_type = MUSTER_OBJECT_TYPE(muster_outcome, outcome_fields);

int muster_outcome_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_outcome *outcome = into;
	if (muster_object_read(r, json, &muster_outcome_type, into) < 0)
		return -1;
	if (outcome->status != MUSTER_OUTCOME_OK && !outcome->detail)
		return muster_json_reader_fail(r, "the status is not \"ok\", so the key \"detail\" is needed");
	return 0;
}

/* An outcome differs from a known one in its time alone: the number and the closing brace are read from the text. */
static bool pass_elapsed(struct muster_json_reader *r, void *outcome, struct muster_json_stream *s)
{
	(void)r;
	return muster_json_stream_pass_number(s, &((struct muster_outcome *)outcome)->elapsed_ms) &&
	       muster_json_stream_pass_text(s, "}");
}

/* json/known.h needs a function that sets the whole struct, since `into` may hold another outcome. */
static int read_new(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	*(struct muster_outcome *)into = (struct muster_outcome){ .ring = 0 };
	return muster_outcome_read(r, into, json);
}

const struct muster_json_known muster_outcomes_known = {
	.size = sizeof(struct muster_outcome),
	.read = read_new,
	.before_numbers = "\"elapsed_ms\": ",
	.numbers = pass_elapsed,
};

static int read_outcome(struct muster_json_reader *r, void *outcomes, struct muster_json_stream *s)
{
	struct muster_outcome outcome;
	if (muster_json_known_read(r, s, &((struct muster_run_reader *)r)->outcomes, &outcome) < 0)
		return -1;
	muster_outcomes_add(outcomes, outcome);
	return 0;
}

static int read_outcomes(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *rank)
{
	(void)field;
	return muster_json_stream_array(
		r, s, MUSTER_RUN_OUTCOMES_MAX, read_outcome, &((struct muster_rank *)rank)->outcomes);
}

static void write_outcomes(struct muster_json_writer *w, const void *from)
{
	const struct muster_outcomes *outcomes = from;
	muster_json_writer_array(w);
	int saved = muster_json_writer_line_begin(w);
	for (size_t i = 0; i < outcomes->count; i++)
		muster_object_write(w, &muster_outcome_type, &outcomes->items[i]);
	muster_json_writer_line_end(w, saved);
	muster_json_writer_array_end(w);
}

/* ---- ranks ---- */

/* A number from 0 to the last rank of the job. The job was read before: `nodes` need it (.needs in run_json.c). */
static int read_number(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_json_int_read(r, json, 0, ((struct muster_run_reader *)r)->run->job.ranks - 1, into);
}

/* A rank may bring samples of its node and of its job along: they go to the lists of these. */
static int read_rank_samples(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	const struct muster_run_reader *reader = (struct muster_run_reader *)r;
	struct muster_rank *rank = base;
	(void)field;
	return muster_samples_read(r, s,
		(struct muster_sample_lists){
			MUSTER_HOLDER_RANK, { &reader->run->job.samples, &reader->node->samples, &rank->samples } });
}

static const struct muster_field rank_fields[] = {
	{ MUSTER_FIELD(muster_rank, rank, INT), .read = read_number },
	{ MUSTER_FIELD(muster_rank, local_rank, INT), .read = read_number, .optional = true, .absent = -1 },
	{ MUSTER_FIELD(muster_rank, gpu, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_rank, gpu_uuid, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_rank, missing, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_rank, unfinished, TEXT), .optional = true },
	{ MUSTER_FIELD_AS(muster_rank, "probes", outcomes, OBJECT), .parts = read_outcomes, .write = write_outcomes },
	{ MUSTER_FIELD(muster_rank, samples, OBJECT), .parts = read_rank_samples, .write = muster_samples_write },
};
static const struct muster_object_type rank_type = MUSTER_OBJECT_TYPE(muster_rank, rank_fields);

/* Each rank of the job once (`seen` has a bit for each), and in ascending order within its node. The rank is added
 * behind all others, with a number that no rank has, and gets its own number from the file. */
static int read_rank(struct muster_json_reader *r, void *into, struct muster_json_stream *s)
{
	unsigned char *seen = ((struct muster_run_reader *)r)->seen;
	struct muster_node *node = into;
	const int last = node->rank_count > 0 ? node->ranks[node->rank_count - 1].rank : -1;
	struct muster_rank *rank = muster_node_add_rank(node, MUSTER_RUN_RANKS_MAX); /* behind all others */
	if (muster_json_stream_object(r, s, &rank_type, rank) < 0)
		return -1;
	const int number = rank->rank;
	if (last > number)
		return muster_json_reader_fail_member(
			r, "rank", "rank %d after rank %d: ranks must be in ascending order", number, last);
	if (seen[number / 8] & 1u << number % 8)
		return muster_json_reader_fail_member(r, "rank", "rank %d occurs twice in the run", number);
	seen[number / 8] |= (unsigned char)(1u << number % 8);
	return 0;
}

/* ---- nodes ---- */

static int read_node_samples(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	struct muster_node *node = base;
	(void)field;
	return muster_samples_read(r, s,
		(struct muster_sample_lists){
			MUSTER_HOLDER_NODE, { &((struct muster_run_reader *)r)->run->job.samples, &node->samples } });
}

static int read_ranks(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *node)
{
	(void)field;
	return muster_json_stream_array(r, s, MUSTER_RUN_RANKS_MAX, read_rank, node);
}

static const struct muster_field node_fields[] = {
	{ MUSTER_FIELD(muster_node, name, TEXT) }, { MUSTER_FIELD(muster_node, simulated, BOOLEAN) },
	{ MUSTER_FIELD(muster_node, samples, OBJECT), .parts = read_node_samples, .write = muster_samples_write },
	{ .key = "ranks",
		.type = MUSTER_FIELD_JSON,
		.parts = read_ranks }, /* into the node; muster_node_write writes them */
};
static const struct muster_object_type node_type = MUSTER_OBJECT_TYPE(muster_node, node_fields);

/* reader->node is what the ranks and samples that follow belong to. */
static int read_node(struct muster_json_reader *r, void *into, struct muster_json_stream *s)
{
	struct muster_run_reader *reader = (struct muster_run_reader *)r;
	(void)into;
	reader->node = muster_run_add_node(reader->run, "?");
	return muster_json_stream_object(r, s, &node_type, reader->node);
}

int muster_nodes_parts(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	return muster_json_stream_array(r, s, field->most, read_node, base);
}

/* By hand, since the ranks are no array field of the table: their reader needs the node and not a pointer to ranks. */
void muster_node_write(struct muster_json_writer *w, const void *from)
{
	const struct muster_node *node = from;
	muster_json_writer_object(w);
	muster_members_write(w, &node_type, node);
	muster_json_writer_key(w, "ranks");
	muster_json_writer_array(w);
	for (size_t i = 0; i < node->rank_count; i++)
		muster_object_write(w, &rank_type, &node->ranks[i]);
	muster_json_writer_array_end(w);
	muster_json_writer_object_end(w);
}

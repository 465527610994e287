/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - what one rank measured, as lines that grow
 *
 * Life of the lines: the supervisor of a rank adds them as its worker writes them (muster_record_add), the record goes
 * to rank 0 as bytes, and rank 0 reads it line by line into struct muster_record_parts (muster_record_read) and merges
 * the parts into the run (muster_record_merge). A spool holds the same lines, and its reader calls muster_record_line
 * for each.
 *
 * Which samples of a record count, by an example (numbers are places in the record, from 0):
 *
 *    sample 0, sample 1        not yet: their command is under way
 *    outcome of "gpu_copy"     0 and 1 count (parts->decided = 2)
 *    sample 2, 3, 4            of a first full ring
 *    {"kept":2,"job":true}     2, 3 and 4 no longer count, except those of the scope job
 *    sample 5                  not yet
 *    outcome of "nccl_..."     5 counts, under the number 5 although fewer samples are left
 *
 * Since dropped samples leave gaps, parts->numbers keeps for each sample its place in the record.
 *
 * A line that cannot be read is left out, and the run goes on: what the rank measured before and after it is still of
 * use. The probe that the line belongs to cannot be named by the line. The outcome that follows it is that probe's, and
 * becomes an error when the record is merged (spoil).
 */
#include "model/record.h"

#include "json/writer.h"
#include "model/limits.h"
#include "model/run_json.h"
#include "model/windows.h"
#include "muster/arena.h"
#include "muster/run.h"
#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void muster_record_done(struct muster_record *record)
{
	free(record->bytes);
	*record = (struct muster_record){ 0 };
}

/* The line may have any bytes but a newline; nothing is parsed here. */
void muster_record_add(struct muster_record *record, const char *line, size_t length)
{
	MUSTER_ARRAY_RESERVE(record->bytes, record->length, record->room, length + 1);
	memcpy(record->bytes + record->length, line, length);
	record->bytes[record->length + length] = '\n';
	record->length += length + 1;
}

void muster_record_add_sample(struct muster_record *record, const char *line, size_t length)
{
	muster_record_add(record, line, length);
	record->samples++;
}

void muster_record_fit(struct muster_record *record)
{
	record->room = record->length;
	record->bytes = muster_realloc(record->bytes, record->room, 1);
}

/* ---- lines ---- */

/* What a line {"about_rank": ...} says. The supervisor writes the line for its first worker, and again at the end,
 * since a later worker may have reported more about the rank. */
struct about_rank {
	int rank, local_rank;
	const char *node, *gpu, *gpu_uuid;
	bool simulated;
};

static const struct muster_field about_fields[] = {
	{ MUSTER_FIELD(about_rank, rank, INT), .low = 0, .high = MUSTER_RUN_RANKS_MAX - 1 },
	{ MUSTER_FIELD(about_rank, local_rank, INT), .low = -1, .high = MUSTER_RUN_RANKS_MAX - 1 },
	{ MUSTER_FIELD(about_rank, node, TEXT), .optional = true },
	{ MUSTER_FIELD(about_rank, gpu, TEXT), .optional = true },
	{ MUSTER_FIELD(about_rank, gpu_uuid, TEXT), .optional = true },
	{ MUSTER_FIELD(about_rank, simulated, BOOLEAN) },
};
static const struct muster_object_type about_type = MUSTER_OBJECT_TYPE(about_rank, about_fields);

/* {"KEY":OBJECT} */
static char *object_line(const char *key, const struct muster_object_type *type, const void *from)
{
	struct muster_json_writer_text line;
	muster_json_writer_text_begin(&line);
	muster_json_writer_object(&line.w);
	muster_json_writer_key(&line.w, key);
	muster_object_write(&line.w, type, from);
	muster_json_writer_object_end(&line.w);
	return muster_json_writer_text_end(&line);
}

char *muster_record_outcome_line(const struct muster_outcome *outcome)
{
	return object_line("outcome", &muster_outcome_type, outcome);
}

char *muster_record_rank_line(const struct muster_rank *rank, const char *node, bool simulated)
{
	const struct about_rank about = {
		.rank = rank->rank,
		.local_rank = rank->local_rank,
		.node = node,
		.gpu = rank->gpu,
		.gpu_uuid = rank->gpu_uuid,
		.simulated = simulated,
	};
	return object_line("about_rank", &about_type, &about);
}

char *muster_record_kept_line(size_t samples, size_t until, bool job)
{
	const char *also = job ? "true" : "false";
	return until == SIZE_MAX
		       ? muster_asprintf("{\"kept\": %zu, \"job\": %s}", samples, also)
		       : muster_asprintf("{\"kept\": %zu, \"until\": %zu, \"job\": %s}", samples, until, also);
}

/* ---- reading ---- */

/* `lenient`, since the sender is a worker and not a file: a text that is too long costs its own value and not the line.
 */
struct muster_record_reader {
	struct muster_sample_reader samples; /* first: functions that read a value are handed its reader */
};

struct muster_record_reader *muster_record_reader_new(struct muster_arena *arena, muster_metric_find_fn *find)
{
	struct muster_record_reader *reader = muster_calloc(1, sizeof *reader);
	muster_sample_reader_init(&reader->samples, arena, find);
	reader->samples.lenient = true;
	return reader;
}

void muster_record_reader_free(struct muster_record_reader *reader)
{
	if (!reader)
		return;
	muster_sample_reader_done(&reader->samples);
	free(reader);
}

void muster_record_parts_init(struct muster_record_parts *parts, int rank)
{
	*parts = (struct muster_record_parts){ .rank = { .rank = rank, .local_rank = -1 } };
}

void muster_record_parts_done(struct muster_record_parts *parts)
{
	muster_samples_done(&parts->samples);
	free(parts->numbers);
	free(parts->rank.outcomes.items);
	*parts = (struct muster_record_parts){ 0 };
}

/* A sample is only added; whether it counts is decided by a later line. */
static int take_sample(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_record_parts *parts = into;
	struct muster_sample sample = { 0 };
	if (parts->came >= MUSTER_RUN_SAMPLES_MAX)
		return muster_json_reader_fail(r, "more than %d samples", MUSTER_RUN_SAMPLES_MAX);
	if (muster_sample_read(r, &sample, json) < 0)
		return -1;
	if (sample.value_count > 0 && !sample.metric->windows)
		return muster_json_reader_fail(r, "%s has several values and no windows", sample.metric->name);
	/* its place in the record: a kept line counts dropped samples too */
	MUSTER_ARRAY_GROW(parts->numbers, parts->samples.count, parts->number_room);
	parts->numbers[parts->samples.count] = parts->came++;
	muster_samples_add(&parts->samples, sample);
	return 0;
}

/* The last outcome of a probe replaces an earlier one. All samples so far count from here on. */
static int take_outcome(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_record_parts *parts = into;
	struct muster_outcomes *outcomes = &parts->rank.outcomes;
	struct muster_outcome outcome = { .ring = 0 };
	if (muster_outcome_read(r, &outcome, json) < 0)
		return -1;
	struct muster_outcome *earlier = muster_outcomes_find(outcomes, outcome.probe);
	if (!earlier && outcomes->count >= MUSTER_RUN_OUTCOMES_MAX)
		return muster_json_reader_fail(r, "more than %d probes", MUSTER_RUN_OUTCOMES_MAX);
	if (earlier)
		*earlier = outcome;
	else
		muster_outcomes_add(outcomes, outcome);
	parts->decided = parts->samples.count;
	if (outcome.status == MUSTER_OUTCOME_CRASHED)
		parts->died = outcome.probe;
	/* a line says nothing of its probe, but the outcome follows the samples of its command */
	if (parts->malformed && !parts->spoiled)
		parts->spoiled = outcome.probe;
	return 0;
}

static int take_rank(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_record_parts *parts = into;
	struct about_rank about = { 0 };
	if (muster_object_read(r, json, &about_type, &about) < 0)
		return -1;
	if (about.rank != parts->rank.rank)
		return muster_json_reader_fail_member(
			r, "rank", "it is of rank %d, and this is rank %d's record", about.rank, parts->rank.rank);
	parts->rank.local_rank = about.local_rank;
	parts->node = about.node;
	parts->rank.gpu = about.gpu;
	parts->rank.gpu_uuid = about.gpu_uuid;
	parts->simulated = about.simulated;
	return 0;
}

/* Drop the samples with numbers from `kept` to before `until`, except with "job" those of the scope job. "until" and
 * "job" of the line were read before (muster_record_line). */
static int take_kept(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_record_parts *parts = into;
	struct muster_samples *samples = &parts->samples;
	size_t left = 0;
	int kept;
	if (muster_json_int_read(r, json, 0, MUSTER_RUN_SAMPLES_MAX, &kept) < 0)
		return -1;
	if ((size_t)kept > parts->came)
		return muster_json_reader_fail(r, "%d samples are kept of %zu", kept, parts->came);
	for (size_t i = 0; i < samples->count; i++) {
		if (parts->numbers[i] >= (size_t)kept && parts->numbers[i] < parts->kept_until &&
			!(parts->keeps_job && samples->items[i].metric->scope == MUSTER_SCOPE_JOB))
			continue;
		samples->items[left] = samples->items[i];
		parts->numbers[left++] = parts->numbers[i];
	}
	samples->count = parts->decided = left;
	return 0;
}

/* The kinds of lines, by the key that each has. */
static const struct {
	const char *key;
	muster_field_read_fn *take;
} kinds[] = {
	{ "sample", take_sample },
	{ "outcome", take_outcome },
	{ "about_rank", take_rank },
	{ "kept", take_kept },
};

/* The members "until" and "job" belong to a kept line, but each function that takes a line gets one member only: they
 * are put into parts first. */
int muster_record_line(struct muster_record_reader *reader, struct muster_record_parts *parts,
	const struct muster_json *line, struct muster_error *err)
{
	const struct muster_json *job = muster_json_member(line, "job");
	reader->samples.json.err = err;
	const struct muster_json *until = muster_json_member(line, "until");
	bool has_until = until && muster_json_type(until) == MUSTER_JSON_NUMBER && muster_json_number(until) >= 0;
	parts->kept_until = has_until && muster_json_number(until) < MUSTER_RUN_SAMPLES_MAX
				    ? (size_t)muster_json_number(until)
				    : SIZE_MAX;
	parts->keeps_job = job && muster_json_type(job) == MUSTER_JSON_BOOLEAN && muster_json_boolean(job);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct muster_json *member = muster_json_member(line, kinds[i].key);
		if (member)
			return muster_json_member_read(
				&reader->samples.json, kinds[i].key, 0, kinds[i].take, parts, member);
	}
	return 1;
}

static int read_text(struct muster_record_reader *reader, const char *text, size_t length,
	struct muster_record_parts *parts, struct muster_error *err)
{
	struct muster_json *line = NULL;
	if (muster_json_parse(text, length, &line, err) < 0)
		return -1;
	int rc = muster_record_line(reader, parts, line, err);
	muster_json_free(line);
	return rc <= 0 ? rc : muster_fail(err, MUSTER_EPROTOCOL, "the line is not one of a record");
}

/* The last line may lack its newline. parts->malformed keeps the first error, for the message of spoil(). */
void muster_record_read(
	struct muster_record_reader *reader, const char *bytes, size_t length, struct muster_record_parts *parts)
{
	const char *end = bytes + length;
	while (bytes < end) {
		const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t size = (size_t)((stop ? stop : end) - bytes);
		struct muster_error err;
		if (size > 0 && read_text(reader, bytes, size, parts, &err) < 0 && !parts->malformed)
			parts->malformed = muster_arena_string(reader->samples.json.arena, err.text);
		bytes += size + 1;
	}
}

/* ---- merging ---- */

/* The probe of the first malformed line has lost a sample or an outcome, and it is not known which: an outcome "ok"
 * would hide that. */
static void spoil(struct muster_run *run, struct muster_record_parts *parts)
{
	for (size_t i = 0; parts->spoiled && i < parts->rank.outcomes.count; i++) {
		struct muster_outcome *outcome = &parts->rank.outcomes.items[i];
		if (strcmp(outcome->probe, parts->spoiled) != 0 || outcome->status != MUSTER_OUTCOME_OK)
			continue;
		outcome->status = MUSTER_OUTCOME_ERROR;
		outcome->code = muster_code_name(MUSTER_EPROTOCOL);
		outcome->detail =
			muster_arena_printf(run->arena, "a malformed line from the worker: %s", parts->malformed);
	}
}

/* The array of parts->samples becomes that of the rank: samples of the rank and of its GPU move to the front of it, and
 * those of the node and of the job are copied to their lists. The write position never passes the read position,
 * because `sample` is copied before it is added. */
struct muster_rank *muster_record_merge(struct muster_run *run, size_t node_index, struct muster_record_parts *parts)
{
	struct muster_node *node = &run->nodes[node_index];
	spoil(run, parts);
	struct muster_rank *rank = muster_node_add_rank(node, parts->rank.rank);
	*rank = parts->rank;
	node->simulated |= parts->simulated;
	run->job.simulated |= parts->simulated;
	/* most are the rank's own: they stay where they are, in no more memory than they need */
	struct muster_samples *all = &parts->samples, *lists[] = { &run->job.samples, &node->samples, &rank->samples };
	rank->samples = (struct muster_samples){ .items = all->items, .room = all->count };
	for (size_t i = 0; i < parts->decided; i++) {
		const struct muster_sample sample = all->items[i];
		muster_samples_add(lists[muster_scope_holder(sample.metric->scope)], sample);
	}
	muster_samples_fold(&rank->samples, run->job.repeats > 1, run->arena);
	rank->samples.items = muster_realloc(all->items, rank->samples.count, sizeof *all->items);
	rank->samples.room = rank->samples.count;
	rank->outcomes.items = muster_realloc(rank->outcomes.items, rank->outcomes.count, sizeof *rank->outcomes.items);
	rank->outcomes.room = rank->outcomes.count;
	free(parts->numbers);
	*parts = (struct muster_record_parts){ 0 };
	return rank;
}

/* What comes from a rank that is missing from the run is dropped. */
void muster_record_merge_again(struct muster_run *run, size_t node_index, struct muster_record_parts *parts)
{
	struct muster_node *node = &run->nodes[node_index];
	struct muster_rank *rank = node->ranks;
	while (rank < node->ranks + node->rank_count && rank->rank != parts->rank.rank)
		rank++;
	if (rank == node->ranks + node->rank_count || rank->missing) {
		muster_record_parts_done(parts);
		return;
	}
	struct muster_samples *lists[] = { &run->job.samples, &node->samples, &rank->samples };
	for (size_t i = 0; i < parts->decided; i++) {
		const struct muster_sample *sample = &parts->samples.items[i];
		muster_samples_fold_again(lists[muster_scope_holder(sample->metric->scope)], sample, run->arena);
	}
	for (size_t i = 0; i < parts->rank.outcomes.count; i++)
		for (size_t j = 0; j < rank->outcomes.count; j++)
			if (strcmp(rank->outcomes.items[j].probe, parts->rank.outcomes.items[i].probe) == 0)
				rank->outcomes.items[j] = parts->rank.outcomes.items[i];
	muster_record_parts_done(parts);
}

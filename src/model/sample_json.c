/* SPDX-License-Identifier: Apache-2.0 */
/* sample_json.c - samples from their JSON
 *
 * The JSON form of a sample, with all members that it may have; only "metric" and "value" are always there:
 *
 *    {"metric": "gpu.h2d_gbps", "labels": {"gpu": "0001:00:00.0"}, "value": 26.1, "values": [25.9, 26.1]}
 *    {"metric": "gpu.power_watts", "labels": {...}, "value": null, "reason": "...", "unread": "permission"}
 *
 *    values    the numbers of several measurements, which the value was chosen from (windows.h)
 *    tries     what the number was before it was measured once more, and then
 *    reason    why the value is null
 *    unread    the error code, where the source could not be read; without it the machine has no such value
 *
 * Reading: object_read.c reads the members into struct parts, then the metric is looked up in the catalogue, and its
 * row says which type the value and which labels the sample must have. The order matters: labels and value cannot be
 * checked without the metric.
 *
 * A list of samples in a report is read through known.c, which skips all this for a text that was read before, and only
 * reads its numbers (pass_numbers). Labels are stored once for each distinct set (keep_labels), and the writer
 * compares sets by their address (text_of).
 */
#include "model/sample_json.h"

#include "json/number.h"
#include "model/windows.h"
#include "muster/arena.h"
#include "model/limits.h"
#include "util/array.h"
#include "util/text.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A set of labels that is stored once. Eight GPUs of a node make hundreds of samples with few different sets, and the
 * next node has the same. */
struct label_set {
	const struct muster_label *labels;
	size_t count;
	uint64_t hash;
};

/* Equal sets have equal hashes: strings are interned in one arena, so that equal texts have one address. Keys are not
 * hashed; muster_labels_equal compares them. */
static uint64_t hash_of(const struct muster_label *labels, size_t count)
{
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		uint64_t bits = 0;
		if (labels[i].value.type == MUSTER_STRING) /* interned, so the address says it all */
			bits = (uintptr_t)labels[i].value.string;
		else
			memcpy(&bits, &labels[i].value.number, sizeof bits);
		hash = (hash ^ bits) * 0x9e3779b97f4a7c15u; /* 2^64 divided by the golden ratio */
		hash ^= hash >> 29;
	}
	return hash;
}

/* The slot that has these labels, or the free slot where they belong. Open addressing with linear steps; room is a
 * power of two, and at most half of it is used, so that a free slot is always found. */
static struct label_set *find_set(
	struct label_set *sets, size_t room, uint64_t hash, const struct muster_label *labels, size_t count)
{
	size_t at = hash & (room - 1);
	while (sets[at].labels &&
		!(sets[at].hash == hash && muster_labels_equal(sets[at].labels, sets[at].count, labels, count, NULL)))
		at = (at + 1) & (room - 1);
	return &sets[at];
}

static void grow_sets(struct muster_sample_reader *reader)
{
	size_t room = reader->set_room ? reader->set_room * 2 : 256;
	struct label_set *sets = muster_calloc(room, sizeof *sets);
	for (size_t i = 0; i < reader->set_room; i++) {
		const struct label_set *old = &reader->sets[i];
		if (old->labels)
			*find_set(sets, room, old->hash, old->labels, old->count) = *old;
	}
	free(reader->sets);
	reader->sets = sets;
	reader->set_room = room;
}

/* The stored copy of these labels: equal sets get one address in all samples of the reader. */
static const struct muster_label *keep_labels(
	struct muster_sample_reader *reader, const struct muster_label *labels, size_t count)
{
	if (count == 0)
		return NULL;
	if (reader->set_count >= reader->set_room / 2)
		grow_sets(reader);
	uint64_t hash = hash_of(labels, count);
	struct label_set *set = find_set(reader->sets, reader->set_room, hash, labels, count);
	if (!set->labels) {
		struct muster_label *copy = muster_arena_alloc(reader->json.arena, count * sizeof *copy);
		memcpy(copy, labels, count * sizeof *copy);
		*set = (struct label_set){ .labels = copy, .count = count, .hash = hash };
		reader->set_count++;
	}
	return set->labels;
}

static bool has_label(const struct muster_metric *metric, const char *key)
{
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++)
		if (strcmp(metric->labels[i], key) == 0)
			return true;
	return false;
}

static int read_label(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_label_row *row = muster_label_find(muster_json_key(json));
	unsigned int types = MUSTER_JSON_BIT(MUSTER_JSON_STRING);
	if (row && muster_label_fits(row, MUSTER_NUMBER))
		types |= MUSTER_JSON_BIT(MUSTER_JSON_NUMBER);
	return muster_json_need(r, json, types) < 0 ? -1 : muster_json_value_read(r, into, json);
}

/* Exactly the labels that the catalogue lists for the metric, in the catalogue's order whatever the order in the text.
 * json: NULL when the sample has no member "labels". */
static int read_labels(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_sample *sample = into;
	const struct muster_metric *metric = sample->metric;
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t count = 0;
	for (; count < MUSTER_LABELS_MAX && metric->labels[count]; count++) {
		const char *key = metric->labels[count];
		const struct muster_json *member = json ? muster_json_member(json, key) : NULL;
		if (!member)
			return muster_json_reader_fail(
				r, "%s has the label \"%s\", which is missing", metric->name, key);
		labels[count].key = key;
		if (muster_json_member_read(r, key, 0, read_label, &labels[count].value, member) < 0)
			return -1;
	}
	for (json = json ? muster_json_first(json) : NULL; json; json = muster_json_next(json))
		if (!has_label(metric, muster_json_key(json)))
			return muster_json_reader_fail(
				r, "%s has no label \"%.100s\"", metric->name, muster_json_key(json));
	sample->labels = keep_labels((struct muster_sample_reader *)r, labels, count);
	sample->label_count = (unsigned int)count;
	return 0;
}

static const enum muster_json_type json_types[] = {
	[MUSTER_NULL] = MUSTER_JSON_NULL,
	[MUSTER_NUMBER] = MUSTER_JSON_NUMBER,
	[MUSTER_STRING] = MUSTER_JSON_STRING,
	[MUSTER_BOOLEAN] = MUSTER_JSON_BOOLEAN,
};
_Static_assert(sizeof json_types / sizeof *json_types == MUSTER_TYPE_COUNT, "every type has its JSON type");

/* The members of a sample as they stand in the text, before the metric is known. */
struct parts {
	const struct muster_json *metric, *labels, *value, *reason, *unread;
	double *values; /* of all repeats */
	size_t value_count;
	double *tries;
	size_t try_count;
};

#define PART(name, types_)                                                                                             \
	.key = #name, .type = MUSTER_FIELD_JSON, .offset = offsetof(struct parts, name), .types = (types_)

static const struct muster_field muster_json_part_fields[] = {
	{ PART(metric, MUSTER_JSON_BIT(MUSTER_JSON_STRING)) },
	{ PART(labels, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)), .optional = true },
	{ PART(value, MUSTER_JSON_SCALAR), .most = SIZE_MAX },
	{ PART(reason, MUSTER_JSON_BIT(MUSTER_JSON_STRING)), .optional = true },
	{ PART(unread, MUSTER_JSON_BIT(MUSTER_JSON_STRING)), .optional = true },
	{ MUSTER_FIELD(parts, values, NUMBER), MUSTER_FIELD_MANY(parts, value_count), .least = 2,
		.most = MUSTER_VALUES_MAX, .optional = true },
	{ MUSTER_FIELD(parts, tries, NUMBER), MUSTER_FIELD_MANY(parts, try_count), .least = 2, .most = 2,
		.optional = true },
};
static const struct muster_object_type parts_type = MUSTER_OBJECT_TYPE(parts, muster_json_part_fields);

/* values and tries of a sample are one array: first the values, behind them the two tries (sample.h). */
static void keep_values(struct muster_arena *arena, const struct parts *parts, struct muster_sample *sample)
{
	size_t count = parts->value_count;
	double *values = parts->values;
	if (parts->tries) {
		values = muster_arena_alloc(arena, (count + parts->try_count) * sizeof *values);
		if (parts->values)
			memcpy(values, parts->values, count * sizeof *values);
		memcpy(values + count, parts->tries, parts->try_count * sizeof *values);
	}
	sample->values = values;
	sample->value_count = (unsigned short)count;
	sample->tried = parts->tries != NULL;
}

/* The value against the metric's type, or why there is none. The checks in their order: type of the value; "reason" and
 * "unread" only with null; null only with "reason" (a lenient reader invents one); "values" and "tries" only with a
 * number; with a lenient reader a text that is too long becomes null with a reason. */
static int read_value(struct muster_sample_reader *reader, const struct parts *parts, struct muster_sample *sample)
{
	struct muster_json_reader *r = &reader->json;
	const struct muster_json *json = parts->value;
	enum muster_json_type type = muster_json_type(json), wanted = json_types[sample->metric->type];
	if (type != MUSTER_JSON_NULL && type != wanted)
		return muster_json_reader_fail_member(r, "value", "%s is %s, found %s", sample->metric->name,
			muster_json_type_name(wanted), muster_json_type_name(type));
	if (type != MUSTER_JSON_NULL && (parts->reason || parts->unread))
		return muster_json_reader_fail(
			r, "\"%s\" is only allowed with a value that is null", parts->reason ? "reason" : "unread");
	if (type == MUSTER_JSON_NULL && !parts->reason && !reader->lenient)
		return muster_json_reader_fail(r, "the value is null, so the key \"reason\" is needed");
	if ((parts->values || parts->tries) && type != MUSTER_JSON_NUMBER)
		return muster_json_reader_fail(
			r, "\"%s\" is only allowed with a value that is a number", parts->values ? "values" : "tries");
	keep_values(r->arena, parts, sample);
	if (reader->lenient && type == MUSTER_JSON_STRING && strlen(muster_json_string(json)) > MUSTER_RUN_STRING_MAX) {
		sample->reason = muster_arena_printf(r->arena, "a text of %zu bytes, at most %d are kept",
			strlen(muster_json_string(json)), MUSTER_RUN_STRING_MAX);
		return 0;
	}
	if (type == MUSTER_JSON_NULL)
		sample->reason = parts->reason ? muster_arena_string(r->arena, muster_json_string(parts->reason))
					       : "no reason given";
	if (type == MUSTER_JSON_NULL && parts->unread)
		sample->unread = muster_arena_string(r->arena, muster_json_string(parts->unread));
	return muster_json_member_read(r, "value", 0, muster_json_value_read, &sample->value, json);
}

int muster_sample_read(struct muster_json_reader *r, void *ret, const struct muster_json *json)
{
	struct parts parts = { .metric = NULL };
	if (muster_object_read(r, json, &parts_type, &parts) < 0)
		return -1;
	const char *name = muster_json_string(parts.metric);
	struct muster_sample sample = { .metric = ((struct muster_sample_reader *)r)->find(name) };
	if (!sample.metric)
		return muster_json_reader_fail_member(
			r, "metric", "unknown metric \"%.100s\"; `muster metrics` lists all metrics", name);
	if (read_value((struct muster_sample_reader *)r, &parts, &sample) < 0 ||
		muster_json_member_read(r, "labels", 0, read_labels, &sample, parts.labels) < 0)
		return -1;
	*(struct muster_sample *)ret = sample;
	return 0;
}

static const enum muster_sample_holder widest[] = {
	[MUSTER_SCOPE_JOB] = MUSTER_HOLDER_JOB,
	[MUSTER_SCOPE_NODE] = MUSTER_HOLDER_NODE,
	[MUSTER_SCOPE_PORT] = MUSTER_HOLDER_NODE,
	[MUSTER_SCOPE_RANK] = MUSTER_HOLDER_RANK,
	[MUSTER_SCOPE_GPU] = MUSTER_HOLDER_RANK,
};
_Static_assert(sizeof widest / sizeof *widest == MUSTER_SCOPE_COUNT, "every scope has a holder");

enum muster_sample_holder muster_scope_holder(enum muster_scope scope)
{
	return widest[scope];
}

/* A metric that only reports of an older muster have. Such a sample is skipped, so that these reports can still be read
 * and compared. */
static bool is_retired(const struct muster_json *json)
{
	static const char *const names[] = { "gpu.slowdown", "gpu.h2d_spread", "gpu.d2h_spread", "gpu.gemm_spread",
		"gpu.temperature_slowdown_celsius" };
	const struct muster_json *metric =
		muster_json_type(json) == MUSTER_JSON_OBJECT ? muster_json_member(json, "metric") : NULL;
	if (!metric || muster_json_type(metric) != MUSTER_JSON_STRING)
		return false;
	return muster_text_among(muster_json_string(metric), names, sizeof names / sizeof *names);
}

/* A sample that is retired has no metric. */
static int read_unless_retired(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_sample *sample = into;
	sample->metric = NULL;
	return is_retired(json) ? 0 : muster_sample_read(r, sample, json);
}

/* Numbers behind a key, in the form that the writer gives them. True with none when the key is absent; false when the
 * list is not of this form or too long. */
static bool pass_list(struct muster_json_stream *s, const char *key, size_t most, double *into, size_t *ret_count)
{
	*ret_count = 0;
	if (!muster_json_stream_pass_text(s, key))
		return true;
	do {
		if (*ret_count == most || !muster_json_stream_pass_number(s, &into[(*ret_count)++]))
			return false;
	} while (muster_json_stream_pass_text(s, ", "));
	return *ret_count > 1 && muster_json_stream_pass_text(s, "]");
}

/* The numbers at the end of a sample: `26.1, "values": [...], "tries": [...]}`. The struct in `into` is a copy of the
 * known sample, whose own arrays belong to that sample: they are replaced in any case. */
static bool pass_numbers(struct muster_json_reader *r, void *into, struct muster_json_stream *s)
{
	struct muster_sample *sample = into;
	double values[MUSTER_VALUES_MAX + 2], *kept = NULL;
	size_t count, tries;
	if (!muster_json_stream_pass_number(s, &sample->value.number) ||
		!pass_list(s, ", \"values\": [", MUSTER_VALUES_MAX, values, &count) ||
		!pass_list(s, ", \"tries\": [", 2, values + count, &tries) || !muster_json_stream_pass_text(s, "}"))
		return false;
	if (count + tries > 0)
		kept = memcpy(muster_arena_alloc(r->arena, (count + tries) * sizeof *kept), values,
			(count + tries) * sizeof *kept);
	sample->values = kept;
	sample->value_count = (unsigned short)count;
	sample->tried = tries > 0;
	return true;
}

/* One element of an array of samples, into the list that its scope names. A list of a node may not have a metric of a
 * rank: it would not be known which rank. */
static int read_listed(struct muster_json_reader *r, void *into, struct muster_json_stream *s)
{
	const struct muster_sample_lists *lists = into;
	struct muster_sample sample;
	if (muster_json_known_read(r, s, &((struct muster_sample_reader *)r)->known, &sample) < 0)
		return -1;
	if (!sample.metric)
		return 0;
	enum muster_sample_holder target = widest[sample.metric->scope];
	if (target > lists->holder)
		return muster_json_reader_fail(r, "%s is a metric of a %s and is not allowed here", sample.metric->name,
			muster_scope_name(sample.metric->scope));
	muster_samples_add(lists->of[target], sample);
	return 0;
}

/* The samples of the holder itself are collected in reader->list, which is used again for each list, and then copied
 * into an array of the right size: a run has millions of samples, and arrays that double would leave much of their room
 * unused. */
int muster_samples_read(struct muster_json_reader *r, struct muster_json_stream *s, struct muster_sample_lists lists)
{
	struct muster_sample_reader *reader = (struct muster_sample_reader *)r;
	struct muster_samples *own = lists.of[lists.holder], *all = &reader->list;
	all->count = 0;
	lists.of[lists.holder] = all;
	if (muster_json_stream_array(r, s, MUSTER_RUN_SAMPLES_MAX, read_listed, &lists) < 0)
		return -1;
	if (all->count == 0)
		return 0;
	own->room = own->count + all->count; /* a run has millions of samples: no spare room */
	own->items = muster_realloc(own->items, own->room, sizeof *own->items);
	memcpy(own->items + own->count, all->items, all->count * sizeof *own->items);
	own->count = own->room;
	return 0;
}

void muster_sample_reader_init(
	struct muster_sample_reader *reader, struct muster_arena *arena, muster_metric_find_fn *find)
{
	*reader = (struct muster_sample_reader){ .find = find,
		.known = { .size = sizeof(struct muster_sample),
			.read = read_unless_retired,
			.before_numbers = "\"value\": ",
			.numbers = pass_numbers },
		.json = { .arena = arena, .text_max = MUSTER_RUN_STRING_MAX, .part_max = MUSTER_RUN_PART_BYTES_MAX } };
}

void muster_sample_reader_done(struct muster_sample_reader *reader)
{
	muster_json_known_done(&reader->known);
	muster_samples_done(&reader->list);
	free(reader->sets);
	*reader = (struct muster_sample_reader){ .lenient = false };
}

/* ---- writing ---- */

static void write_metric(struct muster_json_writer *w, const void *from)
{
	muster_json_writer_string(w, (*(const struct muster_metric *const *)from)->name);
}

/* A sample with the counts of its arrays, as the table of fields needs them: object_write.c looks for a size_t beside
 * each array. */
struct written {
	struct muster_sample sample;
	size_t label_count, value_count, try_count;
	const double *tries;
	const char *unread;
};

static const struct muster_field written_fields[] = {
	{ MUSTER_FIELD_AS(written, "metric", sample.metric, TEXT), .write = write_metric },
	{ MUSTER_FIELD_AS(written, "labels", sample.labels, LABELS),
		.count_offset = offsetof(struct written, label_count), .optional = true },
	{ MUSTER_FIELD_AS(written, "value", sample.value, VALUE) },
	{ MUSTER_FIELD_AS(written, "reason", sample.reason, TEXT), .optional = true },
	{ MUSTER_FIELD(written, unread, TEXT), .optional = true },
	{ MUSTER_FIELD_AS(written, "values", sample.values, NUMBER), MUSTER_FIELD_MANY(written, value_count),
		.optional = true },
	{ MUSTER_FIELD(written, tries, NUMBER), MUSTER_FIELD_MANY(written, try_count), .optional = true },
};
static const struct muster_object_type written_type = MUSTER_OBJECT_TYPE(written, written_fields);

/* JSON has no NaN and no infinity: such a value is written as null with a reason, without the values that led to it. */
static void write_sample(struct muster_json_writer *w, const struct muster_sample *sample)
{
	struct written written = {
		.sample = *sample, .label_count = sample->label_count, .unread = muster_sample_unread(sample)
	};
	if (sample->value.type == MUSTER_NUMBER && !isfinite(sample->value.number)) {
		written.sample.value = muster_null();
		written.sample.reason = "the measured value is not a finite number";
	} else {
		written.value_count = sample->value_count;
		written.tries = muster_sample_tries(sample);
		written.try_count = sample->tried ? 2 : 0;
	}
	muster_object_write(w, &written_type, &written);
}

/* Samples of one metric and the same labels are written again and again. Everything but the number is equal when
 * metric, labels and reason (or text) have the same addresses, since each of them is stored once. A sample has one
 * place in the table, by a hash of these addresses. The place is taken by the last sample that was written there; when
 * the same sample comes next, its text is made and kept, and from then on only copied. */
struct kept_text {
	struct muster_sample sample;
	char *text; /* NULL: not yet. Of a number: as far as the number */
	size_t length;
};
enum { KEPT_BITS = 14, KEPT = 1 << KEPT_BITS };
struct muster_sample_texts {
	struct kept_text kept[KEPT];
};

struct muster_sample_texts *muster_sample_texts_new(void)
{
	return muster_calloc(1, sizeof(struct muster_sample_texts));
}

void muster_sample_texts_free(struct muster_sample_texts *texts)
{
	for (size_t i = 0; i < KEPT; i++)
		free(texts->kept[i].text);
	free(texts);
}

/* The address of what the text says behind the labels; NULL for a number, which is written anew each time. */
static const void *said_by(const struct muster_sample *sample)
{
	switch (sample->value.type) {
	case MUSTER_NULL: return sample->reason;
	case MUSTER_STRING: return sample->value.string;
	case MUSTER_BOOLEAN: return sample->value.boolean ? "true" : "false";
	default: return NULL;
	}
}

/* The kept text of such a sample; NULL when there is none, and the sample is written in the ordinary way. The text of a
 * number is made with the number 0 and cut before "0}". */
static const struct kept_text *text_of(struct muster_sample_texts *texts, const struct muster_sample *sample)
{
	const bool number = sample->value.type == MUSTER_NUMBER;
	const void *said = said_by(sample);
	const uint64_t addresses = (uintptr_t)sample->metric * 3 + (uintptr_t)sample->labels * 5 + (uintptr_t)said;
	struct kept_text *kept = &texts->kept[addresses * 0x9e3779b97f4a7c15u >> (64 - KEPT_BITS)];
	const struct muster_sample *same = &kept->sample;
	if (same->metric != sample->metric || same->labels != sample->labels || said_by(same) != said ||
		same->label_count != sample->label_count || same->value.type != sample->value.type ||
		same->unread != sample->unread) {
		free(kept->text);
		*kept = (struct kept_text){ .sample = *sample };
		return NULL;
	}
	if (!kept->text) {
		struct muster_json_writer_text text;
		if (number)
			kept->sample.value.number = 0;
		muster_json_writer_text_begin(&text);
		write_sample(&text.w, same);
		kept->text = muster_json_writer_text_end(&text);
		kept->length = text.length - (number ? strlen("0}") : 0);
	}
	return kept;
}

/* Only samples without values and tries have kept texts: their number is the last member. */
void muster_sample_write(struct muster_json_writer *w, const struct muster_sample *sample)
{
	const bool number = sample->value.type == MUSTER_NUMBER;
	const bool plain = sample->value_count == 0 && !sample->tried && (!number || isfinite(sample->value.number));
	const struct kept_text *kept = w->sample_texts && plain ? text_of(w->sample_texts, sample) : NULL;
	if (!kept) {
		write_sample(w, sample);
		return;
	}
	muster_json_writer_ready(w, kept->text, kept->length);
	if (number) {
		char text[MUSTER_JSON_NUMBER_MAX];
		fwrite_unlocked(text, 1, muster_json_number_text(sample->value.number, text), w->out);
		putc_unlocked('}', w->out);
	}
}

void muster_samples_write(struct muster_json_writer *w, const void *from)
{
	const struct muster_samples *samples = from;
	muster_json_writer_array(w);
	int saved = muster_json_writer_line_begin(w);
	for (size_t i = 0; i < samples->count; i++)
		muster_sample_write(w, &samples->items[i]);
	muster_json_writer_line_end(w, saved);
	muster_json_writer_array_end(w);
}

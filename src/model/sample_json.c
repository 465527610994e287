/* sample_json.c - samples from their JSON */
#include "model/sample_json.h"

#include "model/trend.h"
#include "muster/arena.h"
#include "model/limits.h"
#include "muster/probe.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Equal label sets are stored once: eight GPUs of a node make hundreds of samples, and the next node has the same. */
struct label_set {
	const struct muster_label *labels;
	size_t count;
	uint64_t hash;
};

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

static bool same_labels(const struct muster_label *a, const struct muster_label *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(a[i].key, b[i].key) != 0 || !muster_value_equal(a[i].value, b[i].value))
			return false;
	return true;
}

static struct label_set *find_set(
	struct label_set *sets, size_t room, uint64_t hash, const struct muster_label *labels, size_t count)
{
	size_t at = hash & (room - 1);
	while (sets[at].labels &&
		!(sets[at].hash == hash && sets[at].count == count && same_labels(sets[at].labels, labels, count)))
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
		struct muster_label *copy = muster_arena_alloc(reader->arena, count * sizeof *copy);
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

/* The labels that the catalogue lists for the metric: each of them, and no other. */
static int read_labels(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_sample *sample, struct muster_error *err)
{
	const struct muster_metric *metric = sample->metric;
	const struct muster_json_path here = { .up = at, .key = "labels" };
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t count = 0;
	for (; count < MUSTER_LABELS_MAX && metric->labels[count]; count++) {
		const char *key = metric->labels[count];
		const struct muster_json *member = json ? muster_json_member(json, key) : NULL;
		if (!member)
			return place_fail(&here, err, "%s has the label \"%s\", which is missing", metric->name, key);
		/* findings name GPUs and ports by these labels, so they are never numbers */
		bool name = strcmp(key, "gpu") == 0 || strcmp(key, "port") == 0;
		const struct muster_json_path value = { .up = &here, .key = key };
		if (muster_json_field_check(member, &value, name ? FIELD_STRING : FIELD_STRING | FIELD_NUMBER, err) < 0)
			return -1;
		labels[count] =
			(struct muster_label){ .key = key, .value = muster_json_field_value(reader->arena, member) };
	}
	for (const struct muster_json *member = json ? muster_json_first(json) : NULL; member;
		member = muster_json_next(member))
		if (!has_label(metric, muster_json_key(member)))
			return place_fail(
				&here, err, "%s has no label \"%.100s\"", metric->name, muster_json_key(member));
	sample->labels = keep_labels(reader, labels, count);
	sample->label_count = count;
	return 0;
}

static const enum muster_json_type json_types[] = {
	[MUSTER_NULL] = MUSTER_JSON_NULL,
	[MUSTER_NUMBER] = MUSTER_JSON_NUMBER,
	[MUSTER_STRING] = MUSTER_JSON_STRING,
	[MUSTER_BOOLEAN] = MUSTER_JSON_BOOLEAN,
};
_Static_assert(sizeof json_types / sizeof *json_types == MUSTER_TYPE_COUNT, "every type has its JSON type");

/* The numbers of all repeats. */
static int read_values(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json_path *up, struct muster_sample *sample, struct muster_error *err)
{
	const struct muster_json_path all = { .up = up, .key = "values" };
	struct muster_json_path here = { .up = &all };
	size_t count = muster_json_size(json);
	if (sample->value.type != MUSTER_NUMBER)
		return place_fail(up, err, "values of repeats stand beside a value that is no number");
	if (count < 2 || count > MUSTER_REPEATS_MAX)
		return place_fail(&all, err, "%zu values, 2 to %d are allowed", count, MUSTER_REPEATS_MAX);
	double *values = muster_arena_alloc(reader->arena, count * sizeof *values);
	for (json = muster_json_first(json); json; json = muster_json_next(json), here.index++) {
		if (muster_json_field_check(json, &here, FIELD_NUMBER, err) < 0)
			return -1;
		values[here.index] = muster_json_number(json);
	}
	sample->values = values;
	sample->value_count = count;
	return 0;
}

/* The value, or why there is none. */
static int read_value(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json *reason, const struct muster_json_path *up, struct muster_sample *sample,
	struct muster_error *err)
{
	const struct muster_json_path here = { .up = up, .key = "value" };
	enum muster_json_type type = muster_json_type(json), wanted = json_types[sample->metric->type];
	if (type != MUSTER_JSON_NULL && type != wanted)
		return place_fail(&here, err, "%s is %s, found %s", sample->metric->name, muster_json_type_name(wanted),
			muster_json_type_name(type));
	if (type != MUSTER_JSON_NULL && reason)
		return place_fail(up, err, "a reason stands beside a value that is not null");
	if (type == MUSTER_JSON_NULL && !reason && !reader->lenient)
		return place_fail(up, err, "the value is null, so the key \"reason\" is needed");
	if (reader->lenient && type == MUSTER_JSON_STRING && strlen(muster_json_string(json)) > MUSTER_RUN_STRING_MAX) {
		sample->reason = muster_arena_printf(reader->arena, "a text of %zu bytes, at most %d are kept",
			strlen(muster_json_string(json)), MUSTER_RUN_STRING_MAX);
		return 0;
	}
	if (muster_json_field_check(json, &here, FIELD_SCALAR, err) < 0)
		return -1;
	sample->value = muster_json_field_value(reader->arena, json);
	if (type == MUSTER_JSON_NULL)
		sample->reason = reason ? muster_json_field_text(reader->arena, reason) : "no reason given";
	return 0;
}

int muster_sample_read(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_sample *ret, struct muster_error *err)
{
	enum { METRIC, LABELS, VALUE, REASON, VALUES, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[METRIC] = { "metric", FIELD_STRING, true },
		[LABELS] = { "labels", FIELD_OBJECT, false },
		[VALUE] = { "value", FIELD_SCALAR | FIELD_LONG, true },
		[REASON] = { "reason", FIELD_STRING, false },
		[VALUES] = { "values", FIELD_ARRAY, false },
	};
	const struct muster_json *part[COUNT];
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	const struct muster_json_path metric_at = { .up = at, .key = "metric" };
	struct muster_sample sample = { .metric = muster_metric_find(muster_json_string(part[METRIC])) };
	if (!sample.metric)
		return place_fail(&metric_at, err, "unknown metric \"%.100s\"; `muster metrics` lists those there are",
			muster_json_string(part[METRIC]));
	if (read_value(reader, part[VALUE], part[REASON], at, &sample, err) < 0 ||
		read_labels(reader, part[LABELS], at, &sample, err) < 0 ||
		(part[VALUES] && read_values(reader, part[VALUES], at, &sample, err) < 0))
		return -1;
	*ret = sample;
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

static void make_room(struct muster_samples *samples, size_t more)
{
	if (samples->room - samples->count >= more)
		return;
	samples->room = samples->count + more;
	samples->items = muster_realloc(samples->items, samples->room, sizeof *samples->items);
}

int muster_samples_read(struct muster_sample_reader *reader, const struct muster_json *json,
	const struct muster_json_path *up, enum muster_sample_holder holder, struct muster_samples *const lists[],
	struct muster_error *err)
{
	const struct muster_json_path all = { .up = up, .key = "samples" };
	struct muster_json_path here = { .up = &all };
	size_t count = muster_json_size(json);
	if (count > MUSTER_RUN_SAMPLES_MAX)
		return place_fail(&all, err, "%zu samples, at most %d are allowed", count, MUSTER_RUN_SAMPLES_MAX);
	make_room(lists[holder], count);
	for (json = muster_json_first(json); json; json = muster_json_next(json), here.index++) {
		struct muster_sample sample;
		if (muster_sample_read(reader, json, &here, &sample, err) < 0)
			return -1;
		enum muster_sample_holder target = widest[sample.metric->scope];
		if (target > holder)
			return place_fail(&here, err, "%s is a fact about a %s and cannot stand here",
				sample.metric->name, muster_scope_name(sample.metric->scope));
		muster_samples_add(lists[target], sample);
	}
	return 0;
}

void muster_sample_reader_done(struct muster_sample_reader *reader)
{
	free(reader->sets);
	*reader = (struct muster_sample_reader){ 0 };
}

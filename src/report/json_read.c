/* json_read.c - a run from its JSON: a saved report, or one node of it as leaders send it
 *
 * Input from outside: nothing is taken that does not fit the catalogue, the limits in layout.h or its neighbours. The
 * text is split into parts first and only one node at a time becomes a tree, so memory is that of the text and the run.
 */
#include "muster/report.h"

#include "core/file.h"
#include "core/json.h"
#include "core/trend.h"
#include "muster/probe.h"
#include "report/fields.h"
#include "report/judged.h"
#include "report/layout.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Equal label sets are stored once: eight GPUs of a node make hundreds of samples, and the next node has the same. */
struct label_set {
	const struct muster_label *labels;
	size_t count;
	uint64_t hash;
};

struct reader {
	struct muster_run *run;
	struct judged *judged;  /* NULL: only the run is wanted */
	struct label_set *sets; /* open addressing; a power of two, at most half full */
	size_t set_room, set_count;
	unsigned char *seen; /* a bit for each rank of the job; NULL: look through the run instead */
	int ranks_seen;
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

static void grow_sets(struct reader *reader)
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

static const struct muster_label *keep_labels(struct reader *reader, const struct muster_label *labels, size_t count)
{
	if (count == 0)
		return NULL;
	if (reader->set_count >= reader->set_room / 2)
		grow_sets(reader);
	uint64_t hash = hash_of(labels, count);
	struct label_set *set = find_set(reader->sets, reader->set_room, hash, labels, count);
	if (!set->labels) {
		struct muster_label *copy = muster_pool_alloc(reader->run->pool, count * sizeof *copy);
		memcpy(copy, labels, count * sizeof *copy);
		*set = (struct label_set){ .labels = copy, .count = count, .hash = hash };
		reader->set_count++;
	}
	return set->labels;
}

static const char *keep(struct reader *reader, const struct muster_json *json)
{
	return json ? muster_pool_string(reader->run->pool, muster_json_string(json)) : NULL;
}

static struct muster_value value_of(struct reader *reader, const struct muster_json *json)
{
	switch (muster_json_type(json)) {
	case MUSTER_JSON_NUMBER: return muster_number(muster_json_number(json));
	case MUSTER_JSON_STRING: return muster_string(keep(reader, json));
	case MUSTER_JSON_BOOLEAN: return muster_boolean(muster_json_boolean(json));
	default: return muster_null();
	}
}

static bool has_label(const struct muster_metric *metric, const char *key)
{
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++)
		if (strcmp(metric->labels[i], key) == 0)
			return true;
	return false;
}

/* The labels that the catalogue lists for the metric: each of them, and no other. */
static int read_labels(struct reader *reader, const struct muster_json *json, const struct place *at,
	struct muster_sample *sample, struct muster_error *err)
{
	const struct muster_metric *metric = sample->metric;
	const struct place here = { .up = at, .key = "labels" };
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t count = 0;
	for (; count < MUSTER_LABELS_MAX && metric->labels[count]; count++) {
		const char *key = metric->labels[count];
		const struct muster_json *member = json ? muster_json_member(json, key) : NULL;
		if (!member)
			return place_fail(&here, err, "%s has the label \"%s\", which is missing", metric->name, key);
		/* findings name GPUs and ports by these labels, so they are never numbers */
		bool name = strcmp(key, "gpu") == 0 || strcmp(key, "port") == 0;
		const struct place value = { .up = &here, .key = key };
		if (field_check(member, &value, name ? FIELD_STRING : FIELD_STRING | FIELD_NUMBER, err) < 0)
			return -1;
		labels[count] = (struct muster_label){ .key = key, .value = value_of(reader, member) };
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
static int read_values(struct reader *reader, const struct muster_json *json, const struct place *up,
	struct muster_sample *sample, struct muster_error *err)
{
	const struct place all = { .up = up, .key = "values" };
	struct place here = { .up = &all };
	size_t count = muster_json_size(json);
	if (count < 2 || count > MUSTER_REPEATS_MAX)
		return place_fail(&all, err, "%zu values, 2 to %d are allowed", count, MUSTER_REPEATS_MAX);
	double *values = muster_pool_alloc(reader->run->pool, count * sizeof *values);
	for (json = muster_json_first(json); json; json = muster_json_next(json), here.index++) {
		if (field_check(json, &here, FIELD_NUMBER, err) < 0)
			return -1;
		values[here.index] = muster_json_number(json);
	}
	sample->values = values;
	sample->value_count = count;
	return 0;
}

/* What may stand beside a value of this type. */
static int check_company(enum muster_json_type type, const struct muster_json *reason, const struct muster_json *values,
	const struct place *at, struct muster_error *err)
{
	if (type == MUSTER_JSON_NULL && !reason)
		return place_fail(at, err, "the value is null, so the key \"reason\" is needed");
	if (type != MUSTER_JSON_NULL && reason)
		return place_fail(at, err, "a reason stands beside a value that is not null");
	if (values && type != MUSTER_JSON_NUMBER)
		return place_fail(at, err, "values of repeats stand beside a value that is no number");
	return 0;
}

static int read_sample(struct reader *reader, const struct muster_json *json, const struct place *at,
	struct muster_sample *ret, struct muster_error *err)
{
	enum { METRIC, LABELS, VALUE, REASON, VALUES, COUNT };
	static const struct field fields[COUNT] = {
		[METRIC] = { "metric", FIELD_STRING, true },
		[LABELS] = { "labels", FIELD_OBJECT, false },
		[VALUE] = { "value", FIELD_SCALAR, true },
		[REASON] = { "reason", FIELD_STRING, false },
		[VALUES] = { "values", FIELD_ARRAY, false },
	};
	const struct muster_json *part[COUNT];
	if (fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	const struct place metric_at = { .up = at, .key = "metric" }, value_at = { .up = at, .key = "value" };
	struct muster_sample sample = { .metric = muster_metric_find(muster_json_string(part[METRIC])) };
	if (!sample.metric)
		return place_fail(&metric_at, err, "unknown metric \"%.100s\"; `muster metrics` lists those there are",
			muster_json_string(part[METRIC]));
	enum muster_json_type type = muster_json_type(part[VALUE]);
	if (type != MUSTER_JSON_NULL && type != json_types[sample.metric->type])
		return place_fail(&value_at, err, "%s is %s, found %s", sample.metric->name,
			muster_json_type_name(json_types[sample.metric->type]), muster_json_type_name(type));
	if (check_company(type, part[REASON], part[VALUES], at, err) < 0 ||
		read_labels(reader, part[LABELS], at, &sample, err) < 0 ||
		(part[VALUES] && read_values(reader, part[VALUES], at, &sample, err) < 0))
		return -1;
	sample.value = value_of(reader, part[VALUE]);
	sample.reason = keep(reader, part[REASON]);
	*ret = sample;
	return 0;
}

/* Who may hold samples of which scope: a rank may bring its node's and its job's facts along, never the other way. */
enum holder { HOLDER_JOB, HOLDER_NODE, HOLDER_RANK };
static const enum holder widest[] = {
	[MUSTER_SCOPE_JOB] = HOLDER_JOB,
	[MUSTER_SCOPE_NODE] = HOLDER_NODE,
	[MUSTER_SCOPE_PORT] = HOLDER_NODE,
	[MUSTER_SCOPE_RANK] = HOLDER_RANK,
	[MUSTER_SCOPE_GPU] = HOLDER_RANK,
};
_Static_assert(sizeof widest / sizeof *widest == MUSTER_SCOPE_COUNT, "every scope has a holder");

static void make_room(struct muster_samples *samples, size_t more)
{
	if (samples->room - samples->count >= more)
		return;
	samples->room = samples->count + more;
	samples->items = muster_realloc(samples->items, samples->room, sizeof *samples->items);
}

/* Read an array of samples into the lists that their scopes name. lists[holder] is NULL for what json cannot hold. */
static int read_samples(struct reader *reader, const struct muster_json *json, const struct place *up,
	enum holder holder, struct muster_samples *const lists[], struct muster_error *err)
{
	const struct place all = { .up = up, .key = "samples" };
	struct place here = { .up = &all };
	size_t count = muster_json_size(json);
	if (count > MUSTER_REPORT_SAMPLES_MAX)
		return place_fail(&all, err, "%zu samples, at most %d are allowed", count, MUSTER_REPORT_SAMPLES_MAX);
	make_room(lists[holder], count);
	for (json = muster_json_first(json); json; json = muster_json_next(json), here.index++) {
		struct muster_sample sample;
		if (read_sample(reader, json, &here, &sample, err) < 0)
			return -1;
		enum holder target = widest[sample.metric->scope];
		if (target > holder)
			return place_fail(&here, err, "%s is a fact about a %s and cannot stand here",
				sample.metric->name, muster_scope_name(sample.metric->scope));
		muster_samples_add(lists[target], sample);
	}
	return 0;
}

static int read_outcome_status(const struct muster_json *json, const struct place *at, enum muster_outcome_status *ret,
	struct muster_error *err)
{
	for (enum muster_outcome_status status = 0; status < MUSTER_OUTCOME_COUNT; status++) {
		if (strcmp(muster_json_string(json), muster_outcome_name(status)) == 0) {
			*ret = status;
			return 0;
		}
	}
	return place_fail(at, err, "\"%.100s\" is none of ok, error, crashed, hung, not_run", muster_json_string(json));
}

static int read_outcome(struct reader *reader, const struct muster_json *json, const struct place *at,
	struct muster_outcome *ret, struct muster_error *err)
{
	enum { PROBE, STATUS, CODE, DETAIL, STEP, RING, ELAPSED, COUNT };
	static const struct field fields[COUNT] = {
		[PROBE] = { "probe", FIELD_STRING, true },
		[STATUS] = { "status", FIELD_STRING, true },
		[CODE] = { "code", FIELD_STRING, false },
		[DETAIL] = { "detail", FIELD_STRING, false },
		[STEP] = { "step", FIELD_STRING, false },
		[RING] = { "ring", FIELD_NUMBER, false },
		[ELAPSED] = { "elapsed_ms", FIELD_NUMBER, true },
	};
	const struct muster_json *part[COUNT];
	const struct place status_at = { .up = at, .key = "status" }, ring_at = { .up = at, .key = "ring" };
	struct muster_outcome outcome = { 0 };
	if (fields_read(json, at, fields, COUNT, part, err) < 0 ||
		read_outcome_status(part[STATUS], &status_at, &outcome.status, err) < 0 ||
		(part[RING] && field_int(part[RING], &ring_at, 1, MUSTER_REPORT_RANKS_MAX, &outcome.ring, err) < 0))
		return -1;
	if (outcome.status != MUSTER_OUTCOME_OK && !part[DETAIL])
		return place_fail(at, err, "the status is not \"ok\", so the key \"detail\" is needed");
	outcome.probe = keep(reader, part[PROBE]);
	outcome.code = keep(reader, part[CODE]);
	outcome.detail = keep(reader, part[DETAIL]);
	outcome.step = keep(reader, part[STEP]);
	outcome.elapsed_ms = muster_json_number(part[ELAPSED]);
	*ret = outcome;
	return 0;
}

static int read_outcomes(struct reader *reader, const struct muster_json *json, const struct place *up,
	struct muster_outcomes *outcomes, struct muster_error *err)
{
	const struct place all = { .up = up, .key = "probes" };
	struct place here = { .up = &all };
	if (muster_json_size(json) > MUSTER_REPORT_OUTCOMES_MAX)
		return place_fail(&all, err, "%zu probes, at most %d are allowed", muster_json_size(json),
			MUSTER_REPORT_OUTCOMES_MAX);
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
static bool rank_known(struct reader *reader, int rank)
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

static int read_rank(struct reader *reader, const struct muster_json *json, const struct place *at,
	struct muster_node *node, struct muster_error *err)
{
	enum { RANK, LOCAL_RANK, GPU, GPU_UUID, MISSING, UNFINISHED, PROBES, SAMPLES, COUNT };
	static const struct field fields[COUNT] = {
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
	const struct place rank_at = { .up = at, .key = "rank" }, local_at = { .up = at, .key = "local_rank" };
	int ranks = reader->run->job.ranks > 0 ? reader->run->job.ranks : MUSTER_REPORT_RANKS_MAX;
	int number, local_rank = -1;
	if (fields_read(json, at, fields, COUNT, part, err) < 0 ||
		field_int(part[RANK], &rank_at, 0, ranks - 1, &number, err) < 0 ||
		(part[LOCAL_RANK] && field_int(part[LOCAL_RANK], &local_at, 0, ranks - 1, &local_rank, err) < 0))
		return -1;
	if (node->rank_count > 0 && node->ranks[node->rank_count - 1].rank > number)
		return place_fail(&rank_at, err, "rank %d stands after rank %d; they must ascend", number,
			node->ranks[node->rank_count - 1].rank);
	if ((node->rank_count > 0 && node->ranks[node->rank_count - 1].rank == number) || rank_known(reader, number))
		return place_fail(&rank_at, err, "rank %d stands twice in the run", number);
	struct muster_rank *rank = muster_node_add_rank(node, number);
	reader->ranks_seen++;
	rank->local_rank = local_rank;
	rank->gpu = keep(reader, part[GPU]);
	rank->gpu_uuid = keep(reader, part[GPU_UUID]);
	rank->missing = keep(reader, part[MISSING]);
	rank->unfinished = keep(reader, part[UNFINISHED]);
	struct muster_samples *const lists[] = {
		[HOLDER_JOB] = &reader->run->job.samples,
		[HOLDER_NODE] = &node->samples,
		[HOLDER_RANK] = &rank->samples,
	};
	return read_outcomes(reader, part[PROBES], at, &rank->outcomes, err) < 0
		       ? -1
		       : read_samples(reader, part[SAMPLES], at, HOLDER_RANK, lists, err);
}

static int read_node(
	struct reader *reader, const struct muster_json *json, const struct place *at, struct muster_error *err)
{
	enum { NAME, SIMULATED, SAMPLES, RANKS, COUNT };
	static const struct field fields[COUNT] = {
		[NAME] = { "name", FIELD_STRING, true },
		[SIMULATED] = { "simulated", FIELD_BOOLEAN, true },
		[SAMPLES] = { "samples", FIELD_ARRAY, true },
		[RANKS] = { "ranks", FIELD_ARRAY, true },
	};
	const struct muster_json *part[COUNT];
	if (fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	struct muster_node *node = muster_run_add_node(reader->run, muster_json_string(part[NAME]));
	node->simulated = muster_json_boolean(part[SIMULATED]);
	struct muster_samples *const lists[] = {
		[HOLDER_JOB] = &reader->run->job.samples,
		[HOLDER_NODE] = &node->samples,
	};
	if (read_samples(reader, part[SAMPLES], at, HOLDER_NODE, lists, err) < 0)
		return -1;
	const struct place all = { .up = at, .key = "ranks" };
	struct place here = { .up = &all };
	for (json = muster_json_first(part[RANKS]); json; json = muster_json_next(json), here.index++)
		if (read_rank(reader, json, &here, node, err) < 0)
			return -1;
	return 0;
}

/* A part of the text, not parsed yet. */
struct part {
	const char *text;
	size_t length;
};

/* Errors of syntax have a line and a column, which count from the start of the part. */
static int name_part(const struct place *at, struct muster_error *err)
{
	char path[PLACE_TEXT_MAX];
	if (!err || !at->up || err->text[0] == '$') /* the root's lines are the file's; or the path is there already */
		return -1;
	return muster_wrap(err, "%s, lines counted from its start", place_text(at, path));
}

static int parse(struct part part, const struct place *at, struct muster_json **ret, struct muster_error *err)
{
	if (part.length > MUSTER_REPORT_PART_BYTES_MAX)
		return place_fail(
			at, err, "%zu bytes, at most %d are allowed", part.length, MUSTER_REPORT_PART_BYTES_MAX);
	return muster_json_parse(part.text, part.length, ret, err) < 0 ? name_part(at, err) : 0;
}

/* Take back what a node that proved malformed has left in the run. */
static void drop_nodes(struct muster_run *run, size_t node_count, size_t job_samples)
{
	while (run->node_count > node_count) {
		struct muster_node *node = &run->nodes[--run->node_count];
		for (size_t i = 0; i < node->rank_count; i++) {
			muster_samples_done(&node->ranks[i].samples);
			free(node->ranks[i].outcomes.items);
		}
		free(node->ranks);
		muster_samples_done(&node->samples);
	}
	run->job.samples.count = job_samples;
}

int muster_node_from_json(struct muster_run *run, const char *text, size_t length, struct muster_error *err)
{
	const struct place root = { 0 };
	struct reader reader = { .run = run };
	struct muster_json *json = NULL;
	size_t nodes = run->node_count, job_samples = run->job.samples.count;
	int rc = parse((struct part){ text, length }, &root, &json, err);
	if (rc == 0)
		rc = read_node(&reader, json, &root, err);
	if (rc < 0) {
		drop_nodes(run, nodes, job_samples);
		if (err)
			err->code = MUSTER_EPROTOCOL;
	}
	muster_json_free(json);
	free(reader.sets);
	return rc;
}

static int read_job(
	struct reader *reader, const struct muster_json *json, const struct place *at, struct muster_error *err)
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
	static const struct field fields[COUNT] = {
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
	static const char *const profiles[] = { "quick", "standard", "full" };
	_Static_assert(sizeof profiles / sizeof *profiles == MUSTER_PROFILE_COUNT, "every profile has a name");
	const struct muster_json *part[COUNT];
	const struct place ranks_at = { .up = at, .key = "ranks" }, profile_at = { .up = at, .key = "profile" };
	const struct place repeats_at = { .up = at, .key = "repeats" };
	struct muster_job *job = &reader->run->job;
	if (fields_read(json, at, fields, COUNT, part, err) < 0 ||
		field_int(part[RANKS], &ranks_at, 1, MUSTER_REPORT_RANKS_MAX, &job->ranks, err) < 0 ||
		(part[REPEATS] && field_int(part[REPEATS], &repeats_at, 1, MUSTER_REPEATS_MAX, &job->repeats, err) < 0))
		return -1;
	for (size_t i = 0; i < MUSTER_PROFILE_COUNT; i++)
		if (strcmp(profiles[i], muster_json_string(part[PROFILE])) == 0)
			job->profile = profiles[i];
	if (!job->profile)
		return place_fail(&profile_at, err, "\"%.100s\" is none of quick, standard, full",
			muster_json_string(part[PROFILE]));
	job->id = keep(reader, part[ID]);
	job->started = keep(reader, part[STARTED]);
	job->elapsed_s = muster_json_number(part[ELAPSED]);
	job->simulated = muster_json_boolean(part[SIMULATED]);
	job->version = keep(reader, part[VERSION]);
	job->interrupted = keep(reader, part[INTERRUPTED]);
	job->assembled = part[ASSEMBLED] && muster_json_boolean(part[ASSEMBLED]);
	struct muster_samples *const lists[] = { [HOLDER_JOB] = &job->samples };
	return read_samples(reader, part[SAMPLES], at, HOLDER_JOB, lists, err);
}

/* The members of an object by a table of fields, as unparsed parts. */
struct split {
	const struct place *at;
	const struct field *fields;
	size_t count;
	struct part *parts;
};

static int split_member(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	const struct split *split = arg;
	size_t i = 0;
	(void)index;
	while (i < split->count && strcmp(split->fields[i].key, key) != 0)
		i++;
	if (i == split->count)
		return place_fail(split->at, err, "unknown key \"%.100s\"", key);
	if (split->parts[i].text)
		return place_fail(split->at, err, "the key \"%s\" stands twice in one object", key);
	split->parts[i] = (struct part){ value, length };
	return 0;
}

static int split_fields(struct part whole, const struct split *split, struct muster_error *err)
{
	if (muster_json_split_object(whole.text, whole.length, split_member, (void *)split, err) < 0)
		return name_part(split->at, err);
	for (size_t i = 0; i < split->count; i++)
		if (split->fields[i].required && !split->parts[i].text)
			return place_fail(split->at, err, "the key \"%s\" is missing", split->fields[i].key);
	return 0;
}

struct elements {
	struct reader *reader;
	const struct place *at;
	unsigned int types; /* of an element that is only checked */
	int (*read)(struct reader *reader, const struct muster_json *json, const struct place *at,
		struct muster_error *err); /* otherwise */
};

static int read_element(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	(void)key;
	const struct elements *elements = arg;
	const struct place here = { .up = elements->at, .index = index };
	struct muster_json *json = NULL;
	if (index >= MUSTER_REPORT_NODES_MAX)
		return place_fail(elements->at, err, "more than %d elements", MUSTER_REPORT_NODES_MAX);
	int rc = parse((struct part){ value, length }, &here, &json, err);
	if (rc == 0)
		rc = elements->types ? field_check(json, &here, elements->types, err)
				     : elements->read(elements->reader, json, &here, err);
	muster_json_free(json);
	return rc;
}

static int read_trial(
	struct reader *reader, const struct muster_json *json, const struct place *at, struct muster_error *err)
{
	enum { PROBE, KIND, NODES, STATUS, BUSBW, WHY, SECONDS, COUNT };
	static const struct field fields[COUNT] = {
		[PROBE] = { "probe", FIELD_STRING, true },
		[KIND] = { "kind", FIELD_STRING, true },
		[NODES] = { "nodes", FIELD_ARRAY, true },
		[STATUS] = { "status", FIELD_STRING, true },
		[BUSBW] = { "busbw_gbps", FIELD_NUMBER, false },
		[WHY] = { "why", FIELD_STRING, false },
		[SECONDS] = { "seconds", FIELD_NUMBER, true },
	};
	const struct muster_json *part[COUNT];
	if (fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	const struct place kind_at = { .up = at, .key = "kind" }, nodes_at = { .up = at, .key = "nodes" };
	const struct place status_at = { .up = at, .key = "status" };
	const char *kind = muster_json_string(part[KIND]), *status = muster_json_string(part[STATUS]);
	struct muster_trial trial = {
		.probe = keep(reader, part[PROBE]),
		.node_count = muster_json_size(part[NODES]),
		.ok = strcmp(status, "ok") == 0,
		.busbw_gbps = part[BUSBW] ? muster_json_number(part[BUSBW]) : 0,
		.why = keep(reader, part[WHY]),
		.seconds = muster_json_number(part[SECONDS]),
	};
	while (trial.kind < MUSTER_TRIAL_KIND_COUNT && strcmp(kind, muster_trial_kind_name(trial.kind)) != 0)
		trial.kind++;
	if (trial.kind == MUSTER_TRIAL_KIND_COUNT)
		return place_fail(&kind_at, err, "\"%.100s\" is none of alone, pair, group", kind);
	if (!trial.ok && strcmp(status, "failed") != 0)
		return place_fail(&status_at, err, "\"%.100s\" is neither ok nor failed", status);
	if (!trial.ok && !trial.why)
		return place_fail(at, err, "the status is not \"ok\", so the key \"why\" is needed");
	if (trial.node_count > MUSTER_REPORT_NODES_MAX ||
		(trial.kind == MUSTER_TRIAL_GROUP ? trial.node_count < 3
						  : trial.node_count != (trial.kind == MUSTER_TRIAL_PAIR ? 2 : 1)))
		return place_fail(&nodes_at, err, "%zu nodes cannot be of the kind \"%s\"", trial.node_count, kind);
	trial.nodes = muster_pool_alloc(reader->run->pool, trial.node_count * sizeof *trial.nodes);
	struct place here = { .up = &nodes_at };
	const struct muster_json *node = muster_json_first(part[NODES]);
	for (; node; node = muster_json_next(node), here.index++) {
		if (field_check(node, &here, FIELD_STRING, err) < 0)
			return -1;
		trial.nodes[here.index] = keep(reader, node);
	}
	muster_run_add_trial(reader->run, trial);
	return 0;
}

int muster_trial_from_json(struct muster_run *run, const char *text, size_t length, struct muster_error *err)
{
	const struct place root = { 0 };
	struct reader reader = { .run = run };
	struct muster_json *json = NULL;
	int rc = parse((struct part){ text, length }, &root, &json, err);
	if (rc == 0)
		rc = read_trial(&reader, json, &root, err);
	if (rc < 0 && err)
		err->code = MUSTER_EPROTOCOL;
	muster_json_free(json);
	return rc;
}

static int read_run(struct reader *reader, struct part whole, const struct place *at, struct muster_error *err)
{
	enum { JOB, NODES, TRIALS, COUNT };
	static const struct field fields[COUNT] = {
		[JOB] = { "job", FIELD_OBJECT, true },
		[NODES] = { "nodes", FIELD_ARRAY, true },
		[TRIALS] = { "trials", FIELD_ARRAY, false },
	};
	struct part parts[COUNT] = { 0 };
	const struct split split = { .at = at, .fields = fields, .count = COUNT, .parts = parts };
	const struct place job_at = { .up = at, .key = "job" }, nodes_at = { .up = at, .key = "nodes" };
	const struct place trials_at = { .up = at, .key = "trials" };
	struct muster_json *job = NULL;
	if (split_fields(whole, &split, err) < 0)
		return -1;
	int rc = parse(parts[JOB], &job_at, &job, err);
	if (rc == 0)
		rc = read_job(reader, job, &job_at, err);
	muster_json_free(job);
	if (rc < 0)
		return -1;

	size_t ranks = (size_t)reader->run->job.ranks;
	reader->seen = muster_calloc(ranks / 8 + 1, 1);
	struct elements nodes = { .reader = reader, .at = &nodes_at, .read = read_node };
	if (muster_json_split_array(parts[NODES].text, parts[NODES].length, read_element, &nodes, err) < 0)
		return name_part(&nodes_at, err);
	struct elements trials = { .reader = reader, .at = &trials_at, .read = read_trial };
	if (parts[TRIALS].text &&
		muster_json_split_array(parts[TRIALS].text, parts[TRIALS].length, read_element, &trials, err) < 0)
		return name_part(&trials_at, err);
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

static int read_finding(
	struct reader *reader, const struct muster_json *json, const struct place *at, struct muster_error *err)
{
	return judged_finding(reader->judged, json, at, err);
}

static int read_check(
	struct reader *reader, const struct muster_json *json, const struct place *at, struct muster_error *err)
{
	return judged_check(reader->judged, json, at, err);
}

/* What stands beside the run was made from it and can be made again, but it must be JSON of the right kind. Unless more
 * is wanted, only the machine type's name is kept. */
static int read_rest(struct reader *reader, const struct field *field, struct part part, struct muster_error *err)
{
	struct muster_run *run = reader->run;
	const struct place root = { 0 }, at = { .up = &root, .key = field->key };
	struct muster_json *json = NULL;
	if (field->types == FIELD_ARRAY) {
		struct elements elements = { .reader = reader, .at = &at, .types = FIELD_OBJECT };
		if (reader->judged) {
			elements.types = 0;
			elements.read = strcmp(field->key, "findings") == 0 ? read_finding : read_check;
		}
		if (muster_json_split_array(part.text, part.length, read_element, &elements, err) < 0)
			return name_part(&at, err);
		return 0;
	}
	int rc = parse(part, &at, &json, err);
	if (rc == 0)
		rc = field_check(json, &at, field->types, err);
	if (rc == 0 && strcmp(field->key, "simulated") == 0 && muster_json_boolean(json) != run->job.simulated)
		rc = place_fail(&at, err, "contradicts $.run.job.simulated");
	if (rc == 0 && strcmp(field->key, "sku") == 0) {
		const struct muster_json *name = muster_json_member(json, "name");
		if (name && muster_json_type(name) == MUSTER_JSON_STRING)
			run->judged_as = muster_pool_string(run->pool, muster_json_string(name));
	}
	if (rc == 0 && reader->judged)
		rc = judged_member(reader->judged, field->key, json, &at, err);
	muster_json_free(json);
	return rc;
}

static int check_version(struct part part, struct muster_error *err)
{
	const struct place root = { 0 }, at = { .up = &root, .key = "schema_version" };
	struct muster_json *json = NULL;
	int version = 0, rc = parse(part, &at, &json, err);
	if (rc == 0)
		rc = field_check(json, &at, FIELD_NUMBER, err);
	if (rc == 0)
		rc = field_int(json, &at, 1, 1 << 20, &version, err);
	if (rc == 0 && version != MUSTER_REPORT_SCHEMA_VERSION)
		rc = place_fail(&at, err, "this muster reads reports of version %d, found %d",
			MUSTER_REPORT_SCHEMA_VERSION, version);
	muster_json_free(json);
	return rc;
}

static int read_report(struct reader *reader, struct part whole, struct muster_error *err)
{
	enum { SCHEMA, VERSION, VERDICT, SIMULATED, STRICT, SKU, SUMMARY, FINDINGS, CHECKS, RUN, COUNT };
	static const struct field fields[COUNT] = {
		[SCHEMA] = { "schema_version", FIELD_NUMBER, true },
		[VERSION] = { "muster", FIELD_STRING, false },
		[VERDICT] = { "verdict", FIELD_STRING, false },
		[SIMULATED] = { "simulated", FIELD_BOOLEAN, false },
		[STRICT] = { "strict", FIELD_BOOLEAN, false },
		[SKU] = { "sku", FIELD_OBJECT, false },
		[SUMMARY] = { "summary", FIELD_OBJECT, false },
		[FINDINGS] = { "findings", FIELD_ARRAY, false },
		[CHECKS] = { "checks", FIELD_ARRAY, false },
		[RUN] = { "run", FIELD_OBJECT, true },
	};
	const struct place root = { 0 }, run_at = { .up = &root, .key = "run" };
	struct part parts[COUNT] = { 0 };
	const struct split split = { .at = &root, .fields = fields, .count = COUNT, .parts = parts };
	if (split_fields(whole, &split, err) < 0 || check_version(parts[SCHEMA], err) < 0 ||
		read_run(reader, parts[RUN], &run_at, err) < 0)
		return -1;
	for (size_t i = VERDICT; i < RUN; i++)
		if (reader->judged && !parts[i].text)
			return place_fail(&root, err,
				"the key \"%s\" is missing: nobody has judged this run yet (muster check --report "
				"FILE does)",
				fields[i].key);
	for (size_t i = VERSION; i < RUN; i++)
		if (parts[i].text && read_rest(reader, &fields[i], parts[i], err) < 0)
			return -1;
	return 0;
}

static int read_file(const char *path, struct judged *judged, struct muster_run *ret, struct muster_error *err)
{
	struct muster_run run;
	struct part whole;
	char *text = NULL;
	if (muster_file_read(path, MUSTER_REPORT_BYTES_MAX, &text, &whole.length, err) < 0)
		return -1;
	whole.text = text;
	muster_run_init(&run);
	struct reader reader = { .run = &run, .judged = judged };
	int rc = read_report(&reader, whole, err);
	free(text);
	free(reader.sets);
	free(reader.seen);
	if (rc < 0) {
		muster_run_done(&run);
		return muster_wrap(err, "%s", path);
	}
	*ret = run;
	return 0;
}

int muster_report_read(const char *path, struct muster_run *ret, struct muster_error *err)
{
	return read_file(path, NULL, ret, err);
}

int muster_report_load(
	const char *path, struct muster_run *ret_run, struct muster_report *ret, struct muster_error *err)
{
	struct judged judged;
	judged_init(&judged);
	if (read_file(path, &judged, ret_run, err) < 0) {
		judged_done(&judged);
		return -1;
	}
	judged_finish(&judged, ret_run, ret);
	return 0;
}

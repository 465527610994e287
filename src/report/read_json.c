/* read_json.c - a run from its JSON: a saved report, or one node of it as leaders send it
 *
 * Input from outside: nothing is taken that does not fit the catalogue, the limits in struct_json.h or its neighbours.
 * The text is split into parts first and only one node at a time becomes a tree, so memory is that of the text and the
 * run.
 */
#include "muster/report.h"

#include "util/file.h"
#include "model/run_json.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

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

/* A node or a trial, as leaders send them. */
static int read_alone(struct muster_run *run, const char *text, size_t length, muster_json_element_read *read,
	struct muster_error *err)
{
	const struct muster_json_path root = { 0 };
	struct muster_run_reader reader = { .run = run, .samples = { .arena = run->arena } };
	struct muster_json *json = NULL;
	int rc = muster_json_part_parse((struct muster_json_part){ text, length }, &root, &json, err);
	if (rc == 0)
		rc = read(&reader, json, &root, err);
	if (rc < 0 && err)
		err->code = MUSTER_EPROTOCOL;
	muster_json_free(json);
	muster_sample_reader_done(&reader.samples);
	return rc;
}

int muster_node_from_json(struct muster_run *run, const char *text, size_t length, struct muster_error *err)
{
	size_t nodes = run->node_count, job_samples = run->job.samples.count;
	int rc = read_alone(run, text, length, muster_node_read, err);
	if (rc < 0)
		drop_nodes(run, nodes, job_samples);
	return rc;
}

int muster_trial_from_json(struct muster_run *run, const char *text, size_t length, struct muster_error *err)
{
	return read_alone(run, text, length, muster_trial_read, err);
}

/* An element of what nobody wants to know more of. */
static int check_object(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	(void)reader;
	return muster_json_field_check(json, at, FIELD_OBJECT, err);
}

static int read_finding(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	return muster_findings_reader_finding(reader->judged, json, at, err);
}

static int read_check(struct muster_run_reader *reader, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	return muster_findings_reader_check(reader->judged, json, at, err);
}

/* What stands beside the run was made from it and can be made again, but it must be JSON of the right kind. Unless more
 * is wanted, only the machine type's name is kept. */
static int read_rest(struct muster_run_reader *reader, const struct muster_json_field *field,
	struct muster_json_part part, struct muster_error *err)
{
	struct muster_run *run = reader->run;
	const struct muster_json_path root = { 0 }, at = { .up = &root, .key = field->key };
	struct muster_json *json = NULL;
	if (field->types == FIELD_ARRAY)
		return muster_json_part_elements(part, &at,
			!reader->judged                       ? check_object
			: strcmp(field->key, "findings") == 0 ? read_finding
							      : read_check,
			reader, err);
	int rc = muster_json_part_parse(part, &at, &json, err);
	if (rc == 0)
		rc = muster_json_field_check(json, &at, field->types, err);
	if (rc == 0 && strcmp(field->key, "simulated") == 0 && muster_json_boolean(json) != run->job.simulated)
		rc = place_fail(&at, err, "contradicts $.run.job.simulated");
	if (rc == 0 && strcmp(field->key, "sku") == 0) {
		const struct muster_json *name = muster_json_member(json, "name");
		if (name && muster_json_type(name) == MUSTER_JSON_STRING)
			run->judged_as = muster_arena_string(run->arena, muster_json_string(name));
	}
	if (rc == 0 && reader->judged)
		rc = muster_findings_reader_member(reader->judged, field->key, json, &at, err);
	muster_json_free(json);
	return rc;
}

static int check_version(struct muster_json_part part, struct muster_error *err)
{
	const struct muster_json_path root = { 0 }, at = { .up = &root, .key = "schema_version" };
	struct muster_json *json = NULL;
	int version = 0, rc = muster_json_part_parse(part, &at, &json, err);
	if (rc == 0)
		rc = muster_json_field_check(json, &at, FIELD_NUMBER, err);
	if (rc == 0)
		rc = muster_json_field_int(json, &at, 1, 1 << 20, &version, err);
	if (rc == 0 && version != MUSTER_REPORT_SCHEMA_VERSION)
		rc = place_fail(&at, err, "this muster reads reports of version %d, found %d",
			MUSTER_REPORT_SCHEMA_VERSION, version);
	muster_json_free(json);
	return rc;
}

static int read_report(struct muster_run_reader *reader, struct muster_json_part whole, struct muster_error *err)
{
	enum { SCHEMA, VERSION, VERDICT, SIMULATED, STRICT, SKU, SUMMARY, FINDINGS, CHECKS, RUN, COUNT };
	static const struct muster_json_field fields[COUNT] = {
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
	const struct muster_json_path root = { 0 }, run_at = { .up = &root, .key = "run" };
	struct muster_json_part parts[COUNT];
	if (muster_json_part_fields(whole, &root, fields, COUNT, parts, err) < 0 ||
		check_version(parts[SCHEMA], err) < 0 || muster_run_read(reader, parts[RUN], &run_at, err) < 0)
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

static int read_file(
	const char *path, struct muster_findings_reader *judged, struct muster_run *ret, struct muster_error *err)
{
	struct muster_run run;
	struct muster_json_part whole;
	char *text = NULL;
	if (muster_file_read(path, MUSTER_REPORT_BYTES_MAX, &text, &whole.length, err) < 0)
		return -1;
	whole.text = text;
	muster_run_init(&run);
	struct muster_run_reader reader = { .run = &run, .judged = judged, .samples = { .arena = run.arena } };
	int rc = read_report(&reader, whole, err);
	free(text);
	muster_sample_reader_done(&reader.samples);
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
	struct muster_findings_reader judged;
	muster_findings_reader_init(&judged);
	if (read_file(path, &judged, ret_run, err) < 0) {
		muster_findings_reader_done(&judged);
		return -1;
	}
	muster_findings_reader_finish(&judged, ret_run, ret);
	return 0;
}

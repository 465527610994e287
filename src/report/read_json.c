/* SPDX-License-Identifier: Apache-2.0 */
/* read_json.c - a run, and how it was judged, from a saved report
 *
 * Input from outside: nothing is taken that does not fit the catalogue, the limits in limits.h or its neighbours. One
 * sample at a time becomes a tree, so memory is that of the run and of what stands before it in the file.
 *
 * Two ways to read a report: muster_report_read() takes the run alone, to be evaluated again (`muster check`);
 * muster_report_load() takes verdict, findings and checks, too. The members, in the order of write_json.c:
 *
 *   schema_version               the only member that says whether the rest can be read: "run" needs it
 *   verdict, strict, summary,    read_findings.c, when they are wanted; else only their types are checked
 *   findings, checks
 *   sku                          the same; its name becomes run->judged_as in any case
 *   simulated                    must agree with run.job.simulated
 *   muster, slowest              only their types are checked: the writer's version says nothing of the run, and
 *                                slowest follows from the run
 *   run                          model/run_json.h
 *
 * All keys but "schema_version" and "run" itself need "run" before them, while the writer puts the run last: the stream
 * keeps their text until the run is read.
 */
#include "muster/report.h"

#include "muster/run.h"
#include "util/file.h"
#include "util/input.h"
#include "model/run_json.h"
#include "model/limits.h"
#include "muster/probe.h"
#include "report/read_findings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCHEMA, VERSION, VERDICT, SIMULATED, STRICT, SKU, SUMMARY, SLOWEST, FINDINGS, CHECKS, RUN, COUNT };

struct report_reader {
	struct muster_run_reader run;          /* first, so that a reader of the run is handed on */
	struct muster_findings_reader *judged; /* NULL: only the run is wanted */
	const struct muster_json *unread;      /* what is looked at for its type alone */
	bool came[COUNT];                      /* of what stands beside the run */
	struct muster_input *input;
	bool begun, looks_right; /* its first bytes have keys that only a report has */
};

static int read_version(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int version;
	(void)into;
	if (muster_json_int_read(r, json, 1, 1 << 20, &version) < 0)
		return -1;
	return version == MUSTER_REPORT_SCHEMA_VERSION
		       ? 0
		       : muster_json_reader_fail(r, "this muster reads reports of version %d, found version %d",
				 MUSTER_REPORT_SCHEMA_VERSION, version);
}

/* A file whose two members disagree is refused: a simulated result must never be taken for one of a real machine. */
static int read_simulated(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	bool simulated;
	(void)into;
	if (muster_json_boolean_read(r, &simulated, json) < 0)
		return -1;
	return simulated == ((struct muster_run_reader *)r)->run->job.simulated
		       ? 0
		       : muster_json_reader_fail(r, "contradicts $.run.job.simulated");
}

/* Only the machine type's name is kept. */
static int read_sku(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_run *run = ((struct muster_run_reader *)r)->run;
	(void)into;
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0)
		return -1;
	const struct muster_json *name = muster_json_member(json, "name");
	if (name && muster_json_type(name) == MUSTER_JSON_STRING)
		run->judged_as = muster_arena_string(run->arena, muster_json_string(name));
	return 0;
}

static int read_run(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	(void)r;
	(void)field;
	return muster_run_read(base, s);
}

static const struct muster_field fields[COUNT];

/* A member beside the run: into the reader of findings where that is wanted and has the key, else by the table below.
 * Its texts then belong to the arena of the report, and not to that of the run. */
static int read_judgement(
	struct muster_json_reader *r, struct muster_json_stream *s, const struct muster_field *field, void *base)
{
	struct report_reader *reader = base;
	reader->came[field - fields] = true;
	const struct muster_field *judged = reader->judged ? muster_findings_reader_field(field->key) : NULL;
	if (!judged)
		return muster_json_stream_field(r, s, field, base);
	r->arena = reader->judged->report.arena;
	int rc = muster_json_stream_field(r, s, judged, reader->judged);
	r->arena = reader->run.run->arena;
	return rc;
}

#define BESIDE_RUN .parts = read_judgement, .needs = "run", .optional = true
#define UNREAD_OF(types_)                                                                                              \
	.type = MUSTER_FIELD_JSON, .types = (types_), .offset = offsetof(struct report_reader, unread), BESIDE_RUN
#define UNREAD(type_) UNREAD_OF(MUSTER_JSON_BIT(MUSTER_JSON_##type_))

/* What stands beside the run was made from it and can be made again, but it must be JSON of the right kind. */
static const struct muster_field fields[COUNT] = {
	[SCHEMA] = { .key = "schema_version", .read = read_version },
	[VERSION] = { .key = "muster", UNREAD(STRING) },
	[VERDICT] = { .key = "verdict", UNREAD(STRING) },
	[SIMULATED] = { .key = "simulated", .read = read_simulated, BESIDE_RUN },
	[STRICT] = { .key = "strict",
		UNREAD_OF(MUSTER_JSON_BIT(MUSTER_JSON_BOOLEAN) | MUSTER_JSON_BIT(MUSTER_JSON_STRING)) },
	[SKU] = { .key = "sku", .read = read_sku, BESIDE_RUN },
	[SUMMARY] = { .key = "summary", UNREAD(OBJECT) },
	[SLOWEST] = { .key = "slowest", UNREAD(OBJECT) },
	[FINDINGS] = { .key = "findings", UNREAD(OBJECT), .many = true, .most = MUSTER_RUN_NODES_MAX },
	[CHECKS] = { .key = "checks", UNREAD(OBJECT), .many = true, .most = MUSTER_RUN_NODES_MAX },
	[RUN] = { .key = "run", .parts = read_run, .needs = "schema_version" },
};
static const struct muster_object_type report_type = MUSTER_OBJECT_TYPE(report_reader, fields);

/* A report that says how its run was judged says all of it: "slowest" alone may be absent. A run without any of these
 * members is a valid input of `muster check`, but not here. */
static int check_judged(struct report_reader *reader)
{
	for (size_t i = VERDICT; i < RUN; i++)
		if (i != SLOWEST && !reader->came[i])
			return muster_json_reader_fail(&reader->run.samples.json,
				"the key \"%s\" is missing: this run has not been evaluated yet (use muster check "
				"--report FILE)",
				fields[i].key);
	reader->run.run->judged_as = muster_arena_string(reader->run.run->arena, reader->judged->report.sku);
	return 0;
}

/* Whether the bytes have this text; they do not end with NUL. */
static bool has_key(const char *text, ssize_t length, const char *quoted)
{
	return memmem(text, (size_t)length, quoted, strlen(quoted)) != NULL;
}

/* The next bytes of the file, for the stream. The first ones are looked at, too: when reading fails, the user should
 * know whether the file is another one. */
static ssize_t more(void *from, char *into, size_t room, struct muster_error *err)
{
	struct report_reader *reader = from;
	ssize_t got = muster_input_read(reader->input, into, room, err);
	if (!reader->begun && got > 0)
		reader->looks_right = has_key(into, got, "\"schema_version\"") &&
				      (has_key(into, got, "\"run\"") || has_key(into, got, "\"verdict\""));
	reader->begun = true;
	return got;
}

static int read_report(struct report_reader *reader)
{
	struct muster_json_reader *r = &reader->run.samples.json;
	struct muster_json_stream stream;
	muster_json_stream_init(&stream, more, reader);
	int rc = muster_json_stream_object(r, &stream, &report_type, reader) < 0 ||
				 muster_json_stream_end(r, &stream) < 0 || (reader->judged && check_judged(reader) < 0)
			 ? -1
			 : 0;
	muster_json_stream_done(&stream);
	return rc;
}

/* Read the report that is open as fd, which stays open. judged NULL: the run alone. *ret is made only on success; what
 * judged holds after a failure is its owner's to release. */
static int read_file(int fd, const char *path, struct muster_findings_reader *judged, struct muster_run *ret,
	struct muster_error *err)
{
	struct muster_run run;
	struct muster_input input;
	muster_run_init(&run);
	struct report_reader reader = {
		.run = { .run = &run, .outcomes = muster_outcomes_known }, .judged = judged, .input = &input
	};
	muster_sample_reader_init(&reader.run.samples, run.arena, muster_metric_find);
	reader.run.samples.json.err = err;
	int rc = muster_input_begin(&input, fd, path, MUSTER_REPORT_BYTES_MAX, err) < 0 ? -1 : read_report(&reader);
	muster_input_done(&input);
	muster_sample_reader_done(&reader.run.samples);
	muster_json_known_done(&reader.run.outcomes);
	free(reader.run.seen);
	if (rc < 0) {
		muster_run_done(&run);
		if (reader.begun && !reader.looks_right)
			muster_wrap(err, "not a Muster report");
		return muster_wrap(err, "%s", path);
	}
	*ret = run;
	return 0;
}

int muster_report_read(const char *path, struct muster_run *ret, struct muster_error *err)
{
	int fd = muster_file_open_read(path, err);
	if (fd < 0)
		return -1;
	int rc = read_file(fd, path, NULL, ret, err);
	close(fd);
	return rc;
}

int muster_report_load_open(
	int fd, const char *path, struct muster_run *ret_run, struct muster_report *ret, struct muster_error *err)
{
	struct muster_findings_reader judged;
	muster_findings_reader_init(&judged);
	if (read_file(fd, path, &judged, ret_run, err) < 0) {
		muster_findings_reader_done(&judged);
		return -1;
	}
	muster_findings_reader_finish(&judged, ret_run, ret);
	return 0;
}

int muster_report_load(
	const char *path, struct muster_run *ret_run, struct muster_report *ret, struct muster_error *err)
{
	int fd = muster_file_open_read(path, err);
	if (fd < 0)
		return -1;
	int rc = muster_report_load_open(fd, path, ret_run, ret, err);
	close(fd);
	return rc;
}

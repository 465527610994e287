/* SPDX-License-Identifier: Apache-2.0 */
/* read_findings.c - read verdict, findings and checks of a saved report
 *
 * Input from outside, read as strictly as the run. Nothing is evaluated again, so the expectation files and the
 * overlay of that run are not needed.
 *
 * Each table of fields serves both ways: write_json.c writes findings, tallies and counts by the tables that read them
 * here. The order of the rows is the order in the file. A field that is `optional` is absent where it has no value, and
 * also in reports of versions that did not have it yet.
 */
#include "report/read_findings.h"

#include "muster/arena.h"
#include "model/gpu.h"
#include "model/limits.h"
#include "model/run_json.h"
#include "util/array.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void muster_findings_reader_init(struct muster_findings_reader *judged)
{
	*judged = (struct muster_findings_reader){ .report = { .arena = muster_arena_new() } };
}

/* The key "calibrated" is the opposite of the member: true is the usual case, and an absent key means true, too. */
static int read_calibrated(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	bool *uncalibrated = into;
	if (muster_json_boolean_read(r, uncalibrated, json) < 0)
		return -1;
	*uncalibrated = !*uncalibrated;
	return 0;
}

static void write_calibrated(struct muster_json_writer *w, const void *uncalibrated)
{
	muster_json_writer_boolean(w, !*(const bool *)uncalibrated);
}

/* The unit of a finding may be NULL, but the key is always there. */
static void write_unit(struct muster_json_writer *w, const void *unit)
{
	const char *text = *(const char *const *)unit;
	muster_json_writer_string(w, text ? text : "");
}

/* ---- a finding ---- */

static const struct muster_field where_fields[] = {
	{ MUSTER_FIELD(muster_finding, node, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_finding, rank, INT), .high = MUSTER_RUN_RANKS_MAX - 1, .optional = true, .absent = -1 },
	{ MUSTER_FIELD(muster_finding, gpu, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_finding, gpu_index, INT), .high = MUSTER_RUN_RANKS_MAX - 1, .optional = true,
		.absent = -1 },
	{ MUSTER_FIELD(muster_finding, port, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_finding, labels, LABELS), .count_offset = offsetof(struct muster_finding, label_count),
		.optional = true },
};
static const struct muster_object_type where_type = MUSTER_OBJECT_TYPE(muster_finding, where_fields);

static const struct muster_field share_fields[] = {
	{ MUSTER_FIELD(muster_share, lowest, NUMBER) },
	{ MUSTER_FIELD(muster_share, highest, NUMBER) },
	{ MUSTER_FIELD(muster_share, limit, NUMBER) },
	{ MUSTER_FIELD(muster_share, of, TEXT) },
};
static const struct muster_object_type share_type = MUSTER_OBJECT_TYPE(muster_share, share_fields);

static const struct muster_field finding_fields[] = {
	{ MUSTER_FIELD(muster_finding, check, TEXT) },
	{ MUSTER_FIELD(muster_finding, status, NAME), MUSTER_FIELD_NAMES(muster_status_names) },
	{ .key = "where", .type = MUSTER_FIELD_OBJECT, .object = &where_type, .one_line = true },
	{ MUSTER_FIELD(muster_finding, metric, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_finding, expected, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_finding, observed, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_finding, tries, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_finding, evidence, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_finding, value, VALUE) },
	{ MUSTER_FIELD(muster_finding, unit, TEXT), .write = write_unit },
	{ MUSTER_FIELD(muster_finding, share, OBJECT), .object = &share_type, .one_line = true, .optional = true,
		.present = offsetof(struct muster_finding, share.known) },
	{ MUSTER_FIELD(muster_finding, advice, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_finding, proof, NAME), MUSTER_FIELD_NAMES(muster_proof_names), .optional = true },
	{ MUSTER_FIELD(muster_finding, action_code, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_finding, source, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_finding, certainty, TEXT), .optional = true },
	{ MUSTER_FIELD_AS(muster_finding, "calibrated", uncalibrated, BOOLEAN), .read = read_calibrated,
		.write = write_calibrated, .optional = true },
	{ MUSTER_FIELD(muster_finding, unread, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_finding, blocked, TEXT), MUSTER_FIELD_MANY(muster_finding, blocked_count),
		.optional = true },
	/* the key of `blocked` in earlier versions: read, and never written, since JSON fields are not */
	{ MUSTER_FIELD_AS(muster_finding, "unjudged", blocked, JSON), MUSTER_FIELD_MANY(muster_finding, blocked_count),
		.read = muster_json_text_read, .size = sizeof(const char *), .optional = true },
};
const struct muster_object_type muster_finding_type = MUSTER_OBJECT_TYPE(muster_finding, finding_fields);

/* One element of "findings". Its position in the file stays its index: findings stand worst first. */
static int read_finding(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_findings_reader *judged = into;
	struct muster_report *report = &judged->report;
	struct muster_finding finding = { .rank = -1, .gpu_index = -1 };
	if (muster_object_read(r, json, &muster_finding_type, &finding) < 0)
		return -1;
	MUSTER_ARRAY_PUSH(report->findings, report->finding_count, judged->finding_room, finding);
	return 0;
}

/* ---- a check ---- */

/* How many results have each status: an array of size_t, which is no struct, so each offset is that of an element. */
#define COUNT_OF(name, status)                                                                                         \
	{                                                                                                              \
		.key = (name), .type = MUSTER_FIELD_SIZE, .offset = (status) * sizeof(size_t), .high = INT_MAX         \
	}
static const struct muster_field count_fields[MUSTER_STATUS_COUNT] = {
	COUNT_OF("pass", MUSTER_PASS),
	COUNT_OF("warn", MUSTER_WARN),
	COUNT_OF("fail", MUSTER_FAIL),
	COUNT_OF("skip", MUSTER_SKIP),
	COUNT_OF("inconclusive", MUSTER_INCONCLUSIVE),
	/* earlier versions counted these as "skip" or not at all */
	{ .key = "blocked",
		.type = MUSTER_FIELD_SIZE,
		.offset = MUSTER_BLOCKED * sizeof(size_t),
		.high = INT_MAX,
		.optional = true },
};
const struct muster_object_type muster_counts_type = { .fields = count_fields, .count = MUSTER_STATUS_COUNT };

static const struct muster_field tally_fields[] = {
	{ MUSTER_FIELD(muster_tally, check, TEXT) },
	{ MUSTER_FIELD(muster_tally, title, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_tally, metric, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_tally, probe, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_tally, where, LABELS), .count_offset = offsetof(struct muster_tally, where_count),
		.optional = true },
	{ MUSTER_FIELD(muster_tally, count, OBJECT), .object = &muster_counts_type },
	{ MUSTER_FIELD(muster_tally, skipped, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_tally, blocked_by, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_tally, lowest, NUMBER), .present = offsetof(struct muster_tally, has_numbers),
		.optional = true },
	{ MUSTER_FIELD(muster_tally, highest, NUMBER), .present = offsetof(struct muster_tally, has_numbers),
		.optional = true },
	{ MUSTER_FIELD(muster_tally, value, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_tally, unit, TEXT), .write = write_unit },
	{ MUSTER_FIELD(muster_tally, share, OBJECT), .object = &share_type, .optional = true,
		.present = offsetof(struct muster_tally, share.known) },
	{ MUSTER_FIELD_AS(muster_tally, "min", least, NUMBER), .optional = true,
		.present = offsetof(struct muster_tally, has_least) },
	{ MUSTER_FIELD(muster_tally, warn_below, NUMBER), .optional = true,
		.present = offsetof(struct muster_tally, has_warn_below) },
	{ MUSTER_FIELD_AS(muster_tally, "max", most, NUMBER), .optional = true,
		.present = offsetof(struct muster_tally, has_most) },
	{ MUSTER_FIELD(muster_tally, warn_above, NUMBER), .optional = true,
		.present = offsetof(struct muster_tally, has_warn_above) },
	{ MUSTER_FIELD(muster_tally, share_of, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_tally, expected, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_tally, source, TEXT), .most = SIZE_MAX, .optional = true },
	{ MUSTER_FIELD(muster_tally, certainty, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_tally, proof, NAME), MUSTER_FIELD_NAMES(muster_proof_names), .optional = true },
	{ MUSTER_FIELD_AS(muster_tally, "calibrated", uncalibrated, BOOLEAN), .read = read_calibrated,
		.write = write_calibrated, .optional = true },
	{ MUSTER_FIELD(muster_tally, compares_nodes, BOOLEAN), .optional = true },
};
const struct muster_object_type muster_tally_type = MUSTER_OBJECT_TYPE(muster_tally, tally_fields);

/* One element of "checks". lowest and highest are there both or not at all. They share the flag has_numbers, which one
 * of them sets alone; so NAN marks the one that did not come. */
static int read_check(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_findings_reader *judged = into;
	struct muster_report *report = &judged->report;
	struct muster_tally tally = { .lowest = NAN, .highest = NAN };
	if (muster_object_read(r, json, &muster_tally_type, &tally) < 0)
		return -1;
	if (!isnan(tally.lowest) != !isnan(tally.highest))
		return muster_json_reader_fail(r, "\"lowest\" and \"highest\" are only allowed together");
	if (!tally.has_numbers)
		tally.lowest = tally.highest = 0;
	MUSTER_ARRAY_PUSH(report->tallies, report->tally_count, judged->tally_room, tally);
	return 0;
}

/* ---- the rest ---- */

static int read_verdict(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int verdict = muster_json_name_read(r, json, muster_status_names, MUSTER_STATUS_COUNT);
	if (verdict < 0)
		return -1;
	if (verdict != MUSTER_PASS && verdict != MUSTER_FAIL && verdict != MUSTER_INCONCLUSIVE)
		return muster_json_reader_fail(r, "\"%s\" is not a verdict", muster_status_names[verdict]);
	*(enum muster_status *)into = (enum muster_status)verdict;
	return 0;
}

static const struct muster_field sku_fields[] = {
	{ MUSTER_FIELD_AS(muster_findings_reader, "name", report.sku, TEXT) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "origin", report.sku_origin, TEXT), .most = SIZE_MAX,
		.optional = true },
	{ MUSTER_FIELD_AS(muster_findings_reader, "observe", report.observe, BOOLEAN) },
};
static const struct muster_object_type sku_type = MUSTER_OBJECT_TYPE(muster_findings_reader, sku_fields);

/* The members that are `unread` follow from the run and the findings: only their types are checked. */
static const struct muster_field summary_fields[] = {
	{ MUSTER_FIELD_AS(muster_findings_reader, "nodes", unread, JSON),
		.types = MUSTER_JSON_BIT(MUSTER_JSON_NUMBER) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "ranks", unread, JSON),
		.types = MUSTER_JSON_BIT(MUSTER_JSON_NUMBER) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "domains", report.domains, SIZE), .high = INT_MAX, .optional = true },
	{ MUSTER_FIELD_AS(muster_findings_reader, "missing_ranks", unread, JSON),
		.types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "not_measured", unread, JSON), .optional = true,
		.types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "failed_nodes", unread, JSON),
		.types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "actions", unread, JSON), .optional = true,
		.types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "kinds", unread, JSON), .optional = true,
		.types = MUSTER_JSON_BIT(MUSTER_JSON_ARRAY) },
	{ MUSTER_FIELD_AS(muster_findings_reader, "count", report.count, OBJECT), .object = &muster_counts_type },
};
static const struct muster_object_type summary_type = MUSTER_OBJECT_TYPE(muster_findings_reader, summary_fields);

static const struct muster_field fields[] = {
	{ MUSTER_FIELD_AS(muster_findings_reader, "verdict", report.verdict, NAME), .read = read_verdict },
	{ MUSTER_FIELD_AS(muster_findings_reader, "strict", report.strict, INT), .read = muster_strictness_read },
	{ .key = "sku", .type = MUSTER_FIELD_OBJECT, .object = &sku_type },
	{ .key = "summary", .type = MUSTER_FIELD_OBJECT, .object = &summary_type },
	{ .key = "findings", .read = read_finding, .many = true, .most = SIZE_MAX },
	{ .key = "checks", .read = read_check, .many = true, .most = SIZE_MAX },
};

const struct muster_field *muster_findings_reader_field(const char *key)
{
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

/* "null: WHY" and "METRIC is null" in a text of an older muster become "no value: WHY" and "METRIC has no value". */
static const char *without_null(const char *text, struct muster_arena *arena)
{
	static const char begin[] = "null: ", inside[] = " is null";
	const char *at = text ? strstr(text, inside) : NULL;
	if (at)
		text = muster_arena_printf(
			arena, "%.*s has " MUSTER_NO_VALUE "%s", (int)(at - text), text, at + sizeof inside - 1);
	return text && strncmp(text, begin, sizeof begin - 1) == 0
		       ? muster_arena_printf(arena, MUSTER_NO_VALUE ": %s", text + sizeof begin - 1)
		       : text;
}

/* Reports of an older muster have other words for a missing value, and no index of a GPU, which is then found in the
 * run. The node of the last finding is tried first: findings of a node often stand together. */
static void complete_older(struct muster_report *report, const struct muster_run *run, struct muster_finding *findings)
{
	const struct muster_node *node = NULL;
	for (size_t i = 0; i < report->finding_count; i++) {
		struct muster_finding *finding = &findings[i];
		finding->observed = without_null(finding->observed, report->arena);
		if (!finding->gpu || !finding->node || finding->gpu_index >= 0)
			continue;
		for (size_t n = 0; n < run->node_count && !(node && strcmp(node->name, finding->node) == 0); n++)
			node = &run->nodes[n];
		if (node && strcmp(node->name, finding->node) == 0)
			finding->gpu_index = muster_node_gpu_index(node, finding->gpu);
	}
}

void muster_findings_reader_finish(
	struct muster_findings_reader *judged, const struct muster_run *run, struct muster_report *ret)
{
	struct muster_report *report = &judged->report;
	struct muster_finding *findings =
		muster_arena_alloc(report->arena, (report->finding_count + 1) * sizeof *findings);
	struct muster_tally *tallies = muster_arena_alloc(report->arena, (report->tally_count + 1) * sizeof *tallies);
	if (report->finding_count)
		memcpy(findings, report->findings, report->finding_count * sizeof *findings);
	if (report->tally_count)
		memcpy(tallies, report->tallies, report->tally_count * sizeof *tallies);
	complete_older(report, run, findings);
	free(report->findings);
	free(report->tallies);
	report->findings = findings;
	report->tallies = tallies;
	report->run = run;
	*ret = *report;
	*judged = (struct muster_findings_reader){ 0 };
}

void muster_findings_reader_done(struct muster_findings_reader *judged)
{
	free(judged->report.findings);
	free(judged->report.tallies);
	muster_arena_free(judged->report.arena);
	*judged = (struct muster_findings_reader){ 0 };
}

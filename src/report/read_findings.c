/* read_findings.c - how a saved run was judged, from its JSON
 *
 * Input from outside, read as strictly as the run is. Nothing is judged again: the expectations of then, and the site's
 * overlay, need not be here.
 */
#include "report/read_findings.h"

#include "muster/arena.h"
#include "model/limits.h"
#include "util/array.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void muster_findings_reader_init(struct muster_findings_reader *judged)
{
	*judged = (struct muster_findings_reader){ .report = { .arena = muster_arena_new() } };
}

static int read_status(const struct muster_json *json, const struct muster_json_path *at, enum muster_status *ret,
	struct muster_error *err)
{
	for (enum muster_status status = 0; status < MUSTER_STATUS_COUNT; status++) {
		if (strcmp(muster_json_string(json), muster_status_name(status)) == 0) {
			*ret = status;
			return 0;
		}
	}
	return place_fail(
		at, err, "\"%.100s\" is none of pass, warn, fail, skip, inconclusive", muster_json_string(json));
}

static int read_labels(struct muster_arena *arena, const struct muster_json *json, const struct muster_json_path *at,
	const struct muster_label **ret, size_t *ret_count, struct muster_error *err)
{
	size_t count = json ? muster_json_size(json) : 0;
	if (count > MUSTER_LABELS_MAX)
		return place_fail(at, err, "%zu labels, at most %d are allowed", count, MUSTER_LABELS_MAX);
	struct muster_label *labels = count ? muster_arena_alloc(arena, count * sizeof *labels) : NULL;
	const struct muster_json *member = count ? muster_json_first(json) : NULL;
	for (size_t i = 0; i < count; i++, member = muster_json_next(member)) {
		const struct muster_json_path here = { .up = at, .key = muster_json_key(member) };
		if (muster_json_field_check(member, &here, FIELD_STRING | FIELD_NUMBER, err) < 0)
			return -1;
		labels[i] = (struct muster_label){
			.key = muster_arena_string(arena, muster_json_key(member)),
			.value = muster_json_field_value(arena, member),
		};
	}
	*ret = labels;
	*ret_count = count;
	return 0;
}

static int read_where(struct muster_arena *arena, const struct muster_json *json, const struct muster_json_path *up,
	struct muster_finding *finding, struct muster_error *err)
{
	enum { NODE, RANK, GPU, PORT, LABELS, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[NODE] = { "node", FIELD_STRING, false },
		[RANK] = { "rank", FIELD_NUMBER, false },
		[GPU] = { "gpu", FIELD_STRING, false },
		[PORT] = { "port", FIELD_STRING, false },
		[LABELS] = { "labels", FIELD_OBJECT, false },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path at = { .up = up, .key = "where" }, rank_at = { .up = &at, .key = "rank" },
				      labels_at = { .up = &at, .key = "labels" };
	finding->rank = -1;
	if (muster_json_fields_read(json, &at, fields, COUNT, part, err) < 0 ||
		(part[RANK] && muster_json_field_int(
				       part[RANK], &rank_at, 0, MUSTER_RUN_RANKS_MAX - 1, &finding->rank, err) < 0) ||
		read_labels(arena, part[LABELS], &labels_at, &finding->labels, &finding->label_count, err) < 0)
		return -1;
	finding->node = muster_json_field_text(arena, part[NODE]);
	finding->gpu = muster_json_field_text(arena, part[GPU]);
	finding->port = muster_json_field_text(arena, part[PORT]);
	return 0;
}

static int read_unjudged(struct muster_arena *arena, const struct muster_json *json, const struct muster_json_path *up,
	struct muster_finding *finding, struct muster_error *err)
{
	const struct muster_json_path all = { .up = up, .key = "unjudged" };
	struct muster_json_path here = { .up = &all };
	size_t count = json ? muster_json_size(json) : 0;
	if (count == 0)
		return 0;
	finding->unjudged = muster_arena_alloc(arena, count * sizeof *finding->unjudged);
	finding->unjudged_count = count;
	for (json = muster_json_first(json); json; json = muster_json_next(json), here.index++) {
		if (muster_json_field_check(json, &here, FIELD_STRING, err) < 0)
			return -1;
		finding->unjudged[here.index] = muster_json_field_text(arena, json);
	}
	return 0;
}

int muster_findings_reader_finding(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum {
		CHECK,
		STATUS,
		WHERE,
		METRIC,
		EXPECTED,
		OBSERVED,
		VALUE,
		UNIT,
		ADVICE,
		SOURCE,
		CERTAINTY,
		CALIBRATED,
		UNJUDGED,
		COUNT
	};
	static const struct muster_json_field fields[COUNT] = {
		[CHECK] = { "check", FIELD_STRING, true },
		[STATUS] = { "status", FIELD_STRING, true },
		[WHERE] = { "where", FIELD_OBJECT, true },
		[METRIC] = { "metric", FIELD_STRING, false },
		[EXPECTED] = { "expected", FIELD_STRING | FIELD_LONG, false },
		[OBSERVED] = { "observed", FIELD_STRING | FIELD_LONG, false },
		[VALUE] = { "value", FIELD_SCALAR, true },
		[UNIT] = { "unit", FIELD_STRING, true },
		[ADVICE] = { "advice", FIELD_STRING | FIELD_LONG, false },
		[SOURCE] = { "source", FIELD_STRING | FIELD_LONG, false },
		[CERTAINTY] = { "certainty", FIELD_STRING, false },
		[CALIBRATED] = { "calibrated", FIELD_BOOLEAN, false },
		[UNJUDGED] = { "unjudged", FIELD_ARRAY, false },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path status_at = { .up = at, .key = "status" };
	struct muster_report *report = &judged->report;
	struct muster_arena *arena = report->arena;
	struct muster_finding finding = { 0 };
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0 ||
		read_status(part[STATUS], &status_at, &finding.status, err) < 0 ||
		read_where(arena, part[WHERE], at, &finding, err) < 0 ||
		read_unjudged(arena, part[UNJUDGED], at, &finding, err) < 0)
		return -1;
	finding.check = muster_json_field_text(arena, part[CHECK]);
	finding.metric = muster_json_field_text(arena, part[METRIC]);
	finding.expected = muster_json_field_text(arena, part[EXPECTED]);
	finding.observed = muster_json_field_text(arena, part[OBSERVED]);
	finding.value = muster_json_field_value(arena, part[VALUE]);
	finding.unit = muster_json_field_text(arena, part[UNIT]);
	finding.advice = muster_json_field_text(arena, part[ADVICE]);
	finding.source = muster_json_field_text(arena, part[SOURCE]);
	finding.certainty = muster_json_field_text(arena, part[CERTAINTY]);
	finding.uncalibrated = part[CALIBRATED] && !muster_json_boolean(part[CALIBRATED]);
	MUSTER_ARRAY_PUSH(report->findings, report->finding_count, judged->finding_room, finding);
	return 0;
}

static int read_counts(const struct muster_json *json, const struct muster_json_path *up,
	size_t ret[MUSTER_STATUS_COUNT], struct muster_error *err)
{
	static const struct muster_json_field fields[MUSTER_STATUS_COUNT] = {
		[MUSTER_PASS] = { "pass", FIELD_NUMBER, true },
		[MUSTER_WARN] = { "warn", FIELD_NUMBER, true },
		[MUSTER_FAIL] = { "fail", FIELD_NUMBER, true },
		[MUSTER_SKIP] = { "skip", FIELD_NUMBER, true },
		[MUSTER_INCONCLUSIVE] = { "inconclusive", FIELD_NUMBER, true },
	};
	const struct muster_json *part[MUSTER_STATUS_COUNT];
	const struct muster_json_path at = { .up = up, .key = "count" };
	if (muster_json_fields_read(json, &at, fields, MUSTER_STATUS_COUNT, part, err) < 0)
		return -1;
	for (size_t i = 0; i < MUSTER_STATUS_COUNT; i++) {
		const struct muster_json_path here = { .up = &at, .key = fields[i].key };
		int count;
		if (muster_json_field_int(part[i], &here, 0, INT_MAX, &count, err) < 0)
			return -1;
		ret[i] = (size_t)count;
	}
	return 0;
}

int muster_findings_reader_check(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum {
		CHECK,
		METRIC,
		PROBE,
		WHERE,
		COUNTS,
		SKIPPED,
		LOWEST,
		HIGHEST,
		VALUE,
		UNIT,
		EXPECTED,
		SOURCE,
		CERTAINTY,
		CALIBRATED,
		COUNT
	};
	static const struct muster_json_field fields[COUNT] = {
		[CHECK] = { "check", FIELD_STRING, true },
		[METRIC] = { "metric", FIELD_STRING, false },
		[PROBE] = { "probe", FIELD_STRING, false },
		[WHERE] = { "where", FIELD_OBJECT, false },
		[COUNTS] = { "count", FIELD_OBJECT, true },
		[SKIPPED] = { "skipped", FIELD_STRING | FIELD_LONG, false },
		[LOWEST] = { "lowest", FIELD_NUMBER, false },
		[HIGHEST] = { "highest", FIELD_NUMBER, false },
		[VALUE] = { "value", FIELD_STRING | FIELD_LONG, false },
		[UNIT] = { "unit", FIELD_STRING, true },
		[EXPECTED] = { "expected", FIELD_STRING | FIELD_LONG, false },
		[SOURCE] = { "source", FIELD_STRING | FIELD_LONG, false },
		[CERTAINTY] = { "certainty", FIELD_STRING, false },
		[CALIBRATED] = { "calibrated", FIELD_BOOLEAN, false },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path where_at = { .up = at, .key = "where" };
	struct muster_report *report = &judged->report;
	struct muster_arena *arena = report->arena;
	struct muster_tally tally = { 0 };
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0 ||
		read_labels(arena, part[WHERE], &where_at, &tally.where, &tally.where_count, err) < 0 ||
		read_counts(part[COUNTS], at, tally.count, err) < 0)
		return -1;
	if (!part[LOWEST] != !part[HIGHEST])
		return place_fail(at, err, "\"lowest\" and \"highest\" come together");
	tally.check = muster_json_field_text(arena, part[CHECK]);
	tally.metric = muster_json_field_text(arena, part[METRIC]);
	tally.probe = muster_json_field_text(arena, part[PROBE]);
	tally.skipped = muster_json_field_text(arena, part[SKIPPED]);
	tally.has_numbers = part[LOWEST] != NULL;
	tally.lowest = part[LOWEST] ? muster_json_number(part[LOWEST]) : 0;
	tally.highest = part[HIGHEST] ? muster_json_number(part[HIGHEST]) : 0;
	tally.value = muster_json_field_text(arena, part[VALUE]);
	tally.unit = muster_json_field_text(arena, part[UNIT]);
	tally.expected = muster_json_field_text(arena, part[EXPECTED]);
	tally.source = muster_json_field_text(arena, part[SOURCE]);
	tally.certainty = muster_json_field_text(arena, part[CERTAINTY]);
	tally.uncalibrated = part[CALIBRATED] && !muster_json_boolean(part[CALIBRATED]);
	MUSTER_ARRAY_PUSH(report->tallies, report->tally_count, judged->tally_room, tally);
	return 0;
}

static int read_sku(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum { NAME, ORIGIN, OBSERVE, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[NAME] = { "name", FIELD_STRING, true },
		[ORIGIN] = { "origin", FIELD_STRING | FIELD_LONG, false },
		[OBSERVE] = { "observe", FIELD_BOOLEAN, true },
	};
	const struct muster_json *part[COUNT];
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0)
		return -1;
	judged->report.sku = muster_json_field_text(judged->report.arena, part[NAME]);
	judged->report.sku_origin = muster_json_field_text(judged->report.arena, part[ORIGIN]);
	judged->report.observe = muster_json_boolean(part[OBSERVE]);
	return 0;
}

/* Nodes, ranks, missing ranks and failed nodes are counted from the rest. */
static int read_summary(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum { NODES, RANKS, DOMAINS, MISSING, FAILED, COUNTS, COUNT };
	static const struct muster_json_field fields[COUNT] = {
		[NODES] = { "nodes", FIELD_NUMBER, true },
		[RANKS] = { "ranks", FIELD_NUMBER, true },
		[DOMAINS] = { "domains", FIELD_NUMBER, false },
		[MISSING] = { "missing_ranks", FIELD_ARRAY, true },
		[FAILED] = { "failed_nodes", FIELD_ARRAY, true },
		[COUNTS] = { "count", FIELD_OBJECT, true },
	};
	const struct muster_json *part[COUNT];
	const struct muster_json_path domains_at = { .up = at, .key = "domains" };
	int domains = 0;
	if (muster_json_fields_read(json, at, fields, COUNT, part, err) < 0 ||
		read_counts(part[COUNTS], at, judged->report.count, err) < 0 ||
		(part[DOMAINS] && muster_json_field_int(part[DOMAINS], &domains_at, 0, INT_MAX, &domains, err) < 0))
		return -1;
	judged->report.domains = (size_t)domains;
	return 0;
}

static int read_verdict(struct muster_findings_reader *judged, const struct muster_json *json,
	const struct muster_json_path *at, struct muster_error *err)
{
	enum muster_status verdict;
	if (read_status(json, at, &verdict, err) < 0)
		return -1;
	if (verdict != MUSTER_PASS && verdict != MUSTER_FAIL && verdict != MUSTER_INCONCLUSIVE)
		return place_fail(at, err, "\"%s\" is no verdict", muster_status_name(verdict));
	judged->report.verdict = verdict;
	return 0;
}

int muster_findings_reader_member(struct muster_findings_reader *judged, const char *key,
	const struct muster_json *json, const struct muster_json_path *at, struct muster_error *err)
{
	if (strcmp(key, "verdict") == 0)
		return read_verdict(judged, json, at, err);
	if (strcmp(key, "sku") == 0)
		return read_sku(judged, json, at, err);
	if (strcmp(key, "summary") == 0)
		return read_summary(judged, json, at, err);
	if (strcmp(key, "strict") == 0)
		judged->report.strict = muster_json_boolean(json);
	return 0;
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

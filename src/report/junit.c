/* SPDX-License-Identifier: Apache-2.0 */
/* junit.c - a report as JUnit XML, for CI servers
 *
 * A suite is a node, or "job" for what is about the whole run and for ranks whose node is not known. A case is a check
 * or, on a node, a probe ("probe.gpu_copy", with its time). muster_report_print_junit() sorts the findings, fills the
 * suites and prints them; a case only borrows its part of the sorted findings.
 *
 * A report keeps findings and how often each check passed, not every pass: a check that passed somewhere and has no
 * finding on a node passed there. The case of a check in a suite, by the first rule that holds (add_check):
 *
 * 1. There are findings of the check at the place: the worst decides (found_case). fail: failure; inconclusive: error;
 *    warn: passed, with the warning as output, or a failure in a strict run; skip and blocked: skipped.
 * 2. The check is for other runs: no case.
 * 3. The check has its case in the other kind of suite: no case. A check of a metric of the job is in "job".
 * 4. A finding blocks the check here (block_text): skipped.
 * 5. On a node: the check has a finding about the whole job: skipped.
 * 6. The check passed nowhere: skipped.
 * 7. Else passed.
 *
 * Everything that a machine gave is first made printable and then escaped.
 */
#include "muster/report.h"

#include "model/share.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "report/kinds.h"
#include "report/text_summary.h"
#include "report/print_escaped.h"
#include "report/verdict.h"
#include "util/array.h"
#include "util/version.h"

#include <stdlib.h>
#include <string.h>

enum outcome { OUTCOME_SKIPPED = 0, OUTCOME_PASSED, OUTCOME_ERROR, OUTCOME_FAILED, OUTCOME_COUNT }; /* the worst last */

struct test_case {
	const char *group; /* the probe */
	const char *name;  /* the check's id */
	enum outcome outcome;
	const char *why;                              /* skipped: why; passed: a remark; NULL when there is none */
	const struct muster_finding *const *findings; /* of this check here */
	size_t finding_count;
	double seconds; /* of a probe */
};

struct suite {
	const char *node; /* NULL: the job */
	struct test_case *cases;
	size_t count, room;
	size_t tally[OUTCOME_COUNT];
	double seconds;    /* of all cases: those of probes */
	size_t first, end; /* findings of this place: from results.findings[first] to before [end] */
};

struct results {
	const struct muster_report *report;
	FILE *out;
	const struct muster_finding **findings; /* by node, check and status, those of the job first */
	size_t finding_count;
	size_t job_end; /* the findings before this index are those of the job */
};

/* ---- XML ---- */

/* Text as content, or in a quoted attribute. XML 1.0 forbids U+FFFE and U+FFFF even as references: both, EF BF BE and
 * EF BF BF in UTF-8, become U+FFFD, EF BF BD. What else XML forbids are controls, which muster_escaped() has spelled
 * out. */
static void put_text(FILE *out, const char *text)
{
	char *safe = muster_escaped(text ? text : "");
	for (const char *at = safe; *at; at++) {
		bool forbidden = strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
		switch (*at) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*at, out);
		}
		if (forbidden) {
			fputs("\xbf\xbd", out); /* U+FFFD */
			at += 2;
		}
	}
	free(safe);
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	put_text(out, value);
	fputc('"', out);
}

static void put_property(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fputs("      <property", out);
	put_attribute(out, "name", name);
	put_attribute(out, "value", value);
	fputs("/>\n", out);
}

/* ---- which findings are whose ---- */

/* The node that the finding names; NULL: the finding is the job's, and so is that of a rank on the unknown node "?". */
static const char *node_of(const struct muster_finding *finding)
{
	return finding->node && strcmp(finding->node, "?") != 0 ? finding->node : NULL;
}

/* Findings stand by their node, those of the job first, and by their check. */
static int place_order(const struct muster_finding *finding, const char *node, const char *check)
{
	int order = muster_text_order(node_of(finding), node);
	return order ? order : strcmp(finding->check, check);
}

static int by_place(const void *a, const void *b)
{
	const struct muster_finding *x = *(const struct muster_finding *const *)a;
	const struct muster_finding *y = *(const struct muster_finding *const *)b;
	int order = place_order(x, node_of(y), y->check);
	return order ? order : (x > y) - (x < y); /* the report's order: worst first */
}

/* The findings of a check at a node, or, with node NULL, of the job: returns how many there are. *ret_first is where
 * they begin, or would begin. */
static size_t find(const struct results *all, const char *node, const char *check, size_t *ret_first)
{
	size_t low = 0, high = all->finding_count, count = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (place_order(all->findings[middle], node, check) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < all->finding_count && place_order(all->findings[low + count], node, check) == 0)
		count++;
	*ret_first = low;
	return count;
}

/* A finding of the range that has blocked the check. */
static const struct muster_finding *blocked_by(const struct results *all, size_t first, size_t end, const char *check)
{
	for (size_t i = first; i < end; i++) {
		const struct muster_finding *finding = all->findings[i];
		for (size_t j = 0; j < finding->blocked_count; j++)
			if (strcmp(finding->blocked[j], check) == 0)
				return finding;
	}
	return NULL;
}

/* The check's probe did not end well here: what blocks the check may then be on another node of the same all-reduce. */
static bool has_probe_finding(const struct results *all, const struct suite *suite, const struct muster_tally *tally)
{
	char check[128];
	size_t first;
	snprintf(check, sizeof check, "probe.%s", tally->probe ? tally->probe : "");
	return find(all, suite->node, check, &first) > 0;
}

/* Why a check is not evaluated at a place, or not everywhere there; NULL when no finding blocks it. The place's own
 * findings come first, then those of the job. What blocks a check of the job may be on any node. */
static const char *block_text(const struct results *all, const struct suite *suite, const struct muster_tally *tally)
{
	struct muster_arena *arena = all->report->arena;
	const struct muster_finding *why = blocked_by(all, suite->first, suite->end, tally->check);
	if (!why)
		why = blocked_by(all, 0, all->job_end, tally->check);
	if (why && why->status == MUSTER_SKIP)
		return why->observed;
	if (why)
		return muster_arena_printf(
			arena, "blocked by %s%s%s", why->check, why->node ? " on " : "", why->node ? why->node : "");
	bool here = !suite->node || tally->count[MUSTER_PASS] == 0 || has_probe_finding(all, suite, tally);
	return here && tally->blocked_by ? muster_arena_printf(arena, "blocked by %s", tally->blocked_by) : NULL;
}

/* What a finding makes of its case. Of warnings, only those that fail the strict run are failures. */
static enum outcome outcome_of(const struct results *all, const struct muster_finding *finding)
{
	static const enum outcome outcomes[MUSTER_STATUS_COUNT] = {
		[MUSTER_PASS] = OUTCOME_PASSED,
		[MUSTER_WARN] = OUTCOME_PASSED,
		[MUSTER_FAIL] = OUTCOME_FAILED,
		[MUSTER_SKIP] = OUTCOME_SKIPPED,
		[MUSTER_INCONCLUSIVE] = OUTCOME_ERROR,
		[MUSTER_BLOCKED] = OUTCOME_SKIPPED,
	};
	return finding->status == MUSTER_WARN && muster_finding_fails(finding, all->report->strict)
		       ? OUTCOME_FAILED
		       : outcomes[finding->status];
}

/* ---- suites ---- */

static void add(struct suite *suite, struct test_case one)
{
	MUSTER_ARRAY_PUSH(suite->cases, suite->count, suite->room, one);
	suite->tally[one.outcome]++;
	suite->seconds += one.seconds;
}

/* A case with `count` findings from results.findings[first] on, all of one check and place: the worst outcome decides.
 */
static struct test_case found_case(const struct results *all, const char *group, size_t first, size_t count)
{
	struct test_case one = {
		.group = group,
		.name = all->findings[first]->check,
		.outcome = OUTCOME_SKIPPED,
		.findings = &all->findings[first],
		.finding_count = count,
	};
	for (size_t i = first; i < first + count; i++) {
		enum outcome outcome = outcome_of(all, all->findings[i]);
		if (outcome > one.outcome)
			one.outcome = outcome;
	}
	if (one.outcome == OUTCOME_SKIPPED)
		one.why = all->findings[first]->observed;
	return one;
}

/* Whether the check is about the whole run; also one whose metric this muster does not know. */
static bool is_of_job(const struct muster_tally *tally)
{
	const struct muster_metric *metric = tally->metric ? muster_metric_find(tally->metric) : NULL;
	return !metric || metric->scope == MUSTER_SCOPE_JOB;
}

/* The case of a check in this suite, or none: the rules at the top of this file. */
static void add_check(const struct results *all, struct suite *suite, const struct muster_tally *tally)
{
	const char *group = tally->probe ? tally->probe : "muster";
	struct test_case one = { .group = group, .name = tally->check, .outcome = OUTCOME_PASSED };
	size_t first, count = find(all, suite->node, tally->check, &first);
	bool at_job = !suite->node;
	if (count > 0) {
		add(suite, found_case(all, group, first, count));
		return;
	}
	if (tally->skipped)
		return; /* it is for other runs: more than a hundred such cases would bury the others */
	if (is_of_job(tally) != at_job)
		return; /* it has its case in the other kind of suite */
	const char *why = block_text(all, suite, tally);
	bool of_job =
		!at_job && find(all, NULL, tally->check, &first) > 0 && all->findings[first]->status != MUSTER_SKIP;
	if (why || of_job || tally->count[MUSTER_PASS] == 0) {
		one.outcome = OUTCOME_SKIPPED;
		one.why = why      ? why
			  : of_job ? "evaluated for the whole job, see test suite job"
				   : "not evaluated: no value, or a previous check failed";
	}
	add(suite, one);
}

/* The case of a probe on a node; none where no rank ran the probe and no finding is about it. Its time is that of the
 * slowest rank. */
static void add_probe(const struct results *all, struct suite *suite, const struct muster_node *node, const char *probe)
{
	bool ran = false;
	double slowest = 0;
	char check[128];
	size_t first, count;
	for (size_t i = 0; i < node->rank_count; i++) {
		const struct muster_outcome *outcome = muster_outcomes_find(&node->ranks[i].outcomes, probe);
		ran = ran || outcome;
		if (outcome && outcome->elapsed_ms > slowest)
			slowest = outcome->elapsed_ms;
	}
	snprintf(check, sizeof check, "probe.%s", probe);
	count = find(all, suite->node, check, &first);
	if (!ran && count == 0)
		return;
	struct test_case one = { .group = probe, .name = check, .outcome = OUTCOME_PASSED };
	if (count > 0)
		one = found_case(all, probe, first, count);
	else
		one.name = muster_arena_string(all->report->arena, check);
	one.seconds = slowest / 1e3;
	add(suite, one);
}

static bool is_probe(const char *check)
{
	return strncmp(check, "probe.", 6) == 0 && muster_probe_find(check + 6);
}

/* Findings that are of no check of the expectations: ranks that are missing, suspects of the ring, an unknown machine.
 */
static void add_others(const struct results *all, struct suite *suite)
{
	for (size_t i = suite->first, count; i < suite->end; i += count) {
		const struct muster_finding *finding = all->findings[i];
		size_t first;
		count = find(all, node_of(finding), finding->check, &first);
		if (!muster_report_tally(all->report, finding->check) && !(suite->node && is_probe(finding->check)))
			add(suite, found_case(all, "muster", first, count));
	}
}

/* Fill the suite of the node, or, with node NULL, of the job: probes, checks, then what is of neither. A node without
 * ranks, or of which no rank sent anything, has no cases of checks without a finding: that a check passed elsewhere
 * says nothing of this node. */
static void suite_fill(const struct results *all, struct suite *suite, const struct muster_node *node)
{
	size_t missing = 0;
	(void)find(all, suite->node, "", &suite->first); /* before all checks */
	suite->end = suite->first;
	while (suite->end < all->finding_count &&
		muster_text_order(node_of(all->findings[suite->end]), suite->node) == 0)
		suite->end++;
	for (size_t i = 0; node && i < node->rank_count; i++)
		missing += node->ranks[i].missing != NULL;
	for (size_t i = 0; node && i < muster_probe_count(); i++)
		add_probe(all, suite, node, muster_probe_at(i)->name);
	for (size_t i = 0; i < all->report->tally_count && !(node && missing == node->rank_count); i++)
		add_check(all, suite, &all->report->tallies[i]);
	add_others(all, suite);
}

/* ---- printing ---- */

/* The attribute message='expected at least 21 GB/s, observed 11.2 GB/s (and 2 more)'. count: findings of the case. */
static void put_message(FILE *out, const struct muster_finding *finding, size_t count)
{
	char *observed = muster_finding_observed(finding);
	char *text = muster_asprintf("%s%s%sobserved %s", finding->expected ? "expected " : "",
		finding->expected ? finding->expected : "", finding->expected ? ", " : "",
		*observed ? observed : "nothing");
	free(observed);
	fputs(" message=\"", out);
	put_text(out, text);
	free(text);
	if (count > 1)
		fprintf(out, " (and %zu more)", count - 1);
	fputc('"', out);
}

static void put_line(FILE *out, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(out, "  %-9s ", name);
	put_text(out, text);
	fputc('\n', out);
}

/* Where, and all that is known: what a person reads in the server's page. */
static void put_body(FILE *out, const struct muster_finding *finding)
{
	char *where = muster_text_where(finding);
	put_text(out, where);
	fputc('\n', out);
	free(where);
	put_line(out, "expected", finding->expected);
	char *observed = muster_finding_observed(finding);
	put_line(out, "observed", observed);
	free(observed);
	put_line(out, "evidence", finding->evidence);
	char *action = muster_finding_action(finding);
	put_line(out, "action", action);
	free(action);
	put_line(out, "source", finding->source);
}

/* A case without findings that passed is one empty element. The message is of the first finding, which is the worst,
 * and the body has all of them. */
static void put_case(const struct suite *suite, const struct test_case *one, FILE *out)
{
	static const char *const elements[] = { [OUTCOME_FAILED] = "failure", [OUTCOME_ERROR] = "error" };
	fputs("    <testcase classname=\"", out);
	put_text(out, suite->node ? suite->node : "job");
	fputc('.', out);
	put_text(out, one->group);
	fputc('"', out);
	put_attribute(out, "name", one->name);
	fprintf(out, " time=\"%.3f\"", one->seconds);
	if (one->outcome == OUTCOME_PASSED && one->finding_count == 0) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n", out);
	if (one->outcome == OUTCOME_SKIPPED) {
		fputs("      <skipped", out);
		put_attribute(out, "message", one->why);
		fputs("/>\n", out);
	} else {
		const char *element = one->outcome == OUTCOME_PASSED ? "system-out" : elements[one->outcome];
		fprintf(out, "      <%s", element);
		if (one->outcome != OUTCOME_PASSED) {
			put_message(out, one->findings[0], one->finding_count);
			put_attribute(out, "type", muster_status_name(one->findings[0]->status));
		}
		fputs(one->outcome == OUTCOME_PASSED ? ">warning\n" : ">", out);
		for (size_t i = 0; i < one->finding_count; i++)
			put_body(out, one->findings[i]);
		fprintf(out, "</%s>\n", element);
	}
	fputs("    </testcase>\n", out);
}

static void put_counts(FILE *out, const size_t tally[OUTCOME_COUNT], double seconds)
{
	size_t all = 0;
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		all += tally[i];
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" time=\"%.3f\"", all, tally[OUTCOME_FAILED],
		tally[OUTCOME_ERROR], seconds);
}

/* "kind.copy.h2d" is "FAIL 8 nodes gpu-[1-8] replace-node". */
static void put_kinds(const struct muster_report *report, FILE *out)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_kinds kinds;
	muster_kinds_find(report, arena, &kinds);
	for (const struct muster_kind *kind = kinds.items; kind < kinds.items + kinds.count; kind++) {
		char nodes[64];
		put_property(out, muster_arena_printf(arena, "kind.%s", kind->check),
			muster_arena_printf(arena, "%s %s%s%s%s%s", muster_text_mark(kind->status),
				kind->node_count ? muster_text_plural(nodes, kind->node_count, "node") : "whole job",
				kind->node_list ? " " : "", kind->node_list ? kind->node_list : "",
				kind->action_code ? " " : "", kind->action_code ? kind->action_code : ""));
	}
	muster_arena_free(arena);
}

/* The nodes that failed, as Slurm's --exclude takes them. */
static void put_excluded(const struct muster_report *report, FILE *out)
{
	struct muster_failed failed;
	put_property(out, "exclude", muster_failed_find(report, &failed) ? failed.list : NULL);
	muster_failed_done(&failed);
}

/* How many checks have no case, because they are for other runs. */
static void put_left_out(const struct muster_report *report, FILE *out)
{
	char text[64];
	size_t count = 0;
	for (size_t i = 0; i < report->tally_count; i++)
		count += report->tallies[i].skipped != NULL;
	put_property(out, "not_for_this_run", count ? muster_text_plural(text, count, "check") : NULL);
}

static void put_suite(const struct results *all, const struct suite *suite, size_t id)
{
	const struct muster_report *report = all->report;
	const struct muster_job *job = &report->run->job;
	FILE *out = all->out;
	char started[20];
	fputs("  <testsuite", out);
	put_attribute(out, "name", suite->node ? suite->node : "job");
	fprintf(out, " id=\"%zu\"", id);
	put_counts(out, suite->tally, suite->seconds);
	fprintf(out, " skipped=\"%zu\"", suite->tally[OUTCOME_SKIPPED]);
	if (job->started) { /* without its zone, UTC, as readers of the format expect it */
		snprintf(started, sizeof started, "%s", job->started);
		put_attribute(out, "timestamp", started);
	}
	if (suite->node)
		put_attribute(out, "hostname", suite->node);
	fputs(">\n    <properties>\n", out);
	put_property(out, "muster", muster_version);
	put_property(out, "sku", report->sku);
	put_property(out, "verdict", muster_status_name(report->verdict));
	put_property(out, "strict", report->strict ? "true" : "false");
	put_property(out, "simulated", job->simulated ? "true" : "false");
	put_property(out, "profile", job->profile);
	put_property(out, "job", job->id);
	if (!suite->node) {
		put_kinds(report, out);
		put_excluded(report, out);
		put_left_out(report, out);
	}
	fputs("    </properties>\n", out);
	for (size_t i = 0; i < suite->count; i++)
		put_case(suite, &suite->cases[i], out);
	fputs("  </testsuite>\n", out);
}

void muster_report_print_junit(const struct muster_report *report, FILE *out)
{
	const struct muster_run *run = report->run;
	struct results all = { .report = report, .out = out };
	struct suite *suites = muster_calloc(run->node_count + 1, sizeof *suites);
	size_t tally[OUTCOME_COUNT] = { 0 }, count = 0;
	all.findings = muster_calloc(report->finding_count + 1, sizeof *all.findings);
	for (size_t i = 0; i < report->finding_count; i++)
		if (report->findings[i].status != MUSTER_PASS)
			all.findings[all.finding_count++] = &report->findings[i];
	qsort(all.findings, all.finding_count, sizeof *all.findings, by_place);
	while (all.job_end < all.finding_count && !node_of(all.findings[all.job_end]))
		all.job_end++;
	suite_fill(&all, &suites[count++], NULL);
	for (size_t i = 0; i < run->node_count; i++) {
		const struct muster_node *node = &run->nodes[i];
		if (strcmp(node->name, "?") == 0)
			continue; /* the job's */
		suites[count] = (struct suite){ .node = node->name };
		suite_fill(&all, &suites[count++], node);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < OUTCOME_COUNT; j++)
			tally[j] += suites[i].tally[j];
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	put_attribute(out, "name", run->job.simulated ? "muster (simulated)" : "muster");
	put_counts(out, tally, run->job.elapsed_s);
	fputs(">\n", out);
	for (size_t i = 0; i < count; i++) {
		put_suite(&all, &suites[i], i);
		free(suites[i].cases);
	}
	fputs("</testsuites>\n", out);
	free(suites);
	free(all.findings);
}

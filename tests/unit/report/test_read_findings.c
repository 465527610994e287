/* test_read_findings.c - how a run was judged comes back from its file as it was written */
#include "muster/report.h"

#include "report_fixture.h"

#include "check_main.h"
#include <stdlib.h>
#include <unistd.h>

static char *text_of(const struct muster_report *report)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	ck_assert_int_eq(muster_report_print_json(report, out, NULL), 0);
	fclose(out);
	return text;
}

static char path[64];

static void put(const char *text)
{
	snprintf(path, sizeof path, "/tmp/muster-judged-XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	FILE *out = fdopen(fd, "w");
	fputs(text, out);
	fclose(out);
}

static char *fixture_text(enum muster_status verdict, bool strict)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	fixture_report(&report, &run);
	report.verdict = verdict;
	report.strict = strict;
	char *text = text_of(&report);
	muster_run_done(&run);
	return text;
}

/* fixture_run puts texts into a report that the writer escapes: what is read back is escaped once and for all. */
TEST_LOOP(a_report_that_was_read_is_written_again_to_the_last_byte, 0, 3)
{
	static const enum muster_status verdicts[] = { MUSTER_PASS, MUSTER_FAIL, MUSTER_INCONCLUSIVE };
	struct muster_report report;
	struct muster_run run;
	struct muster_error err;
	char *text = fixture_text(verdicts[_i], _i == 1);
	put(text);
	ck_assert_msg(muster_report_load(path, &run, &report, &err) == 0, "%s", err.text);
	unlink(path);
	char *again = text_of(&report);
	ck_assert_str_eq(text, again);
	ck_assert_int_eq(report.verdict, verdicts[_i]);
	muster_report_done(&report);
	muster_run_done(&run);
	free(text);
	free(again);
}

/* What to put in the place of what, and what the message then says. */
static const struct {
	const char *what, *with, *said;
} broken[] = {
	{ "\"status\": \"warn\"", "\"status\": \"bad\"",
		"$.findings[3].status: one of pass, warn, fail, skip, inconclusive, blocked is needed, found \"bad\"" },
	{ "\"status\": \"warn\"", "\"status\": 4",
		"$.findings[3].status: one of pass, warn, fail, skip, inconclusive, blocked is needed, found 4" },
	{ "\"rank\": 4, \"gpu\"", "\"rank\": -2, \"gpu\"", "$.findings[1].where.rank" },
	{ "\"rank\": 4, \"gpu\"", "\"rank\": 4, \"xpu\"",
		"$.findings[1].where.xpu: unknown key; did you mean \"gpu\"? Allowed are node, rank, gpu, port, "
		"labels" },
	{ "\"verdict\": \"fail\"", "\"verdict\": \"warn\"", "$.verdict: \"warn\" is not a verdict" },
	{ "\"observe\": false", "\"observe\": 0", "$.sku.observe" },
	{ "\"lowest\": 11.2,", "", "$.checks[0]: \"lowest\" and \"highest\" are only allowed together" },
	{ "\"blocked\": [\"copy.h2d\", \"copy.d2h\"]", "\"blocked\": [7]", "$.findings[0].blocked[0]" },
	{ "\"domains\": 2", "\"domains\": -2", "$.summary.domains" },
	{ "\"count\": {\"pass\": 43", "\"count\": {\"pass\": -43", "$.summary.count.pass" },
	{ "\"bytes\": 8589934592", "\"bytes\": [8589934592]", "$.findings[4].where.labels.bytes" },
	{ "\"verdict\": \"fail\",", "", "the key \"verdict\" is missing: this run has not been evaluated yet" },
};

TEST_EACH(what_is_no_judgement_is_refused_with_its_place, broken)
{
	struct muster_report report;
	struct muster_run run;
	struct muster_error err = { 0 };
	char *text = fixture_text(MUSTER_FAIL, false), *at = strstr(text, broken[_i].what);
	ck_assert_msg(at, "the fixture has no %s", broken[_i].what);
	char *changed =
		muster_asprintf("%.*s%s%s", (int)(at - text), text, broken[_i].with, at + strlen(broken[_i].what));
	put(changed);
	ck_assert_int_eq(muster_report_load(path, &run, &report, &err), -1);
	unlink(path);
	ck_assert_msg(strstr(err.text, broken[_i].said), "%s", err.text);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	free(changed);
	free(text);
}

/* "blocked" had another name, and was not counted; there was no "slowest". */
TEST(a_report_of_an_earlier_version_is_read)
{
	struct muster_report report;
	struct muster_run run;
	struct muster_error err = { 0 };
	char *text = fixture_text(MUSTER_FAIL, false), *at;
	while ((at = strstr(text, "\"blocked\": [")))
		memcpy(at, "\"unjudged\":[", strlen("\"unjudged\":["));
	while ((at = strstr(text, ", \"blocked\": 2}")))
		memcpy(at, "}               ", strlen(", \"blocked\": 2}"));
	at = strstr(text, "\"slowest\": {");
	char *end = strstr(at, "\"findings\"");
	memset(at, ' ', (size_t)(end - at));
	put(text);
	ck_assert_msg(muster_report_load(path, &run, &report, &err) == 0, "%s", err.text);
	unlink(path);
	ck_assert_uint_eq(report.findings[0].blocked_count, 2);
	ck_assert_str_eq(report.findings[0].blocked[1], "copy.d2h");
	ck_assert_uint_eq(report.count[MUSTER_BLOCKED], 0);
	ck_assert_uint_eq(report.tallies[3].count[MUSTER_BLOCKED], 0);
	char *again = text_of(&report);
	ck_assert_ptr_null(strstr(again, "unjudged"));
	ck_assert_ptr_nonnull(strstr(again, "\"slowest\": {"));
	muster_report_done(&report);
	muster_run_done(&run);
	free(text);
	free(again);
}

TEST_MAIN(.setup = NULL)

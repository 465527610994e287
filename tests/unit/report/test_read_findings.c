/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_findings.c - how a run was judged comes back from its file as it was written */
#include "muster/report.h"

#include "unit/report/printed_fixture.h"

#include "check_main.h"
#include "muster/run.h"
#include <stdlib.h>
#include <unistd.h>

/* What is read back. */
static struct muster_run run_back;
static struct muster_report back;

static void print_json(const struct muster_report *what, FILE *out)
{
	ck_assert_int_eq(muster_report_print_json(what, out, NULL), 0);
}

static char path[64];

/* What comes of reading this report. */
static int load(const char *json, struct muster_error *err)
{
	snprintf(path, sizeof path, "/tmp/muster-judged-XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	FILE *out = fdopen(fd, "w");
	fputs(json, out);
	fclose(out);
	int rc = muster_report_load(path, &run_back, &back, err);
	unlink(path);
	return rc;
}

static void print_fixture(enum muster_status verdict, enum muster_strictness strict)
{
	with_everything();
	report.verdict = verdict;
	report.strict = strict;
	print_with(print_json);
}

/* The same text again, of the report that was read. */
static void print_back(void)
{
	report = back;
	print_with(print_json);
}

static void teardown(void)
{
	muster_report_done(&back);
	muster_run_done(&run_back);
	printed_done();
}

/* fixture_run puts texts into a report that the writer escapes: what is read back is escaped once and for all. */
TEST_LOOP(a_report_that_was_read_is_written_again_to_the_last_byte, 0, 3)
{
	static const enum muster_status verdicts[] = { MUSTER_PASS, MUSTER_FAIL, MUSTER_INCONCLUSIVE };
	struct muster_error err;
	print_fixture(verdicts[_i], (enum muster_strictness)_i);
	ck_assert_msg(load(text, &err) == 0, "%s", err.text);
	char *first = strdup(text);
	print_back();
	ck_assert_str_eq(text, first);
	ck_assert_int_eq(back.verdict, verdicts[_i]);
	free(first);
}

/* What to put in the place of what, and what the message then says. */
static const struct {
	const char *what, *with, *said;
} broken[] = {
	{ "\"status\": \"warn\",\n", "\"status\": \"bad\",\n",
		"$.findings[3].status: one of pass, warn, fail, skip, inconclusive, blocked is needed, found \"bad\"" },
	{ "\"status\": \"warn\",\n", "\"status\": 4,\n",
		"$.findings[3].status: one of pass, warn, fail, skip, inconclusive, blocked is needed, found 4" },
	{ "\"rank\": 4, \"gpu\"", "\"rank\": -2, \"gpu\"", "$.findings[1].where.rank" },
	{ "\"rank\": 4, \"gpu\"", "\"rank\": 4, \"xpu\"",
		"$.findings[1].where.xpu: unknown key; did you mean \"gpu\"? Allowed are node, rank, gpu, "
		"gpu_index, port, labels" },
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
	struct muster_error err = { 0 };
	print_fixture(MUSTER_FAIL, MUSTER_LENIENT);
	const char *at = strstr(text, broken[_i].what);
	ck_assert_msg(at, "the fixture has no %s", broken[_i].what);
	char *changed =
		muster_asprintf("%.*s%s%s", (int)(at - text), text, broken[_i].with, at + strlen(broken[_i].what));
	ck_assert_int_eq(load(changed, &err), -1);
	ck_assert_msg(strstr(err.text, broken[_i].said), "%s", err.text);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	free(changed);
}

/* "blocked" had another name, and was not counted; there was no "slowest". */
TEST(a_report_of_an_earlier_version_is_read)
{
	struct muster_error err = { 0 };
	char *at;
	print_fixture(MUSTER_FAIL, MUSTER_LENIENT);
	while ((at = strstr(text, "\"blocked\": [")))
		memcpy(at, "\"unjudged\":[", strlen("\"unjudged\":["));
	while ((at = strstr(text, ", \"blocked\": 2}")))
		memcpy(at, "}               ", strlen(", \"blocked\": 2}"));
	at = strstr(text, "\"slowest\": {");
	memset(at, ' ', (size_t)(strstr(at, "\"findings\"") - at));
	ck_assert_msg(load(text, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(back.findings[0].blocked_count, 2);
	ck_assert_str_eq(back.findings[0].blocked[1], "copy.d2h");
	ck_assert_uint_eq(back.count[MUSTER_BLOCKED], 0);
	ck_assert_uint_eq(back.tallies[3].count[MUSTER_BLOCKED], 0);
	print_back();
	lacks("unjudged");
	has("\"slowest\": {");
}

TEST_MAIN(.teardown = teardown)

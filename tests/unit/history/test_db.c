/* SPDX-License-Identifier: Apache-2.0 */
/* test_db.c - a history keeps what reports say, and refuses what is no history */
#include "check_main.h"
#include "run_text.h"

#include "history/db.h"
#include "util/file.h"
#include "util/text.h"

#ifndef MUSTER_HAVE_SQLITE
int main(void)
{
	puts("built without SQLite");
	return 77;
}
#else
#include "history/sqlite/history.h"
#include "muster/run.h"

static struct muster_history *open_history(bool write)
{
	struct muster_history *h;
	struct muster_error err;
	ck_assert_msg(muster_history_open(fixture_path("h.db"), write, &h, &err) == 0, "%s", err.text);
	return h;
}

struct given {
	const char *run, *job, *started, *sku, *profile;
	struct muster_finding finding; /* check NULL: none */
	bool simulated;
	enum muster_status verdict;
};

static enum muster_history_added add(struct muster_history *h, const struct given *given)
{
	struct muster_run run;
	struct muster_error err;
	enum muster_history_added added;
	struct muster_finding finding = given->finding;
	run_text(&run, given->run);
	run.job.id = given->job;
	run.job.started = given->started ? given->started : "2026-01-01T00:00:00Z";
	run.job.profile = given->profile ? given->profile : "quick";
	run.job.simulated = given->simulated;
	const struct muster_report report = {
		.run = &run,
		.sku = given->sku,
		.verdict = given->verdict,
		.findings = &finding,
		.finding_count = finding.check != NULL,
	};
	ck_assert_msg(muster_history_add(h, &report, &added, &err) == 0, "%s", err.text);
	muster_run_done(&run);
	return added;
}

static int print_value(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	(void)err;
	fprintf(arg, "%s/%s %s %s %s %s %.7g\n", value->report->job, value->report->profile,
		value->report->machine_type ? value->report->machine_type : "-", value->node ? value->node : "job",
		value->part ? value->part : "-", value->key, value->value);
	return 0;
}

static int print_verdict(void *arg, const struct muster_history_verdict *verdict, struct muster_error *err)
{
	char time[MUSTER_UTC_SIZE];
	(void)err;
	fprintf(arg, "%s %s %s %s %s\n", verdict->node, muster_utc_text(verdict->report->started, time),
		verdict->report->job, muster_status_name(verdict->status),
		muster_status_name(verdict->report->verdict));
	return 0;
}

static int print_finding(void *arg, const struct muster_history_verdict *finding, struct muster_error *err)
{
	(void)err;
	fprintf(arg, "%s %s %s %s %s%s\n", finding->node, finding->report->job, finding->check,
		finding->part ? finding->part : "-", muster_status_name(finding->status),
		(const char *[]){ "", " soft", " hard" }[finding->fault]);
	return 0;
}

enum walk { VALUES, VERDICTS, FINDINGS };

static char *walk(struct muster_history *h, enum walk which, const struct muster_history_filter *filter)
{
	char *text;
	size_t length;
	struct muster_error err = { .text = "" };
	FILE *out = muster_memory_open(&text, &length);
	int rc = which == VALUES     ? muster_history_each_value(h, filter, print_value, out, &err)
		 : which == VERDICTS ? muster_history_each_verdict(h, filter, false, print_verdict, out, &err)
				     : muster_history_each_verdict(h, filter, true, print_finding, out, &err);
	if (rc < 0)
		fprintf(out, "error: %s\n", err.text);
	muster_memory_close(out);
	return text;
}

#define RUN                                                                                                            \
	"a/0 = 0001:00:00.0 u\na/1 = 0002:00:00.0 v\njob nccl.allreduce_busbw_gbps bytes=8 nodes=1 ranks=2 100.5\n"    \
	"a/0 gpu.h2d_gbps gpu=0001:00:00.0 26.5\na/1 gpu.h2d_gbps gpu=0002:00:00.0 25\n"                               \
	"a/0 gpu.ecc_corrected_volatile gpu=0001:00:00.0 0\na/1 gpu.ecc_corrected_volatile gpu=0002:00:00.0 0\n"       \
	"a node.load_average 0.25\n"

static const struct given first = { .run = RUN, .job = "1", .sku = "T", .verdict = MUSTER_PASS };

TEST(values_come_back_by_key)
{
	struct muster_history *h = open_history(true);
	ck_assert_int_eq(add(h, &first), MUSTER_HISTORY_ADDED);
	ck_assert_int_eq(add(h, &(struct given){ .run = "b/0 = 0001:00:00.0 u\nb/0 gpu.h2d_gbps gpu=0001:00:00.0 24\n",
					.job = "2" }),
		MUSTER_HISTORY_ADDED);
	muster_history_close(h);
	h = open_history(false);
	char *text = walk(h, VALUES, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "1/quick T a 0001:00:00.0 gpu.ecc_corrected_volatile 0\n"
			       "1/quick T a 0002:00:00.0 gpu.ecc_corrected_volatile 0\n"
			       "1/quick T a 0001:00:00.0 gpu.h2d_gbps 26.5\n"
			       "1/quick T a 0002:00:00.0 gpu.h2d_gbps 25\n"
			       "2/quick - b 0001:00:00.0 gpu.h2d_gbps 24\n"
			       "1/quick T job - nccl.allreduce_busbw_gbps{bytes=8,nodes=1,ranks=2} 100.5\n"
			       "1/quick T a - node.load_average 0.25\n");
	free(text);
	muster_history_close(h);
}

#define SMALL(node, value) node "/0 = g u\n" node "/0 gpu.h2d_gbps gpu=g " value "\n"
static const struct given several[] = {
	{ .run = SMALL("a", "1"), .job = "1", .started = "2026-01-01T00:00:00Z", .sku = "T" },
	{ .run = SMALL("b", "2"), .job = "2", .started = "2026-01-03T00:00:00Z", .sku = "T", .profile = "full" },
	{ .run = SMALL("a", "3"), .job = "3", .started = "2026-01-02T00:00:00Z", .sku = "U" },
	{ .run = SMALL("a", "4"), .job = "4", .started = "2026-01-02T00:00:00Z", .sku = "T", .simulated = true },
	{ .run = "a/0 = g u\na/0 gpu.d2h_gbps gpu=g 5\n", .job = "5", .started = "2026-01-04T00:00:00Z", .sku = "T" },
};

static bool is_d2h(const struct muster_metric *metric)
{
	return strcmp(metric->name, "gpu.d2h_gbps") == 0;
}

static const char *const only_a[] = { "nowhere", "a" };
static const struct {
	struct muster_history_filter filter;
	const char *jobs;
} filters[] = {
	{ { 0 }, "1 2 3 5 " },
	{ { .nodes = only_a, .node_count = 2 }, "1 3 5 " },
	{ { .nodes = only_a, .node_count = 1 }, "" },
	{ { .metric = "gpu.h2d_gbps" }, "1 2 3 " },
	{ { .metric = "gpu.h2d" }, "" },
	{ { .machine_type = "T" }, "1 2 5 " },
	{ { .profile = "full" }, "2 " },
	{ { .since = 1767312000 }, "2 3 5 " }, /* 2026-01-02 */
	{ { .until = 1767312000 }, "1 " },
	{ { .since = 1767312000, .until = 1767312001 }, "3 " },
	{ { .simulated = true }, "4 " },
	{ { .wanted = is_d2h }, "5 " },
	{ { .profile = "standard" }, "" },
};

TEST_EACH(a_filter_chooses_values, filters)
{
	struct muster_history *h = open_history(true);
	char jobs[64] = "";
	for (size_t i = 0; i < sizeof several / sizeof *several; i++)
		ck_assert_int_eq(add(h, &several[i]), MUSTER_HISTORY_ADDED);
	char *text = walk(h, VALUES, &filters[_i].filter);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		snprintf(jobs + strlen(jobs), sizeof jobs - strlen(jobs), "%.1s ", line);
	ck_assert_str_eq(jobs, filters[_i].jobs);
	free(text);
	muster_history_close(h);
}

TEST(the_same_run_is_there_once_with_its_newest_evaluation)
{
	struct muster_history *h = open_history(true);
	struct given again = first;
	ck_assert_int_eq(add(h, &first), MUSTER_HISTORY_ADDED);
	ck_assert_int_eq(add(h, &first), MUSTER_HISTORY_UNCHANGED);
	again.verdict = MUSTER_FAIL;
	again.finding = (struct muster_finding){ .check = "copy.h2d", .status = MUSTER_FAIL, .node = "a", .gpu = "g" };
	ck_assert_int_eq(add(h, &again), MUSTER_HISTORY_UPDATED);
	ck_assert_int_eq(add(h, &again), MUSTER_HISTORY_UNCHANGED);
	char *text = walk(h, VERDICTS, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "a 2026-01-01T00:00:00Z 1 fail fail\n");
	free(text);
	text = walk(h, FINDINGS, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "a 1 copy.h2d g fail soft\n");
	free(text);
	again.finding.proof = MUSTER_PROOF_HARD;
	ck_assert_int_eq(add(h, &again), MUSTER_HISTORY_UPDATED);
	text = walk(h, FINDINGS, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "a 1 copy.h2d g fail hard\n");
	free(text);
	ck_assert_int_eq(add(h, &first), MUSTER_HISTORY_UPDATED);
	text = walk(h, FINDINGS, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "");
	free(text);
	/* another machine type is another evaluation, another start, job or node another run */
	struct given other = first;
	other.sku = "U";
	ck_assert_int_eq(add(h, &other), MUSTER_HISTORY_UPDATED);
	other.started = "2026-01-01T00:00:01Z";
	ck_assert_int_eq(add(h, &other), MUSTER_HISTORY_ADDED);
	other.job = "2";
	ck_assert_int_eq(add(h, &other), MUSTER_HISTORY_ADDED);
	other.run = "b node\n";
	ck_assert_int_eq(add(h, &other), MUSTER_HISTORY_ADDED);
	muster_history_close(h);
}

TEST(a_report_without_a_time_is_refused)
{
	struct muster_run run;
	struct muster_error err;
	enum muster_history_added added;
	struct muster_history *h = open_history(true);
	run_text(&run, "a node\n");
	run.job.started = "once";
	const struct muster_report report = { .run = &run };
	ck_assert_int_eq(muster_history_add(h, &report, &added, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_str_eq(err.text, "$.run.job.started: a time as \"2026-11-23T12:24:01Z\" is needed, so that a history "
				   "can keep the report");
	muster_run_done(&run);
	muster_history_close(h);
}

TEST(a_batch_is_committed_as_one)
{
	struct muster_history *h = open_history(true);
	int64_t reports, nodes, started;
	ck_assert_int_eq(muster_history_exec(h, "BEGIN IMMEDIATE", NULL), 0);
	ck_assert_int_eq(add(h, &several[0]), MUSTER_HISTORY_ADDED);
	ck_assert_int_eq(add(h, &several[0]), MUSTER_HISTORY_UNCHANGED);
	ck_assert_int_eq(muster_history_exec(h, "COMMIT", NULL), 0);
	ck_assert_int_eq(muster_history_exec(h, "BEGIN IMMEDIATE", NULL), 0);
	ck_assert_int_eq(add(h, &several[1]), MUSTER_HISTORY_ADDED);
	muster_history_close(h); /* before the commit */
	h = open_history(false);
	ck_assert_int_eq(muster_history_number(h, "SELECT count(*) FROM reports", 0, &reports, NULL), 0);
	ck_assert_int_eq(reports, 1);
	ck_assert_int_eq(muster_history_number(h, "SELECT count(DISTINCT node) FROM verdicts", 0, &nodes, NULL), 0);
	ck_assert_int_eq(nodes, 1);
	ck_assert_int_eq(muster_history_number(h, "SELECT min(started) FROM reports", 0, &started, NULL), 0);
	ck_assert_int_eq(started, 1767225600);
	muster_history_close(h);
}

/* ---- what is no history ---- */

/* SQL for the history, with nothing in the way. */
static void spoil(const char *sql)
{
	sqlite3 *db;
	char *said = NULL;
	const struct muster_sqlite *s = muster_sqlite(NULL);
	ck_assert_int_eq(s->open_v2(fixture_path("h.db"), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), 0);
	ck_assert_msg(s->exec(db, sql, NULL, NULL, &said) == SQLITE_OK, "%s: %s", sql, said);
	s->close(db);
}

static const struct {
	const char *sql; /* on a history with one report */
	const char *error;
} spoilt[] = {
	{ "PRAGMA application_id = 7", "a database of another program, not a history of muster" },
	{ "PRAGMA user_version = 3",
		"a newer muster made this history (schema 3, this muster knows 2): use that muster" },
	{ "PRAGMA user_version = 1", "an older muster made this history (schema 1, this muster needs 2)" },
	{ "PRAGMA user_version = 0", "damaged: its schema version does not fit its tables." },
	{ "PRAGMA user_version = -1", "damaged: its schema version does not fit its tables." },
	{ "DROP TABLE findings", "damaged: its tables are not those of a history." },
	{ "CREATE TRIGGER t AFTER INSERT ON names BEGIN DELETE FROM reports; END",
		"damaged: its tables are not those of a history." },
	{ "DROP TABLE findings; CREATE VIEW findings AS SELECT 1 AS node, 1 AS report, 1 AS rule, 1 AS part, 1 AS "
	  "status, 0 AS fault",
		"damaged: its tables are not those of a history." },
	{ "ALTER TABLE reports ADD COLUMN more", "damaged: its tables are not those of a history." },
	{ "UPDATE names SET text = x'00' WHERE text = 'gpu.h2d_gbps'",
		"damaged: a row refers to a name that is not there." },
	{ "DELETE FROM names WHERE text = 'gpu.h2d_gbps'", "damaged: a row refers to a name that is not there." },
	{ "UPDATE samples SET node = 1 << 40", "damaged: a row refers to a name that cannot be." },
	{ "UPDATE samples SET node = -1", "damaged: a row refers to a name that cannot be." },
	{ "UPDATE samples SET report = 2", NULL }, /* of no report that is asked for */
	{ "UPDATE samples SET report = 2; INSERT INTO reports SELECT 3, started, 7, 1, job, type, profile, version, "
	  "flags, nodes, verdict FROM reports",
		"damaged: a row belongs to a report that is not there." },
	{ "UPDATE samples SET packed = 'text'", "damaged: the numbers of a sample cannot be read." },
	{ "UPDATE samples SET packed = x'0101'", "damaged: the numbers of a sample cannot be read." },
	{ "UPDATE samples SET packed = 9e999", "damaged: the numbers of a sample cannot be read." },
	{ "UPDATE samples SET packed = zeroblob(1000000)", "damaged: the numbers of a sample cannot be read." },
	{ "UPDATE names SET text = '[1]' WHERE text LIKE '[%'", "damaged: a list of parts is none." },
	{ "UPDATE names SET text = '[' WHERE text LIKE '[%'", "damaged: a list of parts cannot be read." },
	{ "UPDATE names SET text = '[]' WHERE text LIKE '[%'", "damaged: a list of parts is none." },
	{ "UPDATE reports SET id = 0", "damaged: a report has a number that cannot be." },
	{ "UPDATE reports SET verdict = 99", "damaged: a report has a number that cannot be." },
	{ "UPDATE reports SET profile = 0", "damaged: a report has no profile." },
	{ "UPDATE names SET text = 'no.metric' WHERE text LIKE 'gpu.%h2d_gbps'", NULL }, /* one of another version */
};

TEST_EACH(a_spoilt_history_is_refused_with_a_sentence, spoilt)
{
	struct muster_error err = { .text = "" };
	struct muster_history *h = open_history(true);
	add(h, &first);
	muster_history_close(h);
	spoil(spoilt[_i].sql);
	h = NULL;
	int rc = muster_history_open(fixture_path("h.db"), false, &h, &err);
	if (rc == 0) {
		char *text = walk(h, VALUES, &(struct muster_history_filter){ 0 });
		const char *error = strstr(text, "error: ");
		snprintf(err.text, sizeof err.text, "%s", error ? error + 7 : "");
		free(text);
	} else {
		ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	}
	muster_history_close(h);
	if (spoilt[_i].error)
		ck_assert_msg(strstr(err.text, spoilt[_i].error), "%s: %s", spoilt[_i].sql, err.text);
	else
		ck_assert_str_eq(err.text, "");
}

TEST_LOOP(a_text_file_is_no_history, 0, 2)
{
	struct muster_error err;
	struct muster_history *h;
	const char *path =
		fixture_write("h.db", "{ \"a\": \"a report, perhaps, and long enough to have a header\" }\n");
	ck_assert_int_eq(muster_history_open(path, _i, &h, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, "/h.db: not an SQLite database"), "%s", err.text);
}

TEST(an_empty_file_becomes_a_history_when_it_is_written)
{
	struct muster_error err;
	struct muster_history *h;
	const char *path = fixture_write("h.db", "");
	ck_assert_int_eq(muster_history_open(path, false, &h, &err), -1);
	ck_assert_msg(strstr(err.text, "/h.db: empty: no report has been added"), "%s", err.text);
	muster_history_close(open_history(true));
	muster_history_close(open_history(false));
}

TEST(a_history_that_is_not_there_is_not_made_by_reading)
{
	struct muster_error err;
	struct muster_history *h;
	ck_assert_int_eq(muster_history_open(fixture_path("h.db"), false, &h, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strstr(err.text, "/h.db: there is no such history: `muster history add REPORT` makes one"), "%s",
		err.text);
	ck_assert_int_ne(access(fixture_path("h.db"), F_OK), 0);
}

/* Whatever bytes are changed: an answer or one sentence, and never a crash. */
TEST(a_history_with_wrong_bytes_is_survived)
{
	struct muster_history *h = open_history(true);
	char *whole;
	size_t length, refused = 0;
	uint64_t state = 7;
	add(h, &first);
	for (size_t i = 0; i < sizeof several / sizeof *several; i++)
		add(h, &several[i]);
	muster_history_close(h);
	ck_assert_int_eq(muster_file_read(fixture_path("h.db"), 1 << 20, &whole, &length, NULL), 0);
	for (int round = 0; round < 400; round++) {
		struct muster_error err;
		char *spoilt_file = malloc(length);
		memcpy(spoilt_file, whole, length);
		for (int byte = 0; byte < 1 + round % 8; byte++) {
			state = state * 6364136223846793005 + 1442695040888963407;
			spoilt_file[(state >> 20) % length] = (char)(state >> 56);
		}
		FILE *out = fopen(fixture_path("h.db"), "w");
		ck_assert_uint_eq(fwrite(spoilt_file, 1, length, out), length);
		fclose(out);
		free(spoilt_file);
		if (muster_history_open(fixture_path("h.db"), false, &h, &err) < 0) {
			ck_assert_str_ne(err.text, "");
			refused++;
			continue;
		}
		for (enum walk which = VALUES; which <= FINDINGS; which++)
			free(walk(h, which, &(struct muster_history_filter){ 0 }));
		muster_history_close(h);
	}
	free(whole);
	ck_assert(refused > 0 && refused < 400);
}

/* A later muster brings one step more: what is there stays. */
TEST(an_older_schema_is_brought_up_to_date)
{
	const char *const steps[] = { muster_history_steps[0], muster_history_steps[1], "CREATE TABLE later(a)",
		"DROP TABLE nothing" };
	struct muster_error err;
	struct muster_history *h = open_history(true);
	add(h, &first);
	ck_assert_int_eq(muster_history_prepare(h, false, steps, 3, &err), -1);
	ck_assert_msg(
		strstr(err.text, "an older muster made this history (schema 2, this muster needs 3)"), "%s", err.text);
	/* a step that fails changes nothing */
	ck_assert_int_eq(muster_history_prepare(h, true, steps, 4, &err), -1);
	ck_assert_int_eq(muster_history_prepare(h, false, steps, 2, &err), 0);
	ck_assert_msg(muster_history_prepare(h, true, steps, 3, &err) == 0, "%s", err.text);
	ck_assert_int_eq(muster_history_prepare(h, false, steps, 3, &err), 0);
	char *text = walk(h, VERDICTS, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "a 2026-01-01T00:00:00Z 1 pass pass\n");
	free(text);
	muster_history_close(h);
}

/* The first schema had no proof of findings. */
TEST(failures_of_the_first_schema_are_soft)
{
	struct given failed = first;
	failed.verdict = MUSTER_FAIL;
	failed.finding = (struct muster_finding){ .check = "copy.h2d", .status = MUSTER_FAIL, .node = "a", .gpu = "g" };
	spoil(muster_history_steps[0]);
	spoil("PRAGMA application_id = 0x4d757374; PRAGMA user_version = 1;"
	      "INSERT INTO names VALUES (1, 'a'), (2, 'quick'), (3, 'copy.h2d'), (4, 'ib.rate'), (5, 'g');"
	      "INSERT INTO reports VALUES (1, 1767225600, 7, 8, '0', 0, 2, 0, 0, 1, 2);"
	      "INSERT INTO verdicts VALUES (1, 1, 2); INSERT INTO findings VALUES (1, 1, 3, 5, 2), (1, 1, 4, 0, 1);");
	struct muster_history *h = open_history(true);
	ck_assert_int_eq(add(h, &failed), MUSTER_HISTORY_ADDED);
	muster_history_close(h);
	h = open_history(false);
	char *text = walk(h, FINDINGS, &(struct muster_history_filter){ 0 });
	ck_assert_str_eq(text, "a 0 copy.h2d g fail soft\na 0 ib.rate - warn\na 1 copy.h2d g fail soft\n");
	free(text);
	muster_history_close(h);
}

struct counted {
	size_t values;
	int64_t first, last; /* when */
};

static int count_value(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	struct counted *counted = arg;
	(void)err;
	counted->first = counted->values++ ? counted->first : value->report->started;
	counted->last = value->report->started;
	return 0;
}

/* Of 600 reports, one a minute: at most so many; those of node b, which are the first and the last one; both sides of
 * a time. */
static const struct {
	bool only_b;
	size_t most;
	int split;
	struct counted values; /* in minutes */
	struct muster_history_use use;
} thinned[] = {
	{ false, 0, 0, { 600, 0, 599 }, { 600, 600 } },
	{ false, 1000, 0, { 600, 0, 599 }, { 600, 600 } },
	{ false, 50, 0, { 50, 0, 599 }, { 50, 600 } },
	{ false, 50, 590, { 50, 0, 599 }, { 50, 600 } },
	{ true, 0, 0, { 2, 0, 599 }, { 2, 2 } },
	{ true, 50, 0, { 2, 0, 599 }, { 2, 2 } },
};

TEST_EACH(few_of_many_reports_are_read_on_demand, thinned)
{
	struct muster_history *h = open_history(true);
	static const char *const b[] = { "b" };
	struct muster_error err;
	struct counted found = { 0 };
	struct muster_history_use use;
	int64_t start;
	ck_assert_int_eq(muster_utc_read("2026-01-01T00:00:00Z", &start), 0);
	ck_assert_int_eq(muster_history_exec(h, "BEGIN IMMEDIATE", &err), 0);
	for (int i = 0; i < 600; i++) {
		char when[MUSTER_UTC_SIZE];
		muster_utc_text(start + i * 60, when);
		add(h, &(struct given){ .run = i % 599 ? "a/0 = 0001:00:00.0 u\na/0 gpu.h2d_gbps gpu=0001:00:00.0 25\n"
						       : "b/0 = 0001:00:00.0 u\nb/0 gpu.h2d_gbps gpu=0001:00:00.0 25\n",
			       .job = "1",
			       .sku = "T",
			       .started = when });
	}
	ck_assert_int_eq(muster_history_exec(h, "COMMIT", &err), 0);
	const struct muster_history_filter filter = { .nodes = thinned[_i].only_b ? b : NULL,
		.node_count = thinned[_i].only_b,
		.reports_most = thinned[_i].most,
		.split = thinned[_i].split ? start + thinned[_i].split * 60 : 0,
		.use = &use };
	ck_assert_int_eq(muster_history_each_value(h, &filter, count_value, &found, &err), 0);
	ck_assert_uint_eq(found.values, thinned[_i].values.values);
	ck_assert_int_eq(found.first, start + thinned[_i].values.first * 60);
	ck_assert_int_eq(found.last, start + thinned[_i].values.last * 60);
	ck_assert_uint_eq(use.reports, thinned[_i].use.reports);
	ck_assert_uint_eq(use.of, thinned[_i].use.of);
	muster_history_close(h);
}

TEST_MAIN(.setup = fixture_open, .teardown = fixture_close)
#endif

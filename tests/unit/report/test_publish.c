/* SPDX-License-Identifier: Apache-2.0 */
/* test_publish.c - a finished report reaches its file, its readers and the exit code, or says that it does not */
#include "check_main.h"
#include "run_text.h"

#include "muster/run.h"
#include "util/log.h"

#include <fcntl.h>
#include <stdio_ext.h>

static char out_text[16384], log_text[4096];

static void take(FILE *stream, int saved, const char *name, char *ret, size_t size)
{
	fflush(stream);
	__fpurge(stream); /* what a full disk did not take */
	clearerr(stream);
	dup2(saved, fileno(stream));
	close(saved);
	FILE *in = fopen(fixture_path(name), "re");
	ck_assert_ptr_nonnull(in);
	ret[fread(ret, 1, size - 1, in)] = '\0';
	fclose(in);
}

static int redirected(FILE *stream, const char *path)
{
	fflush(stream);
	int saved = dup(fileno(stream)), to = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(to, 0);
	dup2(to, fileno(stream));
	close(to);
	return saved;
}

/* The exit code; what came to standard output and standard error is in out_text and log_text. full: standard output
 * takes nothing. */
static int publish(struct muster_report *report, const char *path, bool full)
{
	fixture_open();
	fixture_write("out", "");
	fixture_write("log", "");
	int out = redirected(stdout, full ? "/dev/full" : fixture_path("out"));
	int log = redirected(stderr, fixture_path("log"));
	int exit_code = muster_report_publish(report, &(struct muster_publishing){ .path = path, .named = "r.json" });
	take(stdout, out, "out", out_text, sizeof out_text);
	take(stderr, log, "log", log_text, sizeof log_text);
	fixture_close();
	ck_assert_ptr_null(report->unwritten);
	return exit_code;
}

static struct muster_run run;
static struct muster_report report;

static void setup(void)
{
	run_text(&run, "a node.cpus 4\na/0 rank.local_rank 0");
	fixture_judge(&run, "'c':{'metric':'node.cpus','min':1,'source':'s'}", false, &report);
}

static void teardown(void)
{
	muster_log_as_json(false);
	muster_report_done(&report);
	muster_run_done(&run);
}

static const char last[] = "MUSTER PASS sku=test nodes=1 ranks=1 failed=0 warned=0 report=r.json\n";

TEST(the_summary_ends_with_the_last_line)
{
	ck_assert_int_eq(publish(&report, NULL, false), MUSTER_EXIT_PASS);
	ck_assert_uint_gt(strlen(out_text), strlen(last));
	ck_assert_str_eq(out_text + strlen(out_text) - strlen(last), last);
	ck_assert_str_eq(log_text, "");
	ck_assert_int_eq(report.verdict, MUSTER_PASS);
}

TEST_LOOP(a_summary_that_nobody_can_read_is_no_pass, 0, 2)
{
	report.verdict = _i ? MUSTER_FAIL : MUSTER_PASS;
	ck_assert_int_eq(publish(&report, NULL, true), _i ? MUSTER_EXIT_FAIL : MUSTER_EXIT_INCONCLUSIVE);
	ck_assert_msg(strstr(log_text, "the summary could not be printed: No space left on device"), "%s", log_text);
}

TEST_LOOP(a_report_that_cannot_be_written_is_no_pass, 0, 2)
{
	report.verdict = _i ? MUSTER_FAIL : MUSTER_PASS;
	ck_assert_int_eq(
		publish(&report, "/none/of/these/r.json", false), _i ? MUSTER_EXIT_FAIL : MUSTER_EXIT_INCONCLUSIVE);
	ck_assert_msg(strstr(log_text, "the report could not be written: report: /none/of/these"), "%s", log_text);
	ck_assert_msg(strstr(out_text, "/none/of/these"), "%s", out_text);
	ck_assert_msg(strstr(out_text, _i ? "MUSTER FAIL " : "MUSTER INCONCLUSIVE "), "%s", out_text);
	ck_assert_msg(strstr(out_text, " report=none\n"), "%s", out_text);
}

/* Standard output is the report's alone then. */
TEST(a_report_on_standard_output_leaves_the_summary_to_standard_error)
{
	ck_assert_int_eq(publish(&report, "-", false), MUSTER_EXIT_PASS);
	ck_assert_int_eq(*out_text, '{');
	ck_assert_ptr_null(strstr(out_text, "MUSTER PASS"));
	ck_assert_str_eq(log_text + strlen(log_text) - strlen(last), last);
}

TEST_LOOP(a_log_of_json_lines_has_the_last_line_and_no_summary, 0, 2)
{
	muster_log_as_json(true);
	ck_assert_int_eq(publish(&report, _i ? "-" : NULL, false), MUSTER_EXIT_PASS);
	ck_assert_int_eq(*log_text, '{');
	ck_assert_msg(strstr(log_text, "MUSTER PASS sku=test"), "%s", log_text);
	ck_assert_ptr_eq(strchr(log_text, '\n'), log_text + strlen(log_text) - 1);
	ck_assert_int_eq(strstr(out_text, last) != NULL, _i == 0);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

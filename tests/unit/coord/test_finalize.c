/* SPDX-License-Identifier: Apache-2.0 */
/* test_finalize.c - rank 0 before the run, before the rings and at the end: expectations, floors, the report
 */
#include "check_main.h"
#include "coord/process.h"

#include "caught_stderr.h"
#include "muster/report.h"
#include "one_rank.h"
#include "util/log.h"
#include "util/text.h"

#include <sys/stat.h>
#include <sys/wait.h>

enum { END = 600000, RANKS = 4 };

static char folder[] = "/tmp/muster-finalize-XXXXXX";
static char report[64];
static struct muster_finalize finalize;

/* Rank 0 of two nodes with two ranks each. */
static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(report, sizeof report, "%s/report.json", folder);
	one_rank_start(0, RANKS, END);
	memset(&finalize, 0, sizeof finalize);
	host.arg = &finalize;
	options.sku = "Standard_ND96amsr_A100_v4";
	options.report = report;
	options.configs = MUSTER_SOURCE_DIR "/configs";
	options.profile = MUSTER_QUICK;
	options.repeats = 1;
	s.coordinator = muster_calloc(1, sizeof *s.coordinator);
	muster_coordinator_init(s.coordinator, &r.transport, &s.deadlines, END, END,
		&(struct muster_options){ .localise = MUSTER_LOCALISE_AUTO });
	s.coordinator->progress.silent = true;
	for (int rank = 0; rank < RANKS; rank++) {
		char name[8];
		snprintf(name, sizeof name, "n%d", rank / 2);
		muster_membership_hello(&s.coordinator->members, rank, name, name);
	}
	muster_coordinator_poll(s.coordinator, 0);
	one_rank_join((const int[]){ 0, 1 }, 2);
}

static void teardown(void)
{
	muster_selection_done(&finalize.choice);
	one_rank_done();
	unlink(report);
	rmdir(folder);
}

static char *text_of_report(void)
{
	char *text = muster_calloc(1 << 18, 1);
	FILE *in = fopen(report, "re");
	ck_assert_ptr_nonnull(in);
	ck_assert_uint_gt(fread(text, 1, (1 << 18) - 1, in), 0);
	fclose(in);
	return text;
}

/* ---- before the run ---- */

TEST(a_run_that_can_be_reported_may_begin)
{
	catch_stderr();
	ck_assert_int_eq(muster_finalize_prepare(&s), 0);
	ck_assert_str_eq(printed(), "");
	ck_assert_uint_gt(finalize.choice.named.check_count, 0);
}

/* _i: the report, the expectations, the spool */
TEST_LOOP(a_run_that_cannot_be_reported_may_not_begin, 0, 3)
{
	static const char *const why[] = { "--report /nowhere/report.json", "/nowhere.json", "" };
	catch_stderr();
	if (_i == 0)
		options.report = "/nowhere/report.json";
	else if (_i == 1)
		options.sku = "/nowhere.json";
	else
		options.spool = folder;
	ck_assert_int_eq(muster_finalize_prepare(&s), MUSTER_EXIT_USAGE);
	const char *text = printed();
	ck_assert_msg(strstr(text, why[_i]) != NULL, "%s", text);
}

TEST(with_a_machine_type_that_has_no_file_nothing_is_measured)
{
	catch_stderr();
	options.sku = "Standard_Nobody_v1";
	ck_assert_int_eq(muster_finalize_prepare(&s), MUSTER_EXIT_USAGE);
	const char *text = printed();
	ck_assert_msg(strstr(text, "no machine type \"Standard_Nobody_v1\"") != NULL, "%s", text);
}

/* ---- the report ---- */

TEST(the_report_names_the_run)
{
	setenv("SLURM_JOB_ID", "77", 1);
	ck_assert_int_eq(muster_finalize_prepare(&s), 0);
	snprintf(s.started, sizeof s.started, "2026-01-02T03:04:05Z");
	s.start_ms = 1000;
	r.now_ms = 13500;
	s.interrupted = "rank 1 received SIGINT after 12.5 s";
	options.repeats = 3;
	muster_coordinator_give_up(s.coordinator);
	fflush(NULL);
	pid_t pid = fork(); /* without its lines on standard output */
	if (pid == 0)
		_exit(freopen("/dev/null", "we", stdout) ? muster_finalize_run(&s) : 100);
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), MUSTER_EXIT_INCONCLUSIVE);
	char *text = text_of_report();
	static const char *const parts[] = { "\"id\": \"77\"", "\"started\": \"2026-01-02T03:04:05Z\"",
		"\"elapsed_s\": 12.5", "\"profile\": \"quick\"", "\"ranks\": 4", "\"repeats\": 3",
		"\"interrupted\": \"rank 1 received SIGINT after 12.5 s\"", "\"muster\": \"" MUSTER_VERSION "\"" };
	for (int i = 0; i < LENGTH(parts); i++)
		ck_assert_msg(strstr(text, parts[i]) != NULL, "no %s in %.600s", parts[i], text);
	free(text);
}

TEST(an_interruption_that_comes_during_the_evaluation_is_judged_too)
{
	ck_assert_int_eq(muster_finalize_prepare(&s), 0);
	s.interrupted = "rank 1 received SIGINT after 12.5 s";
	ck_assert_uint_eq(muster_finalize_too_slow(&s), 0);
	ck_assert(!finalize.has_judged);
}

/* The thread that writes is given up at once, and goes on all the same. */
TEST(a_run_has_one_last_line_even_if_what_was_given_up_goes_on)
{
	char text[1 << 16] = "", path[80];
	ck_assert_int_eq(muster_finalize_prepare(&s), 0);
	snprintf(s.started, sizeof s.started, "2026-01-02T03:04:05Z");
	snprintf(path, sizeof path, "%s/stdout", folder);
	muster_coordinator_give_up(s.coordinator);
	r.now_ms = 2 * END;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen(path, "we", stdout))
			_exit(100);
		int code = muster_finalize_run(&s);
		for (int i = 0; i < 100 && access(report, R_OK) != 0; i++)
			usleep(50000); /* it goes on: the report comes */
		usleep(300000);
		fflush(stdout);
		_exit(code);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	/* the latter when the evaluation was over before */
	ck_assert(WEXITSTATUS(status) == MUSTER_EXIT_INCONCLUSIVE || WEXITSTATUS(status) == MUSTER_EXIT_FAIL);
	free(text_of_report());
	FILE *in = fopen(path, "re");
	ck_assert_ptr_nonnull(in);
	text[fread(text, 1, sizeof text - 1, in)] = '\0';
	fclose(in);
	unlink(path);
	int lines = 0;
	for (const char *at = text; (at = strstr(at, "MUSTER ")); at++)
		lines += at == text || at[-1] == '\n';
	ck_assert_msg(lines == 1, "%s", text);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

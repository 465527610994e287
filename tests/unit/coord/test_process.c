/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - one process of a job from its start to its exit: a job of one rank, whose worker is a shell script
 *
 * The script keeps each command in a file and answers it, or does what the test wants for one of them.
 */
#include "coord/process.h"

#include "check_main.h"
#include "muster/arena.h"
#include "muster/report.h"
#include "transport/transport_socket.h"
#include "util/log.h"
#include "util/text.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000 };

static char folder[] = "/tmp/muster-process-XXXXXX";
static struct muster_options options;
static char *worker, *commands, *output, *report;

static char *in_folder(const char *name)
{
	return muster_asprintf("%s/%s", folder, name);
}

static void setup(void)
{
	static const char *const launchers[] = { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
		"PMI_RANK", "PMI_FD", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS",
		"SLURM_JOB_ID", "SLURM_STEP_NODELIST", "PMIX_NAMESPACE" };
	for (int i = 0; i < LENGTH(launchers); i++)
		unsetenv(launchers[i]);
	setenv("SLURMD_NODENAME", "node-1", 1);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	worker = in_folder("worker");
	commands = in_folder("commands");
	output = in_folder("output");
	report = in_folder("report.json");
	options = (struct muster_options){
		.sku = "Standard_NC40ads_H100_v5",
		.report = report,
		.profile = MUSTER_QUICK,
		.deadline_s = 60,
		.program = worker,
		.configs = MUSTER_SOURCE_DIR "/configs",
	};
}

static void teardown(void)
{
	char *line = muster_asprintf("rm -rf %s", folder);
	pid_t pid = fork();
	if (pid == 0)
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	waitpid(pid, NULL, 0);
	free(line);
	free(report);
}

/* The script: `cases` come before the usual answers, as in sh's case. */
static void write_worker(const char *cases)
{
	FILE *out = fopen(worker, "we");
	ck_assert_ptr_nonnull(out);
	fprintf(out,
		"#!/bin/sh\n"
		"cd %s\n"
		"say() { echo \"$1\" >&4; }\n"
		"while read -r line <&3; do\n"
		"	echo \"$line\" >>commands\n"
		"	case $line in\n"
		"%s"
		"	*'\"do\": \"take\"'*) say "
		"'{\"done\":{\"code\":\"ok\",\"simulated\":true,\"gpu\":\"0001:00:00.0\","
		"\"uuid\":\"GPU-1\",\"path\":\"p\"}}' ;;\n"
		"	*'\"do\": \"ring_id\"'*) say '{\"done\":{\"code\":\"ok\",\"ring_id\":\"abcd\"}}' ;;\n"
		"	*) say '{\"done\":{\"code\":\"ok\"}}' ;;\n"
		"	esac\n"
		"done\n",
		folder, cases);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(chmod(worker, 0700), 0);
}

/* What the file holds; "" when there is none. */
static char *text_of(const char *path)
{
	char *text = muster_calloc(1 << 20, 1);
	FILE *in = fopen(path, "re");
	if (in) {
		size_t length = fread(text, 1, (1 << 20) - 1, in);
		text[length] = '\0';
		fclose(in);
	}
	return text;
}

static void check_has(const char *path, const char *part)
{
	char *text = text_of(path);
	ck_assert_msg(strstr(text, part) != NULL, "no %s in %s: %.3000s", part, path, text);
	free(text);
}

static void check_lacks(const char *path, const char *part)
{
	char *text = text_of(path);
	ck_assert_msg(strstr(text, part) == NULL, "%s in %s: %.3000s", part, path, text);
	free(text);
}

static pid_t start_job(const struct muster_mpi_module *mpi)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen(output, "we", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
			_exit(100);
		muster_process_run(&options, &(struct muster_process_job){ .mpi = mpi, .run_name = "the run" });
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static pid_t start(void)
{
	return start_job(NULL);
}

static int end(pid_t pid)
{
	int status = 0;
	double until_ms = muster_now_ms() + PATIENCE_MS;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		ck_assert_msg(muster_now_ms() < until_ms, "the process did not end");
		poll(NULL, 0, 5);
	}
	ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void wait_for(const char *path, const char *part)
{
	double until_ms = muster_now_ms() + PATIENCE_MS;
	for (bool there = false; !there;) {
		char *text = text_of(path);
		there = strstr(text, part) != NULL;
		free(text);
		ck_assert_msg(there || muster_now_ms() < until_ms, "no %s in %s", part, path);
		poll(NULL, 0, 5);
	}
}

/* The number behind a key, behind `what`, in the file. */
static double number_behind(const char *path, const char *what, const char *key)
{
	char *text = text_of(path), *name = muster_asprintf("\"%s\": ", key);
	const char *at = strstr(text, what);
	ck_assert_msg(at != NULL, "no %s in %s", what, text);
	at = strstr(at, name);
	ck_assert_msg(at != NULL, "no %s in %s", name, text);
	double number = strtod(at + strlen(name), NULL);
	free(name);
	free(text);
	return number;
}

/* The number behind a key in the command with this action. */
static double number_in(const char *action, const char *key)
{
	char *what = muster_asprintf("{\"do\": \"%s\"", action);
	double number = number_behind(commands, what, key);
	free(what);
	return number;
}

/* _i: the most that a probe's command may take, in seconds; 0: the probe's own deadline */
TEST_LOOP(commands_come_in_their_order_and_a_report_is_written, 0, 4)
{
	static const char *const order[] = { "\"open\"", "\"take\"", "\"peers\"", "\"run\", \"probe\": \"launch\"",
		"\"ring_id\"", "\"ring\"", "\"finish\"" };
	write_worker("");
	options.probe_deadline_s = _i;
	options.deadline_s = 600;
	ck_assert_int_eq(end(start()), MUSTER_EXIT_INCONCLUSIVE); /* nothing was measured */
	char *text = text_of(commands);
	const char *at = text;
	for (int i = 0; i < LENGTH(order); i++) {
		ck_assert_msg((at = strstr(at, order[i])) != NULL, "%s not behind the others: %s", order[i], text);
		at++;
	}
	free(text);
	check_has(commands, "\"node\": \"node-1\"");
	check_has(options.report, "\"simulated\": true");
	check_has(options.report, "\"GPU-1\"");
	check_lacks(output, "--spool");
	check_has(output, "MUSTER INCONCLUSIVE sku=Standard_NC40ads_H100_v5 nodes=1 ranks=1 ");
	/* a worker gives up a ring before its supervisor gives up the worker: by a second, or in half of a short time
	 */
	double deadline_ms = _i ? _i * 1e3 : muster_probe_find("nccl_allreduce")->deadline_ms + 10;
	ck_assert_double_eq(number_in("ring", "timeout_ms"), deadline_ms > 2000 ? deadline_ms - 1000 : deadline_ms / 2);
}

TEST(a_worker_that_crashes_in_a_probe_is_replaced_and_named)
{
	write_worker("	*'\"run\", \"probe\": \"launch\"'*) say '{\"step\":\"the last step\"}'; echo broken >&2; kill "
		     "-SEGV $$ ;;\n");
	ck_assert_int_eq(end(start()), MUSTER_EXIT_FAIL);
	check_has(options.report, "signal 11");
	check_has(options.report, "the last step");
	check_has(options.report, "last output: broken");
	char *text = text_of(commands), *second = strstr(text, "\"launch\"");
	ck_assert_ptr_nonnull(second);
	ck_assert_msg(
		strstr(second, "\"open\"") && strstr(second, "\"take\"") && strstr(second, "\"peers\""), "%s", text);
	ck_assert_ptr_null(strstr(text, "\"skip\": true"));
	free(text);
}

TEST(drivers_that_kill_a_worker_are_left_out_by_the_next_one)
{
	write_worker("	'{\"do\": \"open\"}') say '{\"step\":\"cuInit\"}'; exit 7 ;;\n"
		     "	*'\"do\": \"take\"'*cuInit*) say '{\"done\":{\"code\":\"ok\",\"why_none\":\"skipped\"}}' ;;\n");
	ck_assert_int_eq(end(start()), MUSTER_EXIT_FAIL);
	check_has(commands, "{\"do\": \"open\", \"skip\": true}");
	check_has(commands, "exit status 7; last step: cuInit");
}

TEST(a_worker_that_always_dies_is_not_started_for_ever)
{
	write_worker("	*) exit 7 ;;\n");
	ck_assert_int_eq(end(start()), MUSTER_EXIT_FAIL);
	check_has(options.report, "every worker died: ");
	char *text = text_of(commands);
	size_t lines = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	ck_assert_uint_le(lines, 3);
	free(text);
}

TEST(a_signal_ends_the_run_with_a_report_of_what_was_measured)
{
	write_worker("	*'\"run\"'*) sleep 100 ;;\n");
	pid_t pid = start();
	wait_for(commands, "\"run\"");
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	ck_assert_int_eq(end(pid), MUSTER_EXIT_INCONCLUSIVE);
	check_has(options.report, "\"interrupted\": \"rank 0 received SIGTERM after ");
	check_has(options.report, "\"GPU-1\"");
	check_has(output, "MUSTER INCONCLUSIVE ");
}

TEST_LOOP(a_run_that_cannot_be_reported_does_not_begin, 0, 3)
{
	write_worker("");
	if (_i == 0)
		options.report = in_folder("nowhere/report.json");
	else if (_i == 1)
		options.sku = in_folder("nowhere.json");
	else
		options.spool = worker; /* a file */
	ck_assert_int_eq(end(start()), MUSTER_EXIT_USAGE);
	check_has(output, _i == 0 ? "--report " : _i == 1 ? "nowhere.json" : "--spool ");
	check_lacks(commands, "\"take\"");
}

TEST_LOOP(the_spool_has_the_run_and_its_end, 0, 4)
{
	char *spool = in_folder("spool/node-1.jsonl");
	write_worker("");
	options.spool = in_folder("spool");
	setenv("SLURM_JOB_NODELIST", "node-[1-9]", 1);
	if (_i > 0)
		setenv("SLURM_STEP_NODELIST", "node-[1-2]", 1);
	if (_i > 1) /* mpirun's, whose daemons are that step */
		setenv("PMIX_NAMESPACE", "prterun-1", 1);
	setenv("SLURM_JOB_NUM_NODES", "9", 1);
	if (_i > 1) /* on all nodes of the job, or on some */
		setenv("OMPI_MCA_orte_num_nodes", _i == 2 ? "9" : "2", 1);
	ck_assert_int_eq(end(start()), MUSTER_EXIT_INCONCLUSIVE);
	if (_i == 3)
		check_lacks(spool, "nodelist");
	else
		check_has(spool, _i == 1 ? "\"nodelist\": \"node-[1-2]\"" : "\"nodelist\": \"node-[1-9]\"");
	/* a rank that dies in its first probe has told which GPU is its own */
	char *text = text_of(spool);
	const char *about = strstr(text, "\"about_rank\"");
	ck_assert_msg(about && about < strstr(text, "\"outcome\""), "%s", text);
	free(text);
	check_has(spool, "\"run\": \"the run\"");
	check_has(spool, "\"probe\": \"launch\"");
	check_has(spool, "\"end\": \"\"");
	free(spool);
}

/* A launcher without MPI starts several jobs of one rank: only the first reports. */
TEST_LOOP(of_many_jobs_of_one_rank_the_first_reports, 0, 2)
{
	setenv("OMPI_COMM_WORLD_RANK", _i ? "3" : "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
	write_worker("");
	ck_assert_int_eq(end(start()), MUSTER_EXIT_INCONCLUSIVE);
	if (_i) {
		check_lacks(output, "MUSTER");
		ck_assert_int_ne(access(options.report, F_OK), 0);
	} else {
		check_has(output, "the launcher started 4 processes, but MPI sees only one: this is a job of one rank");
		check_has(options.report, "\"GPU-1\"");
	}
}

TEST(no_command_gets_more_time_than_the_run_has_left)
{
	write_worker("	*'\"finish\"'*) sleep 0.3; say '{\"done\":{\"code\":\"ok\"}}' ;;\n");
	options.deadline_s = 30;
	double start_ms = muster_now_ms();
	ck_assert_int_eq(end(start()), MUSTER_EXIT_INCONCLUSIVE);
	double elapsed_s = (muster_now_ms() - start_ms) / 1e3;
	ck_assert_double_lt(number_in("ring", "timeout_ms"), 30000);
	ck_assert_double_ge(number_behind(options.report, "\"job\"", "elapsed_s"), 0.3);
	ck_assert_double_le(number_behind(options.report, "\"job\"", "elapsed_s"), elapsed_s);
}

/* Each finding is a line of its own, at the probe that it is about; what was left out is none. */
TEST(findings_are_lines_for_log_collectors)
{
	write_worker("	*'\"run\", \"probe\": \"launch\"'*) kill -SEGV $$ ;;\n");
	muster_log_as_json(true);
	ck_assert_int_eq(end(start()), MUSTER_EXIT_FAIL);
	check_has(output, "\"node\": \"node-1\", \"rank\": 0, \"probe\": \"launch\", \"check\": \"probe.launch\", "
			  "\"status\": \"fail\", ");
	check_has(output, "\"message\": \"fail probe.launch");
	check_lacks(output, "\"message\": \"skip ");
}

/* ---- the limit of the process ---- */

/* A line for each wait and for the close: the seconds until the process is ended. */
static void say_limit(const char *when)
{
	struct itimerval left;
	getitimer(ITIMER_REAL, &left);
	fprintf(stderr, "%s: %d s left\n", when, (int)left.it_value.tv_sec);
}

static struct muster_transport_ops watched_ops;
static void (*socket_wait)(struct muster_transport *t, int fd, double until_ms);
static void (*socket_close)(struct muster_transport *t, int grace_ms);

static void watched_wait(struct muster_transport *t, int fd, double until_ms)
{
	static bool said;
	if (!said)
		say_limit("first wait");
	said = true;
	socket_wait(t, fd, until_ms);
}

static void watched_close(struct muster_transport *t, int grace_ms)
{
	say_limit("close");
	fprintf(stderr, "close: grace %d ms\n", grace_ms);
	socket_close(t, grace_ms);
}

static int open_watched(const struct muster_clock *clock, int *argc, char ***argv, struct muster_transport **ret,
	struct muster_error *warning, struct muster_error *err)
{
	(void)argc, (void)argv;
	warning->text[0] = '\0';
	if (muster_transport_socket_start(1, clock, ret, err) < 0)
		return -1;
	watched_ops = *(*ret)->ops;
	socket_wait = watched_ops.wait;
	socket_close = watched_ops.close;
	watched_ops.wait = watched_wait;
	watched_ops.close = watched_close;
	(*ret)->ops = &watched_ops;
	return 0;
}

/* The run has 600 s; the report 3.5 s and a little for its rank, and the process 1.5 s more. */
TEST(a_process_that_hangs_is_ended_after_the_run_and_not_before)
{
	static const struct muster_mpi_module mpi = { .open = open_watched };
	options.deadline_s = 600;
	write_worker("");
	ck_assert_int_eq(end(start_job(&mpi)), MUSTER_EXIT_INCONCLUSIVE);
	char *text = text_of(output);
	const char *first = strstr(text, "first wait: ");
	ck_assert_msg(first != NULL, "%s", text);
	int left = (int)strtol(first + strlen("first wait: "), NULL, 10);
	ck_assert_int_le(left, 605);
	ck_assert_int_gt(left, 605 - PATIENCE_MS / 1000);
	free(text);
	/* MPI_Finalize has 5 s, of which it waits half for other ranks */
	check_has(output, "close: 5 s left");
	check_has(output, "close: grace 2500 ms");
}

/* ---- before MPI is there ---- */

static int hang(const struct muster_clock *clock, int *argc, char ***argv, struct muster_transport **ret,
	struct muster_error *warning, struct muster_error *err)
{
	(void)clock;
	(void)argc;
	(void)argv;
	(void)ret;
	(void)warning;
	(void)err;
	while (pause() < 0)
		continue;
	return 0;
}

/* _i: 0: a job of 4 ranks; 1: of one; 2: rank 3 of 4 */
TEST_LOOP(a_signal_before_mpi_is_there_is_reported_by_rank_0, 0, 3)
{
	static const struct muster_mpi_module mpi = { .open = hang };
	static const char missing[] = "MPI_Init had not returned when the run was given up";
	setenv("OMPI_COMM_WORLD_RANK", _i == 2 ? "3" : "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", _i == 1 ? "1" : "4", 1);
	write_worker("");
	pid_t pid = start_job(&mpi);
	wait_for(commands, "\"open\"");
	poll(NULL, 0, 100); /* so that MPI_Init is called */
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	ck_assert_int_eq(end(pid), MUSTER_EXIT_INCONCLUSIVE);
	if (_i == 2) {
		check_has(output, "rank 3 received SIGTERM after ");
		ck_assert_int_ne(access(options.report, F_OK), 0);
		return;
	}
	check_has(output, "MUSTER INCONCLUSIVE ");
	check_has(options.report, "\"interrupted\": \"rank 0 received SIGTERM after ");
	check_has(options.report, "\"node-1\"");
	for (size_t i = 0; i < muster_probe_count(); i++) {
		char *probe = muster_asprintf("\"probe\": \"%s\"", muster_probe_at(i)->name);
		check_has(options.report, probe);
		free(probe);
	}
	if (_i == 0) {
		check_has(options.report, missing);
	} else {
		check_lacks(options.report, missing);
		check_has(output, " nodes=1 ranks=1 ");
	}
}

TEST(an_mpi_that_does_not_start_is_reported_after_a_third_of_the_time)
{
	static const struct muster_mpi_module mpi = { .open = hang };
	setenv("OMPI_COMM_WORLD_RANK", "0", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
	options.deadline_s = 3;
	write_worker("");
	ck_assert_int_eq(end(start_job(&mpi)), MUSTER_EXIT_INCONCLUSIVE);
	check_has(options.report, "\"interrupted\": \"MPI_Init did not return within ");
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_client.c - what a supervisor makes of a worker's lines: rank 0 can read whatever it takes from them
 *
 * The worker is a shell script that prints prepared lines where results go. Lines are written with ' in place of ".
 */
#include "muster/arena.h"
#include "muster/report.h"
#include "coord/worker_process.h"
#include "muster/probe.h"

#include "check_main.h"
#include "muster/run.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/muster-lines-XXXXXX";
static char script[64], lines[64], next[64], now[64]; /* lines: of the worker; next: of its successor, if any */

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(script, sizeof script, "%s/worker", folder);
	snprintf(lines, sizeof lines, "%s/lines", folder);
	snprintf(next, sizeof next, "%s/next", folder);
	snprintf(now, sizeof now, "%s/now", folder);
	FILE *out = fopen(script, "we");
	ck_assert_ptr_nonnull(out);
	fprintf(out, "#!/bin/sh\nmv %s %s\n[ ! -e %s ] || mv %s %s\ncat %s >&4\nread -r quit <&3\n", lines, now, next,
		next, lines, now);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(chmod(script, 0700), 0);
}

static void teardown(void)
{
	unlink(script);
	unlink(lines);
	unlink(next);
	unlink(now);
	rmdir(folder);
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	for (; *text; text++)
		fputc(*text == '\'' ? '"' : *text, out);
	ck_assert_int_eq(fclose(out), 0);
}

static void write_lines(const char *text)
{
	write_file(lines, text);
}

/* A client of the script, with everything that its supervisor has. */
struct client_of_script {
	struct muster_worker_client client;
	struct muster_worker_process process;
	struct muster_deadlines deadlines;
	struct muster_record record;
};

static void start(struct client_of_script *it, struct muster_arena *arena)
{
	struct muster_error err;
	*it = (struct client_of_script){ 0 };
	muster_deadlines_init(&it->deadlines, 1);
	muster_worker_process_init(&it->process, script);
	it->client = (struct muster_worker_client){
		.ops = &muster_worker_process_ops,
		.worker = &it->process,
		.clock = &muster_clock_monotonic,
		.deadlines = &it->deadlines,
		.record = &it->record,
		.arena = arena,
		.rank = 0,
	};
	ck_assert_msg(muster_worker_client_start(&it->client, &err) == 0, "%s", err.text);
}

static void stop(struct client_of_script *it)
{
	muster_worker_client_done(&it->client, 0);
	muster_worker_process_done(&it->process);
	muster_record_done(&it->record);
}

static enum muster_worker_state give_command(struct client_of_script *it)
{
	enum muster_worker_state state;
	muster_worker_client_command(&it->client, "{}", 60000);
	while ((state = muster_worker_client_poll(&it->client)) == MUSTER_WORKER_BUSY)
		poll(NULL, 0, 1);
	return state;
}

/* Give the worker a command and wait for its end; run is what rank 0 then reads. */
static void work(struct muster_run *run)
{
	struct client_of_script it;
	struct muster_record_parts parts;
	muster_run_init(run);
	muster_run_add_node(run, "node-1");
	start(&it, run->arena);
	give_command(&it);
	struct muster_outcome outcome = muster_worker_client_outcome(&it.client, "gpu_copy");
	char *line = muster_record_outcome_line(&outcome);
	muster_record_add(&it.record, line, strlen(line));
	free(line);
	struct muster_record_reader *reader = muster_record_reader_new(run->arena, muster_metric_find);
	muster_record_parts_init(&parts, 0);
	muster_record_read(reader, it.record.bytes, it.record.length, &parts);
	muster_record_merge(run, 0, &parts);
	muster_record_reader_free(reader);
	stop(&it);
}

#define DONE "{'done': {'code': 'ok'}}\n"
static const struct {
	const char *text, *error; /* error: a part of it; NULL when the lines are taken */
	size_t samples;
	bool by_rank_0; /* rank 0 finds it when it reads the record; otherwise the worker is ended */
} cases[] = {
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'labels': {'gpu': '0001:00:00.0'}, 'value': 26.1}}\n" DONE, NULL, 1,
		false },
	{ "{'sample': {'metric': 'rank.cpus', 'value': 8}}\n" DONE, NULL, 1, false },
	{ "{'sample': {'metric': 'rank.cpus', 'labels': {}, 'value': 8}}\n" DONE, NULL, 1, false },
	{ "{'sample': {'metric': 'rank.cpus', 'value': null}}\n" DONE, NULL, 1, false },
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'value': 26.1}}\n" DONE,
		"gpu.h2d_gbps has the label \"gpu\", which is missing", 0, true },
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'labels': {}, 'value': 26.1}}\n" DONE,
		"gpu.h2d_gbps has the label \"gpu\", which is missing", 0, true },
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'labels': {'port': 'x'}, 'value': 26.1}}\n" DONE,
		"gpu.h2d_gbps has the label \"gpu\", which is missing", 0, true },
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'labels': {'gpu': 1}, 'value': 26.1}}\n" DONE,
		"$.sample.labels.gpu: a string is needed, found 1", 0, true },
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'labels': {'gpu': true}, 'value': 26.1}}\n" DONE,
		"$.sample.labels.gpu: a string is needed, found true", 0, true },
	{ "{'sample': {'metric': 'gpu.h2d_gbps', 'labels': {'gpu': 'x', 'port': 'y'}, 'value': 26.1}}\n" DONE,
		"gpu.h2d_gbps has no label \"port\"", 0, true },
	{ "{'sample': {'metric': 'rank.cpus', 'value': 8}}\n{'sample': {'metric': 'rank.cpus', 'value': 'x'}}\n" DONE,
		"rank.cpus is a number, found a string", 1, true },
	{ "{'sample': {'metric': 'rank.cpus', 'value': 1e999}}\n" DONE, "a number is too large for a double", 0,
		false },
	{ "{'sample': {'metric': 'nobody.knows', 'value': 8}}\n" DONE, "unknown metric \"nobody.knows\"", 0, true },
	{ "{'sample': {'metric': 'rank.cpus', 'value': 8, 'values': [7, 9]}}\n" DONE,
		"rank.cpus has several values and no windows", 0, true },
	{ "{'sample': {'metric': 'rank.allreduce_us', 'labels': {'bytes': 8}, 'value': 7, 'values': [7, 9]}}\n" DONE,
		NULL, 1, false },
	{ "{'sample': {'metric': 'rank.cpus', 'value': 8, 'weight': 1}}\n" DONE, "$.sample.weight: unknown key", 0,
		true },
	{ "[1]\n" DONE, "a malformed line from the worker: $: an object is needed, found an array", 0, false },
	{ "{'sample'\n" DONE, "a malformed line from the worker", 0, false },
	/* an answer without its newline may be a part of one */
	{ "{'sample': {'metric': 'rank.cpus', 'value': 8}}\n{'done': {'code': 'ok'}}", "the worker ended", 1, false },
};

TEST_EACH(a_line_is_taken_whole_or_is_an_error_and_what_came_before_is_kept, cases)
{
	struct muster_run run;
	write_lines(cases[_i].text);
	work(&run);
	const struct muster_rank *rank = &run.nodes[0].ranks[0];
	const struct muster_outcome *outcome = &rank->outcomes.items[0];
	ck_assert_uint_eq(rank->samples.count, cases[_i].samples);
	ck_assert_int_eq(outcome->status, !cases[_i].error      ? MUSTER_OUTCOME_OK
					  : cases[_i].by_rank_0 ? MUSTER_OUTCOME_ERROR
								: MUSTER_OUTCOME_CRASHED);
	if (cases[_i].error)
		ck_assert_msg(strstr(outcome->detail, cases[_i].error) != NULL, "%s", outcome->detail);
	muster_run_done(&run);
}

#define FAILING "{'failing': {'code': 'vendor', 'error': 'it failed'}}\n"
#define TAIL "{'evidence': 'the log ends: first'}\n{'evidence': 'the log ends: last'}\n"
static const struct {
	const char *text, *detail, *evidence;
} ends[] = {
	{ TAIL "{'done': {'code': 'vendor', 'error': 'it failed'}}\n", "it failed", "the log ends: last" },
	{ TAIL DONE, NULL, NULL },
	{ "{'evidence': 3}\n{'done': {'code': 'vendor', 'error': 'it failed'}}\n",
		"a malformed line from the worker: $.evidence: a string is needed, found 3; ", NULL },
	/* a failure that is announced stays the error of a worker that does not come back from it */
	{ FAILING "{'step': 'ncclCommAbort'}\n[]\n", "it failed; then its worker did not return from ncclCommAbort (",
		NULL },
	{ FAILING "[]\n", "it failed; then its worker did not return from cleaning up (", NULL },
};

TEST_EACH(evidence_is_kept_apart_from_the_error, ends)
{
	struct muster_run run;
	write_lines(ends[_i].text);
	work(&run);
	const struct muster_outcome *outcome = &run.nodes[0].ranks[0].outcomes.items[0];
	if (ends[_i].detail) /* how the script ended then is a race */
		ck_assert_msg(
			strncmp(outcome->detail, ends[_i].detail, strlen(ends[_i].detail)) == 0, "%s", outcome->detail);
	else
		ck_assert_ptr_null(outcome->detail);
	ck_assert_pstr_eq(outcome->evidence, ends[_i].evidence);
	muster_run_done(&run);
}

/* A list of CPU masks for all ranks of a large node is longer than rank 0 takes, and is no reason to lose the node. */
TEST(a_text_too_long_for_a_report_becomes_null_with_the_reason)
{
	static const char frame[] = "{'sample': {'metric': 'rank.slurm_cpu_bind', 'value': '%s'}}\n" DONE;
	struct muster_run run;
	for (size_t length = 4096; length <= 4097; length++) {
		char *masks = muster_calloc(length + 1, 1);
		memset(masks, 'f', length);
		const char *at = strstr(frame, "%s");
		char *text = muster_asprintf("%.*s%s%s", (int)(at - frame), frame, masks, at + 2);
		write_lines(text);
		work(&run);
		const struct muster_sample *sample = &run.nodes[0].ranks[0].samples.items[0];
		if (length == 4096)
			ck_assert_str_eq(sample->value.string, masks);
		else
			ck_assert_str_eq(sample->reason, "a text of 4097 bytes, at most 4096 are kept");
		free(masks);
		free(text);
		muster_run_done(&run);
	}
}

/* One line again and again, then the end. */
static void write_flood(const char *line, size_t count)
{
	char *text = muster_calloc(count * strlen(line) + sizeof DONE, 1), *at = text;
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, line);
	stpcpy(at, DONE);
	write_lines(text);
	free(text);
}

#define STEP "{'step': 'one step of a great many'}\n"
#define SAMPLE "{'sample': {'metric': 'rank.cpus', 'value': 8}}\n"
static const struct {
	const char *line;
	size_t count, samples;
	const char *error;
} floods[] = {
	{ STEP, 8 * 1024 * 1024 / (sizeof STEP - 1) - 1, 0, NULL },
	{ STEP, 8 * 1024 * 1024 / (sizeof STEP - 1) + 1, 0, "the worker sent more than 8388608 bytes to one command" },
	{ SAMPLE, 16000, 16000, NULL },
	{ SAMPLE, 16001, 16000, "more than 16000 samples in one command" },
};

TEST_EACH(a_worker_that_floods_is_ended_and_its_successor_is_heard, floods)
{
	struct client_of_script it;
	write_flood(floods[_i].line, floods[_i].count);
	write_file(next, SAMPLE DONE);
	struct muster_arena *arena = muster_arena_new();
	start(&it, arena);
	enum muster_worker_state state = give_command(&it);
	ck_assert_uint_eq(it.record.samples, floods[_i].samples);
	ck_assert_int_eq(state, floods[_i].error ? MUSTER_WORKER_CRASHED : MUSTER_WORKER_DONE);
	if (floods[_i].error) {
		ck_assert_msg(strstr(it.client.answer.error, floods[_i].error) != NULL, "%s", it.client.answer.error);
		ck_assert_int_eq(give_command(&it), MUSTER_WORKER_DONE);
		ck_assert_uint_eq(it.record.samples, floods[_i].samples + 1);
	}
	stop(&it);
	muster_arena_free(arena);
}

/* However many commands it had for them. */
TEST_LOOP(a_rank_has_at_most_40000_samples, 0, 2)
{
	struct client_of_script it;
	struct muster_arena *arena = muster_arena_new();
	write_lines(_i ? SAMPLE SAMPLE DONE : SAMPLE DONE);
	start(&it, arena);
	it.record.samples = 39999;
	ck_assert_int_eq(give_command(&it), _i ? MUSTER_WORKER_CRASHED : MUSTER_WORKER_DONE);
	ck_assert_uint_eq(it.record.samples, 40000);
	if (_i)
		ck_assert_msg(strncmp(it.client.answer.error, "more than 40000 samples; ", 25) == 0, "%s",
			it.client.answer.error);
	stop(&it);
	muster_arena_free(arena);
}

/* In place of the script: one that never answers. */
static void write_silent(void)
{
	write_file(script, "#!/bin/sh\nexec sleep 100\n");
	ck_assert_int_eq(chmod(script, 0700), 0);
}

/* After a time in which a worker that is only slow would have answered; less is an error that says nothing of the node.
 */
TEST_LOOP(a_worker_without_an_answer_hangs_at_its_deadline, 0, 2)
{
	struct client_of_script it;
	struct muster_arena *arena = muster_arena_new();
	write_silent();
	start(&it, arena);
	it.deadlines.hang_least = _i ? 301 : 300;
	muster_worker_client_command(&it.client, "{}", 300);
	ck_assert_double_le(muster_worker_client_next(&it.client), it.client.started_ms + 300);
	while (muster_worker_client_poll(&it.client) == MUSTER_WORKER_BUSY)
		poll(NULL, 0, 1);
	struct muster_outcome outcome = muster_worker_client_outcome(&it.client, "gpu_copy");
	const char *detail = _i ? "no answer within its deadline of 0.3 s, too short to prove a hang (0.301 s); killed"
				: "no answer within its deadline of 0.3 s; killed";
	ck_assert_int_eq(outcome.status, _i ? MUSTER_OUTCOME_ERROR : MUSTER_OUTCOME_HUNG);
	ck_assert_pstr_eq(outcome.code, _i ? "time" : NULL);
	ck_assert_msg(strncmp(outcome.detail, detail, strlen(detail)) == 0, "%s", outcome.detail);
	ck_assert_double_ge(outcome.elapsed_ms, 300);
	stop(&it);
	muster_arena_free(arena);
}

/* One that uses its CPU all the time; on a busy machine others may keep it from the CPUs. */
TEST(a_worker_that_never_stops_computing_is_ended)
{
	struct client_of_script it;
	struct muster_arena *arena = muster_arena_new();
	write_file(script, "#!/bin/sh\nwhile :; do :; done\n");
	ck_assert_int_eq(chmod(script, 0700), 0);
	start(&it, arena);
	it.deadlines.hang_least = 0;
	muster_worker_client_command(&it.client, "{}", 300);
	while (muster_worker_client_poll(&it.client) == MUSTER_WORKER_BUSY)
		poll(NULL, 0, 1);
	ck_assert_int_eq(it.client.state, MUSTER_WORKER_HUNG);
	ck_assert_msg(strstr(it.client.answer.error, "killed") != NULL, "%s", it.client.answer.error);
	stop(&it);
	muster_arena_free(arena);
}

static double starved_by_ms; /* in each command, of which it is asked at the begin and at the end */
static double count_starved(void *worker)
{
	static double total;
	(void)worker;
	total += starved_by_ms;
	return total;
}

/* A probe that other programs kept from the CPUs says nothing of the node. */
TEST_LOOP(a_worker_without_a_cpu_is_not_hung, 0, 2)
{
	struct client_of_script it;
	struct muster_arena *arena = muster_arena_new();
	struct muster_worker_ops ops = muster_worker_process_ops;
	write_silent();
	start(&it, arena);
	ops.starved_ms = count_starved;
	it.client.ops = &ops;
	it.deadlines.hang_least = 0;
	starved_by_ms = _i ? 160 : 140;
	muster_worker_client_command(&it.client, "{}", 300);
	while (muster_worker_client_poll(&it.client) == MUSTER_WORKER_BUSY)
		poll(NULL, 0, 1);
	struct muster_outcome outcome = muster_worker_client_outcome(&it.client, "gpu_copy");
	const char *detail = _i ? "no answer within its deadline of 0.3 s, of which it waited 0.2 s for a CPU: other "
				  "programs of this host used them; killed"
				: "no answer within its deadline of 0.3 s; killed";
	ck_assert_int_eq(outcome.status, _i ? MUSTER_OUTCOME_ERROR : MUSTER_OUTCOME_HUNG);
	ck_assert_pstr_eq(outcome.code, _i ? "time" : NULL);
	ck_assert_str_eq(outcome.detail, detail);
	stop(&it);
	muster_arena_free(arena);
}

/* The answer to one command says nothing about the next one, at which the script ends. */
TEST(the_error_of_a_command_is_not_that_of_the_next_one)
{
	struct client_of_script it;
	struct muster_arena *arena = muster_arena_new();
	signal(SIGPIPE, SIG_IGN); /* as in every process of a job */
	write_lines("{'done': {'code': 'vendor', 'error': 'it failed'}}\n");
	start(&it, arena);
	ck_assert_int_eq(give_command(&it), MUSTER_WORKER_DONE);
	struct muster_outcome outcome = muster_worker_client_outcome(&it.client, "gpu_copy");
	ck_assert_int_eq(outcome.status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome.code, "vendor");
	ck_assert_int_eq(give_command(&it), MUSTER_WORKER_CRASHED);
	outcome = muster_worker_client_outcome(&it.client, "gpu_copy");
	ck_assert_int_eq(outcome.status, MUSTER_OUTCOME_CRASHED);
	ck_assert_ptr_null(outcome.code);
	stop(&it);
	muster_arena_free(arena);
}

TEST(a_worker_that_is_stopped_is_ended_and_takes_no_command)
{
	struct client_of_script it;
	struct muster_arena *arena = muster_arena_new();
	write_silent();
	start(&it, arena);
	muster_worker_client_command(&it.client, "{}", 60000);
	ck_assert_int_gt(it.process.pid, 0);
	pid_t pid = it.process.pid;
	muster_worker_client_stop(&it.client, MUSTER_EINTERRUPTED, "enough");
	ck_assert_int_ne(kill(pid, 0), 0);
	ck_assert_int_eq(it.client.state, MUSTER_WORKER_DONE);
	muster_worker_client_command(&it.client, "{}", 60000);
	ck_assert_int_eq(it.client.state, MUSTER_WORKER_DONE);
	struct muster_outcome outcome = muster_worker_client_outcome(&it.client, "gpu_copy");
	ck_assert_int_eq(outcome.status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome.code, muster_code_name(MUSTER_EINTERRUPTED));
	ck_assert_str_eq(outcome.detail, "enough");
	stop(&it);
	muster_arena_free(arena);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200)

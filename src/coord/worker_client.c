/* SPDX-License-Identifier: Apache-2.0 */
/* worker_client.c - a supervisor's side of its worker
 *
 * The lines of a worker (worker/protocol.h), and what becomes of each:
 *
 *   {"sample":…}     goes to the end of the record as it is, and to the spool; only its JSON syntax is checked here
 *   {"step":…}       is kept as the last step, and goes to the spool
 *   {"evidence":…}   is kept
 *   {"failing":…}    is kept as the answer; the command goes on
 *   {"done":…}       is the answer: the command is DONE
 *   another key      is malformed, as what is no JSON: the worker is ended and replaced, as after a crash
 *
 * Texts of a line are copied into the client's arena, so outcomes and findings may point at them until the run ends.
 */
#include "coord/worker_client.h"

#include "json/scan.h"
#include "spool/write.h"
#include "util/log.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARVED 0.5 /* of its time without a CPU: a probe that does not end says nothing of the node */

/* Samples of one rank and of one command: far above what probes yield, and a probe that floods leaves room for others.
 * TEXT_MAX: bytes of a text, more than a worker sends. CANCEL_MAX: bytes of a reason, for which the worker has 400.
 * END_MS, STOP_MS: how long a worker that was killed is waited for, after its loss and at the end. */
enum {
	SAMPLES_MAX = 40000,
	COMMAND_SAMPLES_MAX = 16000, /* 32 of each of 500 RDMA ports */
	TEXT_MAX = 1599,
	CANCEL_MAX = 399,
	END_MS = 2000,
	STOP_MS = 1000
};

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static double now(const struct muster_worker_client *client)
{
	return muster_clock_now(client->clock);
}

static double starved_ms(const struct muster_worker_client *client)
{
	return client->ops->starved_ms ? client->ops->starved_ms(client->worker) : 0;
}

/* gpu, uuid, path and agree are "" until a command has set them. */
int muster_worker_client_start(struct muster_worker_client *client, struct muster_error *err)
{
	client->state = MUSTER_WORKER_IDLE;
	client->born_ms = now(client);
	client->answer = (struct muster_worker_answer){ .code = "", .gpu = "", .uuid = "", .path = "", .agree = "" };
	return client->ops->start(client->worker, err);
}

/* ---- commands ---- */

char *muster_command_text(const char *action, const char *key, struct muster_value value,
	const struct muster_object_type *type, const void *more)
{
	struct muster_json_writer_text command;
	muster_json_writer_text_begin(&command);
	muster_json_writer_object(&command.w);
	muster_json_writer_pair(&command.w, "do", muster_string(action));
	if (key)
		muster_json_writer_pair(&command.w, key, value);
	if (type)
		muster_members_write(&command.w, type, more);
	muster_json_writer_object_end(&command.w);
	return muster_json_writer_text_end(&command);
}

void muster_worker_client_extend(struct muster_worker_client *client, int deadline_ms, double hang_least_ms)
{
	client->deadline_ms = deadline_ms;
	client->until_ms = client->started_ms + deadline_ms;
	client->hang_least_ms = hang_least_ms;
}

/* Code, error, id and figures of the answer are those of this command; the GPU, its path and the like stay from the
 * command that has reported them. */
void muster_worker_client_command(struct muster_worker_client *client, const char *text, int deadline_ms)
{
	struct muster_error err;
	client->started_ms = now(client);
	if (client->stopped) {
		client->state = MUSTER_WORKER_DONE;
		return;
	}
	client->state = MUSTER_WORKER_BUSY;
	client->starved_ms = starved_ms(client);
	muster_worker_client_extend(client, deadline_ms, client->deadlines->hang_least);
	client->heard = client->samples = 0;
	client->failing = false;
	client->step = client->evidence = client->cancelled_why = NULL;
	client->answer.code = "";
	client->answer.error = client->answer.ring_id = NULL;
	client->answer.figure_count = 0;
	/* an error here is followed by the end of the results, which says more */
	(void)client->ops->send(client->worker, text, strlen(text), &err);
}

void muster_worker_client_cancel(struct muster_worker_client *client, const char *why)
{
	struct muster_error err;
	if (client->state != MUSTER_WORKER_BUSY || client->cancelled_why)
		return;
	client->cancelled_why = muster_arena_printf(client->arena, "%.*s", CANCEL_MAX, *why ? why : "no reason given");
	client->until_ms = fmin(client->until_ms, now(client) + client->deadlines->command_cancel);
	char *text = muster_command_text("abort", "why", muster_string(client->cancelled_why), NULL, NULL);
	(void)client->ops->send(client->worker, text, strlen(text), &err);
	free(text);
}

/* ---- lines ---- */

/* A line that is not a sample: one of these. */
struct line {
	struct muster_worker_answer answer;
	bool done, failing;
	const char *evidence, *step;
};
static const struct muster_field line_fields[] = {
	{ MUSTER_FIELD_AS(line, "done", answer, OBJECT), .optional = true, .present = offsetof(struct line, done),
		.object = &muster_worker_answer_type },
	{ MUSTER_FIELD_AS(line, "failing", answer, OBJECT), .optional = true, .present = offsetof(struct line, failing),
		.object = &muster_worker_answer_type },
	{ MUSTER_FIELD(line, evidence, TEXT), .optional = true },
	{ MUSTER_FIELD(line, step, TEXT), .optional = true },
};
static const struct muster_object_type line_type = MUSTER_OBJECT_TYPE(line, line_fields);

static int read_line(struct muster_worker_client *client, const char *text, size_t length, struct line *ret,
	struct muster_error *err)
{
	struct muster_json_reader reader = { .arena = client->arena, .err = err, .text_max = TEXT_MAX };
	struct muster_json *json = NULL;
	if (muster_json_parse(text, length, &json, err) < 0)
		return -1;
	int rc = muster_object_read(&reader, json, &line_type, ret);
	muster_json_free(json);
	return rc;
}

/* Kept as bytes: rank 0 reads them. A line that is not JSON ends the worker here, where it can be replaced. */
static int take_sample(struct muster_worker_client *client, const char *text, size_t length, struct muster_error *err)
{
	if (muster_json_scan(text, length, err) < 0)
		return muster_wrap(err, "a malformed line from the worker");
	if (client->samples++ >= COMMAND_SAMPLES_MAX)
		return muster_fail(err, MUSTER_EPROTOCOL, "more than %d samples in one command", COMMAND_SAMPLES_MAX);
	if (!client->record)
		return 0;
	if (client->record->samples >= SAMPLES_MAX)
		return muster_fail(err, MUSTER_EPROTOCOL, "more than %d samples", SAMPLES_MAX);
	muster_record_add_sample(client->record, text, length);
	muster_spool_line(client->spool, text, length, false);
	return 0;
}

/* -1 with err when the line is malformed. A sample is known by its first bytes, since it is not parsed here. An answer
 * changes only those members that the line has; `simulated` stays true once a worker has said so. */
static int take_line(struct muster_worker_client *client, const char *text, size_t length, struct muster_error *err)
{
	static const char sample[] = "{\"sample\":";
	struct line line = { .answer = client->answer };
	if (length > sizeof sample && memcmp(text, sample, sizeof sample - 1) == 0)
		return take_sample(client, text, length, err);
	if (read_line(client, text, length, &line, err) < 0)
		return muster_wrap(err, "a malformed line from the worker");
	line.answer.simulated = line.answer.simulated || client->answer.simulated;
	if (line.done || line.failing)
		client->answer = line.answer;
	if (line.done)
		client->state = MUSTER_WORKER_DONE;
	else if (line.failing)
		client->failing = strcmp(client->answer.code, muster_code_name(MUSTER_OK)) != 0;
	if (line.evidence)
		client->evidence = line.evidence;
	if (line.step) {
		client->step = line.step;
		muster_log_trace(client->rank, now(client) - client->born_ms, client->step);
		muster_spool_line(client->spool, text, length, false);
	}
	return 0;
}

/* ---- ends ---- */

/* Start the next worker. If it cannot be started, the next command finds no worker, and ends as one that crashed. */
static void replace(struct muster_worker_client *client)
{
	struct muster_error err;
	if (client->ops->start(client->worker, &err) < 0)
		client->answer.error = muster_arena_printf(
			client->arena, "%s; and no other worker: %.200s", or_empty(client->answer.error), err.text);
}

/* The worker is lost: end it, say why, start another one. The first of these that holds is the error, from the surest
 * evidence to the weakest: what the worker has announced; a cancellation, which is no fault of this rank; a deadline
 * too short to prove a hang; a host without a free CPU; a hang; a crash. Only the last two become HUNG and CRASHED in
 * the outcome: the others set answer.code (muster_worker_client_outcome). */
static void end(struct muster_worker_client *client, enum muster_worker_state state, const char *what)
{
	char how[128], output[256];
	const char *step = or_empty(client->step), *error;
	double starved = starved_ms(client) - client->starved_ms;
	bool by_itself = client->ops->end(client->worker, END_MS, how, sizeof how);
	if (*client->ops->last_output(client->worker, output, sizeof output) && !client->evidence)
		client->evidence = muster_arena_printf(client->arena, "last output: %s", output);
	if (client->failing) { /* the announced failure is the error; how it cleaned up is added */
		error = muster_arena_printf(client->arena, "%s; then its worker did not return from %s (%s)",
			or_empty(client->answer.error), *step ? step : "cleaning up", how);
	} else if (state == MUSTER_WORKER_HUNG && client->cancelled_why) { /* cancelled ranks are not at fault */
		client->answer.code = muster_code_name(MUSTER_ECALLEDOFF);
		error = muster_arena_printf(client->arena,
			"cancelled: %s; the worker did not stop within %.0f s in %s; %s", client->cancelled_why,
			client->deadlines->command_cancel / 1e3, *step ? step : "its call", how);
	} else if (state == MUSTER_WORKER_HUNG && client->deadline_ms < client->hang_least_ms) {
		/* the run had little time left: an error that says nothing of the node */
		client->answer.code = muster_code_name(MUSTER_ETIME);
		error = muster_arena_printf(client->arena,
			"no answer within its deadline of %.1f s, too short to prove a hang (%g s)%s%s; %s",
			client->deadline_ms / 1e3, client->hang_least_ms / 1e3, *step ? ", in " : "", step, how);
	} else if (state == MUSTER_WORKER_HUNG && starved > STARVED * client->deadline_ms) {
		client->answer.code = muster_code_name(MUSTER_ETIME);
		error = muster_arena_printf(client->arena,
			"no answer within its deadline of %.1f s, of which it waited %.1f s for a CPU: other programs "
			"of this host used them%s%s; %s",
			client->deadline_ms / 1e3, starved / 1e3, *step ? "; last step: " : "", step, how);
	} else if (state == MUSTER_WORKER_HUNG) {
		error = muster_arena_printf(
			client->arena, "no answer within its deadline of %.1f s; %s", client->deadline_ms / 1e3, how);
	} else {
		error = muster_arena_printf(client->arena, "%s%s%s%s", what, *what ? "; " : "",
			by_itself ? "the worker ended: "
			: *what   ? ""
				  : "the worker closed its result pipe and did not exit; ",
			how);
	}
	client->answer.error = error;
	client->state = state;
	replace(client);
}

/* Take the lines that have come, up to the answer. 0: the worker lives, or has answered. 1: its results have ended. -1
 * with err: malformed, or more bytes than any command has. */
static int take_lines(struct muster_worker_client *client, struct muster_error *err)
{
	while (client->state == MUSTER_WORKER_BUSY) {
		const char *line;
		size_t length;
		int ended = client->ops->next_line(client->worker, &line, &length, err);
		if (!line)
			return ended;
		client->heard += length + 1;
		int bad = client->heard > MUSTER_PROTOCOL_COMMAND_MAX
				  ? muster_fail(err, MUSTER_EPROTOCOL,
					    "the worker sent more than %d bytes to one command",
					    MUSTER_PROTOCOL_COMMAND_MAX)
				  : take_line(client, line, length, err);
		if (bad)
			return -1;
	}
	return 0;
}

/* The order matters. Printed output is read first, or a worker would stand still with a full pipe. Lines come before
 * the deadline: an answer that lies in the pipe counts, also when the supervisor was stopped meanwhile. */
enum muster_worker_state muster_worker_client_poll(struct muster_worker_client *client)
{
	struct muster_error err = { 0 };
	if (!client->ops)
		return client->state;
	client->ops->read_output(client->worker);
	int ended = take_lines(client, &err);
	if (client->state != MUSTER_WORKER_BUSY)
		return client->state;
	if (ended)
		end(client, MUSTER_WORKER_CRASHED, ended < 0 ? err.text : "");
	else if (now(client) >= client->until_ms)
		end(client, MUSTER_WORKER_HUNG, "");
	return client->state;
}

double muster_worker_client_next(const struct muster_worker_client *client)
{
	if (client->state != MUSTER_WORKER_BUSY)
		return INFINITY;
	return client->ops->next_ms ? fmin(client->ops->next_ms(client->worker), client->until_ms) : client->until_ms;
}

/* The command is DONE and not CRASHED: the worker was ended on purpose, and what the command says is the error. */
void muster_worker_client_stop(struct muster_worker_client *client, enum muster_code code, const char *why)
{
	char how[128];
	if (client->ops)
		client->ops->end(client->worker, STOP_MS, how, sizeof how);
	client->stopped = true;
	client->answer.code = muster_code_name(code);
	client->answer.error = muster_arena_string(client->arena, why);
	if (client->state == MUSTER_WORKER_BUSY)
		client->state = MUSTER_WORKER_DONE;
}

/* For log collectors; people read the summary. */
static void log_outcome(const struct muster_worker_client *client, const struct muster_outcome *outcome)
{
	const struct muster_log_place at = { .node = client->node, .rank = client->rank, .probe = outcome->probe };
	if (muster_log_is_json())
		muster_log(MUSTER_LOG_WARN, &at, "%s: %s%s%s%s%s", muster_outcome_name(outcome->status),
			outcome->detail, outcome->step ? "; last step: " : "", or_empty(outcome->step),
			outcome->evidence ? "; " : "", or_empty(outcome->evidence));
}

/*   how the command ended                       status           code
 *   the worker answered "ok"                    OK               -
 *   it answered with an error, or was stopped   ERROR            of the answer
 *   lost, and the answer has a code (see end)   ERROR            of the announced failure, cancelled, or out of time
 *   lost without a code                         HUNG, CRASHED    -; the last step is given too
 */
struct muster_outcome muster_worker_client_outcome(const struct muster_worker_client *client, const char *probe)
{
	bool answered = client->state == MUSTER_WORKER_DONE, said = answered || *client->answer.code;
	struct muster_outcome outcome = { .probe = probe, .elapsed_ms = now(client) - client->started_ms };
	if (answered && strcmp(client->answer.code, muster_code_name(MUSTER_OK)) == 0)
		return outcome;
	outcome.status = said                                  ? MUSTER_OUTCOME_ERROR
			 : client->state == MUSTER_WORKER_HUNG ? MUSTER_OUTCOME_HUNG
							       : MUSTER_OUTCOME_CRASHED;
	outcome.code = said ? client->answer.code : NULL;
	outcome.step = said ? NULL : client->step;
	outcome.detail = or_empty(client->answer.error);
	outcome.evidence = client->evidence;
	log_outcome(client, &outcome);
	return outcome;
}

void muster_worker_client_quit(struct muster_worker_client *client)
{
	if (client->ops)
		client->ops->quit(client->worker, 0);
}

void muster_worker_client_done(struct muster_worker_client *client, int grace_ms)
{
	char how[128];
	if (!client->ops)
		return;
	client->ops->quit(client->worker, grace_ms);
	client->ops->end(client->worker, STOP_MS, how, sizeof how);
}

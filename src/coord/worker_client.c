/* worker_client.c - a supervisor's side of its worker */
#include "coord/worker_client.h"

#include "json/json.h"
#include "json/scan.h"
#include "json/writer.h"
#include "util/log.h"
#include "worker/protocol.h"
#include "util/env.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Samples of one rank and of one command: far above what probes yield, and a probe that floods leaves room for others.
 */
enum { SAMPLES_MAX = 40000, COMMAND_SAMPLES_MAX = 4000, TEXT_MAX = 1599, STEP_MAX = 511, EVIDENCE_MAX = 1099 };

/* Replace a text; at most `most` bytes of it. NULL clears it. */
static void set_text(char **at, size_t most, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void set_text(char **at, size_t most, const char *format, ...)
{
	char text[TEXT_MAX + 1];
	va_list args;
	va_start(args, format);
	vsnprintf(text, most + 1 < sizeof text ? most + 1 : sizeof text, format, args);
	va_end(args);
	free(*at);
	*at = *text ? muster_strdup(text) : NULL;
}

static void clear(char **at)
{
	free(*at);
	*at = NULL;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static double now(const struct muster_worker_client *client)
{
	return muster_clock_now(client->clock);
}

int muster_worker_client_start(struct muster_worker_client *client, struct muster_error *err)
{
	client->state = MUSTER_WORKER_IDLE;
	client->born_ms = now(client);
	return client->ops->start(client->worker, err);
}

void muster_worker_client_command(struct muster_worker_client *client, const char *text, int deadline_ms)
{
	struct muster_error err;
	client->started_ms = now(client);
	if (client->stopped) {
		client->state = MUSTER_WORKER_DONE;
		return;
	}
	client->state = MUSTER_WORKER_BUSY;
	client->deadline_ms = deadline_ms;
	client->heard = client->samples = 0;
	client->until_ms = client->started_ms + deadline_ms;
	client->figure_count = 0;
	*client->code = '\0';
	clear(&client->step);
	clear(&client->error);
	clear(&client->evidence);
	clear(&client->ring_id);
	clear(&client->cancelled_why);
	client->failing = false;
	/* an error here is followed by the end of the results, which says more */
	(void)client->ops->send(client->worker, text, strlen(text), &err);
}

void muster_worker_client_cancel(struct muster_worker_client *client, const char *why)
{
	struct muster_error err;
	struct muster_json_writer w;
	char *text = NULL;
	size_t length = 0;
	double until_ms = now(client) + client->deadlines->command_cancel;
	if (client->state != MUSTER_WORKER_BUSY || client->cancelled_why)
		return;
	set_text(&client->cancelled_why, 399, "%s", *why ? why : "no reason given");
	client->until_ms = until_ms < client->until_ms ? until_ms : client->until_ms;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort(); /* out of memory */
	muster_json_writer_init(&w, out, 0);
	muster_json_writer_object(&w);
	muster_json_writer_pair(&w, "do", muster_string("abort"));
	muster_json_writer_pair(&w, "why", muster_string(client->cancelled_why));
	muster_json_writer_object_end(&w);
	if (fclose(out) != 0)
		abort(); /* out of memory */
	(void)client->ops->send(client->worker, text, length, &err);
	free(text);
}

/* ---- lines ---- */

static void copy(char *to, size_t size, const struct muster_json *object, const char *key)
{
	const char *text;
	struct muster_error err;
	if (muster_json_get_string(object, "$", key, &text, &err) == 1)
		snprintf(to, size, "%s", text);
}

static void copy_text(char **to, size_t most, const struct muster_json *object, const char *key)
{
	const char *text;
	struct muster_error err;
	if (muster_json_get_string(object, "$", key, &text, &err) == 1)
		set_text(to, most, "%s", text);
}

/* "figures":[[bytes, rate], ...]: what a ring's first rank measured. */
static void take_figures(struct muster_worker_client *client, const struct muster_json *answer)
{
	const struct muster_json *list;
	struct muster_error err;
	if (muster_json_get_array(answer, "$.done", "figures", &list, &err) != 1)
		return;
	free(client->figures);
	client->figures = muster_calloc(MUSTER_RING_FIGURES_MAX, sizeof *client->figures);
	for (const struct muster_json *pair = muster_json_first(list);
		pair && client->figure_count < MUSTER_RING_FIGURES_MAX; pair = muster_json_next(pair)) {
		const struct muster_json *bytes =
			muster_json_type(pair) == MUSTER_JSON_ARRAY ? muster_json_first(pair) : NULL;
		const struct muster_json *rate = bytes ? muster_json_next(bytes) : NULL;
		if (!rate || muster_json_type(bytes) != MUSTER_JSON_NUMBER ||
			muster_json_type(rate) != MUSTER_JSON_NUMBER || muster_json_number(bytes) < 0 ||
			muster_json_number(bytes) > 1e18)
			continue;
		client->figures[client->figure_count++] =
			(struct muster_ring_figure){ (uint64_t)muster_json_number(bytes), muster_json_number(rate) };
	}
}

static void take_answer(struct muster_worker_client *client, const struct muster_json *answer)
{
	struct muster_error err;
	bool simulated = false;
	copy(client->code, sizeof client->code, answer, "code");
	copy_text(&client->error, TEXT_MAX, answer, "error");
	copy_text(&client->ring_id, 2 * MUSTER_RING_ID_BYTES, answer, "ring_id");
	copy(client->gpu, sizeof client->gpu, answer, "gpu");
	copy(client->uuid, sizeof client->uuid, answer, "uuid");
	copy(client->path, sizeof client->path, answer, "path");
	copy(client->agree, sizeof client->agree, answer, "agree");
	copy_text(&client->why_none, STEP_MAX, answer, "why_none");
	(void)muster_json_get_int(answer, "$.done", "gpus", &client->gpus, &err);
	take_figures(client, answer);
	if (muster_json_get_boolean(answer, "$.done", "simulated", &simulated, &err) == 1 && simulated)
		client->simulated = true;
	client->state = MUSTER_WORKER_DONE;
}

static void take_failing(struct muster_worker_client *client, const struct muster_json *answer)
{
	copy(client->code, sizeof client->code, answer, "code");
	copy_text(&client->error, TEXT_MAX, answer, "error");
	client->failing = *client->code && strcmp(client->code, muster_code_name(MUSTER_OK)) != 0;
}

/* $MUSTER_TRACE shows every step with its time. */
static void take_step(struct muster_worker_client *client, const struct muster_json *line)
{
	copy_text(&client->step, STEP_MAX, line, "step");
	if (muster_env(MUSTER_ENV_TRACE))
		muster_log(MUSTER_LOG_DEBUG, &(struct muster_log_place){ .rank = client->rank }, "%.3f s: %s",
			(now(client) - client->born_ms) / 1e3, or_empty(client->step));
}

static void tee(const struct muster_worker_client *client, const char *line, size_t length)
{
	if (client->tee)
		client->tee(client->tee_arg, line, length);
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
	tee(client, text, length);
	return 0;
}

static int take_line(struct muster_worker_client *client, const char *text, size_t length, struct muster_error *err)
{
	static const char sample[] = "{\"sample\":";
	struct muster_json *line = NULL;
	if (length > sizeof sample && memcmp(text, sample, sizeof sample - 1) == 0)
		return take_sample(client, text, length, err);
	if (muster_json_parse(text, length, &line, err) < 0)
		return muster_wrap(err, "a malformed line from the worker");
	const struct muster_json *member = NULL;
	int result = 0;
	if (muster_json_type(line) != MUSTER_JSON_OBJECT) {
		result = muster_fail(err, MUSTER_EPROTOCOL, "a line from the worker is not a JSON object");
	} else if (muster_json_get_object(line, "$", "done", &member, err) == 1) {
		take_answer(client, member);
	} else if (muster_json_get_object(line, "$", "failing", &member, err) == 1) {
		take_failing(client, member);
	} else if (muster_json_member(line, "evidence")) {
		copy_text(&client->evidence, EVIDENCE_MAX, line, "evidence");
	} else if (muster_json_member(line, "step")) {
		take_step(client, line);
		tee(client, text, length);
	}
	muster_json_free(line);
	return result;
}

/* ---- ends ---- */

static void replace(struct muster_worker_client *client)
{
	struct muster_error err;
	if (client->ops->start(client->worker, &err) < 0) {
		char *before = client->error;
		client->error = NULL;
		set_text(&client->error, TEXT_MAX, "%s; and no other worker: %.200s", or_empty(before), err.text);
		free(before);
	}
}

static void end(struct muster_worker_client *client, enum muster_worker_state state, const char *what)
{
	char how[128], output[256];
	bool by_itself = client->ops->end(client->worker, 2000, how, sizeof how);
	if (*client->ops->last_output(client->worker, output, sizeof output) && !client->evidence)
		set_text(&client->evidence, EVIDENCE_MAX, "last output: %s", output);
	const char *step = or_empty(client->step);
	if (client->failing) { /* the announced failure is the error; how it cleaned up is added */
		char *before = client->error;
		client->error = NULL;
		set_text(&client->error, TEXT_MAX, "%s; then its worker did not return from %s (%s)", or_empty(before),
			*step ? step : "cleaning up", how);
		free(before);
	} else if (state == MUSTER_WORKER_HUNG && client->cancelled_why) { /* cancelled ranks are not at fault */
		snprintf(client->code, sizeof client->code, "%s", muster_code_name(MUSTER_ECALLEDOFF));
		set_text(&client->error, TEXT_MAX, "cancelled: %s; the worker did not stop within %.0f s in %s; %s",
			client->cancelled_why, client->deadlines->command_cancel / 1e3, *step ? step : "its call", how);
	} else if (state == MUSTER_WORKER_HUNG) {
		set_text(&client->error, TEXT_MAX, "no answer within its deadline of %.1f s; %s",
			client->deadline_ms / 1e3, how);
	} else {
		set_text(&client->error, TEXT_MAX, "%s%s%s%s", what, *what ? "; " : "",
			by_itself ? "the worker ended: "
			: *what   ? ""
				  : "the worker closed its result pipe and did not exit; ",
			how);
	}
	client->state = state;
	replace(client);
}

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

enum muster_worker_state muster_worker_client_poll(struct muster_worker_client *client)
{
	struct muster_error err = { 0 };
	if (!client->ops)
		return client->state;
	client->ops->read_output(client->worker);
	if (client->state != MUSTER_WORKER_BUSY)
		return client->state;
	int ended = take_lines(client, &err);
	if (client->state != MUSTER_WORKER_BUSY)
		return client->state;
	if (ended)
		end(client, MUSTER_WORKER_CRASHED, ended < 0 ? err.text : "");
	else if (now(client) > client->until_ms)
		end(client, MUSTER_WORKER_HUNG, "");
	return client->state;
}

double muster_worker_client_next(const struct muster_worker_client *client)
{
	if (client->state != MUSTER_WORKER_BUSY)
		return INFINITY;
	double line = client->ops->next_ms ? client->ops->next_ms(client->worker) : INFINITY;
	return line < client->until_ms ? line : client->until_ms + 1;
}

void muster_worker_client_stop(struct muster_worker_client *client, enum muster_code code, const char *why)
{
	char how[128];
	if (client->ops)
		client->ops->end(client->worker, 1000, how, sizeof how);
	client->stopped = true;
	snprintf(client->code, sizeof client->code, "%s", muster_code_name(code));
	set_text(&client->error, TEXT_MAX, "%s", why);
	if (client->state == MUSTER_WORKER_BUSY)
		client->state = MUSTER_WORKER_DONE;
}

/* For log collectors; people read the summary. */
static void log_outcome(const struct muster_worker_client *client, const struct muster_outcome *outcome)
{
	const struct muster_log_place at = { .node = client->node, .rank = client->rank, .probe = outcome->probe };
	if (muster_log_is_json())
		muster_log(MUSTER_LOG_WARN, &at, "%s: %s%s%s%s%s", muster_outcome_name(outcome->status),
			outcome->detail, outcome->step ? "; last step: " : "", outcome->step ? outcome->step : "",
			outcome->evidence ? "; " : "", outcome->evidence ? outcome->evidence : "");
}

struct muster_outcome muster_worker_client_outcome(
	const struct muster_worker_client *client, const char *probe, struct muster_arena *arena)
{
	bool good = client->state == MUSTER_WORKER_DONE && strcmp(client->code, "ok") == 0;
	struct muster_outcome outcome = {
		.probe = muster_arena_string(arena, probe),
		.elapsed_ms = now(client) - client->started_ms,
	};
	if (good)
		return outcome;
	bool said = client->state == MUSTER_WORKER_DONE || *client->code;
	outcome.status = said                                  ? MUSTER_OUTCOME_ERROR
			 : client->state == MUSTER_WORKER_HUNG ? MUSTER_OUTCOME_HUNG
							       : MUSTER_OUTCOME_CRASHED;
	if (outcome.status == MUSTER_OUTCOME_ERROR)
		outcome.code = muster_arena_string(arena, client->code);
	else if (client->step)
		outcome.step = muster_arena_string(arena, client->step);
	outcome.detail = muster_arena_string(arena, or_empty(client->error));
	outcome.evidence = muster_arena_string(arena, client->evidence);
	log_outcome(client, &outcome);
	return outcome;
}

void muster_worker_client_done(struct muster_worker_client *client, int grace_ms)
{
	char how[128];
	if (client->ops) {
		client->ops->quit(client->worker, grace_ms);
		client->ops->end(client->worker, 1000, how, sizeof how);
	}
	char **texts[] = { &client->cancelled_why, &client->step, &client->why_skipped, &client->error,
		&client->evidence, &client->ring_id, &client->why_none };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		clear(texts[i]);
	free(client->figures);
	client->figures = NULL;
}

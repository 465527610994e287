/* worker_client.c - a supervisor's work with its worker */
#include "worker_client.h"

#include "json/json.h"
#include "json/writer.h"
#include "util/leaks.h"
#include "util/log.h"
#include "util/text.h"
#include "worker/protocol.h"
#include "util/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far above what probes yield: of one rank, and of one command, so that a probe that floods leaves room for others. */
enum { SAMPLES_MAX = 20000, COMMAND_SAMPLES_MAX = 4000 };

static char **copy_environment(void)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **copy = muster_calloc(count + 1, sizeof *copy);
	for (size_t i = 0; i < count; i++)
		copy[i] = muster_strdup(environ[i]);
	return copy;
}

int muster_worker_client_start(
	struct muster_worker_client *crew, const char *program, struct muster_run *record, struct muster_error *err)
{
	crew->program = program;
	crew->record = record;
	muster_sample_reader_init(&crew->reader, record->arena);
	crew->reader.lenient = true;
	crew->state = MUSTER_WORKER_CLIENT_IDLE;
	crew->born_ms = muster_now_ms();
	crew->environment = copy_environment();
	return muster_subprocess_start(&crew->proc, program, crew->environment, err);
}

void muster_worker_client_command(struct muster_worker_client *crew, const char *text, int deadline_ms)
{
	struct muster_error err;
	crew->started_ms = muster_now_ms();
	if (crew->stopped) {
		crew->state = MUSTER_WORKER_CLIENT_DONE;
		return;
	}
	crew->state = MUSTER_WORKER_CLIENT_BUSY;
	crew->deadline_ms = deadline_ms;
	crew->heard = crew->samples = 0;
	crew->until_ms = crew->started_ms + deadline_ms;
	*crew->step = *crew->code = *crew->error = *crew->ring_id = *crew->off_why = *crew->evidence = '\0';
	crew->failing = false;
	/* when it no longer listens, the end of its results says so with more to say */
	(void)muster_subprocess_send(&crew->proc, text, strlen(text), &err);
}

void muster_worker_client_cancel(struct muster_worker_client *crew, const char *why)
{
	struct muster_error err;
	struct muster_json_writer w;
	char *text = NULL;
	size_t length = 0;
	double until_ms = muster_now_ms() + MUSTER_CANCEL_MS;
	if (crew->state != MUSTER_WORKER_CLIENT_BUSY || *crew->off_why)
		return;
	snprintf(crew->off_why, sizeof crew->off_why, "%s", *why ? why : "no reason given");
	crew->until_ms = until_ms < crew->until_ms ? until_ms : crew->until_ms;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		abort(); /* out of memory */
	muster_json_writer_init(&w, out, 0);
	muster_json_writer_object(&w);
	muster_json_writer_pair(&w, "do", muster_string("abort"));
	muster_json_writer_pair(&w, "why", muster_string(crew->off_why));
	muster_json_writer_object_end(&w);
	if (fclose(out) != 0)
		abort(); /* out of memory */
	(void)muster_subprocess_send(&crew->proc, text, length, &err);
	free(text);
}

static void copy(char *to, size_t size, const struct muster_json *object, const char *key)
{
	const char *text;
	struct muster_error err;
	if (muster_json_get_string(object, "$", key, &text, &err) == 1)
		snprintf(to, size, "%s", text);
}

/* Rank 0 refuses a record in which a sample is not as it reads samples, and the whole node with it: so this is how they
 * are read here. */
static int take_sample(struct muster_worker_client *crew, const struct muster_json *json, struct muster_error *err)
{
	struct muster_node *node = &crew->record->nodes[0];
	struct muster_sample sample;
	crew->reader.json.err = err;
	if (muster_json_member_read(&crew->reader.json, "sample", 0, muster_sample_read, &sample, json) < 0)
		return -1;
	if (sample.value_count > 0)
		return muster_fail(err, MUSTER_EPROTOCOL, "%s with values of repeats", sample.metric->name);
	bool of_node = sample.metric->scope == MUSTER_SCOPE_NODE || sample.metric->scope == MUSTER_SCOPE_PORT;
	struct muster_samples *samples = of_node ? &node->samples : &node->ranks[0].samples;
	if (samples->count >= SAMPLES_MAX)
		return muster_fail(err, MUSTER_EPROTOCOL, "more than %d samples", SAMPLES_MAX);
	muster_samples_add(samples, sample);
	return 0;
}

static void take_answer(struct muster_worker_client *crew, const struct muster_json *answer)
{
	struct muster_error err;
	bool simulated = false;
	copy(crew->code, sizeof crew->code, answer, "code");
	copy(crew->error, sizeof crew->error, answer, "error");
	copy(crew->ring_id, sizeof crew->ring_id, answer, "ring_id");
	copy(crew->gpu, sizeof crew->gpu, answer, "gpu");
	copy(crew->uuid, sizeof crew->uuid, answer, "uuid");
	copy(crew->path, sizeof crew->path, answer, "path");
	copy(crew->why_none, sizeof crew->why_none, answer, "why_none");
	(void)muster_json_get_int(answer, "$.done", "gpus", &crew->gpus, &err);
	if (muster_json_get_boolean(answer, "$.done", "simulated", &simulated, &err) == 1 && simulated)
		crew->record->nodes[0].simulated = true;
	crew->state = MUSTER_WORKER_CLIENT_DONE;
}

static void take_failing(struct muster_worker_client *crew, const struct muster_json *answer)
{
	copy(crew->code, sizeof crew->code, answer, "code");
	copy(crew->error, sizeof crew->error, answer, "error");
	crew->failing = *crew->code && strcmp(crew->code, muster_code_name(MUSTER_OK)) != 0;
}

/* $MUSTER_TRACE shows every step with its time: where a run spends it, and where it stands. */
static void take_step(struct muster_worker_client *crew, const struct muster_json *line)
{
	copy(crew->step, sizeof crew->step, line, "step");
	if (muster_env(MUSTER_ENV_TRACE))
		muster_log(MUSTER_LOG_DEBUG,
			&(struct muster_log_place){
				.rank = crew->record->nodes[0].rank_count ? crew->record->nodes[0].ranks[0].rank : -1 },
			"%.3f s: %s", (muster_now_ms() - crew->born_ms) / 1e3, crew->step);
}

static int take_line(struct muster_worker_client *crew, const char *text, size_t length, struct muster_error *err)
{
	struct muster_json *line = NULL;
	if (muster_json_parse(text, length, &line, err) < 0)
		return muster_wrap(err, "a malformed line from the worker");
	const struct muster_json *member = NULL;
	int result = 0;
	if (muster_json_type(line) == MUSTER_JSON_OBJECT &&
		muster_json_get_object(line, "$", "sample", &member, err) == 1)
		result = crew->samples++ < COMMAND_SAMPLES_MAX
				 ? take_sample(crew, member, err)
				 : muster_fail(err, MUSTER_EPROTOCOL, "more than %d samples in one command",
					   COMMAND_SAMPLES_MAX);
	else if (muster_json_type(line) == MUSTER_JSON_OBJECT &&
		 muster_json_get_object(line, "$", "done", &member, err) == 1)
		take_answer(crew, member);
	else if (muster_json_type(line) == MUSTER_JSON_OBJECT &&
		 muster_json_get_object(line, "$", "failing", &member, err) == 1)
		take_failing(crew, member);
	else if (muster_json_type(line) == MUSTER_JSON_OBJECT && muster_json_member(line, "evidence"))
		copy(crew->evidence, sizeof crew->evidence, line, "evidence");
	else if (muster_json_type(line) == MUSTER_JSON_OBJECT)
		take_step(crew, line);
	else
		result = muster_fail(err, MUSTER_EPROTOCOL, "a line from the worker is no object");
	muster_json_free(line);
	return result;
}

static void replace(struct muster_worker_client *crew)
{
	struct muster_error err;
	if (muster_subprocess_start(&crew->proc, crew->program, crew->environment, &err) < 0)
		snprintf(crew->error + strlen(crew->error), sizeof crew->error - strlen(crew->error),
			"; and no other worker: %.200s", err.text);
}

static void end(struct muster_worker_client *crew, enum muster_worker_client_state state, const char *what)
{
	char how[128], words[256];
	bool by_itself = muster_subprocess_end(&crew->proc, 2000, how, sizeof how);
	if (*muster_subprocess_last_words(&crew->proc, words, sizeof words) && !*crew->evidence)
		snprintf(crew->evidence, sizeof crew->evidence, "last words: %s", words);
	if (crew->failing) /* what it said is how the command ended; that cleaning up went wrong is a remark */
		snprintf(crew->error + strlen(crew->error), sizeof crew->error - strlen(crew->error),
			"; then its worker did not come back from %s (%s)", *crew->step ? crew->step : "cleaning up",
			how);
	else if (state == MUSTER_WORKER_CLIENT_HUNG &&
		 *crew->off_why) { /* that it waits for the one that failed is no crime */
		snprintf(crew->code, sizeof crew->code, "%s", muster_code_name(MUSTER_ECALLEDOFF));
		snprintf(crew->error, sizeof crew->error, "called off: %s; it did not give up within %.0f s in %s; %s",
			crew->off_why, MUSTER_CANCEL_MS / 1e3, *crew->step ? crew->step : "its call", how);
	} else if (state == MUSTER_WORKER_CLIENT_HUNG)
		snprintf(crew->error, sizeof crew->error, "no answer within its deadline of %.1f s; %s",
			crew->deadline_ms / 1e3, how);
	else
		snprintf(crew->error, sizeof crew->error, "%s%s%s%s", what, *what ? "; " : "",
			by_itself ? "the worker ended: "
			: *what   ? ""
				  : "the worker closed what its results go through, and did not end; ",
			how);
	crew->state = state;
	replace(crew);
}

enum muster_worker_client_state muster_worker_client_poll(struct muster_worker_client *crew)
{
	struct muster_error err;
	muster_subprocess_read_noise(&crew->proc);
	while (crew->state == MUSTER_WORKER_CLIENT_BUSY) {
		const char *line;
		size_t length;
		int ended = muster_subprocess_next_line(&crew->proc, &line, &length, &err);
		if (line) {
			crew->heard += length + 1;
			int bad = crew->heard > MUSTER_PROTOCOL_COMMAND_MAX
					  ? muster_fail(&err, MUSTER_EPROTOCOL,
						    "the worker sent more than %d bytes to one command",
						    MUSTER_PROTOCOL_COMMAND_MAX)
					  : take_line(crew, line, length, &err);
			if (bad) {
				end(crew, MUSTER_WORKER_CLIENT_CRASHED, err.text);
				break;
			}
			continue;
		}
		if (ended)
			end(crew, MUSTER_WORKER_CLIENT_CRASHED, ended < 0 ? err.text : "");
		else if (muster_now_ms() > crew->until_ms)
			end(crew, MUSTER_WORKER_CLIENT_HUNG, "");
		break;
	}
	return crew->state;
}

void muster_worker_client_stop(struct muster_worker_client *crew, enum muster_code code, const char *why)
{
	char how[128];
	muster_subprocess_end(&crew->proc, 1000, how, sizeof how);
	crew->stopped = true;
	snprintf(crew->code, sizeof crew->code, "%s", muster_code_name(code));
	snprintf(crew->error, sizeof crew->error, "%s", why);
	if (crew->state == MUSTER_WORKER_CLIENT_BUSY)
		crew->state = MUSTER_WORKER_CLIENT_DONE;
}

/* People have it in the summary; a log collector at once. */
static void log_outcome(const struct muster_worker_client *crew, const struct muster_outcome *outcome)
{
	const struct muster_node *node = &crew->record->nodes[0];
	const struct muster_log_place at = {
		.node = node->name, .rank = node->rank_count ? node->ranks[0].rank : -1, .probe = outcome->probe
	};
	if (muster_log_is_json())
		muster_log(MUSTER_LOG_WARN, &at, "%s: %s%s%s%s%s", muster_outcome_name(outcome->status),
			outcome->detail, outcome->step ? "; last step: " : "", outcome->step ? outcome->step : "",
			outcome->evidence ? "; " : "", outcome->evidence ? outcome->evidence : "");
}

struct muster_outcome muster_worker_client_outcome(const struct muster_worker_client *crew, const char *probe)
{
	struct muster_arena *arena = crew->record->arena;
	bool good = crew->state == MUSTER_WORKER_CLIENT_DONE && strcmp(crew->code, "ok") == 0;
	struct muster_outcome outcome = {
		.probe = muster_arena_string(arena, probe),
		.elapsed_ms = muster_now_ms() - crew->started_ms,
	};
	if (good)
		return outcome;
	bool said = crew->state == MUSTER_WORKER_CLIENT_DONE || *crew->code;
	outcome.status = said                                       ? MUSTER_OUTCOME_ERROR
			 : crew->state == MUSTER_WORKER_CLIENT_HUNG ? MUSTER_OUTCOME_HUNG
								    : MUSTER_OUTCOME_CRASHED;
	if (outcome.status == MUSTER_OUTCOME_ERROR)
		outcome.code = muster_arena_string(arena, crew->code);
	else if (*crew->step)
		outcome.step = muster_arena_string(arena, crew->step);
	outcome.detail = muster_arena_string(arena, crew->error);
	outcome.evidence = *crew->evidence ? muster_arena_string(arena, crew->evidence) : NULL;
	log_outcome(crew, &outcome);
	return outcome;
}

void muster_worker_client_dismiss(struct muster_worker_client *crew)
{
	char how[128];
	muster_subprocess_quit(&crew->proc, muster_leaks_grace_ms());
	muster_subprocess_end(&crew->proc, 1000, how, sizeof how);
	muster_sample_reader_done(&crew->reader);
	for (char **entry = crew->environment; entry && *entry; entry++)
		free(*entry);
	free(crew->environment);
	crew->environment = NULL;
}

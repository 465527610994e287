/* probe_runner.c - what the worker is sent to do, and what becomes of it */
#include "coord/supervisor_internal.h"

#include "util/text.h"
#include "transport/transport_socket.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_DEADLINE_MS = 30000 }; /* dlopen, nvmlInit, cuInit, primary context */

static struct muster_outcomes *outcomes(struct muster_supervisor *c)
{
	return &c->record.nodes[0].ranks[0].outcomes;
}

void muster_command_begin(struct muster_command *command, const char *action)
{
	command->out = open_memstream(&command->text, &command->length);
	if (!command->out)
		abort(); /* out of memory */
	muster_json_writer_init(&command->w, command->out, 0);
	muster_json_writer_object(&command->w);
	muster_json_writer_pair(&command->w, "do", muster_string(action));
}

void muster_command_text(struct muster_command *command, const char *key, const char *text)
{
	muster_json_writer_pair(&command->w, key, muster_string(text));
}

void muster_command_number(struct muster_command *command, const char *key, double number)
{
	muster_json_writer_pair(&command->w, key, muster_number(number));
}

/* Begin it; the caller serves until the crew is no longer busy. */
void muster_command_start(struct muster_supervisor *c, struct muster_command *command, int deadline_ms)
{
	muster_json_writer_object_end(&command->w);
	if (fclose(command->out) != 0)
		abort(); /* out of memory */
	muster_worker_client_command(&c->crew, command->text, deadline_ms);
	free(command->text);
}

enum muster_worker_client_state muster_command_wait(struct muster_supervisor *c)
{
	while (c->crew.state == MUSTER_WORKER_CLIENT_BUSY)
		muster_supervisor_poll(c);
	return c->crew.state;
}

void muster_probe_runner_open(struct muster_supervisor *c)
{
	struct muster_command command;
	muster_command_begin(&command, "open");
	if (*c->crew.why_skipped)
		muster_json_writer_pair(&command.w, "skip", muster_boolean(true));
	muster_command_start(c, &command, muster_supervisor_bounded(c, OPEN_DEADLINE_MS));
}

/* The drivers killed a worker: later ones leave them alone, and every probe that needs a GPU says why. */
static bool survived(struct muster_supervisor *c)
{
	if (muster_command_wait(c) == MUSTER_WORKER_CLIENT_DONE)
		return true;
	c->open_status = c->crew.state == MUSTER_WORKER_CLIENT_HUNG ? MUSTER_OUTCOME_HUNG : MUSTER_OUTCOME_CRASHED;
	snprintf(c->crew.why_skipped, sizeof c->crew.why_skipped, "%s%s%s%s%s", c->crew.error,
		*c->crew.evidence ? "; " : "", c->crew.evidence, *c->crew.step ? "; last step: " : "", c->crew.step);
	return false;
}

static bool take(struct muster_supervisor *c)
{
	struct muster_command command;
	muster_command_begin(&command, "take");
	muster_command_number(&command, "rank", c->rank);
	muster_command_number(&command, "ranks", c->ranks);
	muster_command_number(&command, "local_rank", c->local_rank);
	muster_command_number(&command, "local_ranks", (double)c->member_count);
	muster_command_number(&command, "node_index", c->node_index);
	muster_command_number(&command, "nodes", c->nodes);
	muster_command_number(&command, "leader", c->leader != NULL);
	muster_command_number(&command, "in_job", muster_local_size() == 0);
	muster_command_number(&command, "profile", c->options->profile);
	muster_command_number(&command, "min_bytes", (double)c->options->min_bytes);
	muster_command_number(&command, "max_bytes", (double)c->options->max_bytes);
	muster_command_number(&command, "repeats", c->options->repeats);
	muster_command_text(&command, "node", c->node);
	muster_command_text(&command, "why_skipped", c->crew.why_skipped);
	muster_command_start(c, &command, muster_supervisor_bounded(c, OPEN_DEADLINE_MS));
	return survived(c);
}

/* The open command is under way; a worker that dies of it is replaced by one that skips the drivers. */
void muster_probe_runner_take(struct muster_supervisor *c)
{
	for (int attempt = 0; attempt < 2 && !c->interrupted; attempt++) {
		if (survived(c) && take(c)) {
			struct muster_rank *rank = &c->record.nodes[0].ranks[0];
			snprintf(c->take_code, sizeof c->take_code, "%s", c->crew.code);
			snprintf(c->take_error, sizeof c->take_error, "%s",
				*c->crew.error ? c->crew.error : c->crew.why_none);
			if (*c->crew.gpu && !rank->gpu) {
				rank->gpu = muster_arena_string(c->record.arena, c->crew.gpu);
				rank->gpu_uuid = muster_arena_string(c->record.arena, c->crew.uuid);
			}
			return;
		}
		muster_probe_runner_open(c);
	}
	c->no_worker = true;
	if (!c->interrupted)
		snprintf(c->take_error, sizeof c->take_error, "no worker stays alive: %s", c->crew.why_skipped);
}

/* After a crash or a hang: the new worker gets the same job. */
void muster_probe_runner_again(struct muster_supervisor *c)
{
	muster_probe_runner_open(c);
	muster_probe_runner_take(c);
	if (!c->no_worker && c->peers) {
		muster_worker_client_command(
			&c->crew, c->peers, muster_supervisor_bounded(c, MUSTER_SHORT_DEADLINE_MS));
		if (muster_command_wait(c) == MUSTER_WORKER_CLIENT_DONE)
			return;
		/* its successor would run probes without knowing its job */
		c->no_worker = true;
		snprintf(c->take_error, sizeof c->take_error, "no worker stays alive: %s%s%s", c->crew.error,
			*c->crew.evidence ? "; " : "", c->crew.evidence);
	}
}

struct muster_outcome *muster_probe_runner_outcome(struct muster_supervisor *c, const char *probe)
{
	struct muster_outcomes *all = outcomes(c);
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].probe, probe) == 0)
			return &all->items[i];
	return NULL;
}

/* On disk with it. What a ring has measured may be taken back when another ring follows. */
static void keep(struct muster_supervisor *c, const char *name)
{
	const struct muster_probe *probe = muster_probe_find(name);
	muster_journal_record(c->spool, &c->record, !probe || !probe->ring);
}

/* A probe has one outcome: the first failure stays, times add up. */
static void note(struct muster_supervisor *c, struct muster_outcome outcome)
{
	struct muster_outcome *old = muster_probe_runner_outcome(c, outcome.probe);
	if (!old) {
		muster_outcomes_add(outcomes(c), outcome);
	} else {
		double elapsed = old->elapsed_ms + outcome.elapsed_ms;
		if (old->status == MUSTER_OUTCOME_OK)
			*old = outcome;
		old->elapsed_ms = elapsed;
	}
	keep(c, outcome.probe);
}

void muster_probe_runner_replace(struct muster_supervisor *c, struct muster_outcome outcome)
{
	struct muster_outcome *old = muster_probe_runner_outcome(c, outcome.probe);
	if (!old) {
		muster_outcomes_add(outcomes(c), outcome);
	} else {
		outcome.elapsed_ms += old->elapsed_ms;
		*old = outcome;
	}
	keep(c, outcome.probe);
}

void muster_probe_runner_not_run(struct muster_supervisor *c, const char *probe, enum muster_outcome_status status,
	const char *code, const char *why)
{
	bool error = strcmp(code, "ok") != 0 && *code;
	note(c, (struct muster_outcome){
			.probe = probe,
			.status = error ? MUSTER_OUTCOME_ERROR : status,
			.code = error ? muster_arena_string(c->record.arena, code) : NULL,
			.detail = muster_arena_string(c->record.arena, why),
		});
}

/* Whether the probe can run now; otherwise its outcome is noted. */
bool muster_probe_runner_may_run(struct muster_supervisor *c, const struct muster_probe *probe)
{
	if (probe->scope == MUSTER_SCOPE_NODE && !c->leader)
		return false;
	const struct muster_outcome *before = muster_probe_runner_outcome(c, probe->name);
	if (before && before->status != MUSTER_OUTCOME_OK)
		return false;
	if (before && !c->interrupted && (c->no_worker || muster_supervisor_time_left(c) == 0))
		return false; /* what it measured stands; only its later part is left out */
	if (c->interrupted)
		muster_probe_runner_not_run(
			c, probe->name, MUSTER_OUTCOME_NOT_RUN, muster_code_name(MUSTER_EINTERRUPTED), c->interrupted);
	else if (c->no_worker)
		muster_probe_runner_not_run(c, probe->name, c->open_status, "", c->take_error);
	else if (probe->needs_gpu && !*c->crew.gpu)
		muster_probe_runner_not_run(c, probe->name, c->open_status, c->take_code, c->take_error);
	else if (muster_supervisor_time_left(c) == 0)
		muster_probe_runner_not_run(
			c, probe->name, MUSTER_OUTCOME_NOT_RUN, "", "no time was left of the run's deadline");
	else
		return true;
	return false;
}

static void probe_start(struct muster_supervisor *c, const struct muster_probe *probe, const char *action)
{
	struct muster_command command;
	muster_command_begin(&command, action);
	muster_command_text(&command, "probe", probe->name);
	muster_command_start(c, &command, muster_supervisor_bounded(c, probe->deadline_ms));
}

/* Wait for the command of this probe and note how it ended. */
bool muster_probe_runner_end(struct muster_supervisor *c, const struct muster_probe *probe)
{
	enum muster_worker_client_state state = muster_command_wait(c);
	note(c, muster_worker_client_outcome(&c->crew, probe->name));
	if (state != MUSTER_WORKER_CLIENT_DONE)
		muster_probe_runner_again(c);
	return state == MUSTER_WORKER_CLIENT_DONE && strcmp(c->crew.code, "ok") == 0;
}

bool muster_probe_runner_run(struct muster_supervisor *c, const struct muster_probe *probe, const char *action)
{
	if (!muster_probe_runner_may_run(c, probe))
		return false;
	probe_start(c, probe, action);
	return muster_probe_runner_end(c, probe);
}

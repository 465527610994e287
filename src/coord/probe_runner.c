/* SPDX-License-Identifier: Apache-2.0 */
/* probe_runner.c - the worker's commands, probe by probe, and their outcomes
 *
 * A worker is set up by three commands: open (load the drivers, while MPI starts), take (a GPU), peers. A worker that
 * dies in open or take is replaced by a worker that skips the drivers, which would end it too; one that dies in a
 * probe is replaced by one that is set up anew, and the probes that remain go on. A second death in the set-up leaves
 * the rank without a worker: its probes have an outcome with the reason, and the rank still enters each barrier, so
 * that no other rank waits for it.
 */
#include "coord/supervisor.h"

#include "muster/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void muster_command_start(struct muster_supervisor *s, char *text, int deadline_ms)
{
	muster_worker_client_command(&s->worker, text, deadline_ms);
	free(text);
}

enum muster_worker_state muster_command_wait(struct muster_supervisor *s)
{
	while (s->worker.state == MUSTER_WORKER_BUSY)
		muster_supervisor_poll(s, INFINITY);
	return s->worker.state;
}

/* ---- a worker's start ---- */

/* Send a command that loads or uses the drivers. It may take as long as a driver that starts first, once such a driver
 * was expected (muster_probe_runner_cold). */
static void start_with_drivers(struct muster_supervisor *s, char *text)
{
	muster_command_start(s, text, muster_supervisor_bounded(s, s->deadlines.command_open));
	if (s->cold_driver)
		muster_probe_runner_cold(s);
}

/* Does not wait: the drivers load while MPI starts. A worker whose predecessor died of the drivers is told to skip
 * them. */
void muster_probe_runner_open(struct muster_supervisor *s)
{
	const char *key = s->worker.why_skipped ? "skip" : NULL;
	start_with_drivers(s, muster_command_text("open", key, muster_boolean(true), NULL, NULL));
}

void muster_probe_runner_cold(struct muster_supervisor *s)
{
	double most_ms = s->deadlines.open_cold;
	s->cold_driver = true;
	muster_worker_client_extend(&s->worker, muster_supervisor_bounded(s, most_ms), most_ms);
}

/* Wait for the end of open or take. False when the worker was lost in it: later workers do not load the drivers, and
 * the outcome of every probe that needs a GPU gives the reason, with what the worker printed last and its last step. A
 * deadline that was too short to prove a hang makes these probes NOT_RUN, which says nothing of the node. */
static bool survived(struct muster_supervisor *s)
{
	struct muster_worker_client *w = &s->worker;
	if (muster_command_wait(s) == MUSTER_WORKER_DONE)
		return true;
	s->open_status = w->state != MUSTER_WORKER_HUNG      ? MUSTER_OUTCOME_CRASHED
			 : w->deadline_ms < w->hang_least_ms ? MUSTER_OUTCOME_NOT_RUN
							     : MUSTER_OUTCOME_HUNG;
	const char *evidence = w->evidence, *step = w->step;
	w->why_skipped = muster_arena_printf(s->arena, "%s%s%s%s%s", w->answer.error, evidence ? "; " : "",
		evidence ? evidence : "", step ? "; last step: " : "", step ? step : "");
	w->skipped_at = step;
	return false;
}

/* Tell the worker the job and the options, and have it take a GPU. False as survived(). An error in the answer, such as
 * a GPU that cannot be used, is no loss of the worker: it is in s->worker.answer. */
static bool take(struct muster_supervisor *s)
{
	const struct muster_options *options = s->options;
	const struct muster_take take = {
		.env = {
			.rank = s->rank,
			.ranks = s->ranks,
			.local_rank = s->local_rank,
			.local_ranks = (int)s->member_count,
			.node_index = s->node_index,
			.nodes = s->nodes,
			.node_name = s->node,
			.leader = s->aggregator != NULL,
			.in_job = s->host->in_job,
			.shared = options->shared || options->beside_jobs,
			.profile = options->profile,
			.min_bytes = options->min_bytes,
			.max_bytes = options->max_bytes,
			.repeats = options->repeats,
			.soak_s = options->soak_s,
			.steps = options->steps,
			.long_steps = options->long_steps,
			.storage = options->storage,
			.broadcast = options->measures >> MUSTER_MEASURE_BROADCAST & 1,
			.storage_path = options->storage_path,
			.storage_bytes = options->storage_bytes,
			.checkpoint_path = options->checkpoint_path,
			.checkpoint_bytes = options->checkpoint_bytes,
			.broadcast_file = options->broadcast_file,
			.expect_paths = options->expect_paths,
			.expect_path_count = options->expect_path_count,
		},
		.why_skipped = s->worker.why_skipped ? s->worker.why_skipped : "",
		.skipped_at = s->worker.skipped_at ? s->worker.skipped_at : "",
	};
	start_with_drivers(s, muster_command_text("take", NULL, muster_null(), &muster_take_type, &take));
	return survived(s);
}

static void no_worker(struct muster_supervisor *s, const char *why, const char *evidence)
{
	s->no_worker = true;
	if (!s->interrupted)
		s->take_error = muster_arena_printf(s->arena, "every worker died: %s%s%s", why ? why : "",
			evidence ? "; " : "", evidence ? evidence : "");
}

/* The open command was sent. Two workers at most: the second one, after the first was lost in open or in take, skips
 * the drivers. Then the rank is without a worker. What the answer says of the GPU goes into the record. */
void muster_probe_runner_take(struct muster_supervisor *s)
{
	if (s->no_worker) /* not even the first one could be started */
		return;
	for (int attempt = 0; attempt < 2 && !s->interrupted; attempt++) {
		if (survived(s) && take(s)) {
			const struct muster_worker_answer *w = &s->worker.answer;
			s->take_code = w->code;
			s->take_error = w->error ? w->error : w->why_none;
			if (s->facts.gpu && *w->gpu && strcmp(s->facts.gpu, w->gpu) != 0) {
				/* its values would be those of another rank's GPU */
				s->take_code = muster_code_name(MUSTER_EVENDOR);
				s->take_error = muster_arena_printf(s->arena,
					"CUDA gave this rank GPU %s first, and GPU %s to its next worker: a GPU has "
					"left the node",
					s->facts.gpu, w->gpu);
			}
			if (*w->gpu && !s->facts.gpu) {
				s->facts.gpu = w->gpu;
				s->facts.gpu_uuid = *w->uuid ? w->uuid : NULL;
			}
			muster_record_line_add(s, muster_record_rank_line(&s->facts, s->node, w->simulated));
			return;
		}
		muster_probe_runner_open(s);
	}
	no_worker(s, s->worker.why_skipped, NULL); /* which has the evidence */
}

/* After a crash or a hang: set up the new worker like the one before. */
void muster_probe_runner_again(struct muster_supervisor *s)
{
	s->replaced++;
	muster_probe_runner_open(s);
	muster_probe_runner_take(s);
	if (s->no_worker || !s->peers)
		return;
	muster_worker_client_command(&s->worker, s->peers, muster_supervisor_bounded(s, s->deadlines.command_short));
	if (muster_command_wait(s) != MUSTER_WORKER_DONE) /* another worker would run probes without its peers */
		no_worker(s, s->worker.answer.error, s->worker.evidence);
}

/* ---- outcomes ---- */

void muster_record_line_add(struct muster_supervisor *s, char *line)
{
	muster_record_add(&s->record, line, strlen(line));
	muster_spool_line(s->spool, line, strlen(line), true);
	free(line);
}

/* Each change of an outcome is one more line of the record: the last line of a probe counts (model/record.h). */
static void set_outcome(struct muster_supervisor *s, struct muster_outcome *old, struct muster_outcome outcome)
{
	if (old)
		*old = outcome;
	else
		muster_outcomes_add(&s->facts.outcomes, outcome);
	muster_record_line_add(s, muster_record_outcome_line(&outcome));
}

void muster_probe_add_outcome(struct muster_supervisor *s, struct muster_outcome outcome)
{
	struct muster_outcome *old = muster_outcomes_find(&s->facts.outcomes, outcome.probe);
	double elapsed_ms = outcome.elapsed_ms + (old ? old->elapsed_ms : 0);
	if (old && old->status != MUSTER_OUTCOME_OK)
		outcome = *old;
	outcome.elapsed_ms = elapsed_ms;
	set_outcome(s, old, outcome);
}

void muster_probe_replace_outcome(struct muster_supervisor *s, struct muster_outcome outcome)
{
	struct muster_outcome *old = muster_outcomes_find(&s->facts.outcomes, outcome.probe);
	outcome.elapsed_ms += old ? old->elapsed_ms : 0;
	set_outcome(s, old, outcome);
}

void muster_probe_not_run(struct muster_supervisor *s, const char *probe, enum muster_outcome_status status,
	const char *code, const char *why)
{
	bool error = strcmp(code, "ok") != 0 && *code;
	muster_probe_add_outcome(s, (struct muster_outcome){
					    .probe = probe,
					    .status = error ? MUSTER_OUTCOME_ERROR : status,
					    .code = error ? code : NULL,
					    .detail = why,
				    });
}

/* The first of these that holds decides:
 *
 *   the probe is of the node, and this rank does not lead it    false; the leader has the outcome
 *   the probe has failed before, or did not run                 false; that outcome stays
 *   it went well before, the run is not interrupted, and
 *   there is no worker or no time                               false; its samples and its outcome stay
 *   the run was interrupted                                     false; an error with that code, and the reason
 *   there is no worker                                          false; how the worker was lost
 *   it needs a GPU, and there is none or CUDA does not start    false; why. With by_nvml a rank that has a GPU runs it
 *                                                               without CUDA, unless the drivers are skipped
 *   no time is left                                             false; not run
 *   else                                                        true
 */
bool muster_probe_may_run(struct muster_supervisor *s, const struct muster_probe *probe)
{
	if (probe->scope == MUSTER_SCOPE_NODE && !s->aggregator)
		return false;
	const struct muster_outcome *before = muster_outcomes_find(&s->facts.outcomes, probe->name);
	const char *why = s->take_error ? s->take_error : "";
	if (before && before->status != MUSTER_OUTCOME_OK)
		return false;
	if (before && !s->interrupted && (s->no_worker || muster_supervisor_time_left(s) == 0))
		return false;
	if (s->interrupted)
		muster_probe_not_run(
			s, probe->name, MUSTER_OUTCOME_NOT_RUN, muster_code_name(MUSTER_EINTERRUPTED), s->interrupted);
	else if (s->no_worker)
		muster_probe_not_run(s, probe->name, s->open_status, "", why);
	else if (probe->needs_gpu && (!*s->worker.answer.gpu || (*why && (!probe->by_nvml || s->worker.why_skipped))))
		muster_probe_not_run(s, probe->name, s->open_status, s->take_code, why);
	else if (muster_supervisor_time_left(s) == 0)
		muster_probe_not_run(
			s, probe->name, MUSTER_OUTCOME_NOT_RUN, "", "no time left before the run's deadline");
	else
		return true;
	return false;
}

/* A line each 10 s, as long as the command runs and time is left by this count. Other ranks return at once; their
 * caller waits for the command. */
void muster_probe_say_time_left(struct muster_supervisor *s, const char *what, int seconds)
{
	const double every_ms = 10000;
	double start_ms = muster_clock_now(s->clock), left_s;
	if (!s->coordinator)
		return;
	for (int i = 0; s->worker.state == MUSTER_WORKER_BUSY; i++) {
		left_s = seconds - i * every_ms / 1e3;
		if (left_s > 0) {
			char *text = muster_asprintf("%s: %.0f s left", what, left_s);
			muster_progress_say(&s->coordinator->progress, text);
			free(text);
		}
		while (s->worker.state == MUSTER_WORKER_BUSY &&
			muster_clock_now(s->clock) < start_ms + (i + 1) * every_ms)
			muster_supervisor_poll(s, start_ms + (i + 1) * every_ms);
	}
}

/* action: "run", "together" or "finish". The deadline is the probe's own, or --probe-deadline when that is less; a soak
 * adds its seconds; the time that is left for measuring bounds the sum, but a command has command_least in any case. A
 * worker that is lost is replaced before this returns. */
bool muster_probe_run(struct muster_supervisor *s, const struct muster_probe *probe, const char *action, int visit)
{
	if (!muster_probe_may_run(s, probe))
		return false;
	int soak_s = probe->soaks && visit == 0 ? s->options->soak_s : 0;
	const struct muster_probe_env env = { .visit = visit };
	muster_command_start(s,
		muster_command_text(action, "probe", muster_string(probe->name), &muster_visit_type, &env),
		(int)fmin(muster_supervisor_bounded(s, probe->deadline_ms) + soak_s * 1e3,
			fmax(muster_supervisor_time_left(s), s->deadlines.command_least)));
	s->soaking = soak_s > 0;
	if (s->soaking)
		muster_probe_say_time_left(s, "load on all GPUs", soak_s);
	enum muster_worker_state state = muster_command_wait(s);
	s->soaking = false;
	struct muster_outcome outcome = muster_worker_client_outcome(&s->worker, probe->name);
	if (outcome.status == MUSTER_OUTCOME_CRASHED && muster_ring_is_starting(s))
		outcome.detail = muster_arena_printf(s->arena, "%s, while NCCL was starting", outcome.detail);
	muster_probe_add_outcome(s, outcome);
	if (state != MUSTER_WORKER_DONE)
		muster_probe_runner_again(s);
	return state == MUSTER_WORKER_DONE && strcmp(s->worker.answer.code, "ok") == 0;
}

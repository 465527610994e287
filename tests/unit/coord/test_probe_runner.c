/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_runner.c - a probe's command, its outcome, and what happens when the worker does not live through it
 */
#include "check_main.h"
#include "one_rank.h"

#include "muster/report.h"

#include <math.h>

enum { END = 600000, LEADER = 4, RANK = 5, RANKS = 8 };

static const struct muster_probe *launch, *copies;

static void setup(void)
{
	launch = muster_probe_find("launch");
	copies = muster_probe_find("gpu_copy");
	ck_assert(!launch->needs_gpu && copies->needs_gpu);
	one_rank_start(RANK, RANKS, END);
	one_rank_join((const int[]){ LEADER, RANK }, 2);
}

static void start(const struct answer *answers)
{
	script.answers = answers;
	muster_supervisor_start_worker(&s);
	muster_probe_runner_take(&s);
}

static const struct muster_outcome *outcome(const struct muster_probe *probe)
{
	const struct muster_outcome *found = muster_outcomes_find(&s.facts.outcomes, probe->name);
	ck_assert_ptr_nonnull(found);
	return found;
}

/* ---- the start of a worker ---- */

TEST(a_gpu_that_was_taken_is_in_the_record)
{
	start(NULL);
	ck_assert_str_eq(command("open"), "{\"do\": \"open\"}");
	ck_assert_str_eq(s.facts.gpu, "0001:00:00.0");
	ck_assert_str_eq(s.facts.gpu_uuid, "GPU-5");
	ck_assert_int_eq(times_recorded(&s.record, "\"gpu_uuid\": \"GPU-5\""), 1);
	ck_assert(!s.no_worker);
	ck_assert_uint_eq(script.started, 1);
}

TEST(another_gpu_of_a_later_worker_is_not_the_one_of_the_record)
{
	start(NULL);
	const struct answer other[] = {
		{ "take", "{\"done\":{\"code\":\"ok\",\"gpu\":\"0002:00:00.0\",\"uuid\":\"GPU-9\",\"path\":\"p\"}}" },
		{ NULL, NULL }
	};
	script.answers = other;
	muster_probe_runner_again(&s);
	ck_assert_str_eq(s.worker.answer.uuid, "GPU-9");
	ck_assert_str_eq(s.facts.gpu_uuid, "GPU-5");
	ck_assert_str_eq(s.facts.gpu, "0001:00:00.0");
	/* and what it measures there is not this rank's */
	ck_assert(muster_probe_may_run(&s, launch) && !muster_probe_may_run(&s, copies));
	const struct muster_outcome *outcome = muster_outcomes_find(&s.facts.outcomes, copies->name);
	ck_assert_int_eq(outcome->status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome->detail,
		"CUDA gave this rank GPU 0001:00:00.0 first, and GPU 0002:00:00.0 to its next worker: a GPU has left "
		"the node");
}

/* The first answer to this action ends the worker; the next worker answers. */
static const char *dies_once;
static int worker_send_once(void *worker, const char *text, size_t length, struct muster_error *err)
{
	struct script *w = worker;
	const struct answer dies[] = { { dies_once, NULL }, { NULL, NULL } };
	w->answers = w->started == 1 ? dies : NULL;
	int rc = worker_send(worker, text, length, err);
	w->answers = NULL;
	return rc;
}

/* _i: at its first command, or at its second one */
TEST_LOOP(drivers_that_end_a_worker_are_not_loaded_by_the_next_one, 0, 2)
{
	struct muster_worker_ops ops = worker_ops;
	ops.send = worker_send_once;
	dies_once = _i ? "take" : "open";
	s.worker.ops = &ops;
	start(NULL);
	ck_assert_uint_eq(script.started, 2);
	ck_assert_int_eq(s.open_status, MUSTER_OUTCOME_CRASHED);
	ck_assert_str_eq(s.worker.why_skipped, "the worker ended: killed");
	ck_assert_str_eq(command_number("open", 1), "{\"do\": \"open\", \"skip\": true}");
	ck_assert_ptr_nonnull(strstr(command_number("take", _i), "\"why_skipped\": \"the worker ended: killed\""));
	ck_assert(!s.no_worker);
	s.worker.ops = &worker_ops;
}

TEST(a_worker_that_always_dies_is_given_up_after_two)
{
	const struct answer dies[] = { { "open", NULL }, { NULL, NULL } };
	start(dies);
	ck_assert(s.no_worker);
	ck_assert_str_eq(s.take_error, "every worker died: the worker ended: killed");
	ck_assert_ptr_null(command("take"));
	ck_assert_int_eq(s.open_status, MUSTER_OUTCOME_CRASHED);
	ck_assert(!muster_probe_may_run(&s, launch));
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_CRASHED);
	ck_assert_str_eq(outcome(launch)->detail, "every worker died: the worker ended: killed");
}

TEST(drivers_that_hang_are_told_from_those_that_crash)
{
	const struct answer hangs[] = { { "open", "" }, { NULL, NULL } };
	start(hangs);
	ck_assert_ptr_null(s.worker.skipped_at);
	ck_assert_int_eq(s.open_status, MUSTER_OUTCOME_HUNG);
	ck_assert_str_eq(s.worker.why_skipped, "no answer within its deadline of 30.0 s; killed");
}

/* ---- whether a probe may run ---- */

static const struct {
	const char *take, *why; /* the answer to take; why a probe that needs a GPU does not run */
	enum muster_outcome_status status;
	const char *code;
} takes[] = {
	{ "{\"done\":{\"code\":\"ok\",\"gpu\":\"\",\"why_none\":\"more ranks than GPUs\"}}", "more ranks than GPUs",
		MUSTER_OUTCOME_NOT_RUN, NULL },
	{ "{\"done\":{\"code\":\"cuda\",\"error\":\"no driver\"}}", "no driver", MUSTER_OUTCOME_ERROR, "cuda" },
	{ "{\"done\":{\"code\":\"ok\"}}", "", MUSTER_OUTCOME_NOT_RUN, NULL },
};

TEST_EACH(without_a_gpu_only_probes_that_need_none_run, takes)
{
	const struct answer answers[] = { { "take", takes[_i].take }, { NULL, NULL } };
	start(answers);
	ck_assert(muster_probe_may_run(&s, launch));
	ck_assert(!muster_probe_may_run(&s, copies));
	ck_assert_int_eq(outcome(copies)->status, takes[_i].status);
	ck_assert_pstr_eq(outcome(copies)->code, takes[_i].code);
	ck_assert_str_eq(outcome(copies)->detail, takes[_i].why);
	ck_assert_ptr_null(muster_outcomes_find(&s.facts.outcomes, "launch"));
}

TEST(without_time_no_probe_begins)
{
	start(NULL);
	r.now_ms = END - s.deadlines.gather_reserve;
	ck_assert(!muster_probe_run(&s, launch, "run", 0));
	ck_assert_ptr_null(command("run"));
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_ptr_null(outcome(launch)->code);
	ck_assert_str_eq(outcome(launch)->detail, "no time left before the run's deadline");
}

TEST(a_later_part_that_has_no_time_takes_nothing_from_the_first)
{
	start(NULL);
	ck_assert(muster_probe_run(&s, copies, "run", 0));
	r.now_ms = END;
	ck_assert(!muster_probe_run(&s, copies, "together", 0));
	ck_assert_int_eq(outcome(copies)->status, MUSTER_OUTCOME_OK);
	s.interrupted = "enough";
	ck_assert(!muster_probe_run(&s, copies, "together", 0));
	ck_assert_int_eq(outcome(copies)->status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome(copies)->code, muster_code_name(MUSTER_EINTERRUPTED));
	ck_assert_str_eq(outcome(copies)->detail, "enough");
}

TEST(a_probe_of_the_node_is_its_leaders)
{
	start(NULL);
	const struct muster_probe *node = muster_probe_find("storage");
	ck_assert_int_eq(node->scope, MUSTER_SCOPE_NODE);
	ck_assert(!muster_probe_run(&s, node, "run", 0));
	ck_assert_ptr_null(muster_outcomes_find(&s.facts.outcomes, node->name));
}

/* ---- outcomes ---- */

TEST(the_first_failure_of_a_probe_stays_and_its_times_add_up)
{
	const struct answer fails[] = { { "run", "{\"done\":{\"code\":\"cuda\",\"error\":\"no memory\"}}" },
		{ NULL, NULL } };
	start(fails);
	double began_ms = r.now_ms;
	ck_assert(!muster_probe_run(&s, launch, "run", 0));
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome(launch)->detail, "no memory");
	double first_ms = outcome(launch)->elapsed_ms;
	ck_assert_double_eq_tol(first_ms, r.now_ms - began_ms, 1e-6);
	ck_assert(!muster_probe_run(&s, launch, "finish", 0)); /* nor does it run again */
	ck_assert_ptr_null(command("finish"));
	muster_probe_replace_outcome(
		&s, (struct muster_outcome){ .probe = "launch", .status = MUSTER_OUTCOME_OK, .elapsed_ms = 7 });
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_OK);
	ck_assert_double_eq_tol(outcome(launch)->elapsed_ms, first_ms + 7, 1e-6);
	muster_probe_not_run(&s, "launch", MUSTER_OUTCOME_NOT_RUN, "", "why");
	muster_probe_not_run(&s, "launch", MUSTER_OUTCOME_NOT_RUN, "", "another reason");
	ck_assert_str_eq(outcome(launch)->detail, "why");
	ck_assert_double_eq_tol(outcome(launch)->elapsed_ms, first_ms + 7, 1e-6);
	ck_assert_int_eq(
		times_recorded(&s.record, "\"probe\": \"launch\""), 4); /* a line for each; the last one counts */
}

TEST(a_reason_with_a_code_is_an_error)
{
	start(NULL);
	muster_probe_not_run(&s, "launch", MUSTER_OUTCOME_NOT_RUN, "ok", "why");
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_ptr_null(outcome(launch)->code);
	muster_probe_not_run(&s, "gpu_copy", MUSTER_OUTCOME_NOT_RUN, "cuda", "why");
	ck_assert_int_eq(outcome(copies)->status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome(copies)->code, "cuda");
}

/* _i: whether the worker knew its peers */
TEST_LOOP(the_worker_after_a_crash_is_set_up_like_the_one_before, 0, 2)
{
	const struct answer crashes[] = { { "run", NULL }, { NULL, NULL } };
	start(crashes);
	if (_i)
		s.peers = strdup("{\"do\": \"peers\", \"peers\": []}");
	ck_assert(!muster_probe_run(&s, launch, "run", 0));
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_CRASHED);
	ck_assert_uint_eq(script.started, 2);
	ck_assert_str_eq(command_number("open", 1), "{\"do\": \"open\"}");
	ck_assert_ptr_nonnull(command_number("take", 1));
	ck_assert_int_eq(command("peers") != NULL, _i);
	ck_assert(!s.no_worker);
}

TEST(a_worker_that_does_not_take_its_peers_is_the_last)
{
	const struct answer crashes[] = { { "run", NULL }, { "peers", NULL }, { NULL, NULL } };
	start(crashes);
	s.peers = strdup("{\"do\": \"peers\", \"peers\": []}");
	ck_assert(!muster_probe_run(&s, launch, "run", 0));
	ck_assert(s.no_worker);
	ck_assert_str_eq(s.take_error, "every worker died: the worker ended: killed");
}

TEST(a_probe_has_its_own_deadline)
{
	const struct answer hangs[] = { { "run", "" }, { NULL, NULL } };
	start(hangs);
	double began_ms = r.now_ms;
	ck_assert(!muster_probe_run(&s, launch, "run", 0));
	ck_assert_int_eq(outcome(launch)->status, MUSTER_OUTCOME_HUNG);
	ck_assert_double_eq_tol(outcome(launch)->elapsed_ms, launch->deadline_ms, 1e-6);
	ck_assert_double_ge(r.now_ms, began_ms + launch->deadline_ms);
}

/* The first visit alone has the time of the soak. */
TEST_LOOP(the_worker_is_told_the_visit, 0, 1 + MUSTER_VISITS)
{
	const struct answer hangs[] = { { "together", "" }, { NULL, NULL } };
	const struct muster_probe *load = muster_probe_find("gpu_load");
	char visit[32];
	start(hangs);
	options.soak_s = 10;
	ck_assert(!muster_probe_run(&s, load, "together", _i));
	snprintf(visit, sizeof visit, "\"visit\": %d", _i);
	ck_assert_ptr_nonnull(strstr(command("together"), visit));
	ck_assert_double_eq_tol(outcome(load)->elapsed_ms, load->deadline_ms + (_i == 0 ? 10000 : 0), 1e-6);
}

TEST_MAIN(.setup = setup, .teardown = one_rank_done)

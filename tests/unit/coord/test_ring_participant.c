/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_participant.c - one rank in the rings: what it tells rank 0 of itself, and which samples it keeps
 *
 * The rank is one of two of a node and not its leader. The leader's answers are scripted, and so is the worker.
 */
#include "check_main.h"
#include "one_rank.h"

#include "muster/report.h"

#include <math.h>

enum { END = 600000, LEADER = 4, RANK = 5, RANKS = 8 };

/* ---- the leader: an answer for each round ---- */

static struct muster_ring_place rounds[8]; /* OVER at the end */
static const char *ring_id;                /* NULL: the leader does not answer */
static bool silent;                        /* it answers nothing at all */
static const char *cancel;                 /* why each ring is cancelled when it has begun; NULL */

static void release(struct muster_barrier_id id, const char *bytes, size_t length)
{
	answer_barrier(id, LEADER, MUSTER_TAG_RELEASE, bytes, length);
}

static void answer(struct recorder *to, const struct recorded *sent)
{
	struct muster_enter enter;
	if (sent->tag != MUSTER_TAG_ENTER || silent)
		return;
	ck_assert_int_eq(sent->to, LEADER);
	ck_assert(muster_unpack_enter(sent->bytes, sent->length, &enter));
	if (enter.barrier.kind == MUSTER_BARRIER_RING) {
		struct muster_packer place = { 0 };
		muster_pack_ring_place(&place, &rounds[enter.barrier.round]);
		release(enter.barrier, place.bytes, place.length);
		muster_packer_done(&place);
	} else if (ring_id) {
		struct muster_packer why = { 0 }, p = { 0 };
		struct muster_barrier_id ring = { MUSTER_BARRIER_RING, enter.barrier.probe, enter.barrier.round, 0 };
		if (cancel) {
			muster_pack_parts(&p, ring);
			muster_pack_text(&why, cancel);
			muster_pack_part(&p, RANK, why.bytes, why.length);
			muster_packer_done(&why);
			recorder_deliver(to, LEADER, MUSTER_TAG_CANCEL_RANK, &p);
		}
		release(enter.barrier, ring_id, strlen(ring_id));
	}
}

/* ---- the rank ---- */

static void setup(void)
{
	one_rank_start(RANK, RANKS, END);
	r.answer = answer;
	memset(rounds, 0, sizeof rounds);
	for (int i = 0; i < LENGTH(rounds); i++)
		rounds[i].why = "";
	ring_id = "abcd";
	cancel = NULL;
	silent = false;
	one_rank_join((const int[]){ LEADER, RANK }, 2);
	s.nodes = 4;
	muster_supervisor_start_worker(&s);
	muster_probe_runner_take(&s);
	ck_assert_str_eq(s.worker.answer.uuid, "GPU-5");
}

static struct muster_ring_place member(int rank, bool trial)
{
	return (struct muster_ring_place){ .role = MUSTER_ROLE_MEMBER,
		.ring.rank = rank,
		.ring.ranks = 6,
		.ring.nodes = 3,
		.ring.trial = trial,
		.deadline_ms = 20000,
		.why = "" };
}

static const struct muster_outcome *outcome(void)
{
	const struct muster_outcome *found = muster_outcomes_find(&s.facts.outcomes, "nccl_allreduce");
	ck_assert_ptr_nonnull(found);
	return found;
}

/* How the worker's end in a ring is told to rank 0. */
static const struct {
	struct answer answers[2];
	enum muster_ring_end end;
	const char *failed; /* what rank 0 is told at once; NULL: nothing */
	bool can_again;
} ends[] = {
	{ { { "ring", "{\"done\":{\"code\":\"ok\"}}" } }, MUSTER_RING_OK, NULL, true },
	{ { { "ring", "{\"done\":{\"code\":\"" } }, MUSTER_RING_CRASHED, "the worker of rank 5 crashed", false },
	{ { { "ring", NULL } }, MUSTER_RING_CRASHED, "the worker of rank 5 crashed", false },
	{ { { "ring", "" } }, MUSTER_RING_HUNG, "the worker of rank 5 hung", false },
	{ { { "ring", "{\"done\":{\"code\":\"cuda\",\"error\":\"no memory\"}}" } }, MUSTER_RING_ERROR,
		"rank 5: no memory", true },
};

static enum muster_ring_end end_with_code(enum muster_code code, const struct recorded **ret_failed)
{
	char line[128];
	snprintf(line, sizeof line, "{\"done\":{\"code\":\"%s\",\"error\":\"because\"}}", muster_code_name(code));
	const struct answer answers[] = { { "ring", line }, { NULL, NULL } };
	script.answers = answers;
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	*ret_failed = recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0);
	return entered_with(1, NULL).end;
}

TEST_EACH(rank_0_learns_how_the_ring_ended_here, ends)
{
	struct muster_ring_failed failed;
	script.answers = ends[_i].answers;
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	struct muster_ring_ready first = entered_with(0, NULL), second = entered_with(1, NULL);
	ck_assert_int_eq(first.end, MUSTER_RING_NONE);
	ck_assert(first.can);
	ck_assert_str_eq(first.uuid, "GPU-5");
	ck_assert_str_eq(first.agree, "2.28");
	ck_assert_str_eq(first.why, "");
	ck_assert_int_eq(second.end, ends[_i].end);
	ck_assert_int_eq(second.can, ends[_i].can_again);
	ck_assert_int_eq(*second.why != '\0', !ends[_i].can_again);
	ck_assert_int_eq(*second.uuid != '\0', ends[_i].can_again);
	ck_assert_uint_eq(script.started, ends[_i].can_again ? 1 : 2); /* a dead worker is replaced */
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0);
	ck_assert_int_eq(sent != NULL, ends[_i].failed != NULL);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 1));
	if (!sent)
		return;
	ck_assert_int_eq(sent->to, 0);
	ck_assert(muster_unpack_ring_failed(sent->bytes, sent->length, &failed));
	ck_assert_int_eq(failed.rank, RANK);
	ck_assert_int_eq(failed.ring.kind, MUSTER_BARRIER_RING);
	ck_assert_int_eq(failed.ring.round, 0);
	ck_assert_str_eq(failed.why, ends[_i].failed);
}

/* _i: by the end of the run. */
TEST_LOOP(a_ring_that_others_cancelled_is_no_failure_of_this_rank, 0, 2)
{
	const struct recorded *failed;
	ck_assert_int_eq(end_with_code(_i ? MUSTER_EINTERRUPTED : MUSTER_ECALLEDOFF, &failed), MUSTER_RING_CANCELLED);
	ck_assert_ptr_null(failed);
	ck_assert(entered_with(1, NULL).can);
}

TEST_LOOP(a_rank_whose_time_is_over_does_not_accuse_itself, 0, 2)
{
	const struct recorded *failed;
	ck_assert_int_eq(end_with_code(_i ? MUSTER_ESTALLED : MUSTER_ETIME, &failed), MUSTER_RING_LATE);
	ck_assert_ptr_null(failed); /* the others are late too: rank 0 finds out who keeps them waiting */
}

TEST(an_error_that_another_rank_caused_is_told_as_such)
{
	const struct recorded *failed;
	ck_assert_int_eq(end_with_code(MUSTER_EREMOTE, &failed), MUSTER_RING_REMOTE);
	ck_assert_ptr_nonnull(failed);
	ck_assert_str_eq(entered_with(1, NULL).detail, "because");
}

TEST(the_worker_is_told_its_place)
{
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	const char *ring = command("ring");
	ck_assert_ptr_nonnull(ring);
	static const char *const parts[] = { "\"ring_ids\": \"abcd\"", "\"ring_rank\": 2", "\"ring_ranks\": 6",
		"\"ring_nodes\": 3", "\"ring_trial\": false" };
	for (int i = 0; i < LENGTH(parts); i++)
		ck_assert_msg(strstr(ring, parts[i]) != NULL, "no %s in %s", parts[i], ring);
	char margin[64];
	snprintf(margin, sizeof margin, "\"timeout_ms\": %.0f", 20000 - s.deadlines.worker_margin);
	ck_assert_msg(strstr(ring, margin) != NULL, "no %s in %s", margin, ring);
	ck_assert_ptr_null(command("ring_id")); /* in a small ring the first rank alone makes one */
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(outcome()->ring, 6);
}

TEST(the_first_rank_makes_the_id_and_has_the_figures)
{
	const struct answer answers[] = {
		{ "ring", "{\"done\":{\"code\":\"ok\",\"figures\":[{\"bytes\":8,\"rate\":1.5},{\"bytes\":16,\"rate\":2."
			  "5}]}}" },
		{ NULL, NULL },
	};
	script.answers = answers;
	rounds[0] = member(0, false);
	rounds[1] = member(1, true);
	muster_ring_participate(&s, 0);
	ck_assert_ptr_nonnull(command("ring_id"));
	struct muster_ring_ready after_first = entered_with(1, NULL), after_second = entered_with(2, NULL);
	ck_assert_uint_eq(after_first.figure_count, 2);
	ck_assert_double_eq(muster_ring_figure_at(&after_first, 1).rate, 2.5);
	ck_assert_uint_eq(after_second.figure_count, 0); /* it was not the first there */
}

TEST(without_an_id_the_ring_does_not_run)
{
	ring_id = "";
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	ck_assert_ptr_null(command("ring"));
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome()->detail, "a rank that creates an NCCL id of the ring could not");
	ck_assert_int_eq(entered_with(1, NULL).end, MUSTER_RING_CANCELLED);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
}

TEST(a_ring_that_was_cancelled_before_it_began_is_cancelled_at_once)
{
	char line[128];
	snprintf(line, sizeof line, "{\"done\":{\"code\":\"%s\",\"error\":\"cancelled: rank 1 died\"}}",
		muster_code_name(MUSTER_ECALLEDOFF));
	const struct answer with_code[] = { { "ring", "" }, { "abort", line }, { NULL, NULL } };
	script.answers = with_code;
	cancel = "rank 1 died";
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	const char *aborted = command("abort");
	ck_assert_ptr_nonnull(aborted);
	ck_assert_ptr_nonnull(strstr(aborted, "rank 1 died"));
	ck_assert_int_eq(entered_with(1, NULL).end, MUSTER_RING_CANCELLED);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
	ck_assert_uint_eq(script.started, 1);
}

TEST(a_cancelled_ring_whose_worker_does_not_stop_is_not_this_ranks_fault_either)
{
	const struct answer answers[] = { { "ring", "" }, { NULL, NULL } };
	script.answers = answers;
	cancel = "rank 1 died";
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(entered_with(1, NULL).end, MUSTER_RING_CANCELLED);
	ck_assert_str_eq(entered_with(1, NULL).detail,
		"cancelled: rank 1 died; the worker did not stop within 5 s in its call; killed");
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
	ck_assert_uint_eq(script.started, 2);
}

TEST(the_first_ring_begins_a_phase_and_one_that_went_well_ends_it)
{
	/* two rounds with an id each, and the end */
	static const enum muster_phase ended[] = { MUSTER_PHASE_LOAD, MUSTER_PHASE_NONE, MUSTER_PHASE_RING,
		MUSTER_PHASE_NONE, MUSTER_PHASE_RING };
	struct muster_enter enter;
	int entered = 0;
	rounds[0] = rounds[1] = member(2, false);
	muster_ring_participate(&s, 0);
	for (int i = 0; i < r.count; i++) {
		if (r.sent[i].tag != MUSTER_TAG_ENTER)
			continue;
		ck_assert(muster_unpack_enter(r.sent[i].bytes, r.sent[i].length, &enter));
		ck_assert_int_eq(enter.ended, ended[entered++]);
	}
	ck_assert_int_eq(entered, LENGTH(ended));
}

/* The first ring in its parts, and what the worker is told; _i: how the wait for the communicator ends. */
TEST_LOOP(a_ring_begins_before_the_copies_is_awaited_and_goes_on, 0, 3)
{
	static const struct answer waits[][2] = {
		{ { "ring", "{\"done\":{\"code\":\"ok\"}}" } },
		{ { "ring", "{\"done\":{\"code\":\"nccl\",\"error\":\"it broke\"}}" } },
		{ { "ring", NULL } },
	};
	static const enum muster_ring_end ended[] = { MUSTER_RING_OK, MUSTER_RING_ERROR, MUSTER_RING_CRASHED };
	rounds[0] = rounds[1] = member(2, false);
	rounds[0].ring.part = MUSTER_RING_BEGIN;
	rounds[1].ring.part = MUSTER_RING_REST;
	muster_ring_begin(&s, muster_probe_find("nccl_allreduce"));
	ck_assert_ptr_nonnull(strstr(command_number("ring", 0), "\"ring_part\": 1"));
	ck_assert_ptr_nonnull(strstr(command_number("ring", 0), "\"ring_ids\": \"abcd\""));
	script.answers = waits[_i];
	muster_ring_await(&s);
	script.answers = NULL;
	muster_ring_await(&s); /* there is nothing more to wait for */
	ck_assert_ptr_nonnull(strstr(command_number("ring", 1), "\"ring_part\": 2"));
	ck_assert(_i == 0 || recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
	if (_i > 0)
		ck_assert_int_ne(outcome()->status, MUSTER_OUTCOME_OK);
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(entered_with(1, NULL).end, ended[_i]);
	ck_assert_int_eq(entered_with(1, NULL).can, _i < 2);
	if (_i == 0) {
		ck_assert_ptr_nonnull(strstr(command_number("ring", 2), "\"ring_part\": 3"));
		ck_assert_ptr_nonnull(strstr(command_number("ring", 2), "\"ring_ids\": \"\""));
		ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_OK);
	}
}

/* Others are told at once that they wait for nobody. */
TEST(a_rank_whose_worker_dies_after_the_ring_began_says_so_when_others_wait)
{
	rounds[0] = member(2, false);
	rounds[0].ring.part = MUSTER_RING_BEGIN;
	muster_ring_begin(&s, muster_probe_find("nccl_allreduce"));
	script.answers = (const struct answer[]){ { "run", NULL }, { NULL, NULL } };
	ck_assert(!muster_probe_run(&s, muster_probe_find("gpu_copy"), "run", 0));
	ck_assert_str_eq(muster_outcomes_find(&s.facts.outcomes, "gpu_copy")->detail,
		"the worker ended: killed, while NCCL was starting");
	muster_ring_await(&s);
	ck_assert_ptr_null(command_number("ring", 1));
	ck_assert_ptr_nonnull(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0));
	muster_ring_participate(&s, 0);
	ck_assert(entered_with(1, NULL).can); /* the next worker */
	ck_assert_int_eq(entered_with(1, NULL).end, MUSTER_RING_NONE);
}

static void begin_ring(void)
{
	rounds[0] = member(2, false);
	rounds[0].ring.part = MUSTER_RING_BEGIN;
	muster_ring_begin(&s, muster_probe_find("nccl_allreduce"));
}

static struct muster_barrier_id first_ring(void)
{
	struct muster_barrier_id ring = { .kind = MUSTER_BARRIER_RING };
	while (muster_probe_at((size_t)ring.probe) != muster_probe_find("nccl_allreduce"))
		ring.probe++;
	return ring;
}

/* It has measured nothing, so nobody may look for its values; _i: whether another rank has failed in it. */
TEST_LOOP(a_ring_that_begins_and_does_not_go_on_is_cancelled, 0, 2)
{
	static const char *const details[] = { "cancelled: the all-reduce did not go on", "cancelled: rank 1 died" };
	begin_ring();
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_OK);
	if (_i == 1) {
		s.cancelled = first_ring();
		s.cancelled_why = "rank 1 died";
	}
	muster_ring_participate(&s, 0); /* over at once */
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(outcome()->code, muster_code_name(MUSTER_ECALLEDOFF));
	ck_assert_str_eq(outcome()->detail, details[_i]);
}

TEST(an_idle_rank_waits_and_an_excluded_one_says_why)
{
	rounds[0] = (struct muster_ring_place){ .role = MUSTER_ROLE_IDLE, .why = "" };
	rounds[1] = (struct muster_ring_place){ .role = MUSTER_ROLE_EXCLUDED, .why = "its GPU is in use" };
	muster_ring_participate(&s, 0);
	ck_assert_ptr_null(command("ring"));
	ck_assert_int_eq(entered_with(1, NULL).end, MUSTER_RING_NONE);
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome()->detail, "its GPU is in use");
}

TEST(a_rank_whose_leader_is_silent_says_so)
{
	silent = true;
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome()->detail, "no member list from rank 0");
	ck_assert_double_le(r.now_ms, s.deadlines.silence + 1);
}

TEST_LOOP(a_place_that_comes_after_the_wait_is_given_back, 0, 4)
{
	struct muster_ring_failed failed;
	struct muster_packer place = { 0 };
	static const struct {
		enum muster_ring_role role;
		bool told;
	} cases[] = { { MUSTER_ROLE_MEMBER, true }, { MUSTER_ROLE_IDLE, false }, { MUSTER_ROLE_EXCLUDED, false },
		{ MUSTER_ROLE_OVER, false } };
	silent = true;
	muster_ring_participate(&s, 0);
	struct muster_barrier_id ring = s.unanswered;
	ck_assert_int_eq(ring.kind, MUSTER_BARRIER_RING);
	struct muster_ring_place late = member(2, false);
	late.role = cases[_i].role;
	muster_pack_ring_place(&place, &late);
	release(ring, place.bytes, place.length);
	ring.round++; /* another one is none of its business */
	release(ring, place.bytes, place.length);
	muster_packer_done(&place);
	muster_supervisor_receive(&s);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RING_FAILED, 0);
	ck_assert_int_eq(sent != NULL, cases[_i].told);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RING_FAILED, 1));
	if (sent) {
		ck_assert(muster_unpack_ring_failed(sent->bytes, sent->length, &failed));
		ck_assert_str_eq(failed.why, "rank 5: it did not wait any longer for its silent leader");
	}
}

TEST(samples_of_a_trial_do_not_count_and_those_of_the_last_full_ring_do)
{
	struct muster_worker_ops ops = worker_ops;
	ops.next_line = next_line_with_sample;
	s.worker.ops = &ops;
	rounds[0] = member(2, true);
	muster_ring_participate(&s, 0);
	ck_assert_uint_eq(s.record.samples, 1);
	ck_assert(times_recorded(&s.record, "\"kept\""));
	s.worker.ops = &worker_ops;
}

TEST(samples_of_a_full_ring_stay_when_there_is_no_other)
{
	struct muster_worker_ops ops = worker_ops;
	ops.next_line = next_line_with_sample;
	s.worker.ops = &ops;
	rounds[0] = member(2, false);
	muster_ring_participate(&s, 0);
	ck_assert_uint_eq(s.record.samples, 1);
	ck_assert(!times_recorded(&s.record, "\"kept\""));
	s.worker.ops = &worker_ops;
}

TEST(a_second_full_ring_takes_the_place_of_the_first)
{
	struct muster_worker_ops ops = worker_ops;
	ops.next_line = next_line_with_sample;
	s.worker.ops = &ops;
	rounds[0] = rounds[1] = member(2, false);
	muster_ring_participate(&s, 0);
	ck_assert_uint_eq(s.record.samples, 2);
	ck_assert(times_recorded(&s.record, "\"kept\""));
	s.worker.ops = &worker_ops;
}

/* The worker does not stop when the ring is cancelled that is waited for, and is killed: its successor can take part.
 */
TEST(a_worker_that_is_killed_in_a_ring_that_has_begun_is_replaced)
{
	const struct answer answers[] = { { "ring", "" }, { NULL, NULL } };
	begin_ring();
	s.cancelled = first_ring();
	s.cancelled_why = "rank 1 died";
	script.answers = answers;
	muster_ring_await(&s);
	script.answers = NULL;
	ck_assert_uint_eq(script.started, 2);
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(entered_with(1, NULL).end, MUSTER_RING_CANCELLED);
	ck_assert(entered_with(1, NULL).can);
}

TEST(a_ring_that_begins_and_has_no_time_to_go_on_says_so)
{
	begin_ring();
	s.end_ms = muster_clock_now(s.clock);
	muster_ring_participate(&s, 0);
	ck_assert_int_eq(outcome()->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome()->detail, "no time left before the run's deadline");
}

/* What a ring says that fails when it begins, or is awaited, does not stay beside what the next one says; _i: the
 * latter.
 */
TEST_LOOP(a_ring_that_fails_when_it_begins_leaves_no_samples_to_the_next, 0, 2)
{
	static const struct answer broken[] = { { "ring", "{\"done\":{\"code\":\"nccl\",\"error\":\"it broke\"}}" },
		{ NULL, NULL } };
	struct muster_worker_ops ops = worker_ops;
	rounds[0] = rounds[1] = member(2, false);
	rounds[0].ring.part = MUSTER_RING_BEGIN;
	script.answers = _i == 0 ? broken : NULL;
	ops.next_line = next_line_with_sample;
	s.worker.ops = _i == 0 ? &ops : &worker_ops;
	muster_ring_begin(&s, muster_probe_find("nccl_allreduce"));
	s.worker.ops = &ops;
	script.answers = broken;
	muster_ring_await(&s);
	script.answers = NULL;
	ck_assert_uint_eq(s.record.samples, 1);
	ck_assert(!times_recorded(&s.record, "\"kept\""));
	muster_ring_participate(&s, 0);
	ck_assert_uint_eq(s.record.samples, 2);
	ck_assert(times_recorded(&s.record, "\"kept\""));
	s.worker.ops = &worker_ops;
}

/* NCCL takes one instance of a GPU, so two of one bus id are told as one GPU. */
TEST(a_mig_instance_is_told_as_its_whole_gpu)
{
	s.worker.answer.uuid = "MIG-5";
	muster_ring_participate(&s, 0);
	ck_assert_str_eq(entered_with(0, NULL).uuid, "0001:00:00.0");
}

TEST_MAIN(.setup = setup, .teardown = one_rank_done)

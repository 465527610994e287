/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_loop.c - what one turn of a rank makes of messages, signals and the time
 */
#include "check_main.h"
#include "one_rank.h"

#include "caught_stderr.h"
#include "muster/report.h"

#include <math.h>
#include <signal.h>

enum { END = 600000, LEADER = 4, RANK = 5, LAST = 6, RANKS = 8 };

static const struct muster_barrier_id ring = { MUSTER_BARRIER_RING, 3, 1, 0 };

static double limit_ms; /* of the process, as the rank asked for; 0: not at all */
static int limit_code, limits;
static double signal_ms; /* when a signal came; 0: none */

static void limit(const struct muster_supervisor *of, double until_ms, int exit_code)
{
	ck_assert_ptr_eq(of, &s);
	limit_ms = until_ms;
	limit_code = exit_code;
	limits++;
}

static int came_signal(const struct muster_supervisor *of, double *ret_ms)
{
	ck_assert_ptr_eq(of, &s);
	*ret_ms = signal_ms;
	return signal_ms > 0 ? SIGTERM : 0;
}

static void start(int rank)
{
	one_rank_start(rank, RANKS, END);
	host.limit = limit;
	host.signal = came_signal;
	limit_ms = signal_ms = 0;
	limits = 0;
	muster_supervisor_start_worker(&s);
	muster_command_wait(&s);
}

/* A member of a node with three ranks. */
static void start_member(void)
{
	start(RANK);
	one_rank_join((const int[]){ LEADER, RANK, LAST }, 3);
	s.leader_heartbeat_ms = r.now_ms;
}

static void start_leader(void)
{
	start(LEADER);
	one_rank_join((const int[]){ LEADER, RANK, LAST }, 3);
	s.aggregator = muster_calloc(1, sizeof *s.aggregator);
	muster_node_aggregator_init(s.aggregator, &r.transport, &s.deadlines, s.members, s.member_count, s.end_ms);
}

static void start_rank_0(void)
{
	start(0);
	s.coordinator = muster_calloc(1, sizeof *s.coordinator);
	muster_coordinator_init(s.coordinator, &r.transport, &s.deadlines, END, END,
		&(struct muster_options){ .localise = MUSTER_LOCALISE_OFF });
}

static void came(int from, enum muster_tag tag, struct muster_packer *p)
{
	if (!p->bytes)
		p->bytes = muster_calloc(1, 1);
	recorder_deliver(&r, from, tag, p);
	muster_supervisor_receive(&s);
	ck_assert_int_eq(r.first, r.last);
}

static void came_text(int from, enum muster_tag tag, const char *text)
{
	struct muster_packer p = { 0 };
	muster_pack_text(&p, text);
	came(from, tag, &p);
}

static void came_empty(int from, enum muster_tag tag)
{
	struct muster_packer p = { 0 };
	came(from, tag, &p);
}

/* ---- the end of the run ---- */

TEST(rank_0_alone_interrupts_another_rank)
{
	start_member();
	r.now_ms = 7000;
	came_text(LEADER, MUSTER_TAG_INTERRUPT, "no");
	came_empty(0, MUSTER_TAG_INTERRUPT); /* malformed */
	ck_assert_ptr_null(s.interrupted);
	ck_assert_double_eq(s.end_ms, END);
	came_text(0, MUSTER_TAG_INTERRUPT, "rank 1 received SIGINT");
	ck_assert_str_eq(s.interrupted, "rank 1 received SIGINT");
	ck_assert_double_eq(s.end_ms, 7000 + s.deadlines.interrupted);
	ck_assert_int_eq(muster_supervisor_time_left(&s), 0);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_INTERRUPT, 0);
	const char *why;
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, 0);
	ck_assert(muster_unpack_text(sent->bytes, sent->length, &why));
	ck_assert_str_eq(why, "rank 1 received SIGINT");
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_INTERRUPT, 1));
	ck_assert(s.worker.stopped);
	ck_assert_str_eq(s.worker.answer.code, muster_code_name(MUSTER_EINTERRUPTED));
	ck_assert_str_eq(s.worker.answer.error, "rank 1 received SIGINT");
}

TEST(the_first_reason_of_an_interruption_stays)
{
	start_member();
	r.now_ms = 7000;
	came_text(0, MUSTER_TAG_INTERRUPT, "first");
	r.now_ms = 8000;
	came_text(0, MUSTER_TAG_INTERRUPT, "second");
	ck_assert_str_eq(s.interrupted, "first");
	ck_assert_str_eq(s.worker.answer.error, "first");
	ck_assert_double_eq(s.end_ms, 7000 + s.deadlines.interrupted);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_INTERRUPT, 1));
	ck_assert_int_eq(limits, 1);
}

/* _i: a second before the end, when an interruption must not move the end to a later time; or a long time before */
TEST_LOOP(an_interruption_moves_the_end_and_the_limit_of_the_process_forward_only, 0, 2)
{
	start_leader();
	double before = s.aggregator->barriers.limit_ms;
	s.end_error_ms = 30;
	r.now_ms = _i ? END - 1000 : 1000;
	came_text(0, MUSTER_TAG_INTERRUPT, "enough");
	ck_assert_str_eq(s.interrupted, "enough");
	double end_ms = _i ? END : 1000 + s.deadlines.interrupted;
	ck_assert_double_eq(s.end_ms, end_ms);
	ck_assert_double_eq(s.aggregator->barriers.limit_ms, before - (END - end_ms));
	ck_assert_int_eq(limits, _i ? 0 : 1);
	if (_i)
		return;
	ck_assert_double_eq_tol(
		limit_ms, end_ms + 30 + muster_deadlines_report(&s.deadlines, RANKS) + s.deadlines.limit, 1e-6);
	ck_assert_int_eq(limit_code, MUSTER_EXIT_INCONCLUSIVE);
}

/* Work that ends early with its figures has to end before the record must be sent, also when its worker hangs. */
TEST(an_interruption_leaves_time_for_the_record)
{
	const struct answer answers[] = { { "run", "" }, { NULL, NULL } };
	start_member();
	script.answers = answers;
	muster_worker_client_command(&s.worker, "{\"do\": \"run\"}", 60000);
	s.soaking = true;
	muster_supervisor_interrupt(&s, "SIGTERM");
	ck_assert_ptr_nonnull(command("abort"));
	ck_assert_double_le(s.worker.until_ms, s.end_ms - s.deadlines.record_aggregator);
	ck_assert_double_gt(s.worker.until_ms, r.now_ms);
}

TEST(rank_0_passes_an_interruption_on_to_every_other_rank)
{
	start_rank_0();
	r.now_ms = 3000;
	came_text(RANK, MUSTER_TAG_INTERRUPT, "rank 5 received SIGTERM");
	ck_assert_str_eq(s.interrupted, "rank 5 received SIGTERM");
	for (int rank = 1; rank < RANKS; rank++)
		ck_assert_int_eq(recorder_sent(&r, MUSTER_TAG_INTERRUPT, rank - 1)->to, rank);
	ck_assert_int_eq(r.count, RANKS - 1);
	ck_assert_double_eq(s.coordinator->end_ms, 3000 + s.deadlines.interrupted);
}

TEST(rank_0_does_not_tell_itself)
{
	start_rank_0();
	muster_supervisor_interrupt(&s, "enough");
	ck_assert_int_eq(r.count, RANKS - 1);
	ck_assert_ptr_null(r.transport.own);
}

TEST(a_signal_interrupts_the_run_and_is_named_with_its_time)
{
	start_member();
	s.start_ms = 1000;
	muster_supervisor_poll(&s, 20000);
	ck_assert_ptr_null(s.interrupted);
	signal_ms = 13340;
	muster_supervisor_poll(&s, 20000);
	ck_assert_str_eq(s.interrupted, "rank 5 received SIGTERM after 12.3 s");
	signal_ms = 14340;
	muster_supervisor_poll(&s, 20000);
	ck_assert_str_eq(s.interrupted, "rank 5 received SIGTERM after 12.3 s");
}

/* ---- messages ---- */

TEST(members_of_a_node_are_told_by_rank_0_alone)
{
	const int from[] = { LEADER, 0 };
	start(RANK);
	for (int i = 0; i < 2; i++) {
		struct muster_packer p = { 0 };
		muster_pack_membership(&p,
			&(struct muster_membership_news){ .node = "n", .members = (int[]){ RANK }, .member_count = 1 });
		came(from[i], MUSTER_TAG_MEMBERSHIP, &p);
		ck_assert_int_eq(s.membership.bytes != NULL, from[i] == 0);
		came_empty(from[i], MUSTER_TAG_GOODBYE);
		ck_assert_int_eq(s.goodbye.bytes != NULL, from[i] == 0);
	}
	size_t length = s.membership.length;
	came_text(0, MUSTER_TAG_MEMBERSHIP, "malformed");
	ck_assert_uint_eq(s.membership.length, length);
}

TEST(the_leader_alone_answers_a_barrier)
{
	start(RANK);
	answer_barrier(ring, LEADER, MUSTER_TAG_RELEASE, "x", 1);
	muster_supervisor_receive(&s);
	ck_assert_ptr_null(s.released.bytes); /* the rank does not know its leader yet */
	one_rank_join((const int[]){ LEADER, RANK }, 2);
	answer_barrier(ring, 0, MUSTER_TAG_RELEASE, "x", 1);
	muster_supervisor_receive(&s);
	ck_assert_ptr_null(s.released.bytes);
	answer_barrier(ring, LEADER, MUSTER_TAG_RELEASE, "x", 1);
	muster_supervisor_receive(&s);
	ck_assert_ptr_nonnull(s.released.bytes);
}

/* _i: the barrier and the rank of the answer, or another barrier, or another rank, or no answer at all */
TEST_LOOP(an_answer_is_taken_by_the_barrier_and_the_rank_that_it_is_for, 0, 4)
{
	struct muster_packer p = { 0 };
	struct muster_barrier_id id = ring;
	id.round += _i == 1;
	muster_pack_parts(&p, id);
	muster_pack_part(&p, _i == 2 ? LAST : RANK, "place", 5);
	struct muster_message message = { .bytes = p.bytes, .length = _i == 3 ? 1 : p.length };
	start(RANK);
	struct muster_answer answer = muster_answer_of(&message, ring, RANK);
	ck_assert_int_eq(answer.here, _i == 0);
	ck_assert_ptr_null(message.bytes);
	if (_i == 0)
		ck_assert_str_eq(answer.bytes.bytes, "place");
	muster_answer_done(&answer);
	ck_assert_str_eq(answer.bytes.bytes, "");
	answer = muster_answer_of(&message, ring, RANK);
	ck_assert(!answer.here);
}

/* _i: whom it is for, or whether it can be read at all */
TEST_LOOP(a_ring_is_cancelled_for_the_rank_that_is_named, 0, 4)
{
	struct muster_packer p = { 0 }, why = { 0 };
	start_member();
	muster_worker_client_command(&s.worker, "{\"do\": \"ring\", \"probe\": \"\"}", 10000);
	s.worker.state = MUSTER_WORKER_BUSY;
	s.ring = ring;
	muster_pack_text(&why, "rank 1 died");
	muster_pack_parts(&p, ring);
	muster_pack_part(&p, _i == 1 ? LAST : RANK, why.bytes, _i == 2 ? 1 : why.length);
	if (_i == 3)
		p.length = 3;
	muster_packer_done(&why);
	came(LEADER, MUSTER_TAG_CANCEL_RANK, &p);
	ck_assert_int_eq(muster_barrier_same(s.cancelled, ring), _i == 0);
	ck_assert_int_eq(command("abort") != NULL, _i == 0);
	ck_assert_pstr_eq(s.cancelled_why, _i == 0 ? "rank 1 died" : NULL);
}

TEST(the_cancellation_of_another_ring_does_not_stop_this_one)
{
	struct muster_packer p = { 0 }, why = { 0 };
	start_member();
	muster_worker_client_command(&s.worker, "{\"do\": \"ring\"}", 10000);
	s.ring = ring;
	s.ring.round++;
	muster_pack_text(&why, "rank 1 died");
	muster_pack_parts(&p, ring);
	muster_pack_part(&p, RANK, why.bytes, why.length);
	muster_packer_done(&why);
	came(LEADER, MUSTER_TAG_CANCEL_RANK, &p);
	ck_assert(muster_barrier_same(s.cancelled, ring));
	ck_assert_ptr_null(command("abort"));
}

static void enter(int rank)
{
	struct muster_packer p = { 0 };
	muster_pack_enter(
		&p, &(struct muster_enter){ .barrier = ring, .ended = MUSTER_PHASE_NONE, .payload = { "", 0 } });
	came(rank, MUSTER_TAG_ENTER, &p);
}

TEST(entries_that_come_before_the_rank_knows_its_node_are_kept)
{
	start(LEADER);
	enter(RANK);
	came_empty(LAST, MUSTER_TAG_PEER_DIED);
	came_empty(LAST, MUSTER_TAG_HEARTBEAT);
	ck_assert_uint_eq(s.early_count, 2);
	ck_assert_int_eq(s.early[0].tag, MUSTER_TAG_ENTER);
	ck_assert_int_eq(s.early[0].from, RANK);
	ck_assert_int_eq(s.early[1].tag, MUSTER_TAG_PEER_DIED);
}

TEST_LOOP(a_leader_takes_entries_and_another_member_drops_them, 0, 2)
{
	if (_i)
		start_leader();
	else
		start_member();
	enter(LAST);
	ck_assert_uint_eq(s.early_count, 0);
	ck_assert_int_eq(_i && s.aggregator->barriers.barriers != NULL, _i);
}

TEST(one_turn_takes_eight_megabytes_of_messages_or_a_little_more)
{
	start_member();
	for (int i = 0; i < 3; i++) {
		struct muster_packer p = { .bytes = muster_calloc(4 << 20, 1), .length = 4 << 20 };
		recorder_deliver(&r, LAST, MUSTER_TAG_HEARTBEAT, &p);
	}
	muster_supervisor_receive(&s);
	ck_assert_int_eq(r.last - r.first, 1);
	muster_supervisor_receive(&s);
	ck_assert_int_eq(r.last - r.first, 0);
}

/* _i: whether the rank is rank 0; the leader of another node */
TEST_LOOP(a_malformed_message_is_logged_and_dropped, 0, 2)
{
	static const char *const lines[] = {
		"muster: rank 4 node n: a malformed message (tag 3, 0 bytes) from rank 5\n",
		"muster: rank 0 node n: a malformed message (tag 1, 0 bytes) from rank 5\n",
	};
	if (_i)
		start_rank_0();
	else
		start_leader();
	host.quiet = false;
	catch_stderr();
	came_empty(RANK, _i ? MUSTER_TAG_HELLO : MUSTER_TAG_ENTER);
	ck_assert_str_eq(printed(), lines[_i]);
	came_empty(RANK, MUSTER_TAG_HEARTBEAT);
	ck_assert_str_eq(printed(), "");
	host.quiet = true;
	came_empty(RANK, _i ? MUSTER_TAG_HELLO : MUSTER_TAG_ENTER);
	ck_assert_str_eq(printed(), "");
}

/* ---- heartbeats ---- */

TEST(a_member_sends_its_leader_a_heartbeat_each_second)
{
	start_member();
	double every = s.deadlines.heartbeat_every;
	s.heartbeat_ms = r.now_ms;
	double began_ms = r.now_ms;
	for (int i = 1; i <= 3; i++) {
		muster_supervisor_poll(&s, INFINITY);
		ck_assert_double_eq_tol(r.now_ms, began_ms + i * every, 1);
		ck_assert_int_eq(r.count, i);
		ck_assert_int_eq(r.sent[i - 1].tag, MUSTER_TAG_HEARTBEAT);
		ck_assert_int_eq(r.sent[i - 1].to, LEADER);
	}
	muster_supervisor_poll(&s, r.now_ms + every / 2);
	ck_assert_int_eq(r.count, 3);
}

TEST(a_member_of_a_silent_leader_turns_to_rank_0)
{
	start_member();
	r.now_ms = s.leader_heartbeat_ms + s.deadlines.silence - 1;
	ck_assert(!muster_aggregator_is_dead(&s));
	muster_serve_heartbeats(&s);
	ck_assert_int_eq(r.count, 1);
	r.now_ms += 1;
	ck_assert(muster_aggregator_is_dead(&s));
	s.heartbeat_ms = 0;
	muster_serve_heartbeats(&s);
	ck_assert_int_eq(r.count, 3);
	ck_assert_int_eq(r.sent[1].to, LEADER);
	ck_assert_int_eq(r.sent[2].to, 0);
	came_empty(LAST, MUSTER_TAG_HEARTBEAT); /* another member's do not count */
	ck_assert(muster_aggregator_is_dead(&s));
	came_empty(LEADER, MUSTER_TAG_HEARTBEAT);
	ck_assert(!muster_aggregator_is_dead(&s));
}

TEST(a_leader_sends_heartbeats_to_its_members_and_to_rank_0)
{
	start_leader();
	r.now_ms = 100000;
	came_empty(LAST, MUSTER_TAG_HEARTBEAT);
	struct muster_packer p = { .bytes = muster_calloc(1, 1) };
	recorder_deliver(&r, 0, MUSTER_TAG_GOODBYE, &p);
	muster_serve_heartbeats(&s);
	ck_assert_int_eq(r.count, 3);
	ck_assert_int_eq(r.sent[0].to, RANK);
	ck_assert_int_eq(r.sent[1].to, LAST);
	ck_assert_int_eq(r.sent[2].to, 0);
	ck_assert(!muster_barrier_is_dead(&s.aggregator->barriers, 0, r.now_ms)); /* nor is itself dead */
	ck_assert(muster_barrier_is_dead(&s.aggregator->barriers, 1, r.now_ms));
	ck_assert_int_eq(r.first, r.last);
	ck_assert_ptr_null(s.goodbye.bytes); /* too late */
	ck_assert(!muster_aggregator_is_dead(&s));
}

TEST(rank_0_is_alive_for_its_own_barriers)
{
	start_rank_0();
	struct muster_coordinator *c = s.coordinator;
	muster_membership_hello(&c->members, 0, "n", "b");
	muster_membership_hello(&c->members, RANK, "m", "c");
	muster_coordinator_poll(c, END);
	ck_assert(c->closed);
	one_rank_join((const int[]){ 0 }, 1);
	s.aggregator = muster_calloc(1, sizeof *s.aggregator);
	muster_node_aggregator_init(s.aggregator, &r.transport, &s.deadlines, s.members, 1, s.end_ms);
	r.now_ms = END + 100000;
	muster_serve_heartbeats(&s);
	ck_assert(!muster_barrier_is_dead(&c->barriers, 0, r.now_ms));
	ck_assert(!muster_barrier_is_dead(&s.aggregator->barriers, 0, r.now_ms));
	ck_assert(muster_barrier_is_dead(&c->barriers, 1, r.now_ms));
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_HEARTBEAT, 0));
}

TEST(a_rank_that_does_not_know_its_node_sends_no_heartbeat)
{
	start(RANK);
	r.now_ms = 100000;
	muster_serve_heartbeats(&s);
	ck_assert_int_eq(r.count, 0);
}

/* ---- time ---- */

TEST(no_command_starts_in_the_last_five_seconds)
{
	start(RANK);
	r.now_ms = END - s.deadlines.gather_reserve - 2.5;
	ck_assert_int_eq(muster_supervisor_time_left(&s), 2);
	r.now_ms = END - s.deadlines.gather_reserve;
	ck_assert_int_eq(muster_supervisor_time_left(&s), 0);
	r.now_ms = END;
	ck_assert_int_eq(muster_supervisor_time_left(&s), 0);
	r.now_ms = 0;
	ck_assert_int_eq(muster_supervisor_time_left(&s), END - 5000);
	s.interrupted = "enough";
	ck_assert_int_eq(muster_supervisor_time_left(&s), 0);
}

TEST_LOOP(a_command_gets_what_it_wants_and_the_run_has_left, 0, 10)
{
	static const struct {
		int left_ms, most_s, wanted_ms, deadline_ms;
	} cases[] = {
		{ 100000, 0, 20000, 20000 },
		{ 100000, 0, 100000, 100000 },
		{ 100000, 0, 100001, 100000 },
		{ 100000, 7, 20000, 7000 },
		{ 100000, 30, 20000, 20000 },
		{ 3000, 7, 20000, 3000 },
		{ 501, 0, 20000, 501 },
		{ 499, 0, 20000, 500 }, /* so little that a healthy worker could not answer */
		{ -1000, 0, 20000, 500 },
		{ 499, 0, 100, 100 },
	};
	start(RANK);
	options.probe_deadline_s = cases[_i].most_s;
	r.now_ms = END - s.deadlines.gather_reserve - cases[_i].left_ms;
	ck_assert_int_eq(muster_supervisor_bounded(&s, cases[_i].wanted_ms), cases[_i].deadline_ms);
}

TEST(a_turn_is_over_when_its_time_is)
{
	start(RANK);
	double began_ms = r.now_ms;
	muster_supervisor_poll(&s, began_ms + 250);
	ck_assert_double_eq(r.now_ms, began_ms + 250);
	ck_assert_int_eq(r.waited_fd, -1);
	script.answers = (const struct answer[]){ { "run", "" }, { NULL, NULL } };
	muster_worker_client_command(&s.worker, "{\"do\": \"run\"}", 3000);
	muster_supervisor_poll(&s, INFINITY); /* until the deadline of the worker's command */
	ck_assert_double_eq(r.now_ms, began_ms + 3250);
	ck_assert_int_eq(r.waited_fd, WORKER_FD);
	ck_assert_int_eq(s.worker.state, MUSTER_WORKER_HUNG);
}

/* ---- barriers ---- */

static void beat_again(struct recorder *to, const struct recorded *sent)
{
	struct muster_packer p = { .bytes = muster_calloc(1, 1) };
	if (sent->tag == MUSTER_TAG_HEARTBEAT)
		recorder_deliver(to, LEADER, MUSTER_TAG_HEARTBEAT, &p);
	free(p.bytes);
}

TEST(a_barrier_is_left_before_the_end_of_the_run)
{
	start_member();
	r.answer = beat_again;
	s.end_ms = r.now_ms + 20000 + s.deadlines.barrier_member;
	s.leader_heartbeat_ms = r.now_ms;
	double until_ms = r.now_ms + 20000;
	struct muster_answer answer = muster_barrier_wait(&s, ring, MUSTER_PHASE_COPIES, "abc", 3);
	ck_assert(!answer.here);
	ck_assert_double_eq(r.now_ms, until_ms);
	struct muster_enter entered;
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_ENTER, 0);
	ck_assert_int_eq(sent->to, LEADER);
	ck_assert(muster_unpack_enter(sent->bytes, sent->length, &entered));
	ck_assert(muster_barrier_same(entered.barrier, ring));
	ck_assert(muster_barrier_same(s.at, ring));
	ck_assert_int_eq(entered.ended, MUSTER_PHASE_COPIES);
	ck_assert_str_eq(entered.payload.bytes, "abc");
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_ENTER, 1));
}

TEST(a_barrier_is_left_when_the_leader_is_silent)
{
	start_member();
	s.leader_heartbeat_ms = r.now_ms - 4000;
	double until_ms = s.leader_heartbeat_ms + s.deadlines.silence;
	struct muster_answer answer = muster_barrier_wait(&s, ring, MUSTER_PHASE_NONE, "", 0);
	ck_assert(!answer.here);
	ck_assert_double_eq(r.now_ms, until_ms);
}

TEST_MAIN(.teardown = one_rank_done)

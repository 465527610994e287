/* SPDX-License-Identifier: Apache-2.0 */
/* event_loop.c - one turn of a rank: its worker, its messages, its node's barriers, the coordinator
 *
 * A rank is one thread. Its own course is written as straight code (supervisor.c, ring_participant.c); each wait in
 * that code is a loop around muster_supervisor_poll, and a turn of it also does the work that this rank does for
 * others: as leader of its node for the members, as rank 0 for the job. So the code that waits must expect every
 * message, and state that a message may change is looked at again after each turn. One turn, in this order:
 *
 *   wait         sleep until a message, a line of the worker, or the first deadline of any part (next_event)
 *   signal       first: an interruption moves the end of the run, which all later steps compare with
 *   receive      at most TURN_BYTES or deadlines.turn of messages, so that a flood delays no heartbeat
 *   heartbeats   after messages and before barriers: a process that was stopped for a while (swapping, SIGSTOP) has
 *                taken the heartbeats that came meanwhile, and noted its own, before it looks for silent members
 *   barriers     of the node, then of the job; those of the job are entered by messages, so a leader that is rank 0
 *                sees its own REDUCE in the next turn
 *   worker       last: a command that a message of this turn has cancelled is ended as cancelled, and not as one that
 *                passed its deadline
 */
#include "coord/supervisor.h"

#include "coord/send.h"
#include "coord/signals.h"
#include "muster/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_WAIT_MS 0.01
enum { TURN_BYTES = 8 << 20 }; /* of messages in one turn */

static double now(const struct muster_supervisor *s)
{
	return muster_clock_now(s->clock);
}

/* ---- messages ---- */

/* The message is taken in any case: kept in the answer, or freed, as one of a barrier that this rank has left. */
struct muster_answer muster_answer_of(struct muster_message *message, struct muster_barrier_id id, int rank)
{
	struct muster_answer answer = { .bytes = { "", 0 } };
	struct muster_parts parts;
	int to;
	if (!message->bytes)
		return answer;
	if (muster_unpack_parts(message->bytes, message->length, &parts) && muster_barrier_same(parts.barrier, id) &&
		muster_unpack_part(&parts, &to, &answer.bytes) && to == rank) {
		answer.here = true;
		answer.message = *message;
		*message = (struct muster_message){ 0 };
	} else {
		muster_message_done(message);
	}
	return answer;
}

void muster_answer_done(struct muster_answer *answer)
{
	muster_message_done(&answer->message);
	*answer = (struct muster_answer){ .bytes = { "", 0 } };
}

/* The ring of this round has failed. Here it may run, or may not have begun, or be over. */
static void take_cancel(struct muster_supervisor *s, const struct muster_message *message)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	const char *why;
	int rank;
	if (!muster_unpack_parts(message->bytes, message->length, &parts) ||
		!muster_unpack_part(&parts, &rank, &bytes) || rank != s->rank ||
		!muster_unpack_text(bytes.bytes, bytes.length, &why))
		return;
	s->cancelled = parts.barrier;
	s->cancelled_why = muster_arena_string(s->arena, why);
	if (muster_barrier_same(s->ring, s->cancelled))
		muster_worker_client_cancel(&s->worker, why);
}

/* The slot where supervisor.c waits for this message; NULL: none. */
static struct muster_message *slot_of(struct muster_supervisor *s, const struct muster_message *message)
{
	struct muster_membership_news news;
	if (message->tag == MUSTER_TAG_MEMBERSHIP && message->from == 0 &&
		muster_unpack_membership(message->bytes, message->length, &news))
		return &s->membership;
	if (message->tag == MUSTER_TAG_GOODBYE && message->from == 0)
		return &s->goodbye;
	bool released = message->tag == MUSTER_TAG_RELEASE && s->member_count > 0 && message->from == s->members[0];
	return released ? &s->released : NULL;
}

static void take_interrupt(struct muster_supervisor *s, const struct muster_message *message)
{
	const char *why;
	if (muster_unpack_text(message->bytes, message->length, &why) && (s->rank == 0 || message->from == 0))
		muster_supervisor_interrupt(s, why);
}

static void log_malformed(const struct muster_supervisor *s, const struct muster_error *err)
{
	if (!s->host->quiet)
		muster_log(MUSTER_LOG_WARN, &(struct muster_log_place){ .node = s->node, .rank = s->rank }, "%s",
			err->text);
}

/* Takes ownership of the message: a slot keeps the last one of its kind until supervisor.c takes that or the next one
 * comes; an early one is kept for the aggregator; all others are used and freed here. A rank that leads its node, or is
 * rank 0, hands each message to both of these parts: each ignores tags and senders that are not its own. */
static void take_message(struct muster_supervisor *s, struct muster_message *message)
{
	struct muster_error err;
	struct muster_message *slot = slot_of(s, message);
	if (slot == &s->released)
		muster_ring_late_answer(s, message);
	if (slot) {
		muster_message_done(slot);
		*slot = *message;
		return;
	}
	if (message->tag == MUSTER_TAG_CANCEL_RANK)
		take_cancel(s, message);
	if (message->tag == MUSTER_TAG_INTERRUPT)
		take_interrupt(s, message);
	if (s->coordinator && muster_coordinator_message(s->coordinator, message, &err) < 0)
		log_malformed(s, &err);
	if (!s->aggregator && s->member_count == 0 &&
		(message->tag == MUSTER_TAG_ENTER || message->tag == MUSTER_TAG_PEER_DIED)) {
		/* from a member that got its membership message before its leader */
		s->early = muster_realloc(s->early, s->early_count + 1, sizeof *s->early);
		s->early[s->early_count++] = *message;
		return;
	}
	if (s->aggregator && muster_node_aggregator_message(s->aggregator, message, &err) < 0)
		log_malformed(s, &err);
	muster_message_done(message);
}

void muster_supervisor_receive(struct muster_supervisor *s)
{
	double until_ms = now(s) + s->deadlines.turn;
	size_t bytes = 0;
	struct muster_message message;
	while (bytes < TURN_BYTES && now(s) <= until_ms && muster_transport_receive(s->transport, &message)) {
		bytes += message.length;
		if (s->member_count > 0 && message.from == s->members[0])
			s->leader_heartbeat_ms = now(s);
		take_message(s, &message);
	}
}

/* ---- heartbeats ---- */

static void beat(struct muster_supervisor *s, int to)
{
	struct muster_packer none = { 0 };
	muster_send_packed(s->transport, to, MUSTER_TAG_HEARTBEAT, &none);
}

/* Members to their leader and back, leaders to rank 0; and members of a dead leader, so that rank 0 waits for them. */
static void send_heartbeats(struct muster_supervisor *s)
{
	double now_ms = now(s);
	if (s->member_count == 0 || now_ms - s->heartbeat_ms < s->deadlines.heartbeat_every)
		return;
	s->heartbeat_ms = now_ms;
	if (!s->aggregator) {
		beat(s, s->members[0]);
		if (muster_aggregator_is_dead(s))
			beat(s, 0);
		return;
	}
	for (size_t i = 1; i < s->member_count; i++)
		beat(s, s->members[i]);
	muster_barrier_heartbeat(&s->aggregator->barriers, s->rank, now_ms);
	if (s->coordinator)
		muster_barrier_heartbeat(&s->coordinator->barriers, s->rank, now_ms);
	else
		beat(s, 0);
}

void muster_serve_heartbeats(struct muster_supervisor *s)
{
	struct muster_message message;
	while (muster_transport_receive(s->transport, &message))
		muster_message_done(&message);
	send_heartbeats(s);
}

/* ---- the end ---- */

void muster_supervisor_limit(const struct muster_supervisor *s, int exit_code)
{
	if (s->host->limit)
		s->host->limit(s,
			s->end_ms + s->end_error_ms + muster_deadlines_report(&s->deadlines, s->ranks) +
				s->deadlines.limit,
			exit_code);
}

/* Only the first reason counts. The run then ends deadlines.interrupted from here, if it would end later. Rank 0 sends
 * the reason to every other rank; any other rank sends it to rank 0. The worker is ended, and with it the command; a
 * soak is cancelled in place of that, so that its figures are kept. */
void muster_supervisor_interrupt(struct muster_supervisor *s, const char *why)
{
	double earlier = s->end_ms - (now(s) + s->deadlines.interrupted);
	if (s->interrupted)
		return;
	s->interrupted = muster_arena_string(s->arena, why);
	if (s->coordinator)
		s->coordinator->rings.ended = true;
	if (earlier > 0) {
		s->end_ms -= earlier;
		muster_supervisor_limit(s, MUSTER_EXIT_INCONCLUSIVE);
		if (s->aggregator)
			muster_node_aggregator_hasten(s->aggregator, earlier);
		if (s->coordinator)
			muster_coordinator_hasten(s->coordinator, earlier);
	}
	for (int rank = s->coordinator ? 1 : 0; rank < (s->coordinator ? s->ranks : 1); rank++) {
		struct muster_packer p = { 0 };
		muster_pack_text(&p, why);
		muster_send_packed(s->transport, rank, MUSTER_TAG_INTERRUPT, &p);
	}
	if (s->soaking) {
		muster_worker_client_cancel(&s->worker, why);
		/* early enough for the record, also when the worker hangs */
		s->worker.until_ms =
			fmin(s->worker.until_ms, now(s) + s->deadlines.interrupted - s->deadlines.record_aggregator);
	} else {
		muster_worker_client_stop(&s->worker, MUSTER_EINTERRUPTED, why);
	}
}

static void look_for_signal(struct muster_supervisor *s)
{
	double at_ms;
	int number = s->host->signal ? s->host->signal(s, &at_ms) : 0;
	if (!number || s->interrupted)
		return;
	muster_supervisor_interrupt(s, muster_arena_printf(s->arena, "rank %d received SIG%s after %.1f s", s->rank,
					       sigabbrev_np(number), (at_ms - s->start_ms) / 1e3));
}

/* ---- a turn ---- */

/* When the first part of this rank has something to do, if neither a message nor a line comes before. */
static double next_event(const struct muster_supervisor *s, double now_ms)
{
	double next = muster_worker_client_next(&s->worker);
	if (s->member_count > 0)
		next = fmin(next, s->heartbeat_ms + s->deadlines.heartbeat_every);
	if (s->aggregator)
		next = fmin(next, muster_node_aggregator_next(s->aggregator, now_ms));
	if (s->coordinator)
		next = fmin(next, muster_coordinator_next(s->coordinator, now_ms));
	/* never 0: rounding may put a time that is a little ahead into the past */
	return fmax(next, now_ms + LEAST_WAIT_MS);
}

void muster_supervisor_poll(struct muster_supervisor *s, double until_ms)
{
	bool busy = s->worker.state == MUSTER_WORKER_BUSY;
	muster_transport_wait(
		s->transport, busy ? s->worker.ops->fd(s->worker.worker) : -1, fmin(until_ms, next_event(s, now(s))));
	look_for_signal(s);
	muster_supervisor_receive(s);
	double now_ms = now(s);
	send_heartbeats(s);
	if (s->aggregator)
		muster_node_aggregator_poll(s->aggregator, now_ms);
	if (s->coordinator)
		muster_coordinator_poll(s->coordinator, now_ms);
	muster_worker_client_poll(&s->worker);
	if (s->coordinator)
		muster_spool_trials(s->spool, &s->coordinator->run);
}

/* ---- time ---- */

/* 0 from gather_reserve before the end on, and after an interruption: no new command starts. */
int muster_supervisor_time_left(const struct muster_supervisor *s)
{
	double left = s->end_ms - s->deadlines.gather_reserve - now(s);
	return left > 0 && !s->interrupted ? (int)left : 0;
}

int muster_supervisor_bounded(const struct muster_supervisor *s, double wanted_ms)
{
	double left = muster_supervisor_time_left(s), most = s->options->probe_deadline_s * 1e3;
	if (most > 0)
		wanted_ms = fmin(wanted_ms, most);
	return (int)(wanted_ms < left ? wanted_ms : fmax(left, s->deadlines.command_least));
}

/* ---- barriers ---- */

void muster_enter(struct muster_supervisor *s, struct muster_barrier_id id, enum muster_phase ended,
	const char *payload, size_t length)
{
	struct muster_packer p = { 0 };
	s->at = id;
	muster_pack_enter(&p, &(struct muster_enter){ .barrier = id, .ended = ended, .payload = { payload, length } });
	muster_send_packed(s->transport, s->members[0], MUSTER_TAG_ENTER, &p);
}

bool muster_aggregator_is_dead(const struct muster_supervisor *s)
{
	return !s->aggregator && now(s) >= s->leader_heartbeat_ms + s->deadlines.silence;
}

struct muster_answer muster_barrier_wait(struct muster_supervisor *s, struct muster_barrier_id id,
	enum muster_phase ended, const char *payload, size_t length)
{
	struct muster_answer answer = { .bytes = { "", 0 } };
	muster_enter(s, id, ended, payload, length);
	for (;;) {
		/* Changes when the run is interrupted. Later than the limit of the leader, which answers at that
		 * limit: a member that gave up before would miss the answer. */
		double until_ms = s->end_ms - s->deadlines.barrier_member;
		double silent_ms = s->leader_heartbeat_ms + s->deadlines.silence;
		if (now(s) >= until_ms || muster_aggregator_is_dead(s))
			return answer;
		muster_supervisor_poll(s, s->aggregator ? until_ms : fmin(until_ms, silent_ms));
		answer = muster_answer_of(&s->released, id, s->rank);
		if (answer.here)
			return answer;
	}
}

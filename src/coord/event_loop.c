/* event_loop.c - while a rank waits for anything it serves everything: its worker, its node's barriers, rank 0's office
 */
#include "coord/supervisor_internal.h"

#include "util/text.h"
#include "coord/message.h"
#include "coord/signals.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
	GATHER_RESERVE_MS = 5000, /* of the whole deadline, kept for records and the report */
	LEAST_DEADLINE_MS = 500,
	IDLE_POLL_MS = 2,
	GATE_MEMBER_MS =
		4000,    /* before the run's end members stop waiting at barriers; leaders and rank 0 did earlier */
	LIMIT_MS = 1500, /* after the time in which the report must be written */
	INTERRUPTED_MS = 5000, /* an interrupted run ends after this at the latest, as one whose time is over */
};

/* "<barrier>\n<why>": the ring of that round is broken. It may be under way here, or not begun yet, or over. */
static void take_stop(struct muster_supervisor *c, const struct muster_message *message)
{
	size_t at;
	int barrier;
	if (!muster_message_header(message->bytes, message->length, &barrier, 1, &at))
		return;
	c->stopped_gate = barrier;
	snprintf(c->stopped_why, sizeof c->stopped_why, "%s", message->bytes + at);
	if (c->ring_gate == barrier)
		muster_worker_client_cancel(&c->crew, c->stopped_why);
}

void muster_supervisor_limit(const struct muster_supervisor *c, int exit_code)
{
	muster_link_limit(c->end_ms + muster_finalize_limit_ms(c) + LIMIT_MS, exit_code);
}

void muster_supervisor_interrupt(struct muster_supervisor *c, const char *why)
{
	double now = muster_now_ms(), earlier = c->end_ms - (now + INTERRUPTED_MS);
	if (c->interrupted)
		return;
	c->interrupted = muster_arena_string(c->record.arena, why);
	if (earlier > 0) {
		c->end_ms -= earlier;
		muster_supervisor_limit(c, MUSTER_EXIT_INCONCLUSIVE);
		if (c->leader)
			muster_node_aggregator_advance_deadlines(c->leader, earlier);
		if (c->root)
			muster_coordinator_advance_deadlines(c->root, earlier);
	}
	for (int rank = 1; c->root && rank < c->ranks; rank++)
		muster_link_send(rank, MUSTER_TAG_INTERRUPT, why, strlen(why));
	if (!c->root)
		muster_link_send(0, MUSTER_TAG_INTERRUPT, why, strlen(why));
	muster_worker_client_stop(&c->crew, MUSTER_EINTERRUPTED, why);
}

static void look_for_signal(struct muster_supervisor *c)
{
	double at_ms;
	int number = muster_signals_received(&at_ms);
	if (!number || c->interrupted)
		return;
	char *why = muster_asprintf(
		"%s came to rank %d after %.1f s", muster_signals_name(number), c->rank, (at_ms - c->start_ms) / 1e3);
	muster_supervisor_interrupt(c, why);
	free(why);
}

void muster_supervisor_receive(struct muster_supervisor *c)
{
	struct muster_message message;
	while (muster_link_receive(&message)) {
		if (c->member_count > 0 && message.from == c->members[0])
			c->aggregator_heartbeat_ms = muster_now_ms();
		struct muster_message *slot = message.tag == MUSTER_TAG_MEMBERSHIP ? &c->layout
					      : message.tag == MUSTER_TAG_RELEASE  ? &c->passed
										   : NULL;
		if (slot) {
			muster_message_done(slot);
			*slot = message;
			continue; /* at most one of each is on its way */
		}
		if (message.tag == MUSTER_TAG_CANCEL)
			take_stop(c, &message);
		if (message.tag == MUSTER_TAG_INTERRUPT)
			muster_supervisor_interrupt(c, message.bytes);
		if (c->root)
			muster_coordinator_message(c->root, &message);
		if (!c->leader && (message.tag == MUSTER_TAG_ENTER || message.tag == MUSTER_TAG_PEER_DIED)) {
			c->early = muster_realloc(c->early, c->early_count + 1, sizeof *c->early);
			c->early[c->early_count++] = message;
			continue;
		}
		if (c->leader)
			muster_node_aggregator_message(c->leader, &message);
		muster_message_done(&message);
	}
}

/* Members to their leader and back, leaders to rank 0. */
static void give_sign_of_life(struct muster_supervisor *c, double now_ms)
{
	if (c->member_count == 0 || now_ms - c->alive_ms < MUSTER_HEARTBEAT_EVERY_MS)
		return;
	c->alive_ms = now_ms;
	if (!c->leader)
		muster_link_send(c->members[0], MUSTER_TAG_HEARTBEAT, "", 0);
	for (size_t i = 1; c->leader && i < c->member_count; i++)
		muster_link_send(c->members[i], MUSTER_TAG_HEARTBEAT, "", 0);
	if (c->leader && !c->root)
		muster_link_send(0, MUSTER_TAG_HEARTBEAT, "", 0);
	if (c->root)
		muster_barrier_set_heartbeat(&c->root->barriers, c->rank);
	if (c->leader)
		muster_barrier_set_heartbeat(&c->leader->barriers, c->rank);
}

void muster_supervisor_heartbeat(struct muster_supervisor *c)
{
	struct muster_message message;
	while (muster_link_receive(&message))
		muster_message_done(&message);
	give_sign_of_life(c, muster_now_ms());
}

/* One round of everything that may have happened meanwhile; sleeps shortly when nothing has. */
void muster_supervisor_poll(struct muster_supervisor *c)
{
	struct pollfd worker = { .fd = c->crew.proc.results, .events = POLLIN };
	bool waits = c->crew.state == MUSTER_WORKER_CLIENT_BUSY && worker.fd >= 0;
	poll(&worker, waits ? 1 : 0, IDLE_POLL_MS);
	look_for_signal(c);
	muster_supervisor_receive(c);
	double now = muster_now_ms();
	give_sign_of_life(c, now);
	if (c->leader)
		muster_node_aggregator_poll(c->leader, now);
	if (c->root)
		muster_coordinator_poll(c->root, now);
	muster_worker_client_poll(&c->crew);
	muster_journal_step(c->spool, c->crew.step);
	if (c->root)
		muster_journal_trials(c->spool, &c->root->run);
}

int muster_supervisor_time_left(const struct muster_supervisor *c)
{
	double left = c->end_ms - GATHER_RESERVE_MS - muster_now_ms();
	return left > 0 && !c->interrupted ? (int)left : 0;
}

/* A command's deadline, cut to what the user allows and what is left of the run's; never so short that a live worker
 * could not answer. */
int muster_supervisor_bounded(const struct muster_supervisor *c, int wanted_ms)
{
	int left = muster_supervisor_time_left(c), most = c->options->probe_deadline_s * 1000;
	if (most > 0 && most < wanted_ms)
		wanted_ms = most;
	return wanted_ms < left ? wanted_ms : left > LEAST_DEADLINE_MS ? left : LEAST_DEADLINE_MS;
}

/* Tell the leader that this rank is at a barrier; ended_phase is the phase of the run that ends with it, or -1. */
void muster_barrier_enter(struct muster_supervisor *c, int id, int ended_phase, const char *payload, size_t length)
{
	char *text = muster_realloc(NULL, length + 64, 1);
	int used = snprintf(text, 64, "%d %d\n", id, ended_phase);
	memcpy(text + used, payload, length);
	muster_link_send(c->members[0], MUSTER_TAG_ENTER, text, (size_t)used + length);
	free(text);
}

bool muster_aggregator_is_dead(const struct muster_supervisor *c)
{
	return !c->leader && muster_now_ms() - c->aggregator_heartbeat_ms > MUSTER_SILENCE_MS;
}

/* Arrive and wait until the barrier opens. The answer's text, malloc'd; NULL when none came until until_ms or the
 * leader is dead. */
char *muster_barrier_wait(
	struct muster_supervisor *c, int id, int ended_phase, const char *payload, size_t length, double until_ms)
{
	char *answer = NULL;
	muster_barrier_enter(c, id, ended_phase, payload, length);
	while (!answer && muster_now_ms() < until_ms && !muster_aggregator_is_dead(c)) {
		muster_supervisor_poll(c);
		int answered, rank;
		size_t at, size;
		const char *bytes;
		if (!c->passed.bytes)
			continue;
		if (muster_message_header(c->passed.bytes, c->passed.length, &answered, 1, &at) && answered == id &&
			muster_message_part(c->passed.bytes, c->passed.length, &at, &rank, &bytes, &size))
			answer = muster_asprintf("%.*s", (int)size, bytes);
		muster_message_done(&c->passed);
	}
	return answer;
}

/* The same for all barriers but the last: "" when there is no answer, and the rank goes on alone. */
char *muster_barrier_pass(struct muster_supervisor *c, int id, int ended_phase, const char *payload, size_t length)
{
	char *answer = muster_barrier_wait(c, id, ended_phase, payload, length, c->end_ms - GATE_MEMBER_MS);
	return answer ? answer : muster_strdup("");
}

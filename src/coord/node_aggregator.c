/* SPDX-License-Identifier: Apache-2.0 */
/* node_aggregator.c - the leader of a node owns the barriers of the node's ranks
 *
 * The leader's own rank is a member like the others: it sends its ENTER to itself and gets its RELEASE from itself. In
 * each turn event_loop.c hands every message of the leader to muster_node_aggregator_message, and then calls
 * muster_node_aggregator_poll. What is done at each barrier is a table in node_aggregator.h.
 */
#include "coord/node_aggregator.h"

#include "coord/send.h"
#include "muster/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same answer for each member that has entered. A member that has not is answered when it enters (late_entry). */
static void release_all(
	struct muster_node_aggregator *a, const struct muster_barrier *barrier, const char *bytes, size_t length)
{
	for (size_t i = 0; i < a->barriers.count; i++)
		if (barrier->entries[i].here)
			muster_send_part(a->transport, a->barriers.members[i], MUSTER_TAG_RELEASE, barrier->id,
				a->barriers.members[i], bytes, length);
}

/* The payloads of all members that have entered, as parts. The RECORD barrier may be complete by its limit while a
 * member lives and has not entered: then an empty part announces to rank 0 that the record of this member comes later
 * and by itself (late_entry). A dead member has no part. */
static void collect(const struct muster_node_aggregator *a, const struct muster_barrier *barrier, double now_ms,
	struct muster_packer *p)
{
	bool record = barrier->id.kind == MUSTER_BARRIER_RECORD;
	muster_pack_parts(p, barrier->id);
	for (size_t i = 0; i < a->barriers.count; i++) {
		const struct muster_barrier_entry *entry = &barrier->entries[i];
		if (entry->here)
			muster_pack_part(p, a->barriers.members[i], entry->bytes, entry->length);
		else if (record && !muster_barrier_is_dead(&a->barriers, i, now_ms))
			muster_pack_part(p, a->barriers.members[i], "", 0);
	}
}

static void complete(void *arg, struct muster_barrier *barrier, double now_ms)
{
	struct muster_node_aggregator *a = arg;
	struct muster_packer p = { 0 };
	if (barrier->id.kind == MUSTER_BARRIER_TURN) {
		release_all(a, barrier, "", 0);
		return;
	}
	collect(a, barrier, now_ms, &p);
	if (muster_barrier_is_of_job(barrier->id)) {
		muster_send_packed(a->transport, 0, MUSTER_TAG_REDUCE, &p);
	} else {
		release_all(a, barrier, p.bytes, p.length);
		muster_packer_done(&p);
	}
}

/* Forward a late record: rank 0 may still take it, and answers. At any other barrier answer here, so that the rank goes
 * on. At RING: its rounds are over, where the others had this answer too, and in every visit after the first; else it
 * is excluded from this round, and enters the next one. */
static void late_entry(void *arg, struct muster_barrier *barrier, size_t member)
{
	struct muster_node_aggregator *a = arg;
	int rank = a->barriers.members[member];
	struct muster_packer p = { 0 };
	if (barrier->id.kind == MUSTER_BARRIER_RECORD) {
		muster_send_part(a->transport, 0, MUSTER_TAG_RECORD, barrier->id, rank, barrier->entries[member].bytes,
			barrier->entries[member].length);
		return;
	}
	if (barrier->id.kind == MUSTER_BARRIER_RING) {
		bool over = barrier->id.visit > 0 || muster_barrier_same(barrier->id, a->ring_over);
		const struct muster_ring_place place = {
			.role = over ? MUSTER_ROLE_OVER : MUSTER_ROLE_EXCLUDED,
			.why = "the rank was too late",
		};
		muster_pack_ring_place(&p, &place);
	}
	muster_send_part(a->transport, rank, MUSTER_TAG_RELEASE, barrier->id, rank, p.bytes ? p.bytes : "", p.length);
	muster_packer_done(&p);
}

void muster_node_aggregator_init(struct muster_node_aggregator *a, struct muster_transport *transport,
	const struct muster_deadlines *deadlines, const int *members, size_t count, double end_ms)
{
	*a = (struct muster_node_aggregator){ .transport = transport, .deadlines = deadlines };
	a->dead_told = muster_calloc(count + 1, sizeof *a->dead_told);
	a->ended = muster_calloc(count + 1, sizeof *a->ended);
	muster_barrier_set_init(&a->barriers, members, count, muster_clock_now(transport->clock));
	a->barriers.silence_ms = deadlines->silence;
	a->barriers.limit_ms = end_ms - deadlines->barrier_aggregator;
	a->barriers.record_limit_ms = end_ms - deadlines->record_aggregator;
	a->barriers.complete = complete;
	a->barriers.late_entry = late_entry;
	a->barriers.arg = a;
}

void muster_node_aggregator_hasten(struct muster_node_aggregator *a, double earlier_ms)
{
	a->barriers.limit_ms -= earlier_ms;
	a->barriers.record_limit_ms -= earlier_ms;
}

void muster_node_aggregator_done(struct muster_node_aggregator *a)
{
	muster_barrier_set_done(&a->barriers);
	free(a->dead_told);
	free(a->ended);
	*a = (struct muster_node_aggregator){ 0 };
}

static void end_phases(struct muster_node_aggregator *a, size_t member, enum muster_phase last)
{
	while (a->ended[member] < last) {
		a->progress.done[++a->ended[member]]++;
		a->progress_due = true;
	}
}

/* A member enters. enter.ended names the last phase that the member has ended; a member that was slow may have ended
 * several since its last entry, and each of them is counted once. */
static int take_entry(
	struct muster_node_aggregator *a, const struct muster_message *message, double now_ms, struct muster_error *err)
{
	struct muster_enter enter;
	if (!muster_unpack_enter(message->bytes, message->length, &enter))
		return muster_message_malformed(message, err);
	int member = muster_barrier_member(&a->barriers, message->from);
	if (member >= 0)
		end_phases(a, (size_t)member, enter.ended);
	muster_barrier_enter(
		&a->barriers, enter.barrier, message->from, enter.payload.bytes, enter.payload.length, now_ms);
	return 0;
}

/* Send each part of a message of rank 0 to its rank: of SCATTER as RELEASE, of CANCEL as CANCEL_RANK. The answers of
 * RING barriers leave two things here: the number of rounds and the last round's id, for the report of members that die
 * in it (report_the_dead), and the id of the answer OVER, for members that enter that barrier late. */
static int forward(struct muster_node_aggregator *a, const struct muster_message *message, enum muster_tag tag,
	struct muster_error *err)
{
	struct muster_parts parts;
	struct muster_bytes part;
	struct muster_ring_place place;
	int rank;
	if (!muster_unpack_parts(message->bytes, message->length, &parts))
		return muster_message_malformed(message, err);
	struct muster_barrier_id id = parts.barrier;
	bool answers_ring = tag == MUSTER_TAG_RELEASE && id.kind == MUSTER_BARRIER_RING;
	if (answers_ring && !muster_barrier_same(id, a->ring_barrier)) {
		a->ring++;
		a->ring_barrier = id;
	}
	while (muster_unpack_part(&parts, &rank, &part)) {
		if (muster_barrier_member(&a->barriers, rank) < 0)
			continue;
		if (answers_ring && muster_unpack_ring_place(part.bytes, part.length, &place) &&
			place.role == MUSTER_ROLE_OVER)
			a->ring_over = id;
		muster_send_part(a->transport, rank, tag, id, rank, part.bytes, part.length);
	}
	return parts.rest.bad ? muster_message_malformed(message, err) : 0;
}

int muster_node_aggregator_message(
	struct muster_node_aggregator *a, const struct muster_message *message, struct muster_error *err)
{
	double now_ms = muster_clock_now(a->transport->clock);
	if (message->tag == MUSTER_TAG_PEER_DIED) {
		muster_barrier_lost(&a->barriers, message->from);
		return 0;
	}
	muster_barrier_heartbeat(&a->barriers, message->from, now_ms);
	if (message->tag == MUSTER_TAG_ENTER)
		return take_entry(a, message, now_ms, err);
	if (message->tag == MUSTER_TAG_SCATTER && message->from == 0)
		return forward(a, message, MUSTER_TAG_RELEASE, err);
	if (message->tag == MUSTER_TAG_CANCEL && message->from == 0)
		return forward(a, message, MUSTER_TAG_CANCEL_RANK, err);
	return 0;
}

/* A member that died in a ring cannot report it. Each death is reported once in each round (dead_told), since a later
 * ring may still count on that rank: rank 0 ignores a report of a rank that is in no ring of the round. */
static void report_the_dead(struct muster_node_aggregator *a, double now_ms)
{
	for (size_t i = 0; a->ring > 0 && i < a->barriers.count; i++) {
		if (a->dead_told[i] == a->ring || !muster_barrier_is_dead(&a->barriers, i, now_ms))
			continue;
		char why[64];
		struct muster_packer p = { 0 };
		a->dead_told[i] = a->ring;
		snprintf(why, sizeof why, "no further message from rank %d", a->barriers.members[i]);
		muster_pack_ring_failed(
			&p, &(struct muster_ring_failed){ a->ring_barrier, a->barriers.members[i], why });
		muster_send_packed(a->transport, 0, MUSTER_TAG_RING_FAILED, &p);
	}
}

void muster_node_aggregator_poll(struct muster_node_aggregator *a, double now_ms)
{
	muster_barrier_poll(&a->barriers, now_ms);
	report_the_dead(a, now_ms);
	for (size_t i = 0; i < a->barriers.count; i++)
		if (muster_barrier_is_dead(&a->barriers, i, now_ms)) /* no phase waits for it */
			end_phases(a, i, MUSTER_PHASE_TRAFFIC);
	if (!a->progress_due || now_ms - a->progress_ms < a->deadlines->progress_every)
		return;
	struct muster_packer p = { 0 };
	muster_pack_progress(&p, &a->progress);
	muster_send_packed(a->transport, 0, MUSTER_TAG_PROGRESS, &p);
	a->progress_due = false;
	a->progress_ms = now_ms;
}

double muster_node_aggregator_next(const struct muster_node_aggregator *a, double now_ms)
{
	double next = muster_barrier_next(&a->barriers, now_ms);
	double progress = a->progress_due ? a->progress_ms + a->deadlines->progress_every : INFINITY;
	return progress < next ? progress : next;
}

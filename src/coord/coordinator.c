/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator.c - rank 0's work for the whole job: membership, barriers of the job, records, goodbye
 *
 * In each turn event_loop.c hands every message of rank 0 to muster_coordinator_message, and then calls
 * muster_coordinator_poll. supervisor.c ends the gathering and asks for the goodbye (collect). The states stand in
 * coordinator.h.
 *
 *   message      from                     effect
 *   HELLO        every rank               before the membership: a member. Later: the sender gets an exit code
 *   PEER_DIED    the transport            before the membership: the rank is missing. Later: the leader is dead at once
 *   REDUCE       a leader                 its node enters a barrier of the job; records in it are read at once
 *   RECORD       a rank, or its leader    a record that comes apart from the barrier
 *   HEARTBEAT    a leader, or a member    the sender lives; while records are late, rank 0 waits longer for its record
 *                of a dead leader
 *   PROGRESS     a leader                 how many ranks of its node have ended each phase, or have died
 *   RING_FAILED  a rank, or its leader    the scheduler of the probe cancels the ring for the other ranks
 *
 * Before the membership all messages but the first two are ignored; when the run was cancelled, all but HELLO. A leader
 * proves with every message that it lives.
 */
#include "coord/coordinator.h"

#include "coord/send.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "muster/run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void complete(void *arg, struct muster_barrier *barrier, double now_ms);
static void late_entry(void *arg, struct muster_barrier *barrier, size_t member);

static void say(void *arg, const char *text)
{
	struct muster_coordinator *c = arg;
	muster_progress_say(&c->progress, text);
}

/* All that depends on the end of the run. */
static void set_limits(struct muster_coordinator *c)
{
	c->rings.limit_ms = c->barriers.limit_ms = c->end_ms - c->deadlines->barrier_coordinator;
	c->barriers.record_limit_ms = c->end_ms - c->deadlines->record_coordinator;
}

void muster_coordinator_init(struct muster_coordinator *c, struct muster_transport *transport,
	const struct muster_deadlines *deadlines, double end_ms, double hello_until_ms,
	const struct muster_options *options)
{
	int ranks = transport->size;
	*c = (struct muster_coordinator){
		.transport = transport,
		.deadlines = deadlines,
		.ranks = ranks,
		.recorded = muster_calloc((size_t)ranks, sizeof *c->recorded),
		.visit = MUSTER_VISITS - 1,
		.end_ms = end_ms,
		.hello_until_ms = hello_until_ms,
		.schedulers = muster_calloc(muster_probe_count(), sizeof *c->schedulers),
	};
	muster_run_init(&c->run);
	c->run.job.repeats = options->repeats; /* records are folded by it */
	c->reader = muster_record_reader_new(c->run.arena, muster_metric_find);
	muster_membership_init(&c->members, ranks, c->run.arena);
	muster_progress_init(&c->progress, transport->clock, options, ranks);
	c->rings = (struct muster_ring_context){
		.transport = transport,
		.members = &c->members,
		.deadlines = deadlines,
		.run = &c->run,
		.localise = options->localise,
		.profile = options->profile,
		.steps = options->steps,
		.say = say,
		.say_arg = c,
	};
	set_limits(c);
}

/* An interruption: hellos too end soon. Hellos that come within hello_interrupted are still taken. */
void muster_coordinator_hasten(struct muster_coordinator *c, double earlier_ms)
{
	c->end_ms -= earlier_ms;
	c->hello_until_ms =
		fmin(c->hello_until_ms, muster_clock_now(c->transport->clock) + c->deadlines->hello_interrupted);
	set_limits(c);
}

void muster_coordinator_done(struct muster_coordinator *c)
{
	muster_barrier_set_done(&c->barriers);
	for (size_t i = 0; c->schedulers && i < muster_probe_count(); i++)
		muster_ring_scheduler_free(c->schedulers[i]);
	free(c->schedulers);
	muster_record_reader_free(c->reader);
	muster_membership_done(&c->members);
	muster_run_done(&c->run);
	free(c->recorded);
	free(c->progress_of);
	muster_progress_end(&c->progress);
	*c = (struct muster_coordinator){ 0 };
}

/* ---- membership ---- */

static void send_membership(struct muster_coordinator *c, int rank, const struct muster_membership_news *news)
{
	struct muster_packer p = { 0 };
	muster_pack_membership(&p, news);
	muster_send_packed(c->transport, rank, MUSTER_TAG_MEMBERSHIP, &p);
}

/* A membership message with an exit code and nothing else: the rank ends with this code and measures nothing. */
static void send_off(struct muster_coordinator *c, int rank, int exit_code)
{
	send_membership(c, rank, &(struct muster_membership_news){ .exit_code = exit_code, .node = "" });
}

/* Hellos are over: number the nodes, tell each rank its node with the node's ranks, and begin the barriers of the job,
 * whose members are the leaders. The message has the time that is left and not the moment of the end, because the
 * clocks of nodes differ. Ranks without a hello become missing at the end of the run (add_missing). */
static void close_membership(struct muster_coordinator *c, double now_ms)
{
	double left = c->end_ms - now_ms;
	struct muster_membership *m = &c->members;
	muster_membership_close(m);
	for (size_t node = 0; node < m->node_count; node++) {
		struct muster_membership_news news = {
			.node_index = (int)node,
			.nodes = (int)m->node_count,
			.left_ms = left > 0 && left < INT_MAX ? (int)left : 0,
			.node = m->names[node],
		};
		news.members = muster_membership_ranks(m, node, &news.member_count);
		muster_run_add_node(&c->run, m->names[node]);
		for (size_t i = 0; i < news.member_count; i++)
			send_membership(c, news.members[i], &news);
	}
	muster_barrier_set_init(&c->barriers, m->leaders, m->node_count, now_ms);
	c->barriers.silence_ms = c->deadlines->silence;
	set_limits(c);
	c->barriers.complete = complete;
	c->barriers.late_entry = late_entry;
	c->barriers.arg = c;
	c->progress_of = muster_calloc(m->node_count + 1, sizeof *c->progress_of);
	c->closed = true;
}

void muster_coordinator_cancel(struct muster_coordinator *c, int exit_code)
{
	for (int rank = 0; rank < c->ranks; rank++)
		send_off(c, rank, exit_code);
	c->closed = true;
	c->cancelled = exit_code;
}

/* While hellos are taken, a second hello of a rank changes nothing. Later: a rank that is in the membership has its
 * answer already. Any other rank gets an exit code; the name of its node is kept, so that the report can name the
 * missing rank there. */
static int take_hello(struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err)
{
	struct muster_hello hello;
	if (!muster_unpack_hello(message->bytes, message->length, &hello))
		return muster_message_malformed(message, err);
	if (!c->closed) {
		(void)muster_membership_hello(&c->members, message->from, hello.node, hello.host);
		return 0;
	}
	if (!c->members.members[message->from].here) {
		c->members.members[message->from].node = muster_arena_string(c->run.arena, hello.node);
		send_off(c, message->from, c->cancelled ? c->cancelled : MUSTER_EXIT_INCONCLUSIVE);
	}
	return 0;
}

/* ---- records ---- */

/* Read one record, of a rank that is in the membership, and make it a part of the run. A malformed line costs its own
 * probe, not the record (muster_record_merge). */
static void take_record(struct muster_coordinator *c, int rank, struct muster_bytes bytes)
{
	struct muster_record_parts parts;
	muster_record_parts_init(&parts, rank);
	muster_record_read(c->reader, bytes.bytes, bytes.length, &parts);
	if (parts.malformed)
		muster_log(MUSTER_LOG_WARN,
			&(struct muster_log_place){ .node = c->members.members[rank].node, .rank = rank },
			"the record has a malformed line: %s", parts.malformed);
	c->recorded[rank] = true;
	c->recorded_count++;
	if (c->visit < MUSTER_VISITS)
		muster_record_merge(&c->run, (size_t)c->members.members[rank].node_index, &parts);
	else
		muster_record_merge_again(&c->run, (size_t)c->members.members[rank].node_index, &parts);
	muster_record_parts_done(&parts);
}

/* A message with the records of one rank or of a whole node, as parts. A record is ignored, without an error, when
 *   - no more records are taken, or the part belongs to the other visit of the two that are gathered;
 *   - the rank is not in the membership, or has a record already (a leader's death may send it twice);
 *   - the sender is neither the rank nor the leader of its node.
 * An empty record announces one that comes later (node_aggregator.c, collect). */
static int take_records(struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	int rank;
	if (!muster_unpack_parts(message->bytes, message->length, &parts))
		return muster_message_malformed(message, err);
	while (muster_unpack_part(&parts, &rank, &bytes)) {
		if (c->gathered || parts.barrier.visit != c->visit || rank >= c->ranks ||
			!c->members.members[rank].here || c->recorded[rank])
			continue;
		const struct muster_member *member = &c->members.members[rank];
		if (message->from != rank && message->from != c->members.leaders[member->node_index])
			continue;
		if (bytes.length > 0)
			take_record(c, rank, bytes);
		else
			c->announced = true;
	}
	return parts.rest.bad ? muster_message_malformed(message, err) : 0;
}

/* Whether every record has arrived, except those of dead leaders. The records of their ranks may still arrive. The
 * search goes over all ranks, so that it is made once in each deadlines->turn at most; between two searches the answer
 * is false. */
static bool everyone_is_in(struct muster_coordinator *c, double now_ms)
{
	if (c->recorded_count >= c->members.here_count)
		return true;
	if (now_ms - c->looked_ms[0] < c->deadlines->turn)
		return false;
	c->looked_ms[0] = now_ms;
	for (int rank = 0; rank < c->ranks; rank++) {
		const struct muster_member *member = &c->members.members[rank];
		if (member->here && !c->recorded[rank] &&
			(c->members.leaders[member->node_index] != rank ||
				!muster_barrier_is_dead(&c->barriers, (size_t)member->node_index, now_ms)))
			return false;
	}
	return true;
}

/* The node of a rank without a record: its own, or the node of a late hello, or "?". */
static size_t node_of_missing(struct muster_coordinator *c, const struct muster_member *member)
{
	const char *name = member->node ? member->node : "?";
	if (member->here)
		return (size_t)member->node_index;
	for (size_t i = c->run.node_count; i-- > 0;) /* few are missing, and most of them on the node that came last */
		if (strcmp(c->run.nodes[i].name, name) == 0)
			return i;
	muster_run_add_node(&c->run, name);
	return c->run.node_count - 1;
}

/* Add every rank without a record to its node, with the reason. */
static void add_missing(struct muster_coordinator *c)
{
	for (int rank = 0; rank < c->ranks; rank++) {
		const struct muster_member *member = &c->members.members[rank];
		if (c->recorded[rank])
			continue;
		size_t node = node_of_missing(c, member); /* may move the nodes */
		muster_node_add_rank(&c->run.nodes[node], rank)->missing =
			member->node ? "the rank started, then no further message arrived"
				     : "the rank never reported after MPI_Init";
	}
	muster_run_sort(&c->run);
}

/* ---- rings ---- */

/* The scheduler of the probe that a RING or RING_ID barrier belongs to, made when it is first asked for. NULL for other
 * barriers and for a probe without rings. */
static struct muster_ring_scheduler *scheduler_of(struct muster_coordinator *c, struct muster_barrier_id barrier)
{
	if ((barrier.kind != MUSTER_BARRIER_RING && barrier.kind != MUSTER_BARRIER_RING_ID) ||
		(size_t)barrier.probe >= muster_probe_count() || !muster_probe_at((size_t)barrier.probe)->ring)
		return NULL;
	struct muster_ring_scheduler **at = &c->schedulers[barrier.probe];
	if (!*at)
		*at = muster_ring_scheduler_new(&c->rings, muster_probe_at((size_t)barrier.probe), barrier.probe);
	return *at;
}

static int take_ring_failed(
	struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err)
{
	struct muster_ring_failed failed;
	if (!muster_unpack_ring_failed(message->bytes, message->length, &failed))
		return muster_message_malformed(message, err);
	struct muster_ring_scheduler *scheduler = scheduler_of(c, failed.ring);
	if (scheduler && !c->gathered)
		muster_ring_scheduler_failed(scheduler, &failed);
	return 0;
}

static void set_progress(struct muster_coordinator *c, size_t node, const struct muster_progress_news *news)
{
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		c->done[phase] += news->done[phase] - c->progress_of[node].done[phase];
	c->progress_of[node] = *news;
}

/* A node whose leader has died cannot report that its ring has failed: rank 0 takes all its ranks for lost, in the
 * rings of every probe, and no phase waits for them. Once in each deadlines->turn at most; a ring is cancelled once,
 * however often this is said. */
static void report_dead_leaders(struct muster_coordinator *c, double now_ms)
{
	if (c->gathered || now_ms - c->looked_ms[1] < c->deadlines->turn)
		return;
	c->looked_ms[1] = now_ms;
	for (size_t node = 0; node < c->members.node_count; node++) {
		if (!muster_barrier_is_dead(&c->barriers, node, now_ms))
			continue;
		char why[64];
		size_t members;
		struct muster_progress_news news;
		(void)muster_membership_ranks(&c->members, node, &members);
		for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
			news.done[phase] = (int)members;
		set_progress(c, node, &news);
		snprintf(why, sizeof why, "no further message from rank %d", c->members.leaders[node]);
		for (size_t probe = 0; probe < muster_probe_count(); probe++)
			if (c->schedulers[probe])
				muster_ring_scheduler_lost_node(c->schedulers[probe], node, why);
	}
}

/* ---- barriers ---- */

/* A barrier of the job is complete. RING and RING_ID: the scheduler answers. RECORD: from here on only late records are
 * missing. Without any, the wait ends at once. If a leader is missing, or has announced a late rank, the wait is as
 * long as the silence after which a rank takes its leader for dead: the ranks of a dead leader notice that about now,
 * and send their records themselves. Their heartbeats prolong the wait (take_heartbeat). */
static void complete(void *arg, struct muster_barrier *barrier, double now_ms)
{
	struct muster_coordinator *c = arg;
	struct muster_ring_scheduler *scheduler = scheduler_of(c, barrier->id);
	if (c->gathered || (barrier->id.kind == MUSTER_BARRIER_RECORD && barrier->id.visit != c->visit))
		return;
	if (barrier->id.kind == MUSTER_BARRIER_RECORD)
		c->late_until_ms =
			now_ms + (barrier->entered < c->barriers.count || c->announced ? c->deadlines->silence : 0);
	else if (scheduler)
		muster_ring_scheduler_complete(scheduler, barrier, now_ms);
}

/* A whole node was too late: its ranks get an answer, so that they go on. Each gets the same, for RING its place and
 * for RING_ID no id. Late records need no answer here: take_reduce has read them, and the goodbye is the answer. */
static void late_entry(void *arg, struct muster_barrier *barrier, size_t member)
{
	struct muster_coordinator *c = arg;
	const struct muster_barrier_entry *entry = &barrier->entries[member];
	struct muster_parts parts;
	struct muster_bytes bytes;
	struct muster_packer p = { 0 }, answer = { 0 };
	int rank;
	if (barrier->id.kind == MUSTER_BARRIER_RECORD || !muster_unpack_parts(entry->bytes, entry->length, &parts))
		return;
	muster_ring_scheduler_late_answer(scheduler_of(c, barrier->id), barrier->id, &answer);
	muster_pack_parts(&p, barrier->id);
	while (muster_unpack_part(&parts, &rank, &bytes))
		muster_pack_part(&p, rank, answer.bytes ? answer.bytes : "", answer.length);
	muster_send_packed(c->transport, c->members.leaders[member], MUSTER_TAG_SCATTER, &p);
	muster_packer_done(&answer);
}

/* A leader enters a barrier of the job. At RING and RING_ID the whole message is the payload, which the scheduler
 * unpacks. RECORD is entered without a payload: its records are read when they arrive, which spreads the work over the
 * arrivals, and then nothing of the message is kept. */
static int take_reduce(
	struct muster_coordinator *c, const struct muster_message *message, double now_ms, struct muster_error *err)
{
	struct muster_parts parts;
	if (!muster_unpack_parts(message->bytes, message->length, &parts))
		return muster_message_malformed(message, err);
	if (muster_barrier_member(&c->barriers, message->from) < 0 || !muster_barrier_is_of_job(parts.barrier))
		return 0;
	if (parts.barrier.kind != MUSTER_BARRIER_RECORD) {
		if (!scheduler_of(c, parts.barrier))
			return muster_message_malformed(message, err);
		muster_barrier_enter(
			&c->barriers, parts.barrier, message->from, message->bytes, message->length, now_ms);
		return 0;
	}
	int rc = take_records(c, message, err);
	muster_barrier_enter(&c->barriers, parts.barrier, message->from, "", 0, now_ms);
	return rc;
}

/* done[] are the totals of the node, so that a message that is lost or late does no harm: the job's total changes by
 * the difference from the node's last message. No total may be above the number of the node's ranks; all are checked
 * before the first one is used. */
static int take_progress(struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err)
{
	struct muster_progress_news news;
	int node = muster_barrier_member(&c->barriers, message->from);
	size_t members;
	if (!muster_unpack_progress(message->bytes, message->length, &news))
		return muster_message_malformed(message, err);
	if (node < 0) /* not a leader */
		return 0;
	(void)muster_membership_ranks(&c->members, (size_t)node, &members);
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		if ((size_t)news.done[phase] > members)
			return muster_message_malformed(message, err);
	set_progress(c, (size_t)node, &news);
	return 0;
}

/* A rank that lives and has not sent its record when all others have: its leader is dead, so that its heartbeats come
 * here, or it is a leader that was silent for so long that it counted as dead. */
static void take_heartbeat(struct muster_coordinator *c, int rank, double now_ms)
{
	if (c->late_until_ms > 0 && c->members.members[rank].here && !c->recorded[rank])
		c->late_until_ms = fmax(c->late_until_ms, now_ms + c->deadlines->silence);
}

int muster_coordinator_message(
	struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err)
{
	double now_ms = muster_clock_now(c->transport->clock);
	if (message->from < 0 || message->from >= c->ranks)
		return muster_message_malformed(message, err);
	if (message->tag == MUSTER_TAG_HELLO)
		return take_hello(c, message, err);
	if (message->tag == MUSTER_TAG_PEER_DIED) {
		if (!c->closed)
			muster_membership_gone(&c->members, message->from);
		else if (!c->cancelled)
			muster_barrier_lost(&c->barriers, message->from);
		return 0;
	}
	if (!c->closed || c->cancelled)
		return 0;
	muster_barrier_heartbeat(&c->barriers, message->from, now_ms);
	switch (message->tag) {
	case MUSTER_TAG_HEARTBEAT: take_heartbeat(c, message->from, now_ms); return 0;
	case MUSTER_TAG_REDUCE: return take_reduce(c, message, now_ms, err);
	case MUSTER_TAG_RECORD: return take_records(c, message, err);
	case MUSTER_TAG_PROGRESS: return take_progress(c, message, err);
	case MUSTER_TAG_RING_FAILED: return take_ring_failed(c, message, err);
	default: return 0;
	}
}

/* One turn: close the membership when it is due; then complete barriers, report dead leaders, and end the gathering
 * when every record is in, or the wait for late ones, or the time for records is over. */
void muster_coordinator_poll(struct muster_coordinator *c, double now_ms)
{
	if (!c->closed && (muster_membership_complete(&c->members) || now_ms >= c->hello_until_ms))
		close_membership(c, now_ms);
	if (!c->closed || c->cancelled)
		return;
	muster_barrier_poll(&c->barriers, now_ms);
	report_dead_leaders(c, now_ms);
	if (!c->gathered && c->late_until_ms > 0 &&
		(now_ms >= c->late_until_ms || now_ms >= c->barriers.record_limit_ms || everyone_is_in(c, now_ms)))
		muster_coordinator_give_up(c);
	c->done[MUSTER_PHASE_START] = c->members.here_count;
	if (!c->gathered)
		muster_progress_show(&c->progress, c->done, c->members.here_count);
}

double muster_coordinator_next(const struct muster_coordinator *c, double now_ms)
{
	if (!c->closed)
		return muster_membership_complete(&c->members) ? now_ms : c->hello_until_ms;
	if (c->cancelled || c->gathered)
		return INFINITY;
	double next = muster_barrier_next(&c->barriers, now_ms);
	if (c->late_until_ms > 0)
		next = fmin(next, fmin(c->late_until_ms, now_ms + c->deadlines->turn));
	return next;
}

void muster_coordinator_give_up(struct muster_coordinator *c)
{
	if (!c->gathered && c->visit < MUSTER_VISITS)
		add_missing(c);
	c->gathered = true;
}

static void answer_records(struct muster_coordinator *c, uint64_t probes)
{
	const struct muster_barrier_id id = { .kind = MUSTER_BARRIER_RECORD, .visit = c->visit };
	struct muster_packer p = { 0 };
	if (probes)
		muster_pack_again(&p, &(struct muster_again){ probes });
	for (int rank = 0; rank < c->ranks; rank++)
		if ((rank != c->transport->rank || probes) && c->members.members[rank].here)
			muster_send_part(
				c->transport, rank, MUSTER_TAG_GOODBYE, id, rank, p.bytes ? p.bytes : "", p.length);
	muster_packer_done(&p);
}

void muster_coordinator_goodbye(struct muster_coordinator *c)
{
	answer_records(c, 0);
}

/* What has been gathered stays in the run. The second gathering has the RECORD barrier of the visit MUSTER_VISITS, so a
 * late record of the first one is not taken for one of the second. A rank that dies in between is not missing: the run
 * has its record. */
void muster_coordinator_again(struct muster_coordinator *c, uint64_t probes)
{
	answer_records(c, probes);
	c->rings.again = probes;
	c->visit = MUSTER_VISITS;
	c->gathered = c->announced = false;
	c->late_until_ms = 0;
	c->recorded_count = 0;
	memset(c->recorded, 0, (size_t)c->ranks * sizeof *c->recorded);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_coordinator.c - what rank 0 makes of the messages that come to it, without the ranks that send them */
#include "coord/coordinator.h"
#include "caught_stderr.h"
#include "recorder.h"
#include "coord/transport_loop.h"

#include "check_main.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { END = 600000, HELLO_UNTIL = 200000, PER_NODE = 8 };

static const struct muster_barrier_id record_barrier = { .kind = MUSTER_BARRIER_RECORD, .visit = MUSTER_VISITS - 1 };
static struct muster_loop *loop; /* NULL: ... */
static struct recorder r;        /* ... messages are kept here */
static struct muster_deadlines deadlines;
static struct muster_coordinator c;
static struct muster_error err;

static void start(int ranks)
{
	loop = muster_loop_new(ranks, 4096, NULL);
	muster_deadlines_init(&deadlines, 1);
	muster_coordinator_init(&c, muster_loop_endpoint(loop, 0), &deadlines, END, HELLO_UNTIL,
		&(struct muster_options){ .localise = MUSTER_LOCALISE_OFF });
}

/* What rank 0 sends is kept. */
static void start_recorded(int ranks)
{
	recorder_init(&r, 0, ranks);
	muster_deadlines_init(&deadlines, 1);
	muster_coordinator_init(&c, &r.transport, &deadlines, END, HELLO_UNTIL,
		&(struct muster_options){ .localise = MUSTER_LOCALISE_AUTO });
}

static void teardown(void)
{
	muster_coordinator_done(&c);
	if (loop)
		muster_loop_free(loop);
	else if (r.transport.ops)
		recorder_done(&r);
}

/* A message that came; frees what was packed. */
static int came(enum muster_tag tag, int from, struct muster_packer *p)
{
	struct muster_message message = { .tag = (int)tag, .from = from, .bytes = p->bytes, .length = p->length };
	int rc = muster_coordinator_message(&c, &message, &err);
	muster_packer_done(p);
	return rc;
}

static void hello(int rank, int node)
{
	char name[16];
	struct muster_packer p = { 0 };
	snprintf(name, sizeof name, "n%d", node);
	muster_pack_hello(&p, &(struct muster_hello){ .host = name, .node = name });
	ck_assert_int_eq(came(MUSTER_TAG_HELLO, rank, &p), 0);
}

static void join_nodes(int nodes)
{
	for (int rank = 0; rank < nodes * PER_NODE; rank++)
		hello(rank, rank / PER_NODE);
	muster_coordinator_poll(&c, 0);
	ck_assert(c.closed);
	ck_assert_uint_eq(c.run.node_count, (size_t)nodes);
}

static void start_nodes(int nodes)
{
	start(nodes * PER_NODE);
	join_nodes(nodes);
}

static int progress(int from, int copies)
{
	struct muster_packer p = { 0 };
	muster_pack_progress(&p, &(struct muster_progress_news){ .done = { [MUSTER_PHASE_COPIES] = copies } });
	return came(MUSTER_TAG_PROGRESS, from, &p);
}

static void part(struct muster_packer *p, int rank)
{
	char text[160];
	int length = snprintf(text, sizeof text,
		"{\"about_rank\":{\"rank\":%d,\"local_rank\":%d,\"gpu\":\"0000:0%d:00.0\",\"simulated\":true}}\n"
		"{\"outcome\":{\"probe\":\"gpu_copy\",\"status\":\"ok\",\"elapsed_ms\":1}}\n",
		rank, rank % PER_NODE, rank % PER_NODE);
	muster_pack_part(p, rank, text, (size_t)length);
}

/* The records of a node's ranks, from its leader. */
static void records(int node)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, record_barrier);
	for (int i = 0; i < PER_NODE; i++)
		part(&p, node * PER_NODE + i);
	ck_assert_int_eq(came(MUSTER_TAG_REDUCE, node * PER_NODE, &p), 0);
}

TEST(the_progress_of_nodes_adds_up)
{
	start_nodes(2);
	ck_assert_int_eq(progress(0, 3), 0);
	ck_assert_int_eq(progress(PER_NODE, 8), 0);
	ck_assert_int_eq(c.done[MUSTER_PHASE_COPIES], 11);
	ck_assert_int_eq(progress(0, 5), 0); /* in place of the 3 */
	ck_assert_int_eq(progress(1, 7), 0); /* it leads no node */
	ck_assert_int_eq(c.done[MUSTER_PHASE_COPIES], 13);
	ck_assert_int_eq(c.done[MUSTER_PHASE_DRIVERS], 0);
}

TEST(no_more_ranks_than_a_node_has_can_have_ended_a_phase)
{
	start_nodes(2);
	ck_assert_int_eq(progress(0, PER_NODE), 0);
	ck_assert_int_eq(progress(0, PER_NODE + 1), -1);
	ck_assert_msg(strstr(err.text, "malformed") && strstr(err.text, "rank 0"), "%s", err.text);
	ck_assert_int_eq(progress(PER_NODE, INT_MAX), -1);
	ck_assert_int_eq(c.done[MUSTER_PHASE_COPIES], PER_NODE);
}

TEST(records_are_taken_once_and_from_whom_they_may_come)
{
	struct muster_packer p = { 0 };
	start_nodes(3);
	records(0);
	records(0);
	ck_assert_int_eq(c.recorded_count, PER_NODE);
	muster_pack_parts(&p, record_barrier); /* of another node */
	part(&p, 0);
	part(&p, 2 * PER_NODE);
	part(&p, 3 * PER_NODE); /* there is no such rank */
	ck_assert_int_eq(came(MUSTER_TAG_REDUCE, PER_NODE, &p), 0);
	ck_assert_int_eq(c.recorded_count, PER_NODE);
	muster_pack_parts(&p, record_barrier); /* its own, past its leader */
	part(&p, 2 * PER_NODE + 1);
	ck_assert_int_eq(came(MUSTER_TAG_RECORD, 2 * PER_NODE + 1, &p), 0);
	ck_assert_int_eq(c.recorded_count, PER_NODE + 1);
	muster_pack_parts(&p, record_barrier);
	part(&p, 2 * PER_NODE + 2);
	p.length--; /* cut */
	ck_assert_int_eq(came(MUSTER_TAG_RECORD, 2 * PER_NODE + 2, &p), -1);
	ck_assert_int_eq(c.recorded_count, PER_NODE + 1);
}

/* The list of members is one longer here, as if there were memory behind it. */
TEST(a_rank_that_is_one_too_high_is_no_rank)
{
	struct muster_packer p = { 0 };
	start_nodes(1);
	struct muster_member *longer = calloc(PER_NODE + 1, sizeof *longer);
	bool *recorded = calloc(PER_NODE + 1, sizeof *recorded);
	ck_assert(longer && recorded);
	memcpy(longer, c.members.members, PER_NODE * sizeof *longer);
	longer[PER_NODE] = (struct muster_member){ .here = true, .node = "n0", .host = "n0" };
	free(c.members.members);
	free(c.recorded);
	c.members.members = longer;
	c.recorded = recorded;
	muster_pack_parts(&p, record_barrier);
	part(&p, PER_NODE);
	part(&p, PER_NODE - 1);
	ck_assert_int_eq(came(MUSTER_TAG_REDUCE, 0, &p), 0);
	ck_assert_int_eq(c.recorded_count, 1);
}

TEST(the_run_is_gathered_when_every_record_is_in)
{
	start_nodes(2);
	records(1);
	muster_coordinator_poll(&c, 100);
	ck_assert(!c.gathered);
	records(0);
	muster_coordinator_poll(&c, 200);
	ck_assert(c.gathered);
	for (size_t node = 0; node < 2; node++)
		for (size_t i = 0; i < PER_NODE; i++)
			ck_assert_ptr_null(c.run.nodes[node].ranks[i].missing);
}

TEST(ranks_that_nothing_came_from_are_named)
{
	start(3);
	hello(0, 0);
	hello(1, 0);
	muster_coordinator_poll(&c, HELLO_UNTIL - 1);
	ck_assert(!c.closed);
	ck_assert_double_eq(muster_coordinator_next(&c, 0), HELLO_UNTIL);
	muster_coordinator_poll(&c, HELLO_UNTIL); /* at the very time that `next` says */
	ck_assert(c.closed);
	ck_assert_int_eq(c.progress.phase, MUSTER_PHASE_DRIVERS); /* which does not wait for rank 2 */
	muster_coordinator_give_up(&c);
	ck_assert_uint_eq(c.run.node_count, 2);
	ck_assert_str_eq(c.run.nodes[0].name, "n0");
	ck_assert_uint_eq(c.run.nodes[0].rank_count, 2);
	ck_assert_msg(
		strstr(c.run.nodes[0].ranks[1].missing, "the rank started"), "%s", c.run.nodes[0].ranks[1].missing);
	ck_assert_str_eq(c.run.nodes[1].name, "?");
	ck_assert_int_eq(c.run.nodes[1].ranks[0].rank, 2);
	ck_assert_msg(strstr(c.run.nodes[1].ranks[0].missing, "never reported"), "%s", c.run.nodes[1].ranks[0].missing);
}

static double clock_ms;

static double shown(const struct muster_clock *clock)
{
	(void)clock;
	return clock_ms;
}

TEST(ranks_of_a_dead_leader_are_waited_for_as_long_as_they_live)
{
	const struct muster_clock clock = { .now_ms = shown };
	struct muster_packer none = { 0 };
	start_nodes(2);
	c.transport->clock = &clock;
	clock_ms = 100;
	records(0);
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, PER_NODE, &none), 0);
	muster_coordinator_poll(&c, clock_ms);
	ck_assert(!c.gathered);
	ck_assert_int_eq(c.done[MUSTER_PHASE_TRAFFIC], PER_NODE);
	for (; clock_ms < 60000; clock_ms += deadlines.silence - 1) {
		ck_assert_int_eq(came(MUSTER_TAG_HEARTBEAT, PER_NODE + 1, &none), 0);
		muster_coordinator_poll(&c, clock_ms);
		ck_assert(!c.gathered);
	}
	clock_ms += 2; /* silent for long enough */
	muster_coordinator_poll(&c, clock_ms);
	ck_assert(c.gathered);
	ck_assert_ptr_nonnull(c.run.nodes[1].ranks[1].missing);
}

/* Messages of each kind that are cut short; a hello also after the membership is closed. */
TEST_LOOP(a_message_without_its_content_is_malformed, 0, 6)
{
	static const enum muster_tag tags[] = { MUSTER_TAG_HELLO, MUSTER_TAG_REDUCE, MUSTER_TAG_RECORD,
		MUSTER_TAG_PROGRESS, MUSTER_TAG_RING_FAILED };
	struct muster_packer none = { 0 };
	if (_i == 0) {
		start(2);
		hello(0, 0);
		ck_assert_int_eq(came(MUSTER_TAG_HELLO, 1, &none), -1);
		ck_assert_int_eq(c.members.here_count, 1);
		return;
	}
	start_nodes(2);
	ck_assert_int_eq(came(tags[_i - 1], PER_NODE, &none), -1);
	ck_assert_msg(strstr(err.text, "malformed") && strstr(err.text, "rank 8"), "%s", err.text);
	ck_assert_int_eq(came(MUSTER_TAG_HEARTBEAT, PER_NODE, &none), 0);
}

/* The next message to rank 0. */
static void read_news(struct muster_membership_news *ret)
{
	struct muster_message message;
	ck_assert(muster_transport_receive(c.transport, &message));
	ck_assert_int_eq(message.tag, MUSTER_TAG_MEMBERSHIP);
	ck_assert(muster_unpack_membership(message.bytes, message.length, ret));
	ret->node = NULL; /* a part of the message */
	muster_message_done(&message);
}

TEST_LOOP(ranks_hear_how_much_time_is_left, 0, 4)
{
	static const struct {
		double end_ms, now_ms;
		int left_ms;
	} cases[] = {
		{ END, 1000, END - 1000 }, { 1000, 1000, 0 }, { 1000, 1001, 0 }, /* never less than nothing */
		{ 4e9, 0, 0 },                                                   /* more than a message can say */
	};
	struct muster_membership_news news;
	start(1);
	hello(0, 0);
	c.end_ms = cases[_i].end_ms;
	muster_coordinator_poll(&c, cases[_i].now_ms);
	read_news(&news);
	ck_assert_int_eq(news.exit_code, 0);
	ck_assert_int_eq(news.left_ms, cases[_i].left_ms);
	ck_assert_int_eq(news.nodes, 1);
	ck_assert_uint_eq(news.member_count, 1);
}

TEST(a_rank_that_is_too_late_is_sent_off_and_named_on_its_node)
{
	start(3);
	hello(0, 0);
	hello(1, 0);
	muster_coordinator_poll(&c, HELLO_UNTIL);
	uint64_t before = muster_loop_messages(loop);
	hello(1, 0); /* once more: it is in the run already */
	ck_assert_uint_eq(muster_loop_messages(loop), before);
	hello(2, 5);
	ck_assert_uint_eq(muster_loop_messages(loop), before + 1);
	muster_coordinator_give_up(&c);
	ck_assert_uint_eq(c.run.node_count, 2);
	ck_assert_str_eq(c.run.nodes[1].name, "n5");
	ck_assert_msg(
		strstr(c.run.nodes[1].ranks[0].missing, "the rank started"), "%s", c.run.nodes[1].ranks[0].missing);
}

/* Without the record of a dead leader, which cannot come, nobody waits for a silence. */
TEST(the_record_of_a_dead_leader_is_not_waited_for)
{
	const struct muster_clock clock = { .now_ms = shown };
	struct muster_packer none = { 0 };
	start_nodes(2);
	c.transport->clock = &clock;
	clock_ms = 100;
	records(0);
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, PER_NODE, &none), 0);
	muster_coordinator_poll(&c, clock_ms);
	ck_assert(!c.gathered);
	for (int rank = PER_NODE + 1; rank < 2 * PER_NODE; rank++) {
		struct muster_packer p = { 0 };
		muster_pack_parts(&p, record_barrier);
		part(&p, rank);
		ck_assert_int_eq(came(MUSTER_TAG_RECORD, rank, &p), 0);
	}
	clock_ms += deadlines.turn + 1;
	muster_coordinator_poll(&c, clock_ms);
	ck_assert(c.gathered);
}

/* Ranks that come to a ring when the report is being made get no ring any more. */
TEST_LOOP(no_ring_begins_after_the_records, 0, 2)
{
	start_nodes(2);
	if (_i == 1)
		muster_coordinator_give_up(&c);
	uint64_t before = muster_loop_messages(loop);
	struct muster_barrier_id ring = { .kind = MUSTER_BARRIER_RING };
	while (!muster_probe_at((size_t)ring.probe)->ring)
		ring.probe++;
	for (int node = 0; node < 2; node++) {
		struct muster_packer p = { 0 };
		muster_pack_parts(&p, ring);
		for (int i = 0; i < PER_NODE; i++)
			muster_pack_part(&p, node * PER_NODE + i, "", 0);
		ck_assert_int_eq(came(MUSTER_TAG_REDUCE, node * PER_NODE, &p), 0);
	}
	muster_coordinator_poll(&c, 100);
	ck_assert_uint_eq(muster_loop_messages(loop) - before, _i == 0 ? 1 : 0); /* to the leader of node 1 */
}

/* ---- rings ---- */

static struct muster_barrier_id ring_barrier(int round)
{
	struct muster_barrier_id ring = { MUSTER_BARRIER_RING, 0, round, 0 };
	while (!muster_probe_at((size_t)ring.probe)->ring)
		ring.probe++;
	return ring;
}

/* A node's ranks come to a ring; each of them ended the one before like this. */
static void come_to_ring(int node, int round, enum muster_ring_end end)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, ring_barrier(round));
	for (int i = 0; i < PER_NODE; i++) {
		struct muster_packer ready = { 0 };
		char uuid[32];
		snprintf(uuid, sizeof uuid, "GPU-%d", node * PER_NODE + i);
		muster_pack_ring_ready(&ready, &(struct muster_ring_ready){ .can = true,
						       .uuid = uuid,
						       .agree = "2",
						       .why = "",
						       .end = end,
						       .detail = "remote error" });
		muster_pack_part(&p, node * PER_NODE + i, ready.bytes, ready.length);
		muster_packer_done(&ready);
	}
	ck_assert_int_eq(came(MUSTER_TAG_REDUCE, node * PER_NODE, &p), 0);
}

/* The `number`th message to the leader of node 1, as parts for its ranks. */
static void check_scatter(int number, enum muster_ring_role role, const char *why)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	struct muster_ring_place place;
	int rank;
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_SCATTER, number);
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, PER_NODE);
	ck_assert(muster_unpack_parts(sent->bytes, sent->length, &parts));
	for (int i = 0; i < PER_NODE; i++) {
		ck_assert(muster_unpack_part(&parts, &rank, &bytes));
		ck_assert_int_eq(rank, PER_NODE + i);
		ck_assert(muster_unpack_ring_place(bytes.bytes, bytes.length, &place));
		ck_assert_int_eq(place.role, role);
		ck_assert_str_eq(place.why, why);
	}
	ck_assert(!muster_unpack_part(&parts, &rank, &bytes));
}

TEST(a_node_that_is_too_late_for_a_ring_is_told_so)
{
	start_recorded(2 * PER_NODE);
	join_nodes(2);
	r.now_ms = END - deadlines.barrier_coordinator - 1;
	come_to_ring(0, 0, MUSTER_RING_NONE);
	muster_barrier_heartbeat(&c.barriers, PER_NODE, r.now_ms);
	muster_coordinator_poll(&c, r.now_ms);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_SCATTER, 0));
	r.now_ms += 1;
	muster_coordinator_poll(&c, r.now_ms);
	come_to_ring(1, 0, MUSTER_RING_NONE);
	check_scatter(1, MUSTER_ROLE_EXCLUDED, "excluded from the all-reduce: its node was too late");
}

TEST(a_failed_ring_is_a_line_of_the_progress)
{
	catch_stderr();
	setenv("MUSTER_TERMINAL", "0", 1);
	start_recorded(2 * PER_NODE);
	join_nodes(2);
	for (int round = 0; round < 2; round++) {
		printed();
		for (int node = 0; node < 2; node++)
			come_to_ring(node, round, round == 0 ? MUSTER_RING_NONE : MUSTER_RING_REMOTE);
		muster_coordinator_poll(&c, 100);
	}
	ck_assert_str_eq(printed(), "muster: 0.0 s: the all-reduce of 16 ranks failed: 16 ranks: remote error\n"
				    "muster: 0.0 s: localisation all-reduces: 2\n");
	check_scatter(0, MUSTER_ROLE_MEMBER, "");
	check_scatter(1, MUSTER_ROLE_MEMBER, "");
}

TEST_LOOP(the_failure_of_a_rank_or_a_leader_cancels_its_ring, 0, 2)
{
	struct muster_packer p = { 0 };
	start_recorded(2 * PER_NODE);
	join_nodes(2);
	for (int node = 0; node < 2; node++)
		come_to_ring(node, 0, MUSTER_RING_NONE);
	muster_coordinator_poll(&c, 100);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_CANCEL, 0));
	if (_i == 0) {
		muster_pack_ring_failed(&p, &(struct muster_ring_failed){ ring_barrier(0), 3, "rank 3: no" });
		ck_assert_int_eq(came(MUSTER_TAG_RING_FAILED, 0, &p), 0);
	} else {
		ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, PER_NODE, &p), 0);
		r.now_ms = 100 + deadlines.turn;
		muster_coordinator_poll(&c, r.now_ms);
	}
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_CANCEL, 0);
	struct muster_parts parts;
	struct muster_bytes bytes;
	const char *why;
	int rank;
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, PER_NODE);
	ck_assert(muster_unpack_parts(sent->bytes, sent->length, &parts));
	ck_assert(muster_barrier_same(parts.barrier, ring_barrier(0)));
	ck_assert(muster_unpack_part(&parts, &rank, &bytes));
	ck_assert_int_eq(rank, PER_NODE + _i); /* the dead leader itself need not be told */
	ck_assert(muster_unpack_text(bytes.bytes, bytes.length, &why));
	ck_assert_str_eq(why, _i == 0 ? "rank 3: no" : "no further message from rank 8");
}

TEST(a_ring_of_a_probe_without_rings_is_malformed)
{
	struct muster_barrier_id id = { MUSTER_BARRIER_RING, 0, 0, 0 };
	start_nodes(1);
	for (int i = 0; i < 2; i++) {
		struct muster_packer p = { 0 };
		id.probe = i == 0 ? 0 : (int)muster_probe_count();
		ck_assert(i > 0 || !muster_probe_at(0)->ring);
		muster_pack_parts(&p, id);
		ck_assert_int_eq(came(MUSTER_TAG_REDUCE, 0, &p), -1);
	}
}

TEST(a_malformed_line_of_a_record_is_logged)
{
	struct muster_packer p = { 0 };
	static const char text[] = "{\"sample\":{\"metric\":\"nobody.knows\",\"value\":8}}\n";
	catch_stderr();
	start_nodes(1);
	printed();
	muster_pack_parts(&p, record_barrier);
	muster_pack_part(&p, 3, text, sizeof text - 1);
	ck_assert_int_eq(came(MUSTER_TAG_REDUCE, 0, &p), 0);
	const char *line = printed();
	ck_assert_msg(strstr(line, "rank 3 node n0: the record has a malformed line: ") != NULL, "%s", line);
	ck_assert_int_eq(c.recorded_count, 1);
}

TEST(when_to_look_again_is_known)
{
	start_nodes(2);
	ck_assert(isinf(muster_coordinator_next(&c, 100)));
	records(0);
	ck_assert_double_lt(muster_coordinator_next(&c, 100), 1000); /* for a silent node */
	records(1);
	ck_assert_double_eq(muster_coordinator_next(&c, 100), 100);
	c.late_until_ms = 150;
	muster_barrier_poll(&c.barriers, 100);
	c.late_until_ms = 5000;
	ck_assert_double_eq(muster_coordinator_next(&c, 100), 100 + deadlines.turn);
	c.late_until_ms = 150;
	ck_assert_double_eq(muster_coordinator_next(&c, 100), 150);
	muster_coordinator_give_up(&c);
	ck_assert(isinf(muster_coordinator_next(&c, 100)));
}

TEST(ranks_that_have_sent_their_record_hold_nobody_up)
{
	const struct muster_clock clock = { .now_ms = shown };
	struct muster_packer none = { 0 }, p = { 0 };
	start_nodes(2);
	c.transport->clock = &clock;
	clock_ms = 100;
	records(0);
	muster_pack_parts(&p, record_barrier);
	part(&p, PER_NODE + 1);
	ck_assert_int_eq(came(MUSTER_TAG_RECORD, PER_NODE + 1, &p), 0);
	ck_assert_int_eq(came(MUSTER_TAG_PEER_DIED, PER_NODE, &none), 0);
	muster_coordinator_poll(&c, clock_ms);
	clock_ms += deadlines.silence;
	ck_assert_int_eq(came(MUSTER_TAG_HEARTBEAT, PER_NODE + 1, &none), 0);
	ck_assert_int_eq(came(MUSTER_TAG_HEARTBEAT, 1, &none), 0);
	muster_coordinator_poll(&c, clock_ms);
	ck_assert(c.gathered);
}

TEST(a_record_that_a_leader_announces_is_waited_for)
{
	struct muster_packer p = { 0 };
	start_nodes(1);
	muster_pack_parts(&p, record_barrier);
	for (int rank = 0; rank < PER_NODE - 1; rank++)
		part(&p, rank);
	muster_pack_part(&p, PER_NODE - 1, "", 0);
	ck_assert_int_eq(came(MUSTER_TAG_REDUCE, 0, &p), 0);
	muster_coordinator_poll(&c, 100);
	ck_assert(!c.gathered);
	ck_assert_int_eq(c.recorded_count, PER_NODE - 1);
	muster_pack_parts(&p, record_barrier);
	part(&p, PER_NODE - 1);
	ck_assert_int_eq(came(MUSTER_TAG_RECORD, 0, &p), 0);
	muster_coordinator_poll(&c, 101);
	ck_assert(c.gathered);
	ck_assert_ptr_null(c.run.nodes[0].ranks[PER_NODE - 1].missing);
}

TEST(every_rank_that_was_there_hears_the_goodbye_from_rank_0)
{
	start(4);
	for (int rank = 0; rank < 3; rank++)
		hello(rank, rank / 2);
	muster_coordinator_poll(&c, HELLO_UNTIL + 1);
	uint64_t before = muster_loop_messages(loop);
	muster_coordinator_goodbye(&c);
	ck_assert_uint_eq(muster_loop_messages(loop) - before, 2);
}

TEST(an_interrupted_run_still_takes_the_hellos_of_a_second)
{
	start(2);
	hello(0, 0);
	muster_coordinator_hasten(&c, END - 5000);
	muster_coordinator_poll(&c, 999);
	ck_assert(!c.closed);
	hello(1, 0);
	muster_coordinator_poll(&c, 1000);
	ck_assert(c.closed);
	ck_assert_int_eq(c.members.here_count, 2);
	teardown();
	start(2);
	hello(0, 0);
	muster_coordinator_hasten(&c, END - 5000);
	muster_coordinator_poll(&c, 1001);
	ck_assert(c.closed);
}

/* ---- large jobs ---- */

static double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Microseconds of the processor for one rank's record, from the messages to the run. */
static double merge_us(int nodes)
{
	start_nodes(nodes);
	double began_ms = cpu_ms();
	for (int node = nodes; node-- > 0;)
		records(node);
	muster_coordinator_poll(&c, 100);
	double took_ms = cpu_ms() - began_ms;
	ck_assert(c.gathered);
	ck_assert_int_eq(c.recorded_count, nodes * PER_NODE);
	teardown();
	loop = NULL;
	return took_ms * 1e3 / (nodes * PER_NODE);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWED 1 /* by a sanitizer: times say nothing */
#else
#define SLOWED 0
#endif

static const struct test_fixture long_timeout = { .timeout = 200 };

TEST_WITH(a_record_costs_the_same_in_a_large_job, .end = 1, .fixture = &long_timeout, .skip = SLOWED)
{
	double small_us = merge_us(1024), again_us = merge_us(1024), large_us = merge_us(8192);
	small_us = small_us > again_us ? small_us : again_us;
	/* work for each pair of ranks would make it 8 times as much */
	ck_assert_msg(large_us < 3 * small_us, "%.2f us a rank of 65,536, %.2f us of 8,192", large_us, small_us);
}

TEST_MAIN(.teardown = teardown)

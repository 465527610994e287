/* SPDX-License-Identifier: Apache-2.0 */
/* test_message.c - every message survives its bytes, and bytes of no message are refused
 *
 * Each message of `messages` is packed, unpacked and packed again; then its bytes are cut, extended and damaged.
 */
#include "coord/message.h"

#include "check_main.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_barrier_id ring = { MUSTER_BARRIER_RING, 3, 0x01020304, 2 };
static const struct muster_ring_figure figures[] = { { 8, 0.5 }, { (uint64_t)1 << 40, 393.25 } };

static void pack_hello(struct muster_packer *p)
{
	muster_pack_hello(p, &(struct muster_hello){ .host = "boot-1", .node = "gpu-1" });
}

static bool unpack_hello(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_hello hello;
	if (!muster_unpack_hello(bytes, length, &hello))
		return false;
	muster_pack_hello(again, &hello);
	return true;
}

static void pack_membership(struct muster_packer *p)
{
	static const int members[] = { 0, 2, 70000 };
	muster_pack_membership(p, &(struct muster_membership_news){ .exit_code = 3,
					  .node_index = 4,
					  .nodes = 5,
					  .left_ms = 600000,
					  .node = "gpu-1#2",
					  .members = members,
					  .member_count = 3 });
}

static bool unpack_membership(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_membership_news news;
	int members[3];
	if (!muster_unpack_membership(bytes, length, &news))
		return false;
	for (size_t i = 0; i < news.member_count; i++)
		members[i] = muster_member_at(&news, i);
	news.members = members;
	muster_pack_membership(again, &news);
	return true;
}

static void pack_enter(struct muster_packer *p)
{
	muster_pack_enter(
		p, &(struct muster_enter){ .barrier = ring, .ended = MUSTER_PHASE_NONE, .payload = { "a\0b", 3 } });
}

static bool unpack_enter(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_enter enter;
	if (!muster_unpack_enter(bytes, length, &enter))
		return false;
	muster_pack_enter(again, &enter);
	return true;
}

static void pack_progress(struct muster_packer *p)
{
	muster_pack_progress(p, &(struct muster_progress_news){ .done = { 8, 7, 6, 5, 0x7fffffff } });
}

static bool unpack_progress(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_progress_news news;
	if (!muster_unpack_progress(bytes, length, &news))
		return false;
	muster_pack_progress(again, &news);
	return true;
}

static void pack_ring_failed(struct muster_packer *p)
{
	muster_pack_ring_failed(p, &(struct muster_ring_failed){ .ring = ring, .rank = 9, .why = "it hung" });
}

static bool unpack_ring_failed(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_ring_failed failed;
	if (!muster_unpack_ring_failed(bytes, length, &failed))
		return false;
	muster_pack_ring_failed(again, &failed);
	return true;
}

static void pack_text(struct muster_packer *p)
{
	muster_pack_text(p, "SIGTERM came");
}

static bool unpack_text(const char *bytes, size_t length, struct muster_packer *again)
{
	const char *text;
	if (!muster_unpack_text(bytes, length, &text))
		return false;
	muster_pack_text(again, text);
	return true;
}

static const struct muster_peer entry = {
	.local_rank = 7, .gpu_bus_id = "0000:01:00.0", .gpu_uuid = "GPU-1", .gpu_path = "/sys/devices/x"
};

static void pack_peer(struct muster_packer *p)
{
	muster_pack_peer(p, &entry);
}

static bool unpack_peer(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_peer read;
	if (!muster_unpack_peer(bytes, length, &read))
		return false;
	muster_pack_peer(again, &read);
	return true;
}

static void pack_ring_ready(struct muster_packer *p)
{
	muster_pack_ring_ready(p, &(struct muster_ring_ready){ .can = true,
					  .uuid = "GPU-1",
					  .agree = "2.23",
					  .why = "",
					  .end = MUSTER_RING_CRASHED,
					  .seconds = 1.25,
					  .detail = "signal 11",
					  .figures = figures,
					  .figure_count = 2 });
}

static bool unpack_ring_ready(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_ring_figure read[MUSTER_RING_FIGURES_MAX];
	struct muster_ring_ready ready;
	if (!muster_unpack_ring_ready(bytes, length, &ready))
		return false;
	for (size_t i = 0; i < ready.figure_count; i++)
		read[i] = muster_ring_figure_at(&ready, i);
	ready.figures = read;
	muster_pack_ring_ready(again, &ready);
	return true;
}

static void pack_ring_place(struct muster_packer *p)
{
	muster_pack_ring_place(p, &(struct muster_ring_place){ .role = MUSTER_ROLE_MEMBER,
					  .ring.rank = 15,
					  .ring.ranks = 16,
					  .ring.nodes = 2,
					  .ring.trial = true,
					  .deadline_ms = 30000 });
}

static void pack_brief_ready(struct muster_packer *p)
{
	muster_pack_ring_ready(
		p, &(struct muster_ring_ready){ .brief = true, .can = true, .end = MUSTER_RING_LATE, .detail = "two" });
}

static void pack_traffic_place(struct muster_packer *p)
{
	muster_pack_ring_place(p, &(struct muster_ring_place){ .role = MUSTER_ROLE_TRAFFIC,
					  .probe = 12,
					  .kind = MUSTER_TRAFFIC_KIND_RAIL,
					  .traffic.peer = -1,
					  .peer_rank = 70000,
					  .traffic.round = 5,
					  .traffic.rounds = 6,
					  .traffic.visit = MUSTER_VISITS,
					  .deadline_ms = 10000 });
}

static void pack_no_traffic(struct muster_packer *p)
{
	muster_pack_ring_place(
		p, &(struct muster_ring_place){ .role = MUSTER_ROLE_NO_TRAFFIC, .probe = 12, .why = "no luck, no" });
}

static void pack_over(struct muster_packer *p)
{
	muster_pack_ring_place(p, &(struct muster_ring_place){ .role = MUSTER_ROLE_OVER, .why = "over" });
}

static bool unpack_ring_place(const char *bytes, size_t length, struct muster_packer *again)
{
	struct muster_ring_place place;
	if (!muster_unpack_ring_place(bytes, length, &place))
		return false;
	muster_pack_ring_place(again, &place);
	return true;
}

/* Where bytes stand: offset 0 is the first of the message. */
static const struct {
	const char *name;
	void (*pack)(struct muster_packer *p);
	bool (*unpack)(const char *bytes, size_t length, struct muster_packer *again);
	size_t length;
	/* numbers with bounds: their offset, and values that are refused */
	struct {
		size_t at;
		int32_t value;
	} refused[12];
	int text_at; /* the first byte of a text; -1: none */
} messages[] = {
	{ "hello", pack_hello, unpack_hello, 21, { { 0, 5 }, { 0, 7 }, { 0, -1 }, { 0, INT_MAX } }, 4 },
	{ "membership", pack_membership, unpack_membership, 44,
		{ { 0, -1 }, { 0, 256 }, { 4, -1 }, { 8, -1 }, { 12, -1 }, { 28, 2 }, { 28, 4 }, { 28, -1 }, { 32, -1 },
			{ 36, 0 }, { 40, 2 }, { 40, 1 } },
		20 },
	{ "enter", pack_enter, unpack_enter, 28,
		{ { 0, MUSTER_BARRIER_NONE }, { 0, MUSTER_BARRIER_KIND_COUNT }, { 0, -1 }, { 4, -1 }, { 8, -1 },
			{ 12, -1 }, { 12, MUSTER_VISITS + 1 }, { 16, -2 }, { 16, MUSTER_PHASE_COUNT }, { 20, 2 },
			{ 20, 4 }, { 20, -1 } },
		-1 },
	{ "progress", pack_progress, unpack_progress, 28,
		{ { 0, -1 }, { 4, -1 }, { 8, -1 }, { 12, -1 }, { 16, -1 }, { 20, -1 }, { 24, -1 } }, -1 },
	{ "ring_failed", pack_ring_failed, unpack_ring_failed, 32,
		{ { 0, MUSTER_BARRIER_RECORD }, { 0, MUSTER_BARRIER_RING_ID }, { 4, -1 }, { 8, -1 }, { 12, -1 },
			{ 16, -1 } },
		24 },
	{ "text", pack_text, unpack_text, 17, { { 0, 11 }, { 0, 13 }, { 0, -1 } }, 4 },
	{ "peer", pack_peer, unpack_peer, 50, { { 0, -1 }, { 4, 11 }, { 4, 13 } }, 8 },
	{ "ring_ready", pack_ring_ready, unpack_ring_ready, 94,
		{ { 0, 2 }, { 4, 2 }, { 8, -1 }, { 8, MUSTER_RING_END_COUNT }, { 54, 0x7ff00000 },
			{ 54, (int32_t)0xfff00000 }, { 54, 0x7ff80000 }, { 58, 1 }, { 58, 3 },
			{ 58, MUSTER_RING_FIGURES_MAX + 1 }, { 74, 0x7ff00000 }, { 90, 0x7ff00000 } },
		30 },
	{ "brief ring_ready", pack_brief_ready, unpack_ring_ready, 20,
		{ { 0, -1 }, { 0, 2 }, { 4, -1 }, { 4, 2 }, { 8, -1 }, { 8, MUSTER_RING_END_COUNT } }, 16 },
	{ "ring_place", pack_ring_place, unpack_ring_place, 28,
		{ { 0, -1 }, { 0, MUSTER_ROLE_COUNT }, { 4, -1 }, { 4, MUSTER_RING_PARTS }, { 8, -1 }, { 8, 16 },
			{ 12, 15 }, { 12, 0 }, { 12, -1 }, { 16, -1 }, { 20, 2 }, { 24, -1 } },
		-1 },
	{ "a place in traffic", pack_traffic_place, unpack_ring_place, 36,
		{ { 4, -1 }, { 8, -1 }, { 8, MUSTER_TRAFFIC_KIND_COUNT }, { 12, -2 }, { 16, -2 }, { 20, -1 }, { 20, 6 },
			{ 24, 0 }, { 24, 5 }, { 28, MUSTER_VISITS + 1 }, { 32, -1 } },
		-1 },
	{ "no traffic", pack_no_traffic, unpack_ring_place, 24, { { 4, -1 } }, 12 },
	{ "over", pack_over, unpack_ring_place, 13, { { 0, -1 } }, 8 },
};
enum { MESSAGES = sizeof messages / sizeof *messages };

/* Unpacks a copy of exactly these bytes, so that a sanitizer sees a look beyond them. */
static bool unpacks(int message, const char *bytes, size_t length)
{
	char *copy = malloc(length + 1);
	struct muster_packer again = { 0 };
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, length);
	copy = realloc(copy, length ? length : 1);
	bool good = messages[message].unpack(copy, length, &again);
	muster_packer_done(&again);
	free(copy);
	return good;
}

TEST_LOOP(what_is_packed_is_unpacked, 0, MESSAGES)
{
	struct muster_packer p = { 0 }, again = { 0 };
	messages[_i].pack(&p);
	ck_assert_uint_eq(p.length, messages[_i].length);
	ck_assert_msg(messages[_i].unpack(p.bytes, p.length, &again), "%s", messages[_i].name);
	ck_assert_uint_eq(again.length, p.length);
	ck_assert_msg(memcmp(again.bytes, p.bytes, p.length) == 0, "%s", messages[_i].name);
	muster_packer_done(&p);
	ck_assert_ptr_null(p.bytes);
	muster_packer_done(&again);
}

TEST_LOOP(a_message_that_is_cut_or_longer_is_refused, 0, MESSAGES)
{
	struct muster_packer p = { 0 };
	messages[_i].pack(&p);
	for (size_t length = 0; length < p.length; length++) {
		struct muster_packer again = { 0 };
		ck_assert_msg(!unpacks(_i, p.bytes, length), "%s cut to %zu bytes", messages[_i].name, length);
		/* what lies behind the end does not count, though it is right */
		ck_assert_msg(!messages[_i].unpack(p.bytes, length, &again), "%s up to %zu", messages[_i].name, length);
	}
	char *more = calloc(1, p.length + 4);
	ck_assert_ptr_nonnull(more);
	memcpy(more, p.bytes, p.length);
	ck_assert(unpacks(_i, more, p.length));
	ck_assert_msg(!unpacks(_i, more, p.length + 1), "%s and a byte", messages[_i].name);
	ck_assert_msg(!unpacks(_i, more, p.length + 4), "%s and four bytes", messages[_i].name);
	free(more);
	muster_packer_done(&p);
}

static void put(char *at, int32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (char)((uint32_t)value >> 8 * i);
}

TEST_LOOP(numbers_out_of_range_are_refused, 0, MESSAGES)
{
	struct muster_packer p = { 0 };
	messages[_i].pack(&p);
	for (size_t i = 0; i < 12; i++) {
		size_t at = messages[_i].refused[i].at;
		char kept[4];
		if (i > 0 && at == 0 && messages[_i].refused[i].value == 0)
			continue; /* the rest of the row is empty */
		memcpy(kept, p.bytes + at, 4);
		put(p.bytes + at, messages[_i].refused[i].value);
		ck_assert_msg(!unpacks(_i, p.bytes, p.length), "%s: %d at %zu", messages[_i].name,
			messages[_i].refused[i].value, at);
		memcpy(p.bytes + at, kept, 4);
		ck_assert(unpacks(_i, p.bytes, p.length));
	}
	muster_packer_done(&p);
}

TEST_LOOP(a_text_with_a_nul_inside_is_refused, 0, MESSAGES)
{
	struct muster_packer p = { 0 };
	messages[_i].pack(&p);
	if (messages[_i].text_at >= 0) {
		p.bytes[messages[_i].text_at] = '\0';
		ck_assert_msg(!unpacks(_i, p.bytes, p.length), "%s", messages[_i].name);
	}
	muster_packer_done(&p);
}

/* ---- what the values are, and not only that they come back ---- */

TEST(numbers_are_32_bits_little_endian_and_a_text_has_its_length_before_it)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, ring);
	ck_assert_uint_eq(p.length, 16);
	ck_assert_mem_eq(p.bytes, "\3\0\0\0\3\0\0\0\4\3\2\1\2\0\0\0", 16);
	muster_packer_done(&p);
	muster_pack_text(&p, "ab");
	ck_assert_mem_eq(p.bytes, "\2\0\0\0ab", 7);
	muster_pack_text(&p, NULL); /* as "" */
	ck_assert_uint_eq(p.length, 12);
	ck_assert_mem_eq(p.bytes + 7, "\0\0\0\0", 5);
	muster_packer_done(&p);
}

TEST(a_hello_needs_a_node_and_no_host)
{
	struct muster_packer p = { 0 };
	struct muster_hello hello;
	muster_pack_hello(&p, &(struct muster_hello){ .host = "", .node = "n" });
	ck_assert(muster_unpack_hello(p.bytes, p.length, &hello));
	ck_assert_str_eq(hello.host, "");
	ck_assert_str_eq(hello.node, "n");
	muster_packer_done(&p);
	muster_pack_hello(&p, &(struct muster_hello){ .host = "h", .node = "" });
	ck_assert(!muster_unpack_hello(p.bytes, p.length, &hello));
	muster_packer_done(&p);
}

TEST(a_membership_without_members_is_one)
{
	struct muster_packer p = { 0 };
	struct muster_membership_news news;
	muster_pack_membership(&p, &(struct muster_membership_news){ .exit_code = 255, .node = "" });
	ck_assert(muster_unpack_membership(p.bytes, p.length, &news));
	ck_assert_int_eq(news.exit_code, 255);
	ck_assert_uint_eq(news.member_count, 0);
	muster_packer_done(&p);
	pack_membership(&p);
	ck_assert(muster_unpack_membership(p.bytes, p.length, &news));
	ck_assert_int_eq(news.node_index, 4);
	ck_assert_int_eq(news.nodes, 5);
	ck_assert_int_eq(news.left_ms, 600000);
	ck_assert_str_eq(news.node, "gpu-1#2");
	ck_assert_uint_eq(news.member_count, 3);
	ck_assert_int_eq(muster_member_at(&news, 0), 0);
	ck_assert_int_eq(muster_member_at(&news, 1), 2);
	ck_assert_int_eq(muster_member_at(&news, 2), 70000);
	p.bytes[0] = (char)0xff; /* more than an exit code can be */
	p.bytes[1] = 1;
	ck_assert(!muster_unpack_membership(p.bytes, p.length, &news));
	muster_packer_done(&p);
}

TEST(a_payload_may_hold_any_bytes)
{
	struct muster_packer p = { 0 };
	struct muster_enter enter;
	pack_enter(&p);
	ck_assert(muster_unpack_enter(p.bytes, p.length, &enter));
	ck_assert(muster_barrier_same(enter.barrier, ring));
	ck_assert_int_eq(enter.ended, MUSTER_PHASE_NONE);
	ck_assert_uint_eq(enter.payload.length, 3);
	ck_assert_mem_eq(enter.payload.bytes, "a\0b", 4); /* and the NUL behind it */
	p.bytes[p.length - 1] = 'c';
	ck_assert(!muster_unpack_enter(p.bytes, p.length, &enter));
	muster_packer_done(&p);
}

TEST(a_brief_ready_and_a_place_in_traffic_say_little)
{
	struct muster_packer p = { 0 };
	struct muster_ring_ready ready;
	struct muster_ring_place place;
	pack_brief_ready(&p);
	ck_assert(muster_unpack_ring_ready(p.bytes, p.length, &ready));
	ck_assert(ready.brief && ready.can);
	ck_assert_int_eq(ready.end, MUSTER_RING_LATE);
	ck_assert_str_eq(ready.detail, "two");
	ck_assert_str_eq(ready.uuid, "");
	ck_assert_str_eq(ready.why, "");
	ck_assert_uint_eq(ready.figure_count, 0);
	muster_packer_done(&p);
	pack_traffic_place(&p);
	ck_assert(muster_unpack_ring_place(p.bytes, p.length, &place));
	ck_assert_int_eq(place.role, MUSTER_ROLE_TRAFFIC);
	ck_assert_int_eq(place.probe, 12);
	ck_assert_int_eq(place.kind, MUSTER_TRAFFIC_KIND_RAIL);
	ck_assert_int_eq(place.traffic.peer, -1);
	ck_assert_int_eq(place.peer_rank, 70000);
	ck_assert_int_eq(place.traffic.round, 5);
	ck_assert_int_eq(place.traffic.rounds, 6);
	ck_assert_int_eq(place.traffic.visit, MUSTER_VISITS);
	ck_assert_int_eq(place.deadline_ms, 10000);
	muster_packer_done(&p);
	muster_pack_ring_place(&p, &(struct muster_ring_place){ .role = MUSTER_ROLE_WAITS });
	ck_assert_uint_eq(p.length, 4);
	muster_packer_done(&p);
}

TEST(what_is_measured_once_more_is_a_bit_for_each_probe)
{
	struct muster_packer p = { 0 };
	struct muster_again again = { 0 };
	muster_pack_again(&p, &(struct muster_again){ UINT64_C(0x8000000000000001) });
	ck_assert(muster_unpack_again(p.bytes, p.length, &again));
	ck_assert_uint_eq(again.probes, UINT64_C(0x8000000000000001));
	ck_assert(!muster_unpack_again(p.bytes, p.length - 1, &again));
	muster_packer_done(&p);
}

TEST(figures_are_read_one_by_one)
{
	struct muster_packer p = { 0 };
	struct muster_ring_ready ready;
	pack_ring_ready(&p);
	ck_assert(muster_unpack_ring_ready(p.bytes, p.length, &ready));
	ck_assert(ready.can);
	ck_assert_str_eq(ready.uuid, "GPU-1");
	ck_assert_str_eq(ready.agree, "2.23");
	ck_assert_str_eq(ready.why, "");
	ck_assert_int_eq(ready.end, MUSTER_RING_CRASHED);
	ck_assert_double_eq(ready.seconds, 1.25);
	ck_assert_str_eq(ready.detail, "signal 11");
	ck_assert_uint_eq(ready.figure_count, 2);
	ck_assert_ptr_null(ready.figures);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(muster_ring_figure_at(&ready, i).bytes, figures[i].bytes);
		ck_assert_double_eq(muster_ring_figure_at(&ready, i).rate, figures[i].rate);
	}
	muster_packer_done(&p);
}

TEST(numbers_that_people_are_shown_are_finite)
{
	static const struct {
		double seconds;
		bool taken;
	} cases[] = { { 1e300, true }, { -1e300, true }, { 1.01e300, false }, { -1.01e300, false }, { 0, true } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct muster_packer p = { 0 };
		struct muster_ring_ready ready;
		muster_pack_ring_ready(&p, &(struct muster_ring_ready){ .seconds = cases[i].seconds });
		ck_assert_msg(
			muster_unpack_ring_ready(p.bytes, p.length, &ready) == cases[i].taken, "%g", cases[i].seconds);
		muster_packer_done(&p);
	}
}

TEST(a_ring_may_have_as_many_figures_as_the_limit_says)
{
	struct muster_ring_figure many[MUSTER_RING_FIGURES_MAX + 1];
	struct muster_packer p = { 0 };
	struct muster_ring_ready ready = { .figures = many, .figure_count = MUSTER_RING_FIGURES_MAX }, read;
	for (size_t i = 0; i <= MUSTER_RING_FIGURES_MAX; i++)
		many[i] = (struct muster_ring_figure){ i, (double)i };
	muster_pack_ring_ready(&p, &ready);
	ck_assert(muster_unpack_ring_ready(p.bytes, p.length, &read));
	ck_assert(!read.can);
	ck_assert_uint_eq(muster_ring_figure_at(&read, MUSTER_RING_FIGURES_MAX - 1).bytes, MUSTER_RING_FIGURES_MAX - 1);
	muster_packer_done(&p);
	ready.figure_count++;
	muster_pack_ring_ready(&p, &ready);
	ck_assert(!muster_unpack_ring_ready(p.bytes, p.length, &read));
	muster_packer_done(&p);
}

TEST(only_who_takes_part_needs_a_place)
{
	struct muster_packer p = { 0 };
	struct muster_ring_place place;
	for (int role = 0; role < MUSTER_ROLE_COUNT; role++) {
		bool needs = role == MUSTER_ROLE_MEMBER || role == MUSTER_ROLE_TRAFFIC;
		muster_pack_ring_place(&p, &(struct muster_ring_place){ .role = (enum muster_ring_role)role });
		ck_assert(muster_unpack_ring_place(p.bytes, p.length, &place) == !needs);
		muster_packer_done(&p);
	}
	pack_ring_place(&p);
	ck_assert(muster_unpack_ring_place(p.bytes, p.length, &place));
	ck_assert_int_eq(place.ring.rank, 15);
	ck_assert_int_eq(place.ring.ranks, 16);
	ck_assert_int_eq(place.ring.nodes, 2);
	ck_assert(place.ring.trial);
	ck_assert_int_eq(place.deadline_ms, 30000);
	muster_packer_done(&p);
}

/* ---- parts ---- */

TEST(parts_come_one_after_the_other_to_a_proper_end)
{
	struct muster_packer p = { 0 };
	struct muster_parts parts;
	struct muster_bytes bytes;
	int rank;
	muster_pack_parts(&p, ring);
	ck_assert(muster_unpack_parts(p.bytes, p.length, &parts));
	ck_assert(!muster_unpack_part(&parts, &rank, &bytes));
	ck_assert(!parts.rest.bad);
	muster_pack_part(&p, 5, "a\0b", 3);
	muster_pack_part(&p, 70000, "", 0);
	ck_assert(muster_unpack_parts(p.bytes, p.length, &parts));
	ck_assert(muster_barrier_same(parts.barrier, ring));
	ck_assert(muster_unpack_part(&parts, &rank, &bytes));
	ck_assert_int_eq(rank, 5);
	ck_assert_uint_eq(bytes.length, 3);
	ck_assert_mem_eq(bytes.bytes, "a\0b", 3);
	ck_assert(muster_unpack_part(&parts, &rank, &bytes));
	ck_assert_int_eq(rank, 70000);
	ck_assert_uint_eq(bytes.length, 0);
	ck_assert(!muster_unpack_part(&parts, &rank, &bytes));
	ck_assert(!parts.rest.bad);
	muster_packer_done(&p);
}

TEST(parts_that_are_cut_say_so_at_their_end)
{
	struct muster_packer p = { 0 };
	struct muster_parts parts;
	struct muster_bytes bytes;
	int rank;
	muster_pack_parts(&p, ring);
	muster_pack_part(&p, 5, "ab", 2);
	size_t whole = p.length;
	muster_pack_part(&p, 6, "cd", 2);
	for (size_t length = 0; length < 16; length++)
		ck_assert(!muster_unpack_parts(p.bytes, length, &parts));
	for (size_t length = 16; length < p.length; length++) {
		int count = 0;
		ck_assert(muster_unpack_parts(p.bytes, length, &parts));
		while (muster_unpack_part(&parts, &rank, &bytes))
			count++;
		ck_assert_int_eq(count, length >= whole);
		ck_assert_msg(parts.rest.bad == (length != 16 && length != whole), "%zu bytes", length);
		ck_assert(!muster_unpack_part(&parts, &rank, &bytes));
	}
	put(p.bytes + 16, -1); /* the first one's rank */
	ck_assert(muster_unpack_parts(p.bytes, p.length, &parts));
	ck_assert(!muster_unpack_part(&parts, &rank, &bytes));
	ck_assert(parts.rest.bad);
	muster_packer_done(&p);
}

TEST(a_packer_grows_with_what_it_gets)
{
	struct muster_packer p = { 0 };
	struct muster_parts parts;
	struct muster_bytes bytes;
	char big[1000];
	int rank, count = 0;
	memset(big, 'x', sizeof big);
	muster_pack_parts(&p, ring);
	for (int i = 0; i < 300; i++)
		muster_pack_part(&p, i, big, (size_t)(i * 3));
	ck_assert(muster_unpack_parts(p.bytes, p.length, &parts));
	for (; muster_unpack_part(&parts, &rank, &bytes); count++) {
		ck_assert_int_eq(rank, count);
		ck_assert_uint_eq(bytes.length, (size_t)(count * 3));
		ck_assert(strspn(bytes.bytes, "x") == bytes.length);
	}
	ck_assert_int_eq(count, 300);
	ck_assert(!parts.rest.bad);
	muster_packer_done(&p);
}

TEST_MAIN(.setup = NULL)

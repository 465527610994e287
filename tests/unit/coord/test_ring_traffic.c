/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_traffic.c - rounds of traffic after a full ring: who shares a round, who is out, and what the others hear
 *
 * Two or more ranks a node. A round is a barrier that ranks have entered; each rank's answer is kept.
 */
#include "check_main.h"
#include "scheduler_fixture.h"

static bool absent[RANKS_MAX];
static struct muster_ring_place places[RANKS_MAX]; /* the last answers; role COUNT: none */
static char whys[RANKS_MAX][300];
static double now_ms;
static int visit;

static void start(int nodes, int per_node, enum muster_profile profile)
{
	now_ms = 0;
	visit = 0;
	memset(absent, 0, sizeof absent);
	job_start(nodes, per_node, 1);
	context.profile = profile;
	scheduler_start();
}

static void read_places(const char *bytes, size_t length)
{
	struct muster_parts parts;
	struct muster_bytes one;
	int rank;
	ck_assert(muster_unpack_parts(bytes, length, &parts));
	while (muster_unpack_part(&parts, &rank, &one)) {
		ck_assert(muster_unpack_ring_place(one.bytes, one.length, &places[rank]));
		snprintf(whys[rank], sizeof whys[rank], "%s", places[rank].why);
	}
}

/* Messages that were sent since: to rank 0, which is this process, and to others. */
static void read_answers(int from, enum muster_tag tag, void (*read)(const char *bytes, size_t length))
{
	struct muster_message message;
	while (muster_transport_receive(&r.transport, &message)) {
		if (message.tag == (int)tag)
			read(message.bytes, message.length);
		muster_message_done(&message);
	}
	for (int i = from; i < r.count; i++)
		if (r.sent[i].tag == (int)tag)
			read(r.sent[i].bytes, r.sent[i].length);
}

/* All ranks that are not absent enter the next round. */
static void play(void)
{
	struct muster_barrier_entry entries[RANKS_MAX] = { { 0 } };
	struct muster_barrier barrier = {
		.id = { MUSTER_BARRIER_RING, probe_index, visit > scheduler->visit ? 0 : scheduler->round + 1, visit },
		.complete = true,
		.entries = entries,
	};
	int from = r.count;
	for (size_t node = 0; node < members.node_count; node++) {
		size_t count;
		const int *its = muster_membership_ranks(&members, node, &count);
		struct muster_packer p = { 0 };
		muster_pack_parts(&p, barrier.id);
		for (size_t i = 0; i < count; i++)
			if (!absent[its[i]])
				add_part(&p, its[i]);
		entries[node] = (struct muster_barrier_entry){ .here = true, .bytes = p.bytes, .length = p.length };
	}
	for (int rank = 0; rank < ranks; rank++) {
		places[rank] = (struct muster_ring_place){ .role = MUSTER_ROLE_COUNT, .why = "" };
		*whys[rank] = '\0';
	}
	muster_ring_scheduler_complete(scheduler, &barrier, now_ms);
	for (size_t node = 0; node < members.node_count; node++)
		free(entries[node].bytes);
	read_answers(from, MUSTER_TAG_SCATTER, read_places);
	for (int rank = 0; rank < ranks; rank++) { /* as ranks that did what they were told, and well */
		enum muster_ring_role role = places[rank].role;
		ready[rank].brief = role >= MUSTER_ROLE_TRAFFIC && role < MUSTER_ROLE_COUNT;
		ready[rank].end =
			role == MUSTER_ROLE_MEMBER || role == MUSTER_ROLE_TRAFFIC ? MUSTER_RING_OK : MUSTER_RING_NONE;
		ready[rank].detail = "";
	}
}

/* Whether the round is the one that prepares all others. */
static bool is_split(int rank)
{
	return places[rank].role == MUSTER_ROLE_TRAFFIC &&
	       strcmp(muster_probe_at((size_t)places[rank].probe)->name, "nccl_split") == 0;
}

/* A full ring that begins, goes on, and goes well, and the first round after it. */
static void play_ring(void)
{
	play();
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_MEMBER);
	play();
	ck_assert_int_eq(places[0].ring.part, MUSTER_RING_REST);
	play();
	if (is_split(0))
		play();
}

static void ended(int rank, enum muster_ring_end end, const char *detail)
{
	ready[rank].end = end;
	ready[rank].detail = detail;
	ready[rank].can = end < MUSTER_RING_HUNG;
}

static enum muster_traffic_shape shape(int rank)
{
	return muster_probe_at((size_t)places[rank].probe)->traffic_shape;
}

/* Who shares this round: "0-1 2-3", "all", "-" for a round without any, or why the probe is not run. */
static const char *round_text(void)
{
	static char text[400];
	size_t used = 0;
	*text = '\0';
	for (int rank = 0; rank < ranks; rank++) {
		if (places[rank].role == MUSTER_ROLE_NO_TRAFFIC || places[rank].role == MUSTER_ROLE_OVER) {
			snprintf(text, sizeof text, "%s%s", places[rank].role == MUSTER_ROLE_OVER ? "over " : "not ",
				whys[rank]);
			return text;
		}
		if (places[rank].role != MUSTER_ROLE_TRAFFIC)
			continue;
		if (places[rank].traffic.peer < 0)
			return "all";
		if (places[rank].peer_rank > rank)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s %d-%d",
				used ? "" : muster_traffic_kind_names[places[rank].kind], rank, places[rank].peer_rank);
	}
	return used ? text : "-";
}

/* Probes with rounds of all ranks after those of pairs in the first visit: each has one. */
static int probes_of_all(void)
{
	int count = 0;
	for (size_t i = 0; i < muster_probe_count(); i++)
		count += muster_probe_at(i)->traffic && !muster_probe_at(i)->ring &&
			 muster_probe_at(i)->traffic_shape == MUSTER_TRAFFIC_ALL &&
			 strcmp(muster_probe_at(i)->name, "nccl_split") != 0;
	return count;
}

/* Rounds in which each rank is by itself come last. */
static void skip_each(void)
{
	for (int rank = 0; rank < ranks; rank++)
		while (places[rank].role == MUSTER_ROLE_TRAFFIC && shape(rank) == MUSTER_TRAFFIC_EACH)
			play();
}

/* The rounds from here on: of "all" and of "not ..." as many as there are such probes. */
static void check_rounds(const char *const *expected)
{
	for (int i = 0; expected[i]; i++) {
		bool of_all = strcmp(expected[i], "all") == 0 || strncmp(expected[i], "not ", 4) == 0;
		if (strncmp(expected[i], "over ", 5) == 0)
			skip_each();
		for (int times = of_all ? probes_of_all() : 1; times > 0; times--) {
			ck_assert_msg(strcmp(round_text(), expected[i]) == 0, "round %d: \"%s\", not \"%s\"", i,
				round_text(), expected[i]);
			if (places[0].role != MUSTER_ROLE_OVER)
				play();
		}
	}
}

TEST(pairs_come_first_and_then_what_all_ranks_do)
{
	start(2, 4, MUSTER_STANDARD);
	play_ring();
	ck_assert_int_eq(shape(0), MUSTER_TRAFFIC_PAIRS);
	ck_assert_int_eq(places[0].traffic.round, 0);
	ck_assert_int_eq(places[0].traffic.rounds, 3);
	ck_assert_int_eq(places[0].deadline_ms, (int)deadlines.pair);
	check_rounds((const char *const[]){
		"edge 0-1 2-3 4-5 6-7", "edge 0-3 1-2 4-7 5-6", "rail 0-4 1-5 2-6 3-7", "all", "over ", NULL });
}

TEST_LOOP(the_profile_full_has_all_pairs_and_quick_has_none, 0, 2)
{
	start(1, 4, _i ? MUSTER_FULL : MUSTER_QUICK);
	play_ring();
	check_rounds(_i ? (const char *const[]){ "edge 0-1 2-3", "edge 0-3 1-2", "pair 0-2 1-3", "all", "over ", NULL }
			: (const char *const[]){ "over ", NULL });
}

TEST(one_rank_has_no_pairs)
{
	start(1, 1, MUSTER_STANDARD);
	play_ring();
	check_rounds((const char *const[]){ "all", "over ", NULL });
}

/* The ring is without rank 1: numbers in the ring are not those in the job, and a rail joins like positions. */
TEST(ranks_are_numbered_as_in_the_ring)
{
	start(2, 3, MUSTER_STANDARD);
	ready[1].can = false;
	ready[1].why = "no GPU";
	play_ring();
	ck_assert_int_eq(places[0].traffic.peer, 1);
	ck_assert_int_eq(places[0].peer_rank, 2);
	ck_assert_int_eq(places[2].traffic.peer, 0);
	ck_assert_int_eq(places[1].role, MUSTER_ROLE_WAITS);
	check_rounds((const char *const[]){ "edge 0-2 3-4", "edge 4-5", "edge 3-5", "rail 0-3 2-5", "all", NULL });
	skip_each();
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_OVER);
	ck_assert_str_eq(whys[0], "");
	ck_assert_str_eq(whys[1], "no all-reduce with this rank went well");
}

/* how rank 2 ends in the first round, and the partner with it */
static const struct {
	enum muster_ring_end end, partner;
	bool partner_out;
} failures[] = {
	{ MUSTER_RING_CRASHED, MUSTER_RING_CANCELLED, true }, { MUSTER_RING_HUNG, MUSTER_RING_LATE, true },
	{ MUSTER_RING_ERROR, MUSTER_RING_REMOTE, true }, { MUSTER_RING_LATE, MUSTER_RING_LATE, true },
	{ MUSTER_RING_CRASHED, MUSTER_RING_OK, false }, /* after the partner had done its part */
};

TEST_EACH(a_failure_costs_the_pair_and_what_needs_all, failures)
{
	start(2, 4, MUSTER_STANDARD);
	play_ring();
	ended(3, failures[_i].partner, failures[_i].partner == MUSTER_RING_OK ? "" : "with the other");
	ended(2, failures[_i].end, "it broke");
	play();
	const char *rail = failures[_i].partner_out ? "rail 0-4 1-5" : "rail 0-4 1-5 3-7";
	static const char why[] = "not all ranks of the all-reduce are needed; rank 2 (n0): it broke";
	check_rounds((const char *const[]){
		failures[_i].partner_out ? "edge 4-7 5-6" : "edge 0-3 4-7 5-6", rail, why, NULL });
	skip_each();
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_OVER);
	ck_assert_str_eq(whys[2], "");
}

TEST(a_rank_from_which_nothing_comes_is_out)
{
	start(1, 4, MUSTER_STANDARD);
	play_ring();
	absent[1] = true;
	ended(0, MUSTER_RING_CANCELLED, "no further message from rank 1");
	play();
	ck_assert_int_eq(places[1].role, MUSTER_ROLE_COUNT);
	static const char why[] =
		"not all ranks of the all-reduce are needed; rank 1 (n0): no further message from this rank";
	check_rounds((const char *const[]){ why, "over ", NULL }); /* edges 0-3 and 1-2 have one who is out */
}

TEST(a_rank_may_break_in_a_round_of_all)
{
	start(1, 2, MUSTER_STANDARD);
	play_ring();
	play();
	ck_assert_str_eq(round_text(), "all");
	ended(0, MUSTER_RING_CANCELLED, "cancelled");
	ended(1, MUSTER_RING_CRASHED, "signal 11");
	for (int left = probes_of_all(); --left > 0;) {
		play();
		ck_assert_str_eq(round_text(), "not all ranks of the all-reduce are needed; rank 1 (n0): signal 11");
	}
	play();
	skip_each();
	ck_assert_str_eq(round_text(), "over ");
}

/* The first round of ranks by themselves. */
static void play_to_each(void)
{
	play_ring();
	for (int i = 0; i < 20 && !(places[0].role == MUSTER_ROLE_TRAFFIC && shape(0) == MUSTER_TRAFFIC_EACH); i++)
		play();
	ck_assert_int_eq(shape(0), MUSTER_TRAFFIC_EACH);
}

TEST(ranks_by_themselves_go_on_without_one_that_is_lost)
{
	start(1, 4, MUSTER_STANDARD);
	play_to_each();
	ck_assert_int_eq(places[3].role, MUSTER_ROLE_TRAFFIC);
	ck_assert_int_eq(places[3].traffic.peer, -1);
	ck_assert_int_eq(places[3].traffic.rounds, 2);
	ended(1, MUSTER_RING_HUNG, "the folder is silent");
	ended(2, MUSTER_RING_ERROR, "the folder is full");
	play();
	ck_assert_int_eq(places[0].traffic.round, 1);
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_TRAFFIC);
	ck_assert_int_eq(places[1].role, MUSTER_ROLE_WAITS);
	ck_assert_int_eq(places[2].role, MUSTER_ROLE_TRAFFIC); /* its worker is there */
	play();
	ck_assert_str_eq(round_text(), "over ");
}

TEST(ranks_by_themselves_need_no_communicator)
{
	start(1, 3, MUSTER_STANDARD);
	play_ring();
	while (shape(0) != MUSTER_TRAFFIC_ALL)
		play();
	for (int rank = 0; rank < 3; rank++)
		ended(rank, MUSTER_RING_ERROR, "the network is down");
	for (int i = 0; i < 20 && (places[0].role != MUSTER_ROLE_TRAFFIC || shape(0) != MUSTER_TRAFFIC_EACH); i++)
		play();
	for (int rank = 0; rank < 3; rank++)
		ck_assert_int_eq(places[rank].role, MUSTER_ROLE_TRAFFIC);
}

TEST_LOOP(without_time_no_round_begins, 0, 2)
{
	start(2, 2, MUSTER_STANDARD);
	play_ring();
	now_ms = LIMIT_MS - deadlines.last_ring - deadlines.trial_least + (_i ? 0 : 1);
	play();
	ck_assert_str_eq(round_text(), _i ? "rail 0-2 1-3" : "not no time left before the run's deadline");
	if (_i)
		ck_assert_int_eq(places[0].deadline_ms, (int)deadlines.trial_least);
	play();
	ck_assert_str_eq(round_text(), _i ? "all" : "not no time left before the run's deadline");
}

TEST(without_a_ring_that_went_well_there_is_no_traffic)
{
	start(1, 2, MUSTER_STANDARD);
	play();
	ended(0, MUSTER_RING_ERROR, "it broke");
	ended(1, MUSTER_RING_ERROR, "it broke");
	play();
	ck_assert_str_eq(round_text(), "over no all-reduce with this rank went well");
}

TEST(traffic_follows_the_ring_that_was_repeated)
{
	start(1, 4, MUSTER_STANDARD);
	play();
	for (int rank = 0; rank < 4; rank++)
		ended(rank, MUSTER_RING_CANCELLED, "cancelled");
	ended(3, MUSTER_RING_CRASHED, "signal 11");
	ready[3].why = "signal 11";
	play();
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_MEMBER);
	ck_assert_int_eq(places[0].ring.ranks, 3);
	play();
	ck_assert(is_split(0));
	play();
	check_rounds((const char *const[]){ "edge 0-1", "edge 1-2", "edge 0-2", "all", "over ", NULL });
}

TEST(traffic_comes_before_the_trials)
{
	start(2, 1, MUSTER_STANDARD);
	context.localise = MUSTER_LOCALISE_ALWAYS;
	play_ring();
	check_rounds((const char *const[]){ "rail 0-1", "all", NULL });
	skip_each();
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_MEMBER);
	ck_assert(places[0].ring.trial);
	ck_assert_int_eq(places[1].role, MUSTER_ROLE_MEMBER);
}

TEST(trials_after_traffic_are_without_those_who_were_in_no_ring)
{
	start(2, 2, MUSTER_STANDARD);
	context.localise = MUSTER_LOCALISE_ALWAYS;
	ready[3].uuid = ready[2].uuid;
	play_ring();
	ck_assert_int_eq(places[3].role, MUSTER_ROLE_WAITS);
	while (places[0].role == MUSTER_ROLE_TRAFFIC || places[0].role == MUSTER_ROLE_WAITS)
		play();
	ck_assert(places[2].ring.trial);
	ck_assert_int_eq(places[2].ring.ranks, 1);
	ck_assert_int_eq(places[3].role, MUSTER_ROLE_IDLE);
}

/* ---- later visits ---- */

/* The ring and all its traffic, and the first round of the next visit. */
static void play_to_next_visit(void)
{
	play();
	while (places[0].role != MUSTER_ROLE_OVER)
		play();
	visit++;
	play();
}

/* The rounds from here on, each as "probe text"; then it is over. */
static void check_visit(const char *const *expected)
{
	char text[500];
	for (int i = 0; expected[i]; i++, play()) {
		const struct muster_ring_place *place = &places[ranks - 1];
		snprintf(text, sizeof text, "%s %s", muster_probe_at((size_t)place->probe)->name, round_text());
		ck_assert_msg(strcmp(text, expected[i]) == 0, "round %d: \"%s\", not \"%s\"", i, text, expected[i]);
		if (place->role == MUSTER_ROLE_TRAFFIC)
			ck_assert_int_eq(place->traffic.visit, visit);
	}
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_OVER);
	if (visit++ < MUSTER_VISITS)
		play();
}

TEST(later_visits_are_for_probes_with_windows)
{
	static const char *const rounds[] = { "nccl_allreduce all", "nccl_pairs edge 0-1 2-3",
		"nccl_pairs edge 0-3 1-2", "nccl_collectives all", NULL };
	start(1, 4, MUSTER_STANDARD);
	play_to_next_visit();
	check_visit(rounds);
	check_visit(rounds);
	ck_assert_int_eq(visit, MUSTER_VISITS);
}

TEST(a_later_visit_of_the_profile_quick_is_for_the_all_reduce)
{
	start(1, 4, MUSTER_QUICK);
	play_to_next_visit();
	check_visit((const char *const[]){ "nccl_allreduce all", NULL });
	check_visit((const char *const[]){ "nccl_allreduce all", NULL });
}

/* Of these, those whose speeds are too low. */
TEST(the_visit_at_the_end_is_for_the_probes_that_are_named)
{
	size_t pairs = 0;
	while (strcmp(muster_probe_at(pairs)->name, "nccl_pairs") != 0)
		pairs++;
	start(1, 4, MUSTER_STANDARD);
	play_to_next_visit();
	while (places[0].role != MUSTER_ROLE_OVER)
		play();
	context.again = UINT64_C(1) << pairs;
	visit = MUSTER_VISITS;
	play();
	check_visit((const char *const[]){ "nccl_pairs edge 0-1 2-3", "nccl_pairs edge 0-3 1-2", NULL });
}

/* Nothing comes from it any more, or its worker was replaced. */
TEST_LOOP(a_rank_that_is_lost_between_visits_is_missed_by_its_partners_and_by_all, 0, 2)
{
#define WITHOUT(probe)                                                                                                 \
	{                                                                                                              \
		probe " not all ranks of the all-reduce are needed; rank 1 (n0): no further message from this rank",   \
			probe " not all ranks of the all-reduce are needed; rank 1 (n0): its worker ended"             \
	}
	static const char *const why[][2] = { WITHOUT("nccl_allreduce"), WITHOUT("nccl_collectives") };
	start(1, 4, MUSTER_STANDARD);
	play();
	while (places[0].role != MUSTER_ROLE_OVER)
		play();
	absent[1] = _i == 0;
	ready[1].can = false;
	ready[1].why = "its worker ended";
	visit = 1;
	play();
	check_visit(
		(const char *const[]){ why[0][_i], "nccl_pairs edge 2-3", "nccl_pairs edge 0-3", why[1][_i], NULL });
}

/* Trials have made other communicators, or none was made at all. */
TEST_LOOP(without_the_communicator_of_the_traffic_there_is_no_later_visit, 0, 2)
{
	start(2, 1, MUSTER_STANDARD);
	context.localise = _i == 0 ? MUSTER_LOCALISE_ALWAYS : MUSTER_LOCALISE_OFF;
	ready[0].can = ready[1].can = _i == 0;
	ready[0].why = ready[1].why = "no GPU";
	play_to_next_visit();
	ck_assert_int_eq(places[0].role, MUSTER_ROLE_OVER);
	ck_assert_int_eq(places[1].role, MUSTER_ROLE_OVER);
}

/* ---- cancelled rounds ---- */

static char cancelled[400];

static void read_cancelled(const char *bytes, size_t length)
{
	struct muster_parts parts;
	struct muster_bytes one;
	const char *why;
	int rank;
	ck_assert(muster_unpack_parts(bytes, length, &parts));
	ck_assert_int_eq(parts.barrier.round, scheduler->round);
	ck_assert_int_eq(parts.barrier.visit, visit);
	while (muster_unpack_part(&parts, &rank, &one)) {
		size_t used = strlen(cancelled);
		ck_assert(muster_unpack_text(one.bytes, one.length, &why));
		snprintf(cancelled + used, sizeof cancelled - used, "%d: %s; ", rank, why);
	}
}

static const char *after_failed(int rank)
{
	const struct muster_ring_failed failed = { { MUSTER_BARRIER_RING, probe_index, scheduler->round, visit }, rank,
		"hurt" };
	int from = r.count;
	*cancelled = '\0';
	muster_ring_scheduler_failed(scheduler, &failed);
	read_answers(from, MUSTER_TAG_CANCEL, read_cancelled);
	return cancelled;
}

TEST(a_failure_is_told_to_the_partner_alone_and_once)
{
	start(2, 4, MUSTER_STANDARD);
	play_ring();
	ck_assert_str_eq(after_failed(6), "7: hurt; ");
	ck_assert_str_eq(after_failed(6), "");
	ck_assert_str_eq(after_failed(7), "");
	ck_assert_str_eq(after_failed(0), "1: hurt; ");
	ended(0, MUSTER_RING_CRASHED, "hurt");
	ended(1, MUSTER_RING_CANCELLED, "hurt");
	play();
	ck_assert_str_eq(after_failed(0), "");          /* it is in no pair any more */
	ck_assert_str_eq(after_failed(4), "7: hurt; "); /* and this is another round */
}

TEST(a_failure_in_a_round_of_all_is_told_to_all_others)
{
	start(1, 3, MUSTER_STANDARD);
	play_ring();
	while (shape(0) != MUSTER_TRAFFIC_ALL)
		play();
	ck_assert_str_eq(after_failed(1), "0: hurt; 2: hurt; ");
	ck_assert_str_eq(after_failed(2), "");
}

TEST(a_failure_of_an_earlier_visit_is_told_to_no_other)
{
	start(1, 3, MUSTER_QUICK);
	play_to_next_visit();
	visit = 0;
	ck_assert_str_eq(after_failed(1), "");
	visit = 1;
	ck_assert_str_eq(after_failed(1), "0: hurt; 2: hurt; ");
}

TEST(a_failure_of_a_rank_by_itself_is_told_to_no_other)
{
	start(1, 3, MUSTER_STANDARD);
	play_to_each();
	ck_assert_str_eq(after_failed(1), "");
}

TEST(a_dead_leader_takes_its_ranks_out_of_their_pairs)
{
	start(2, 2, MUSTER_STANDARD);
	play_ring();
	play();
	ck_assert_str_eq(round_text(), "rail 0-2 1-3");
	int from = r.count;
	*cancelled = '\0';
	muster_ring_scheduler_lost_node(scheduler, 1, "silent");
	muster_ring_scheduler_lost_node(scheduler, 1, "silent");
	read_answers(from, MUSTER_TAG_CANCEL, read_cancelled);
	ck_assert_str_eq(cancelled, "0: silent; 1: silent; ");
}

TEST_MAIN(.teardown = teardown)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_supervisor.c - one rank from hello to goodbye: what it says, what its worker is told, and its exit code
 *
 * The leader and rank 0 answer at once.
 */
#include "check_main.h"
#include "one_rank.h"

#include "caught_stderr.h"
#include "muster/report.h"

#include <math.h>

enum { END = 600000, LEFT = 500000, LEADER = 4, RANK = 5, LAST = 6, RANKS = 8, TURNS = 8 };

static struct muster_peer peers[3]; /* of the ranks of the node */
static bool answers_peers, says_goodbye;
static int cancelled;             /* the run is cancelled with this exit code */
static bool silent;               /* nobody answers a hello */
static size_t told_before[TURNS]; /* commands to the worker before each turn */
static int later;                 /* turns of later visits that were entered */
static int turns, loads, streams; /* that were entered: turns of the copies, the load, turns of the streams */
static double limit_ms;
static int left_ms; /* of the run, as rank 0 says */

static void limit(const struct muster_supervisor *of, double until_ms, int exit_code)
{
	ck_assert_ptr_eq(of, &s);
	ck_assert_int_eq(exit_code, MUSTER_EXIT_INCONCLUSIVE);
	limit_ms = until_ms;
}

static void answer_hello(struct recorder *to)
{
	struct muster_packer p = { 0 };
	muster_pack_membership(&p, &(struct muster_membership_news){ .exit_code = cancelled,
					   .node_index = 2,
					   .nodes = 3,
					   .left_ms = left_ms,
					   .node = "n#2",
					   .members = (int[]){ LEADER, RANK, LAST },
					   .member_count = 3 });
	recorder_deliver(to, 0, MUSTER_TAG_MEMBERSHIP, &p);
}

static void answer_peers(struct muster_barrier_id id)
{
	struct muster_packer all = { 0 };
	muster_pack_parts(&all, id);
	for (int i = 0; i < 3 && answers_peers; i++) {
		struct muster_packer entry = { 0 };
		muster_pack_peer(&entry, &peers[i]);
		muster_pack_part(&all, LEADER + i, entry.bytes, entry.length);
		muster_packer_done(&entry);
	}
	answer_barrier(id, LEADER, MUSTER_TAG_RELEASE, all.bytes, all.length);
	muster_packer_done(&all);
}

static void answer(struct recorder *to, const struct recorded *sent)
{
	struct muster_enter enter;
	if (sent->tag == MUSTER_TAG_HELLO && !silent)
		answer_hello(to);
	if (sent->tag != MUSTER_TAG_ENTER)
		return;
	ck_assert(muster_unpack_enter(sent->bytes, sent->length, &enter));
	if (enter.barrier.kind == MUSTER_BARRIER_PEERS) {
		answer_peers(enter.barrier);
	} else if (enter.barrier.kind == MUSTER_BARRIER_TURN && enter.barrier.visit > 0) {
		ck_assert(muster_probe_at((size_t)enter.barrier.probe)->windows);
		ck_assert_int_eq(enter.ended, MUSTER_PHASE_NONE);
		later++;
		answer_barrier(enter.barrier, LEADER, MUSTER_TAG_RELEASE, "", 0);
	} else if (enter.barrier.kind == MUSTER_BARRIER_TURN &&
		   strcmp(muster_probe_at((size_t)enter.barrier.probe)->name, "gpu_load") == 0) {
		ck_assert_int_eq(enter.ended, MUSTER_PHASE_COPIES); /* it takes no turns */
		loads++;
		answer_barrier(enter.barrier, LEADER, MUSTER_TAG_RELEASE, "", 0);
	} else if (enter.barrier.kind == MUSTER_BARRIER_TURN &&
		   muster_probe_at((size_t)enter.barrier.probe)->of_storage) {
		ck_assert(options.storage);
		ck_assert_int_eq(enter.ended, MUSTER_PHASE_NONE);
		streams++;
		answer_barrier(enter.barrier, LEADER, MUSTER_TAG_RELEASE, "", 0);
	} else if (enter.barrier.kind == MUSTER_BARRIER_TURN) {
		ck_assert_int_eq(enter.barrier.round, turns); /* one after the other */
		ck_assert_int_eq(enter.ended, turns == 0 ? MUSTER_PHASE_INVENTORY : MUSTER_PHASE_NONE);
		told_before[turns++] = script.count;
		answer_barrier(enter.barrier, LEADER, MUSTER_TAG_RELEASE, "", 0);
	} else if (enter.barrier.kind == MUSTER_BARRIER_RING) {
		struct muster_packer place = { 0 };
		muster_pack_ring_place(&place, &(struct muster_ring_place){ .role = MUSTER_ROLE_OVER, .why = "" });
		answer_barrier(enter.barrier, LEADER, MUSTER_TAG_RELEASE, place.bytes, place.length);
		muster_packer_done(&place);
	} else if (says_goodbye) {
		answer_barrier(enter.barrier, 0, MUSTER_TAG_GOODBYE, "", 0);
	}
}

static void setup(void)
{
	one_rank_start(RANK, RANKS, END);
	s.rank = s.ranks = 0; /* as the transport says */
	r.answer = answer;
	host.limit = limit;
	for (int i = 0; i < 3; i++)
		peers[i] = (struct muster_peer){
			.local_rank = i, .gpu_bus_id = "0001:00:00.0", .gpu_uuid = "GPU", .gpu_path = "p"
		};
	answers_peers = says_goodbye = true;
	cancelled = turns = loads = streams = later = 0;
	silent = false;
	limit_ms = 0;
	left_ms = LEFT;
	s.deadlines.hello_least = 0;
}

static int run(void)
{
	muster_supervisor_start_worker(&s);
	return muster_supervisor_run(&s, r.now_ms);
}

/* The payload of the last message of this rank for the barriers of this kind. */
static struct muster_enter entered(enum muster_barrier_kind kind)
{
	struct muster_enter enter, found = { .payload = { NULL, 0 } };
	for (int i = 0; i < r.count; i++)
		if (r.sent[i].tag == MUSTER_TAG_ENTER) {
			ck_assert(muster_unpack_enter(r.sent[i].bytes, r.sent[i].length, &enter));
			found = enter.barrier.kind == kind ? enter : found;
		}
	ck_assert_ptr_nonnull(found.payload.bytes);
	return found;
}

static void check_has(const char *text, const char *part)
{
	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strstr(text, part) != NULL, "no %s in %s", part, text);
}

/* The index of the command for this probe. */
static size_t told(const char *action, const char *probe)
{
	char what[80];
	snprintf(what, sizeof what, "\"do\": \"%s\", \"probe\": \"%s\"", action, probe);
	for (size_t i = 0; i < script.count; i++)
		if (strstr(script.commands[i], what))
			return i;
	ck_abort_msg("no %s", what);
}

TEST(a_rank_goes_from_hello_to_goodbye)
{
	struct muster_hello hello;
	struct muster_peer own;
	r.now_ms = 2000;
	options.profile = MUSTER_FULL;
	options.min_bytes = 8;
	options.max_bytes = 1ull << 33;
	options.repeats = 3;
	options.steps = 200;
	options.long_steps = options.storage = true;
	options.measures = 1 << MUSTER_MEASURE_BROADCAST;
	options.storage_path = "/s";
	options.storage_bytes = 4096;
	options.checkpoint_path = "/c";
	static const char *expected[] = { "/a b", "/c" };
	options.expect_paths = expected;
	options.expect_path_count = LENGTH(expected);
	ck_assert_int_eq(run(), MUSTER_EXIT_PASS);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_HELLO, 0);
	ck_assert_int_eq(sent->to, 0);
	ck_assert(muster_unpack_hello(sent->bytes, sent->length, &hello));
	ck_assert_str_eq(hello.host, "b");
	ck_assert_str_eq(hello.node, "n");
	ck_assert_str_eq(s.node, "n#2"); /* as rank 0 calls it */
	ck_assert_int_eq(s.local_rank, 1);
	ck_assert_int_eq(s.rank, RANK);
	ck_assert_int_eq(s.ranks, RANKS);
	ck_assert_double_eq(s.end_ms, 2000 + LEFT);
	ck_assert_double_eq_tol(limit_ms,
		s.end_ms + s.end_error_ms + muster_deadlines_report(&s.deadlines, RANKS) + s.deadlines.limit, 1e-6);
	static const char *const facts[] = { "\"rank\": 5", "\"ranks\": 8", "\"local_rank\": 1", "\"local_ranks\": 3",
		"\"node_index\": 2", "\"nodes\": 3", "\"leader\": false", "\"in_job\": false", "\"profile\": 2",
		"\"min_bytes\": 8", "\"max_bytes\": 8589934592", "\"repeats\": 3", "\"steps\": 200",
		"\"long_steps\": true", "\"storage\": true", "\"broadcast\": true", "\"storage_path\": \"/s\"",
		"\"storage_bytes\": 4096", "\"checkpoint_path\": \"/c\"", "\"expect_paths\": [\"/a b\", \"/c\"]",
		"\"node\": \"n#2\"", "\"why_skipped\": \"\"" };
	for (int i = 0; i < LENGTH(facts); i++)
		check_has(command("take"), facts[i]);
	struct muster_bytes payload = entered(MUSTER_BARRIER_PEERS).payload;
	ck_assert(muster_unpack_peer(payload.bytes, payload.length, &own));
	ck_assert_int_eq(own.local_rank, 1);
	ck_assert_str_eq(own.gpu_bus_id, "0001:00:00.0");
	ck_assert_str_eq(own.gpu_uuid, "GPU-5");
	ck_assert_str_eq(own.gpu_path, "p");
	ck_assert_int_eq(entered(MUSTER_BARRIER_PEERS).ended, MUSTER_PHASE_DRIVERS);
	struct muster_enter record = entered(MUSTER_BARRIER_RECORD);
	ck_assert_int_eq(record.ended, MUSTER_PHASE_TRAFFIC);
	check_has(record.payload.bytes, "\"local_rank\": 1");
	check_has(record.payload.bytes, "GPU-5");
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RECORD, 0));
	/* until the goodbye the worker may have to measure once more */
	ck_assert_uint_eq(script.quit_after, script.count);
	ck_assert_int_eq(script.quit_sent, r.count);
	ck_assert(later > 0 && later % (MUSTER_VISITS - 1) == 0);
}

TEST(the_worker_is_told_who_is_on_its_node)
{
	peers[2] = (struct muster_peer){ .local_rank = 2, .gpu_bus_id = "", .gpu_uuid = "", .gpu_path = "" };
	run();
	ck_assert_str_eq(command("peers"),
		"{\"do\": \"peers\", \"peers\": [{\"rank\": 4, \"local_rank\": 0, \"gpu\": \"0001:00:00.0\", \"uuid\": "
		"\"GPU\"}, {\"rank\": 5, \"local_rank\": 1, \"gpu\": \"0001:00:00.0\", \"uuid\": \"GPU\"}, {\"rank\": "
		"6, "
		"\"local_rank\": 2, \"gpu\": \"\", \"uuid\": \"\"}]}");
}

TEST(probes_run_in_their_order)
{
	run();
	ck_assert_uint_lt(told("run", "launch"), told("run", "gpu_copy"));
	ck_assert_uint_lt(told("run", "gpu_copy"), told("together", "gpu_copy"));
	ck_assert_uint_lt(
		told("together", "gpu_copy"), told("finish", muster_probe_at(0)->finish ? "launch" : "gpu_copy"));
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		bool runs = probe->run && probe->scope != MUSTER_SCOPE_NODE && !probe->of_storage;
		if (runs)
			told("run", probe->name);
		if (probe->scope == MUSTER_SCOPE_NODE) /* its leader's */
			ck_assert_ptr_null(muster_outcomes_find(&s.facts.outcomes, probe->name));
	}
}

TEST_LOOP(only_a_run_that_measures_storage_waits_for_turns_of_its_probes, 0, 2)
{
	options.storage = _i == 1;
	run();
	ck_assert_int_eq(streams, _i == 1 ? turns : 0);
	if (_i == 1)
		ck_assert_uint_lt(told("run", "gpu_stream"), told("together", "gpu_stream"));
	else
		ck_assert_ptr_null(muster_outcomes_find(&s.facts.outcomes, "gpu_stream"));
}

/* GPUs on one path copy one after the other. */
TEST_LOOP(gpus_on_one_path_take_turns, 0, 7)
{
	static const struct {
		const char *gpus[3], *paths[3];
		int turns, turn; /* of this rank, the second */
	} cases[] = {
		{ { "a", "b", "c" }, { "p", "p", "p" }, 3, 1 },
		{ { "a", "b", "c" }, { "p", "q", "r" }, 1, 0 },
		{ { "a", "b", "c" }, { "p", "q", "q" }, 2, 0 },
		{ { "a", "b", "c" }, { "q", "p", "q" }, 2, 0 },
		{ { "a", "b", "c" }, { "p", "p", "q" }, 2, 1 },
		{ { "", "b", "c" }, { "p", "p", "q" }, 1, 0 }, /* who has no GPU needs no turn */
		{ { "a", "b", "" }, { "p", "q", "p" }, 1, 0 },
	};
	for (int i = 0; i < 3; i++) {
		peers[i].gpu_bus_id = cases[_i].gpus[i];
		peers[i].gpu_path = cases[_i].paths[i];
	}
	ck_assert_int_eq(run(), MUSTER_EXIT_PASS);
	ck_assert_int_eq(turns, cases[_i].turns + 1);
	ck_assert_int_eq(loads, 1);
	size_t alone = told("run", "gpu_copy"), together = told("together", "gpu_copy");
	ck_assert_uint_ge(alone, told_before[cases[_i].turn]);
	ck_assert_uint_lt(alone, told_before[cases[_i].turn + 1]);
	ck_assert_uint_ge(together, told_before[cases[_i].turns]);
}

TEST(without_the_entries_of_the_node_a_rank_goes_on_alone)
{
	answers_peers = false;
	ck_assert_int_eq(run(), MUSTER_EXIT_PASS);
	ck_assert_str_eq(command("peers"), "{\"do\": \"peers\", \"peers\": []}");
	ck_assert_int_eq(turns, 2);
}

TEST(a_leader_hears_what_its_members_sent_before_it_led)
{
	struct muster_packer p = { 0 };
	one_rank_done();
	one_rank_start(LEADER, RANKS, END);
	muster_pack_enter(&p, &(struct muster_enter){ { .kind = MUSTER_BARRIER_PEERS }, MUSTER_PHASE_NONE, { "", 0 } });
	recorder_deliver(&r, RANK, MUSTER_TAG_ENTER, &p);
	p = (struct muster_packer){ .bytes = muster_calloc(1, 1) };
	recorder_deliver(&r, LAST, MUSTER_TAG_PEER_DIED, &p);
	left_ms = 30000;
	answer_hello(&r);
	muster_supervisor_start_worker(&s);
	muster_supervisor_run(&s, 0);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RELEASE, 0);
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, RANK);
	ck_assert_uint_eq(s.early_count, 0);
	check_has(command("take"), "\"leader\": true");
}

TEST(an_interrupted_rank_keeps_the_earlier_end)
{
	struct muster_packer p = { 0 };
	muster_pack_text(&p, "enough");
	recorder_deliver(&r, 0, MUSTER_TAG_INTERRUPT, &p);
	ck_assert_int_eq(run(), MUSTER_EXIT_PASS);
	ck_assert_double_le(s.end_ms, s.deadlines.interrupted + 1);
	ck_assert_str_eq(muster_outcomes_find(&s.facts.outcomes, "launch")->detail, "enough");
	ck_assert_str_eq(
		muster_outcomes_find(&s.facts.outcomes, "launch")->code, muster_code_name(MUSTER_EINTERRUPTED));
	ck_assert_ptr_null(command("take"));
}

TEST(a_cancelled_run_ends_with_the_exit_code_of_rank_0)
{
	cancelled = MUSTER_EXIT_USAGE;
	ck_assert_int_eq(run(), MUSTER_EXIT_USAGE);
	ck_assert_ptr_null(command("take"));
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_ENTER, 0));
}

TEST(a_rank_that_rank_0_does_not_answer_ends_with_the_run)
{
	silent = true;
	ck_assert_int_eq(run(), MUSTER_EXIT_INCONCLUSIVE);
	ck_assert_double_ge(r.now_ms, END);
	ck_assert_double_le(r.now_ms, END + s.deadlines.progress_every);
	ck_assert_ptr_null(command("take"));
}

TEST(a_record_goes_to_rank_0_when_the_leader_is_dead)
{
	struct muster_parts parts;
	struct muster_bytes bytes;
	int rank;
	says_goodbye = false;
	ck_assert_int_eq(run(), MUSTER_EXIT_INCONCLUSIVE);
	const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_RECORD, 0);
	ck_assert_ptr_nonnull(sent);
	ck_assert_int_eq(sent->to, 0);
	ck_assert(muster_unpack_parts(sent->bytes, sent->length, &parts));
	ck_assert_int_eq(parts.barrier.kind, MUSTER_BARRIER_RECORD);
	ck_assert(muster_unpack_part(&parts, &rank, &bytes));
	ck_assert_int_eq(rank, RANK);
	ck_assert_uint_eq(bytes.length, s.record.length);
	ck_assert_ptr_null(recorder_sent(&r, MUSTER_TAG_RECORD, 1));
	/* rank 0 may still be writing a report */
	ck_assert_double_ge(r.now_ms, s.end_ms + muster_deadlines_report(&s.deadlines, RANKS));
}

TEST(a_worker_that_cannot_be_started_is_the_outcome_of_every_probe)
{
	script.refused = 1;
	ck_assert_int_eq(run(), MUSTER_EXIT_PASS);
	ck_assert_uint_eq(script.count, 0);
	const struct muster_outcome *outcome = muster_outcomes_find(&s.facts.outcomes, "launch");
	ck_assert_int_eq(outcome->status, MUSTER_OUTCOME_NOT_RUN);
	ck_assert_str_eq(outcome->detail, "no more processes");
	ck_assert_int_eq(turns, 4); /* the others need not wait */
}

/* ---- rank 0 ---- */

static int prepared, finalized;
static bool gathered; /* when the report was made */

static int prepare(struct muster_supervisor *of)
{
	ck_assert_ptr_nonnull(of->coordinator);
	return prepared;
}

static int finalize(struct muster_supervisor *of)
{
	finalized++;
	gathered = of->coordinator->gathered;
	return 42;
}

/* In a job of so many ranks, of which the others never say anything. */
static void start_rank_0(int ranks)
{
	one_rank_done();
	one_rank_start(0, ranks, END);
	host.prepare = prepare;
	host.finalize = finalize;
	host.limit = limit;
	options.deadline_s = END / 1000;
	prepared = finalized = 0;
	gathered = false;
	muster_supervisor_start_worker(&s);
}

TEST(rank_0_returns_what_the_report_says)
{
	start_rank_0(1);
	ck_assert_int_eq(muster_supervisor_run(&s, 0), 42);
	ck_assert_int_eq(finalized, 1);
	ck_assert(gathered);
	ck_assert_double_lt(r.now_ms, 60000); /* nobody was waited for */
	ck_assert_double_eq(s.end_ms, END);
	check_has(command("take"), "\"leader\": true");
	const struct muster_run *result = &s.coordinator->run;
	ck_assert_uint_eq(result->node_count, 1);
	ck_assert_ptr_null(result->nodes[0].ranks[0].missing);
	ck_assert_str_eq(result->nodes[0].ranks[0].gpu_uuid, "GPU-5");
	for (size_t i = 0; i < muster_probe_count(); i++) /* those of the node too */
		if (muster_probe_at(i)->run && !muster_probe_at(i)->of_storage)
			ck_assert_ptr_nonnull(muster_outcomes_find(&s.facts.outcomes, muster_probe_at(i)->name));
	for (size_t i = 0; i < script.count; i++) { /* and each finish of a probe that has one */
		const char *name = strstr(script.commands[i], "\"finish\", \"probe\": \"");
		char probe[64] = "";
		if (!name)
			continue;
		sscanf(name + strlen("\"finish\", \"probe\": \""), "%63[^\"]", probe);
		ck_assert_msg(muster_probe_find(probe)->finish != NULL, "%s", probe);
	}
}

TEST(a_run_that_rank_0_cannot_report_is_cancelled_for_all)
{
	struct muster_membership_news news;
	start_rank_0(3);
	prepared = MUSTER_EXIT_USAGE;
	ck_assert_int_eq(muster_supervisor_run(&s, 0), MUSTER_EXIT_USAGE);
	ck_assert_int_eq(finalized, 0);
	ck_assert_ptr_null(command("take"));
	for (int rank = 1; rank < 3; rank++) {
		const struct recorded *sent = recorder_sent(&r, MUSTER_TAG_MEMBERSHIP, rank - 1);
		ck_assert_int_eq(sent->to, rank);
		ck_assert(muster_unpack_membership(sent->bytes, sent->length, &news));
		ck_assert_int_eq(news.exit_code, MUSTER_EXIT_USAGE);
	}
}

/* The hello of a rank is waited for until a third of the time is over. */
TEST(ranks_that_never_report_are_in_the_report)
{
	start_rank_0(2);
	ck_assert_int_eq(muster_supervisor_run(&s, 1000), 42);
	ck_assert_double_ge(r.now_ms, END / 3);
	ck_assert_double_lt(r.now_ms, END / 3 + 60000);
	const struct muster_run *result = &s.coordinator->run;
	ck_assert_uint_eq(result->node_count, 2);
	ck_assert_str_eq(result->nodes[1].name, "?");
	check_has(result->nodes[1].ranks[0].missing, "never reported");
}

TEST_LOOP(rank_0_shows_the_progress_unless_it_is_to_be_quiet, 0, 2)
{
	catch_stderr();
	setenv("MUSTER_TERMINAL", "0", 1);
	start_rank_0(1);
	host.quiet = _i;
	muster_supervisor_run(&s, 0);
	const char *text = printed();
	if (_i)
		ck_assert_str_eq(text, "");
	else
		check_has(text, "starting ranks");
}

TEST_MAIN(.setup = setup, .teardown = one_rank_done)

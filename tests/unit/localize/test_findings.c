/* SPDX-License-Identifier: Apache-2.0 */
/* test_findings.c - who is suspected for a ring that breaks, by trial rings and by how each rank ended in it */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run.h"

#define PROBE "nccl_allreduce"

/* Trials as text: "a ok 231; b failed; a-c ok 180; a-b failed; b-c late 9; rest a-b-c ok", of nodes a to t, a rate
 * behind "ok", seconds behind "late"; the others take 1 s. "rest": the last full ring. The findings' lines hold these
 * words, in this order, and there are so many of them. */
static const struct {
	size_t nodes;
	const char *trials;
	size_t findings;
	const char *words[4];
} cases[] = {
	{ 3, "a ok; b ok; c ok; a-b ok; b-c ok", 1,
		{ "skip ring.suspect",
			"no node is suspected: the all-reduces of 3 single nodes and 2 pairs of nodes all work" } },
	{ 2, "a ok 58; b ok 231; a-b ok 32", 1,
		{ "skip ring.suspect", "2 single nodes (from 58 GB/s on a to 231 GB/s on b) and 1 pair" } },
	{ 3, "a ok 231; b failed; c ok 231", 1,
		{ "fail ring.suspect b: the all-reduce on this node alone works",
			"its single-node all-reduce failed: rank 7: no" } },
	/* how fast they are is for other checks */
	{ 4, "a ok 231; b ok 115; c ok 230; d ok 232", 1,
		{ "skip ring.suspect", "4 single nodes (from 115 GB/s on b to 232 GB/s on d) and 0 pairs" } },
	{ 4, "a ok 231; b ok 220; c ok 230; d ok 232; a-b failed; c-d ok; b-c failed; a-d ok", 1,
		{ "fail ring.suspect b: all-reduces of this node with another node work | all-reduce b + a failed, b + "
		  "c failed; a and c work with other nodes; single-node all-reduce 220 GB/s; last error: rank 7: "
		  "no" } },
	/* the one that fails alone comes before the one that fails with others, whatever their names */
	{ 6, "a ok; b ok; c ok; d ok; e ok; f failed; a-b failed; c-d ok; b-c failed; a-e ok", 2,
		{ "fail ring.suspect f", "fail ring.suspect b", "all-reduce b + a failed, b + c failed" } },
	{ 3, "a ok; b ok; c ok; a-b failed; b-c ok; a-c ok", 1,
		{ "fail ring.link: ",
			"the all-reduce a + b failed, and each of the two works with other nodes: rank 7: no" } },
	{ 4, "a ok; b ok; c ok; d ok; a-b ok; c-d ok; a-c failed; b-d failed; a-d failed; b-c failed", 1,
		{ "fail ring.split: ", "a, b | c, d: nodes of one group work", "(4 such pairs were tried)" } },
	{ 2, "a ok; b ok; a-b failed", 1,
		{ "fail ring.link: ", "all-reduces of two nodes fail (a + b), and each of these nodes works alone" } },
	/* what ran out of time failed when it had three times as long as the slowest that passed, and else tells
	   nothing */
	{ 3, "a ok; b ok; c ok; a-b ok; b-c late 3", 1,
		{ "fail ring.link: ", "all-reduces of two nodes fail (b + c)", "rank 7: no" } },
	{ 3, "a ok; b ok; c ok; a-b ok; b-c late 2.9; a-c late 1", 1,
		{ "skip ring.suspect", "no node is suspected: the all-reduces of 3 single nodes and 1 pair of nodes "
				       "all work; 2 more ran out of time without a result" } },
	{ 2, "a ok; b late 2.9", 1,
		{ "no node is suspected: the all-reduces of 1 single node and 0 pairs of nodes all work; 1 more ran "
		  "out of time" } },
	{ 2, "a ok; b late 3", 1, { "fail ring.suspect b: the all-reduce on this node alone", "failed: rank 7: no" } },
	/* the last full ring of the others does not hide how fast a trial was */
	{ 2, "a ok; b late 3; rest a ok", 1,
		{ "fail ring.suspect b: the all-reduce on this node alone", "rank 7: no" } },
	/* beside a split, a node of neither part is not forgotten */
	{ 5,
		"a ok; b ok; c ok; d ok; e ok; a-b ok; c-d ok; a-c failed; b-d failed; a-d failed; b-c failed; "
		"a-e failed",
		2,
		{ "fail ring.split: ", "a, b | c, d: nodes of one group work", "(4 such pairs were tried)",
			"all-reduces of two nodes fail (a + e)" } },
	/* a list ends after twelve pairs */
	{ 8,
		"a-b failed; a-c failed; a-d failed; a-e failed; a-f failed; a-g failed; a-h failed; b-c failed; b-d "
		"failed; b-e failed; b-f failed; b-g failed; b-h failed",
		1,
		{ "all-reduces of two nodes fail (a + b, a + c, a + d, a + e, a + f, a + g, a + h, b + c, b + d, b + "
		  "e, b + f, b + g and 1 more)" } },
	/* nodes that no trial was made of count for nothing, wherever they stand */
	{ 4, "b ok; c failed; d ok", 1, { "fail ring.suspect c: the all-reduce on this node alone" } },
	{ 6, "a-b failed; a-c failed; d-b failed; d-c failed; b-c ok; e-b ok; a-d failed", 2,
		{ "fail ring.suspect a", "fail ring.suspect d" } },
	/* the first pair of all lies across */
	{ 4, "a-b failed; a-c ok; b-d ok; c-d failed; a-d failed; b-c failed", 1,
		{ "fail ring.split: ", "a, c | b, d: ", "(4 such pairs were" } },
	/* the ring of the remaining nodes is evidence, too */
	{ 3, "a ok; b ok; c failed; rest a-b failed", 2,
		{ "fail ring.suspect c", "fail ring.link: ", "all-reduces of two nodes fail (a + b)" } },
	{ 3, "a ok; b ok; c failed; rest a-b ok 90", 1, { "fail ring.suspect c" } },
	{ 2, "a ok; b failed; rest a failed", 2, { "fail ring.suspect a", "fail ring.suspect b" } },
	{ 4, "a ok; b ok; c ok; d failed; rest a-b-c failed", 2,
		{ "fail ring.suspect d", "fail ring.suspect: the nodes that are not suspected work together",
			"the all-reduce of the remaining nodes a, b, c failed too", "rank 7: no" } },
	{ 4, "a ok; b ok; c ok; d failed; rest a-b-c ok", 1, { "fail ring.suspect d" } },
	/* a later one counts, and a suspect that was in it explains it */
	{ 4, "a ok; b ok; c ok; d failed; rest a-b-c failed; rest a-b ok", 1, { "fail ring.suspect d" } },
	{ 5, "a ok; b ok; c ok; d failed; e ok; rest a-b-c-e failed; a-b failed; a-c ok; c-e ok; b-c ok", 2,
		{ "fail ring.suspect d", "fail ring.link: ", "a + b failed, and each of the two works with other" } },
	/* without time for all its messages it proves nothing, but nobody knows that the nodes work */
	{ 3, "a ok; b ok; c failed; rest a-b late 99", 2,
		{ "fail ring.suspect c",
			"inconclusive ring.suspect: ", "the all-reduce of the remaining nodes a, b ran out of time" } },
	/* the one with most failures first; rates may be small; partners of whom nothing good is known come last */
	{ 9,
		"a ok; b ok; c ok; d ok; e ok; f ok; g ok 0.5; h ok; a-c ok; a-i ok; c-d ok; d-e ok; e-f ok; b-a "
		"failed; b-c failed; g-a failed; g-c failed; g-d failed; g-h failed; b-g failed; b-h failed",
		2,
		{ "fail ring.suspect g",
			"all-reduce g + a failed, g + c failed, g + d failed; a and c and d work with other nodes; "
			"all-reduce g + b failed, g + h failed; single-node all-reduce 0.5 GB/s",
			"fail ring.suspect b",
			"all-reduce b + a failed, b + c failed; a and c work with other nodes; all-reduce b + g "
			"failed, b + h failed; its single-node all-reduce works" } },
	/* a node of a run may be called anything, and trials of nodes that the run does not have count for nothing */
	{ 2, "a ok; z failed", 1, { "no node is suspected: the all-reduces of 1 single node" } },
};

static void add_trials(struct muster_run *run, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ";");
		bool of_rest = strncmp(text, "rest ", 5) == 0;
		const char *at = text + (of_rest ? 5 : 0);
		const char **nodes = muster_arena_alloc(run->arena, 8 * sizeof *nodes);
		struct muster_trial trial = { .probe = PROBE, .nodes = nodes, .node_count = 1, .bytes = 64 };
		while (at[2 * trial.node_count - 1] == '-')
			trial.node_count++;
		const char *rest = at + 2 * trial.node_count;
		for (size_t i = 0; i < trial.node_count; i++)
			nodes[i] = muster_arena_string_n(run->arena, at + 2 * i, 1);
		trial.kind = of_rest                 ? MUSTER_TRIAL_REST
			     : trial.node_count == 2 ? MUSTER_TRIAL_PAIR
						     : MUSTER_TRIAL_ALONE;
		trial.status = strncmp(rest, "ok", 2) == 0     ? MUSTER_TRIAL_OK
			       : strncmp(rest, "late", 4) == 0 ? MUSTER_TRIAL_LATE
							       : MUSTER_TRIAL_FAILED;
		if (trial.status == MUSTER_TRIAL_OK && rest[2] == ' ')
			trial.busbw_gbps = strtod(rest + 3, NULL);
		trial.seconds = trial.status == MUSTER_TRIAL_LATE ? strtod(rest + 4, NULL) : 1;
		trial.why = trial.status == MUSTER_TRIAL_OK ? NULL : "rank 7: no";
		muster_run_add_trial(run, trial);
		text += length;
		text += strspn(text, "; ");
	}
}

/* Trials of other probes and of more than two nodes; nodes in the order of their lowest rank, not of their names. */
TEST(only_pairs_of_the_probe_count)
{
	static const char *three[] = { "c", "a", "b" };
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	for (size_t i = 0; i < 3; i++)
		fixture_node(&run, three[i], 1);
	add_trials(&run, "a ok; c failed; b ok");
	muster_run_add_trial(
		&run, (struct muster_trial){ .probe = "gpu_copy", .nodes = three, .node_count = 1, .why = "x" });
	muster_run_add_trial(&run,
		(struct muster_trial){
			.probe = PROBE, .kind = MUSTER_TRIAL_GROUP, .nodes = three, .node_count = 3, .why = "x" });
	muster_evaluate(&run, NULL, false, &report);
	ck_assert_uint_eq(report.finding_count, 1);
	ck_assert_ptr_nonnull(strstr(fixture_findings(&report), "fail ring.suspect c: "));
	muster_report_done(&report);
	muster_run_done(&run);
}

static void add_nodes(struct muster_run *run, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fixture_node(run, muster_arena_printf(run->arena, "%c", (int)('a' + i)), 1);
}

TEST_EACH(trials_become_findings, cases)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	add_nodes(&run, cases[_i].nodes);
	add_trials(&run, cases[_i].trials);
	muster_evaluate(&run, NULL, false, &report);
	const char *text = fixture_findings(&report), *at = text;
	ck_assert_msg(report.finding_count == cases[_i].findings, "%s: %s", cases[_i].trials, text);
	for (size_t i = 0; i < 4 && cases[_i].words[i]; i++) {
		at = strstr(at, cases[_i].words[i]);
		ck_assert_msg(at != NULL, "%s: no \"%s\" in\n%s", cases[_i].trials, cases[_i].words[i], text);
	}
	for (size_t i = 0; i < report.finding_count; i++)
		ck_assert(report.findings[i].status == MUSTER_SKIP || report.findings[i].advice);
	muster_report_done(&report);
	muster_run_done(&run);
}

TEST(the_last_ring_of_a_run_that_was_ended_is_no_evidence)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	add_nodes(&run, 3);
	add_trials(&run, "a ok; b ok; c ok; a-b ok; b-c ok; rest a-b-c failed; rest a-b failed");
	run.job.interrupted = "rank 0 received SIGUSR1";
	muster_evaluate(&run, NULL, false, &report);
	ck_assert_uint_eq(report.count[MUSTER_FAIL], 0);
	ck_assert_int_eq(report.verdict, MUSTER_INCONCLUSIVE);
	muster_report_done(&report);
	muster_run_done(&run);
}

/* How the ranks of four nodes ended in rings, as "status code ring detail" each, and what is found. */
static const struct {
	struct {
		enum muster_outcome_status status;
		const char *code;
		int ring;
		const char *detail;
	} ends[4];
	const char *trials;
	const char *findings;
} endings[] = {
	/* a worker that crashed explains those that were called off, and those that could not go on without it */
	{ { { MUSTER_OUTCOME_ERROR, "called_off", 4, "cancelled: rank 1's worker crashed" },
		  { MUSTER_OUTCOME_CRASHED, NULL, 4, "signal 9" },
		  { MUSTER_OUTCOME_ERROR, "remote", 4, "remote process exited" },
		  { MUSTER_OUTCOME_ERROR, "time", 4, "not within 9 s" } },
		"",
		"fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | signal 9\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | cancelled: rank 1's worker "
		"crashed\n"
		"skip probe.nccl_allreduce: probe nccl_allreduce finishes | ended by the failure of rank 1 (2 "
		"ranks)\n" },
	/* and is no excuse in another ring, made without it, nor for those that were in none */
	{ { { MUSTER_OUTCOME_ERROR, "remote", 3, "remote process exited" },
		  { MUSTER_OUTCOME_CRASHED, NULL, 4, "signal 9" }, { MUSTER_OUTCOME_ERROR, "lib", 0, "no library" },
		  { MUSTER_OUTCOME_ERROR, "called_off", 3, "cancelled: rank 0: remote process exited" } },
		"",
		"fail probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | remote process exited\n"
		"fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | signal 9\n"
		"fail probe.nccl_allreduce c rank=2: probe nccl_allreduce finishes | no library\n"
		"skip probe.nccl_allreduce d rank=3: probe nccl_allreduce finishes | cancelled: rank 0: remote "
		"process exited\n" },
	/* nobody says more than that time ran out: nobody is proved bad */
	{ { { MUSTER_OUTCOME_ERROR, "time", 4, "late" }, { MUSTER_OUTCOME_ERROR, "time", 4, "late" },
		  { MUSTER_OUTCOME_ERROR, "time", 4, "late" }, { MUSTER_OUTCOME_ERROR, "time", 4, "late" } },
		"",
		"inconclusive probe.nccl_allreduce: probe nccl_allreduce finishes | all 4 ranks: late\n"
		"skip probe.nccl_allreduce: probe nccl_allreduce finishes | late (4 ranks)\n" },
	/* called off, and nobody is there to blame for it */
	{ { { MUSTER_OUTCOME_ERROR, "called_off", 4, "cancelled: why?" } }, "",
		"inconclusive probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | cancelled: why?\n" },
	/* every pair works */
	{ { { MUSTER_OUTCOME_ERROR, "time", 4, "late" }, { MUSTER_OUTCOME_ERROR, "vendor", 4, "error 2" },
		  { MUSTER_OUTCOME_OK, NULL, 4, NULL }, { MUSTER_OUTCOME_OK, NULL, 4, NULL } },
		"a ok; b ok; c ok; d ok; a-b ok; a-c ok; a-d ok; b-c ok; b-d ok; c-d ok",
		"fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | error 2\n"
		"skip ring.suspect: all-reduces on few nodes work | no node is suspected: the all-reduces of 4 single "
		"nodes and 6 pairs of nodes all work; the all-reduce of all nodes fails, and every pair of nodes "
		"works: the fault needs more than two nodes\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | ended by the failure of rank "
		"1\n" },
	/* trials tell who it was, but not who failed by itself in the ring without it */
	{ { { MUSTER_OUTCOME_ERROR, "time", 4, "late" }, { MUSTER_OUTCOME_NOT_RUN, NULL, 4, "left out" },
		  { MUSTER_OUTCOME_ERROR, "vendor", 4, "error 2" }, { MUSTER_OUTCOME_ERROR, "vendor", 3, "error 3" } },
		"a ok; b failed; c ok; d ok; rest a-c-d failed",
		"fail ring.suspect b: the all-reduce on this node alone works | "
		"its single-node all-reduce failed: rank 7: no\n"
		"fail ring.suspect: the nodes that are not suspected work together | the all-reduce of the remaining "
		"nodes a, c, d failed too, and the localisation could not decide which node or connection is at fault: "
		"rank 7: no\n"
		"fail probe.nccl_allreduce d rank=3: probe nccl_allreduce finishes | error 3\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | late\n"
		"skip probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | left out\n"
		"skip probe.nccl_allreduce c rank=2: probe nccl_allreduce finishes | error 2\n" },
};

TEST_EACH(a_broken_ring_is_the_culprits_alone, endings)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	add_nodes(&run, 4);
	for (size_t n = 0; n < 4; n++)
		muster_outcomes_add(&run.nodes[n].ranks[0].outcomes, (struct muster_outcome){ .probe = PROBE,
									     .status = endings[_i].ends[n].status,
									     .code = endings[_i].ends[n].code,
									     .ring = endings[_i].ends[n].ring,
									     .detail = endings[_i].ends[n].detail });
	add_trials(&run, endings[_i].trials);
	fixture_judge(&run, "'r':{'metric':'nccl.ring_ranks','present':true,'source':'s'}", false, &report);
	ck_assert_str_eq(fixture_findings(&report), endings[_i].findings);
	muster_report_done(&report);
	muster_run_done(&run);
}

TEST_MAIN(.timeout = 200)

/* test_recover.c - the run that journals make: who came to an end, who did not, and who left nothing */
#include "check_main.h"
#include "unit/journal/journal_fixture.h"

static struct muster_run run;
static struct muster_journal_set set;

static void setup(void)
{
	folder_setup();
	muster_run_init(&run);
	set = (struct muster_journal_set){ 0 };
}

static void teardown(void)
{
	muster_journal_set_done(&set);
	muster_run_done(&run);
	folder_teardown();
}

static void read_all(void)
{
	struct muster_error err;
	ck_assert_msg(muster_journal_set_read(folder, NULL, run.arena, &set, &err) == 0, "%s", err.text);
}

static const struct muster_outcome *outcome_of(int rank)
{
	const struct muster_rank *found = find_rank(&run, rank, NULL);
	ck_assert_ptr_nonnull(found);
	ck_assert_uint_eq(found->outcomes.count, 1);
	return &found->outcomes.items[0];
}

/* Four ranks on two nodes: rank 0 ended, 1 stopped after a step, 2 ended early, 3 left nothing. */
static void four_ranks(void)
{
	put_first("n1.jsonl", "a0", 0, "n1", ",'job':'77'");
	put_record("n1.jsonl", "a0", 2, 0, "n1", "system", "ok", 8);
	put("n1.jsonl", "\n{'by':'a0','t':9,'end':''}\n");
	put_first("n1.jsonl", "a1", 1, "n1", "");
	put_record("n1.jsonl", "a1", 2, 1, "n1", "system", "ok", 0);
	put("n1.jsonl",
		"\n{'by':'a1','t':3.2,'step':'one'}\n{'by':'a1','t':4.2,'step':'two'}\n{'by':'a1','t':6,'x':1}\n");
	put_first("n2.jsonl", "b2", 2, "n2", "");
	put_record("n2.jsonl", "b2", 2, 2, "n2", "system", "ok", 4);
	put("n2.jsonl", "\n{'by':'b2','t':5,'end':'rank 2 was told to end'}\n");
}

TEST(a_run_is_made_of_what_was_left)
{
	const char *node;
	four_ranks();
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_str_eq(run.job.id, "77");
	ck_assert_str_eq(run.job.started, "2026-11-21T10:00:00Z");
	ck_assert_str_eq(run.job.profile, "quick");
	ck_assert_str_eq(run.job.version, "0.1.0");
	ck_assert_int_eq(run.job.ranks, 4);
	ck_assert_int_eq(run.job.repeats, 1);
	ck_assert_double_eq(run.job.elapsed_s, 9);
	ck_assert(run.job.assembled);
	ck_assert(run.job.simulated);
	ck_assert_str_eq(run.job.interrupted, "rank 2 was told to end");

	const struct muster_rank *rank = find_rank(&run, 0, &node);
	ck_assert_str_eq(node, "n1");
	ck_assert_ptr_null(rank->unfinished);
	ck_assert_str_eq(rank->gpu, "0001:00:00.0");
	ck_assert_str_eq(rank->gpu_uuid, "GPU-1");
	ck_assert_int_eq(rank->local_rank, 0);
	ck_assert_int_eq(outcome_of(0)->status, MUSTER_OUTCOME_OK);
	rank = find_rank(&run, 1, &node);
	ck_assert_str_eq(node, "n1");
	ck_assert_str_eq(rank->unfinished, "the rank did not finish; its last message, 4 s after its start: two");
	rank = find_rank(&run, 2, &node);
	ck_assert_str_eq(node, "n2");
	ck_assert_ptr_null(rank->unfinished); /* it ended, and why it ended early stands with the run */
	rank = find_rank(&run, 3, &node);
	ck_assert_str_eq(node, "?");
	ck_assert_str_eq(rank->missing, "there is no result of this rank on disk");

	ck_assert_uint_eq(run.node_count, 3);
	for (size_t n = 0; n < run.node_count; n++) {
		const struct muster_node *one = &run.nodes[n];
		bool known = strcmp(one->name, "?") != 0;
		ck_assert(one->simulated == known);
		ck_assert_uint_eq(one->samples.count, known);
		if (known)
			ck_assert_double_eq(one->samples.items[0].value.number, strcmp(one->name, "n1") == 0 ? 8 : 4);
	}
}

TEST(a_rank_that_measured_nothing_is_unfinished_though_it_ended)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put("n1.jsonl", "{'by':'a0','t':2,'end':''}\n");
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_ptr_null(run.job.interrupted);
	ck_assert_str_eq(find_rank(&run, 0, NULL)->unfinished,
		"the rank did not finish; its last message, 2 s after its start, came before the first step");
}

TEST(a_run_without_any_end_was_ended_from_outside)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put_record("n1.jsonl", "a0", 2, 0, "n1", "system", "ok", 8);
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_str_eq(run.job.interrupted, "no rank finished: the run was ended from outside");
}

/* A worker's death in the last second of a run that was ended as a whole is a part of that. */
TEST_LOOP(the_last_deaths_are_excused, 0, 4)
{
	static const struct {
		double died, last;
		bool ended, excused;
	} cases[] = {
		{ 10, 10.5, false, true },
		{ 10, 11, false, true },
		{ 10, 11.1, false, false },
		{ 10, 10.5, true, false },
	};
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put_record("n1.jsonl", "a0", 2, 0, "n1", "system", "ok", 8);
	put("n1.jsonl", "\n{'by':'a0','t':%g,'%s':''}\n", cases[_i].last, cases[_i].ended ? "end" : "x");
	put_first("n2.jsonl", "b1", 1, "n2", "");
	put_record("n2.jsonl", "b1", cases[_i].died, 1, "n2", "gpu_copy", "crashed", 8);
	read_all();
	muster_journal_set_make(&set, &run);
	const struct muster_outcome *outcome = outcome_of(1);
	ck_assert_int_eq(outcome->status, cases[_i].excused ? MUSTER_OUTCOME_ERROR : MUSTER_OUTCOME_CRASHED);
	if (cases[_i].excused)
		ck_assert_str_eq(outcome->code, muster_code_name(MUSTER_EINTERRUPTED));
	ck_assert_int_eq(outcome_of(0)->status, MUSTER_OUTCOME_OK);
}

TEST(the_last_outcome_of_a_probe_counts)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put_record("n1.jsonl", "a0", 2, 0, "n1", "gpu_copy", "ok", 0);
	put_record("n1.jsonl", "a0", 3, 0, "n1", "gpu_copy", "hung", 0);
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_int_eq(outcome_of(0)->status, MUSTER_OUTCOME_HUNG);
}

/* Rank 0 looks there for ranks that it misses: why they are missing stays their reason. */
TEST(only_missing_ranks_are_put_into_a_run)
{
	four_ranks();
	put("n1.jsonl",
		"{'by':'a0','t':5,'trial':{'probe':'nccl_allreduce','kind':'alone','nodes':['n1'],'status':'ok',"
		"'seconds':2}}\n");
	read_all();
	run.job.ranks = 4;
	struct muster_node *node = muster_run_add_node(&run, "n1");
	struct muster_rank *here = muster_node_add_rank(node, 0);
	here->gpu = "here already";
	muster_node_add_rank(node, 1)->missing = "nothing came from it any more";
	muster_node_add_rank(muster_run_add_node(&run, "?"), 3)->missing = "it never reported";
	ck_assert_uint_eq(muster_journal_set_add(&set, &run), 2);
	ck_assert_str_eq(find_rank(&run, 0, NULL)->gpu, "here already");
	ck_assert_ptr_null(find_rank(&run, 1, NULL)->missing);
	ck_assert_str_eq(find_rank(&run, 1, NULL)->unfinished,
		"nothing came from it any more; its last message, 4 s after its start: two");
	ck_assert_str_eq(find_rank(&run, 3, NULL)->missing, "it never reported");
	ck_assert_uint_eq(run.trial_count, 1);
	ck_assert_int_eq(run.nodes[0].ranks[0].rank, 0);
	ck_assert_int_eq(run.nodes[0].ranks[1].rank, 1);
	ck_assert_int_eq(run.nodes[1].ranks[0].rank, 2);
}

TEST(trials_that_rank_0_knows_are_not_told_twice)
{
	four_ranks();
	for (int i = 1; i < 3; i++)
		put("n1.jsonl",
			"{'by':'a0','t':5,'trial':{'probe':'nccl_allreduce','kind':'alone','nodes':['n%d'],"
			"'status':'ok','seconds':2}}\n",
			i);
	read_all();
	const char *first[] = { "n1" };
	muster_run_add_trial(&run, (struct muster_trial){ .probe = "nccl_allreduce", .nodes = first, .node_count = 1 });
	muster_journal_set_add(&set, &run);
	ck_assert_uint_eq(run.trial_count, 2);
	ck_assert_str_eq(run.trials[1].nodes[0], "n2");
}

/* What a localisation all-reduce measures is not the node's: rank 0 died before its line of what is kept. */
TEST(samples_of_an_unfinished_command_do_not_count)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put_record("n1.jsonl", "a0", 2, 0, "n1", "system", "ok", 8);
	put("n1.jsonl", "\n{'by':'a0','t':3,'sample':{'metric':'node.gpu_count','value':7}}\n"
			"{'by':'a0','t':4,'sample':{'metric':'nccl.ring_nodes','value':1}}\n");
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_uint_eq(run.job.samples.count, 0);
	ck_assert_uint_eq(run.nodes[0].samples.count, 1);
	ck_assert_double_eq(run.nodes[0].samples.items[0].value.number, 8);
}

TEST(only_the_crash_at_the_end_is_excused)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put_record("n1.jsonl", "a0", 1, 0, "n1", "system", "crashed", 8);
	put_record("n1.jsonl", "a0", 5, 0, "n1", "gpu_copy", "crashed", 0);
	put_record("n1.jsonl", "a0", 5, 0, "n1", "ib_link", "ok", 0);
	read_all();
	muster_journal_set_make(&set, &run);
	const struct muster_outcomes *outcomes = &find_rank(&run, 0, NULL)->outcomes;
	ck_assert_uint_eq(outcomes->count, 3);
	ck_assert_int_eq(outcomes->items[0].status, MUSTER_OUTCOME_CRASHED);
	ck_assert_int_eq(outcomes->items[1].status, MUSTER_OUTCOME_ERROR);
	ck_assert_int_eq(outcomes->items[2].status, MUSTER_OUTCOME_OK);
}

/* Ranks of two nodes in turn, of which one has another name in its record. */
TEST(each_rank_is_put_on_its_own_node)
{
	const char *node;
	for (int rank = 0; rank < 4; rank++) {
		char by[8], name[8];
		snprintf(by, sizeof by, "a%d", rank);
		snprintf(name, sizeof name, "n%d", 1 + rank % 2);
		put_first("n1.jsonl", by, rank, name, "");
		put_record("n1.jsonl", by, 1, rank, rank == 3 ? "n3" : name, "system", "ok", 0);
	}
	read_all();
	muster_journal_set_make(&set, &run);
	for (int rank = 0; rank < 4; rank++) {
		find_rank(&run, rank, &node);
		ck_assert_str_eq(node, rank == 3 ? "n3" : rank % 2 ? "n2" : "n1");
	}
	ck_assert_uint_eq(run.node_count, 3);
}

/* The report may tell of a run with more ranks than the journals know of. */
TEST(a_rank_beyond_those_of_the_journals_stays)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	read_all();
	struct muster_node *node = muster_run_add_node(&run, "n2");
	muster_node_add_rank(node, 3)->missing = "it never reported";
	muster_node_add_rank(node, 4)->missing = "it never reported";
	muster_node_add_rank(node, 5);
	ck_assert_uint_eq(muster_journal_set_add(&set, &run), 1);
	ck_assert_str_eq(find_rank(&run, 3, NULL)->missing, "it never reported");
	ck_assert_str_eq(find_rank(&run, 4, NULL)->missing, "it never reported");
	ck_assert_ptr_null(find_rank(&run, 5, NULL)->missing);
}

/* Two measurements of a bandwidth; without repeats each is a sample of its own. */
TEST_LOOP(repeats_are_one_sample_with_all_their_values, 1, 3)
{
	put("n1.jsonl",
		"{'by':'a0','spool':%d,'run':'r1','started':'2026-11-21T10:00:00Z','rank':0,'ranks':1,'node':'n1',"
		"'sku':'x.json','profile':'quick','repeats':%d}\n",
		MUSTER_SPOOL_VERSION, _i);
	for (int i = 1; i < 3; i++) {
		put("n1.jsonl",
			"{'by':'a0','t':%d,'sample':{'metric':'gpu.h2d_gbps','labels':{'gpu':'0001:00:00.0'},'value':%"
			"d}}\n",
			i, 20 + i);
		put_record("n1.jsonl", "a0", i, 0, "n1", "gpu_copy", "ok", 0);
	}
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_int_eq(run.job.repeats, _i);
	const struct muster_samples *samples = &run.nodes[0].ranks[0].samples;
	ck_assert_uint_eq(samples->count, _i == 2 ? 1 : 2);
	ck_assert_uint_eq(samples->items[0].value_count, _i == 2 ? 2 : 0);
}

/* The last messages: a rank that ended early says why, and a rank of which only steps are known says the last one. */
TEST(an_early_end_without_results_is_told_with_the_last_message)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put("n1.jsonl", "{'by':'a0','t':1.6,'step':'cuInit'}\n{'by':'a0','t':9,'end':'SIGTERM came'}\n");
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_str_eq(run.job.interrupted, "SIGTERM came");
	ck_assert_str_eq(
		find_rank(&run, 0, NULL)->unfinished, "SIGTERM came; its last message, 2 s after its start: cuInit");
}

/* Ranks 1 and 2 ended early: the reason of the lower one stands with the run. */
TEST(the_lowest_rank_that_ended_early_tells_why)
{
	for (int rank = 0; rank < 3; rank++) {
		char by[8];
		snprintf(by, sizeof by, "a%d", rank);
		put_first("n1.jsonl", by, rank, "n1", "");
		put("n1.jsonl", "{'by':'%s','t':1,'end':'%s'}\n", by, rank == 0 ? "" : rank == 1 ? "one" : "two");
	}
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_str_eq(run.job.interrupted, "one");
}

/* A crash at the end of the run whose supervisor said why it ended, and one long before the last line of its rank. */
TEST(other_crashes_are_not_excused)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put_record("n1.jsonl", "a0", 10, 0, "n1", "gpu_copy", "crashed", 0);
	put("n1.jsonl", "\n{'by':'a0','t':10,'end':'the worker died'}\n");
	put_first("n1.jsonl", "a1", 1, "n1", "");
	put_record("n1.jsonl", "a1", 8, 1, "n1", "gpu_copy", "crashed", 0);
	put_record("n1.jsonl", "a1", 10, 1, "n1", "system", "ok", 0);
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_int_eq(outcome_of(0)->status, MUSTER_OUTCOME_CRASHED);
	ck_assert_int_eq(find_rank(&run, 1, NULL)->outcomes.items[0].status, MUSTER_OUTCOME_CRASHED);
}

TEST(ranks_in_turn_over_three_nodes_make_three_nodes)
{
	for (int rank = 0; rank < 4; rank++) {
		char by[8], name[8];
		snprintf(by, sizeof by, "a%d", rank);
		snprintf(name, sizeof name, "n%d", rank == 3 ? 2 : rank + 1);
		put_first("n1.jsonl", by, rank, name, "");
	}
	put("n1.jsonl", "{'by':'a0','rank':0,'ranks':8}\n");
	for (int rank = 4; rank < 8; rank++) {
		char by[8];
		snprintf(by, sizeof by, "a%d", rank);
		put("n1.jsonl",
			"{'by':'%s','spool':%d,'run':'r1','started':'s','rank':%d,'ranks':8,'node':'n%d','sku':'x.json'"
			","
			"'profile':'quick'}\n",
			by, MUSTER_SPOOL_VERSION, rank, rank % 3 + 1);
	}
	read_all();
	muster_journal_set_make(&set, &run);
	ck_assert_uint_eq(run.node_count, 3);
	ck_assert_uint_eq(run.nodes[0].rank_count, 2);
	ck_assert_uint_eq(run.nodes[1].rank_count, 4);
	ck_assert_uint_eq(run.nodes[2].rank_count, 2);
}

TEST(a_long_step_is_cut)
{
	char step[600];
	memset(step, 's', sizeof step - 1);
	step[sizeof step - 1] = '\0';
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put("n1.jsonl", "{'by':'a0','t':1,'step':'%s'}\n", step);
	read_all();
	muster_journal_set_make(&set, &run);
	const char *why = find_rank(&run, 0, NULL)->unfinished;
	ck_assert_uint_eq(strspn(strstr(why, "sssss"), "s"), MUSTER_JOURNAL_SHOWN);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

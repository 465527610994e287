/* SPDX-License-Identifier: Apache-2.0 */
/* test_recover.c - the run that spools make: who came to an end, who did not, and who left nothing */
#include "check_main.h"
#include "muster/run.h"
#include "unit/spool/spool_fixture.h"

static struct muster_run run;
static struct muster_spool_set set;

static void setup(void)
{
	folder_setup();
	muster_run_init(&run);
	set = (struct muster_spool_set){ 0 };
}

static void teardown(void)
{
	muster_spool_set_done(&set);
	muster_run_done(&run);
	folder_teardown();
}

static void read_all(void)
{
	struct muster_error err;
	ck_assert_msg(muster_spool_set_read(folder, NULL, run.arena, &set, &err) == 0, "%s", err.text);
}

static void outcomes_print(FILE *out, const struct muster_rank *rank)
{
	for (size_t i = 0; i < rank->outcomes.count; i++) {
		const struct muster_outcome *outcome = &rank->outcomes.items[i];
		fprintf(out, " %s=%s", outcome->probe, muster_outcome_name(outcome->status));
		if (outcome->code)
			fprintf(out, "(%s)", outcome->code);
	}
}

/* "until 4 s": the sentence on a rank without any step. */
static void why_print(FILE *out, const char *why)
{
	char usual[128];
	const char *at = strstr(why, "message, ");
	long seconds = at ? strtol(at + strlen("message, "), NULL, 10) : 0;
	snprintf(usual, sizeof usual,
		"the rank did not finish; its last message, %ld s after its start, came before the first step",
		seconds);
	if (strcmp(why, usual) == 0)
		fprintf(out, " until %ld s", seconds);
	else
		fprintf(out, ": %s", why);
}

/* Why the run ended early ("from outside": no rank finished), then each node with its number of GPUs, its ranks, what
 * came of their probes, and why they are not whole. */
static const char *run_text_of(void)
{
	static char text[2048];
	FILE *out = fmemopen(text, sizeof text, "w");
	const char *interrupted = run.job.interrupted;
	if (interrupted)
		fprintf(out, "%s | ",
			strcmp(interrupted, "no rank finished: the run was ended from outside") == 0 ? "from outside"
												     : interrupted);
	for (size_t n = 0; n < run.node_count; n++) {
		const struct muster_node *node = &run.nodes[n];
		fprintf(out, "%s%s", n ? "; " : "", node->name);
		for (size_t i = 0; i < node->samples.count; i++)
			fprintf(out, " %g GPUs", node->samples.items[i].value.number);
		for (size_t i = 0; i < node->rank_count; i++) {
			const struct muster_rank *rank = &node->ranks[i];
			fprintf(out, "%s %d", i ? "," : ":", rank->rank);
			outcomes_print(out, rank);
			if (rank->unfinished)
				why_print(out, rank->unfinished);
			if (rank->missing)
				fprintf(out, " missing");
		}
	}
	fclose(out);
	ck_assert_uint_eq(run.job.samples.count, 0);
	return text;
}

/* Four ranks on two nodes: rank 0 ended, 1 stopped after a step, 2 ended early, 3 left nothing. */
static void four_ranks(void)
{
	put_first("n1.jsonl", "a0", 0, "n1", ",'job':'77'");
	put_words("n1 record a0 2 0 n1 system ok 8\nn1 end a0 9\nn1 first a1 1 n1\nn1 record a1 2 1 n1 system ok 0\n"
		  "n1 step a1 3.2 one\nn1 step a1 4.2 two\nn1 line {'by':'a1','t':6,'x':1}\n"
		  "n2 first b2 2 n2\nn2 record b2 2 2 n2 system ok 4\nn2 end b2 5 rank 2 was told to end");
}

TEST(a_run_is_made_of_what_was_left)
{
	four_ranks();
	read_all();
	muster_spool_set_make(&set, &run);
	ck_assert_str_eq(run.job.id, "77");
	ck_assert_str_eq(run.job.started, "2026-11-21T10:00:00Z");
	ck_assert_str_eq(run.job.profile, "quick");
	ck_assert_str_eq(run.job.version, "0.1.0");
	ck_assert_int_eq(run.job.ranks, 4);
	ck_assert_int_eq(run.job.repeats, 1);
	ck_assert_double_eq(run.job.elapsed_s, 9);
	ck_assert(run.job.assembled);
	ck_assert(run.job.simulated);
	const struct muster_rank *rank = find_rank(&run, 0, NULL);
	ck_assert_str_eq(rank->gpu, "0001:00:00.0");
	ck_assert_str_eq(rank->gpu_uuid, "GPU-1");
	ck_assert_int_eq(rank->local_rank, 0);
	ck_assert_str_eq(find_rank(&run, 3, NULL)->missing, "there is no result of this rank on disk");
	/* rank 2 ended, and why it ended early stands with the run */
	ck_assert_str_eq(run_text_of(), "rank 2 was told to end | n1 8 GPUs: 0 system=ok, 1 system=ok: the rank did "
					"not finish; its last message, 4 s "
					"after its start: two; n2 4 GPUs: 2 system=ok; ?: 3 missing");
	for (size_t n = 0; n < run.node_count; n++)
		ck_assert_int_eq(run.nodes[n].simulated, strcmp(run.nodes[n].name, "?") != 0);
}

/* Rank 1 dies on n2, 10 s after its start. */
#define ENDED_AS_A_WHOLE(last)                                                                                         \
	"n1 first a0 0 n1 of=2\nn1 record a0 2 0 n1 system ok 8\n" last                                                \
	"\nn2 first b1 1 n2 of=2\nn2 record b1 10 1 n2 gpu_copy crashed 8"

static const struct {
	const char *lines, *run;
} runs[] = {
	/* a rank that measured nothing is unfinished though it ended */
	{ "n1 first a0 0 n1 of=1\nn1 end a0 2", "n1: 0 until 2 s" },
	/* a run without any end was ended from outside */
	{ "n1 first a0 0 n1 of=1\nn1 record a0 2 0 n1 system ok 8", "from outside | n1 8 GPUs: 0 system=ok until 2 s" },
	/* a worker's death in the last second of a run that was ended as a whole is a part of that */
	{ ENDED_AS_A_WHOLE("n1 line {'by':'a0','t':10.5,'x':''}"),
		"from outside | n1 8 GPUs: 0 system=ok until 10 s; n2 8 GPUs: 1 gpu_copy=error(interrupted) until 10 "
		"s" },
	{ ENDED_AS_A_WHOLE("n1 line {'by':'a0','t':11,'x':''}"),
		"from outside | n1 8 GPUs: 0 system=ok until 11 s; n2 8 GPUs: 1 gpu_copy=error(interrupted) until 10 "
		"s" },
	{ ENDED_AS_A_WHOLE("n1 line {'by':'a0','t':11.1,'x':''}"),
		"from outside | n1 8 GPUs: 0 system=ok until 11 s; n2 8 GPUs: 1 gpu_copy=crashed until 10 s" },
	{ ENDED_AS_A_WHOLE("n1 end a0 10.5"), "n1 8 GPUs: 0 system=ok; n2 8 GPUs: 1 gpu_copy=crashed until 10 s" },
	/* only the crash at the end is excused */
	{ "n1 first a0 0 n1 of=1\nn1 record a0 1 0 n1 system crashed 8\nn1 record a0 5 0 n1 gpu_copy crashed 0\n"
	  "n1 record a0 5 0 n1 ib_link ok 0",
		"from outside | n1 8 GPUs: 0 system=crashed gpu_copy=error(interrupted) ib_link=ok until 5 s" },
	/* a crash is not excused whose supervisor said why it ended, nor one long before the last line of its rank */
	{ "n1 first a0 0 n1 of=2\nn1 record a0 10 0 n1 gpu_copy crashed 0\nn1 end a0 10 the worker died\n"
	  "n1 first a1 1 n1 of=2\nn1 record a1 8 1 n1 gpu_copy crashed 0\nn1 record a1 10 1 n1 system ok 0",
		"the worker died | n1: 0 gpu_copy=crashed, 1 gpu_copy=crashed system=ok until 10 s" },
	/* the last outcome of a probe counts */
	{ "n1 first a0 0 n1 of=1\nn1 record a0 2 0 n1 gpu_copy ok 0\nn1 record a0 3 0 n1 gpu_copy hung 0",
		"from outside | n1: 0 gpu_copy=hung until 3 s" },
	/* what a localisation all-reduce measures is not the node's: rank 0 died before its line of what is kept */
	{ "n1 first a0 0 n1 of=1\nn1 record a0 2 0 n1 system ok 8\n"
	  "n1 line {'by':'a0','t':3,'sample':{'metric':'node.gpu_count','value':7}}\n"
	  "n1 line {'by':'a0','t':4,'sample':{'metric':'nccl.ring_nodes','value':1}}",
		"from outside | n1 8 GPUs: 0 system=ok until 4 s" },
	/* ranks of two nodes in turn, of which one has another name in its record */
	{ "n1 first a0 0 n1\nn1 record a0 1 0 n1 system ok 0\nn1 first a1 1 n2\nn1 record a1 1 1 n2 system ok 0\n"
	  "n1 first a2 2 n1\nn1 record a2 1 2 n1 system ok 0\nn1 first a3 3 n2\nn1 record a3 1 3 n3 system ok 0",
		"from outside | n1: 0 system=ok until 1 s, 2 system=ok until 1 s; n2: 1 system=ok until 1 s; n3: 3 "
		"system=ok until 1 s" },
	/* ranks in turn over three nodes make three nodes */
	{ "n1 first a0 0 n1\nn1 first a1 1 n2\nn1 first a2 2 n3\nn1 first a3 3 n2\nn1 line "
	  "{'by':'a0','rank':0,'ranks':8}\n"
	  "n1 first a4 4 n2 of=8\nn1 first a5 5 n3 of=8\nn1 first a6 6 n1 of=8\nn1 first a7 7 n2 of=8",
		"from outside | n1: 0 until 0 s, 6 until 0 s; n2: 1 until 0 s, 3 until 0 s, 4 until 0 s, 7 until 0 s; "
		"n3: 2 until 0 s, 5 until 0 s" },
	/* the last messages: a rank that ended early says why, and one of which only steps are known says the last one
	 */
	{ "n1 first a0 0 n1 of=1\nn1 step a0 1.6 cuInit\nn1 end a0 9 SIGTERM came",
		"SIGTERM came | n1: 0: SIGTERM came; its last message, 2 s after its start: cuInit" },
	/* ranks 1 and 2 ended early: the reason of the lower one stands with the run */
	{ "n1 first a0 0 n1 of=3\nn1 end a0 1\nn1 first a1 1 n1 of=3\nn1 end a1 1 one\nn1 first a2 2 n1 of=3\nn1 end "
	  "a2 1 two",
		"one | n1: 0 until 1 s, 1: one; its last message, 1 s after its start, came before the first step, 2: "
		"two; its last message, 1 s after its start, came before the first step" },
};

TEST_EACH(a_run_is_told_as_it_ended, runs)
{
	put_words(runs[_i].lines);
	read_all();
	muster_spool_set_make(&set, &run);
	ck_assert_str_eq(run_text_of(), runs[_i].run);
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
	ck_assert_uint_eq(muster_spool_set_add(&set, &run), 2);
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
	muster_spool_set_add(&set, &run);
	ck_assert_uint_eq(run.trial_count, 2);
	ck_assert_str_eq(run.trials[1].nodes[0], "n2");
}

/* The report may tell of a run with more ranks than the spools know of. */
TEST(a_rank_beyond_those_of_the_spools_stays)
{
	put_first("n1.jsonl", "a0", 0, "n1", "");
	read_all();
	struct muster_node *node = muster_run_add_node(&run, "n2");
	muster_node_add_rank(node, 3)->missing = "it never reported";
	muster_node_add_rank(node, 4)->missing = "it never reported";
	muster_node_add_rank(node, 5);
	ck_assert_uint_eq(muster_spool_set_add(&set, &run), 1);
	ck_assert_str_eq(find_rank(&run, 3, NULL)->missing, "it never reported");
	ck_assert_str_eq(find_rank(&run, 4, NULL)->missing, "it never reported");
	ck_assert_ptr_null(find_rank(&run, 5, NULL)->missing);
}

/* Two measurements of a bandwidth and of a link; without repeats those without windows are samples of their own. */
TEST_LOOP(windows_and_repeats_are_one_sample_with_all_their_values, 1, 3)
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
		put("n1.jsonl",
			"{'by':'a0','t':%d,'sample':{'metric':'gpu.pcie_gen_loaded','labels':{'gpu':'0001:00:00.0'},"
			"'value':%d}}\n",
			i, 3 + i);
		put_record("n1.jsonl", "a0", i, 0, "n1", "gpu_copy", "ok", 0);
	}
	read_all();
	muster_spool_set_make(&set, &run);
	ck_assert_int_eq(run.job.repeats, _i);
	const struct muster_samples *samples = &run.nodes[0].ranks[0].samples;
	ck_assert_uint_eq(samples->count, _i == 2 ? 2 : 3);
	ck_assert_uint_eq(samples->items[0].value_count, 2);
	ck_assert_double_eq(samples->items[0].value.number, 22);
	ck_assert_uint_eq(samples->items[1].value_count, _i == 2 ? 2 : 0);
}

TEST(a_long_step_is_cut)
{
	char step[600];
	memset(step, 's', sizeof step - 1);
	step[sizeof step - 1] = '\0';
	put_first("n1.jsonl", "a0", 0, "n1", "");
	put("n1.jsonl", "{'by':'a0','t':1,'step':'%s'}\n", step);
	read_all();
	muster_spool_set_make(&set, &run);
	const char *why = find_rank(&run, 0, NULL)->unfinished;
	ck_assert_uint_eq(strspn(strstr(why, "sssss"), "s"), MUSTER_SPOOL_SHOWN);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

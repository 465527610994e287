/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe.c - values, expectations, runs and lists as people read them */
#include "check_main.h"
#include "unit/expect/loaded.h"

#include "expect/describe.h"
#include "muster/arena.h"
#include "muster/run.h"

static struct muster_arena *arena;

static void setup(void)
{
	fixture_open();
	arena = muster_arena_new();
}

static void teardown(void)
{
	muster_arena_free(arena);
	loaded_done();
}

TEST(a_value_is_shown_with_its_unit)
{
	ck_assert_str_eq(muster_describe_value(muster_number(26.1), arena), "26.1");
	ck_assert_str_eq(muster_describe_value(muster_boolean(false), arena), "false");
	ck_assert_str_eq(muster_describe_value(muster_null(), arena), "no value");
	ck_assert_str_eq(muster_describe_value(muster_string("ACTIVE"), arena), "ACTIVE");
	ck_assert_str_eq(muster_describe_value(muster_string(""), arena), "\"\"");
	ck_assert_str_eq(muster_describe_with_unit(muster_number(21), "GB/s", arena), "21 GB/s");
	ck_assert_str_eq(muster_describe_with_unit(muster_number(21), "", arena), "21");
}

/* ---- what is expected ---- */

#define SPEED "'metric':'gpu.h2d_gbps','source':'s',"
#define CPUS "'metric':'node.cpus','source':'s',"
#define KERNEL "'metric':'node.kernel','source':'s',"
#define NUMA "'metric':'gpu.numa_node','source':'s',"

static const struct {
	const char *check, *expected;
	bool calibrated; /* against an absolute threshold */
} checks[] = {
	{ SPEED "'min':21", "at least 21 GB/s", true },
	{ SPEED "'max':30", "at most 30 GB/s", true },
	{ SPEED "'max':30,'min':21", "from 21 to 30 GB/s", true },
	{ SPEED "'min':21,'warn_below':24", "at least 21 GB/s (warning below 24)", true },
	{ SPEED "'max':30,'warn_above':28,'warn_below':24", "at most 30 GB/s (warning below 24 and above 28)", true },
	{ SPEED "'min':21,'warn_above':28", "at least 21 GB/s (warning above 28)", true },
	{ SPEED "'warn_below':24", "warning below 24 GB/s", true },
	{ SPEED "'warn_above':28", "warning above 28 GB/s", true },
	{ SPEED "'warn_above':28,'warn_below':24", "warning below 24 and above 28 GB/s", true },
	{ SPEED "'share_of':'gpu.pcie_limit_gbps','min':0.6", "at least 60 % of gpu.pcie_limit_gbps", true },
	{ SPEED "'share_of':'gpu.pcie_limit_gbps','min':0.55,'max':1.1", "from 55 to 110 % of gpu.pcie_limit_gbps",
		true },
	{ SPEED "'share_of':'gpu.pcie_limit_gbps','min':0.6,'warn_below':0.7",
		"at least 60 % of gpu.pcie_limit_gbps (warning below 70 %)", true },
	{ SPEED "'share_of':'gpu.pcie_limit_gbps','warn_below':0.7", "warning below 70 % of gpu.pcie_limit_gbps",
		true },
	{ SPEED "'slower_than_peers':{'fail':0.1,'warn':0.05}",
		"at most 10 % slower than the median of the other ranks with the same GPU model (warning above 5 %)",
		false },
	{ SPEED "'outlier':{'z':3.5,'share':0.08}",
		"no outlier: at most 8 % below the median of the other GPUs of the same model and machine type, or a "
		"modified z-score of at least -3.5 (of 7 others or more)",
		false },
	{ SPEED "'baseline':{'median':26.1,'mad':0.12,'n':480},'min_of_baseline':0.93,'max_mad':5.2",
		"at least 24.27 GB/s (7 % less than the median of 480 earlier values, 26.1)", true },
	{ CPUS "'min':4", "at least 4", true },
	{ CPUS "'min':4,'max':8", "from 4 to 8", true },
	{ CPUS "'warn_below':4", "warning below 4", true },
	{ SPEED "'equals':21", "21 GB/s", true },
	{ SPEED "'one_of':[21]", "21 GB/s", true },
	{ SPEED "'one_of':[21,22]", "one of 21 GB/s, 22 GB/s", true },
	{ CPUS "'one_of':[1,2,3,4,5,6,7,8,9,10,11,12]", "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", true },
	{ CPUS "'one_of':[1,2,3,4,5,6,7,8,9,10,11,12,13]", "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 1 more",
		true },
	{ KERNEL "'one_of':['5*'],'in_words':'a five'", "a five", true },
	{ KERNEL "'matches':'^5'", "text that matches ^5", true },
	{ KERNEL "'matches':'^5','in_words':'a five'", "a five", true },
	{ KERNEL "'min_version':'5.15'", "5.15 or later", true },
	{ KERNEL "'min_version':'5.15','equals':'6'", "6, 5.15 or later", true },
	{ NUMA "'equals_by':{'label':'gpu','values':{'a':1}}", "as listed for each gpu", true },
	{ KERNEL "'same_across':'nodes'", "the same on all nodes", true },
	{ SPEED "'same_across':'ranks'", "the same on all ranks", true },
	{ "'metric':'port.firmware','source':'s','same_across':'nodes','within':'link_layer'",
		"the same on all nodes within each link_layer", true },
	{ SPEED "'present':true", "present", true },
	{ SPEED "'present':false", "not present", true },
	{ SPEED "'present':true,'min':2", "at least 2 GB/s", true },
	{ SPEED "'observe':true", "no threshold", false },
	{ SPEED "'min_of_median':0.85", "at least 85 % of the median of this run", false },
	{ SPEED "'max_of_median':1.2", "at most 120 % of the median of this run", false },
	{ SPEED "'max_of_median':1.2,'min_of_median':0.9", "from 90 to 120 % of the median of this run", false },
	{ SPEED "'min':2,'min_of_median':0.9", "at least 2 GB/s, at least 90 % of the median of this run", true },
};

TEST_EACH(a_check_says_what_is_expected, checks)
{
	load_check(checks[_i].check);
	ck_assert_str_eq(muster_describe_expected(&expect.checks[0], NULL, arena), checks[_i].expected);
	ck_assert_int_eq(muster_check_calibrated(&expect.checks[0]), checks[_i].calibrated);
}

static const struct {
	const char *check;
	struct muster_others others;
	const char *expected;
} medians[] = {
	{ SPEED "'min_of_median':0.5", { .median = 26 }, "at least 13 GB/s (50 % of the median of this run, 26 GB/s)" },
	{ SPEED "'max_of_median':2", { .median = 26 }, "at most 52 GB/s (200 % of the median of this run, 26 GB/s)" },
	{ SPEED "'min_of_median':0.5,'max_of_median':2", { .median = 26 },
		"from 13 to 52 GB/s (50 to 200 % of the median of this run, 26 GB/s)" },
	{ CPUS "'min_of_median':0.5", { .median = 8 }, "at least 4 (50 % of the median of this run, 8)" },
	{ CPUS "'min_of_median':0.5", { .why_none = "no value" },
		"at least 50 % of the median of this run (not evaluated: no value)" },
};

TEST_EACH(a_known_median_gives_the_bound, medians)
{
	const struct muster_check *check = load_check(medians[_i].check);
	ck_assert_str_eq(muster_describe_expected(check, &medians[_i].others, arena), medians[_i].expected);
}

/* ---- when ---- */

/* why: for a run of 2 nodes, 3 ranks and 4 NVLink domains, profile standard; NULL: the check is for it. */
static const struct {
	const char *when, *runs, *why;
} whens[] = {
	{ "", "", NULL },
	{ "'nodes':2", "2 nodes", NULL },
	{ "'nodes':1", "1 node", "only for runs of 1 node (this run has 2)" },
	{ "'nodes':3", "3 nodes", "only for runs of 3 nodes (this run has 2)" },
	{ "'nodes':{'min':1}", "1 node or more", NULL },
	{ "'nodes':{'min':2}", "2 nodes or more", NULL },
	{ "'nodes':{'min':3}", "3 nodes or more", "only for runs of 3 nodes or more (this run has 2)" },
	{ "'nodes':{'max':2}", "at most 2 nodes", NULL },
	{ "'nodes':{'max':1}", "at most 1 node", "only for runs of at most 1 node (this run has 2)" },
	{ "'nodes':{'min':1,'max':2}", "1 to 2 nodes", NULL },
	{ "'nodes':{'min':2,'max':2}", "2 nodes", NULL },
	{ "'ranks':{'min':4,'max':5}", "4 to 5 ranks", "only for runs of 4 to 5 ranks (this run has 3)" },
	{ "'ranks':3", "3 ranks", NULL },
	{ "'domains':4", "4 NVLink domains", NULL },
	{ "'domains':2", "2 NVLink domains", "only for runs of 2 NVLink domains (this run has 4)" },
	{ "'profile':'standard'", "profile standard", NULL },
	{ "'profile':'full'", "profile full", "only for profile full (this run has standard)" },
	{ "'profile':['full','quick']", "profile quick or full",
		"only for profile quick or full (this run has standard)" },
	{ "'profile':['full','standard']", "profile standard or full", NULL },
	{ "'measures':'storage'", "with storage", NULL },
	{ "'measures':'checkpoint'", "with checkpoint", "only for runs that measure checkpoint" },
	{ "'nodes':2,'profile':'quick','ranks':{'min':2}", "2 nodes, 2 ranks or more, profile quick",
		"only for profile quick (this run has standard)" },
};

TEST_EACH(a_check_says_which_runs_it_is_for, whens)
{
	struct muster_run run;
	char text[512];
	fixture_run(&run);
	fixture_node(&run, "a", 2);
	fixture_node(&run, "b", 1);
	run.job.measures = 1 << MUSTER_MEASURE_STORAGE | 1 << MUSTER_MEASURE_BROADCAST;
	snprintf(text, sizeof text, CPUS "'min':1,'when':{%s}", whens[_i].when);
	load_check(text);
	ck_assert_str_eq(muster_describe_runs(&expect.checks[0], run.arena), whens[_i].runs);
	ck_assert_pstr_eq(muster_describe_when(&expect.checks[0], &run, 4, run.arena), whens[_i].why);
	run.job.profile = NULL;
	if (expect.checks[0].when_profiles)
		ck_assert_ptr_nonnull(
			strstr(muster_describe_when(&expect.checks[0], &run, 4, run.arena), "(this run has none)"));
	muster_run_done(&run);
}

/* ---- lists ---- */

static const struct {
	int ranks[16];
	size_t count;
	const char *text;
} ranks[] = {
	{ { 0 }, 0, "" },
	{ { 7 }, 1, "7" },
	{ { 0, 1 }, 2, "0-1" },
	{ { 0, 1, 2, 5, 7, 8 }, 6, "0-2,5,7-8" },
	{ { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 }, 12, "0,2,4,6,8,10,12,14,16,18,20,22" },
	{ { 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26 }, 14, "0,2,4,6,8,10,12,14,16,18,20,22 and 2 more" },
};

TEST_EACH(ranks_in_a_row_are_a_range, ranks)
{
	ck_assert_str_eq(muster_describe_ranks(ranks[_i].ranks, ranks[_i].count, arena), ranks[_i].text);
}

static const struct {
	const char *names[15];
	const char *text;
} nodes[] = {
	{ { NULL }, "" },
	{ { "a" }, "a" },
	{ { "n1", "n2" }, "n1, n2" },
	{ { "n1", "n2", "n3" }, "n[1-3]" },
	{ { "n1", "n2", "n3", "n5", "n6" }, "n[1-3], n5, n6" },
	{ { "n8", "n9", "n10" }, "n[8-10]" },
	{ { "n08", "n09", "n10" }, "n[08-10]" },
	{ { "n08", "n9", "n10" }, "n08, n9, n10" },
	{ { "n8", "n09", "n010" }, "n8, n09, n010" },
	{ { "n0", "n1", "n2" }, "n[0-2]" },
	{ { "n1", "m2", "n3" }, "n1, m2, n3" },
	{ { "n1", "nn2", "n3" }, "n1, nn2, n3" },
	{ { "1", "2", "3" }, "[1-3]" },
	{ { "n123456788", "n123456789", "n123456790" }, "n[123456788-123456790]" },
	{ { "n1234567888", "n1234567889", "n1234567890" }, "n1234567888, n1234567889, n1234567890" },
	{ { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l" }, "a, b, c, d, e, f, g, h, i, j, k, l" },
	{ { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n" },
		"a, b, c, d, e, f, g, h, i, j, k, l and 2 more" },
};

TEST_EACH(nodes_in_a_row_are_a_range_from_three_on, nodes)
{
	size_t count = 0;
	while (nodes[_i].names[count])
		count++;
	ck_assert_str_eq(muster_describe_nodes(nodes[_i].names, count, arena), nodes[_i].text);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_median.c - checks without a figure: values that are only observed, or held against their median */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run_data.h"

/* One GPU on each of some nodes, with this H2D rate; one below 0 stands for a null. */
static struct muster_run *rates(const double *values, size_t count)
{
	struct muster_run *run = fixture_new_run();
	for (size_t i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%zu", i + 1);
		struct muster_node *node = fixture_node(run, muster_arena_string(run->arena, name), 1);
		fixture_sample(run, &node->ranks[0].samples, "gpu.h2d_gbps", "gpu=g",
			values[i] < 0 ? muster_null() : muster_number(values[i]));
		fixture_sample(run, &node->ranks[0].samples, "gpu.numa_node", "gpu=g", muster_number(-4));
	}
	return run;
}

/* Why a bad value is no failure. */
#define AMONG(gpus) "; only a warning among " gpus " GPUs: 6 are needed to fail one"
#define LACK(gpus) "only " gpus " to compare, and 3 are needed"
#define NONE(share, gpus) "at least " share " of the median of this run (not evaluated: " LACK(gpus) ")"

/* Values up to the first 0; below 0 is a null. */
static const struct {
	double values[8];
	const char *check, *expected, *found;
	enum muster_status verdict;
} table[] = {
	/* observed */
	{ { 26, 11 }, "'observe':true", "no threshold", "", MUSTER_PASS },
	{ { 26, -1 }, "'observe':true", "no threshold",
		"inconclusive c n2 rank=1 gpu=g: no threshold | no value: not supported here\n", MUSTER_INCONCLUSIVE },
	{ { 26, -1 }, "'observe':true,'optional':true", "no threshold",
		"skip c n2 rank=1 gpu=g: no threshold | no value: not supported here\n", MUSTER_PASS },
	{ { 26, 7 }, "'observe':true,'inconclusive_on':{'7':'too early'}", "no threshold",
		"inconclusive c n2 rank=1 gpu=g: no threshold | 7: too early\n", MUSTER_INCONCLUSIVE },
	/* one value tells nothing, and two never judge each other */
	{ { 26 }, "'min_of_median':0.85", NONE("85 %", "1 GPU"),
		"skip c n1 rank=0 gpu=g: " NONE("85 %", "1 GPU") " | " LACK("1 GPU") "\n", MUSTER_PASS },
	{ { 20, 1 }, "'min_of_median':0.85", NONE("85 %", "2 GPUs"),
		"skip c: " NONE("85 %", "2 GPUs") " | " LACK("2 GPUs") " (2 GPUs)\n", MUSTER_PASS },
	/* what stands beside a median is judged, and so are values that are none */
	{ { 20, 3 }, "'min':5,'min_of_median':0.5", "at least 5 GB/s, " NONE("50 %", "2 GPUs"),
		"fail c n2 rank=1 gpu=g: at least 5 GB/s, " NONE("50 %", "2 GPUs") " | 3\n", MUSTER_FAIL },
	{ { 26, 26, 26, 2 }, "'min_of_median':0.85,'inconclusive_on':{'2':'x'}",
		"at least 22.1 GB/s (85 % of the median of this run, 26 GB/s)",
		"inconclusive c n4 rank=3 gpu=g: at least 22.1 GB/s (85 % of the median of this run, 26 GB/s) | 2: "
		"x\n",
		MUSTER_INCONCLUSIVE },
	/* three warn, and the limit itself passes */
	{ { 20, 17, 20 }, "'min_of_median':0.85", "at least 17 GB/s (85 % of the median of this run, 20 GB/s)", "",
		MUSTER_PASS },
	{ { 20, 16.9, 20 }, "'min_of_median':0.85", "at least 17 GB/s (85 % of the median of this run, 20 GB/s)",
		"warn c n2 rank=1 gpu=g: at least 17 GB/s (85 % of the median of this run, 20 GB/s)" AMONG(
			"3") " | 16.9\n",
		MUSTER_PASS },
	/* a value that would look like the limit has more digits */
	{ { 20, 16.99999, 20 }, "'min_of_median':0.85", "at least 17 GB/s (85 % of the median of this run, 20 GB/s)",
		"warn c n2 rank=1 gpu=g: at least 17 GB/s (85 % of the median of this run, 20 GB/s)" AMONG(
			"3") " | 16.99999\n",
		MUSTER_PASS },
	{ { 20, 16.9, 20 }, "'min_of_median':0.85,'severity':'warn'",
		"at least 17 GB/s (85 % of the median of this run, 20 GB/s)",
		"warn c n2 rank=1 gpu=g: at least 17 GB/s (85 % of the median of this run, 20 GB/s) | 16.9\n",
		MUSTER_PASS },
	{ { 0.1, 0.1, 0.1 }, "'min_of_median':1,'max_of_median':1",
		"from 0.1 to 0.1 GB/s (100 to 100 % of the median of this run, 0.1 GB/s)", "", MUSTER_PASS },
	{ { 26.3, 26.3, 26.3, 26.3 }, "'min_of_median':1",
		"at least 26.3 GB/s (100 % of the median of this run, 26.3 GB/s)", "", MUSTER_PASS },
	/* five warn, six fail */
	{ { 20, 16.9, 20, 20, 20 }, "'min_of_median':0.85",
		"at least 17 GB/s (85 % of the median of this run, 20 GB/s)",
		"warn c n2 rank=1 gpu=g: at least 17 GB/s (85 % of the median of this run, 20 GB/s)" AMONG(
			"5") " | 16.9\n",
		MUSTER_PASS },
	{ { 20, 16.9, 20, 20, 20, 20 }, "'min_of_median':0.85",
		"at least 17 GB/s (85 % of the median of this run, 20 GB/s)",
		"fail c n2 rank=1 gpu=g: at least 17 GB/s (85 % of the median of this run, 20 GB/s) | 16.9\n",
		MUSTER_FAIL },
	{ { 20, 16.9, 20, 20, 20, 20, 20, 20 }, "'min_of_median':0.85",
		"at least 17 GB/s (85 % of the median of this run, 20 GB/s)",
		"fail c n2 rank=1 gpu=g: at least 17 GB/s (85 % of the median of this run, 20 GB/s) | 16.9\n",
		MUSTER_FAIL },
	/* of an even number, the median lies between the two in the middle */
	{ { 40, 10, 20, 30 }, "'min_of_median':0.5", "at least 12.5 GB/s (50 % of the median of this run, 25 GB/s)",
		"warn c n2 rank=1 gpu=g: at least 12.5 GB/s (50 % of the median of this run, 25 GB/s)" AMONG(
			"4") " | 10\n",
		MUSTER_PASS },
	{ { 10, 10, 15.1 }, "'max_of_median':1.5", "at most 15 GB/s (150 % of the median of this run, 10 GB/s)",
		"warn c n3 rank=2 gpu=g: at most 15 GB/s (150 % of the median of this run, 10 GB/s)" AMONG(
			"3") " | 15.1\n",
		MUSTER_PASS },
	{ { 20, 10, 10, 10, 10, 1 }, "'min_of_median':0.5,'max_of_median':1.5",
		"from 5 to 15 GB/s (50 to 150 % of the median of this run, 10 GB/s)",
		"fail c n1 rank=0 gpu=g: from 5 to 15 GB/s (50 to 150 % of the median of this run, 10 GB/s) | 20\n"
		"fail c n6 rank=5 gpu=g: from 5 to 15 GB/s (50 to 150 % of the median of this run, 10 GB/s) | 1\n",
		MUSTER_FAIL },
	/* nulls do not move it */
	{ { 20, -1, 20, 20, -1 }, "'min_of_median':0.9,'optional':true",
		"at least 18 GB/s (90 % of the median of this run, 20 GB/s)",
		"skip c: at least 18 GB/s (90 % of the median of this run, 20 GB/s) | no value: not supported here (2 "
		"GPUs)\n",
		MUSTER_PASS },
	/* beside a floor */
	{ { 20, 20, 20, 19 }, "'min':19.5,'min_of_median':0.5",
		"at least 19.5 GB/s, at least 10 GB/s (50 % of the median of this run, 20 GB/s)",
		"fail c n4 rank=3 gpu=g: at least 19.5 GB/s, at least 10 GB/s (50 % of the median of this run, 20 "
		"GB/s) | 19\n",
		MUSTER_FAIL },
	/* a failure beside a comparison of few stays one */
	{ { 20, 20, 20, 3 }, "'min':5,'min_of_median':0.5",
		"at least 5 GB/s, at least 10 GB/s (50 % of the median of this run, 20 GB/s)",
		"fail c n4 rank=3 gpu=g: at least 5 GB/s, at least 10 GB/s (50 % of the median of this run, 20 GB/s) | "
		"3\n",
		MUSTER_FAIL },
	/* what another check condemned does not count: 5 of 7 are left */
	{ { 3, 3, 20, 20, 20, 20, 10 },
		"'min_of_median':0.9,'after':'floor'},'floor':{'metric':'gpu.h2d_gbps','min':5,'source':'s'",
		"at least 18 GB/s (90 % of the median of this run, 20 GB/s)",
		"fail floor n1 rank=0 gpu=g: at least 5 GB/s | 3\n"
		"fail floor n2 rank=1 gpu=g: at least 5 GB/s | 3\n"
		"warn c n7 rank=6 gpu=g: at least 18 GB/s (90 % of the median of this run, 20 GB/s)" AMONG(
			"5") " | 10\n",
		MUSTER_FAIL },
};

TEST_EACH(a_value_is_held_against_its_like, table)
{
	char checks[512];
	size_t count = 0;
	while (count < 8 && table[_i].values[count] != 0)
		count++;
	struct muster_run *run = rates(table[_i].values, count);
	snprintf(checks, sizeof checks, "'c':{'metric':'gpu.h2d_gbps','source':'s',%s}", table[_i].check);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(fixture_findings(report), table[_i].found);
	ck_assert_str_eq(report->tallies[0].expected, table[_i].expected);
	ck_assert_int_eq(report->verdict, table[_i].verdict);
	bool calibrated = strstr(table[_i].check, "'min':") != NULL && !strstr(table[_i].check, "floor");
	ck_assert_int_eq(report->tallies[0].uncalibrated, !calibrated);
	for (size_t i = 0; i < report->finding_count; i++)
		ck_assert_int_eq(
			report->findings[i].uncalibrated, !calibrated && strcmp(report->findings[i].check, "c") == 0);
}

TEST(a_median_below_zero_condemns_nothing)
{
	static const double values[] = { 1, 1, 1 };
	struct muster_run *run = rates(values, 3);
	struct muster_report *report = fixture_report(
		run, "'c':{'metric':'gpu.numa_node','min_of_median':0.5,'max_of_median':2,'source':'s'}", false);
	ck_assert_str_eq(report->tallies[0].expected,
		"from 50 to 200 % of the median of this run (not evaluated: the median is below 0)");
	ck_assert_uint_eq(report->count[MUSTER_SKIP], 1);
	ck_assert_uint_eq(report->finding_count, 1);
}

/* Two message sizes, each with a median of its own; ports and ranks of all nodes count, missing ranks do not. */
TEST(a_median_is_that_of_the_samples_that_the_check_chooses)
{
	struct muster_run *run = fixture_new_run();
	for (int n = 0; n < 2; n++) {
		struct muster_node *node = fixture_node(run, n ? "n2" : "n1", 1);

		for (int i = 0; i < 2; i++) {
			fixture_sample(run, &node->samples, "port.rate_gbps",
				i ? "port=p1/1 link_layer=InfiniBand" : "port=p0/1 link_layer=InfiniBand",
				muster_number(n && i ? 100 : 400));
			fixture_sample(run, &node->samples, "port.rate_gbps",
				i ? "port=e1/1 link_layer=Ethernet" : "port=e0/1 link_layer=Ethernet",
				muster_number(40));
		}
	}
	struct muster_node *gone = fixture_node(run, "n3", 1);
	gone->ranks[0].missing = "no message";
	fixture_sample(run, &gone->samples, "port.rate_gbps", "port=p0/1 link_layer=InfiniBand", muster_number(1));
	struct muster_report *report = fixture_report(run,
		"'ib':{'metric':'port.rate_gbps','where':{'link_layer':'InfiniBand'},'min_of_median':1,'source':'s'},"
		"'eth':{'metric':'port.rate_gbps','where':{'link_layer':'Ethernet'},'min_of_median':1,'source':'s'}",
		false);
	ck_assert_str_eq(report->tallies[0].expected, "at least 400 Gb/s (100 % of the median of this run, 400 Gb/s)");
	ck_assert_str_eq(report->tallies[1].expected, "at least 40 Gb/s (100 % of the median of this run, 40 Gb/s)");
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_FAIL], 1);
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], 3);
	ck_assert_uint_eq(report->tallies[1].count[MUSTER_PASS], 4);
}

TEST(what_is_observed_may_be_of_any_type_and_keeps_its_value)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "n1", 1);
	fixture_sample(run, &node->samples, "node.kernel", NULL, muster_string("6.1"));
	fixture_sample(run, &node->ranks[0].samples, "gpu.ecc", "gpu=g", muster_boolean(false));
	struct muster_report *report = fixture_report(run,
		"'os':{'metric':'node.kernel','observe':true,'source':'s'},"
		"'ecc':{'metric':'gpu.ecc','observe':true,'source':'s'},"
		"'none':{'metric':'node.os','observe':true,'source':'s'}",
		false);
	ck_assert_str_eq(report->tallies[0].value, "6.1");
	ck_assert_str_eq(report->tallies[1].value, "false");
	ck_assert_str_eq(fixture_findings(report), "inconclusive none n1: no threshold | not measured\n");
}

TEST_MAIN(.teardown = fixture_done)

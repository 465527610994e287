/* SPDX-License-Identifier: Apache-2.0 */
/* test_baseline.c - values against what earlier runs measured, and the place of such checks among the others */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run_data.h"

static struct muster_run *make(const char *metric, double value)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "n1", 1);
	fixture_sample(run, &node->ranks[0].samples, metric, strncmp(metric, "gpu.", 4) == 0 ? "gpu=g" : "bytes=8",
		muster_number(value));
	return run;
}

#define BOTH "'baseline':{'median':20,'mad':0.5,'n':480},'min_of_baseline':0.75,'warn_of_baseline':0.875,'max_mad':4"
#define WIDE "'baseline':{'median':20,'mad':2,'n':480},'min_of_baseline':0.75,'warn_of_baseline':0.875,'max_mad':4"
#define ALIKE "'baseline':{'median':20,'mad':0,'n':20},'min_of_baseline':0.75,'max_mad':4"
#define WARNS "'baseline':{'median':20,'mad':0.5,'n':480},'warn_of_baseline':0.875"
#define MADS "'baseline':{'median':20,'mad':0.5,'n':480},'max_mad':4"

/* A value, and the finding about it. The share allows 5 (a warning 2.5), max_mad 4 times 0.5. */
static const struct {
	const char *metric, *check;
	double value;
	const char *found;
} table[] = {
	{ "gpu.h2d_gbps", BOTH, 17.5, "" },
	{ "gpu.h2d_gbps", BOTH, 40, "" },
	{ "gpu.h2d_gbps", BOTH, 17.25,
		"warn c n1 rank=0 gpu=g: at least 15 GB/s (25 % less than the median of 480 earlier values, 20; "
		"warning below 17.5) | 13.8 % below 20, the median of 480 earlier values, which is 5.5 times their MAD "
		"(0.5): 17.25\n" },
	{ "gpu.h2d_gbps", BOTH, 14.5,
		"fail c n1 rank=0 gpu=g: at least 15 GB/s (25 % less than the median of 480 earlier values, 20; "
		"warning below 17.5) | 27.5 % below 20, the median of 480 earlier values, which is 11 times their MAD "
		"(0.5): 14.5\n" },
	/* values that scatter: 4 times 2 is more than both shares */
	{ "gpu.h2d_gbps", WIDE, 12, "" },
	{ "gpu.h2d_gbps", WIDE, 11,
		"fail c n1 rank=0 gpu=g: at least 12 GB/s (40 % less than the median of 480 earlier values, 20; "
		"warning below 12) | 45 % below 20, the median of 480 earlier values, which is 4.5 times their MAD "
		"(2): 11\n" },
	/* values that were all equal make no noise fail */
	{ "gpu.h2d_gbps", ALIKE, 15.5, "" },
	{ "gpu.h2d_gbps", ALIKE, 14,
		"fail c n1 rank=0 gpu=g: at least 15 GB/s (25 % less than the median of 20 earlier values, 20) | 30 % "
		"below 20, the median of 20 earlier values (MAD 0): 14\n" },
	/* one operator alone */
	{ "gpu.h2d_gbps", WARNS, 14,
		"warn c n1 rank=0 gpu=g: warning below 17.5 GB/s (12.5 % less than the median of 480 earlier values, "
		"20) | 30 % below 20, the median of 480 earlier values, which is 12 times their MAD (0.5): 14\n" },
	{ "gpu.h2d_gbps", MADS, 18, "" },
	{ "gpu.h2d_gbps", MADS, 17.5,
		"fail c n1 rank=0 gpu=g: at least 18 GB/s (10 % less than the median of 480 earlier values, 20) | 12.5 "
		"% below 20, the median of 480 earlier values, which is 5 times their MAD (0.5): 17.5\n" },
	/* a longer time is the worse one, and so are more errors */
	{ "rank.allreduce_us", BOTH, 1, "" },
	{ "rank.allreduce_us", BOTH, 22.5, "" },
	{ "rank.allreduce_us", BOTH, 23,
		"warn c n1 rank=0: at most 25 us (25 % more than the median of 480 earlier values, 20; warning above "
		"22.5) | 15 % above 20, the median of 480 earlier values, which is 6 times their MAD (0.5): 23\n" },
	{ "rank.allreduce_us", BOTH, 25.5,
		"fail c n1 rank=0: at most 25 us (25 % more than the median of 480 earlier values, 20; warning above "
		"22.5) | 27.5 % above 20, the median of 480 earlier values, which is 11 times their MAD (0.5): "
		"25.5\n" },
	{ "gpu.power_brake_ms", MADS, 10, "" },
};

TEST_EACH(a_value_is_worse_by_more_than_the_share_and_the_mad, table)
{
	char checks[512];
	struct muster_run *run = make(table[_i].metric, table[_i].value);
	snprintf(checks, sizeof checks, "'c':{'metric':'%s','source':'s',%s}", table[_i].metric, table[_i].check);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(fixture_findings(report), table[_i].found);
	ck_assert(!report->tallies[0].uncalibrated);
}

static const struct {
	const char *check, *problem;
} refused[] = {
	{ "'metric':'gpu.h2d_gbps','min_of_baseline':0.95", "min_of_baseline: needs a baseline beside it: " },
	{ "'metric':'gpu.h2d_gbps','min':1,'baseline':{'median':20,'mad':0,'n':20}",
		"baseline: says something only beside min_of_baseline, warn_of_baseline or max_mad" },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':0,'mad':0,'n':20},'min_of_baseline':0.95",
		"baseline.median: a number above 0 is needed, found 0" },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':-1,'n':20},'min_of_baseline':0.95",
		"baseline.mad: a number from 0 is needed, found -1" },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':1,'n':0},'min_of_baseline':0.95", "baseline.n: " },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':1},'min_of_baseline':0.95",
		"the key \"n\" is missing" },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':1,'n':20},'min_of_baseline':1.05",
		"min_of_baseline: a number above 0 and below 1 is needed, found 1.05" },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':1,'n':20},'max_mad':0",
		"max_mad: a number above 0 is needed, found 0" },
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':0,'n':20},'max_mad':5",
		"max_mad: needs min_of_baseline beside it: the MAD is 0, so every difference would fail" },
	{ "'metric':'gpu.h2d_gbps','share_of':'gpu.pcie_limit_gbps','min':0.5,'baseline':{'median':20,'mad':1,'n':20},'"
	  "min_of_baseline':0.95",
		"share_of: does not fit beside min_of_baseline: the baseline is of values, not of shares" },
	{ "'metric':'gpu.sm_clock_mhz','baseline':{'median':20,'mad':1,'n':20},'min_of_baseline':0.95",
		"min_of_baseline: does not fit: neither a higher nor a lower gpu.sm_clock_mhz is the worse one" },
	{ "'metric':'gpu.name','baseline':{'median':20,'mad':1,'n':20},'min_of_baseline':0.95",
		"does not fit: gpu.name is a string" },
	/* lint alone */
	{ "'metric':'gpu.h2d_gbps','baseline':{'median':20,'mad':1,'n':20},'min_of_baseline':0.95,'warn_of_baseline':0."
	  "9",
		"warn_of_baseline: 0.9 has no effect: min_of_baseline is 0.95" },
};

TEST_EACH(what_makes_no_sense_is_refused, refused)
{
	char problem[512];
	fixture_lint(refused[_i].check, problem);
	ck_assert_msg(strstr(problem, refused[_i].problem), "%s", problem);
}

/* ---- its place ---- */

#define COPIES "'copy':{'metric':'gpu.h2d_gbps','source':'s','min':10,'warn_below':12}"
#define TOGETHER "'together':{'metric':'gpu.h2d_together_gbps','source':'s','min':10,'after':'copy'}"
#define LEARNED(when)                                                                                                  \
	"'learned':{'metric':'gpu.h2d_gbps','source':'s','baseline':{'median':20,'mad':0.5,'n':480},"                  \
	"'min_of_baseline':0.75" when "}"

static const struct {
	const char *checks;
	double alone, together;
	const char *found; /* the checks that have findings */
} places[] = {
	{ COPIES "," TOGETHER "," LEARNED(""), 20, 20, "" },
	/* the check of the machine type comes first */
	{ COPIES "," TOGETHER "," LEARNED(""), 8, 8, "copy " },
	/* what follows from a slow copy has no finding of its own, whichever of the two saw the slow copy */
	{ COPIES "," TOGETHER "," LEARNED(""), 14, 8, "learned " },
	{ LEARNED("") "," TOGETHER "," COPIES, 14, 8, "learned " },
	{ COPIES "," TOGETHER "," LEARNED(""), 20, 8, "together " },
	/* a baseline of another profile, or of another size, changes nothing */
	{ COPIES "," TOGETHER "," LEARNED(",'when':{'profile':'quick'}"), 14, 8, "together " },
	{ COPIES "," TOGETHER "," LEARNED(",'when':{'profile':'quick'}"), 8, 8, "copy " },
	/* the user's own place counts */
	{ COPIES "," TOGETHER "," LEARNED(",'after':'together'"), 14, 20, "learned " },
	{ COPIES "," TOGETHER "," LEARNED(",'after':'together'"), 14, 8, "together " },
	/* no other check of the metric */
	{ LEARNED(""), 14, 8, "learned " },
};

TEST_EACH(one_cause_has_one_finding, places)
{
	char found[256] = "";
	struct muster_run *run = make("gpu.h2d_gbps", places[_i].alone);
	fixture_sample(run, &run->nodes[0].ranks[0].samples, "gpu.h2d_together_gbps", "gpu=g",
		muster_number(places[_i].together));
	struct muster_report *report = fixture_report(run, places[_i].checks, false);
	for (size_t i = 0; i < report->finding_count; i++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s ", report->findings[i].check);
	ck_assert_str_eq(found, places[_i].found);
}

TEST_MAIN(.teardown = fixture_done)

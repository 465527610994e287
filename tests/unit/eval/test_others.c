/* SPDX-License-Identifier: Apache-2.0 */
/* test_others.c - slower_than_peers: each rank against the other ranks with the same GPU model */
#include "check_main.h"
#include "eval_fixture.h"

#include "muster/run_data.h"
#include "util/array.h"

#include <math.h>

/* A rank: its value (below 0: a null) and its model, a letter; upper case: a MIG instance with this profile. */
struct rank {
	double value;
	char model;
};

static struct muster_run *make(const struct rank *ranks, size_t count, const char *metric)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "n1", (int)count);
	for (size_t i = 0; i < count; i++) {
		struct muster_rank *rank = &node->ranks[i];
		bool slice = ranks[i].model >= 'A' && ranks[i].model <= 'Z';
		char model[16], profile[16];
		snprintf(model, sizeof model, "Model %c", slice ? 'm' : ranks[i].model);
		snprintf(profile, sizeof profile, "%c", ranks[i].model);
		rank->gpu_uuid = slice ? "MIG-1" : "GPU-1";
		if (ranks[i].model != '?')
			fixture_sample(run, &rank->samples, "gpu.name", "gpu=g", muster_string(model));
		if (slice)
			fixture_sample(run, &rank->samples, "gpu.mig_profile", "gpu=g", muster_string(profile));
		fixture_sample(run, &rank->samples, metric, strncmp(metric, "gpu.", 4) == 0 ? "gpu=g" : "bytes=8",
			ranks[i].value < 0 ? muster_null() : muster_number(ranks[i].value));
	}
	return run;
}

#define SAME(value)                                                                                                    \
	{ value, 'a' }, { value, 'a' },                                                                                \
	{                                                                                                              \
		value, 'a'                                                                                             \
	}
#define FEWER "at most 10 % slower than the median of the other ranks with the same GPU model | "

/* Ranks up to the first 0. */
static const struct {
	struct rank ranks[9];
	const char *metric, *check, *found;
} table[] = {
	/* equal values: the limit itself passes */
	{ { SAME(10), SAME(10), { 11, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3", "" },
	{ { SAME(10), { 10, 'a' }, { 10, 'a' }, { 11.1, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3",
		"fail c n1 rank=5: at most 11 us (10 % more than 10, the median of the 5 other ranks with Model a) | "
		"11.1\n" },
	{ { SAME(10), SAME(10), { 10, 'a' }, { 11.1, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3",
		"fail c n1 rank=7: at most 11 us (10 % more than 10, the median of the 7 other ranks with Model a) | "
		"11.1\n" },
	{ { SAME(10), { 10.6, 'a' } }, "rank.allreduce_us", "'fail':0.1,'warn':0.05",
		"warn c n1 rank=3: at most 11 us (10 % more than 10, the median of the 3 other ranks with Model a; "
		"warning above 5 %) | 10.6\n" },
	/* a faster one is no finding; a rate is slower when it is lower */
	{ { { 10, 'a' }, { 10, 'a' }, { 5, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3,'warn':0.05", "" },
	{ { { 10, 'a' }, { 10, 'a' }, { 5, 'a' }, { 20, 'a' }, { 10, 'a' }, { 10, 'a' } }, "gpu.h2d_gbps",
		"'fail':0.1,'warn':0.05",
		"fail c n1 rank=2 gpu=g: at least 9 GB/s (10 % less than 10, the median of the 5 other ranks with "
		"Model "
		"a; warning above 5 %) | 5\n" },
	/* half of eight ranks, such as all of one of two nodes: five at most judge one of them */
	{ { SAME(10), { 10, 'a' }, { 20, 'a' }, SAME(20) }, "rank.allreduce_us", "'fail':0.1",
		"warn c n1: at most 11 us (10 % more than 10, the median of the 7 other ranks with Model a); only a "
		"warning among 5 ranks: 6 are needed to fail one | ranks 4-7: 20\n" },
	/* values that scatter: three times their usual distance */
	{ { { 10, 'a' }, { 9, 'a' }, { 11, 'a' }, { 12.9, 'a' }, { 10, 'a' }, { 10, 'a' } }, "rank.allreduce_us",
		"'fail':0.1",
		"fail c n1 rank=3: at most 11 us (10 % more than 10, the median of the 5 other ranks with Model a) | "
		"12.9\n" },
	{ { { 8, 'a' }, { 9, 'a' }, { 11, 'a' }, { 12.9, 'a' }, { 10, 'a' }, { 12, 'a' } }, "rank.allreduce_us",
		"'fail':0.1,'mad':3", "" },
	{ { { 8, 'a' }, { 9, 'a' }, { 11, 'a' }, { 13.1, 'a' }, { 10, 'a' }, { 12, 'a' } }, "rank.allreduce_us",
		"'fail':0.1,'mad':3",
		"fail c n1 rank=3: at most 13 us (30 % more than 10, the median of the 5 other ranks with Model a) | "
		"13.1\n" },
	/* five and three ranks warn, and two never judge each other */
	{ { SAME(10), { 10, 'a' }, { 12, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3",
		"warn c n1 rank=4: at most 11 us (10 % more than 10, the median of the 4 other ranks with Model a); "
		"only a warning among 5 ranks: 6 are needed to fail one | 12\n" },
	{ { { 12, 'a' }, { 10, 'a' }, { 10, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3",
		"warn c n1 rank=0: at most 11 us (10 % more than 10, the median of the 2 other ranks with Model a); "
		"only a warning among 3 ranks: 6 are needed to fail one | 12\n" },
	{ { { 10, 'a' }, { 30, 'a' } }, "rank.allreduce_us", "'fail':0.1,'mad':3",
		"skip c n1: " FEWER "only 2 ranks to compare, and 3 are needed (2 ranks)\n" },
	/* one rank, or one of its model: nothing to compare with */
	{ { { 10, 'a' } }, "rank.allreduce_us", "'fail':0.1",
		"skip c n1 rank=0: " FEWER "no other rank has this GPU model, so there is nothing to compare with\n" },
	{ { SAME(10), { 30, 'b' } }, "rank.allreduce_us", "'fail':0.1", "" },
	{ { SAME(10), { 30, 'b' }, { 30, 'b' }, { 40, 'b' } }, "rank.allreduce_us", "'fail':0.1",
		"warn c n1 rank=5: at most 33 us (10 % more than 30, the median of the 2 other ranks with Model b); "
		"only a warning among 3 ranks: 6 are needed to fail one | 40\n" },
	/* MIG instances by their profile, and GPUs whose name is not known */
	{ { { 10, 'A' }, { 10, 'A' }, { 10, 'A' }, { 70, 'B' }, { 70, 'B' }, { 5, 'm' }, { 80, 'B' } },
		"rank.allreduce_us", "'fail':0.1",
		"warn c n1 rank=6: at most 77 us (10 % more than 70, the median of the 2 other ranks with Model m, MIG "
		"B); only a warning among 3 ranks: 6 are needed to fail one | 80\n" },
	{ { { 10, '?' }, { 10, '?' }, { 12, '?' }, { 5, 'a' } }, "rank.allreduce_us", "'fail':0.1",
		"warn c n1 rank=2: at most 11 us (10 % more than 10, the median of the 2 other ranks with a GPU of "
		"unknown model); only a warning among 3 ranks: 6 are needed to fail one | 12\n" },
	/* nulls count for nothing */
	{ { SAME(10), { -1, 'a' }, { 10, 'a' }, { 12, 'a' } }, "rank.allreduce_us", "'fail':0.1",
		"warn c n1 rank=5: at most 11 us (10 % more than 10, the median of the 4 other ranks with Model a); "
		"only a warning among 5 ranks: 6 are needed to fail one | 12\n" },
};

TEST_EACH(a_slow_rank_is_found_among_its_like, table)
{
	char checks[512];
	size_t count = 0;
	while (count < 9 && table[_i].ranks[count].value != 0)
		count++;
	struct muster_run *run = make(table[_i].ranks, count, table[_i].metric);
	snprintf(checks, sizeof checks, "'c':{'metric':'%s','source':'s','optional':true,'slower_than_peers':{%s}}",
		table[_i].metric, table[_i].check);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(fixture_findings(report), table[_i].found);
	ck_assert(report->tallies[0].uncalibrated);
}

/* The rule, as it is written, on the values of all other ranks. */
static bool is_slow(const double *values, size_t count, size_t own)
{
	double others[64];
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (i != own)
			others[kept++] = values[i];
	double median = muster_median_of(others, kept);
	for (size_t i = 0; i < kept; i++)
		others[i] = fabs(others[i] - median);
	return values[own] - median > fmax(0.1 * median, 3 * muster_median_of(others, kept));
}

TEST(it_is_the_rule_for_any_values)
{
	srand(5);
	for (int round = 0; round < 300; round++) {
		struct rank ranks[40];
		double values[40];
		size_t count = 6 + (size_t)rand() % 34;
		for (size_t i = 0; i < count; i++) {
			values[i] = 100 + rand() % (round % 2 ? 8 : 60);
			values[i] += rand() % 6 == 0 ? rand() % 40 : 0;
			ranks[i] = (struct rank){ values[i], 'a' };
		}
		struct muster_run *run = make(ranks, count, "rank.allreduce_us");
		struct muster_report *report = fixture_report(run,
			"'c':{'metric':'rank.allreduce_us','source':'s','slower_than_peers':{'fail':0.1,'mad':3}}",
			false);
		size_t found = 0;
		for (size_t i = 0; i < count; i++)
			found += is_slow(values, count, i);
		ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], count - found);
		for (size_t i = 0; i < report->finding_count; i++)
			if (report->findings[i].rank >= 0)
				ck_assert(is_slow(values, count, (size_t)report->findings[i].rank));
		fixture_done();
	}
}

static const struct {
	const char *check, *problem;
} refused[] = {
	{ "'metric':'rank.allreduce_us','slower_than_peers':{'warn':0.1}", "the key \"fail\" is missing" },
	{ "'metric':'rank.allreduce_us','slower_than_peers':{'fail':1.5}",
		"slower_than_peers.fail: a number above 0 and below 1 is needed, found 1.5" },
	{ "'metric':'rank.allreduce_us','slower_than_peers':{'fail':0.1,'warn':0}",
		"slower_than_peers.warn: a number above 0 and below 1 is needed, found 0" },
	{ "'metric':'rank.allreduce_us','slower_than_peers':{'fail':0.1,'mad':-1}",
		"slower_than_peers.mad: a number from 0 is needed, found -1" },
	{ "'metric':'rank.allreduce_us','slower_than_peers':{'fail':0.1},'min':1",
		"slower_than_peers must be the only operator: give min a check of its own" },
	{ "'metric':'node.cpus','slower_than_peers':{'fail':0.1}",
		"node.cpus is no metric of a rank or a GPU: there are no peers to compare with" },
	{ "'metric':'gpu.name','slower_than_peers':{'fail':0.1}", "does not fit: gpu.name is a string" },
	{ "'metric':'rank.allreduce_us','slower_than_peers':{'fail':0.1,'warn':0.2}",
		"warn, 0.2, has no effect: fail is 0.1" },
};

TEST_EACH(what_makes_no_sense_is_refused, refused)
{
	char problem[512];
	fixture_lint(refused[_i].check, problem);
	ck_assert_msg(strstr(problem, refused[_i].problem), "%s", problem);
}

TEST_MAIN(.teardown = fixture_done)

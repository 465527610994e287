/* SPDX-License-Identifier: Apache-2.0 */
/* test_outlier.c - outlier: a GPU far below the others of the run, and healthy runs with two groups of values */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run.h"

#include <math.h>

/* Values by node, with a bar between nodes. In front of the values of a node: "type:" for its VM size. A value may have
 * a model: "26a". Each node has GPUs g0, g1, ... */
static struct muster_run *make(const char *text)
{
	char name[8], model[16], gpu[16];
	struct muster_run *run = fixture_new_run();
	for (int n = 0; *text; n++, text += *text == '|') {
		const char *colon = strchr(text, ':'), *bar = strchr(text, '|');
		snprintf(name, sizeof name, "n%d", n);
		struct muster_node *node = fixture_node(run, name, 0);
		if (colon && (!bar || colon < bar)) {
			fixture_sample(run, &node->samples, "node.vm_size", "",
				muster_string(muster_arena_string_n(run->arena, text, (size_t)(colon - text))));
			text = colon + 1;
		}
		for (int g = 0; *text && *text != '|'; g++) {
			char *end;
			double value = strtod(text, &end);
			struct muster_rank *rank = muster_node_add_rank(node, run->job.ranks++);
			rank->local_rank = g;
			snprintf(gpu, sizeof gpu, "gpu=g%d", g);
			rank->gpu = muster_arena_string(run->arena, gpu + 4);
			snprintf(model, sizeof model, "Model %c", *end == ' ' || *end == '|' || !*end ? 'a' : *end);
			fixture_sample(run, &rank->samples, "gpu.name", gpu, muster_string(model));
			fixture_sample(run, &rank->samples, "gpu.h2d_gbps", gpu, muster_number(value));
			fixture_sample(run, &rank->samples, "gpu.pcie_limit_gbps",
				(snprintf(gpu + strlen(gpu), 8, " link=x"), gpu), muster_number(value < 20 ? 16 : 32));
			text = end + strspn(end, "ab ");
		}
	}
	return run;
}

/* Findings about the check, with "outlier":{"z":3.5,"share":0.08}. */
static const struct {
	const char *values, *check, *found;
} table[] = {
	/* 0.6745 (23.4 - 26) / 0.1 = -17.5; of the 8 others of the lowest one the MAD is 0.1 */
	{ "25.8 25.9 25.9 26 26 26.1 26.1 26.2 23.4", "",
		"warn c n0 rank=8 gpu=g8: X | the lowest of 9 values, 10 % below the median of the others, 26 (z "
		"-17.5): 23.4\n" },
	/* eight GPUs of one node, and too few others */
	{ "25.8 25.9 25.9 26 26.1 26.1 26.2 23.4", "",
		"warn c n0 rank=7 gpu=g7: X | the lowest of 8 values, 10 % below the median of the others, 26 (z "
		"-17.5): 23.4\n" },
	{ "25.8 25.9 26 26.1 26.1 26.2 23.4", "", "" },
	/* close to the others, though their values hardly differ: noise */
	{ "26 26 26.01 26.01 26 26 26 26 24.2", "", "" },
	{ "26 26 26.01 26.01 26 26 26 26 30", "", "" },
	/* values that scatter: 0.6745 (19 - 26) / 3 = -1.6 */
	{ "21 22 23 25 27 29 30 31 19", "", "" },
	/* all others are equal: the mean distance of all nine is 0.3, the z-score -2.7 / (1.2533 0.3) = -7.2 */
	{ "26 26 26 26 26 26 26 26 23.3", "",
		"warn c n0 rank=8 gpu=g8: X | the lowest of 9 values, 10.4 % below the median of the others, 26 (z "
		"-7.2): 23.3\n" },
	/* two outliers of two nodes: the mean distance is (4 0.1 + 4 + 3) / 16. What the same GPU of the other node
	 * has as well is none */
	{ "26 26.1 26 26.1 26 26 26 22|26 26.1 26 26.1 26 26 23 26", "",
		"warn c n0 rank=7 gpu=g7: X | the lowest of 16 values, 15.4 % below the median of the others, 26 (z "
		"-6.9): 22\n"
		"warn c n1 rank=14 gpu=g6: X | with 1 of 16 values below it, 11.5 % below the median of the others, 26 "
		"(z -5.2): 23\n" },
	{ "26 26.1 26 26.1 26 26 23 22|26 26.1 26 26.1 26 26 23 26", "",
		"warn c n0 rank=7 gpu=g7: X | the lowest of 16 values, 15.4 % below the median of the others, 26 (z "
		"-4.9): 22\n" },
	/* one node alone has no other GPUs of the same place: a group of three of 16 is none */
	{ "26 26.1 26 26.1 26 26 26 26 26 26 26 26.1 26 23 22 23.4", "", "" },
	/* a rack of its own: two of nine nodes, and one of three */
	{ "26 26.1|26 26.2|26.1 26|23 23.1|26.1 26|26 26|23 23|26.2 26|26 26", "", "" },
	{ "26 26.1 26 26.2|26.1 26 26 26|23 23.1 23 22.9", "", "" },
	/* one node of nine, all of its GPUs: the mean distance is (3 0.1 + 2 0.2 + 3 + 2.9) / 18 */
	{ "26 26.1|26 26.2|26.1 26|23 23.1|26.1 26|26 26|26 26|26.2 26|26 26", "",
		"warn c n3 rank=6 gpu=g0: X | the lowest of 18 values, 11.5 % below the median of the others, 26 (z "
		"-6.5): 23\n"
		"warn c n3 rank=7 gpu=g1: X | with 1 of 18 values below it, 11.2 % below the median of the others, 26 "
		"(z -6.3): 23.1\n" },
	/* near and far memory: every second GPU, every fourth, and one of each node are slower on all nodes */
	{ "26 23 26 23 26 23 26 23|26 23 26 23 26 23 26 23", "", "" },
	{ "26 26.1 26 23 26 26.2 26 23|26 26 26.1 23 26 26 26 23", "", "" },
	{ "26 26.1 26 26 26 26.2 26 23|26 26 26.1 26 26 26 26 23|26 26 26 26 26 26 26 23.1", "", "" },
	/* there, the faster ones can still be too slow: (2 0.1 + 0.2 + 4 + 3 3 - 0.1) / 24 */
	{ "26 26.1 26 26 26 26.2 22 23|26 26 26.1 26 26 26 26 23|26 26 26 26 26 26 26 23.1", "",
		"warn c n0 rank=6 gpu=g6: X | the lowest of 24 values, 15.4 % below the median of the others, 26 (z "
		"-5.8): 22\n" },
	/* GPUs of another model, and nodes of another machine type, are no peers */
	{ "26 26 26 26 26 26 26 26 23b", "", "" },
	{ "x:26 26.1 26 26 26 26 26 26|y:23", "", "" },
	{ "x:26 26.1 26 26 26 26 26 26|x:23", "",
		"warn c n1 rank=8 gpu=g0: X | the lowest of 9 values, 11.5 % below the median of the others, 26 (z "
		"-6.9): 23\n" },
	/* shares of links that differ: all but one reach 80 % */
	{ "25.6 25.6 25.6 25.6 12.8 12.8 12.8 12.8 25.6", ",'share_of':'gpu.pcie_limit_gbps'", "" },
	{ "25.6 25.6 25.6 25.6 12.8 12.8 12.8 11.2 25.6", ",'share_of':'gpu.pcie_limit_gbps'",
		"warn c n0 rank=7 gpu=g7: X | the lowest of 9 values, 12.5 % below the median of the others, 80 % of "
		"gpu.pcie_limit_gbps (z -7.2): 11.2\n" },
};

/* The text of what was expected, as X. */
static const char *shortened(const char *findings)
{
	static char text[4096];
	static const char head[] = "no outlier: at most 8 % below the median of the other GPUs of the same model and "
				   "machine type, or a modified z-score of at least -3.5 (of 7 others or more)";
	size_t used = 0;
	while (*findings) {
		if (strncmp(findings, head, strlen(head)) == 0) {
			findings += strlen(head);
			text[used++] = 'X';
		}
		text[used++] = *findings++;
	}
	text[used] = '\0';
	return text;
}

TEST_EACH(a_gpu_far_below_its_peers_is_found_and_no_group, table)
{
	char checks[512];
	struct muster_run *run = make(table[_i].values);
	snprintf(checks, sizeof checks, "'c':{'metric':'gpu.h2d_gbps','source':'s','outlier':{'z':3.5,'share':0.08}%s}",
		table[_i].check);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(shortened(fixture_findings(report)), table[_i].found);
	ck_assert(report->tallies[0].uncalibrated);
}

/* "close" is only for another profile: "far" then comes after "least", which "close" comes after. */
TEST(one_slow_gpu_has_one_finding_also_where_a_check_between_is_not_for_this_run)
{
	struct muster_run *run = make("25.8 25.9 25.9 26 26 26.1 26.1 26.2 11.2");
	struct muster_report *report = fixture_report(run,
		"'least':{'metric':'gpu.h2d_gbps','source':'s','min':21},"
		"'close':{'metric':'gpu.h2d_gbps','source':'s','min_of_median':0.92,'after':'least',"
		"'when':{'profile':['full']}},"
		"'far':{'metric':'gpu.h2d_gbps','source':'s','outlier':{'z':3.5,'share':0.08}}",
		false);
	ck_assert_uint_eq(report->tallies[1].skipped != NULL, true);
	for (size_t i = 0; i < report->finding_count; i++)
		ck_assert_msg(
			report->findings[i].status == MUSTER_SKIP || strcmp(report->findings[i].check, "least") == 0,
			"%s", fixture_findings(report));
	ck_assert_uint_eq(report->count[MUSTER_FAIL], 1);
	ck_assert_uint_eq(report->count[MUSTER_WARN], 0);
}

/* Values of a normal distribution with a standard deviation of 2 %: none is an outlier, whatever the order. */
TEST(healthy_fleets_have_no_outlier)
{
	srand(11);
	for (int round = 0; round < 60; round++) {
		char values[4096] = "";
		size_t used = 0;
		int nodes = 1 + rand() % 16;
		for (int n = 0; n < nodes; n++)
			for (int g = 0; g < 16; g++) {
				double sum = -6;
				for (int k = 0; k < 12; k++)
					sum += rand() / (double)RAND_MAX;
				double value = 26 * (1 + 0.02 * sum) * (round % 2 && g % 4 == 3 ? 0.85 : 1);
				used += (size_t)snprintf(values + used, sizeof values - used, "%.2f%s", value,
					g < 15          ? " "
					: n < nodes - 1 ? "|"
							: "");
			}
		struct muster_run *run = make(values);
		struct muster_report *report = fixture_report(
			run, "'c':{'metric':'gpu.h2d_gbps','source':'s','outlier':{'z':3.5,'share':0.08}}", false);
		ck_assert_msg(report->finding_count == 0, "%s: %s", values, fixture_findings(report));
		fixture_done();
	}
}

static const struct {
	const char *check, *problem;
} refused[] = {
	{ "'metric':'gpu.h2d_gbps','outlier':{'z':3.5}", "the key \"share\" is missing" },
	{ "'metric':'gpu.h2d_gbps','outlier':{'z':-3.5,'share':0.1}",
		"outlier.z: a number above 0 is needed, found -3.5" },
	{ "'metric':'gpu.h2d_gbps','outlier':{'z':3.5,'share':1}",
		"outlier.share: a number above 0 and below 1 is needed, found 1" },
	{ "'metric':'gpu.h2d_gbps','outlier':{'z':3.5,'share':0.1},'min':1",
		"outlier must be the only operator: give min a check of its own" },
	{ "'metric':'node.cpus','outlier':{'z':3.5,'share':0.1}",
		"node.cpus is no metric of a rank or a GPU: there are no peers to compare with" },
	{ "'metric':'rank.compute_ms','outlier':{'z':3.5,'share':0.1}",
		"outlier: does not fit: a lower rank.compute_ms is not the worse one" },
};

TEST_EACH(what_makes_no_sense_is_refused, refused)
{
	char problem[512];
	fixture_lint(refused[_i].check, problem);
	ck_assert_msg(strstr(problem, refused[_i].problem), "%s", problem);
}

TEST_MAIN(.teardown = fixture_done)

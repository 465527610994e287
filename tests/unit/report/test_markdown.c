/* SPDX-License-Identifier: Apache-2.0 */
/* test_markdown.c - the summary for a pull request or a ticket */
#include "muster/report.h"

#include "unit/report/printed_fixture.h"

#include "check_main.h"
#include <stdlib.h>

static void print(void)
{
	print_with(muster_report_print_markdown);
}

static const char whole[] =
	"### muster: FAIL\n"
	"\n"
	"Standard\\_ND96asr\\_v4, 2 nodes, 16 ranks, profile standard, 4.2 s, 2025-01-31T12:00:00Z, job 4711: 2 "
	"failed, "
	"1 inconclusive, 2 warned, 10 passed, 33 recorded only, 2 blocked, 1 not applicable.\n"
	"\n"
	"**SIMULATED: results come from simulated hardware, not from a real machine.**\n"
	"\n"
	"Exclude the failed nodes: `--exclude=sim-[1-2]`\n"
	"\n"
	"| status | check | where | expected | observed | action |\n"
	"|---|---|---|---|---|---|\n"
	"| fail | rank.missing | sim-2, rank 15 | a report from every rank | no message within 60 s |  |\n"
	"| fail | copy.h2d | sim-1, GPU 4 \\(000b:00:00.0\\), rank 4 | at least 21 GB/s | 11.2 GB/s, 36 % of PCIe "
	"4.0 x16 \\(31.5 GB/s\\) | "
	"reset-gpu: reseat it: see \"nvidia-smi -q\" |\n"
	"| inconclusive | probe.gpu\\_copy | sim-2, GPU 0001:00:00.0, rank 8 | the probe to end well | "
	"crashed: signal 11 in cuMemcpyHtoDAsync\\_v2 |  |\n"
	"| warn | ib.state | sim-1, port mlx5\\_ib3/1 | ACTIVE | INIT |  |\n"
	"| warn | ring.busbw | whole job, bytes 8 GiB, nodes 2 | at least 180 GB/s | 170.5 GB/s |  |\n"
	"\n"
	"| blocked by | checks |\n"
	"|---|---|\n"
	"| rank.missing on sim-2 and 1 more finding | copy.d2h |\n"
	"\n"
	"| check | lowest | highest | unit | share | expected |\n"
	"|---|---|---|---|---|---|\n"
	"| copy.h2d | 11.2 | 26.1 | GB/s | 36 to 83 % of PCIe 4.0 x16 | at least 21 GB/s |\n"
	"| copy.d2h | 25.06 | 25.1 | GB/s |  | at least 21.34 GB/s \\(85 % of the median of this run, 25.1 GB/s\\) |\n";

TEST(the_worst_comes_first_and_figures_last)
{
	with_everything();
	print();
	ck_assert_str_eq(text, whole);
}

TEST(what_is_not_known_is_left_out_and_strictness_is_said)
{
	struct muster_finding unread = FINDING(SKIP, "load.bf16", "sim-1", -1, NULL, "no libcublasLt", "", .unread = 1);
	with_ranks(1);
	run.job.simulated = false;
	run.job.id = run.job.started = NULL;
	report = (struct muster_report){ .run = &run, .verdict = MUSTER_INCONCLUSIVE, .strict = MUSTER_STRICT_ALL };
	only_findings(&unread, 1);
	print();
	ck_assert_str_eq(text, "### muster: INCONCLUSIVE\n"
			       "\n"
			       "unknown, 1 node, 1 rank, profile standard, 4.2 s: 0 failed, 0 inconclusive, 0 warned, "
			       "0 passed, 0 not applicable.\n"
			       "\n"
			       "**No expectation file for this machine type: nothing was checked.**\n\n"
			       "**Strict in all: inconclusive results and warnings fail the run.**\n\n"
			       "Not measured: load.bf16 on sim-1: no libcublasLt\n");
}

TEST(fifty_rows_at_most_and_how_many_more_there_are)
{
	struct muster_finding findings[60];
	char checks[60][4];
	with_ranks(24);
	for (size_t i = 0; i < 60; i++)
		findings[i] = (struct muster_finding){
			.check = "x", .status = i < 5 ? MUSTER_WARN : MUSTER_FAIL, .rank = -1, .observed = "o"
		};
	only_findings(findings, 60);
	print();
	has_count("\n| fail | x | whole job |", 50);
	has_count("\n| warn |", 0);
	has("\nand 10 more, all of them in the JSON report.\n");
	report.finding_count = 50;
	print();
	has_count("\n| fail |", 45);
	has_count("\n| warn |", 5);
	lacks(" more, all of them");
	for (size_t i = 0; i < 60; i++) {
		snprintf(checks[i], sizeof checks[i], "%zu", i);
		findings[i].check = checks[i];
		findings[i].node = run.nodes[i % 3].name;
	}
	report.finding_count = 60;
	print();
	has_count("\nand 10 more, all of them in the JSON report.\n", 2); /* kinds too */
}

TEST(with_findings_on_several_nodes_kinds_of_faults_come_first)
{
	struct muster_finding findings[4];
	with_ranks(24);
	for (size_t i = 0; i < 3; i++)
		findings[i] = (struct muster_finding)FINDING(FAIL, "ib.state", run.nodes[i].name, -1, "ACTIVE", "DOWN",
			"", .action_code = "fix-fabric", .advice = "look at the port");
	findings[3] = (struct muster_finding)FINDING(WARN, "ring.busbw", NULL, -1, "at least 180", "170", "");
	only_findings(findings, 4);
	print();
	has("\n| kind of fault | what | nodes | which | action |\n|---|---|---|---|---|\n"
	    "| fail ib.state | expected: ACTIVE; seen: DOWN | 3 | sim-\\[1-3\\] | fix-fabric: look at the port |\n"
	    "| warn ring.busbw | expected: at least 180; seen: 170 | 0 | whole job |  |\n\nExclude the failed nodes: "
	    "`--exclude=sim-[1-3]`\n\n| status |");
}

TEST(what_a_machine_gave_is_text_and_nothing_more)
{
	struct muster_finding finding = FINDING(FAIL, "<b>&@all", NULL, -1, NULL, "\\`*_{}[]()#!|~\x1b", "GB/s");
	with_ranks(8);
	only_findings(&finding, 1);
	print();
	has("\n| fail | &lt;b&gt;&amp;&#64;all | whole job |  | "
	    "\\\\\\`\\*\\_\\{\\}\\[\\]\\(\\)\\#\\!\\|\\~\\\\x1b |  |\n");
}

TEST_MAIN(.teardown = printed_done)

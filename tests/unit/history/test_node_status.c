/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_status.c - how each node came out of a report */
#include "check_main.h"
#include "run_text.h"

#include "history/node_status.h"
#include "muster/run.h"

static const struct {
	const char *nodes;
	enum muster_status verdict;
	struct muster_finding findings[3];
	const char *statuses;
} cases[] = {
	{ "b node\na node\n", MUSTER_PASS, { { 0 } }, "a pass b pass " },
	{ "a node\nb node\n", MUSTER_FAIL,
		{ { .check = "copy.h2d", .status = MUSTER_FAIL, .node = "b" },
			{ .check = "copy.d2h", .status = MUSTER_WARN, .node = "a" },
			{ .check = "copy.d2h", .status = MUSTER_WARN, .node = "b" } },
		"a warn b fail " },
	{ "a node\nb node\n", MUSTER_INCONCLUSIVE,
		{ { .check = "copy.h2d", .status = MUSTER_INCONCLUSIVE, .node = "b" },
			{ .check = "copy.d2h", .status = MUSTER_SKIP, .node = "a" } },
		"a pass b inconclusive " },
	/* a finding about the job belongs to no node, unless there is but one */
	{ "a node\nb node\n", MUSTER_FAIL, { { .check = "ring.8m", .status = MUSTER_FAIL } }, "a pass b pass " },
	{ "a node\n", MUSTER_FAIL, { { .check = "ring.8m", .status = MUSTER_FAIL } }, "a fail " },
	{ "a node\n", MUSTER_PASS, { { .check = "ring.8m", .status = MUSTER_WARN } }, "a warn " },
	{ "a node\nb node\n", MUSTER_PASS, { { .check = "ring.8m", .status = MUSTER_WARN } }, "a pass b pass " },
	/* nothing was evaluated */
	{ "a node\nb node\n", MUSTER_INCONCLUSIVE, { { 0 } }, "a inconclusive b inconclusive " },
	{ "a node\nb/0 missing gone\n", MUSTER_FAIL,
		{ { .check = "rank.missing", .status = MUSTER_FAIL, .node = "b" } }, "a pass b fail " },
};

TEST_EACH(a_node_is_what_its_findings_say, cases)
{
	struct muster_run run;
	struct muster_finding findings[3];
	char text[128] = "";
	size_t count;
	run_text(&run, cases[_i].nodes);
	for (size_t i = 0; i < run.node_count; i++) /* a node has ranks */
		if (run.nodes[i].rank_count == 0)
			muster_node_add_rank(&run.nodes[i], (int)i);
	memcpy(findings, cases[_i].findings, sizeof findings);
	struct muster_report report = { .run = &run, .verdict = cases[_i].verdict, .findings = findings };
	while (report.finding_count < 3 && findings[report.finding_count].check)
		report.finding_count++;
	struct muster_node_status *statuses = muster_node_statuses(&report, &count);
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s %s ", statuses[i].name,
			muster_status_name(statuses[i].status));
	ck_assert_str_eq(text, cases[_i].statuses);
	free(statuses);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

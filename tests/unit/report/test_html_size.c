/* SPDX-License-Identifier: Apache-2.0 */
/* test_html_size.c - how large the HTML page of many nodes is: a node that passed is one element */
#include "report/html/html.h"

#include "check_main.h"
#include "unit/report/printed_fixture.h"

enum { RANKS = 8 };

static void print_nodes(int nodes)
{
	with_ranks(nodes * RANKS);
	report.finding_count = 0;
	print_with(muster_report_print_html);
}

TEST(a_node_without_findings_is_one_element_of_few_bytes)
{
	print_nodes(400);
	size_t bytes = strlen(text), elements = count_of("<") - count_of("</");
	has("<li id='n42'>sim-43</li>\n");
	lacks("<details class='pass'>");
	printed_done();
	print_nodes(600);
	double more = ((double)strlen(text) - (double)bytes) / 200;
	ck_assert_msg(more < 100, "%.0f bytes for each node", more);
	/* 200 tiles, and some bars of values that differ between nodes */
	ck_assert_uint_lt(count_of("<") - count_of("</") - elements, 200 + 100);
}

static struct muster_finding findings[2000];

static void print_failed(size_t count, enum muster_status status)
{
	with_ranks(300 * RANKS);
	for (size_t i = 0; i < count; i++)
		findings[i] =
			(struct muster_finding)FINDING(FAIL, "copy.h2d", run.nodes[i].name, run.nodes[i].ranks[3].rank,
				NULL, "11.2", "GB/s", .gpu = run.nodes[i].ranks[3].gpu, .metric = "gpu.h2d_gbps");
	for (size_t i = 0; i < count; i++)
		findings[i].status = status;
	only_findings(findings, count);
	print_with(muster_report_print_html);
}

/* Nodes with findings have details, the worst ones first, up to a number; what is left out is counted. */
static const struct {
	size_t failed, detailed;
	const char *rest;
} amounts[] = {
	{ 1, 1, "<p>299 nodes without findings: only a tile on the map.</p>" },
	{ 96, 96, "<p>204 nodes without findings: only a tile on the map.</p>" },
	{ 300, 96,
		"<p>Not shown here: 204 more nodes with findings or without results. <code>muster nodes REPORT --bad" },
};

TEST_EACH(details_are_of_the_nodes_that_failed_and_bounded, amounts)
{
	print_failed(amounts[_i].failed, MUSTER_FAIL);
	has_count("<details class='fail'", amounts[_i].detailed);
	has_count("<details class='pass'", 0);
	has_count("<details class='fail' open>", amounts[_i].detailed < 3 ? amounts[_i].detailed : 3);
	has_count("<li class='fail'><a class='name'", amounts[_i].detailed);
	has_count("<li class='fail' id='n", amounts[_i].failed - amounts[_i].detailed); /* the anchor of the others */
	has(amounts[_i].rest);
}

TEST(filters_are_there_where_nodes_differ)
{
	print_failed(300, MUSTER_FAIL);
	lacks("<input type='radio' name='map'");
	printed_done();
	print_failed(2, MUSTER_WARN);
	has("<input type='radio' name='map' class='only-warn'>only warned <span class='note'>2</span>");
	lacks("only failed");
	lacks("name='list'"); /* all that have details warned */
}

TEST(a_small_run_has_the_details_of_each_node)
{
	with_ranks(16 * RANKS);
	print_with(muster_report_print_html);
	has_count("<details class='pass'", 14);
	printed_done();
	with_ranks(17 * RANKS);
	print_with(muster_report_print_html);
	has_count("<details class='pass'", 0);
}

/* Of 20 nodes, the map has their parts; of 100, their names. */
TEST_LOOP(each_link_leads_to_a_place_of_the_page, 0, 4)
{
	with_ranks((_i & 1 ? 100 : 20) * RANKS);
	report.finding_count = 0;
	report.verdict = MUSTER_INCONCLUSIVE;
	print_with(_i & 2 ? muster_report_print_inventory_html : muster_report_print_html);
	for (const char *at = text; (at = strstr(at, " href='#"));) {
		char id[64];
		at += strlen(" href='#");
		snprintf(id, sizeof id, " id='%.*s'", (int)strcspn(at, "'"), at);
		has(id);
	}
	has_count("only a tile on the map", !(_i & 2));
}

TEST_MAIN(.teardown = printed_done, .timeout = 200)

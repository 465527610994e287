/* SPDX-License-Identifier: Apache-2.0 */
/* test_html_kinds.c - kinds of faults on the HTML page, and what their checks mean */
#include "report/html/html.h"

#include "check_main.h"
#include "unit/report/printed_fixture.h"

static struct muster_finding findings[2048];

/* So many findings of a check, on as many nodes. */
static void with_findings(size_t count)
{
	with_ranks(8);
	for (size_t i = 0; i < count; i++)
		findings[i] = (struct muster_finding)FINDING(FAIL, "copy.h2d",
			muster_arena_printf(run.arena, "gpu-%zu", i + 1), -1, "at least 21", "11.2", "GB/s",
			.action_code = "replace-node", .advice = "open a ticket", .metric = "gpu.h2d_gbps");
	only_findings(findings, count);
	print_with(muster_report_print_html);
}

/* All of few findings are seen at once; of many kinds a row is seen, and one click shows a bounded number of rows. */
static const struct {
	size_t findings, rows;
	bool open;
	const char *where, *rest;
} amounts[] = {
	{ 1, 0, true, "<b>1 node</b> <code><span class='whole'>gpu-1</span></code>", NULL },
	{ 8, 8, true, "<b>8 nodes</b> <code><span class='whole'>gpu-[1-8]</span></code>", NULL },
	{ 9, 9, false, "<b>9 nodes</b> <code><span class='whole'>gpu-[1-9]</span></code>", NULL },
	{ 64, 64, false, "<b>64 nodes</b>", NULL },
	{ 2048, 64, false, "<b>2,048 nodes</b>", "<p>and 1,984 more; <code>muster report REPORT --format json</code>" },
};

TEST_EACH(a_kind_is_one_row_however_many_nodes_have_it, amounts)
{
	with_findings(amounts[_i].findings);
	has_count("<details class='kind fail'", 1);
	has_count("<details class='kind fail' open>", amounts[_i].open);
	has(amounts[_i].where);
	has("<b>replace-node</b> open a ticket</span></summary>");
	has_count("<tr id='f", amounts[_i].rows);
	has_count("<div id='f0'><dt>where</dt>", amounts[_i].rows == 0);
	if (amounts[_i].rest)
		has(amounts[_i].rest);
	else
		lacks("--format json");
}

TEST(all_kinds_together_have_a_bounded_number_of_rows)
{
	with_ranks(8);
	for (size_t i = 0; i < 2048; i++)
		findings[i] = (struct muster_finding)FINDING(FAIL, muster_arena_printf(run.arena, "check.n%zu", i / 64),
			muster_arena_printf(run.arena, "gpu-%zu", i % 64 + 1), -1, NULL, "o", "");
	only_findings(findings, 2048);
	print_with(muster_report_print_html);
	has_count("<details class='kind fail'>", 32);
	has_count("<tr id='f", 512);
}

TEST(kinds_stand_before_all_other_sections)
{
	with_everything();
	print_with(muster_report_print_html);
	char *kinds = strstr(text, "<section id='findings'");
	ck_assert_ptr_nonnull(kinds);
	ck_assert_ptr_eq(strstr(text, "<section "), kinds);
	has_count("<details class='kind", 5);
	has("<span class='hosts'>whole job</span>");
	has("blocked</dt><dd>2 checks not evaluated because of this: <a href='#explain-copy.h2d'>");
}

/* The id of a check with a finding is a link to its text; that of others, or one that can be no anchor, is none. */
TEST(a_check_with_a_finding_is_explained_once)
{
	with_everything();
	print_with(muster_report_print_html);
	has_count("<article id='explain-", 5);
	has_count("<article id='explain-copy.h2d'", 1);
	has("<a href='#explain-copy.h2d'><code>copy.h2d</code></a>");
	lacks("#explain-copy.d2h");
	char *explained = strstr(text, "<article id='explain-copy.h2d'");
	*strstr(explained, "</article>") = '\0';
	static const char *const wanted[] = {
		"<dt>reads</dt><dd><code>gpu.h2d_gbps</code>: ",
		" (GB/s); measured by the probe gpu_copy</dd>",
		"<dt>threshold</dt><dd>at least 21 GB/s</dd>",
		"<dt>why</dt><dd>vendor&#39;s guide</dd>",
		"<dt>how sure</dt><dd>specified</dd>",
		"<dt>what to do</dt><dd>reseat it: see &quot;nvidia-smi -q&quot;</dd>",
		"<dt>results</dt><dd>13 pass, 1 fail</dd>",
	};
	for (int i = 0; i < LENGTH(wanted); i++)
		ck_assert_msg(strstr(explained, wanted[i]), "%s is not in %s", wanted[i], explained);
}

TEST(an_id_that_can_be_no_anchor_is_text)
{
	static struct muster_finding evil = FINDING(WARN, "a' onclick='x", "sim-1", -1, NULL, "no value: not read", "");
	with_everything();
	only_findings(&evil, 1);
	print_with(muster_report_print_html);
	lacks("explain-");
	has("<code>a&#39; onclick=&#39;x</code>");
	has("<dd>no value: not read</dd>");
}

TEST_MAIN(.teardown = printed_done)

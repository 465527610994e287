/* SPDX-License-Identifier: Apache-2.0 */
/* test_html.c - the HTML page: one file, and nothing from outside is markup in it */
#include "report/html/html.h"

#include "check_main.h"
#include "unit/report/printed_fixture.h"

#include "util/text.h"

#include <time.h>
#include <unistd.h>

static void print(void)
{
	print_with(muster_report_print_html);
}

static const struct {
	const char *text, *wanted;
} texts[] = {
	{ "sim-1", "sim-1" },
	{ NULL, "-" },
	{ "", "" },
	{ "<script>alert('1')</script>", "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;" },
	{ "\" onload=\"x\" &amp;", "&quot; onload=&quot;x&quot; &amp;amp;" },
	{ "</style>]]>-->", "&lt;/style&gt;]]&gt;--&gt;" },
	{ "a\x1b[31m\n\x7f", "a\\x1b[31m\\n\\x7f" },
	{ "\xe2\x80\xaegpj", "\\u202egpj" },
	{ "\xe2\x81\xa6<\xe2\x80\x8b", "\\u2066&lt;\\u200b" },
	{ "gr\xc3\xb6\xc3\x9f \xf0\x9f\x98\x80", "gr\xc3\xb6\xc3\x9f \xf0\x9f\x98\x80" },
	{ "\xff\xc3", "\\xff\\xc3" },
	{ "\xef\xbf\xbe\xef\xb7\x90", "\\ufffe\\ufdd0" },
};

TEST_EACH(every_text_from_outside_is_content, texts)
{
	size_t length = 0;
	struct muster_html page = { .out = open_memstream(&text, &length) };
	muster_html_put(&page, texts[_i].text);
	fclose(page.out);
	ck_assert_str_eq(text, texts[_i].wanted);
}

TEST(a_page_loads_nothing_and_runs_nothing)
{
	with_everything();
	print();
	has("content=\"default-src 'none'; style-src 'unsafe-inline'\"");
	static const char *const never[] = { "<script", "<link", "<img", "<iframe", "http:", "https:", "url(",
		"@import", "javascript:", "src=" };
	for (int i = 0; i < LENGTH(never); i++)
		lacks(never[i]);
	has("<title>FAIL: Standard_ND96asr_v4, 2 nodes, job 4711, 2025-01-31</title>");
	has_count("<h1>", 1);
}

static void set_text(struct muster_node *node, const char *metric, const char *value)
{
	for (size_t i = 0; i < node->samples.count; i++)
		if (strcmp(node->samples.items[i].metric->name, metric) == 0)
			node->samples.items[i].value = value ? muster_string(value) : muster_null();
}

static void forget_fabric(struct muster_node *node)
{
	for (size_t i = 0; i < node->rank_count; i++)
		for (size_t j = 0; j < node->ranks[i].samples.count; j++)
			if (strcmp(node->ranks[i].samples.items[j].metric->name, "gpu.fabric_clique") == 0)
				node->ranks[i].samples.items[j].value = muster_null();
}

/* Nodes are in NVLink domains, or below switches, or there is nothing to say. */
TEST_LOOP(the_map_has_domains_or_switches_or_nodes_alone, 0, 3)
{
	static const char *const wanted[] = { "'>NVLink domain 1</h3>", "<h3>switch s0.s10</h3>", NULL };
	with_ranks(16);
	report.finding_count = 0;
	for (size_t i = 0; i < 2; i++) {
		set_text(&run.nodes[i], "node.slurm_topology", _i == 1 ? (i ? "s0.s2" : "s0.s10") : NULL);
		if (_i > 0)
			forget_fabric(&run.nodes[i]);
	}
	print();
	char *map = strstr(text, "<section id='map'");
	ck_assert_ptr_nonnull(map);
	*strstr(map, "</section>") = '\0';
	ck_assert_uint_eq(fixture_count(map, "</h3>"), _i == 0 ? 1 : _i == 1 ? 2 : 0);
	ck_assert_uint_eq(fixture_count(map, "name='rack'>only this one"), _i == 1 ? 2 : 0);
	if (wanted[_i])
		ck_assert_ptr_nonnull(strstr(map, wanted[_i]));
	if (_i == 1) /* by number */
		ck_assert(strstr(map, "switch s0.s2<") < strstr(map, "switch s0.s10<"));
	ck_assert_uint_eq(fixture_count(map, "<rect x="), 16 + 5); /* with those of the legend */
	ck_assert_uint_eq(fixture_count(map, "<a href='#n1-g7' class='pass'"), 1);
	ck_assert_uint_eq(fixture_count(map, "<a href='#n1-p8' class='pass'"), 1);
}

TEST(the_map_shows_findings_at_their_gpu_and_port_and_what_was_not_measured)
{
	fixture_run(&run); /* rank 15 is missing */
	fixture_report(&report, &run);
	print();
	has("<a href='#n0-g4' class='fail' aria-label='GPU 000b:00:00.0 of sim-1: fail'>");
	has("<a href='#n0-p3' class='warn' aria-label='port mlx5_ib3/1 of sim-1: warn'>");
	has("<a href='#n1-g7' class='fail' aria-label='GPU 000e:00:00.0 of sim-2: fail'>");
	report.finding_count = 0;
	print();
	has("<a href='#n1-g7' class='skip' tabindex='-1'>");
}

static const char *const reasons[] = {
	"<th scope='row'>rank.missing on sim-2 and 1 more finding</th><td><code>copy.d2h</code></td>",
	"<th scope='row'>only for runs of 1 node (this run has 2)</th><td><code>ring.one_node</code></td>",
	"<code>gpu_copy</code></th><td>crashed</td><td>signal 11</td><td><a href='#n1'>sim-2</a></td>",
	"<code>affinity</code></th><td>not run</td><td>no time was left</td>",
	"<code>gpu.power</code></th><td>no value: not supported by a vGPU</td>",
	"<code>probe.gpu_copy</code></a></th><td>crashed: signal 11 in cuMemcpyHtoDAsync_v2</td>",
	"<details><summary>Not for this run: 1 check</summary>",
};

TEST_EACH(what_was_not_evaluated_has_its_reason, reasons)
{
	with_everything();
	print();
	char *section = strstr(text, "<section id='unevaluated'");
	ck_assert_ptr_nonnull(section);
	ck_assert_msg(strstr(section, reasons[_i]), "%s", reasons[_i]);
}

static const struct {
	size_t count;
	const char *text;
} counts[] = { { 0, "0" }, { 999, "999" }, { 1000, "1,000" }, { 12345, "12,345" }, { 1257162, "1,257,162" },
	{ SIZE_MAX, "18,446,744,073,709,551,615" } };

TEST_EACH(a_large_number_has_separators, counts)
{
	char out[32];
	ck_assert_str_eq(muster_html_count(counts[_i].count, out), counts[_i].text);
}

/* The zone of the writer beside UTC, unless the zone is UTC. */
static const struct {
	const char *zone, *started, *text;
} times[] = {
	{ "UTC", "2026-11-23T23:46:53Z", "<time datetime='2026-11-23T23:46:53Z'>2026-11-23 23:46:53 UTC</time></li>" },
	{ "XXX-01:30", "2026-11-23T23:46:53Z",
		">2026-11-23 23:46:53 UTC</time> (2026-11-24 01:16:53 +0130 where this page was written)</li>" },
	{ "UTC", "<yesterday>", "<li>started &lt;yesterday&gt;</li>" },
};

TEST_EACH(the_start_is_told_in_local_time_too, times)
{
	with_everything();
	run.job.started = times[_i].started;
	setenv("TZ", times[_i].zone, 1);
	tzset();
	print();
	has(times[_i].text);
}

TEST(the_verdict_is_told_once_and_an_unjudged_value_has_no_sign_of_a_pass)
{
	with_everything();
	print();
	has_count("2 of 2 nodes failed", 1);
	has("<use href='#s-skip'/></svg><b>33</b> recorded only");
	has("<p class='note'>Expectations: Standard_ND96asr_v4.json &lt;  family.json</p>");
	has("<p class='exclude'>Nodes to exclude: ");
	report.count[MUSTER_FAIL] = 0; /* as where warnings fail a strict run */
	report.findings[0].status = MUSTER_SKIP;
	report.findings[0].unread = true;
	print();
	lacks("Nodes to exclude");
	has("<p class='remark'>Not measured: rank.missing on sim-2: no message within 60 s</p>");
}

TEST(a_list_of_hosts_breaks_only_behind_a_comma)
{
	with_everything();
	size_t length = 0;
	struct muster_html page = { .out = open_memstream(&text, &length) };
	muster_html_hosts(&page, "--exclude=", "gpu-[1-2,9],x-1");
	fclose(page.out);
	ck_assert_str_eq(text, "<span class='whole'>--exclude=gpu-[1-2,</span><wbr><span class='whole'>9],</span><wbr>"
			       "<span class='whole'>x-1</span>");
}

/* What an inconclusive run asks for: what its worst finding says, else to look at the reasons. */
TEST_LOOP(an_inconclusive_page_says_what_is_next, 0, 2)
{
	static struct muster_finding findings[] = { FINDING(
		INCONCLUSIVE, "sku.unknown", NULL, -1, NULL, "none fits", "") };
	findings[0].advice = _i ? NULL : "set the machine type with --sku NAME";
	with_everything();
	only_findings(findings, 1);
	report.verdict = MUSTER_INCONCLUSIVE;
	report.sku = "unknown";
	print();
	has("<title>INCONCLUSIVE: unknown machine type, 2 nodes, ");
	has(_i ? "Next: <a href='#unevaluated'>Not evaluated</a> has the reasons"
	       : "Next: set the machine type with --sku NAME</p>");
}

/* A rank without a GPU and a GPU without a rank are one square when it was the turn of this rank: GPUs are taken in
 * NVML's order. */
static const struct {
	int silent; /* rank */
	bool missing;
	const char *gpus;
	size_t squares;
} silents[] = {
	{ 7, true,
		"0001:00:00.0 0002:00:00.0 0003:00:00.0 0004:00:00.0 000b:00:00.0 000c:00:00.0 000d:00:00.0 "
		"000e:00:00.0",
		8 },
	{ 3, false,
		"0001:00:00.0 0002:00:00.0 0003:00:00.0 0004:00:00.0 000b:00:00.0 000c:00:00.0 000d:00:00.0 "
		"000e:00:00.0",
		8 },
	{ 3, false,
		"000e:00:00.0 0002:00:00.0 0003:00:00.0 0001:00:00.0 000b:00:00.0 000c:00:00.0 000d:00:00.0 "
		"0004:00:00.0",
		9 },
};

TEST_EACH(a_gpu_without_an_answer_is_one_square, silents)
{
	with_ranks(8);
	report.finding_count = 0;
	struct muster_rank *rank = &run.nodes[0].ranks[silents[_i].silent];
	rank->gpu = rank->gpu_uuid = NULL;
	rank->local_rank = silents[_i].missing ? -1 : rank->local_rank;
	set_text(&run.nodes[0], "node.gpu_bus_ids", silents[_i].gpus);
	print();
	char *map = strstr(text, "<section id='map'");
	*strstr(map, "</section>") = '\0';
	ck_assert_uint_eq(fixture_count(map, "<rect x=") - 5, silents[_i].squares); /* 5 of the legend */
}

TEST(a_file_is_written_whole_or_not_at_all)
{
	struct muster_error err;
	char directory[] = "/tmp/muster-html-XXXXXX", line[32] = "";
	ck_assert_ptr_nonnull(mkdtemp(directory));
	char *path = muster_asprintf("%s/r.html", directory);
	with_everything();
	ck_assert_int_eq(muster_report_write_html(&report, path, &err), 0);
	FILE *in = fopen(path, "re");
	ck_assert_ptr_nonnull(in);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, in));
	ck_assert_str_eq(line, "<!DOCTYPE html>\n");
	fclose(in);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0); /* nothing else is in there */
	ck_assert_int_lt(muster_report_write_html(&report, path, &err), 0);
	ck_assert_msg(strstr(err.text, path), "%s", err.text);
	free(path);
}

TEST_MAIN(.teardown = printed_done)

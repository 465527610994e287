/* test_html.c - the HTML page: one file, and nothing from outside is markup in it */
#include "report/html/html.h"

#include "check_main.h"
#include "unit/report/printed_fixture.h"

#include "util/text.h"

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
	has("<h1>FAIL: Standard_ND96asr_v4, 2 nodes, job 4711</h1>");
}

/* Findings of one check: in full, as rows, only counted. */
static const struct {
	size_t findings, whole, rows, counted;
} amounts[] = { { 1, 1, 0, 0 }, { 8, 8, 0, 0 }, { 12, 8, 4, 0 }, { 1008, 8, 1000, 0 }, { 1010, 8, 1000, 2 } };

TEST_EACH(a_frequent_finding_is_shown_in_full_in_rows_or_counted, amounts)
{
	static struct muster_finding findings[1010];
	char rest[64];
	with_everything();
	for (size_t i = 0; i < amounts[_i].findings; i++)
		findings[i] = (struct muster_finding)FINDING(FAIL, "x", "sim-1", -1, NULL, "o", "");
	report.findings = findings;
	report.finding_count = amounts[_i].findings;
	print();
	has_count("<article class='finding fail' id='f", amounts[_i].whole);
	has_count("<tr id='f", amounts[_i].rows);
	snprintf(rest, sizeof rest, "<p>%zu more findings are only counted", amounts[_i].counted);
	ck_assert_int_eq(strstr(text, rest) != NULL, amounts[_i].counted > 0);
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
	static const char *const wanted[] = { "<h3>NVLink domain 1 ", "<h3>switch ", NULL };
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
	ck_assert_uint_eq(fixture_count(map, "<h3>"), _i == 0 ? 1 : _i == 1 ? 2 : 0);
	if (wanted[_i])
		ck_assert_ptr_nonnull(strstr(map, wanted[_i]));
	if (_i == 1) /* by number */
		ck_assert(strstr(map, "s0.s2: 1 pass") < strstr(map, "s0.s10: 1 pass"));
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
	has("<a href='#n1-g7' class='fail' aria-label='GPU unknown of sim-2: fail'>");
	report.finding_count = 0;
	print();
	has("<a href='#n1-g7' class='skip' tabindex='-1'>");
}

static const char *const reasons[] = {
	"<th scope='row'>rank.missing on sim-2 and 1 more finding</th><td><code>copy.d2h</code></td>",
	"<th scope='row'>only for runs of 1 node (this run has 2)</th><td><code>ring.one_node</code></td>",
	"<code>gpu_copy</code></th><td>crashed</td><td>signal 11</td><td><a href='#n1'>sim-2</a></td>",
	"<code>affinity</code></th><td>not run</td><td>no time was left</td>",
	"<code>gpu.power</code></th><td>null: not supported by a vGPU</td>",
	"<code>probe.gpu_copy</code></th><td>crashed: signal 11 in cuMemcpyHtoDAsync_v2</td>",
};

TEST_EACH(what_was_not_evaluated_has_its_reason, reasons)
{
	with_everything();
	print();
	char *section = strstr(text, "<section id='unevaluated'");
	ck_assert_ptr_nonnull(section);
	ck_assert_msg(strstr(section, reasons[_i]), "%s", reasons[_i]);
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

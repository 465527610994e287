/* test_html.c - the HTML page: one file, and nothing from outside is markup in it */
#include "report/html/html.h"

#include "check_main.h"
#include "report_fixture.h"

#include "util/text.h"

#include <unistd.h>

/* Not inlined: gcc 12 then takes the text for a local variable that is gone. */
static __attribute__((noinline)) char *text_of(const struct muster_report *report)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = muster_memory_open(&text, &length);
	muster_report_print_html(report, out);
	muster_memory_close(out);
	return text;
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
	char *text = NULL;
	size_t length = 0;
	struct muster_html page = { .out = open_memstream(&text, &length) };
	muster_html_put(&page, texts[_i].text);
	fclose(page.out);
	ck_assert_str_eq(text, texts[_i].wanted);
	free(text);
}

TEST(a_page_loads_nothing_and_runs_nothing)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	fixture_report(&report, &run);
	char *text = text_of(&report);
	ck_assert_ptr_nonnull(strstr(text, "content=\"default-src 'none'; style-src 'unsafe-inline'\""));
	static const char *const never[] = { "<script", "<link", "<img", "<iframe", "http:", "https:", "url(",
		"@import", "javascript:", "src=" };
	for (int i = 0; i < LENGTH(never); i++)
		ck_assert_msg(!strstr(text, never[i]), "%s", never[i]);
	ck_assert_ptr_nonnull(strstr(text, "<h1>FAIL: Standard_ND96asr_v4, 2 nodes, job 4711</h1>"));
	free(text);
	muster_run_done(&run);
}

/* Findings of one check: in full, as rows, only counted. */
static const struct {
	size_t findings, whole, rows, counted;
} amounts[] = { { 1, 1, 0, 0 }, { 8, 8, 0, 0 }, { 12, 8, 4, 0 }, { 1008, 8, 1000, 0 }, { 1010, 8, 1000, 2 } };

TEST_EACH(a_frequent_finding_is_shown_in_full_in_rows_or_counted, amounts)
{
	struct muster_run run;
	struct muster_report report;
	static struct muster_finding findings[1010];
	char rest[64];
	fixture_run(&run);
	fixture_report(&report, &run);
	for (size_t i = 0; i < amounts[_i].findings; i++)
		findings[i] = (struct muster_finding){
			.check = "x", .status = MUSTER_FAIL, .node = "sim-1", .rank = -1, .observed = "o", .unit = ""
		};
	report.findings = findings;
	report.finding_count = amounts[_i].findings;
	char *text = text_of(&report);
	ck_assert_uint_eq(fixture_count(text, "<article class='finding fail' id='f"), amounts[_i].whole);
	ck_assert_uint_eq(fixture_count(text, "<tr id='f"), amounts[_i].rows);
	snprintf(rest, sizeof rest, "<p>%zu more findings are only counted", amounts[_i].counted);
	ck_assert_int_eq(strstr(text, rest) != NULL, amounts[_i].counted > 0);
	free(text);
	muster_run_done(&run);
}

static void set_text(struct muster_node *node, const char *metric, const char *text)
{
	for (size_t i = 0; i < node->samples.count; i++)
		if (strcmp(node->samples.items[i].metric->name, metric) == 0)
			node->samples.items[i].value = text ? muster_string(text) : muster_null();
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
	struct muster_run run;
	struct muster_report report;
	synthetic_run(&run, 16);
	fixture_report(&report, &run);
	report.finding_count = 0;
	for (size_t i = 0; i < 2; i++) {
		set_text(&run.nodes[i], "node.slurm_topology", _i == 1 ? (i ? "s0.s2" : "s0.s10") : NULL);
		if (_i > 0)
			forget_fabric(&run.nodes[i]);
	}
	char *text = text_of(&report), *map = strstr(text, "<section id='map'");
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
	free(text);
	muster_run_done(&run);
}

TEST(the_map_shows_findings_at_their_gpu_and_port_and_what_was_not_measured)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run); /* rank 15 is missing */
	fixture_report(&report, &run);
	char *text = text_of(&report);
	ck_assert_ptr_nonnull(
		strstr(text, "<a href='#n0-g4' class='fail' aria-label='GPU 000b:00:00.0 of sim-1: fail'>"));
	ck_assert_ptr_nonnull(
		strstr(text, "<a href='#n0-p3' class='warn' aria-label='port mlx5_ib3/1 of sim-1: warn'>"));
	ck_assert_ptr_nonnull(strstr(text, "<a href='#n1-g7' class='fail' aria-label='GPU unknown of sim-2: fail'>"));
	report.finding_count = 0;
	free(text);
	text = text_of(&report);
	ck_assert_ptr_nonnull(strstr(text, "<a href='#n1-g7' class='skip' tabindex='-1'>"));
	free(text);
	muster_run_done(&run);
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
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	fixture_report(&report, &run);
	char *text = text_of(&report), *section = strstr(text, "<section id='unevaluated'");
	ck_assert_ptr_nonnull(section);
	ck_assert_msg(strstr(section, reasons[_i]), "%s", reasons[_i]);
	free(text);
	muster_run_done(&run);
}

TEST(a_file_is_written_whole_or_not_at_all)
{
	struct muster_run run;
	struct muster_report report;
	struct muster_error err;
	char directory[] = "/tmp/muster-html-XXXXXX", line[32] = "";
	ck_assert_ptr_nonnull(mkdtemp(directory));
	char *path = muster_asprintf("%s/r.html", directory);
	fixture_run(&run);
	fixture_report(&report, &run);
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
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

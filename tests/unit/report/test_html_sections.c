/* SPDX-License-Identifier: Apache-2.0 */
/* test_html_sections.c - pictures of nodes, the matrix of exchanges and the inventory on the HTML page */
#include "report/html/html.h"
#include "report/html/places.h"

#include "check_main.h"
#include "run_text.h"
#include "report_rows.h"
#include "synthetic_run.h"
#include "unit/report/printed.h"

static void print(void (*section)(const struct muster_html *page), struct muster_finding *findings, size_t count)
{
	struct muster_html_places places;
	size_t length;
	muster_evaluate(&run, NULL, false, &report);
	report.findings = findings;
	report.finding_count = count;
	muster_html_places_make(&report, &places);
	struct muster_html page = { .report = &report, .places = &places, .out = open_memstream(&text, &length) };
	section(&page);
	fclose(page.out);
	muster_html_places_done(&places);
	report.finding_count = 0;
}

static void done(void)
{
	muster_report_done(&report);
	printed_done();
}

#define RANK(node, rank, gpu, numa, cpus, peers)                                                                       \
	node "/" rank " = " gpu " U\n" node "/" rank " rank.gpu_numa_node " numa "\n" node "/" rank                    \
	     " rank.cpu_list '" cpus "\n" node "/" rank " gpu.nvlink_peer_gpus gpu=" gpu " '" peers "\n"

static const char two_numas[] =
	"a node.numa_cpu_list numa_node=0 package=0 '0-3\na node.numa_cpu_list numa_node=1 package=1 '4-7\n"
	"a port.state port=m0/1 link_layer=InfiniBand ACTIVE\n"
	"a port.numa_node port=m0/1 link_layer=InfiniBand pci=x 1\n" RANK("a", "0", "1:0", "0", "0-3", "2:0")
		RANK("a", "1", "2:0", "1", "0-3", "1:0") RANK("a", "2", "3:0", "1", "4,6", "none");

TEST(a_picture_has_the_parts_of_the_node)
{
	run_text(&run, two_numas);
	print(muster_html_machines, NULL, 0);
	has("Picture of a</title>");
	has("2 NUMA nodes with CPUs, 3 GPUs, 1 RDMA port. NUMA node 0: 1 GPU, 0 ports. NUMA node 1: 2 GPUs, 1 "
	    "port. "
	    "2 GPUs reach each other over NVLink.</desc>");
	has(">CPU package 0</text>");
	has(">CPU package 1</text>");
	has(">NUMA node 1: CPUs 4-7</text>");
	has(">m0/1</text>");
	has_count("class='cpus'", 2);
	/* rank 0 has all CPUs of its node, rank 1 those of the other one, rank 2 two separate ones */
	has_count("class='mask'", 3);
	has_count("class='mask far'", 1);
	has("<li>Rank 1 may use CPUs that are not near its GPU: of NUMA node 0</li>");
	has_count("<li>", 1);
	has_count("class='nvlink'", 3); /* two GPUs, and the line that joins them */
}

TEST(parts_with_findings_are_marked)
{
	struct muster_finding findings[] = {
		{ .check = "x",
			.status = MUSTER_FAIL,
			.node = "a",
			.rank = 1,
			.gpu = "2:0",
			.gpu_index = -1,
			.unit = "" },
		{ .check = "y", .status = MUSTER_WARN, .node = "a", .rank = -1, .port = "m0/1", .unit = "" },
	};
	run_text(&run, two_numas);
	print(muster_html_machines, findings, LENGTH(findings));
	has_count("<g class='fail'>", 1);
	has_count("<g class='warn'>", 1);
	has_count("<g class='fine'>", 2);
	has_count("class='sign'", 2);
}

TEST(what_is_not_known_is_said)
{
	run_text(&run, "a/0 = 1:0 U\na/0 rank.gpu_numa_node -\na/0 rank.cpu_list '0-3\nb node");
	print(muster_html_machines, NULL, 0);
	has(">NUMA node not known</text>");
	has_count("<svg", 1 + count_of("<svg aria-hidden"));
	has_count("class='package'", 0);
}

TEST(healthy_nodes_have_one_picture_and_bad_ones_a_few)
{
	struct muster_finding findings[40];
	synthetic_run(&run, 8 * 64);
	for (int i = 0; i < LENGTH(findings); i++)
		findings[i] = (struct muster_finding)FINDING(FAIL, "x", run.nodes[2 + i].name, -1, NULL, NULL, "");
	print(muster_html_machines, findings, LENGTH(findings));
	has_count("<figure", 13);
	has("Not drawn: 28 more nodes with findings.");
	has_count("<details>", 2); /* three can be seen at once; the others, and that of the healthy node, are folded */
	char *folded = strstr(text, "<details>");
	ck_assert(folded > strstr(text, "<figure id='m4'>") && folded < strstr(text, "<figure id='m5'>"));
	has("<figure id='m0'>");
	has("<figure id='m2'>");
	lacks("<figure id='m1'>");
}

TEST(each_outlier_counts_and_a_few_are_drawn)
{
	struct muster_finding findings[200];
	synthetic_run(&run, LENGTH(findings));
	for (int i = 0; i < LENGTH(findings); i++)
		findings[i] = (struct muster_finding)FINDING(
			FAIL, "x", run.nodes[i / 8].name, i, NULL, NULL, "", .metric = "gpu.h2d_gbps");
	print(muster_html_values, findings, LENGTH(findings));
	has("<li>and 192 more</li>");
}

static void (*const sections[])(
	const struct muster_html *page) = { muster_html_machines, muster_html_matrix, muster_html_inventory };

TEST_EACH(no_name_is_markup, sections)
{
	static const char evil[] = "<script>'\"&]]>\x1b";
	fixture_run(&run);
	struct muster_node *node = fixture_node(&run, evil, 2);
	for (int i = 0; i < 2; i++) {
		struct muster_rank *rank = &node->ranks[i];
		char labels[200];
		rank->gpu = i ? "</svg><b>1" : "<i>0";
		snprintf(labels, sizeof labels, "kind=edge peer_node=<u> peer_gpu=%s nic=<n> transport=<t>",
			i ? "<i>0" : "</svg><b>1");
		fixture_sample(&run, &rank->samples, "pair.exchange_gbps", labels, muster_number(100));
		fixture_sample(
			&run, &rank->samples, "gpu.name", i ? "gpu=</svg><b>1" : "gpu=<i>0", muster_string(evil));
	}
	fixture_sample(&run, &node->samples, "port.state", "port=<p>/1 link_layer=<l>", muster_string(evil));
	fixture_sample(&run, &node->samples, "node.numa_cpu_list", "numa_node=0 package=0", muster_string(evil));
	fixture_sample(&run, &run.job.samples, "nccl.allreduce_busbw_gbps", "bytes=64 nodes=1 ranks=2", muster_null());
	print(sections[_i], NULL, 0);
	static const char *const never[] = { "<script", "<b>", "<i>", "<u>", "<n>", "<t>", "<p>/", "<l>", "\x1b",
		"]]>" };
	for (int i = 0; i < LENGTH(never); i++)
		lacks(never[i]);
	has("&lt;");
}

/* Two nodes of three GPUs; the exchange between the first two of b is slow. */
static const char exchanges[] =
	"a/0 = 1:0 U\na/1 = 2:0 U\nb/2 = 1:0 U\nb/3 = 2:0 U\n"
	"a/0 pair.exchange_gbps kind=edge peer_node=a peer_gpu=2:0 nic=none transport=P2P 100\n"
	"a/1 pair.exchange_gbps kind=edge peer_node=a peer_gpu=1:0 nic=none transport=P2P 98\n"
	"b/2 pair.exchange_gbps kind=edge peer_node=b peer_gpu=2:0 nic=none transport=P2P 40\n"
	"b/3 pair.exchange_gbps kind=edge peer_node=b peer_gpu=1:0 nic=none transport=P2P 50\n"
	"a/0 pair.exchange_gbps kind=rail peer_node=b peer_gpu=1:0 nic=m0 transport=NET 24\n"
	"a/0 pair.exchange_limit_gbps kind=rail peer_node=b peer_gpu=1:0 nic=m0 transport=NET path=network link=m0 25\n"
	"a/1 pair.exchange_gbps kind=rail peer_node=b peer_gpu=2:0 nic=m1 transport=NET -\n"
	"b/2 pair.exchange_gbps kind=rail peer_node=a peer_gpu=1:0 nic=m0 transport=NET 24";

TEST(a_cell_is_the_slower_direction_and_says_how_slow)
{
	struct muster_finding finding = FINDING(WARN, "pairs", "b", 2, NULL, NULL, "", .metric = "pair.exchange_gbps");
	run_text(&run, exchanges);
	print(muster_html_matrix, &finding, 1);
	has("<th scope='col'>GPU 0 - 1</th></tr>");
	has("<th scope='col'>GPU 0</th></tr>");
	/* the median of 98 and 40 is 69 */
	has("title='rank 1 with GPU 1:0 of a: 98 GB/s, 142 % of the median'>98</td>");
	has("<td class='warn' title='rank 2 with GPU 2:0 of b: 40 GB/s, 58 % of the median'>40 "
	    "<small>58&nbsp;%</small>");
	has("title='rank 0 with GPU 1:0 of b: 24 GB/s, 96 % of m0 (25 GB/s), ");
	has("<th scope='row'>limit</th><td class='none'>25</td>");
	has_count("aria-label='warn'", 1);
}

TEST(a_thousand_nodes_with_one_slow_exchange_are_two_rows)
{
	fixture_run(&run);
	for (int n = 0; n < 1024; n++) {
		struct muster_node *node = fixture_node(&run, muster_arena_printf(run.arena, "n%d", n), 2);
		node->ranks[0].gpu = "1:0";
		node->ranks[1].gpu = "2:0";
		for (int i = 0; i < 2; i++)
			fixture_sample(&run, &node->ranks[i].samples, "pair.exchange_gbps",
				i ? "kind=edge peer_node=x peer_gpu=1:0" : "kind=edge peer_node=x peer_gpu=2:0",
				muster_number(n == 700 ? 30 : 100 - n % 3));
	}
	print(muster_html_matrix, NULL, 0);
	has(">n700</a></th><td class='shade3' ");
	has("<th scope='row'>1023 other nodes, lowest of each column</th><td class='shade0' title='rank 4 ");
	has_count("<tr>", 4);
}

TEST(the_inventory_marks_differences)
{
	run_text(&run, "n1 node.kernel 'A\nn2 node.kernel 'B\nn3 node.kernel 'A\nn1 node.vm_size -\n"
		       "n2 node.vm_size 'X\nn3 node.vm_size 'Y");
	print(muster_html_inventory, NULL, 0);
	has("<th scope='row'>kernel</th><td>A</td><td>n[1,3]</td>");
	has("<td><mark>B</mark> <span class='note'>most nodes: A</span></td><td>n2</td>");
	has("unknown</mark> <span class='note'>differs</span> <span class='note'>not supported here</span>");
}

TEST_MAIN(.teardown = done, .timeout = 200)

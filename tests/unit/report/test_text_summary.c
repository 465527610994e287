/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_summary.c - what people and scripts read on the terminal */
#include "muster/report.h"

#include "report/print_escaped.h"
#include "unit/report/printed_fixture.h"

#include "check_main.h"
#include "muster/run.h"
#include <stdlib.h>

static struct muster_layout layout;
static const char *path;

static void print_text(const struct muster_report *what, FILE *out)
{
	muster_report_print_text(what, &layout, out);
}

static void print(void)
{
	print_with(print_text);
}

static void print_line(const struct muster_report *what, FILE *out)
{
	muster_report_print_line(what, path, out);
}

static void line_is(const char *at, const char *expected)
{
	path = at;
	ck_assert_str_eq(print_with(print_line), expected);
}

static const char *const top =
	"FAIL: 2 of 2 nodes failed.\n"
	"To exclude the failed nodes, use this option:\n"
	"  --exclude=sim-[1-2]\n"
	"Standard_ND96asr_v4, 2 nodes, 16 ranks, profile standard, 4.2 s, job 4711, muster " MUSTER_VERSION "\n"
	"SIMULATED: results come from simulated hardware, not from a real machine\n"
	"\n"
	"FAIL sim-2, rank 15 [rank.missing]\n"
	"  observed  no message within 60 s                    expected  a report from every rank\n"
	"  blocked   2 checks not evaluated because of this: copy.h2d, copy.d2h\n"
	"\n"
	"inconclusive sim-2, GPU 0001:00:00.0, rank 8 [probe.gpu_copy]\n"
	"  observed  crashed: signal 11 in cuMemcpyHtoDAsync_v2\n"
	"  expected  the probe to end well\n"
	"  evidence  last words: free(): invalid pointer\n"
	"  blocked   2 checks not evaluated because of this: copy.h2d, copy.d2h\n"
	"\n"
	"FAIL sim-1, GPU 4 (000b:00:00.0), rank 4: copies to the GPU [copy.h2d]\n"
	"  observed  11.2 GB/s, 36 % of PCIe 4.0 x16 (31.5 GB/s)\n"
	"  expected  at least 21 GB/s\n"
	"  action    reset-gpu: reseat it: see \"nvidia-smi -q\"\n"
	"  source    vendor's guide (specified)\n"
	"\n"
	"warn sim-1, port mlx5_ib3/1 [ib.state]\n"
	"  observed  INIT                                      expected  ACTIVE\n"
	"\n"
	"warn whole job, bytes 8 GiB, nodes 2 [ring.busbw]\n"
	"  observed  170.5 GB/s                                expected  at least 180 GB/s\n"
	"\n"
	"what it means:\n"
	"  muster explain rank.missing copy.h2d probe.gpu_copy ib.state ring.busbw --sku Standard_ND96asr_v4\n"
	"\n"
	"node   metadata  ib_link  gpu_copy        nccl_allreduce\n"
	"sim-1  pass      warn 1   FAIL 1          pass\n"
	"sim-2  FAIL 1    pass     inconclusive 1  pass\n"
	"job    n/a       n/a      n/a             warn 1\n"
	"(26 more columns: all pass or n/a)\n"
	"\n"
	"also in the kernel's log\n"
	"  text: 2 times on 2 nodes\n"
	"  SXid text: 2 times on 2 nodes\n"
	"  Xid text: 2 times on 2 nodes\n"
	"\n"
	"also on the nodes\n"
	"  sim-1: other Slurm jobs text\n"
	"  sim-1, GPU 0001:00:00.0, shared (text): text\n"
	"  sim-1, GPU 0002:00:00.0, shared (text): text\n"
	"  sim-1, GPU 0003:00:00.0, shared (text): text\n"
	"  sim-1, GPU 0004:00:00.0, shared (text): text\n"
	"  sim-1, GPU 000b:00:00.0, shared (text): text\n"
	"  sim-1, GPU 000c:00:00.0, shared (text): text\n"
	"  sim-1, GPU 000d:00:00.0, shared (text): text\n"
	"  and 9 more, all of them in the JSON report\n"
	"\n";

static const char figures[] =
	"matrix products, TFLOP/s       lowest  highest  required  warning  share of the limit          result\n"
	"BF16                            253.7    253.7         -        -  81 % of the BF16 limit      no check\n"
	"BF16, end of the soak             250      250         -        -  80 % of the BF16 limit      no check\n"
	"FP64                             18.9     18.9         -        -  -                           no check\n"
	"FP8                               500      500         -        -  -                           no check\n"
	"\n"
	"bandwidth, GB/s                lowest  highest  required  warning  share of the limit          result\n"
	"H2D, one GPU at a time          26.06     26.1         -        -  83 % of PCIe 4.0 x16        FAIL: 1 of 15 "
	"GPUs\n"
	"D2H, one GPU at a time          25.06     25.1         -        -  80 % of PCIe 4.0 x16        no threshold\n"
	"H2D, all GPUs at once           25.06     25.1         -        -  80 % of PCIe 4.0 x16        no check\n"
	"D2H, all GPUs at once           24.07     24.1         -        -  76 to 77 % of PCIe 4.0 x16  no check\n"
	"GPU memory, written              1348     1350         -        -  87 % of the memory's limit  no check\n"
	"GPU memory, read                 1398     1400         -        -  90 % of the memory's limit  no check\n"
	"all-reduce busbw, 8 B           229.5    229.5         -        -  76 % of NVLink (12 x 25.0)  no check\n"
	"all-reduce busbw, 1 MiB         229.5    229.5         -        -  76 % of NVLink (12 x 25.0)  no check\n"
	"all-reduce busbw, 16 MiB        229.5    229.5         -        -  76 % of NVLink (12 x 25.0)  no check\n"
	"all-reduce busbw, 512 MiB       229.5    229.5         -        -  76 % of NVLink (12 x 25.0)  no check\n"
	"all-reduce busbw, 8 GiB         229.5    229.5         -        -  76 % of NVLink (12 x 25.0)  no check\n"
	"all-to-all busbw, 8 B             164      164         -        -  55 % of NVLink (12 x 25.0)  no check\n"
	"all-to-all busbw, 1 MiB           164      164         -        -  55 % of NVLink (12 x 25.0)  no check\n"
	"all-to-all busbw, 16 MiB          164      164         -        -  55 % of NVLink (12 x 25.0)  no check\n"
	"all-to-all busbw, 512 MiB         164      164         -        -  55 % of NVLink (12 x 25.0)  no check\n"
	"all-to-all busbw, 8 GiB           164      164         -        -  55 % of NVLink (12 x 25.0)  no check\n"
	"all-gather busbw, 8 B           143.5    143.5         -        -  48 % of NVLink (12 x 25.0)  no check\n"
	"all-gather busbw, 1 MiB         143.5    143.5         -        -  48 % of NVLink (12 x 25.0)  no check\n"
	"all-gather busbw, 16 MiB        143.5    143.5         -        -  48 % of NVLink (12 x 25.0)  no check\n"
	"all-gather busbw, 512 MiB       143.5    143.5         -        -  48 % of NVLink (12 x 25.0)  no check\n"
	"all-gather busbw, 8 GiB         143.5    143.5         -        -  48 % of NVLink (12 x 25.0)  no check\n"
	"reduce-scatter busbw, 8 B       141.6    141.6         -        -  47 % of NVLink (12 x 25.0)  no check\n"
	"reduce-scatter busbw, 1 MiB     141.6    141.6         -        -  47 % of NVLink (12 x 25.0)  no check\n"
	"reduce-scatter busbw, 16 MiB    141.6    141.6         -        -  47 % of NVLink (12 x 25.0)  no check\n"
	"reduce-scatter busbw, 512 MiB   141.6    141.6         -        -  47 % of NVLink (12 x 25.0)  no check\n"
	"reduce-scatter busbw, 8 GiB     141.6    141.6         -        -  47 % of NVLink (12 x 25.0)  no check\n"
	"\n"
	"training steps: median 0.9986 to 1 ms, 99th percentile 0.9986 to 1 ms, overlap 100 %, products differ by "
	"100.0 %\n"
	"\n"
	"ranks: products and steps of 15 ranks are within 2 % of each other\n"
	"\n"
	"51 results: 10 passed, 33 recorded only (no threshold), 2 warned, 2 failed, 1 inconclusive, 2 blocked, 1 not "
	"applicable\n"
	"\n";

TEST(the_summary_reads_from_the_worst_to_the_figures)
{
	with_everything();
	struct muster_tally tallies[16];
	memcpy(tallies, report.tallies, report.tally_count * sizeof *tallies);
	for (size_t i = 0; i < report.tally_count; i++)
		if (strcmp(tallies[i].check, "copy.h2d") == 0)
			tallies[i].title = "copies to the GPU";
	report.tallies = tallies;
	print();
	ck_assert_int_eq(strncmp(text, top, strlen(top)), 0);
	ck_assert_str_eq(text + strlen(top), figures);
}

TEST(a_pass_is_a_few_calm_lines)
{
	synthetic_run(&run, 8);
	run.job.simulated = false;
	fixture_report(&report, &run);
	report.verdict = MUSTER_PASS;
	report.finding_count = 0;
	memset(report.count, 0, sizeof report.count);
	report.count[MUSTER_PASS] = 40;
	report.tally_count = 3; /* those that hold values against a figure */
	print();
	begins("PASS\nStandard_ND96asr_v4, 1 node, 8 ranks, ");
	has("\n\n40 results: 40 passed\n\n");
	lacks("SIMULATED");
	lacks("\nnode ");
	report.count[MUSTER_WARN] = 3;
	print();
	begins("PASS, with 3 warnings\n");
}

TEST(with_many_nodes_only_those_with_findings_have_rows)
{
	with_ranks(160);
	print();
	has_count("\nsim-", 2);
	has("\n18 other nodes  pass\n");
}

TEST(a_fault_of_all_nodes_does_not_hide_another)
{
	with_ranks(800);
	struct muster_finding *findings = muster_calloc(201, sizeof *findings);
	for (size_t i = 0; i < 200; i++)
		findings[i] = (struct muster_finding)FINDING(
			FAIL, "gpu.ecc", run.nodes[i / 2].name, -1, NULL, NULL, "", .metric = "gpu.ecc");
	findings[200] = (struct muster_finding)FINDING(
		FAIL, "copy.h2d", run.nodes[99].name, 799, NULL, NULL, "", .metric = "gpu.h2d_gbps");
	only_findings(findings, 201);
	print();
	has("\n2 kinds of faults\n  FAIL  100 nodes (200 findings)  gpu.ecc: gpu.ecc\n      sim-[1-100]\n"
	    "  FAIL  sim-100                   copy.h2d: copy.h2d\n");
	has_count("\nFAIL sim-", 3);
	has_count("\nFAIL sim-100, rank 799 [copy.h2d]\n", 1);
	has("\nand 198 more, all of them in the JSON report:\n  FAIL gpu.ecc: 198 findings on 99 nodes: sim-[2-100]\n");
	has("\nnode        gpu     gpu_copy\nsim-[1-99]  FAIL 2  pass\nsim-100     FAIL 2  FAIL 1\n");
	free(findings);
}

TEST(of_many_blocked_checks_the_first_dozen_is_named)
{
	static const char *ids[] = { "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13" };
	struct muster_finding finding =
		FINDING(FAIL, "probe.gpu", NULL, -1, NULL, NULL, "", .blocked = ids, .blocked_count = 12);
	with_ranks(8);
	only_findings(&finding, 1);
	print();
	has("  blocked   12 checks not evaluated because of this: c1, c2, c3, c4, c5, "
	    "c6, c7, c8, c9, c10, c11, c12\n");
	finding.blocked_count = 13;
	print();
	has(", c11, c12 and 1 more\n");
}

/* ---- the first line ---- */

static const struct {
	int ranks;
	struct muster_finding findings[3];
	const char *line;
} first_lines[] = {
	{ 24, { { .check = "gpu.count", .status = MUSTER_FAIL, .node = "sim-2" } },
		"FAIL: 1 of 3 nodes failed.\nTo exclude the failed node, use this option:\n"
		"  --exclude=sim-2\nx, 3 nodes" },
	{ 24,
		{ { .check = "gpu.count", .status = MUSTER_FAIL, .node = "sim-3" },
			{ .check = "ib.count", .status = MUSTER_FAIL, .node = "sim-1" },
			{ .check = "ib.state", .status = MUSTER_FAIL, .node = "sim-1" } },
		"FAIL: 2 of 3 nodes failed.\n\n3 kinds of faults\n  FAIL  sim-3  gpu.count: gpu.count\n" },
	/* of one node nothing is left without it */
	{ 8, { { .check = "gpu.count", .status = MUSTER_FAIL, .node = "sim-1" } },
		"FAIL: 1 of 1 node failed.\nx, 1 node" },
	{ 24, { { .check = "ring.busbw", .status = MUSTER_FAIL, .metric = "nccl.allreduce_busbw_gbps" } },
		"FAIL: the job failed, and no single node is known to be the cause.\n" },
	/* another node would do no better */
	{ 24, { { .check = "launch.gpu", .status = MUSTER_FAIL, .node = "sim-1", .metric = "rank.mpi_size" } },
		"FAIL: the launch of the job is wrong on 1 of 3 nodes.\n" },
	{ 24,
		{ { .check = "gpu.count", .status = MUSTER_FAIL, .node = "sim-2" },
			{ .check = "launch.gpu", .status = MUSTER_FAIL, .node = "sim-1", .metric = "rank.mpi_size" } },
		"FAIL: 1 of 3 nodes failed, and the launch of the job is wrong on 1 more.\n" },
	{ 24, { { .check = "gpu.name", .status = MUSTER_INCONCLUSIVE, .node = "sim-1" } },
		"INCONCLUSIVE: no check failed, but 1 result could not be evaluated\n" },
	{ 24, { { .check = "gpu.clock", .status = MUSTER_WARN, .node = "sim-1" } }, "PASS, with 1 warning\n" },
	{ 24, { { 0 } }, "PASS\n" },
};

static void first_report(size_t at)
{
	static struct muster_finding findings[3];
	synthetic_run(&run, first_lines[at].ranks);
	report = (struct muster_report){ .run = &run, .sku = "x", .findings = findings };
	memcpy(findings, first_lines[at].findings, sizeof findings);
	while (report.finding_count < 3 && findings[report.finding_count].check) {
		findings[report.finding_count].rank = -1;
		report.count[findings[report.finding_count++].status]++;
	}
	report.verdict = report.count[MUSTER_FAIL]           ? MUSTER_FAIL
			 : report.count[MUSTER_INCONCLUSIVE] ? MUSTER_INCONCLUSIVE
							     : MUSTER_PASS;
}

TEST_EACH(the_first_line_says_what_to_do, first_lines)
{
	first_report((size_t)_i);
	print();
	begins(first_lines[_i].line);
}

TEST(a_warning_that_fails_the_run_is_said)
{
	first_report(7);
	report.strict = MUSTER_STRICT;
	report.verdict = MUSTER_FAIL;
	print();
	begins("FAIL: 1 warning, and with --strict a warning fails the run\n");
	has("\nStrict: inconclusive results fail the run, and warnings unless the limit is inferred\n");
	report.findings[0].certainty = "inferred";
	report.count[MUSTER_INCONCLUSIVE] = 1;
	print();
	begins("FAIL: 1 result could not be evaluated, and with --strict this fails the run\n");
}

/* However long; the command is for a shell. A name that no shell could take is in no list. */
TEST(the_option_that_excludes_nodes_stands_on_a_line_of_its_own)
{
	struct muster_finding findings[25];
	synthetic_run(&run, 400);
	layout.columns = 80;
	report = (struct muster_report){ .run = &run, .sku = "x", .findings = findings, .verdict = MUSTER_FAIL };
	for (size_t i = 0; i < 25; i++)
		findings[i] =
			(struct muster_finding)FINDING(FAIL, "gpu.count", run.nodes[2 * i].name, -1, NULL, NULL, NULL);
	report.finding_count = report.count[MUSTER_FAIL] = 25;
	print();
	begins("FAIL: 25 of 50 nodes failed.\n\n1 kind of faults\n  FAIL  25 nodes  gpu.count: gpu.count\n");
	has("\nTo exclude the failed nodes, use this option:\n  --exclude=sim-[1,3,5,");
	has(",45,47,49]\n\nx, 50 nodes");
	layout.path = "it's/a.json";
	print();
	has("\nTo exclude the failed nodes, use this option; the command prints it again:\n  --exclude=sim-[1,3,");
	has(",49]\n  muster nodes 'it'\\''s/a.json' --bad --format exclude\n\nx, 50 nodes");
	layout.path = "/tmp/a.json";
	report.finding_count = report.count[MUSTER_FAIL] = 1;
	print();
	begins("FAIL: 1 of 50 nodes failed.\n"
	       "To exclude the failed node, use this option; the command prints it again:\n"
	       "  --exclude=sim-1\n  muster nodes /tmp/a.json --bad --format exclude\nx, 50 nodes");
	run.nodes[0].name = "$(reboot)";
	findings[0].node = run.nodes[0].name;
	print();
	begins("FAIL: 1 of 50 nodes failed.\n"
	       "Exclude the failed node by hand: a name cannot be in a host list (the JSON\n"
	       "  report has all names)\nx, 50 nodes");
}

/* Beyond the last line of the screen the first one is gone. */
TEST(a_text_that_is_longer_than_the_terminal_ends_with_its_verdict)
{
	with_everything();
	print();
	size_t lines = count_of("\n");
	layout.lines = lines + 1;
	print();
	has_count("FAIL: 2 of 2 nodes failed.\n", 1);
	layout.lines = lines;
	print();
	has_count("FAIL: 2 of 2 nodes failed.\n", 2);
	has(" not applicable\n\nFAIL: 2 of 2 nodes failed.\n");
}

/* Of three nodes and more with findings on several, details of the first two of a kind. */
TEST(what_stands_for_several_nodes_is_said_once)
{
	static const char *const advice = "look at it";
	struct muster_finding findings[6];
	with_ranks(64);
	for (size_t i = 0; i < 6; i++)
		findings[i] = (struct muster_finding)FINDING(FAIL, "ib.state", run.nodes[i].name, -1, "ACTIVE", "DOWN",
			"", .metric = "port.state", .advice = advice, .action_code = "fix-fabric",
			.source = "the source");
	only_findings(findings, 6);
	print();
	has("\n1 kind of faults\n  FAIL  6 nodes  ib.state: ");
	has("\n      sim-[1-6]\n      fix-fabric: look at it\n");
	has_count("\n  source    the source\n", 1);
	has_count("\n  action    fix-fabric: look at it\n", 2);
	has("\nand 4 more, all of them in the JSON report:\n  FAIL ib.state on 4 nodes: sim-[3-6]\n");
	has("\nnode       ib_link\nsim-[1-6]  FAIL 1\n2 other nodes  pass\n");
}

TEST_LOOP(no_line_is_wider_than_a_terminal, 80, 83)
{
	size_t width = layout.columns = _i < 82 ? (size_t)_i : 200;
	char name[256], words[1200];
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	for (size_t i = 0; i < sizeof words - 1; i++)
		words[i] = i % 7 == 6 ? ' ' : 'w';
	words[sizeof words - 1] = '\0';
	with_ranks(24);
	struct muster_finding finding = FINDING(FAIL, "gpu.name", NULL, 3, words, name, "", .gpu = name,
		.gpu_index = -1, .metric = "gpu.name", .evidence = words, .advice = words, .source = words);
	run.nodes[1].name = name;
	finding.node = name;
	only_findings(&finding, 1);
	report.unwritten = words;
	print();
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		ck_assert_msg(strncmp(at, "  --exclude=", 12) == 0 || strcspn(at, "\n") <= width, "%s", at);
	has("\nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...  ");
}

/* Of ports on their node, of the whole job once, and nothing where something is worse or does not apply. */
TEST(the_table_shows_what_is_blocked)
{
	static const char *rings[] = { "ib.rate", "ring.gdr", "ring.busbw", "no.such" }, *more[] = { "ring.busbw" };
	struct muster_finding findings[] = {
		FINDING(FAIL, "gpu.name", "sim-1", 0, NULL, NULL, NULL, .metric = "gpu.name", .blocked = rings,
			.blocked_count = 4),
		FINDING(FAIL, "gpu.name", "sim-2", 0, NULL, NULL, NULL, .metric = "gpu.name", .blocked = more,
			.blocked_count = 1),
		FINDING(SKIP, "probe.fabric", "sim-2", 0, NULL, NULL, NULL, .blocked = rings, .blocked_count = 2),
	};
	struct muster_tally tallies[] = {
		{ .check = "ring.gdr", .metric = "rank.nccl_gdr", .probe = "nccl_allreduce" },
		{ .check = "ib.rate", .metric = "port.rate_gbps", .probe = "ib_link" },
		{ .check = "gpu.name", .metric = "gpu.name", .probe = "gpu" },
		{ .check = "ring.busbw", .metric = "nccl.allreduce_busbw_gbps", .probe = "nccl_allreduce" },
	};
	report = (struct muster_report){
		.run = &run,
		.sku = "x",
		.findings = findings,
		.finding_count = sizeof findings / sizeof *findings,
		.tallies = tallies,
		.tally_count = sizeof tallies / sizeof *tallies,
		.count = { [MUSTER_FAIL] = 2, [MUSTER_BLOCKED] = 4 },
	};
	fixture_run(&run);
	print();
	has("\n6 results: 2 failed, 4 blocked\n");
	has("\nnode   gpu     ib_link    nccl_allreduce\n"
	    "sim-1  FAIL 1  blocked 1  blocked 1\n"
	    "sim-2  FAIL 1  pass       pass\n"
	    "job    n/a     n/a        blocked 1\n"
	    "(27 more columns: all pass or n/a)\n");
}

TEST(colours_come_only_when_asked_for)
{
	with_everything();
	print();
	lacks("\033");
	char *plain = strdup(text);
	layout.colour = true;
	print();
	layout.colour = false;
	has("\n\033[1;31mFAIL\033[0m sim-1, GPU 4 (000b:00:00.0), rank 4 [copy.h2d]\n");
	/* without its colours it is the same text */
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	}
	*to = '\0';
	ck_assert_str_eq(text, plain);
	free(plain);
}

TEST(names_from_machines_cannot_drive_the_terminal)
{
	synthetic_run(&run, 8);
	run.nodes[0].name = "evil\033[2J\r\nMUSTER PASS";
	fixture_report(&report, &run);
	struct muster_finding finding = FINDING(FAIL, "gpu.name", run.nodes[0].name, 0, "\x1b]0;x\x07",
		"\xe2\x80\xaetxt", "\b", .gpu = "\xff\x07", .gpu_index = -1, .port = "\x7f", .metric = "gpu.name",
		.value = muster_string("x"), .advice = "\f", .source = "\v", .certainty = "\xc2\x85");
	only_findings(&finding, 1);
	report.sku = "sku\nMUSTER PASS";
	print();
	for (const char *at = text; *at; at++)
		ck_assert_msg((*at >= 0x20 && *at < 0x7f) || *at == '\n', "byte 0x%02x", (unsigned char)*at);
	lacks("\nMUSTER PASS");
	has("FAIL evil\\x1b[2J\\x0d\\nMUSTER PASS, GPU \\xff\\x07, port \\x7f, rank 0 [gpu.name]\n");
	line_is("\033[2J", "MUSTER FAIL sku=sku%0AMUSTER%20PASS nodes=1 ranks=8 failed=2 warned=2 report=%1B[2J\n");
}

static const struct {
	const char *text, *wanted;
} safe_cases[] = {
	{ "plain", "plain" },
	{ "\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80", "\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "a\tb\nc\rd", "a\\tb\\nc\\x0dd" },
	{ "\x1b[31m\x7f", "\\x1b[31m\\x7f" },
	{ "\xc2\x9b"
	  "1m",
		"\\x9b1m" }, /* C1: the one-character form of ESC [ */
	{ "\xe2\x80\xae"
	  "gpj.exe",
		"\\u202egpj.exe" }, /* right-to-left override */
	{ "\xef\xbb\xbf", "\\ufeff" },
	{ "\xff\xfe", "\\xff\\xfe" },
	{ "\xc0\x80", "\\xc0\\x80" },                   /* overlong NUL */
	{ "\xe0\x80\x9b", "\\xe0\\x80\\x9b" },          /* overlong C1 */
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* a surrogate */
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* beyond U+10FFFF */
	{ "\xe2\x82", "\\xe2\\x82" },                   /* cut short */
	{ NULL, "-" },
};

TEST_EACH(only_plain_text_is_printed, safe_cases)
{
	size_t length = 0, points = 0;
	FILE *out = open_memstream(&text, &length);
	size_t columns = muster_print_escaped(out, safe_cases[_i].text);
	fclose(out);
	ck_assert_str_eq(text, safe_cases[_i].wanted);
	for (const char *at = text; *at; at++)
		points += ((unsigned char)*at & 0xc0) != 0x80;
	ck_assert_uint_eq(columns, points);
	ck_assert_uint_eq(columns, muster_print_escaped(NULL, safe_cases[_i].text));
}

TEST(what_is_formatted_is_escaped_as_well)
{
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	muster_print_text(out, "%s on %d:\t%s", "a\x1b[1m", 3, "\xc2\xb5\xff");
	fclose(out);
	ck_assert_str_eq(text, "a\\x1b[1m on 3:\\t\xc2\xb5\\xff");
	free(text);
	text = muster_escaped("a\nb");
	ck_assert_str_eq(text, "a\\nb");
}

static const struct {
	enum muster_status verdict;
	const char *path, *line;
} last_lines[] = {
	{ MUSTER_PASS, "muster-report.json",
		"MUSTER PASS sku=Standard_ND96asr_v4 nodes=2 ranks=16 failed=2 warned=2 report=muster-report.json\n" },
	{ MUSTER_FAIL, "muster-report.json",
		"MUSTER FAIL sku=Standard_ND96asr_v4 nodes=2 ranks=16 failed=2 warned=2 report=muster-report.json\n" },
	{ MUSTER_INCONCLUSIVE, "muster-report.json",
		"MUSTER INCONCLUSIVE sku=Standard_ND96asr_v4 nodes=2 ranks=16 failed=2 warned=2 "
		"report=muster-report.json\n" },
	/* no value has a blank */
	{ MUSTER_FAIL, "my reports/100%\t\xc2\xb5.json",
		"MUSTER FAIL sku=Standard_ND96asr_v4 nodes=2 ranks=16 failed=2 warned=2 "
		"report=my%20reports/100%25%09%C2%B5.json\n" },
};

TEST_EACH(the_last_line_is_stable, last_lines)
{
	with_everything();
	report.verdict = last_lines[_i].verdict;
	line_is(last_lines[_i].path, last_lines[_i].line);
}

TEST(a_report_that_is_not_written_by_rank_0_or_not_at_all_says_so)
{
	with_everything();
	run.job.assembled = run.job.beside_jobs = true;
	report.unwritten = "report.json: No space left on \x1b[2Jdevice";
	print();
	has("\nOther jobs used CPUs of the node meanwhile");
	has("\nBuilt by muster assemble from files on disk");
	has("\nThe JSON report could not be written: report.json: No space left on \\x1b");
}

TEST(ranks_without_a_node_are_no_node)
{
	with_ranks(8);
	run.job.ranks = 9;
	struct muster_node *unknown = muster_run_add_node(&run, "?");
	muster_node_add_rank(unknown, 8)->missing = "no message";
	line_is("-", "MUSTER FAIL sku=Standard_ND96asr_v4 nodes=1 ranks=9 failed=2 warned=2 report=-\n");
}

static void set_sample(struct muster_samples *samples, const char *metric, struct muster_value value)
{
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, metric) == 0)
			samples->items[i].value = value;
}

static const struct {
	double load;
	const char *jobs, *sharing, *program, *shown;
} others[] = {
	{ 47.9, "none", "exclusive", "1 a", NULL },
	{ 48, "none", "exclusive", "none",
		"\n\nalso on the nodes\n"
		"  sim-1: 48 processes ran on its 96 CPUs in the minute before the run (load average)\n\n" },
	{ 0, "71 72", "mps", "none", "\n\nalso on the nodes\n  sim-1: other Slurm jobs 71 72\n\n" },
	{ 0, "none", "mps", "1 a\x1b[2J",
		"\n\nalso on the nodes\n  sim-1, GPU 0001:00:00.0, shared (mps): 1 a\\x1b[2J\n\n" },
};

TEST_EACH(others_on_the_nodes_are_shown_where_they_are_no_finding, others)
{
	with_ranks(1);
	struct muster_samples *node = &run.nodes[0].samples, *rank = &run.nodes[0].ranks[0].samples;
	set_sample(node, "node.cpus", muster_number(96));
	set_sample(node, "node.load_average", muster_number(others[_i].load));
	set_sample(node, "node.other_jobs", muster_string(others[_i].jobs));
	set_sample(rank, "rank.gpu_sharing", muster_string(others[_i].sharing));
	set_sample(rank, "gpu.foreign_process", muster_string(others[_i].program));
	muster_samples_add(rank, *muster_sample_named(rank, "gpu.foreign_process")); /* at the end of the run */
	print();
	if (others[_i].shown)
		has(others[_i].shown);
	else
		lacks("also on the nodes");
}

static void place_node(struct muster_node *node, const char *place)
{
	for (size_t i = 0; i < node->samples.count; i++) {
		struct muster_sample *sample = &node->samples.items[i];
		if (strcmp(sample->metric->name, "node.slurm_topology") == 0) {
			sample->value = muster_string(place);
			sample->reason = NULL;
		}
	}
}

TEST(nodes_stand_under_the_switch_that_slurm_has_them_in)
{
	synthetic_run(&run, 56);
	muster_node_add_rank(muster_run_add_node(&run, "?"), 56)->missing = "no message";
	for (size_t i = 0; i < 6; i++)
		place_node(&run.nodes[i], i % 2 ? "s0.s10\x1b[2J" : "s0.s9");
	fixture_report(&report, &run);
	print();
	has("\n\nplaced by Slurm\n  s0.s9: sim-[1,3,5]\n  s0.s10\\x1b[2J: sim-[2,4,6]\n"
	    "  unknown: sim-7\n\nalso in the kernel's log\n");
	print_with(muster_report_print_markdown);
	has("\n\n| placed by Slurm | nodes |\n|---|---|\n| s0.s9 | sim-\\[1,3,5\\] |\n"
	    "| s0.s10\\\\x1b\\[2J | sim-\\[2,4,6\\] |\n| unknown | sim-7 |\n\n");
}

static void add_event(size_t node, const char *gpu, const char *code, double count)
{
	const struct muster_metric *metrics[] = { muster_metric_find("node.xid_age_hours"),
		muster_metric_find("node.xid_count") };
	struct muster_label *labels = muster_arena_alloc(run.arena, 4 * sizeof *labels);
	const char *const values[] = { gpu, code, "job", "before" };
	for (size_t i = 0; i < 4; i++)
		labels[i] = (struct muster_label){ metrics[0]->labels[i], muster_string(values[i]) };
	for (size_t i = 0; i < 2; i++)
		muster_samples_add(&run.nodes[node].samples, (struct muster_sample){ .metric = metrics[i],
								     .labels = labels,
								     .label_count = 4,
								     .value = muster_number(i == 0 ? 1.5 : count) });
}

/* An event with a finding is told there; the others are counted over all nodes. */
TEST(events_of_the_log_without_a_finding_are_listed)
{
	synthetic_run(&run, 3 * SYNTHETIC_PER_NODE);
	add_event(0, "0001:00:00.0", "31", 2);
	add_event(1, "0001:00:00.0", "31", 5);
	add_event(1, "0002:00:00.0", "31", 1);
	add_event(2, "0001:00:00.0", "4\x1b[2J", 1);
	add_event(2, "0001:00:00.0", "79", 1);
	fixture_report(&report, &run);
	const struct muster_samples *samples = &run.nodes[2].samples;
	const struct muster_sample *age = &samples->items[samples->count - 2];
	struct muster_finding found[] = { FINDING(FAIL, "history.xid", "sim-3", -1, "no Xid 79 within 24 h",
		"Xid 79, GPU has fallen off the bus, once, 1.5 h ago", "", .gpu = "0001:00:00.0", .gpu_index = -1,
		.metric = "node.xid_age_hours", .labels = age->labels, .label_count = 4) };
	only_findings(found, 1);
	print();
	has("\n  Xid text: 3 times on 3 nodes\n  Xid 31: 8 times on 2 nodes\n"
	    "  Xid 4\\x1b[2J: once on sim-3\n\n");
	/* what was observed names the event: its place is the GPU alone */
	has("\nFAIL sim-3, GPU 0001:00:00.0 [history.xid]\n");
	found[0].metric = "node.xid_count";
	print();
	has("\nFAIL sim-3, GPU 0001:00:00.0, code 79, of job, when before [history.xid]\n");
	found[0].metric = "node.xid_age_hours";
	for (int i = 0; i < 10; i++)
		add_event(0, "0001:00:00.0", muster_arena_printf(run.arena, "%d", 200 + i), 1);
	print();
	has("\n  and 7 more, all of them in the JSON report\n");
}

TEST(without_a_topology_nothing_is_said_of_places)
{
	with_everything();
	print();
	lacks("placed");
	run.node_count = 0;
	print();
	lacks("placed");
	run.node_count = 2;
}

TEST(of_many_switches_the_first_are_shown)
{
	synthetic_run(&run, 50 * SYNTHETIC_PER_NODE);
	for (size_t i = 0; i < run.node_count; i++)
		place_node(&run.nodes[i], muster_arena_printf(run.arena, "s%zu", i));
	fixture_report(&report, &run);
	print();
	has("\n  s0: sim-1\n  s1: sim-2\n");
	has("\n  s39: sim-40\n  and 10 more, all of them in the JSON report\n");
}

TEST_MAIN(.teardown = printed_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_figures.c - the table of bandwidths: what was measured, what is required, and what came of it */
#include "check_main.h"
#include "run_text.h"
#include "unit/report/printed.h"

#define RING "a/0 rank.local_rank 0\na/1 rank.local_rank 1\n"
#define BUSBW "job nccl.allreduce_busbw_gbps bytes="
#define COPY "H2D, one GPU at a time "

static const struct muster_label at_64[] = { { .key = "bytes", .value = { .type = MUSTER_NUMBER, .number = 64 } } };

static const struct muster_label edges[] = { { .key = "kind", .value = { .type = MUSTER_STRING, .string = "edge" } } };
static const struct muster_label rails[] = { { .key = "kind", .value = { .type = MUSTER_STRING, .string = "rail" } } };

#define H2D .check = "copy.h2d", .metric = "gpu.h2d_gbps", .unit = "GB/s"
#define SIZES .metric = "nccl.allreduce_busbw_gbps", .unit = "GB/s"

static const struct case_of {
	const char *run;
	struct muster_tally tallies[2];
	const char *lines; /* of the table, with one blank between its cells */
} cases[] = {
	{ "a/0 gpu.h2d_gbps gpu=g 26.1\na/1 gpu.h2d_gbps gpu=h 25\nb/2 gpu.h2d_gbps gpu=g 25.5\nb/3 gpu.h2d_gbps gpu=h "
	  "-",
		{ { 0 } }, COPY "25 26.1 - - - no check\n" },
	/* each metric has its own line */
	{ "a/0 gpu.h2d_together_gbps gpu=g 20\na/0 gpu.d2h_together_gbps gpu=g 21\na/0 gpu.d2h_gbps gpu=g 22",
		{ { 0 } },
		"D2H, one GPU at a time 22 22 - - - no check\n"
		"H2D, all GPUs at once 20 20 - - - no check\n"
		"D2H, all GPUs at once 21 21 - - - no check\n" },
	/* each size too, by size, wherever it stands */
	{ RING BUSBW "64 nodes=1 ranks=2 2\n" BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "1024 nodes=1 ranks=2 9",
		{ { 0 } },
		"all-reduce busbw, 64 B 2 2 - - - no check\n"
		"all-reduce busbw, 1 KiB 9 9 - - - no check\n"
		"all-reduce busbw, 1 MiB 300 300 - - - no check\n" },
	/* other collectives and exchanges beside it, each kind and direction by itself, with the checks of that kind */
	{ RING "job nccl.alltoall_busbw_gbps bytes=64 nodes=1 ranks=2 20\n"
	       "job nccl.allgather_busbw_gbps bytes=64 nodes=1 ranks=2 21\n"
	       "job nccl.reducescatter_busbw_gbps bytes=64 nodes=1 ranks=2 22\n"
	       "a/0 pair.exchange_gbps kind=edge peer_gpu=h 200\na/1 pair.exchange_gbps kind=edge peer_gpu=g 100\n"
	       "a/1 pair.exchange_limit_gbps kind=edge peer_gpu=g link=NVLink 250\n"
	       "a/0 pair.exchange_gbps kind=rail peer_gpu=h 24\n",
		{ { .metric = "pair.exchange_gbps",
			  .check = "pairs.edge_share",
			  .unit = "GB/s",
			  .has_least = true,
			  .least = 0.6,
			  .share_of = "pair.exchange_limit_gbps",
			  .where = edges,
			  .where_count = 1,
			  .count = { [MUSTER_PASS] = 1, [MUSTER_FAIL] = 1 } },
			{ .metric = "pair.exchange_gbps",
				.check = "pairs.rail_share",
				.unit = "GB/s",
				.has_least = true,
				.least = 0.8,
				.share_of = "pair.exchange_limit_gbps",
				.where = rails,
				.where_count = 1,
				.count = { [MUSTER_PASS] = 1 } } },
		"all-to-all busbw, 64 B 20 20 - - - no check\n"
		"all-gather busbw, 64 B 21 21 - - - no check\n"
		"reduce-scatter busbw, 64 B 22 22 - - - no check\n"
		"exchange within the node 100 200 60 % - 40 % of NVLink FAIL: 1 of 2 exchanges\n"
		"exchange with the next node 24 24 80 % - - pass\n" },
	{ "a/0 gpu.bidirectional_gbps gpu=g direction=d2h 20\na/0 gpu.bidirectional_gbps gpu=g direction=h2d 21",
		{ { 0 } },
		"H2D while D2H runs 21 21 - - - no check\n"
		"D2H while H2D runs 20 20 - - - no check\n" },
	/* an all-reduce without some ranks says so */
	{ RING BUSBW "1048576 nodes=1 ranks=1 300\njob nccl.ring_ranks 1", { { 0 } },
		"all-reduce busbw, 1 MiB 300 300 - - - no check\n(all-reduce of 1 of 2 ranks)\n" },
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\njob nccl.ring_ranks 2", { { 0 } },
		"all-reduce busbw, 1 MiB 300 300 - - - no check\n" },
	/* limits, and the worst that came out; of one check: two may be about the same GPU */
	{ "a/0 gpu.h2d_gbps gpu=g 26.1\na/1 gpu.h2d_gbps gpu=h 11",
		{ { H2D, .has_least = true, .least = 21, .has_warn_below = true, .warn_below = 24,
			  .count = { [MUSTER_PASS] = 1, [MUSTER_FAIL] = 1 } },
			{ H2D, .has_least = true, .least = 0.6, .share_of = "gpu.pcie_limit_gbps",
				.count = { [MUSTER_PASS] = 1, [MUSTER_FAIL] = 1 } } },
		COPY "11 26.1 21 24 - FAIL: 1 of 2 GPUs\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 23",
		{ { H2D, .has_least = true, .least = 21, .has_warn_below = true, .warn_below = 24,
			  .count = { [MUSTER_WARN] = 1 } },
			{ H2D, .has_least = true, .least = 22, .count = { [MUSTER_PASS] = 1 } } },
		COPY "23 23 22 24 - warn: 1 of 1 GPU\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1",
		{ { H2D, .has_least = true, .least = 0.6, .has_warn_below = true, .warn_below = 0.75,
			.share_of = "gpu.pcie_limit_gbps", .count = { [MUSTER_PASS] = 1 } } },
		COPY "26.1 26.1 60 % 75 % - pass\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", { { H2D, .count = { [MUSTER_INCONCLUSIVE] = 1 } } },
		COPY "26.1 26.1 - - - inconclusive: 1 of 1 GPU\n" },
	/* how much of its limit it is */
	{ "a/0 gpu.h2d_gbps gpu=g 27\na/0 gpu.pcie_limit_gbps gpu=g link=PCIe5 63\na/1 gpu.h2d_gbps gpu=h 54\n"
	  "a/1 gpu.pcie_limit_gbps gpu=h link=PCIe5 63",
		{ { 0 } }, COPY "27 54 - - 43 to 86 % of PCIe5 no check\n" },
	/* a check is about one size, or about all */
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "64 nodes=1 ranks=2 2",
		{ { SIZES, .check = "ring.small", .has_least = true, .least = 1, .where = at_64, .where_count = 1,
			.count = { [MUSTER_PASS] = 1 } } },
		"all-reduce busbw, 64 B 2 2 1 - - pass\n"
		"all-reduce busbw, 1 MiB 300 300 - - - no check\n" },
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "64 nodes=1 ranks=2 2",
		{ { SIZES, .check = "ring.small", .has_least = true, .least = 3, .where = at_64, .where_count = 1,
			  .count = { [MUSTER_FAIL] = 1 } },
			{ SIZES, .check = "site.ring", .uncalibrated = true, .count = { [MUSTER_PASS] = 2 } } },
		"all-reduce busbw, 64 B 2 2 3 - - FAIL\n"
		"all-reduce busbw, 1 MiB 300 300 - - - no threshold\n" },
	/* a check of another path does not apply, and one with a threshold says more than a value that is recorded */
	{ RING BUSBW "64 nodes=1 ranks=2 2\n",
		{ { SIZES, .check = "ring.nvlink", .has_least = true, .least = 1, .has_warn_below = true,
			  .warn_below = 5, .where = at_64, .where_count = 1, .count = { [MUSTER_SKIP] = 1 } },
			{ SIZES, .check = "site.ring", .uncalibrated = true, .count = { [MUSTER_PASS] = 1 } } },
		"all-reduce busbw, 64 B 2 2 - - - no threshold\n" },
	{ RING BUSBW "64 nodes=1 ranks=2 2\n",
		{ { SIZES, .check = "site.ring", .uncalibrated = true, .count = { [MUSTER_PASS] = 4 } },
			{ SIZES, .check = "ring.network", .has_least = true, .least = 1, .where = at_64,
				.where_count = 1, .blocked_by = "ib.state on a", .count = { [MUSTER_BLOCKED] = 1 } } },
		"all-reduce busbw, 64 B 2 2 1 - - blocked by ib.state on a\n" },
	{ RING BUSBW "64 nodes=1 ranks=2 2\n",
		{ { SIZES, .check = "ring.network", .has_least = true, .least = 1, .where = at_64, .where_count = 1,
			  .blocked_by = "ib.state on a", .count = { [MUSTER_BLOCKED] = 1 } },
			{ SIZES, .check = "site.ring", .uncalibrated = true, .count = { [MUSTER_PASS] = 4 } } },
		"all-reduce busbw, 64 B 2 2 1 - - blocked by ib.state on a\n" },
	/* what is for other runs is no check */
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", { { H2D, .has_least = true, .least = 21, .skipped = "for another run" } },
		COPY "26.1 26.1 - - - no check\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1",
		{ { H2D, .has_least = true, .least = 21, .blocked_by = "gpu.count on a",
			.count = { [MUSTER_BLOCKED] = 1 } } },
		COPY "26.1 26.1 21 - - blocked by gpu.count on a\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1",
		{ { H2D, .has_least = true, .least = 21, .count = { [MUSTER_PASS] = 1, [MUSTER_BLOCKED] = 3 } } },
		COPY "26.1 26.1 21 - - pass, 3 blocked\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", { { H2D, .has_least = true, .least = 21 } },
		COPY "26.1 26.1 21 - - not evaluated\n" },
};

static size_t columns;

static void print_plain(const struct muster_report *what, FILE *out)
{
	muster_report_print_text(what, &(struct muster_layout){ .columns = columns }, out);
}

/* The summary of a run, with one blank for several. */
static void print(const char *lines)
{
	run_text(&run, lines);
	report.run = &run;
	report.sku = "test";
	print_with(print_plain);
	char *to = text;
	for (const char *from = text; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
}

#define HEADING "\nbandwidth, GB/s lowest highest required warning share of the limit result\n"

TEST_EACH(bandwidths_are_shown_with_their_limits_and_results, cases)
{
	struct muster_tally tallies[2];
	report.tallies = tallies;
	memcpy(tallies, cases[_i].tallies, sizeof tallies);
	while (report.tally_count < 2 && tallies[report.tally_count].check)
		report.tally_count++;
	print(cases[_i].run);
	const char *table = strstr(text, HEADING);
	size_t length = strlen(cases[_i].lines);
	ck_assert_msg(table != NULL, "%s", text);
	table += strlen(HEADING);
	ck_assert_msg(strncmp(table, cases[_i].lines, length) == 0 && table[length] == '\n', "%s", text);
}

TEST(each_unit_has_a_table_of_its_own)
{
	static const char figures[] =
		"a/0 gpu.h2d_gbps gpu=g 27\na/0 gpu.gemm_bf16_tflops gpu=g 688\n"
		"a/0 gpu.matmul_bf16_limit_tflops gpu=g 1070\na/0 gpu.memory_write_gbps gpu=g 3170\n"
		"a/0 gpu.memory_read_gbps gpu=g 3073\na/0 gpu.memory_limit_gbps gpu=g 3352";
	static const char tables[] =
		"\nmatrix products, TFLOP/s lowest highest required warning share of the limit result\n"
		"BF16 688 688 - - 64 % of the BF16 limit no check\n" HEADING
		"H2D, one GPU at a time 27 27 - - - no check\n"
		"GPU memory, written 3170 3170 - - 95 % of the memory's limit no check\n"
		"GPU memory, read 3073 3073 - - 92 % of the memory's limit no check\n\n";
	print(figures);
	has(tables);
}

TEST(without_bandwidths_there_is_no_table)
{
	print("a/0 gpu.h2d_gbps gpu=g -\na/0 rank.local_rank 0");
	lacks("\nbandwidth");
}

static const struct {
	const char *run, *line; /* NULL: none */
} steps[] = {
	{ "a/0 rank.local_rank 0", NULL },
	{ "a/0 rank.step_p50_ms 5\na/1 rank.step_p50_ms 6.5\na/0 rank.step_p99_ms 7\na/1 rank.step_p99_ms 7\n"
	  "job job.overlap 0.93\njob job.step_spread among=x 0.01\njob job.step_spread among=y 0.034\n",
		"\ntraining steps: median 5 to 6.5 ms, 99th percentile 7 ms, overlap 93 %, products differ by 3.4 "
		"%\n" },
	{ "a/0 rank.step_p50_ms 5\na/1 rank.step_p50_ms -\njob job.overlap -\n", "\ntraining steps: median 5 ms\n" },
};

TEST_EACH(training_steps_have_a_line, steps)
{
	print(steps[_i].run);
	if (steps[_i].line)
		has(steps[_i].line);
	has_count("\ntraining steps", steps[_i].line != NULL);
}

TEST_MAIN(.teardown = printed_done)

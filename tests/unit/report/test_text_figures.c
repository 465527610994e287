/* test_text_figures.c - the bandwidths that a summary shows, with the check that judged them or without one */
#include "run_text.h"

#define RING "a/0 rank.local_rank 0\na/1 rank.local_rank 1\n"
#define BUSBW "job nccl.allreduce_busbw_gbps bytes="

static const struct muster_label at_64[] = { { .key = "bytes", .value = { .type = MUSTER_NUMBER, .number = 64 } } };

static const struct muster_tally floor_h2d = { .check = "copy.h2d",
	.metric = "gpu.h2d_gbps",
	.unit = "GB/s",
	.expected = "at least 21 GB/s",
	.count = { [MUSTER_PASS] = 1,
		[MUSTER_WARN] = 2,
		[MUSTER_FAIL] = 4,
		[MUSTER_SKIP] = 8,
		[MUSTER_INCONCLUSIVE] = 16 },
	.has_numbers = true,
	.lowest = 20,
	.highest = 26 };
static const struct muster_tally floor_64 = { .check = "ring.small",
	.metric = "nccl.allreduce_busbw_gbps",
	.unit = "GB/s",
	.expected = "at least 1 GB/s",
	.has_numbers = true,
	.lowest = 2,
	.highest = 2,
	.where = at_64,
	.where_count = 1 };
static const struct muster_tally observed = { .check = "site.ring",
	.metric = "nccl.allreduce_busbw_gbps",
	.unit = "GB/s",
	.expected = "no threshold",
	.has_numbers = true,
	.lowest = 2,
	.highest = 300,
	.uncalibrated = true };
static const struct muster_tally skipped = {
	.check = "copy.h2d", .metric = "gpu.h2d_gbps", .unit = "GB/s", .has_numbers = true, .skipped = "for another run"
};
static const struct muster_tally blocked = {
	.check = "copy.h2d", .metric = "gpu.h2d_gbps", .unit = "GB/s", .blocked_by = "gpu.count on a"
};
static const struct muster_tally no_numbers = { .check = "copy.h2d", .metric = "gpu.h2d_gbps", .unit = "GB/s" };

static const struct {
	const char *run;
	const struct muster_tally *tally;
	const char *lines; /* behind "measured" */
} cases[] = {
	{ "a/0 gpu.h2d_gbps gpu=g 26.1\na/1 gpu.h2d_gbps gpu=h 25\nb/2 gpu.h2d_gbps gpu=g 25.5\nb/3 gpu.h2d_gbps gpu=h "
	  "-",
		NULL, "  H2D: 25 to 26.1 GB/s on 3 GPUs; no check\n" },
	{ "a/0 gpu.d2h_gbps gpu=g 20", NULL, "  D2H: 20 GB/s on 1 GPU; no check\n" },
	/* each metric has its own line */
	{ "a/0 gpu.h2d_together_gbps gpu=g 20\na/0 gpu.d2h_together_gbps gpu=g 21", NULL,
		"  H2D, all GPUs of a node at once: 20 GB/s on 1 GPU; no check\n"
		"  D2H, all GPUs of a node at once: 21 GB/s on 1 GPU; no check\n" },
	/* of several sizes the largest, wherever it stands */
	{ RING BUSBW "64 nodes=1 ranks=2 2\n" BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "1024 nodes=1 ranks=2 9",
		NULL, "  all-reduce busbw: 300 GB/s at 1 MiB; no check\n" },
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "64 nodes=1 ranks=2 2", NULL,
		"  all-reduce busbw: 300 GB/s at 1 MiB; no check\n" },
	/* a ring without some ranks says so */
	{ RING BUSBW "1048576 nodes=1 ranks=1 300\njob nccl.ring_ranks 1", NULL,
		"  all-reduce busbw: 300 GB/s at 1 MiB in a ring of 1 of 2 ranks; no check\n" },
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\njob nccl.ring_ranks 2", NULL,
		"  all-reduce busbw: 300 GB/s at 1 MiB; no check\n" },
	/* a check shows what it has judged, and counts what it could judge */
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", &floor_h2d,
		"  H2D: 20 to 26 GB/s on 7 GPUs; copy.h2d expects at least 21 GB/s\n" },
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "64 nodes=1 ranks=2 2", &floor_64,
		"  all-reduce busbw: 2 GB/s at 64 B; ring.small expects at least 1 GB/s\n" },
	/* one that observes all sizes shows the largest */
	{ RING BUSBW "1048576 nodes=1 ranks=2 300\n" BUSBW "64 nodes=1 ranks=2 2", &observed,
		"  all-reduce busbw: 300 GB/s at 1 MiB; site.ring: no threshold\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", &skipped, "  H2D: 26.1 GB/s on 1 GPU; no check\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", &blocked,
		"  H2D: 26.1 GB/s on 1 GPU; copy.h2d is blocked by gpu.count on a\n" },
	{ "a/0 gpu.h2d_gbps gpu=g 26.1", &no_numbers,
		"  H2D: 26.1 GB/s on 1 GPU; not evaluated: a check before copy.h2d failed\n" },
};

static const char *text_of(const struct muster_report *report)
{
	static char text[16384];
	FILE *out = fmemopen(text, sizeof text, "w");
	ck_assert_ptr_nonnull(out);
	muster_report_print_text(report, out, false);
	fclose(out);
	return text;
}

START_TEST(figures_are_shown_with_their_size_and_their_check)
{
	struct muster_run run;
	struct muster_tally tally = cases[_i].tally ? *cases[_i].tally : (struct muster_tally){ 0 };
	struct muster_report report = {
		.run = &run, .sku = "test", .tallies = &tally, .tally_count = cases[_i].tally != NULL
	};
	run_text(&run, cases[_i].run);
	const char *text = text_of(&report);
	size_t length = strlen(cases[_i].lines);
	ck_assert_msg(strstr(text, "\nbandwidth\n") != NULL, "%s", text);
	size_t at = (size_t)(strstr(text, "\nbandwidth\n") - text) + strlen("\nbandwidth\n");
	ck_assert_msg(strncmp(text + at, cases[_i].lines, length) == 0, "%s", text);
	ck_assert_msg(text[at + length] != ' ', "%s", text);
	muster_run_done(&run);
}
END_TEST

START_TEST(without_figures_there_is_no_heading)
{
	struct muster_run run;
	struct muster_report report = { .run = &run, .sku = "test" };
	run_text(&run, "a/0 gpu.h2d_gbps gpu=g -\na/0 rank.local_rank 0");
	const char *text = text_of(&report);
	ck_assert_msg(!strstr(text, "\nbandwidth\n"), "%s", text);
	muster_run_done(&run);
}
END_TEST

START_TEST(a_bandwidth_that_is_only_observed_is_shown_once)
{
	static const char *const metrics[] = { "gpu.h2d_gbps", "gpu.d2h_gbps", "gpu.h2d_together_gbps",
		"gpu.d2h_together_gbps", "nccl.allreduce_busbw_gbps" };
	struct muster_run run;
	struct muster_tally tally = observed;
	struct muster_report report = { .run = &run, .sku = "test", .tallies = &tally, .tally_count = 1 };
	tally.metric = metrics[_i];
	tally.count[MUSTER_PASS] = 1;
	run_text(&run, "a/0 gpu.h2d_gbps gpu=g 26.1");
	const char *text = text_of(&report);
	ck_assert_msg(strstr(text, "; site.ring: "), "%s", text);
	muster_run_done(&run);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report/text_figures");
	TCase *tcase = tcase_create("figures");
	tcase_add_loop_test(tcase, figures_are_shown_with_their_size_and_their_check, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tcase, without_figures_there_is_no_heading);
	tcase_add_loop_test(tcase, a_bandwidth_that_is_only_observed_is_shown_once, 0, 5);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

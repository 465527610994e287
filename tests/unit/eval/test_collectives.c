/* test_collectives.c - what the shipped expectations make of the collectives of a whole job, and of uneven ones */
#include "check_main.h"
#include "run_text.h"

#define TWO_RANKS "a/0 = 0001:00:00.0 u0\na/1 = 0002:00:00.0 u1\n"
#define TWO_NODES "a/0 = 0001:00:00.0 u0\nb/1 = 0001:00:00.0 u1\n"
/* Of 100 all-reduces of 8 MiB: the median and the time that 99 do not exceed. */
#define TIMES(nodes, p50, p99)                                                                                         \
	"job nccl.allreduce_p50_us bytes=8388608 nodes=" nodes " ranks=2 " p50 "\n"                                    \
	"job nccl.allreduce_p99_us bytes=8388608 nodes=" nodes " ranks=2 " p99 "\n"

static const struct {
	const char *title, *sku, *run;
	const char *check, *judged; /* its one result; "": none */
} rows[] = {
	{ "two H200", "Standard_ND96isr_H200_v5", TWO_RANKS TIMES("1", "49.6", "52"), "collectives.jitter", "pass" },
	{ "late by half: a warning where NVLink carries it", "Standard_ND96isr_H200_v5",
		TWO_RANKS TIMES("1", "49.6", "80"), "collectives.jitter", "warn" },
	{ "the same through the memory of a host, which others use too", "generic-nvidia",
		TWO_RANKS TIMES("1", "49.6", "80"), "collectives.jitter", "pass" },
	{ "twice as long", "generic-nvidia", TWO_RANKS TIMES("1", "350", "710"), "collectives.jitter", "warn" },
	{ "sockets between nodes are uneven anyway", "generic-nvidia", TWO_NODES TIMES("2", "9000", "40000"),
		"collectives.jitter", "" },
	{ "other sizes are", "generic-nvidia",
		TWO_RANKS "job nccl.allreduce_p50_us bytes=65536 nodes=1 ranks=2 12\n"
			  "job nccl.allreduce_p99_us bytes=65536 nodes=1 ranks=2 60\n",
		"collectives.jitter", "skip" },
	{ "too slow to be timed", "generic-nvidia", TWO_RANKS TIMES("1", "-", "-"), "collectives.jitter", "skip" },
	{ "InfiniBand beside other jobs", "Standard_ND96asr_v4", TWO_NODES TIMES("2", "200", "380"),
		"collectives.jitter_network", "pass" },
	{ "InfiniBand where something is late", "Standard_ND96asr_v4", TWO_NODES TIMES("2", "200", "420"),
		"collectives.jitter_network", "warn" },
};

/* The one result of a check: "pass"; "" when there is none, or several. */
static const char *result_of(const struct muster_report *report, const char *check)
{
	const char *found = "";
	for (size_t i = 0; i < report->tally_count; i++)
		for (size_t s = 0; s < MUSTER_STATUS_COUNT && strcmp(report->tallies[i].check, check) == 0; s++)
			if (report->tallies[i].count[s] > 0)
				found = *found || report->tallies[i].count[s] > 1
						? "several"
						: muster_status_name((enum muster_status)s);
	return found;
}

static void judge(
	const char *sku, const char *text, bool beside_jobs, struct muster_run *run, struct muster_report *report)
{
	struct muster_expect expect;
	struct muster_error err;
	run_text(run, text);
	run->job.beside_jobs = beside_jobs;
	ck_assert_msg(muster_expect_load(MUSTER_SOURCE_DIR "/configs", sku, NULL, &expect, &err) == 0, "%s", err.text);
	muster_evaluate(run, &expect, false, report);
	muster_expect_done(&expect);
}

START_TEST(collectives_of_a_job_are_judged)
{
	struct muster_run run;
	struct muster_report report;
	judge(rows[_i].sku, rows[_i].run, false, &run, &report);
	ck_assert_msg(strcmp(result_of(&report, rows[_i].check), rows[_i].judged) == 0, "%s: %s", rows[_i].title,
		result_of(&report, rows[_i].check));
	muster_report_done(&report);
	muster_run_done(&run);
}
END_TEST

START_TEST(beside_other_jobs_a_late_all_reduce_says_nothing)
{
	struct muster_run run;
	struct muster_report report;
	judge("generic-nvidia", TWO_RANKS TIMES("1", "350", "1400"), true, &run, &report);
	ck_assert_str_eq(result_of(&report, "collectives.jitter"), "inconclusive");
	muster_report_done(&report);
	muster_run_done(&run);
}
END_TEST

/* Exchanges that are well say nothing of a rank that is late now and then. */
START_TEST(no_part_is_excused_by_exchanges)
{
	struct muster_run run;
	struct muster_report report;
	const char *advice = NULL;
	judge("generic-nvidia",
		TWO_RANKS TIMES("1", "350", "1400") "a/0 pair.exchange_gbps kind=edge peer_node=a "
						    "peer_gpu=0002:00:00.0 nic=none transport=P2P 300\n"
						    "a/1 pair.exchange_gbps kind=edge peer_node=a "
						    "peer_gpu=0001:00:00.0 nic=none transport=P2P 300\n",
		false, &run, &report);
	for (size_t i = 0; i < report.finding_count; i++)
		if (strcmp(report.findings[i].check, "collectives.jitter") == 0)
			advice = report.findings[i].advice;
	ck_assert_ptr_nonnull(advice);
	ck_assert_msg(strncmp(advice, "some all-reduces", strlen("some all-reduces")) == 0, "%s", advice);
	muster_report_done(&report);
	muster_run_done(&run);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("collectives");
	tcase_add_loop_test(tcase, collectives_of_a_job_are_judged, 0, LENGTH(rows));
	tcase_add_test(tcase, beside_other_jobs_a_late_all_reduce_says_nothing);
	tcase_add_test(tcase, no_part_is_excused_by_exchanges);
	return check_main(tcase);
}

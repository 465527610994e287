/* SPDX-License-Identifier: Apache-2.0 */
/* test_unreached.c - which rank did not come, when an all-to-all could not connect all ranks */
#include "check_main.h"
#include "muster/run.h"
#include "run_text.h"

/* A rank that waited until its time was over, among so many. */
#define ENDED(place, gpu, code, ranks)                                                                                 \
	place " = " gpu " GPU-" gpu "\n" place " probe nccl_collectives error " code " late ring=" ranks "\n"
#define LISTS(place, gpu, ranks, list) ENDED(place, gpu, "time", ranks) place " rank.alltoall_unreached '" list "\n"
#define FOUND(where, what) "inconclusive probe.nccl_collectives" where ": probe nccl_collectives finishes | " what "\n"
#define NONE_STANDS_OUT(ranks) "all-to-all: ranks waited for each other, and no rank stands out" ranks

static const struct {
	const char *run, *found;
} cases[] = {
	/* both neighbours wait for b, and a rank of a later round too */
	{ LISTS("a/0", "g0", "4", "1,3") LISTS("b/1", "g1", "4", "0,2") LISTS("c/2", "g2", "4", "1,3")
			LISTS("d/3", "g3", "4", "0-2"),
		FOUND(" b rank=1 gpu=g1", "all-to-all: rank 1 did not connect: 3 other ranks waited for it (0,2-3)") },
	/* it has no list: it was cancelled before its own time was over */
	{ LISTS("a/0", "g0", "4", "1,3") ENDED("b/1", "g1", "called_off", "4") LISTS("c/2", "g2", "4", "1,3")
			LISTS("d/3", "g3", "4", "0-2"),
		FOUND(" b rank=1 gpu=g1", "all-to-all: rank 1 did not connect: 3 other ranks waited for it (0,2-3)") },
	/* the two that wait for each other hold up their other neighbours */
	{ LISTS("a/0", "g0", "8", "2-3,5-6") LISTS("a/1", "g1", "8", "3-4,6-7") LISTS("b/2", "g2", "8", "0,4-5,7")
			LISTS("b/3", "g3", "8", "2,4") LISTS("c/4", "g4", "8", "3,5") LISTS("c/5", "g5", "8", "4,6")
				LISTS("d/6", "g6", "8", "5,7") LISTS("d/7", "g7", "8", "1-2,4-5"),
		FOUND(" c", NONE_STANDS_OUT(": ranks 4-5 of c")) },
	/* two groups of nodes */
	{ LISTS("a/0", "g0", "8", "1,7") LISTS("a/1", "g1", "8", "3-4,6-7") LISTS("b/2", "g2", "8", "0,4-5,7")
			LISTS("b/3", "g3", "8", "2,4") LISTS("c/4", "g4", "8", "3,5") LISTS("c/5", "g5", "8", "0,2-3,7")
				LISTS("d/6", "g6", "8", "0-1,3-4") LISTS("d/7", "g7", "8", "0,6"),
		FOUND("", NONE_STANDS_OUT(": rank 0 of a, rank 3 of b, rank 4 of c, rank 7 of d")) },
	/* each waits for each */
	{ LISTS("a/0", "g0", "3", "1-2") LISTS("a/1", "g1", "3", "0,2") LISTS("b/2", "g2", "3", "0-1"),
		FOUND("", NONE_STANDS_OUT(": ranks 0-1 of a, rank 2 of b")) },
	{ LISTS("a/0", "g0", "2", "1") LISTS("a/1", "g1", "2", "0"), FOUND(" a", NONE_STANDS_OUT(": ranks 0-1 of a")) },
	/* lists that are none are as good as no list */
	{ LISTS("a/0", "g0", "3", "1") LISTS("b/1", "g1", "3", "0-9") LISTS("c/2", "g2", "3", "1"),
		FOUND(" b rank=1 gpu=g1", "all-to-all: rank 1 did not connect: 2 other ranks waited for it (0,2)") },
	/* another end is the cause */
	{ LISTS("a/0", "g0", "3", "1-2") "b/1 probe nccl_collectives crashed - segfault ring=3\n" LISTS(
		  "c/2", "g2", "3", "0-1"),
		"fail probe.nccl_collectives b rank=1: probe nccl_collectives finishes | segfault\n" },
	{ LISTS("a/0", "g0", "3", "1-2") ENDED("b/1", "g1", "vendor", "3") LISTS("c/2", "g2", "3", "0-1"),
		"fail probe.nccl_collectives b rank=1: probe nccl_collectives finishes | late\n" },
};

TEST_EACH(the_lists_of_all_ranks_are_one_finding, cases)
{
	struct muster_run run;
	struct muster_report report;
	char text[1024] = "";
	size_t used = 0;
	run_text(&run, cases[_i].run);
	fixture_judge(&run, "'w':{'metric':'rank.alltoall_wrong','equals':0,'source':'s'}", false, &report);
	for (const char *line = fixture_findings(&report); *line; line += strcspn(line, "\n") + 1)
		if (strncmp(line, "skip", 4) != 0)
			used += (size_t)snprintf(
				text + used, sizeof text - used, "%.*s\n", (int)strcspn(line, "\n"), line);
	ck_assert_str_eq(text, cases[_i].found);
	/* no rank has a value: each is blocked by the finding */
	ck_assert_uint_eq(muster_report_tally(&report, "w")->count[MUSTER_BLOCKED], (size_t)run.job.ranks);
	ck_assert_ptr_nonnull(report.findings[0].advice);
	muster_report_done(&report);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

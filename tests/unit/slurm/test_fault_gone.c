/* SPDX-License-Identifier: Apache-2.0 */
/* test_fault_gone.c - whether a report proves that the fault for which a node was drained is gone */
#include "check_main.h"
#include "slurm/drain.h"

#include "muster/probe.h"
#include "muster/run.h"

#include <stdio.h>

enum { FINDINGS_MAX = 2 };

/* Nodes n1 and following, of two ranks each; the reason is n1's. The check of the tally is of the metric of copies. */
static const struct {
	const char *name;
	int nodes;
	enum muster_drained_by by;
	const char *check, *part; /* of the reason */
	const char *tally, *metric, *probe, *expected, *skipped;
	size_t passes, skips;
	struct muster_finding finding;
	const char *blocked; /* by the finding */
	bool gone;
} cases[] = {
#define REASON(c) MUSTER_DRAINED_BY_PERSON, c, ""
#define COPY "copy.h2d", "gpu.h2d_gbps", "gpu_copy", "at least 21 GB/s", NULL
#define SAME "same.driver", "node.driver_version", "system", "the same on all nodes", NULL
#define RING "ring.busbw", "nccl.allreduce_busbw_gbps", "nccl_allreduce", "at least 1", NULL
#define PAIRS "pairs.x", "pair.exchange_gbps", "nccl_pairs", "at least 1", NULL
#define FOUND(s, c, n)                                                                                                 \
	{                                                                                                              \
		.check = (c), .status = (s), .node = (n)                                                               \
	}
	{ "it passed", 1, REASON("copy.h2d"), COPY, 2, 0, { 0 }, NULL, true },
	{ "another check passed", 1, REASON("copy.d2h"), COPY, 2, 0, { 0 }, NULL, false },
	{ "no value at all", 1, REASON("copy.h2d"), COPY, 0, 0, { 0 }, NULL, false },
	{ "it fails here", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_FAIL, "copy.h2d", "n1"), NULL, false },
	{ "it warns here", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_WARN, "copy.h2d", "n1"), NULL, false },
	{ "it fails elsewhere", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_FAIL, "copy.h2d", "n2"), NULL, true },
	{ "it fails for all", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_FAIL, "copy.h2d", NULL), NULL, false },
	{ "another fails here", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_FAIL, "copy.d2h", "n1"), NULL, true },
	{ "not evaluated here", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_FAIL, "probe.x", "n1"), "copy.h2d",
		false },
	{ "not evaluated elsewhere", 2, REASON("copy.h2d"), COPY, 1, 0, FOUND(MUSTER_FAIL, "probe.x", "n2"), "copy.h2d",
		true },
	{ "skipped somewhere", 2, REASON("copy.h2d"), COPY, 1, 1, { 0 }, NULL, false },
	{ "skipped, but not there", 1, MUSTER_DRAINED_BY_HEALTH, "copy.h2d", "g0", COPY, 1, 1, { 0 }, NULL, true },
	{ "a value of another GPU", 1, MUSTER_DRAINED_BY_HEALTH, "copy.h2d", "g1", COPY, 1, 1, { 0 }, NULL, false },
	{ "not for this run", 1, REASON("copy.h2d"), "copy.h2d", "gpu.h2d_gbps", "gpu_copy", "at least 21",
		"only for profile full", 1, 0, { 0 }, NULL, false },
	{ "alone, and compared", 1, REASON("same.driver"), SAME, 1, 0, { 0 }, NULL, false },
	{ "two, and compared", 2, REASON("same.driver"), SAME, 2, 0, { 0 }, NULL, true },
	{ "a ring of one node", 1, REASON("ring.busbw"), RING, 1, 0, { 0 }, NULL, false },
	{ "a ring of two", 2, REASON("ring.busbw"), RING, 1, 0, { 0 }, NULL, true },
	{ "exchanges on one node", 1, REASON("pairs.x"), PAIRS, 1, 0, { 0 }, NULL, false },
	{ "exchanges on two nodes", 2, REASON("pairs.x"), PAIRS, 1, 0, { 0 }, NULL, true },
	{ "a ring of one, drained for it", 1, MUSTER_DRAINED_BY_HEALTH, "ring.busbw", "", RING, 1, 0, { 0 }, NULL,
		true },
	{ "a rank is back", 2, REASON("rank.missing"), COPY, 1, 0, { 0 }, NULL, true },
	{ "a rank is missing", 2, REASON("rank.missing"), COPY, 1, 0, FOUND(MUSTER_FAIL, "rank.missing", "n1"), NULL,
		false },
	{ "a probe that ended well", 1, REASON("probe.gpu_copy"), COPY, 1, 0, { 0 }, NULL, true },
	{ "a probe that did not run", 1, REASON("probe.fabric"), COPY, 1, 0, { 0 }, NULL, false },
	{ "a suspect in a ring with others", 2, REASON("ring.suspect"), COPY, 1, 0, { 0 }, NULL, true },
	{ "a suspect in a ring of its own", 1, REASON("ring.suspect"), COPY, 1, 0, { 0 }, NULL, false },
	{ "a check of nobody knows what", 1, REASON("no.such"), COPY, 1, 0, { 0 }, NULL, false },
	{ "a reason without a check", 1, REASON(""), COPY, 1, 0, { 0 }, NULL, false },
};

/* Every rank ran the copies and the ring of all; its GPU g0 has a value. */
static void make_run(struct muster_run *run, int nodes)
{
	static const struct muster_label label = { .key = "gpu", .value = { .type = MUSTER_STRING, .string = "g0" } };
	muster_run_init(run);
	for (int i = 0; i < nodes; i++) {
		struct muster_node *node = muster_run_add_node(run, muster_arena_printf(run->arena, "n%d", i + 1));
		for (int j = 0; j < 2; j++) {
			struct muster_rank *rank = muster_node_add_rank(node, 2 * i + j);
			muster_outcomes_add(&rank->outcomes, (struct muster_outcome){ .probe = "gpu_copy" });
			muster_outcomes_add(&rank->outcomes,
				(struct muster_outcome){ .probe = "nccl_allreduce", .ring = 2 * nodes });
			muster_samples_add(&rank->samples, (struct muster_sample){
								   .metric = muster_metric_find("gpu.h2d_gbps"),
								   .labels = &label,
								   .label_count = 1,
								   .value = muster_number(25),
							   });
		}
	}
}

TEST_EACH(a_fault_is_gone_when_its_check_passed_where_it_was, cases)
{
	struct muster_run run;
	struct muster_error err = { .code = MUSTER_OK };
	struct muster_drain_reason reason = { .by = cases[_i].by };
	struct muster_finding finding = cases[_i].finding;
	const char *blocked[] = { cases[_i].blocked };
	struct muster_tally tally = {
		.check = cases[_i].tally,
		.metric = cases[_i].metric,
		.probe = cases[_i].probe,
		.expected = cases[_i].expected,
		.compares_nodes = strcmp(cases[_i].tally, "same.driver") == 0,
		.skipped = cases[_i].skipped,
	};
	tally.count[MUSTER_PASS] = cases[_i].passes;
	tally.count[MUSTER_SKIP] = cases[_i].skips;
	finding.blocked = blocked;
	finding.blocked_count = cases[_i].blocked != NULL;
	snprintf(reason.check, sizeof reason.check, "%s", cases[_i].check);
	snprintf(reason.part, sizeof reason.part, "%s", cases[_i].part);
	make_run(&run, cases[_i].nodes);
	struct muster_report report = {
		.run = &run,
		.findings = &finding,
		.finding_count = finding.check != NULL,
		.tallies = &tally,
		.tally_count = 1,
	};
	bool gone = muster_fault_is_gone(&report, "n1", &reason, &err);
	ck_assert_msg(gone == cases[_i].gone, "%s: %s", cases[_i].name, err.text);
	ck_assert_msg(gone == (err.code == MUSTER_OK), "%s: an error with its sentence, or none", cases[_i].name);
	muster_run_done(&run);
}

TEST(a_node_that_is_not_in_the_report_is_not_proved_good)
{
	struct muster_run run;
	struct muster_error err;
	const struct muster_drain_reason reason = { .check = "rank.missing" };
	make_run(&run, 1);
	const struct muster_report report = { .run = &run };
	ck_assert(!muster_fault_is_gone(&report, "n2", &reason, &err));
	ck_assert_str_eq(err.text, "the report does not show that rank.missing passes on this node");
	muster_run_done(&run);
}

TEST(a_probe_that_ended_badly_on_one_rank_has_not_ended_well)
{
	struct muster_run run;
	struct muster_error err;
	const struct muster_drain_reason reason = { .check = "probe.gpu_copy" };
	make_run(&run, 1);
	const struct muster_report report = { .run = &run };
	ck_assert(muster_fault_is_gone(&report, "n1", &reason, &err));
	run.nodes[0].ranks[1].outcomes.items[0].status = MUSTER_OUTCOME_HUNG;
	ck_assert(!muster_fault_is_gone(&report, "n1", &reason, &err));
	muster_run_done(&run);
}

/* What n1 was drained for, an event that its log still has or not, and whether the fault is gone. */
static const struct {
	const char *reason, *metric;
	const char *labels[4];
	double age;
	bool gone;
} events[] = {
#define XID "node.xid_age_hours"
#define KERNEL "node.kernel_event_age_hours"
	/* older than its check asks for, and not cured */
	{ "muster: events GPU g0: Xid 79, GPU has fallen off the bus, once", XID, { "g0", "79", "job", "before" }, 30,
		false },
	{ "muster: events GPU g0: Xid 79", XID, { "g0", "79", "job", "before" }, 30, false },
	/* the driver was loaded anew, and an application failed since */
	{ "muster: events GPU g0: Xid 79, GPU has fallen off the bus, once", XID, { "g0", "31", "job", "before" }, 1,
		true },
	{ "muster: events GPU g0: Xid 79, GPU has fallen off the bus, once", XID, { "g1", "79", "job", "before" }, 30,
		true },
	{ "muster: events GPU g0: Xid 179, see Xid 79 too, once", XID, { "g0", "79", "job", "before" }, 30, true },
	{ "muster: events: kernel event aer-fatal of 0003:00:00.0, once", KERNEL,
		{ "aer-fatal", "0003:00:00.0", "before" }, 30, false },
	{ "muster: events: kernel event aer-fatal of 0003:00:00.0, once", KERNEL,
		{ "aer-fatal", "0004:00:00.0", "before" }, 30, true },
	{ "muster: events: kernel event read-only, once", KERNEL, { "read-only", "none", "before" }, 30, false },
	{ "muster: events: kernel event read-only, once", KERNEL, { "oom", "none", "before" }, 30, true },
};

TEST_EACH(an_event_that_is_only_old_is_not_gone, events)
{
	struct muster_run run;
	struct muster_error err = { .code = MUSTER_OK };
	struct muster_drain_reason reason;
	struct muster_label labels[4];
	const struct muster_metric *metric = muster_metric_find(events[_i].metric);
	struct muster_sample sample = { .metric = metric, .labels = labels, .value = muster_number(events[_i].age) };
	for (; sample.label_count < 4 && events[_i].labels[sample.label_count]; sample.label_count++)
		labels[sample.label_count] = (struct muster_label){ metric->labels[sample.label_count],
			muster_string(events[_i].labels[sample.label_count]) };
	make_run(&run, 1);
	muster_samples_add(&run.nodes[0].samples, sample);
	struct muster_tally tally = {
		.check = "events", .metric = metric->name, .probe = "history", .count = { [MUSTER_PASS] = 1 }
	};
	struct muster_report report = { .run = &run, .tallies = &tally, .tally_count = 1 };
	ck_assert(muster_drain_reason_read(events[_i].reason, &reason));
	bool gone = muster_fault_is_gone(&report, "n1", &reason, &err);
	ck_assert_msg(gone == events[_i].gone, "%s: %s", events[_i].reason, err.text);
	if (!gone)
		ck_assert_msg(strstr(err.text, metric->event == MUSTER_EVENT_KERNEL /* no GPU's reset ends one */
						       ? "log, 30.0 h old: reboot the node"
						       : "log, 30.0 h old: reset the GPU or reboot the node"),
			"%s", err.text);
	if (gone) { /* a log that has lost its beginning shows that only if the node was booted after the drain */
		muster_samples_add(&run.nodes[0].samples,
			(struct muster_sample){ .metric = muster_metric_find("node.kernel_log_start"),
				.value = muster_string("older records of this boot were overwritten") });
		ck_assert(!muster_fault_is_gone(&report, "n1", &reason, &err));
		ck_assert_str_eq(err.text,
			"the kernel's log no longer shows all of this boot (older records of this boot were "
			"overwritten): reboot the node");
		muster_samples_add(
			&run.nodes[0].samples, (struct muster_sample){ .metric = muster_metric_find("node.up_hours"),
						       .value = muster_number(1) });
		run.job.started = "2025-11-29T02:40:10Z";
		reason.since = 1764384010 - 3601;
		ck_assert(muster_fault_is_gone(&report, "n1", &reason, &err));
		reason.since += 2;
		ck_assert(!muster_fault_is_gone(&report, "n1", &reason, &err));
	}
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

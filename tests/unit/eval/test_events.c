/* SPDX-License-Identifier: Apache-2.0 */
/* test_events.c - what findings say of events of the kernel's log, and of Xids while a probe failed */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run_data.h"

#include <math.h>

#define GPU "0001:00:00.0"

static const char file[] =
	"{'schema_version':1,'name':'t','events':{"
	"'xid':{"
	"'79':{'name':'GPU has fallen off the bus','class':'fail','explains':['gpu-lost','hung-task'],"
	"'action':'power ${node} off and on: ${gpu}'},"
	"'63':{'name':'row remapped','class':'warn','action':'reset'},"
	"'74':{'name':'NVLink error','class':'fail','action':'look','hours':2},"
	"'31':{'name':'page fault','class':'note','action':'look at the job'}},"
	"'kernel':{"
	"'link-flap':{'name':'link down','class':'warn','action':'cable','hours':6},"
	"'gpu-lost':{'name':'GPU lost','class':'fail','action':'off and on'},"
	"'disk-error':{'name':'I/O error','class':'warn','explains':['disk-error'],'action':'look'},"
	"'disk-lost':{'name':'disk lost','class':'fail','explains':['disk-error'],'action':'replace'},"
	"'lockup':{'name':'stuck','class':'fail','action':'reboot'},"
	"'hung-task':{'name':'hung','class':'warn','explains':['lockup'],'action':'look'},"
	"'aer-fatal':{'name':'PCIe error','class':'fail','action':'reboot'}}},"
	"'checks':{"
	"'xid':{'metric':'node.xid_age_hours','source':'s','where':{'of':'job'},'optional':true,"
	"'no_event':{'table':'xid','label':'code','hours':24}},"
	"'other':{'metric':'node.xid_age_hours','source':'s','where':{'of':'other'},'optional':true,'severity':'warn',"
	"'no_event':{'table':'xid','label':'code','hours':24}},"
	"'kernel':{'metric':'node.kernel_event_age_hours','source':'s',"
	"'no_event':{'table':'kernel','label':'kind','hours':24}%s}}}";

#define OPTIONAL ",'optional':true"

/* Judge with this text inside the last check. */
static struct muster_report *judge(const struct muster_run *run, const char *more)
{
	char text[4096];
	snprintf(text, sizeof text, file, more);
	return fixture_report_file(run, text);
}

static void add(struct muster_run *run, struct muster_node *node, const char *metric, const char *const *labels,
	struct muster_value value)
{
	const struct muster_metric *found = muster_metric_find(metric);
	ck_assert_msg(found != NULL, "%s", metric);
	struct muster_label *made = muster_arena_alloc(run->arena, MUSTER_LABELS_MAX * sizeof *made);
	struct muster_sample sample = { .metric = found, .labels = made, .value = value };
	for (; labels[sample.label_count]; sample.label_count++)
		made[sample.label_count] = (struct muster_label){ found->labels[sample.label_count],
			muster_string(muster_arena_string(run->arena, labels[sample.label_count])) };
	muster_samples_add(&node->samples, sample);
}

struct event {
	const char *code, *of, *when;
	double age, count;
	const char *line;
};

static void add_xid(struct muster_run *run, struct muster_node *node, const char *gpu, const struct event *event)
{
	const char *const labels[] = { gpu, event->code, event->of, event->when, NULL };
	add(run, node, "node.xid_age_hours", labels, muster_number(event->age));
	add(run, node, "node.xid_count", labels, muster_number(event->count));
	if (event->line)
		add(run, node, "node.xid_line", labels, muster_string(event->line));
}

static void add_kernel(struct muster_run *run, struct muster_node *node, const char *kind, const char *device,
	double age, double count)
{
	const char *const labels[] = { kind, device, "before", NULL };
	add(run, node, "node.kernel_event_age_hours", labels, muster_number(age));
	add(run, node, "node.kernel_event_count", labels, muster_number(count));
}

/* A node whose log was read. */
static struct muster_node *begin(struct muster_run *run, int ranks)
{
	struct muster_node *node = fixture_node(run, "sim-1", ranks);
	for (int r = 0; r < ranks; r++)
		fixture_outcome(&node->ranks[r], "history", MUSTER_OUTCOME_OK, NULL, NULL, NULL);
	fixture_sample(run, &node->samples, "node.kernel_log", NULL, muster_string("kmsg"));
	return node;
}

#define XID79 "no Xid 79 within 24 h | Xid 79, GPU has fallen off the bus"

static const struct {
	struct event event;
	const char *found; /* behind the status and "xid sim-1 gpu=...: " */
} cases[] = {
	{ { "79", "job", "before", 0.42, 3, "a line" },
		"fail xid sim-1 gpu=" GPU ": " XID79 ", 3 times, last 25 min ago\n" },
	{ { "79", "job", "before", 0.01, 1, NULL },
		"fail xid sim-1 gpu=" GPU ": " XID79 ", once, less than 1 min ago\n" },
	{ { "79", "job", "before", 23.99, 1, NULL }, "fail xid sim-1 gpu=" GPU ": " XID79 ", once, 24.0 h ago\n" },
	{ { "79", "job", "before", 24, 1, NULL }, "" },
	{ { "79", "job", "during", 0, 1, NULL }, "fail xid sim-1 gpu=" GPU ": " XID79 ", once, during this run\n" },
	{ { "79", "other", "before", 1, 1, NULL }, "warn other sim-1 gpu=" GPU ": " XID79 ", once, 1.0 h ago\n" },
	{ { "63", "job", "before", 1, 2, NULL },
		"warn xid sim-1 gpu=" GPU ": no Xid 63 within 24 h | Xid 63, row remapped, 2 times, last 1.0 h ago\n" },
	{ { "63", "other", "before", 1, 2, NULL },
		"warn other sim-1 gpu=" GPU
		": no Xid 63 within 24 h | Xid 63, row remapped, 2 times, last 1.0 h ago\n" },
	{ { "74", "job", "before", 1.9, 1, NULL },
		"fail xid sim-1 gpu=" GPU ": no Xid 74 within 2 h | Xid 74, NVLink error, once, 1.9 h ago\n" },
	{ { "74", "job", "before", 2, 1, NULL }, "" }, /* its own hours */
	{ { "31", "job", "during", 0, 9, NULL }, "" }, /* a note */
	{ { "999", "job", "before", 1, 1, NULL },
		"warn xid sim-1 gpu=" GPU ": no Xid 999 within 24 h | Xid 999, once, 1.0 h ago\n" },
	{ { "999", "job", "before", 25, 1, NULL }, "" },
};

TEST_EACH(an_event_is_what_its_entry_says_while_it_is_young, cases)
{
	struct muster_run *run = fixture_new_run();
	add_xid(run, begin(run, 1), GPU, &cases[_i].event);
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_str_eq(fixture_findings(report), cases[_i].found);
	ck_assert_uint_eq(muster_report_tally(report, "xid")->count[MUSTER_PASS], !strstr(cases[_i].found, " xid "));
	ck_assert_int_eq(report->verdict, strncmp(cases[_i].found, "fail", 4) == 0 ? MUSTER_FAIL : MUSTER_PASS);
}

/* Two events of one node, an Xid first if it has an age (below 0: of nobody's GPU), and which have a finding. */
static const struct {
	double xid_age;
	struct {
		const char *kind, *device;
		double age;
	} events[2];
	const char *found;
} incidents[] = {
	{ 1, { { "gpu-lost", GPU, 2 } }, "xid" },
	{ 1, { { "gpu-lost", "0002:00:00.0", 1 } }, "xid gpu-lost" }, /* another GPU */
	{ 30, { { "gpu-lost", GPU, 2 } }, "gpu-lost" },               /* nobody is told of the Xid any more */
	{ -1, { { "gpu-lost", GPU, 2 } }, "gpu-lost" },               /* no check is about the Xid */
	{ 1, { { "hung-task", "none", 1.0002 } }, "xid" },
	{ 1, { { "hung-task", "none", 1.001 } }, "xid hung-task" }, /* four seconds apart */
	{ 1, { { "aer-fatal", GPU, 1 } }, "xid aer-fatal" },
	{ 0, { { "disk-lost", "nvme1", 3 }, { "disk-error", "nvme1", 1 } }, "disk-lost" },
	{ 0, { { "disk-error", "nvme1n1", 1 }, { "disk-lost", "nvme1", 3 } }, "disk-lost" },
	{ 0, { { "disk-error", "nvme1n1", 1 }, { "disk-error", "nvme1", 3 } }, "disk-error" },
	{ 0, { { "disk-error", "nvme11n1", 1 }, { "disk-lost", "nvme1", 3 } }, "disk-lost disk-error" },
	{ 0, { { "disk-error", "nvme1", 1 }, { "disk-error", "nvme1", 3 } }, "disk-error disk-error" },
	{ 0, { { "disk-error", "none", 1 } }, "disk-error" },
	{ 0, { { "lockup", "cpu1", 1 }, { "hung-task", "cpu1", 1 } }, "lockup hung-task" }, /* which is less bad */
};

TEST_EACH(one_incident_is_one_finding, incidents)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	char found[100] = "";
	for (size_t i = 0; i < 2 && incidents[_i].events[i].kind; i++)
		add_kernel(run, node, incidents[_i].events[i].kind, incidents[_i].events[i].device,
			incidents[_i].events[i].age, (double)i + 1);
	double age = incidents[_i].xid_age;
	if (age < 0 || age > 0)
		add_xid(run, node, GPU,
			&(struct event){ "79", age < 0 ? "nobody" : "job", "before", fabs(age), 1, NULL });
	struct muster_report *report = judge(run, OPTIONAL);
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		const char *observed = finding->observed;
		if (finding->status == MUSTER_SKIP) {
			ck_assert_ptr_nonnull(strstr(observed, " is a part of "));
			continue;
		}
		bool xid = strcmp(finding->check, "xid") == 0;
		size_t used = strlen(found), length = strcspn(observed + strlen("kernel event "), " ,");
		snprintf(found + used, sizeof found - used, "%s%.*s", used ? " " : "", xid ? 3 : (int)length,
			xid ? "xid" : observed + strlen("kernel event "));
	}
	ck_assert_str_eq(found, incidents[_i].found);
}

TEST(a_finding_has_the_line_and_what_to_do)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	add_xid(run, node, GPU, &(struct event){ "79", "job", "before", 1, 1, "NVRM: Xid (PCI:0001:00:00): 79" });
	add_xid(run, node, "0002:00:00.0", &(struct event){ "999", "job", "before", 1, 1, NULL });
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_uint_eq(report->finding_count, 2);
	const struct muster_finding *known = &report->findings[0], *unknown = &report->findings[1];
	ck_assert_str_eq(known->evidence, "NVRM: Xid (PCI:0001:00:00): 79");
	ck_assert_str_eq(known->advice, "power sim-1 off and on: " GPU);
	ck_assert_str_eq(known->unit, "");
	ck_assert_double_eq(known->value.number, 1);
	ck_assert_ptr_null(unknown->evidence);
	ck_assert_str_eq(unknown->advice, "this code is not in the expectation file (events.xid): look up Xid 999 in "
					  "the documentation of the driver, "
					  "and enter it in an overlay");
}

/* The entry's advice is for that event; a check may have one for all. */
TEST(a_check_with_an_advice_of_its_own_gives_that)
{
	struct muster_run *run = fixture_new_run();
	add_kernel(run, begin(run, 1), "aer-fatal", "0003:00:00.0", 1, 2);
	struct muster_report *report = judge(run, OPTIONAL ",'advice':'call us about ${node}'");
	ck_assert_str_eq(fixture_findings(report), "fail kernel sim-1: no kernel event aer-fatal within 24 h | kernel "
						   "event aer-fatal of 0003:00:00.0, PCIe "
						   "error, 2 times, last 1.0 h ago\n");
	ck_assert_str_eq(report->findings[0].advice, "call us about sim-1");
}

/* Two lines about one GPU are two events, each with its own line and its own action. */
TEST(events_of_one_place_are_findings_of_their_own)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	add_xid(run, node, GPU, &(struct event){ "79", "job", "before", 2, 1, "one" });
	add_xid(run, node, GPU, &(struct event){ "79", "job", "during", 0, 1, "two" });
	add_kernel(run, node, "link-flap", "none", 5, 1);
	add_kernel(run, node, "link-flap", "mlx5_1", 7, 1);
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_str_eq(fixture_findings(report), "fail xid sim-1 gpu=" GPU ": " XID79 ", once, 2.0 h ago\n"
						   "fail xid sim-1 gpu=" GPU ": " XID79 ", once, during this run\n"
						   "warn kernel sim-1: no kernel event link-flap within 6 h | kernel "
						   "event link-flap, link down, once, "
						   "5.0 h ago\n");
	ck_assert_str_eq(report->findings[0].evidence, "one");
	ck_assert_str_eq(report->findings[1].evidence, "two");
}

TEST(a_log_without_events_passes_where_it_was_read)
{
	struct muster_run *run = fixture_new_run();
	begin(run, 1);
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_str_eq(fixture_findings(report), "");
	for (size_t i = 0; i < report->tally_count; i++)
		ck_assert_uint_eq(report->tallies[i].count[MUSTER_PASS], 1);
}

/* Of a log that nobody could read, nothing is known. */
TEST(a_log_that_was_not_read_is_no_pass)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	node->samples.items[0].value = muster_null();
	node->samples.items[0].reason = "/dev/kmsg: Operation not permitted";
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_str_eq(fixture_findings(report),
		"skip xid sim-1: no Xid within 24 h, notes apart | /dev/kmsg: Operation not permitted\n"
		"skip other sim-1: no Xid within 24 h, notes apart | /dev/kmsg: Operation not permitted\n"
		"skip kernel sim-1: no kernel event within 24 h, notes apart | /dev/kmsg: Operation not permitted\n");
	ck_assert_int_eq(report->verdict, MUSTER_PASS);
	report = judge(run, "");
	ck_assert_int_eq(report->verdict, MUSTER_INCONCLUSIVE);
	ck_assert_str_eq(report->findings[0].check, "kernel");
}

/* Where younger lines have pushed older ones out of the kernel's memory, an event may be among those. */
TEST_LOOP(a_log_that_does_not_reach_back_far_enough_is_no_pass, 0, 3)
{
	struct muster_run *run = fixture_new_run();
	static const struct {
		const char *start;
		double hours;
		bool passes;
	} logs[] = {
		{ "boot", 0.5, true },
		{ "older lines are lost", 24, true },
		{ "older lines are lost", 23.5, false },
	};
	struct muster_node *node = begin(run, 1);
	fixture_sample(run, &node->samples, "node.kernel_log_start", NULL, muster_string(logs[_i].start));
	fixture_sample(run, &node->samples, "node.kernel_log_hours", NULL, muster_number(logs[_i].hours));
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_uint_eq(report->count[MUSTER_PASS], logs[_i].passes ? 3 : 0);
	if (!logs[_i].passes)
		ck_assert_str_eq(report->findings[0].observed,
			"only 23.5 h of the kernel's log could be read: older lines are lost");
}

/* Time was over before all was read: whatever was found until then. */
TEST_LOOP(a_log_that_was_read_in_part_is_inconclusive, 0, 4)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	bool note = _i & 1, fault = _i & 2;
	fixture_sample(run, &node->samples, "node.kernel_log_start", NULL, muster_string("1 s was over"));
	fixture_sample(run, &node->samples, "node.kernel_log_hours", NULL, muster_number(3));
	fixture_sample(run, &node->samples, "node.kernel_log_cut", NULL, muster_boolean(true));
	if (note)
		add_xid(run, node, GPU, &(struct event){ "31", "job", "before", 1, 1, NULL });
	if (fault)
		add_xid(run, node, GPU, &(struct event){ "79", "job", "before", 1, 1, NULL });
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_uint_eq(report->count[MUSTER_INCONCLUSIVE], 3);
	ck_assert_int_eq(report->verdict, fault ? MUSTER_FAIL : MUSTER_INCONCLUSIVE);
}

TEST(a_report_without_the_probe_is_no_pass_and_no_failure)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "sim-1", 1);
	fixture_outcome(&node->ranks[0], "gpu", MUSTER_OUTCOME_OK, NULL, NULL, NULL);
	struct muster_report *report = judge(run, OPTIONAL);
	ck_assert_uint_eq(report->count[MUSTER_SKIP], 3);
	ck_assert_uint_eq(report->count[MUSTER_PASS], 0);
	ck_assert_int_eq(report->verdict, MUSTER_PASS);
}

/* ---- while a probe failed ---- */

static void crash(struct muster_rank *rank, enum muster_outcome_status status, const char *evidence)
{
	fixture_outcome(rank, "gpu_copy", status, status == MUSTER_OUTCOME_ERROR ? "vendor" : NULL, "it failed", NULL);
	rank->outcomes.items[rank->outcomes.count - 1].evidence = evidence;
}

static struct muster_report *judge_copies(const struct muster_run *run)
{
	return fixture_report(run, "'h2d':{'metric':'gpu.h2d_gbps','min':1,'source':'s'}", false);
}

TEST_LOOP(a_probe_that_failed_comes_with_the_xid_that_was_logged_meanwhile, 0, 3)
{
	struct muster_run *run = fixture_new_run();
	static const enum muster_outcome_status ends[] = { MUSTER_OUTCOME_CRASHED, MUSTER_OUTCOME_HUNG,
		MUSTER_OUTCOME_ERROR };
	struct muster_node *node = begin(run, 1);
	node->ranks[0].gpu = GPU;
	crash(&node->ranks[0], ends[_i], "the end of a log");
	/* the node's other GPU, an older one, and one of this GPU */
	add_xid(run, node, "0002:00:00.0", &(struct event){ "79", "job", "during", 0, 1, "other" });
	add_xid(run, node, GPU, &(struct event){ "48", "job", "before", 1, 1, "before" });
	add_xid(run, node, GPU, &(struct event){ "31", "job", "during", 0, 1, "NVRM: Xid 31" });
	struct muster_report *report = judge_copies(run);
	ck_assert_str_eq(report->findings[0].check, "probe.gpu_copy");
	ck_assert_str_eq(report->findings[0].observed, "it failed; the kernel logged Xid 31");
	ck_assert_str_eq(report->findings[0].evidence, "NVRM: Xid 31; the end of a log");
}

/* All ranks of a node see the one GPU that has gone: one finding, and which GPU it was. */
TEST(an_xid_of_another_gpu_of_the_node_is_told_with_the_gpu)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 3);
	for (int r = 0; r < 3; r++) {
		node->ranks[r].gpu = r == 2 ? GPU : "0009:00:00.0";
		crash(&node->ranks[r], MUSTER_OUTCOME_HUNG, NULL);
	}
	add_xid(run, node, GPU, &(struct event){ "79", "job", "during", 0, 1, "NVRM: Xid 79" });
	struct muster_report *report = judge_copies(run);
	ck_assert_uint_eq(report->count[MUSTER_FAIL], 1);
	ck_assert_str_eq(report->findings[0].observed, "ranks 0-1: it failed; the kernel logged Xid 79 of GPU " GPU
						       "; rank 2: it failed; the kernel logged Xid 79");
	ck_assert_str_eq(report->findings[0].evidence, "rank 0, one of 3: NVRM: Xid 79");
}

/* With the table, the Xid has its name, and the worst of one GPU is told. */
TEST(of_several_xids_the_worst_is_told)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	node->ranks[0].gpu = GPU;
	crash(&node->ranks[0], MUSTER_OUTCOME_CRASHED, "the end of a log");
	add_xid(run, node, GPU, &(struct event){ "31", "job", "during", 0, 1, "one" });
	add_xid(run, node, GPU, &(struct event){ "79", "job", "during", 0, 1, NULL });
	add_xid(run, node, GPU, &(struct event){ "63", "job", "during", 0, 1, "three" });
	struct muster_report *report = judge(run, OPTIONAL "},'h2d':{'metric':'gpu.h2d_gbps','min':1,'source':'s'");
	const struct muster_finding *found = report->findings;
	while (strcmp(found->check, "probe.gpu_copy") != 0)
		found++;
	ck_assert_str_eq(found->observed, "it failed; the kernel logged Xid 79, GPU has fallen off the bus");
	ck_assert_str_eq(found->evidence, "the end of a log");
}

/* The other ranks of the node have read its log. */
TEST(a_rank_that_is_missing_comes_with_the_xid_too)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 2);
	node->ranks[1].missing = "no message";
	add_xid(run, node, GPU, &(struct event){ "79", "job", "during", 0, 1, "NVRM: Xid 79" });
	struct muster_report *report = judge_copies(run);
	ck_assert_str_eq(report->findings[0].check, "rank.missing");
	ck_assert_str_eq(report->findings[0].observed, "no message; the kernel logged Xid 79 of GPU " GPU);
	ck_assert_str_eq(report->findings[0].evidence, "NVRM: Xid 79");
}

TEST(a_probe_that_did_not_run_has_no_xid)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = begin(run, 1);
	node->ranks[0].gpu = GPU;
	fixture_outcome(&node->ranks[0], "gpu_copy", MUSTER_OUTCOME_NOT_RUN, "time", "no time left", NULL);
	add_xid(run, node, GPU, &(struct event){ "79", "job", "during", 0, 1, "a line" });
	struct muster_report *report = judge_copies(run);
	ck_assert_str_eq(report->findings[0].observed, "no time left");
	ck_assert_ptr_null(report->findings[0].evidence);
}

TEST_MAIN(.teardown = fixture_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_ticket.c - what a support desk asks for about one node, of recorded values */
#include "check_main.h"
#include "muster/run_data.h"
#include "report_rows.h"
#include "run_text.h"
#include "unit/report/printed.h"

#define GPU "0003:00:00.0"

static const struct muster_label xid = { "code", { MUSTER_STRING, { .string = "79" } } };

static struct muster_finding found[] = {
	FINDING(FAIL, "history.xid", "n1", -1, "no Xid 79 within 24 h", "Xid 79", "", .metric = "node.xid_age_hours",
		.gpu = GPU, .gpu_index = 2, .labels = &xid, .label_count = 1,
		.evidence = "NVRM: Xid (PCI:0003:00:00): 79, \x1b[2J"),
	FINDING(FAIL, "gpu.nvlinks", "n1", 4, "18", "17", "", .metric = "gpu.nvlinks", .gpu = GPU, .gpu_index = 2,
		.advice = "replace it"),
	FINDING(FAIL, "gpu.nvlinks", "n1", 5, "18", "16", "", .metric = "gpu.nvlinks", .gpu = "0004:00:00.0",
		.gpu_index = 3),
	FINDING(FAIL, "ib.count", "n1", -1, "8", "7", "", .metric = "node.ib_ports"),
	FINDING(FAIL, "affinity.cpus", "n1", -1, "1", "0", "", .metric = "node.near_share"),
	FINDING(FAIL, "probe.checkpoint", "n1", -1, "the probe to end well", "hung", ""), /* in a shared folder */
	FINDING(FAIL, "ring.busbw", NULL, -1, "1", "0", "GB/s", .metric = "nccl.allreduce_busbw_gbps"),
	FINDING(INCONCLUSIVE, "probe.gpu", "n1", -1, "the probe to end well", "hung", ""),
	FINDING(WARN, "host.shm", "n1", -1, "1", "0", "", .metric = "node.shm_mib"),
	FINDING(FAIL, "rank.missing", "n2", -1, "a report from every rank", "nothing", ""),
};

static void setup(void)
{
	run_text(&run, "n1 node.physical_host GGBB90904476\nn1 node.vm_id V\nn1 node.location -\n"
		       "n1 node.resource_id /subscriptions/S\nn1/4 gpu.serial gpu=" GPU " '1234\n"
		       "n1/4 gpu.board_part gpu=" GPU " '900-1\nn1/4 gpu.uuid gpu=" GPU " GPU-u\nn2 node\n");
	run.job.started = "2026-11-29T03:01:52Z";
	report = (struct muster_report){ .run = &run, .verdict = MUSTER_FAIL };
	only_findings(found, sizeof found / sizeof *found);
}

static bool azure;
static const char *node;
static struct muster_error err;
static int result;

static void print_ticket(const struct muster_report *of, FILE *out)
{
	result = muster_report_print_ticket(of, node, azure, out, &err);
}

static void ask(const char *name, bool for_azure)
{
	node = name;
	azure = for_azure;
	print_with(print_ticket);
}

TEST(the_text_has_the_node_and_each_failed_check_of_the_machine)
{
	ask("n1", false);
	ck_assert_int_eq(result, 0);
	ck_assert_str_eq(text, "node: n1\n"
			       "time (UTC): 2026-11-29T03:01:52Z\n"
			       "physical host: GGBB90904476\n"
			       "resource id: /subscriptions/S\n"
			       "VM id: V\n"
			       "VM size: unknown\n"
			       "region: unknown\n"
			       "NVIDIA driver: unknown\n"
			       "kernel: unknown\n"
			       "\n"
			       "1. n1, GPU 2 (0003:00:00.0)\n"
			       "   failed: history.xid\n"
			       "   observed: Xid 79\n"
			       "   expected: no Xid 79 within 24 h\n"
			       "   evidence: NVRM: Xid (PCI:0003:00:00): 79, \\x1b[2J\n"
			       "   serial number: 1234\n"
			       "   board part number: 900-1\n"
			       "   UUID: GPU-u\n"
			       "   Azure category: Resource.Hpc.Unhealthy.XID79FallenOffBus\n"
			       "\n"
			       "2. n1, GPU 2 (0003:00:00.0), rank 4\n"
			       "   failed: gpu.nvlinks\n"
			       "   observed: 17\n"
			       "   expected: 18\n"
			       "   serial number: 1234\n"
			       "   board part number: 900-1\n"
			       "   UUID: GPU-u\n"
			       "   action: replace it\n"
			       "   Azure category: Resource.Hpc.Unhealthy.NvLink\n"
			       "\n"
			       "3. n1, GPU 3 (0004:00:00.0), rank 5\n"
			       "   failed: gpu.nvlinks\n"
			       "   observed: 16\n"
			       "   expected: 18\n"
			       "   Azure category: Resource.Hpc.Unhealthy.NvLink\n"
			       "\n"
			       "4. n1\n"
			       "   failed: ib.count\n"
			       "   observed: 7\n"
			       "   expected: 8\n"
			       "   Azure category: Resource.Hpc.Unhealthy.MissingIB\n");
}

TEST(azure_has_one_impact_for_each_category)
{
	ask("n1", true);
	ck_assert_int_eq(result, 0);
	has_count("\"startDateTime\": \"2026-11-29T03:01:52Z\"", 3);
	has_count("\"impactedResourceId\": \"/subscriptions/S\"", 3);
	has_count("\"PhysicalHostName\": \"GGBB90904476\",\n          \"VmUniqueId\": \"V\"", 3);
	has("\"impactCategory\": \"Resource.Hpc.Unhealthy.NvLink\"");
	has("\"impactDescription\": \"n1, GPU 2 (0003:00:00.0), rank 4; failed: gpu.nvlinks; observed: 17; expected: "
	    "18; serial number: 1234; board part number: 900-1; UUID: GPU-u; action: replace it | "
	    "n1, GPU 3 (0004:00:00.0), rank 5; failed: gpu.nvlinks; observed: 16; expected: 18\"");
	has_count("\"SerialNumber\": \"1234\",\n          \"ModelNumber\": \"900-1\",\n"
		  "          \"Manufacturer\": \"NVIDIA\",\n          \"Location\": \"" GPU "\"",
		2); /* the missing port has no GPU */
	lacks("near_share");
	lacks("\x1b");
}

TEST(what_the_report_does_not_know_is_null_where_azure_needs_it)
{
	ask("n2", true);
	has("\"impactCategory\": \"Resource.Hpc.Unhealthy.HpcGenericFailure\"");
	has("\"impactedResourceId\": null");
	has("\"additionalProperties\": {\n          \"PhysicalHostName\": null\n        }");
}

TEST(a_failed_check_of_the_job_belongs_to_a_node_that_is_alone)
{
	ask("n1", false);
	lacks("ring.busbw");
	run.node_count = 1;
	ask("n1", false);
	has("5. whole job\n   failed: ring.busbw\n");
	has("Resource.Hpc.Unhealthy.ManualInvestigation\n");
	run.node_count = 2;
}

TEST(without_a_node_or_a_failed_check_nothing_is_printed)
{
	ask("n3", false);
	ck_assert_int_eq(result, -1);
	ck_assert_str_eq(text, "");
	ck_assert_str_eq(err.text, "ticket: the report has no node \"n3\"");
	report.findings = found + 4; /* of n1: of the job, inconclusive and a warning */
	report.finding_count = 5;
	ask("n1", true);
	ck_assert_int_eq(result, -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_str_eq(text, "");
	ck_assert_str_eq(err.text, "ticket: no check of the machine failed on n1: nothing to report");
}

TEST_MAIN(.setup = setup, .teardown = printed_done)

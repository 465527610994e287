/* SPDX-License-Identifier: Apache-2.0 */
/* test_known_causes.c - findings with a usual cause: what they say, and that one cause is one finding */
#include "check_main.h"
#include "muster/run_data.h"
#include "run_text.h"

static const char file[] =
	"{'schema_version':1,'name':'t','causes':{"
	"'uvm':{'explains':['probe.gpu*','c'],'facts':{'rank.driver_start':'cuda-999',"
	"'node.module':'^nvidia_uvm: not'},"
	"'name':'no uvm','action':'load it on ${node}'},"
	"'fabric':{'explains':['probe.gpu'],'facts':{'rank.driver_start':'cuda-802','gpu.fabric_state':'progress'},"
	"'name':'${gpu.fabric_state}','action':'wait','reported_as':'d'},"
	"'other':{'explains':['c'],'facts':{'node.driver_module':'none'},'action':'modprobe'}},"
	"'checks':{'c':{'metric':'node.gpus_present','min':8,'source':'s','advice':'ticket'},"
	"'d':{'metric':'gpu.fabric_state','equals':'completed','source':'s','optional':true},"
	"'e':{'metric':'gpu.numa_node','min':0,'source':'s'}}}";

#define NO_PROBE "skip d a rank=0: completed | not measured: this run did not have the probe\n"
#define NO_METRIC "skip d a rank=0: completed | not measured: this run did not have the metric\n"
#define GPU "a/0 probe gpu error vendor broken\n"

static const struct {
	const char *run, *found, *advice; /* advice: of the first finding */
} rows[] = {
	/* one finding of a probe and a count; a null for the probe's reason is no finding either */
	{ GPU "a/0 rank.driver_start cuda-999\na node.module name=nvidia_uvm not~loaded\n"
	      "a node.gpus_present 7\na/0 gpu.numa_node gpu=g0 -",
		"fail probe.gpu a rank=0: probe gpu finishes | broken; no uvm\n" NO_PROBE, "load it on a" },
	{ GPU "a/0 rank.driver_start cuda-999\na node.module name=nvidia_uvm loaded\na node.gpus_present 8",
		"fail probe.gpu a rank=0: probe gpu finishes | broken\n" NO_PROBE, "open a ticket" },
	{ "a/0 rank.driver_start ok\na node.driver_module none\na node.gpus_present 7\na/0 gpu.numa_node gpu=g0 0",
		"fail c a: at least 8 | 7\n" NO_METRIC, "modprobe" },
	{ "a/0 rank.driver_start ok\na node.driver_module '580\na node.gpus_present 7\na/0 gpu.numa_node gpu=g0 0",
		"fail c a: at least 8 | 7\n" NO_METRIC, "ticket" },
	{ GPU "a/0 rank.driver_start cuda-802\na/0 gpu.fabric_state gpu=g0 in-progress\na node.gpus_present 8",
		"fail d a rank=0: completed | broken; in-progress\nfail d a rank=0 gpu=g0: completed | in-progress\n",
		"wait" },
};

TEST_EACH(a_cause_is_told_once, rows)
{
	struct muster_run *run = run_text_new(rows[_i].run);
	struct muster_samples *samples = &run->nodes[0].ranks[0].samples;
	for (size_t i = 0; i < samples->count; i++)
		samples->items[i].reason = "broken";
	const struct muster_report *report = fixture_report_file(run, file);
	ck_assert_str_eq(fixture_findings(report), rows[_i].found);
	ck_assert_ptr_nonnull(strstr(report->findings[0].advice, rows[_i].advice));
}

TEST_MAIN(.teardown = fixture_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_junit.c - which test cases a CI server is shown, and what stands in them */
#include "check_main.h"
#include "muster/run.h"
#include "report_rows.h"
#include "unit/report/printed.h"

static const char *const no_copies[] = { "copy.h2d" };
static const char *const no_cliques[] = { "fabric.clique" };

/* Three nodes: of the first everything came, of the second a probe failed, of the third nothing came at all. Ranks
 * whose node nobody knows are the job's. */
static struct muster_finding findings[] = {
	FINDING(FAIL, "copy.h2d", "a", 0, "at least 21 GB/s", "11.2", "GB/s", .gpu = "0001:00:00.0",
		.value = { .type = MUSTER_NUMBER, .number = 11.2 }, .advice = "reseat <it> & \"look\"",
		.action_code = "replace-node", .source = "vendor's guide"),
	FINDING(WARN, "copy.h2d", "a", 1, "warning below 24 GB/s", "23", "GB/s", .gpu = "0002:00:00.0", .gpu_index = 1,
		.value = { .type = MUSTER_NUMBER, .number = 23 }),
	FINDING(WARN, "gpu.name", "a", -1, "B", "A", ""),
	FINDING(FAIL, "ring.cause", "a", -1, NULL, "slow", ""),
	FINDING(INCONCLUSIVE, "probe.gpu_copy", "b", 2, "the probe to end well", "crashed: signal 11", "",
		.blocked = (const char **)no_copies, .blocked_count = 1),
	FINDING(SKIP, "gpu.power", "b", 2, NULL, "a \x1b vGPU\xef\xbf\xbf", ""),
	FINDING(SKIP, "probe.nccl_allreduce", "b", 2, NULL, "ended by the failure of rank 0", ""),
	FINDING(FAIL, "rank.missing", "c", 3, NULL, "no message", ""),
	FINDING(FAIL, "rank.missing", "?", 4, NULL, "no message", ""),
	FINDING(FAIL, "fabric.same", NULL, -1, "the same on all nodes", "2 values", "",
		.blocked = (const char **)no_cliques, .blocked_count = 1),
};

static struct muster_tally tallies[] = {
	TALLY("copy.h2d", "gpu.h2d_gbps", "gpu_copy", "GB/s", NULL, .count = { [MUSTER_PASS] = 1 }),
	TALLY("gpu.name", "gpu.name", "gpu", "", NULL, .count = { [MUSTER_PASS] = 3 }),
	TALLY("gpu.power", "gpu.power_watts", "gpu", "W", NULL),
	TALLY("fabric.same", "gpu.fabric_clique", "fabric", "", NULL, .count = { [MUSTER_PASS] = 1 }),
	TALLY("ring.busbw", "nccl.allreduce_busbw_gbps", "nccl_allreduce", "GB/s", NULL,
		.count = { [MUSTER_PASS] = 2 }),
	TALLY("ring.large", "nccl.allreduce_busbw_gbps", "nccl_allreduce", "GB/s", NULL,
		.count = { [MUSTER_BLOCKED] = 1 }, .blocked_by = "copy.h2d on a and 1 more finding"),
	TALLY("ring.gdr", "rank.nccl_gdr", "nccl_allreduce", "", NULL,
		.count = { [MUSTER_PASS] = 2, [MUSTER_BLOCKED] = 1 }, .blocked_by = "probe.nccl_allreduce on a"),
	TALLY("fabric.clique", "gpu.fabric_clique", "fabric", "", NULL,
		.count = { [MUSTER_PASS] = 1, [MUSTER_BLOCKED] = 2 }),
	TALLY("ring.many", "nccl.allreduce_busbw_gbps", "nccl_allreduce", "GB/s", NULL,
		.skipped = "for runs of 8 nodes"),
	TALLY("host.cpus", "node.cpus", "system", "", NULL, .skipped = "for one node"),
};

static void ran(struct muster_rank *rank, const char *probe, double elapsed_ms)
{
	muster_outcomes_add(&rank->outcomes, (struct muster_outcome){ .probe = probe, .elapsed_ms = elapsed_ms });
}

static void make(void)
{
	static const char *const names[] = { "a", "a", "b", "c", "?" };
	muster_run_init(&run);
	run.job.started = "2025-01-31T12:00:00Z";
	run.job.profile = "quick";
	run.job.elapsed_s = 4.25;
	for (int i = 0; i < 5; i++) {
		bool other = i == 0 || strcmp(names[i], names[i - 1]) != 0;
		struct muster_node *node = other ? muster_run_add_node(&run, names[i]) : &run.nodes[run.node_count - 1];
		struct muster_rank *rank = muster_node_add_rank(node, i);
		rank->missing = i > 2 ? "no message" : NULL;
	}
	ran(&run.nodes[0].ranks[0], "gpu", 100);
	ran(&run.nodes[0].ranks[0], "gpu_copy", 1500);
	ran(&run.nodes[0].ranks[1], "gpu_copy", 2500);
	ran(&run.nodes[1].ranks[0], "gpu", 300);
	run.job.ranks = 5;
	report = (struct muster_report){ .arena = run.arena,
		.run = &run,
		.sku = "test",
		.verdict = MUSTER_FAIL,
		.findings = findings,
		.finding_count = sizeof findings / sizeof *findings,
		.tallies = tallies,
		.tally_count = sizeof tallies / sizeof *tallies };
}

/* Without the properties, which are the same in every suite. */
static void print_cases(void)
{
	char *from, *to;
	print_with(muster_report_print_junit);
	while ((from = strstr(text, "    <properties>\n"))) {
		to = strstr(from, "    </properties>\n");
		ck_assert_ptr_nonnull(to);
		to += strlen("    </properties>\n");
		memmove(from, to, strlen(to) + 1);
	}
}

static const char first_half[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	"<testsuites name=\"muster\" tests=\"23\" failures=\"5\" errors=\"1\" time=\"4.250\">\n"
	"  <testsuite name=\"job\" id=\"0\" tests=\"4\" failures=\"2\" errors=\"0\" time=\"0.000\" skipped=\"1\" "
	"timestamp=\"2025-01-31T12:00:00\">\n"
	"    <testcase classname=\"job.fabric\" name=\"fabric.same\" time=\"0.000\">\n"
	"      <failure message=\"expected the same on all nodes, observed 2 values\" type=\"fail\">whole job\n"
	"  expected  the same on all nodes\n"
	"  observed  2 values\n"
	"</failure>\n"
	"    </testcase>\n"
	"    <testcase classname=\"job.nccl_allreduce\" name=\"ring.busbw\" time=\"0.000\"/>\n"
	"    <testcase classname=\"job.nccl_allreduce\" name=\"ring.large\" time=\"0.000\">\n"
	"      <skipped message=\"blocked by copy.h2d on a and 1 more finding\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"job.muster\" name=\"rank.missing\" time=\"0.000\">\n"
	"      <failure message=\"observed no message\" type=\"fail\">?, rank 4\n"
	"  observed  no message\n"
	"</failure>\n"
	"    </testcase>\n"
	"  </testsuite>\n"
	"  <testsuite name=\"a\" id=\"1\" tests=\"9\" failures=\"2\" errors=\"0\" time=\"2.600\" skipped=\"3\" "
	"timestamp=\"2025-01-31T12:00:00\" hostname=\"a\">\n"
	"    <testcase classname=\"a.gpu\" name=\"probe.gpu\" time=\"0.100\"/>\n"
	"    <testcase classname=\"a.gpu_copy\" name=\"probe.gpu_copy\" time=\"2.500\"/>\n"
	"    <testcase classname=\"a.gpu_copy\" name=\"copy.h2d\" time=\"0.000\">\n"
	"      <failure message=\"expected at least 21 GB/s, observed 11.2 GB/s (and 1 more)\" type=\"fail\">a, "
	"GPU 0 (0001:00:00.0), rank 0\n"
	"  expected  at least 21 GB/s\n"
	"  observed  11.2 GB/s\n"
	"  action    replace-node: reseat &lt;it&gt; &amp; &quot;look&quot;\n"
	"  source    vendor's guide\n"
	"a, GPU 1 (0002:00:00.0), rank 1\n"
	"  expected  warning below 24 GB/s\n"
	"  observed  23 GB/s\n"
	"</failure>\n"
	"    </testcase>\n"
	"    <testcase classname=\"a.gpu\" name=\"gpu.name\" time=\"0.000\">\n"
	"      <system-out>warning\n"
	"a\n"
	"  expected  B\n"
	"  observed  A\n"
	"</system-out>\n"
	"    </testcase>\n"
	"    <testcase classname=\"a.gpu\" name=\"gpu.power\" time=\"0.000\">\n"
	"      <skipped message=\"not evaluated: no value, or a previous check failed\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"a.fabric\" name=\"fabric.same\" time=\"0.000\">\n"
	"      <skipped message=\"evaluated for the whole job, see test suite job\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"a.nccl_allreduce\" name=\"ring.gdr\" time=\"0.000\"/>\n"
	"    <testcase classname=\"a.fabric\" name=\"fabric.clique\" time=\"0.000\">\n"
	"      <skipped message=\"blocked by fabric.same\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"a.muster\" name=\"ring.cause\" time=\"0.000\">\n"
	"      <failure message=\"observed slow\" type=\"fail\">a\n"
	"  observed  slow\n"
	"</failure>\n"
	"    </testcase>\n"
	"  </testsuite>\n";
static const char second_half[] =
	"  <testsuite name=\"b\" id=\"2\" tests=\"9\" failures=\"0\" errors=\"1\" time=\"0.300\" skipped=\"6\" "
	"timestamp=\"2025-01-31T12:00:00\" hostname=\"b\">\n"
	"    <testcase classname=\"b.gpu\" name=\"probe.gpu\" time=\"0.300\"/>\n"
	"    <testcase classname=\"b.gpu_copy\" name=\"probe.gpu_copy\" time=\"0.000\">\n"
	"      <error message=\"expected the probe to end well, observed crashed: signal 11\" "
	"type=\"inconclusive\">b, rank 2\n"
	"  expected  the probe to end well\n"
	"  observed  crashed: signal 11\n"
	"</error>\n"
	"    </testcase>\n"
	"    <testcase classname=\"b.nccl_allreduce\" name=\"probe.nccl_allreduce\" time=\"0.000\">\n"
	"      <skipped message=\"ended by the failure of rank 0\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"b.gpu_copy\" name=\"copy.h2d\" time=\"0.000\">\n"
	"      <skipped message=\"blocked by probe.gpu_copy on b\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"b.gpu\" name=\"gpu.name\" time=\"0.000\"/>\n"
	"    <testcase classname=\"b.gpu\" name=\"gpu.power\" time=\"0.000\">\n"
	"      <skipped message=\"a \\x1b vGPU�\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"b.fabric\" name=\"fabric.same\" time=\"0.000\">\n"
	"      <skipped message=\"evaluated for the whole job, see test suite job\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"b.nccl_allreduce\" name=\"ring.gdr\" time=\"0.000\">\n"
	"      <skipped message=\"blocked by probe.nccl_allreduce on a\"/>\n"
	"    </testcase>\n"
	"    <testcase classname=\"b.fabric\" name=\"fabric.clique\" time=\"0.000\">\n"
	"      <skipped message=\"blocked by fabric.same\"/>\n"
	"    </testcase>\n"
	"  </testsuite>\n"
	"  <testsuite name=\"c\" id=\"3\" tests=\"1\" failures=\"1\" errors=\"0\" time=\"0.000\" skipped=\"0\" "
	"timestamp=\"2025-01-31T12:00:00\" hostname=\"c\">\n"
	"    <testcase classname=\"c.muster\" name=\"rank.missing\" time=\"0.000\">\n"
	"      <failure message=\"observed no message\" type=\"fail\">c, rank 3\n"
	"  observed  no message\n"
	"</failure>\n"
	"    </testcase>\n"
	"  </testsuite>\n"
	"</testsuites>\n";

TEST(each_place_has_a_case_for_each_probe_and_check)
{
	make();
	print_cases();
	begins(first_half);
	ck_assert_str_eq(text + strlen(first_half), second_half);
}

TEST(warnings_fail_where_they_are_judged_strictly)
{
	make();
	report.strict = MUSTER_STRICT;
	print_cases();
	has("name=\"gpu.name\" time=\"0.000\">\n      <failure message=\"expected B, observed A\" type=\"warn\">a\n");
	has("<testsuite name=\"a\" id=\"1\" tests=\"9\" failures=\"3\" errors=\"0\"");
}

static const char properties[] = "    <properties>\n"
				 "      <property name=\"muster\" value=\"" MUSTER_VERSION "\"/>\n"
				 "      <property name=\"sku\" value=\"test\"/>\n"
				 "      <property name=\"verdict\" value=\"fail\"/>\n"
				 "      <property name=\"strict\" value=\"true\"/>\n"
				 "      <property name=\"simulated\" value=\"true\"/>\n"
				 "      <property name=\"profile\" value=\"quick\"/>\n"
				 "      <property name=\"job\" value=\"4711\"/>\n";

TEST(every_suite_says_what_was_measured_and_how_it_was_judged)
{
	size_t suites = 0;
	make();
	run.job.simulated = true;
	run.job.id = "4711";
	report.strict = MUSTER_STRICT;
	report.count[MUSTER_FAIL] = 5;
	print_with(muster_report_print_junit);
	has("<testsuites name=\"muster (simulated)\"");
	for (char *at = text; (at = strstr(at, "    <properties>\n")); at++, suites++)
		ck_assert_msg(strncmp(at, properties, sizeof properties - 1) == 0, "%s", at);
	ck_assert_uint_eq(suites, 4);
	has_count("value=\"4711\"/>\n    </properties>\n", 3);
	/* and that of the job which kinds of faults there are, which nodes to exclude, how many checks have no case */
	has("value=\"4711\"/>\n      <property name=\"kind.");
	has_count("name=\"kind.", 7);
	has("      <property name=\"kind.fabric.same\" value=\"FAIL whole job\"/>\n");
	has("      <property name=\"exclude\" value=\"a,c\"/>\n");
	has("      <property name=\"not_for_this_run\" value=\"2 checks\"/>\n    </properties>\n");
}

TEST_MAIN(.teardown = printed_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_generic.c - measured machines against the shares of generic-nvidia.json: healthy ones pass without a warning,
 * and an all-reduce at a third fails
 */
#include "check_main.h"
#include "muster/run_data.h"
#include "run_text.h"

#define MIB 1048576.0

/* Figures that were published, or measured by us (docs/dev/measurements.md); 0 ends the sizes. */
static const struct {
	const char *machine;
	double nodes, ranks;
	const char *path;
	double limit, pcie, h2d, d2h;
	struct {
		double mib, busbw;
	} ring[6];
} machines[] = {
	{ "2 H200", 1, 2, "NVLink", 478.1, 63, 55.3, 55,
		{ { 8, 168 }, { 64, 262 }, { 256, 300.8 }, { 512, 311.6 }, { 8192, 343.8 } } },
	{ "4 H200", 1, 4, "NVLink", 478.1, 63, 55.3, 55.3,
		{ { 8, 213.9 }, { 64, 315.6 }, { 256, 340.8 }, { 512, 347.7 } } },
	{ "8 A100", 1, 8, "NVLink", 300, 31.5, 26.1, 25, { { 8, 90 }, { 64, 166.6 }, { 256, 213.9 }, { 512, 221.6 } } },
	{ "8 A100, up to 8 GiB", 1, 8, "NVLink", 300, 31.5, 24.9, 24.9, { { 8192, 231.6 } } },
	{ "8 H100 with NVLS", 1, 8, "NVLink", 478.1, 63, 51, 52, { { 8192, 478.9 } } },
	{ "4 GB200", 1, 4, "NVLink", 956.25, 63, 201, 193, { { 8, 253 }, { 64, 551 }, { 256, 594 }, { 8192, 679.6 } } },
	{ "2 nodes of 8 A100", 2, 16, "network", 200, 31.5, 26.1, 25, { { 512, 167.6 }, { 8192, 169.5 } } },
	{ "3 nodes of 8 A100", 3, 24, "network", 200, 31.5, 26.1, 25, { { 512, 160 } } },
	{ "nodes of 8 H100 with SHARP", 4, 32, "network", 400, 63, 51, 52, { { 8192, 450 } } },
	{ "GB300, between racks", 2, 8, "network", 400, 63, 201, 193, { { 512, 200 } } },
	{ "4 A100 with PCIe", 1, 4, "PCIe", 31.5, 31.5, 25.6, 25.2, { { 64, 24.5 }, { 512, 25 } } },
	{ "a machine whose slots are on two processors", 1, 8, "PCIe", 31.5, 31.5, 22.1, 22.1,
		{ { 64, 6 }, { 512, 7 } } },
};

static void ring_samples(struct muster_run *run, int row, double factor)
{
	char labels[128];
	for (size_t i = 0; i < 6 && machines[row].ring[i].mib > 0; i++) {
		snprintf(labels, sizeof labels, "bytes=%.0f nodes=%.0f ranks=%.0f", machines[row].ring[i].mib * MIB,
			machines[row].nodes, machines[row].ranks);
		fixture_sample(run, &run->job.samples, "nccl.allreduce_busbw_gbps", labels,
			muster_number(machines[row].ring[i].busbw * factor));
	}
	snprintf(labels, sizeof labels, "nodes=%.0f ranks=%.0f path=%s link=%s", machines[row].nodes,
		machines[row].ranks, machines[row].path, machines[row].path);
	fixture_sample(run, &run->job.samples, "nccl.allreduce_limit_gbps", labels, muster_number(machines[row].limit));
}

static struct muster_run *machine_make(int row, double ring, double copy)
{
	int nodes = (int)machines[row].nodes, each = (int)machines[row].ranks / nodes;
	struct muster_run *run = fixture_new_run();
	run->job.profile = "full";
	for (int n = 0; n < nodes; n++) {
		struct muster_node *node = fixture_node(run, muster_arena_printf(run->arena, "n%d", n), each);
		for (int r = 0; r < each; r++) {
			struct muster_samples *samples = &node->ranks[r].samples;
			fixture_sample(run, samples, "gpu.pcie_limit_gbps", "gpu=g link=PCIe",
				muster_number(machines[row].pcie));
			fixture_sample(run, samples, "gpu.h2d_gbps", "gpu=g", muster_number(machines[row].h2d * copy));
			fixture_sample(run, samples, "gpu.d2h_gbps", "gpu=g", muster_number(machines[row].d2h * copy));
		}
	}
	ring_samples(run, row, ring);
	return run;
}

/* Findings of checks that compare with a limit: whether one has this status. */
static bool has(const struct muster_report *report, enum muster_status status, const char *ring_or_copy)
{
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (finding->status == status && strncmp(finding->check, ring_or_copy, strlen(ring_or_copy)) == 0)
			return true;
	}
	return false;
}

static struct muster_report *judge(int row, double ring, double copy)
{
	struct muster_expect expect;
	struct muster_error err;
	struct muster_run *run = machine_make(row, ring, copy);
	struct muster_report *report = fixture_new_report();
	ck_assert_msg(muster_expect_load(MUSTER_SOURCE_DIR "/configs", "generic-nvidia", NULL, &expect, &err) == 0,
		"%s", err.text);
	muster_evaluate(run, &expect, false, report);
	muster_expect_done(&expect);
	return report;
}

TEST_EACH(what_was_measured_on_healthy_machines_passes_without_a_warning, machines)
{
	struct muster_report *report = judge(_i, 1, 1);
	for (size_t status = 0; status < MUSTER_STATUS_COUNT; status++)
		if (status == MUSTER_FAIL || status == MUSTER_WARN || status == MUSTER_BLOCKED)
			ck_assert_msg(!has(report, (enum muster_status)status, "ring.") &&
					      !has(report, (enum muster_status)status, "copy."),
				"%s: %s", machines[_i].machine, fixture_findings(report));
	size_t evaluated = 0;
	for (size_t i = 0; i < report->tally_count; i++)
		if (strncmp(report->tallies[i].check, "ring.n", 6) == 0 || strstr(report->tallies[i].check, "_pcie"))
			evaluated += report->tallies[i].count[MUSTER_PASS];
	ck_assert_uint_gt(evaluated, 1);
}

TEST_EACH(an_all_reduce_at_a_third_fails_except_through_pcie, machines)
{
	struct muster_report *report = judge(_i, 1.0 / 3, 1);
	ck_assert_msg(has(report, MUSTER_FAIL, "ring.") == (strcmp(machines[_i].path, "PCIe") != 0), "%s: %s",
		machines[_i].machine, fixture_findings(report));
}

/* Half the lanes, or the next lower generation; a copy over C2C says nothing of PCIe. */
TEST_EACH(a_copy_at_half_the_speed_of_the_link_fails, machines)
{
	struct muster_report *report = judge(_i, 1, 0.5);
	ck_assert_msg(has(report, MUSTER_FAIL, "copy.h2d_pcie") == (machines[_i].h2d < machines[_i].pcie), "%s",
		machines[_i].machine);
}

/* Measured: another program multiplied matrices on one of two H200. */
TEST(a_stranger_on_a_gpu_is_noticed)
{
	struct muster_report *report = judge(0, 162.0 / 311.6, 1);
	ck_assert(has(report, MUSTER_FAIL, "ring.nvlink"));
}

TEST_MAIN(.teardown = fixture_done)

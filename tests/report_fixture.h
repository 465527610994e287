/* SPDX-License-Identifier: Apache-2.0 */
/* report_fixture.h - a small run with one of everything, and a report on it, written down by hand */
#ifndef MUSTER_TESTS_REPORT_FIXTURE_H
#define MUSTER_TESTS_REPORT_FIXTURE_H

#include "muster/report.h"

#include "muster/run.h"
#include "report_rows.h"
#include "synthetic_run.h"

#include <math.h>
#include <string.h>

/* How often a text has another one. */
static inline size_t fixture_count(const char *text, const char *wanted)
{
	size_t count = 0;
	for (; (text = strstr(text, wanted)); text += strlen(wanted))
		count++;
	return count;
}

/* Two nodes of eight ranks, some trial rings of theirs, rank 15 missing, every outcome, nulls, and strings that
 * machines should not give. */
static inline void fixture_run(struct muster_run *run)
{
	synthetic_run(run, 16);
	struct muster_rank *missing = &run->nodes[1].ranks[7];
	missing->local_rank = -1;
	missing->gpu = missing->gpu_uuid = NULL;
	missing->missing = "no message within 60 s";
	missing->samples.count = missing->outcomes.count = 0;
	run->nodes[1].ranks[6].unfinished =
		"the rank did not finish; its last message, 3 s after its start: ncclAllReduce";
	run->job.interrupted = "SIGTERM came to rank 0 after 61.2 s";
	struct muster_outcomes *outcomes = &run->nodes[1].ranks[0].outcomes;
	muster_outcomes_add(outcomes, (struct muster_outcome){ .probe = "gpu",
					      .status = MUSTER_OUTCOME_ERROR,
					      .code = "lib",
					      .detail = "libcuda.so.1: cannot be opened",
					      .elapsed_ms = 1 });
	muster_outcomes_add(outcomes, (struct muster_outcome){ .probe = "gpu_copy",
					      .status = MUSTER_OUTCOME_CRASHED,
					      .detail = "signal 11",
					      .step = "cuMemcpyHtoDAsync_v2",
					      .evidence = "last words: free(): invalid pointer",
					      .elapsed_ms = 2.5 });
	muster_outcomes_add(outcomes, (struct muster_outcome){ .probe = "nccl_allreduce",
					      .status = MUSTER_OUTCOME_HUNG,
					      .detail = "no answer within 60 s",
					      .step = "ncclCommInitRankConfig",
					      .ring = 15,
					      .elapsed_ms = 60000 });
	muster_outcomes_add(outcomes, (struct muster_outcome){ .probe = "affinity",
					      .status = MUSTER_OUTCOME_NOT_RUN,
					      .code = "time",
					      .detail = "no time was left" });
	static const char *names[] = { "sim-1", "sim-2" };
	muster_run_add_trial(run, (struct muster_trial){ .probe = "nccl_allreduce",
					  .nodes = names,
					  .node_count = 1,
					  .status = MUSTER_TRIAL_OK,
					  .busbw_gbps = 231.25,
					  .seconds = 0.75 });
	muster_run_add_trial(run, (struct muster_trial){ .probe = "nccl_allreduce",
					  .kind = MUSTER_TRIAL_PAIR,
					  .nodes = names,
					  .node_count = 2,
					  .why = "rank 9: \"no\" answer\x1b[2J",
					  .seconds = 10 });
	muster_run_add_trial(run, (struct muster_trial){ .probe = "nccl_allreduce",
					  .kind = MUSTER_TRIAL_PAIR,
					  .nodes = names,
					  .node_count = 2,
					  .status = MUSTER_TRIAL_LATE,
					  .why = "rank 3: not within 1000 ms",
					  .seconds = 1.5 });
	struct muster_samples *samples = &run->nodes[0].ranks[0].samples;
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, "gpu.name") == 0)
			samples->items[i].value = muster_string("A\"100\\ \x1b[31mred\x07 \xc2\x9b µ \n\t\x7f end");
}

static const struct muster_label fixture_bytes[] = {
	{ .key = "bytes", .value = { .type = MUSTER_NUMBER, .number = 8589934592 } },
	{ .key = "nodes", .value = { .type = MUSTER_NUMBER, .number = 2 } },
};
static const char *fixture_blocked[] = { "copy.h2d", "copy.d2h" };

/* One finding of each status, and probes and ranks that did not end well. */
static struct muster_finding fixture_findings[] = {
	FINDING(FAIL, "rank.missing", "sim-2", 15, "a report from every rank", "no message within 60 s", "",
		.gpu_index = -1, .blocked = fixture_blocked, .blocked_count = 2),
	FINDING(FAIL, "copy.h2d", "sim-1", 4, "at least 21 GB/s", "11.2", "GB/s", .gpu = "000b:00:00.0", .gpu_index = 4,
		.metric = "gpu.h2d_gbps", .value = { .type = MUSTER_NUMBER, .number = 11.2 },
		.share = { true, 0.3555, 0.3555, 31.5, "PCIe 4.0 x16" }, .advice = "reseat it: see \"nvidia-smi -q\"",
		.proof = MUSTER_PROOF_HARD, .action_code = "reset-gpu", .source = "vendor's guide",
		.certainty = "specified"),
	FINDING(INCONCLUSIVE, "probe.gpu_copy", "sim-2", 8, "the probe to end well",
		"crashed: signal 11 in cuMemcpyHtoDAsync_v2", "", .gpu = "0001:00:00.0", .gpu_index = -1,
		.evidence = "last words: free(): invalid pointer", .blocked = fixture_blocked, .blocked_count = 2),
	FINDING(WARN, "ib.state", "sim-1", -1, "ACTIVE", "INIT", "", .gpu_index = -1, .port = "mlx5_ib3/1",
		.metric = "port.state", .value = { .type = MUSTER_STRING, .string = "INIT" }),
	FINDING(WARN, "ring.busbw", NULL, -1, "at least 180 GB/s", "170.5", "GB/s", .gpu_index = -1,
		.metric = "nccl.allreduce_busbw_gbps", .labels = fixture_bytes, .label_count = 2,
		.value = { .type = MUSTER_NUMBER, .number = 170.5 }),
	FINDING(SKIP, "gpu.power", "sim-1", 0, "at most 400 W", "no value: not supported by a vGPU", "W",
		.gpu = "0001:00:00.0", .gpu_index = -1, .metric = "gpu.power_watts", .uncalibrated = true),
};

static struct muster_tally fixture_tallies[] = {
	TALLY("copy.h2d", "gpu.h2d_gbps", "gpu_copy", "GB/s", "at least 21 GB/s", .source = "vendor's guide",
		.certainty = "specified", .count = { [MUSTER_PASS] = 13, [MUSTER_FAIL] = 1 }, .has_numbers = true,
		.lowest = 11.2, .highest = 26.1, .share = { true, 0.3555, 0.8285, 31.5, "PCIe 4.0 x16" }),
	TALLY("ib.state", "port.state", "ib_link", "", "ACTIVE", .count = { [MUSTER_PASS] = 15, [MUSTER_WARN] = 1 }),
	TALLY("gpu.name", "gpu.name", "gpu", "", "NVIDIA A100-SXM4-40GB", .count = { [MUSTER_PASS] = 15 },
		.value = "NVIDIA A100-SXM4-40GB"),
	TALLY("copy.d2h", "gpu.d2h_gbps", "gpu_copy", "GB/s",
		"at least 21.34 GB/s (85 % of the median of this run, 25.1 GB/s)",
		.count = { [MUSTER_PASS] = 15, [MUSTER_BLOCKED] = 2 },
		.blocked_by = "rank.missing on sim-2 and 1 more finding", .has_numbers = true, .lowest = 25.06,
		.highest = 25.1, .uncalibrated = true),
	TALLY("site.rate", "port.rate_gbps", "ib_link", "Gb/s", "no threshold", .count = { [MUSTER_PASS] = 16 },
		.has_numbers = true, .lowest = 200, .highest = 200, .uncalibrated = true),
	TALLY("site.driver", "node.driver_version", "gpu", "", "no threshold", .count = { [MUSTER_PASS] = 2 },
		.uncalibrated = true),
	TALLY("site.firmware", "port.firmware", "ib_link", "", "no threshold", .count = { [MUSTER_INCONCLUSIVE] = 1 },
		.uncalibrated = true),
	TALLY("ring.one_node", "nccl.allreduce_busbw_gbps", "nccl_allreduce", "GB/s", "at least 228 GB/s",
		.skipped = "only for runs of 1 node (this run has 2)"),
};

static inline void fixture_report(struct muster_report *report, const struct muster_run *run)
{
	*report = (struct muster_report){ .run = run,
		.sku = "Standard_ND96asr_v4",
		.sku_origin = "Standard_ND96asr_v4.json < family.json",
		.domains = 2,
		.verdict = MUSTER_FAIL,
		.findings = fixture_findings,
		.finding_count = sizeof fixture_findings / sizeof *fixture_findings,
		.tallies = fixture_tallies,
		.tally_count = sizeof fixture_tallies / sizeof *fixture_tallies };
	for (size_t i = 0; i < report->finding_count; i++)
		report->count[report->findings[i].status]++;
	report->count[MUSTER_PASS] = 43;
	report->count[MUSTER_BLOCKED] = 2;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c - what differs between two runs, from samples and findings to the lines that people and scripts read
 *
 * The two runs are written as in run_text.h, and what belongs to a report as
 *   ! STATUS CHECK NODE [METRIC [GPU [BYTES]]]     a finding; the node "-" is the whole job
 *   ! blocks CHECK                                 the finding before this one blocks the check
 *   check ID RULE                                  a check of the expectations
 *   profile NAME, sku NAME, strict, simulated
 */
#include "check_main.h"
#include "model/gpu.h"
#include "report/compare.h"

#include "muster/run.h"
#include "run_text.h"

enum { FINDINGS_MAX = 16 };

struct side {
	struct muster_run run;
	struct muster_report report;
	struct muster_finding findings[FINDINGS_MAX];
	struct muster_tally tallies[FINDINGS_MAX];
};

static void add_finding(struct side *side, char **words, size_t count)
{
	struct muster_finding *finding = &side->findings[side->report.finding_count++];
	*finding = (struct muster_finding){ .check = words[2], .rank = -1, .unit = "" };
	while (strcmp(muster_status_names[finding->status], words[1]) != 0)
		finding->status++;
	finding->node = run_text_or_null(words, count, 3);
	finding->metric = count > 4 ? words[4] : NULL;
	finding->gpu = run_text_or_null(words, count, 5);
	finding->gpu_index =
		muster_node_gpu_index(finding->node ? run_text_node(&side->run, words[3]) : NULL, finding->gpu);
	if (count > 6) {
		struct muster_label *label = muster_arena_alloc(side->run.arena, sizeof *label);
		*label = (struct muster_label){ .key = "bytes", .value = run_text_value(words[6]) };
		finding->labels = label;
		finding->label_count = 1;
	}
}

/* A rule: "x" is a text that is expected, "5" the least number, "medianN" what others have in this run. */
static void add_tally(struct side *side, const char *check, const char *rule)
{
	struct muster_tally *tally = &side->tallies[side->report.tally_count++];
	char *end;
	*tally = (struct muster_tally){ .check = check, .expected = rule, .unit = "" };
	tally->uncalibrated = strncmp(rule, "median", 6) == 0;
	tally->least = strtod(rule, &end);
	tally->has_least = end != rule;
}

static void add_blocked(struct side *side, const char *check)
{
	struct muster_finding *finding = &side->findings[side->report.finding_count - 1];
	finding->blocked = muster_arena_alloc(side->run.arena, sizeof *finding->blocked);
	finding->blocked[finding->blocked_count++] = muster_arena_string(side->run.arena, check);
}

static void add_line(struct muster_run *run, void *data, char **words, size_t count)
{
	struct side *side = data;
	if (strcmp(words[0], "!") == 0 && strcmp(words[1], "blocks") == 0)
		add_blocked(side, words[2]);
	else if (strcmp(words[0], "!") == 0)
		add_finding(side, words, count);
	else if (strcmp(words[0], "check") == 0)
		add_tally(side, words[1], words[2]);
	else if (strcmp(words[0], "profile") == 0)
		run->job.profile = words[1];
	else if (strcmp(words[0], "sku") == 0)
		side->report.sku = words[1];
	else if (strcmp(words[0], "strict") == 0)
		side->report.strict = MUSTER_STRICT;
	else if (strcmp(words[0], "simulated") == 0)
		run->job.simulated = true;
	else
		run_text_words(run, words, count);
}

static void make(struct side *side, const char *lines)
{
	memset(side, 0, sizeof *side);
	fixture_run(&side->run);
	side->report = (struct muster_report){ .run = &side->run,
		.findings = side->findings,
		.tallies = side->tallies,
		.sku = "test",
		.sku_origin = "test.json" };
	run_text_each(&side->run, lines, add_line, side);
}

/* ---- what differs, as people read it ---- */

static const char header[] = "before: a.json\nafter:  b.json\n";

#define TWO_NODES                                                                                                      \
	"sim-1/0 = 0001:00:00.0 GPU-a\nsim-1/1 = 0002:00:00.0 GPU-b\n"                                                 \
	"sim-2/2 = 0001:00:00.0 GPU-c\nsim-2/3 = 0002:00:00.0 GPU-d\n"
#define H2D "sim-1/0 gpu.h2d_gbps gpu=0001:00:00.0 "
#define GPU_0 "sim-1/0 = 0001:00:00.0 GPU-a\n"

static const struct {
	const char *name, *before, *after;
	const char *text; /* behind the header */
} cases[] = {
	{ "nothing", TWO_NODES H2D "20", TWO_NODES H2D "20",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "slower", GPU_0 H2D "20", GPU_0 H2D "18",
		"\nworse\n  gpu.h2d_gbps: 20 -> 18 GB/s, -10.0 % (variation 8.0 %, assumed): node sim-1, GPU "
		"0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "faster", GPU_0 H2D "20", GPU_0 H2D "22",
		"\nbetter\n  gpu.h2d_gbps: 20 -> 22 GB/s, +10.0 % (variation 8.0 %, assumed): node sim-1, GPU "
		"0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=1 changed=0 same=0\n" },
	{ "as far as the variation goes", GPU_0 H2D "100", GPU_0 H2D "92",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "all GPUs at once scatter more", "sim-1/0 gpu.h2d_together_gbps gpu=0001:00:00.0 100",
		"sim-1/0 gpu.h2d_together_gbps gpu=0001:00:00.0 80",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "beyond the noise of repeats", GPU_0 H2D "100,98,104", GPU_0 H2D "90,90,91",
		"\nworse\n  gpu.h2d_gbps: 100 -> 90 GB/s, -10.0 % (variation 5.0 %): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "windows of a run without repeats vary more", GPU_0 H2D "100,98,104", GPU_0 H2D "90,90,91",
		"\nworse\n  gpu.h2d_gbps: 100 -> 90 GB/s, -10.0 % (variation 8.0 %): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "what is slow at times says nothing", GPU_0 H2D "100,20,99", GPU_0 H2D "90,10,90",
		"\nworse\n  gpu.h2d_gbps: 100 -> 90 GB/s, -10.0 % (variation 5.5 %): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "within the noise of repeats", GPU_0 H2D "100,85,85", GPU_0 H2D "88,75,75",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "a figure of 0 has no variation", GPU_0 H2D "100,98,104", GPU_0 H2D "0,5,0",
		"\nworse\n  gpu.h2d_gbps: 100 -> 0 GB/s, -100.0 % (variation 5.0 %): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "one moment proves nothing beside windows", GPU_0 H2D "100,80,99", GPU_0 H2D "50",
		"\nchanged\n  gpu.h2d_gbps: 100 -> 50 GB/s, -50.0 % (variation 8.5 %, assumed): node sim-1, GPU "
		"0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
	{ "windows that agree prove no more than 5 %", GPU_0 H2D "100,100", GPU_0 H2D "95,95",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "one fast window is no loss of the others", GPU_0 H2D "100,88,88,88,88", GPU_0 H2D "86,86,86,86,86",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "more of what should be little", "sim-1/0 rank.allreduce_wrong bytes=64 2",
		"sim-1/0 rank.allreduce_wrong bytes=64 3",
		"\nworse\n  rank.allreduce_wrong bytes=64 B: 2 -> 3: node sim-1, rank 0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "less of it", "sim-1/0 rank.allreduce_wrong bytes=64 2", "sim-1/0 rank.allreduce_wrong bytes=64 0",
		"\nbetter\n  rank.allreduce_wrong bytes=64 B: 2 -> 0: node sim-1, rank 0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=1 changed=0 same=0\n" },
	{ "from nothing", GPU_0 H2D "0", GPU_0 H2D "20",
		"\nbetter\n  gpu.h2d_gbps: 0 -> 20 GB/s, +0.0 % (variation 8.0 %, assumed): node sim-1, GPU "
		"0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=1 changed=0 same=0\n" },
	{ "what drifts says nothing", "sim-1/0 gpu.temperature_celsius gpu=0001:00:00.0 30",
		"sim-1/0 gpu.temperature_celsius gpu=0001:00:00.0 90",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=0\n" },
	{ "more events of the log, which only their class makes bad",
		"sim-1 node.xid_count gpu=a code=b of=job when=before 1",
		"sim-1 node.xid_count gpu=a code=b of=job when=before 5",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=0\n" },
	{ "a fact", "sim-1 node.driver_version 580.1", "sim-1 node.driver_version 590.2",
		"\nchanged\n  node.driver_version: 580.1 -> 590.2: node sim-1\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
	{ "a fact that is a number", "sim-1 node.cpus 96", "sim-1 node.cpus 95",
		"\nchanged\n  node.cpus: 96 -> 95: node sim-1\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
	{ "no longer to be had", GPU_0 H2D "20", GPU_0 H2D "-",
		"\nchanged\n  gpu.h2d_gbps: 20 GB/s -> no value (not supported here): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
	{ "a GPU has its index", "sim-1 node.gpu_order '0002:00:00.0~0001:00:00.0\n" H2D "20",
		"sim-1 node.gpu_order '0002:00:00.0~0001:00:00.0\n" H2D
		"10\n! fail other sim-1 gpu.d2h_gbps 0002:00:00.0",
		"\nworse\n  gpu.h2d_gbps: 20 -> 10 GB/s, -50.0 % (variation 8.0 %, assumed): node sim-1, GPU 1 "
		"(0001:00:00.0)\n  other: no finding -> fail: node sim-1, GPU 0 (0002:00:00.0)\n"
		"\nMUSTER DIFF WORSE worse=2 better=0 changed=0 same=1\n" },
	{ "no longer measured", GPU_0 H2D "20\nsim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 20",
		GPU_0 "sim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 20",
		"\nchanged\n  gpu.h2d_gbps: 20 GB/s -> no value (not measured): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=1\n" },
	{ "measured for the first time", GPU_0 "sim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 20",
		GPU_0 H2D "20\nsim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 20",
		"\nchanged\n  gpu.h2d_gbps: no value (not measured) -> 20 GB/s: node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=1\n" },
	{ "a metric that one of them does not know", GPU_0 H2D "20", GPU_0 "sim-1 node.cpus 96",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=0\n" },
	{ "each size is its own figure",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 100\n"
		"job nccl.allreduce_busbw_gbps bytes=1048576 nodes=1 ranks=2 200",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 100\n"
		"job nccl.allreduce_busbw_gbps bytes=1048576 nodes=1 ranks=2 180",
		"\nworse\n  nccl.allreduce_busbw_gbps bytes=1 MiB nodes=1 ranks=2: 200 -> 180 GB/s, -10.0 % (variation "
		"8.0 %, assumed): the whole job\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=2\n" },
	{ "a ring of another size", "sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 100",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=2 ranks=4 50",
		"Not compared: the all-reduces of the two runs have different numbers of ranks: their bandwidths are "
		"not compared\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "a message that one of them does not have",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 100\n"
		"job nccl.allreduce_busbw_gbps bytes=128 nodes=1 ranks=2 90",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 100",
		"\nchanged\n  nccl.allreduce_busbw_gbps bytes=128 B nodes=1 ranks=2: 90 GB/s -> no value (not "
		"measured): the whole job\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=2\n" },
	/* ---- whose samples are whose ---- */
	{ "a single node under another name", GPU_0 H2D "20",
		"new/7 = 0009:00:00.0 GPU-z\nnew/7 gpu.h2d_gbps gpu=0009:00:00.0 18",
		"\nchanged\n"
		"  rank: there -> no value (absent): node new, GPU 0001:00:00.0\n"
		"  rank: no value (absent) -> there: node new, GPU 0009:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=2 same=0\n" },
	{ "a node that left and one that came", "a node.cpus 1\nb node.cpus 1\nc node.cpus 1",
		"d node.cpus 1\nb node.cpus 1",
		"\nchanged\n"
		"  node: there -> no value (absent): 2 nodes a,c\n"
		"  node: no value (absent) -> there: node d\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=3 same=1\n" },
	{ "a GPU is known by its UUID, whatever its bus id", GPU_0 H2D "20\nsim-1/1 = 0002:00:00.0 GPU-b",
		"sim-1/0 = 0001:00:00.0 GPU-b\nsim-1/1 = 0002:00:00.0 GPU-a\nsim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 20",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "or else by its bus id", "sim-1/0 = 0001:00:00.0 -\n" H2D "20\nsim-1/1 = 0002:00:00.0 -",
		"sim-1/4 = 0002:00:00.0 -\nsim-1/5 = 0001:00:00.0 -\nsim-1/5 gpu.h2d_gbps gpu=0001:00:00.0 10",
		"\nworse\n  gpu.h2d_gbps: 20 -> 10 GB/s, -50.0 % (variation 8.0 %, assumed): node sim-1, GPU "
		"0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "a rank without a GPU by its number", "sim-1/3 rank.allreduce_wrong bytes=64 0\nsim-1/4 = 0001:00:00.0 GPU-a",
		"sim-1/3 rank.allreduce_wrong bytes=64 1\nsim-1/4 = 0001:00:00.0 GPU-a",
		"\nworse\n  rank.allreduce_wrong bytes=64 B: 0 -> 1: node sim-1, rank 3\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=0\n" },
	{ "a rank from which nothing came", GPU_0 H2D "20", GPU_0 "sim-1/0 missing",
		"\nchanged\n  rank: there -> no value (absent): node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
	{ "a rank that is back", GPU_0 "sim-1/0 missing", GPU_0 H2D "20",
		"\nchanged\n  rank: no value (absent) -> there: node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
	{ "a rank that is missing in both", GPU_0 "sim-1/0 missing", GPU_0 "sim-1/0 missing",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=0\n" },
	{ "a rank that is missing in one and unknown in the other", GPU_0 "sim-1/1 = 2 GPU-b\nsim-1/1 missing",
		GPU_0 "sim-1/2 = 3 GPU-c\nsim-1/2 missing",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=0\n" },
	/* ---- judgements ---- */
	{ "fails now", "sim-1 node.cpus 1", "sim-1 node.cpus 1\n! fail host.cpus sim-1",
		"\nworse\n  host.cpus: no finding -> fail: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=1\n" },
	{ "fails no more", "sim-1 node.cpus 1\n! fail host.cpus sim-1", "sim-1 node.cpus 1",
		"\nbetter\n  host.cpus: fail -> no finding: node sim-1\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=1 changed=0 same=1\n" },
	{ "worse and worse", "sim-1 node.cpus 1\n! warn a sim-1\n! inconclusive b sim-1\n! fail c -",
		"sim-1 node.cpus 1\n! inconclusive a sim-1\n! fail b sim-1\n! warn c -",
		"\nworse\n  a: warn -> inconclusive: node sim-1\n  b: inconclusive -> fail: node sim-1\n"
		"\nbetter\n  c: fail -> warn: the whole job\n"
		"\nMUSTER DIFF WORSE worse=2 better=1 changed=0 same=1\n" },
	{ "fails as before, here and there", "sim-1 node.cpus 1\n! fail a sim-1\n! fail a -",
		"sim-1 node.cpus 1\n! fail a -\n! fail a sim-1",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=3\n" },
	{ "what failed and is blocked now is not better", "sim-1 node.cpus 1\n! fail a sim-1",
		"sim-1 node.cpus 1\n! fail b sim-1\n! blocks a",
		"\nworse\n  b: no finding -> fail: node sim-1\n"
		"\nchanged\n  a: fail -> blocked: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=1 same=1\n" },
	{ "blocked on another node says nothing", TWO_NODES "! fail a sim-1", TWO_NODES "! fail b sim-2\n! blocks a",
		"\nworse\n  b: no finding -> fail: node sim-2\n"
		"\nbetter\n  a: fail -> no finding: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=1 better=1 changed=0 same=0\n" },
	{ "blocked for the whole job", TWO_NODES "! fail a sim-1\n! warn b -", TWO_NODES "! fail b -\n! blocks a",
		"\nworse\n  b: warn -> fail: the whole job\n"
		"\nchanged\n  a: fail -> blocked: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=1 same=0\n" },
	{ "what does not apply is no judgement", "sim-1 node.cpus 1\n! skip a sim-1", "sim-1 node.cpus 1",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=1\n" },
	{ "of one place the worst counts", "sim-1 node.cpus 1\n! warn a sim-1\n! fail a sim-1\n! warn a sim-1",
		"sim-1 node.cpus 1\n! inconclusive a sim-1",
		"\nchanged\n  a: fail -> inconclusive: node sim-1\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=1\n" },
	{ "each size and each GPU is judged for itself",
		"sim-1 node.cpus 1\n! fail a sim-1 m - 64\n! fail a sim-1 m - 256\n! fail a sim-1 m g1\n! fail a sim-1 "
		"m",
		"sim-1 node.cpus 1\n! fail a sim-1 m\n! fail a sim-1 m - 256\n! fail a sim-1 m - 128\n! fail a sim-1 m "
		"g2",
		"\nworse\n  a bytes=128 B: no finding -> fail: node sim-1\n"
		"  a: no finding -> fail: node sim-1, GPU g2\n"
		"\nbetter\n  a bytes=64 B: fail -> no finding: node sim-1\n"
		"  a: fail -> no finding: node sim-1, GPU g1\n"
		"\nMUSTER DIFF WORSE worse=2 better=2 changed=0 same=3\n" },
	{ "a figure that is told is not told again as a judgement", TWO_NODES H2D "20",
		TWO_NODES H2D
		"10\n! fail copy sim-1 gpu.h2d_gbps 0001:00:00.0\n! fail copy sim-1 gpu.h2d_gbps 0002:00:00.0\n"
		"! fail copy sim-2 gpu.h2d_gbps 0001:00:00.0\n! fail other sim-1 gpu.d2h_gbps 0001:00:00.0",
		"\nworse\n"
		"  gpu.h2d_gbps: 20 -> 10 GB/s, -50.0 % (variation 8.0 %, assumed): node sim-1, GPU 0001:00:00.0\n"
		"  copy: no finding -> fail: 2 nodes sim-[1-2]\n"
		"  other: no finding -> fail: node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=4 better=0 changed=0 same=0\n" },
	{ "the text of a metric is worse where its check fails",
		TWO_NODES "sim-1 node.gdr_path a\nsim-2 node.gdr_path a",
		TWO_NODES "sim-1 node.gdr_path b\nsim-2 node.gdr_path b\n! fail gdr sim-1 node.gdr_path",
		"\nworse\n  gdr: no finding -> fail: node sim-1\n"
		"\nchanged\n  node.gdr_path: a -> b: 2 nodes sim-[1-2]\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=2 same=0\n" },
	{ "a value that is no longer there, and warns", "sim-1/0 gpu.ecc gpu=g true",
		"sim-1/0 gpu.ecc gpu=g -\n! warn ecc sim-1 gpu.ecc g",
		"\nworse\n  ecc: no finding -> warn: node sim-1, GPU g\n"
		"\nchanged\n  gpu.ecc: true -> no value (not supported here): node sim-1, GPU g\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=1 same=0\n" },
	{ "a better figure does not hide a check that fails", GPU_0 H2D "20",
		GPU_0 H2D "30\n! fail copy sim-1 gpu.h2d_gbps 0001:00:00.0",
		"\nworse\n  copy: no finding -> fail: node sim-1, GPU 0001:00:00.0\n"
		"\nbetter\n  gpu.h2d_gbps: 20 -> 30 GB/s, +50.0 % (variation 8.0 %, assumed): node sim-1, GPU "
		"0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=1 changed=0 same=0\n" },
	{ "a speed that passes its threshold by 1 % is worse if it fails", GPU_0 H2D "20",
		GPU_0 H2D "19.8\n! fail copy sim-1 gpu.h2d_gbps 0001:00:00.0",
		"\nworse\n  copy: no finding -> fail: node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=0 same=1\n" },
	{ "and changed if it warns", GPU_0 H2D "20", GPU_0 H2D "19.8\n! warn copy sim-1 gpu.h2d_gbps 0001:00:00.0",
		"\nchanged\n  copy: no finding -> warn: node sim-1, GPU 0001:00:00.0\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=1\n" },
	{ "as what says how steady a speed is", "sim-1/0 gpu.slow_windows gpu=g part=copies 0.1",
		"sim-1/0 gpu.slow_windows gpu=g part=copies 0.8\n! warn steady sim-1 gpu.slow_windows g\n"
		"! warn jitter - nccl.allreduce_p99_us\n! warn step sim-1 rank.compute_ms",
		"\nworse\n  step: no finding -> warn: node sim-1\n"
		"\nchanged\n  jitter: no finding -> warn: the whole job\n"
		"  steady: no finding -> warn: node sim-1, GPU g\n"
		"\nMUSTER DIFF WORSE worse=1 better=0 changed=2 same=0\n" },
	{ "one GPU of several is no new finding", TWO_NODES "! warn a sim-1\n! warn b sim-1 m g1\n! warn c sim-1",
		TWO_NODES "! warn a sim-1 m g1\n! warn b sim-1\n! warn c sim-1\n! warn c sim-1 m g1",
		"\nworse\n  b: no finding -> warn: node sim-1\n  c: no finding -> warn: node sim-1, GPU g1\n"
		"\nbetter\n  a: warn -> no finding: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=2 better=1 changed=0 same=3\n" },
	/* ---- other rules ---- */
	{ "a check that one of them does not know", TWO_NODES "check a x\n! fail a sim-1",
		TWO_NODES "check b x\n! fail b sim-1",
		"\nchanged\n  a: fail -> no finding: node sim-1\n  b: no finding -> fail: node sim-1\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=2 same=0\n" },
	{ "or that asks for something else", TWO_NODES "check a x\ncheck b 5\ncheck c x\ncheck d median1",
		TWO_NODES "check a y\ncheck b 6\ncheck c x\ncheck d median2\n"
			  "! fail a sim-1\n! fail b sim-1\n! fail c sim-1\n! fail d sim-1",
		"\nworse\n  c: no finding -> fail: node sim-1\n  d: no finding -> fail: node sim-1\n"
		"\nchanged\n  a: no finding -> fail: node sim-1\n  b: no finding -> fail: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=2 better=0 changed=2 same=0\n" },
	{ "or a probe", "sim-1/0 probe gpu ok",
		"sim-1/0 probe gpu ok\nsim-1/0 probe gpu_copy ok\n"
		"! fail probe.gpu sim-1\n! fail probe.gpu_copy sim-1\n! fail rank.missing sim-1",
		"\nworse\n  probe.gpu: no finding -> fail: node sim-1\n  rank.missing: no finding -> fail: node sim-1\n"
		"\nchanged\n  probe.gpu_copy: no finding -> fail: node sim-1\n"
		"\nMUSTER DIFF WORSE worse=2 better=0 changed=1 same=0\n" },
	{ "of different machine types",
		"sim-1 node.vm_size A\nsim-1 node.cpus 1\nsim-1/0 gpu.nvlinks gpu=g 12\nsim-1/0 gpu.h2d_gbps gpu=g "
		"20\nsku other",
		"sim-1 node.vm_size B\nsim-1 node.cpus 2\nsim-1/0 gpu.h2d_gbps gpu=g 10\nsim-1/1 gpu.nvlinks gpu=h 18",
		"The reports cannot be compared: the reports are of different machine types\n"
		"\nMUSTER DIFF NOT_COMPARABLE worse=0 better=0 changed=0 same=0\n" },
	{ "the same machine, taken for another one", "sim-1 node.vm_size A\nsim-1 node.cpus 1\nsku other",
		"sim-1 node.vm_size a\nsim-1 node.cpus 2",
		"\nchanged\n  node.vm_size: A -> a: node sim-1\n  node.cpus: 1 -> 2: node sim-1\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=2 same=0\n" },
	{ "judged strictly once", "sim-1 node.cpus 1\n! warn a sim-1", "sim-1 node.cpus 1\nstrict\n! warn a sim-1",
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=0 same=2\n" },
	/* ---- what cannot be compared ---- */
	{ "a simulation and a machine", "sim-1 node.cpus 1", "sim-1 node.cpus 2\nsimulated",
		"The reports cannot be compared: one of the reports is simulated\n"
		"\nMUSTER DIFF NOT_COMPARABLE worse=0 better=0 changed=0 same=0\n" },
	{ "different profiles", "sim-1 node.cpus 1", "sim-1 node.cpus 2\nprofile quick",
		"The reports cannot be compared: the reports have different profiles\n"
		"\nMUSTER DIFF NOT_COMPARABLE worse=0 better=0 changed=0 same=0\n" },
	{ "no node in common", "a node.cpus 1\nb node.cpus 1", "c node.cpus 1\nd node.cpus 1",
		"The reports cannot be compared: the reports have no node in common\n"
		"\nMUSTER DIFF NOT_COMPARABLE worse=0 better=0 changed=0 same=0\n" },
	{ "nodes whose name nobody knew", "? node.cpus 1", "? node.cpus 1",
		"The reports cannot be compared: the reports have no node in common\n"
		"\nMUSTER DIFF NOT_COMPARABLE worse=0 better=0 changed=0 same=0\n" },
	/* ---- what is alike is one line ---- */
	{ "one line, told by the worst",
		TWO_NODES H2D "20\nsim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 20\n"
			      "sim-2/2 gpu.h2d_gbps gpu=0001:00:00.0 20\nsim-2/3 gpu.d2h_gbps gpu=0002:00:00.0 20",
		TWO_NODES H2D "18\nsim-1/1 gpu.h2d_gbps gpu=0002:00:00.0 10\n"
			      "sim-2/2 gpu.h2d_gbps gpu=0001:00:00.0 17\nsim-2/3 gpu.d2h_gbps gpu=0002:00:00.0 18",
		"\nworse\n"
		"  gpu.h2d_gbps: 20 -> 10 GB/s, -50.0 % (variation 8.0 %, assumed): 3 GPUs of 2 nodes sim-[1-2], most "
		"on "
		"node "
		"sim-1, GPU 0002:00:00.0\n"
		"  gpu.d2h_gbps: 20 -> 18 GB/s, -10.0 % (variation 8.0 %, assumed): node sim-2, GPU 0002:00:00.0\n"
		"\nMUSTER DIFF WORSE worse=4 better=0 changed=0 same=0\n" },
	{ "sizes are not alike, links of a port are",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 100\n"
		"job nccl.allreduce_busbw_gbps bytes=128 nodes=1 ranks=2 200\n"
		"sim-1 port.rate_gbps port=m0/1 link_layer=InfiniBand 200\n"
		"sim-1 port.rate_gbps port=m1/1 link_layer=Ethernet 200",
		"sim-1 node.cpus 1\njob nccl.allreduce_busbw_gbps bytes=64 nodes=1 ranks=2 50\n"
		"job nccl.allreduce_busbw_gbps bytes=128 nodes=1 ranks=2 100\n"
		"sim-1 port.rate_gbps port=m0/1 link_layer=InfiniBand 100\n"
		"sim-1 port.rate_gbps port=m1/1 link_layer=Ethernet 100",
		"\nworse\n"
		"  nccl.allreduce_busbw_gbps bytes=64 B nodes=1 ranks=2: 100 -> 50 GB/s, -50.0 % (variation 8.0 %, "
		"assumed): the "
		"whole job\n"
		"  nccl.allreduce_busbw_gbps bytes=128 B nodes=1 ranks=2: 200 -> 100 GB/s, -50.0 % (variation 8.0 %, "
		"assumed): the "
		"whole job\n"
		"  port.rate_gbps: 200 -> 100 Gb/s: 2 ports of node sim-1\n"
		"\nMUSTER DIFF WORSE worse=4 better=0 changed=0 same=1\n" },
	{ "counts are alike when they are the same",
		"a/0 rank.allreduce_wrong bytes=64 0\na/1 rank.allreduce_wrong bytes=64 0\na/2 rank.allreduce_wrong "
		"bytes=64 0",
		"a/0 rank.allreduce_wrong bytes=64 1\na/1 rank.allreduce_wrong bytes=64 2\na/2 rank.allreduce_wrong "
		"bytes=64 1",
		"\nworse\n"
		"  rank.allreduce_wrong bytes=64 B: 0 -> 1: 2 ranks of node a\n"
		"  rank.allreduce_wrong bytes=64 B: 0 -> 2: node a, rank 1\n"
		"\nMUSTER DIFF WORSE worse=3 better=0 changed=0 same=0\n" },
	{ "facts are alike when they are the same",
		"a node.kernel 1\nb node.kernel 1\nc node.kernel 1\nd node.kernel 2\ne node.kernel -",
		"a node.kernel 3\nb node.kernel 3\nc node.kernel 4\nd node.kernel 3\ne node.kernel 3",
		"\nchanged\n"
		"  node.kernel: 1 -> 3: 2 nodes a,b\n"
		"  node.kernel: 1 -> 4: node c\n"
		"  node.kernel: 2 -> 3: node d\n"
		"  node.kernel: no value (not supported here) -> 3: node e\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=5 same=0\n" },
	{ "ports and ranks are counted as what they are",
		"a port.mtu_bytes port=m0/1 1\na port.mtu_bytes port=m1/1 1\na/0 rank.cpus 1\na/1 rank.cpus 1",
		"a port.mtu_bytes port=m0/1 2\na port.mtu_bytes port=m1/1 2\na/0 rank.cpus 2\na/1 rank.cpus 2",
		"\nchanged\n"
		"  port.mtu_bytes: 1 -> 2 bytes: 2 ports of node a\n"
		"  rank.cpus: 1 -> 2: 2 ranks of node a\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=4 same=0\n" },
	{ "what a machine gave is made printable", "a node.kernel \x1b[2J", "a node.kernel \x07",
		"\nchanged\n  node.kernel: \\x1b[2J -> \\x07: node a\n"
		"\nMUSTER DIFF NOT_WORSE worse=0 better=0 changed=1 same=0\n" },
};

static char *text_of(const struct side *before, const struct side *after)
{
	struct muster_comparison comparison;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	muster_compare(&before->report, &after->report, &comparison);
	muster_comparison_print_text(
		&comparison, "a.json", "b.json", &(struct muster_layout){ .columns = SIZE_MAX }, out);
	fclose(out);
	muster_comparison_done(&comparison);
	return text;
}

TEST_EACH(two_runs_differ_in_what_differs, cases)
{
	struct side before, after;
	make(&before, cases[_i].before);
	make(&after, cases[_i].after);
	before.run.job.repeats = after.run.job.repeats = strstr(cases[_i].name, "windows") ? 1 : 2;
	char *text = text_of(&before, &after);
	ck_assert_msg(strncmp(text, header, sizeof header - 1) == 0, "%s", text);
	ck_assert_msg(strcmp(text + sizeof header - 1, cases[_i].text) == 0, "%s:\n%s", cases[_i].name,
		text + sizeof header - 1);
	free(text);
	muster_run_done(&before.run);
	muster_run_done(&after.run);
}

/* Sixty lines and what was left out, for each kind. */
TEST(a_kind_has_sixty_lines_at_most)
{
	struct side before, after;
	char names[2][64 * 32] = { "", "" };
	for (size_t i = 0, used[2] = { 0 }; i < 63; i++)
		for (size_t side = 0; side < 2; side++)
			used[side] += (size_t)snprintf(names[side] + used[side], sizeof names[side] - used[side],
				"n%zu node.kernel v%zu\n", i, side ? i : 99);
	make(&before, names[0]);
	make(&after, names[1]);
	char *text = text_of(&before, &after);
	ck_assert_msg(strstr(text, "\n  node.kernel: v99 -> v57: node n57\n"), "%s", text);
	size_t lines = 0;
	for (const char *at = text; (at = strstr(at, "\n  node.kernel: ")); at++)
		lines++;
	ck_assert_uint_eq(lines, 60);
	ck_assert_msg(strstr(text, "\n  and 3 more, all of them in --format json\n\nMUSTER DIFF "), "%s", text);
	free(text);
	muster_run_done(&before.run);
	muster_run_done(&after.run);
}

/* ---- what differs, for scripts ---- */

static const char json[] = "{\n"
			   "  \"schema_version\": 1,\n"
			   "  \"muster\": \"" MUSTER_VERSION "\",\n"
			   "  \"verdict\": \"worse\",\n"
			   "  \"before\": {\n"
			   "    \"path\": \"a.json\",\n"
			   "    \"started\": \"2025-01-31T12:00:00Z\",\n"
			   "    \"muster\": \"test\",\n"
			   "    \"sku\": \"test\",\n"
			   "    \"profile\": \"standard\",\n"
			   "    \"simulated\": false,\n"
			   "    \"nodes\": 1,\n"
			   "    \"ranks\": 1,\n"
			   "    \"repeats\": 1\n"
			   "  },\n";

static const char changes_json[] =
	"  \"count\": {\n"
	"    \"worse\": 1,\n"
	"    \"better\": 0,\n"
	"    \"changed\": 1,\n"
	"    \"same\": 0\n"
	"  },\n"
	"  \"changes\": [\n"
	"    {\"kind\": \"worse\", \"about\": \"figure\", \"what\": \"gpu.h2d_gbps\", \"where\": {\"node\": \"sim-1\", "
	"\"rank\": 0, \"gpu\": \"0001:00:00.0\", \"labels\": {\"gpu\": \"0001:00:00.0\"}}, \"before\": 20, \"after\": "
	"18, "
	"\"unit\": \"GB/s\", \"percent\": -10, \"noise_percent\": 8, \"noise_from\": \"assumption\"},\n"
	"    {\"kind\": \"changed\", \"about\": \"fact\", \"what\": \"port.state\", \"where\": {\"node\": \"sim-1\", "
	"\"port\": \"m0/1\", \"labels\": {\"port\": \"m0/1\", \"link_layer\": \"InfiniBand\"}}, \"before\": "
	"\"ACTIVE\", "
	"\"after\": null, \"after_reason\": \"not supported here\", \"unit\": \"\"}\n"
	"  ]\n"
	"}\n";

TEST(scripts_read_every_change_with_its_place)
{
	struct side before, after;
	struct muster_comparison comparison;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	make(&before, GPU_0 H2D "20\nsim-1 port.state port=m0/1 link_layer=InfiniBand ACTIVE");
	make(&after, GPU_0 H2D "18\nsim-1 port.state port=m0/1 link_layer=InfiniBand -");
	after.run.job.id = "4711";
	after.run.job.repeats = 3;
	muster_compare(&before.report, &after.report, &comparison);
	muster_comparison_print_json(&comparison, &before.report, "a.json", &after.report, "b.json", out);
	fclose(out);
	ck_assert_msg(strncmp(text, json, sizeof json - 1) == 0, "%s", text);
	ck_assert_msg(strstr(text, "\"job\": \"4711\"") && strstr(text, "\"repeats\": 3"), "%s", text);
	ck_assert_str_eq(strstr(text, "  \"count\""), changes_json);
	free(text);
	muster_comparison_done(&comparison);
	muster_run_done(&before.run);
	muster_run_done(&after.run);
}

/* One event: during a run, and before the next one. */
TEST(an_event_that_came_during_the_run_before_is_no_new_one)
{
	static const char *const whens[] = { "during", "before" };
	struct side sides[2];
	struct muster_comparison comparison;
	struct muster_label labels[2][4];
	for (size_t i = 0; i < 2; i++) {
		make(&sides[i], GPU_0 "! fail history.xid sim-1 node.xid_age_hours 0001:00:00.0\n");
		labels[i][0] = (struct muster_label){ "gpu", muster_string("0001:00:00.0") };
		labels[i][1] = (struct muster_label){ "code", muster_string("79") };
		labels[i][2] = (struct muster_label){ "of", muster_string("job") };
		labels[i][3] = (struct muster_label){ "when", muster_string(whens[i]) };
		sides[i].findings[0].labels = labels[i];
		sides[i].findings[0].label_count = 4;
	}
	muster_compare(&sides[0].report, &sides[1].report, &comparison);
	ck_assert_uint_eq(comparison.change_count, 0);
	ck_assert_uint_eq(comparison.same, 1);
	muster_comparison_done(&comparison);
	labels[1][1].value.string = "48";
	muster_compare(&sides[0].report, &sides[1].report, &comparison);
	ck_assert_uint_eq(comparison.count[MUSTER_CHANGE_WORSE], 1);
	ck_assert_uint_eq(comparison.count[MUSTER_CHANGE_BETTER], 1);
	muster_comparison_done(&comparison);
	for (size_t i = 0; i < 2; i++)
		muster_run_done(&sides[i].run);
}

TEST_MAIN(.setup = NULL)

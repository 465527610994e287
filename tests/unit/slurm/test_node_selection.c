/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_selection.c - which nodes are good, bad, inconclusive or missing, and why one is drained */
#include "check_main.h"
#include "slurm/node_selection.h"

#include "muster/run.h"
#include "slurm/command.h"
#include "slurm/drain.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define F(s, c, n, m)                                                                                                  \
	{                                                                                                              \
		.check = (c), .status = (s), .node = (n), .metric = (m), .rank = -1, .observed = "o", .unit = ""       \
	}
#define RATE "nccl.allreduce_busbw_gbps"
#define EXCHANGE "pair.exchange_gbps"
static const struct muster_label nodes_label[] = {
	[3] = { "nodes", { .type = MUSTER_NUMBER, .number = 3 } },
	[4] = { "nodes", { .type = MUSTER_NUMBER, .number = 4 } },
};
/* Of a ring of n nodes: 3 or 4. */
#define SIZED(c, n)                                                                                                    \
	{                                                                                                              \
		.check = (c), .status = MUSTER_FAIL, .metric = RATE, .rank = -1, .observed = "o", .unit = "",          \
		.labels = &nodes_label[n], .label_count = 1                                                            \
	}
#define FAIL(c, n, m) F(MUSTER_FAIL, c, n, m)
#define DOUBT(c, n, m) F(MUSTER_INCONCLUSIVE, c, n, m)
#define WARNING(c, n, m) F(MUSTER_WARN, c, n, m)
#define SKIPPED(c, n, m) F(MUSTER_SKIP, c, n, m)

enum { FINDINGS_MAX = 4 };

/* Nodes n1 and following, one letter each: h has two ranks that reported, R likewise, and the others are in a last ring
 * without it, m none that did, p one of two; ? is of ranks
 * whose node nobody knows. Where each stands: g, i, b or m for each, and d for one that has a fault to be drained
 * for.
 */
static const struct {
	const char *name, *nodes, *expected;
	enum muster_status verdict;
	int strict;
	struct muster_finding findings[FINDINGS_MAX];
	const char *marks;
	bool none_good;
} cases[] = {
	{ "all is well", "hhh", NULL, MUSTER_PASS, false, { { 0 } }, "g g g", false },
	{ "one is bad", "hhh", NULL, MUSTER_FAIL, false, { FAIL("copy.h2d", "n2", "gpu.h2d_gbps") }, "g bd g", false },
	{ "doubt is neither", "hh", NULL, MUSTER_INCONCLUSIVE, false, { DOUBT("copy.h2d", "n2", "gpu.h2d_gbps") },
		"g i", false },
	{ "failure wins over doubt", "hh", NULL, MUSTER_FAIL, false,
		{ FAIL("a", "n1", NULL), DOUBT("b", "n1", NULL), DOUBT("b", "n2", NULL) }, "bd i", false },
	{ "a warning is good", "hh", NULL, MUSTER_PASS, false, { WARNING("gpu.clock", "n1", "gpu.sm_clock_mhz") },
		"g g", false },
	{ "unless it is strict", "hh", NULL, MUSTER_FAIL, true, { WARNING("gpu.clock", "n1", "gpu.sm_clock_mhz") },
		"bd g", false },
	{ "an inferred value is no fault", "hh", NULL, MUSTER_PASS, MUSTER_STRICT,
		{ { .check = "a", .status = MUSTER_WARN, .node = "n1", .rank = -1, .certainty = "inferred" } }, "g g",
		false },
	{ "unless it is strict in all", "hh", NULL, MUSTER_FAIL, MUSTER_STRICT_ALL,
		{ { .check = "a", .status = MUSTER_WARN, .node = "n1", .rank = -1, .certainty = "inferred" } }, "bd g",
		false },
	{ "what does not apply is no fault", "hh", NULL, MUSTER_PASS, false, { SKIPPED("x", "n1", NULL) }, "g g",
		false },
	{ "how the job was launched is bad and no fault", "hh", NULL, MUSTER_FAIL, false,
		{ FAIL("affinity.cpus", "n1", "rank.cpu_locality") }, "b g", false },
	{ "a shared file system that does not answer is no fault of a node", "hh", NULL, MUSTER_FAIL, false,
		{ FAIL("probe.paths", "n1", NULL), FAIL("probe.checkpoint", "n2", NULL) }, "b b", false },
	{ "a crash in that probe is a fault", "hh", NULL, MUSTER_FAIL, false, { FAIL("probe.affinity", "n1", NULL) },
		"bd g", false },
	{ "a rank that is missing", "hp", NULL, MUSTER_FAIL, false, { FAIL("rank.missing", "n2", NULL) }, "g bd",
		false },
	{ "a node that is missing", "hm", NULL, MUSTER_FAIL, false, { FAIL("rank.missing", "n2", NULL) }, "g md",
		false },
	{ "ranks of nobody knows where", "hh?", NULL, MUSTER_FAIL, false, { FAIL("rank.missing", "?", NULL) }, "g g",
		false },
	{ "expected, and not there", "h", "n3", MUSTER_PASS, false, { { 0 } }, "g m", false },
	{ "expected, and there", "hh", "n1", MUSTER_PASS, false, { { 0 } }, "g g", false },
	{ "the whole job fails", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.busbw", NULL, "nccl.allreduce_busbw_gbps"), FAIL("copy.h2d", "n2", "gpu.h2d_gbps") },
		"i bd i", true },
	{ "the whole job is in doubt", "hh", NULL, MUSTER_INCONCLUSIVE, false, { DOUBT("sku.unknown", NULL, NULL) },
		"i i", true },
	{ "a job of one node", "h", NULL, MUSTER_FAIL, false, { FAIL("ring.busbw", NULL, "nccl.allreduce_busbw_gbps") },
		"bd", false },
	{ "a suspect answers for the ring", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.busbw", NULL, "nccl.allreduce_busbw_gbps"), FAIL("ring.suspect", "n3", NULL) }, "g g bd",
		false },
	{ "and for no bad connection between others", "hhhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.suspect", "n3", RATE), FAIL("ring.link", NULL, RATE) }, "i i bd i", true },
	{ "nor for groups of nodes", "hhhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.suspect", "n3", RATE), FAIL("ring.split", NULL, RATE) }, "i i bd i", true },
	{ "nor for others that fail without it", "hhhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.suspect", "n3", RATE), FAIL("ring.suspect", NULL, RATE) }, "i i bd i", true },
	{ "nor for the ring of the rest", "hhRh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.suspect", "n3", RATE), SIZED("ring.busbw", 3) }, "i i bd i", true },
	{ "but for a larger ring", "hhRh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.suspect", "n3", RATE), SIZED("ring.busbw", 4) }, "g g bd g", false },
	{ "and for nothing else", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("same.driver", NULL, "node.driver_version"), FAIL("ring.suspect", "n3", NULL) }, "i i bd",
		true },
	{ "a slow part answers for the ring", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.busbw", NULL, RATE), FAIL("pairs.rail_share", "n3", EXCHANGE) }, "g g bd", false },
	{ "of any size, where no rest was tried", "hhh", NULL, MUSTER_FAIL, false,
		{ SIZED("ring.busbw", 3), FAIL("pairs.rail_share", "n3", EXCHANGE) }, "g g bd", false },
	{ "and for other collectives", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("x", NULL, "nccl.alltoall_busbw_gbps"), FAIL("pairs.rail_share", "n3", EXCHANGE) }, "g g bd",
		false },
	{ "but not for their times", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("x", NULL, "nccl.allreduce_p99_us"), FAIL("pairs.rail_share", "n3", EXCHANGE) }, "i i bd",
		true },
	{ "nor for an exchange of nodes that are not named", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("pairs.rail_share", NULL, EXCHANGE), FAIL("pairs.edge_share", "n3", EXCHANGE) }, "i i bd",
		true },
	{ "nor for a bad connection", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.link", NULL, RATE), FAIL("pairs.edge_share", "n3", EXCHANGE) }, "i i bd", true },
	{ "nor for a copy", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("copy.h2d", NULL, "gpu.h2d_gbps"), FAIL("pairs.edge_share", "n3", EXCHANGE) }, "i i bd", true },
	{ "a slow part answers for the ring of the rest", "hhRh", NULL, MUSTER_FAIL, false,
		{ SIZED("ring.busbw", 3), FAIL("ring.suspect", "n3", RATE), FAIL("pairs.edge_share", "n4", EXCHANGE) },
		"g g bd bd", false },
	{ "and for no larger one, which it was not measured on", "hhRh", NULL, MUSTER_FAIL, false,
		{ SIZED("ring.busbw", 4), FAIL("pairs.edge_share", "n4", EXCHANGE) }, "i i i bd", true },
	{ "a part that is not slow enough answers for nothing", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.busbw", NULL, RATE), WARNING("pairs.rail_share", "n3", EXCHANGE) }, "i i i", true },
	{ "nor does a part whose exchanges come wrong", "hhh", NULL, MUSTER_FAIL, false,
		{ FAIL("ring.busbw", NULL, RATE), FAIL("pairs.wrong", "n3", "pair.exchange_wrong") }, "i i bd", true },
	{ "a verdict that no finding explains", "hh", NULL, MUSTER_INCONCLUSIVE, false, { { 0 } }, "i i", true },
};

static void make_run(struct muster_run *run, const char *nodes)
{
	muster_run_init(run);
	for (int i = 0; nodes[i]; i++) {
		const char *name = nodes[i] == '?' ? "?" : muster_arena_printf(run->arena, "n%d", i + 1);
		struct muster_node *node = muster_run_add_node(run, name);
		for (int j = 0; j < 2; j++) {
			struct muster_rank *rank = muster_node_add_rank(node, 2 * i + j);
			bool reports = nodes[i] == 'h' || nodes[i] == 'R' || (nodes[i] == 'p' && j == 0);
			rank->missing = reports ? NULL : "nothing came";
		}
	}
	if (strchr(nodes, 'R'))
		muster_run_add_trial(run, (struct muster_trial){ .probe = "nccl_allreduce",
						  .kind = MUSTER_TRIAL_REST,
						  .status = MUSTER_TRIAL_OK,
						  .node_count = strlen(nodes) - 1 });
}

TEST_EACH(nodes_are_what_the_findings_say, cases)
{
	struct muster_run run;
	struct muster_node_selection nodes;
	char text[64] = "";
	make_run(&run, cases[_i].nodes);
	struct muster_finding findings[FINDINGS_MAX];
	memcpy(findings, cases[_i].findings, sizeof findings);
	struct muster_report report = { .run = &run,
		.verdict = cases[_i].verdict,
		.strict = (enum muster_strictness)cases[_i].strict,
		.findings = findings };
	while (report.finding_count < FINDINGS_MAX && findings[report.finding_count].check)
		report.finding_count++;
	muster_node_selection_make(
		&report, cases[_i].expected ? &cases[_i].expected : NULL, cases[_i].expected != NULL, &nodes);
	for (size_t i = 0; i < nodes.count; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%s%c%s", i ? " " : "", "gibm"[nodes.entries[i].standing],
			nodes.entries[i].fault ? "d" : "");
	}
	ck_assert_msg(strcmp(text, cases[_i].marks) == 0, "%s: %s, not %s", cases[_i].name, text, cases[_i].marks);
	ck_assert_msg(nodes.none_good == cases[_i].none_good, "%s", cases[_i].name);
	ck_assert_uint_eq(nodes.unplaced_ranks, strchr(cases[_i].nodes, '?') ? 2 : 0);
	muster_node_selection_done(&nodes);
	muster_run_done(&run);
}

#define COPY_IS_SLOW                                                                                                   \
	{                                                                                                              \
		.check = "copy.h2d", .gpu = "000b:00:00.0", .gpu_index = 4, .observed = "11.2", .unit = "GB/s",        \
		.value = { .type = MUSTER_NUMBER, .number = 11.2 }, .expected = "at least 21 GB/s"                     \
	}

static const struct {
	struct muster_finding finding;
	size_t count;
	const char *reason;
} reasons[] = {
	{ COPY_IS_SLOW, 1, "muster: copy.h2d GPU 4 000b:00:00.0: 11.2 GB/s; expected at least 21 GB/s" },
	{ COPY_IS_SLOW, 3, "muster: copy.h2d GPU 4 000b:00:00.0: 11.2 GB/s; expected at least 21 GB/s; and 2 more" },
	{ { .check = "ib.state", .port = "mlx5_ib3/1", .observed = "DOWN", .unit = "" }, 1,
		"muster: ib.state port mlx5_ib3/1: DOWN" },
	/* nothing in it acts */
	{ { .check = "x", .observed = "a\"b'c`d$(e)\\f\n\tg\x1b[2J \xc2\xb5 \xff  h", .unit = "" }, 1,
		"muster: x: abcd(e)f g?[2J ? ? h" },
};

TEST_EACH(a_reason_says_what_failed, reasons)
{
	char reason[MUSTER_DRAIN_REASON_MAX + 1];
	muster_drain_reason_write(MUSTER_DRAINED_BY_PERSON, NULL, &reasons[_i].finding, reasons[_i].count, reason);
	ck_assert_str_eq(reason, reasons[_i].reason);
}

TEST(a_reason_is_read_as_it_was_written)
{
	static const char *const gpus[] = { "000b:00:00.0", NULL };
	static const char *const begins[] = { "muster: x.y", "muster(health): x.y", "muster(prolog): x.y",
		"muster(epilog): x.y" };
	for (int by = 0; by < MUSTER_DRAINED_BY_COUNT; by++)
		for (size_t i = 0; i < 2; i++) {
			const struct muster_finding finding = { .check = "x.y",
				.gpu = gpus[i],
				.gpu_index = by - 1,
				.observed = "a: b GPU c: d",
				.unit = "" };
			char text[MUSTER_DRAIN_REASON_MAX + 1];
			struct muster_drain_reason reason;
			muster_drain_reason_write((enum muster_drained_by)by, NULL, &finding, 1, text);
			ck_assert_int_eq(strncmp(text, begins[by], strlen(begins[by])), 0);
			ck_assert(muster_drain_reason_read(text, &reason));
			ck_assert_int_eq((int)reason.by, by);
			ck_assert_str_eq(reason.check, "x.y");
			ck_assert_str_eq(reason.part, gpus[i] ? gpus[i] : "");
		}
}

static const struct {
	const char *text, *code, *check;
} coded[] = {
	{ "muster(health): reset-gpu: history.xid GPU 0: Xid 48", "reset-gpu", "history.xid" },
	{ "muster: fix-fabric: ib.rate port mlx5_0/1: 100", "fix-fabric", "ib.rate" },
	{ "muster: history.xid GPU 0: Xid 48", NULL, "history.xid" },
	{ "muster: reboot: yes", NULL, "reboot" }, /* a check of a site */
	{ "muster: none: a: b", NULL, "none" },
};

TEST_EACH(a_reason_has_the_code_of_what_to_do, coded)
{
	struct muster_drain_reason reason;
	ck_assert(muster_drain_reason_read(coded[_i].text, &reason));
	ck_assert_str_eq(reason.action_code ? reason.action_code : "-", coded[_i].code ? coded[_i].code : "-");
	ck_assert_str_eq(reason.check, coded[_i].check);
	const struct muster_finding finding = { .check = "x", .observed = "y", .unit = "" };
	char text[MUSTER_DRAIN_REASON_MAX + 1];
	muster_drain_reason_write(MUSTER_DRAINED_BY_HEALTH, coded[_i].code, &finding, 1, text);
	ck_assert(muster_drain_reason_read(text, &reason));
	ck_assert_str_eq(reason.check, "x");
	ck_assert_str_eq(reason.action_code ? reason.action_code : "-", coded[_i].code ? coded[_i].code : "-");
}

TEST(a_reason_of_someone_else_is_none_of_muster)
{
	struct muster_drain_reason reason;
	static const char *const others[] = { "", "muster", "muster fan", "Muster: x", "a muster: x", "muster(x): y",
		"muster(person): y", "muster(health) y" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!muster_drain_reason_read(others[i], &reason), "%s", others[i]);
	ck_assert(muster_drain_reason_read("muster:", &reason));
	ck_assert_str_eq(reason.check, "");
	ck_assert(muster_drain_reason_read("muster: ib.state port mlx5_ib3/1: DOWN", &reason));
	ck_assert_str_eq(reason.part, "mlx5_ib3/1");
}

TEST(a_long_reason_is_cut_at_a_word)
{
	char reason[MUSTER_DRAIN_REASON_MAX + 1], words[2000], word[600];
	for (size_t i = 0; i + 1 < sizeof words; i++)
		words[i] = "word "[i % 5];
	words[sizeof words - 1] = '\0';
	struct muster_finding finding = { .check = "x", .observed = words, .unit = "" };
	muster_drain_reason_write(MUSTER_DRAINED_BY_PERSON, NULL, &finding, 1, reason);
	ck_assert_uint_le(strlen(reason), MUSTER_DRAIN_REASON_MAX);
	ck_assert_uint_gt(strlen(reason), MUSTER_DRAIN_REASON_MAX - 10);
	ck_assert_str_eq(reason + strlen(reason) - 7, "word...");
	muster_drain_reason_write(MUSTER_DRAINED_BY_PERSON, NULL, &finding, 100, reason);
	ck_assert_uint_le(strlen(reason), MUSTER_DRAIN_REASON_MAX);
	ck_assert_str_eq(reason + strlen(reason) - strlen("word...; and 99 more"), "word...; and 99 more");
	memset(word, 'x', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	finding.observed = word;
	muster_drain_reason_write(MUSTER_DRAINED_BY_PERSON, NULL, &finding, 1, reason);
	ck_assert_uint_eq(strlen(reason), MUSTER_DRAIN_REASON_MAX);
	ck_assert_str_eq(reason + MUSTER_DRAIN_REASON_MAX - 4, "x...");
}

static const struct {
	const char *text, *state, *reason;
	bool drained;
} lines[] = {
	{ "NodeName=n1 Arch=x86_64 OS=Linux 5.15 #1 SMP State=IDLE ThreadsPerCore=1 Partitions=a \n", "IDLE", "",
		false },
	{ "NodeName=n1 State=IDLE+DRAIN ThreadsPerCore=1 Reason=muster: ib.state port a/1: DOWN "
	  "[root@2026-11-21T10:00:00]\n",
		"IDLE+DRAIN", "muster: ib.state port a/1: DOWN", true },
	{ "NodeName=n1 State=DOWN*+DRAIN Reason=bad PSU [slot 2] [joe@2026-11-21T10:00:00] Comment=x\n", "DOWN*+DRAIN",
		"bad PSU [slot 2]", true },
	{ "NodeName=n1 State=MIXED+DRAIN*+NOT_RESPONDING Reason=x\n", "MIXED+DRAIN*+NOT_RESPONDING", "x", true },
	{ "NodeName=n1 State=MIXED+FAIL Reason=x\n", "MIXED+FAIL", "x", false },
	{ "NodeName=n1 State=IDLE Reason=sent to the vendor [joe@2026-11-21T10:00:00]\n", "IDLE", "", false },
	{ "NodeName=n1 State=DRAINED \n", "DRAINED", "", true },
	{ "NodeName=n1 State=DOWN Reason=Not responding [slurm@2026-11-21T10:00:00]\n", "DOWN", "Not responding",
		false },
	{ "Node n1 not found\n", NULL, NULL, false },
	{ "", NULL, NULL, false },
};

TEST_EACH(what_scontrol_prints_is_understood, lines)
{
	struct muster_slurm_node node;
	struct muster_error err;
	int rc = muster_slurm_node_parse(lines[_i].text, &node, &err);
	ck_assert_int_eq(rc, lines[_i].state ? 0 : -1);
	if (rc < 0)
		return;
	ck_assert_str_eq(node.state, lines[_i].state);
	ck_assert_str_eq(node.reason, lines[_i].reason);
	ck_assert(node.drained == lines[_i].drained);
}

TEST(a_node_s_name_is_no_option_and_no_list)
{
	ck_assert(muster_slurm_name_is_plain("gpu-1.site_a"));
	static const char *const bad[] = { "", "-h", "ALL", "all", "a,b", "a[1-2]", "a b", "a\n", "a=b", "\xc3\xa4" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!muster_slurm_name_is_plain(bad[i]), "%s", bad[i]);
}

TEST_MAIN(.setup = NULL)

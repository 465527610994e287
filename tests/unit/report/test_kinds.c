/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.c - findings of one check, status and action are one row */
#include "check_main.h"
#include "report_rows.h"
#include "unit/report/printed.h"

#include "report/kinds.h"

static struct muster_arena *arena;

static void setup(void)
{
	arena = muster_arena_new();
}

static void teardown(void)
{
	muster_arena_free(arena);
	printed_done();
}

/* "FAIL ib.state 2/2 gpu-[1-2] reboot | ports are up | reboot each node\n", a line for each kind. */
static void print_kinds(const struct muster_report *what, FILE *out)
{
	struct muster_kinds kinds;
	muster_kinds_find(what, arena, &kinds);
	for (const struct muster_kind *kind = kinds.items; kind < kinds.items + kinds.count; kind++)
		fprintf(out, "%s %s %zu/%zu %s %s | %s | %s\n", muster_status_name(kind->status), kind->check,
			kind->count, kind->node_count, kind->node_list ? kind->node_list : "-",
			kind->action_code ? kind->action_code : "-", kind->what, kind->action ? kind->action : "-");
	fprintf(out, "%zu", kinds.node_count);
}

#define AT(status, check, node, ...) FINDING(status, check, node, -1, "x", "y", __VA_ARGS__)
#define CODE(code, text) .action_code = code, .advice = text

static const struct {
	struct muster_finding findings[8];
	const char *text;
} cases[] = {
	{ .text = "0" },
	/* FAIL before inconclusive before warn; of one status, most nodes first, then by the name of the check */
	{ .findings = { AT(FAIL, "b", "n1", ""), AT(FAIL, "a", "n1", ""), AT(FAIL, "c", "n1", ""),
		  AT(FAIL, "c", "n2", ""), AT(INCONCLUSIVE, "a", "n3", ""), AT(WARN, "z", "n4", ""),
		  AT(WARN, "z", "n5", ""), AT(WARN, "z", "n6", "") },
		.text = "fail c 2/2 n[1-2] - | expected: x; seen: y | -\n"
			"fail a 1/1 n1 - | expected: x; seen: y | -\n"
			"fail b 1/1 n1 - | expected: x; seen: y | -\n"
			"inconclusive a 1/1 n3 - | expected: x; seen: y | -\n"
			"warn z 3/3 n[4-6] - | expected: x; seen: y | -\n6" },
	/* another action is another kind; what does not apply and what passed is none */
	{ .findings = { AT(FAIL, "a", "n1", "", CODE("reboot", NULL)), AT(FAIL, "a", "n2", "", CODE("retry", NULL)),
		  AT(FAIL, "a", "n3", "", CODE("reboot", NULL)), AT(SKIP, "a", "n4", ""), AT(PASS, "a", "n5", "") },
		.text = "fail a 2/2 n[1,3] reboot | expected: x; seen: y | -\n"
			"fail a 1/1 n2 retry | expected: x; seen: y | -\n3" },
	/* each node once, in the order of host lists; unknown nodes and the whole job are no node */
	{ .findings = { AT(FAIL, "a", "n10", ""), AT(FAIL, "a", "n9", ""), AT(FAIL, "a", "n10", ""),
		  AT(FAIL, "a", "?", ""), AT(FAIL, "a", NULL, ""), AT(FAIL, "b", NULL, "") },
		.text = "fail a 5/2 n[9-10] - | expected: x; seen: y | -\n"
			"fail b 1/0 - - | expected: x; seen: y | -\n2" },
	/* a name that Slurm cannot have is in no list */
	{ .findings = { AT(FAIL, "a", "n1", ""), AT(FAIL, "a", "n 2", "") },
		.text = "fail a 2/2 - - | expected: x; seen: y | -\n2" },
	/* the action of one finding names its place, the action of several does not */
	{ .findings = { AT(
		  FAIL, "a", "n1", "", .gpu = "0001:00:00.0", CODE("reboot", "reboot n1: GPU 0001:00:00.0.")) },
		.text = "fail a 1/1 n1 reboot | expected: x; seen: y | reboot n1: GPU 0001:00:00.0.\n1" },
	{ .findings = { AT(FAIL, "a", "n1", "", .gpu = "0001:00:00.0",
				CODE("reboot", "reboot n1: GPU 0001:00:00.0. n11, n1")),
		  AT(FAIL, "a", "n2", "", .gpu = "0001:00:00.0",
			  CODE("reboot", "reboot n2: GPU 0001:00:00.0. n11, n2")) },
		.text = "fail a 2/2 n[1-2] reboot | expected: x; seen: y | "
			"reboot each node: GPU 0001:00:00.0. n11, each node\n2" },
	{ .findings = { AT(FAIL, "a", "n1", "", .gpu = "0001:00:00.0",
				CODE("reboot", "GPU 12 (0001:00:00.0): nvidia-smi -i 0001:00:00.0")),
		  AT(FAIL, "a", "n1", "", .gpu = "0002:00:00.0", CODE("reboot", "GPU 13 (0002:00:00.0)")) },
		.text = "fail a 2/1 n1 reboot | expected: x; seen: y | GPU *: nvidia-smi -i *\n1" },
	{ .findings = { AT(FAIL, "a", "n1", "", .port = "mlx5_0/1", CODE(NULL, "n1: ibstat mlx5_0/1")),
		  AT(FAIL, "a", "n1", "", .port = "mlx5_1/1", CODE(NULL, "n1: ibstat mlx5_1/1")) },
		.text = "fail a 2/1 n1 - | expected: x; seen: y | n1: ibstat *\n1" },
};

static void report_of(size_t row)
{
	static struct muster_finding findings[8];
	memcpy(findings, cases[row].findings, sizeof findings);
	muster_run_init(&run);
	report = (struct muster_report){ .run = &run };
	size_t count = 0;
	while (count < 8 && findings[count].check)
		count++;
	only_findings(findings, count);
}

TEST_EACH(findings_of_one_check_status_and_action_are_one_kind, cases)
{
	report_of((size_t)_i);
	ck_assert_str_eq(print_with(print_kinds), cases[_i].text);
}

TEST(a_kind_has_the_title_of_its_check_and_its_findings_in_the_order_of_the_report)
{
	static struct muster_tally tally = TALLY("a", NULL, NULL, "", "x", .title = "state of the ports");
	struct muster_kinds kinds;
	report_of(3);
	report.tallies = &tally;
	report.tally_count = 1;
	muster_kinds_find(&report, arena, &kinds);
	ck_assert_str_eq(kinds.items[0].what, "state of the ports; seen: y");
	for (size_t i = 0; i < 5; i++)
		ck_assert_ptr_eq(kinds.items[0].items[i], &report.findings[i]);
	ck_assert_str_eq(kinds.items[0].nodes[0], "n9");
	ck_assert_str_eq(kinds.items[0].nodes[1], "n10");
}

static void print_json(const struct muster_report *what, FILE *out)
{
	ck_assert_int_eq(muster_report_print_json(what, out, NULL), 0);
}

TEST(the_json_report_has_a_line_for_each_kind)
{
	report_of(2);
	print_with(print_json);
	has("    \"kinds\": [\n"
	    "      {\"check\": \"a\", \"status\": \"fail\", \"action_code\": \"reboot\", \"count\": 2, \"nodes\": 2, "
	    "\"node_list\": \"n[1,3]\"},\n"
	    "      {\"check\": \"a\", \"status\": \"fail\", \"action_code\": \"retry\", \"count\": 1, \"nodes\": 1, "
	    "\"node_list\": \"n2\"}\n    ],\n");
	printed_done();
	report_of(4);
	print_with(print_json);
	has("{\"check\": \"a\", \"status\": \"fail\", \"count\": 2, \"nodes\": 2}\n");
}

TEST_MAIN(.setup = setup, .teardown = teardown)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_same_across.c - what must be the same on all nodes or ranks */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run_data.h"
#include "run_text.h"

#define SAME_DRIVER                                                                                                    \
	"'same':{'metric':'node.driver_version','same_across':'nodes','source':'s','advice':'${node.kernel}'}"

/* Nodes n1, n2, ... with these drivers; NULL is a null value, "-" no sample at all. */
static struct muster_run *drivers(const char *const *values, size_t count)
{
	struct muster_run *run = fixture_new_run();
	for (size_t i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof name, "n%zu", i + 1);
		struct muster_node *node = fixture_node(run, muster_arena_string(run->arena, name), 1);

		if (values[i] && strcmp(values[i], "-") == 0)
			continue;
		fixture_sample(run, &node->samples, "node.driver_version", NULL,
			values[i] ? muster_string(values[i]) : muster_null());
	}
	return run;
}

static const struct {
	const char *values[8];
	size_t count;
	const char *found;
	enum muster_status verdict;
} table[] = {
	{ { "1", "1", "1" }, 3, "", MUSTER_PASS },
	{ { "1" }, 1, "", MUSTER_PASS },
	{ { "1", "2" }, 2, "fail same: the same on all nodes | 1 on n1; 2 on n2\n", MUSTER_FAIL },
	{ { "1", "2", "1" }, 3, "fail same n2: the same on all nodes: 1 (2 of 3) | 2\n", MUSTER_FAIL },
	{ { "1", "2", "1", "3", "1" }, 5,
		"fail same n2: the same on all nodes: 1 (3 of 5) | 2\n"
		"fail same n4: the same on all nodes: 1 (3 of 5) | 3\n",
		MUSTER_FAIL },
	{ { "1", "1", "2", "2" }, 4, "fail same: the same on all nodes | 1 on n1, n2; 2 on n3, n4\n", MUSTER_FAIL },
	{ { "1", "1", "1", "2", "2", "3" }, 6, "fail same: the same on all nodes | 1 on n[1-3]; 2 on n4, n5; 3 on n6\n",
		MUSTER_FAIL },
	{ { "1", NULL, "1" }, 3, "inconclusive same n2: the same on all nodes | no value: not supported here\n",
		MUSTER_INCONCLUSIVE },
	{ { "1", "-", "2" }, 3,
		"fail same: the same on all nodes | 1 on n1; 2 on n3\n"
		"inconclusive same n2: the same on all nodes | not measured\n",
		MUSTER_FAIL },
	{ { "1", "2", "3", "4", "5", "6" }, 6,
		"fail same: the same on all nodes | 1 on n1; 2 on n2; 3 on n3; 4 on n4; 5 on n5; 6 on n6\n",
		MUSTER_FAIL },
	{ { "1", "2", "3", "4", "5", "6", "7" }, 7,
		"fail same: the same on all nodes | 1 on n1; 2 on n2; 3 on n3; 4 on n4; 5 on n5; 6 on n6; and 1 more "
		"value\n",
		MUSTER_FAIL },
	{ { NULL, NULL }, 2,
		"inconclusive same n1: the same on all nodes | no value: not supported here\n"
		"inconclusive same n2: the same on all nodes | no value: not supported here\n",
		MUSTER_INCONCLUSIVE },
};

TEST_EACH(the_majority_is_right_and_without_one_all_are_listed, table)
{
	struct muster_run *run = drivers(table[_i].values, table[_i].count);
	struct muster_report *report = fixture_report(run, SAME_DRIVER, false);
	ck_assert_str_eq(fixture_findings(report), table[_i].found);
	ck_assert_int_eq(report->verdict, table[_i].verdict);
}

TEST(a_common_value_stands_in_the_tally)
{
	static const char *const same[] = { "580.1", "580.1" }, *const differ[] = { "580.1", "570" };
	struct muster_run *run = drivers(same, 2);
	struct muster_report *report = fixture_report(run, SAME_DRIVER, false);
	ck_assert_str_eq(report->tallies[0].value, "580.1");
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], 2);
	run = drivers(differ, 2);
	report = fixture_report(run, SAME_DRIVER, false);
	ck_assert_ptr_null(report->tallies[0].value);
	ck_assert_str_eq(report->findings[0].advice, "?");
}

TEST(an_optional_value_may_be_absent)
{
	static const char *const values[] = { "1", NULL, "1" };
	struct muster_run *run = drivers(values, 3);
	struct muster_report *report = fixture_report(run,
		"'same':{'metric':'node.driver_version','same_across':'nodes','source':'s','optional':true,'severity':'"
		"warn'}",
		false);
	ck_assert_str_eq(
		fixture_findings(report), "skip same n2: the same on all nodes | no value: not supported here\n");
	ck_assert_int_eq(report->verdict, MUSTER_PASS);
}

/* Ports of each node as "device=firmware ..."; Ethernet ones are called an*. */
static struct muster_run *ports(const char *const *nodes, size_t count)
{
	struct muster_run *run = fixture_new_run();
	for (size_t i = 0; i < count; i++) {
		char name[16], text[256], *at;

		snprintf(name, sizeof name, "n%zu", i + 1);
		snprintf(text, sizeof text, "%s", nodes[i]);
		struct muster_node *node = fixture_node(run, muster_arena_string(run->arena, name), 1);
		for (at = text; *at;) {
			char *equals = strchr(at, '='), *end = strchr(equals, ' '), labels[64];

			if (end)
				*end = '\0';
			*equals = '\0';
			snprintf(labels, sizeof labels, "port=%s/1 link_layer=%s", at,
				strncmp(at, "an", 2) == 0 ? "Ethernet" : "InfiniBand");
			fixture_sample(run, &node->samples, "port.firmware", labels, muster_string(equals + 1));
			at = end ? end + 1 : equals + 1 + strlen(equals + 1);
		}
	}
	return run;
}

#define WITHIN "'within':'link_layer'"
#define UNIFORM "'uniform':true,'severity':'warn'"
#define INFINIBAND "'where':{'link_layer':'InfiniBand'}"

static const struct {
	const char *how, *nodes[4];
	size_t count;
	const char *found;
} port_table[] = {
	/* nodes are compared by the set of their ports' values */
	{ INFINIBAND, { "ib0=20 ib1=20", "ib0=20 ib1=20" }, 2, "" },
	{ INFINIBAND, { "ib0=20 ib1=21", "ib0=21 ib1=20" }, 2, "" },
	{ INFINIBAND, { "ib0=20 ib1=20", "ib0=20" }, 2, "" },
	{ INFINIBAND, { "ib0=20 an0=1", "ib0=20 an0=2" }, 2, "" },
	{ INFINIBAND, { "", "" }, 2, "" },
	{ INFINIBAND, { "ib0=20 ib1=20", "ib0=20 ib1=21" }, 2,
		"fail same: the same on all nodes | 20 on n1; 20, 21 on n2\n" },
	{ INFINIBAND, { "ib0=20", "", "ib0=20" }, 3, "fail same n2: the same on all nodes: 20 (2 of 3) | none\n" },
	{ INFINIBAND, { "ib0=20", "ib0=20 ib1=9", "ib0=20" }, 3,
		"fail same n2 port=ib1/1: the same on all nodes: 20 (2 of 3) | 9\n" },
	/* several ports that differ are named, all of them are the node itself */
	{ INFINIBAND, { "ib0=20 ib1=20 ib2=20", "ib0=9 ib1=20 ib2=8", "ib0=20 ib1=20 ib2=20" }, 3,
		"fail same n2: the same on all nodes: 20 (2 of 3) | 8 on ib2/1, 9 on ib0/1\n" },
	{ INFINIBAND, { "ib0=20 ib1=20", "ib0=9 ib1=9", "ib0=20 ib1=20" }, 3,
		"fail same n2: the same on all nodes: 20 (2 of 3) | 9\n" },
	/* how often a value stands there counts: one port at another rate, and all but one */
	{ INFINIBAND, { "ib0=9 ib1=20 ib2=20", "ib0=9 ib1=9 ib2=20", "ib0=9 ib1=20 ib2=20" }, 3,
		"fail same n2 port=ib1/1: the same on all nodes: 2 x 20, 9 (2 of 3) | 9\n" },
	{ INFINIBAND, { "ib0=9 ib1=20 ib2=20", "ib0=9 ib1=9 ib2=20" }, 2,
		"fail same: the same on all nodes | 2 x 20, 9 on n1; 20, 2 x 9 on n2\n" },
	/* one port of two nodes is known by the other ports; a second kind of port that both nodes have is none */
	{ INFINIBAND, { "ib0=20 ib1=20 ib2=20", "ib0=20 ib1=20 ib2=9" }, 2,
		"fail same n2 port=ib2/1: the same on all nodes: 20 (5 of 6 ports) | 9\n" },
	{ INFINIBAND, { "ib0=20 ib1=20 ib2=9", "ib0=20 ib1=20 ib2=20 ib3=9" }, 2,
		"fail same: the same on all nodes | 2 x 20, 9 on n1; 3 x 20, 9 on n2\n" },
	{ INFINIBAND, { "ib0=20 ib1=20 ib2=9" }, 1, "" },
	/* within a link layer, ports are compared with their like only: each case names the firmware of both */
	{ WITHIN, { "ib0=20 an0=1", "ib0=20 an0=1" }, 2, "" },
	{ WITHIN, { "ib0=20", "an0=1" }, 2, "" },
	{ WITHIN, { "ib0=20", "" }, 2, "" },
	{ WITHIN, { "", "" }, 2, "" },
	{ WITHIN, { "ib0=20 an0=1" }, 1, "" },
	{ WITHIN, { "ib0=1 an0=20", "an0=20 ib0=1", "ib0=1" }, 3, "" },
	{ WITHIN, { "ib0=20 an0=1", "ib0=20 an0=2" }, 2,
		"fail same: the same on all nodes within link_layer Ethernet | 1 on n1; 2 on n2\n" },
	{ WITHIN, { "ib0=20 an0=1", "ib0=20 an0=2", "ib0=21 an0=1", "ib0=20" }, 4,
		"fail same n2 port=an0/1: the same on all nodes within link_layer Ethernet: 1 (2 of 3) | 2\n"
		"fail same n3 port=ib0/1: the same on all nodes within link_layer InfiniBand: 20 (3 of 4) | 21\n" },
	{ WITHIN, { "ib0=20 ib1=9", "ib0=20 an0=2", "ib0=20 an0=2" }, 3,
		"fail same n1 port=ib1/1: the same on all nodes within link_layer InfiniBand: 20 (2 of 3) | 9\n" },
	/* uniform compares the ports of one node too */
	{ UNIFORM, { "ib0=20 ib1=20 ib2=9 ib3=20" }, 1,
		"warn same n1 port=ib2/1: the same on all nodes: 20 (3 of 4 ports) | 9\n" },
	{ UNIFORM, { "ib0=20 ib1=20 ib2=9", "ib0=20 ib1=20 ib2=9" }, 2,
		"warn same n1 port=ib2/1: the same on all nodes: 20 (4 of 6 ports) | 9\n"
		"warn same n2 port=ib2/1: the same on all nodes: 20 (4 of 6 ports) | 9\n" },
	{ UNIFORM, { "ib0=20 ib1=20", "ib0=20 ib1=20" }, 2, "" },
	/* which of the two is right is not known, and one of them is wrong */
	{ UNIFORM, { "ib0=20 ib1=9" }, 1,
		"warn same n1: the same on each part of the node | 20 on ib0/1, 9 on ib1/1\n" },
	{ UNIFORM, { "ib0=20 ib1=9", "ib0=20 ib1=9", "ib0=9 ib1=9" }, 3,
		"warn same n1: the same on each part of the node | 20 on ib0/1, 9 on ib1/1\n"
		"warn same n2: the same on each part of the node | 20 on ib0/1, 9 on ib1/1\n" },
	/* whole nodes are compared as ever */
	{ UNIFORM, { "ib0=20 ib1=20", "ib0=9 ib1=9", "ib0=20 ib1=20" }, 3,
		"warn same n2: the same on all nodes: 20 (2 of 3) | 9\n" },
};

TEST_EACH(nodes_are_compared_by_their_ports, port_table)
{
	char checks[256];
	struct muster_run *run = ports(port_table[_i].nodes, port_table[_i].count);
	snprintf(checks, sizeof checks, "'same':{'metric':'port.firmware','same_across':'nodes','source':'s',%s}",
		port_table[_i].how);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(fixture_findings(report), port_table[_i].found);
	ck_assert_str_eq(report->tallies[0].expected, strcmp(port_table[_i].how, WITHIN) == 0
							      ? "the same on all nodes within each link_layer"
							      : "the same on all nodes");
}

static const struct {
	const char *values[4];
	size_t count;
	const char *found;
} size_table[] = {
	/* upper and lower case, and the two names of the file, are one machine type */
	{ { "Standard_A", "standard_a", "STANDARD_B" }, 3, "" },
	{ { "Other", "other" }, 2,
		"warn size n1: one of Standard_A, Standard_B | Other\nwarn size n2: one of Standard_A, Standard_B | "
		"other\n" },
	/* of two, the check of the value itself knows which one is right */
	{ { "Standard_A", "Other" }, 2, "fail same n2: the same on all nodes: Standard_A (as size expects) | Other\n" },
	{ { "Third", "Other" }, 2, "fail same: the same on all nodes | Other on n2; Third on n1\n" },
	{ { "Standard_A", "Other", "Standard_b" }, 3,
		"fail same n2: the same on all nodes: Standard_A (2 of 3) | Other\n" },
};

TEST_EACH(a_machine_type_has_several_names, size_table)
{
	struct muster_run *run = fixture_new_run();
	for (size_t i = 0; i < size_table[_i].count; i++) {
		struct muster_node *node = fixture_node(run, muster_arena_printf(run->arena, "n%zu", i + 1), 1);
		fixture_sample(run, &node->samples, "node.vm_size", NULL, muster_string(size_table[_i].values[i]));
	}
	struct muster_report *report = fixture_report_file(run,
		"{'schema_version':1,'name':'a','identify':{'vm_size':['Standard_A','Standard_B']},'checks':{"
		"'same':{'metric':'node.vm_size','same_across':'nodes','source':'s'},"
		"'size':{'metric':'node.vm_size','one_of':['Standard_A','Standard_B'],'ignore_case':true,"
		"'severity':'warn','after':'same','source':'s'}}}");
	ck_assert_str_eq(fixture_findings(report), size_table[_i].found);
}

/* A check that compares too, and is judged later, tells by its other operators. */
TEST(a_later_check_knows_the_right_value)
{
	ck_assert_str_eq(fixture_found(run_text_new("a node.cpus 8\na/0 = - -\nb node.cpus 4\nb/1 = - -"),
				 "'same':{'metric':'node.cpus','same_across':'nodes','source':'s'},"
				 "'cpus':{'metric':'node.cpus','min':6,'max_of_median':2,'after':'same','source':'s'}"),
		"fail same b: the same on all nodes: 8 (as cpus expects) | 4\n");
}

TEST(a_node_whose_probe_failed_is_not_compared)
{
	static const char *const nodes[] = { "ib0=20", "", "ib0=20" };
	struct muster_run *run = ports(nodes, 3);
	fixture_outcome(
		&run->nodes[1].ranks[0], "ib_link", MUSTER_OUTCOME_ERROR, "lib", "libibverbs.so.1: not found", NULL);
	struct muster_report *report =
		fixture_report(run, "'same':{'metric':'port.firmware','same_across':'nodes','source':'s'}", false);
	ck_assert_str_eq(fixture_findings(report),
		"fail probe.ib_link n2 rank=1: probe ib_link finishes | libibverbs.so.1: not found\n");
	ck_assert_uint_eq(report->findings[0].blocked_count, 1);
}

/* GPU names of four ranks on two nodes. */
static struct muster_run *names(const char *const *values)
{
	struct muster_run *run = fixture_new_run();
	for (size_t n = 0; n < 2; n++) {
		struct muster_node *node = fixture_node(run, n ? "n2" : "n1", 2);

		for (size_t r = 0; r < 2; r++)
			if (values[2 * n + r])
				fixture_sample(run, &node->ranks[r].samples, "gpu.name", r ? "gpu=b" : "gpu=a",
					muster_string(values[2 * n + r]));
	}
	return run;
}

/* VBIOS versions of the same four ranks: on one node, GPUs are compared with those of their model. */
static const struct {
	const char *models[4], *versions[4], *found;
} model_table[] = {
	{ { "A", "A", "A", "A" }, { "1", "2", "1", "1" },
		"warn same n1: the same on each part of the node | 1 on a, 2 on b\n" },
	{ { "A", "B", "A", "B" }, { "1", "2", "1", "2" }, "" },
	{ { "A", "B", "A", "B" }, { "1", "2", "1", "3" }, "warn same: the same on all nodes | 2 on n1; 3 on n2\n" },
	{ { "A", "A", "A", "A" }, { "1", "2", "1", "2" },
		"warn same n1: the same on each part of the node | 1 on a, 2 on b\n"
		"warn same n2: the same on each part of the node | 1 on a, 2 on b\n" },
};

TEST_EACH(on_one_node_gpus_are_compared_within_their_model, model_table)
{
	struct muster_run *run = names(model_table[_i].models);
	for (size_t i = 0; i < 4; i++)
		fixture_sample(run, &run->nodes[i / 2].ranks[i % 2].samples, "gpu.vbios", i % 2 ? "gpu=b" : "gpu=a",
			muster_string(model_table[_i].versions[i]));
	ck_assert_str_eq(
		fixture_found(run, "'same':{'metric':'gpu.vbios','same_across':'nodes','source':'s'," UNIFORM "}"),
		model_table[_i].found);
}

static const struct {
	const char *values[4], *across, *found;
} name_table[] = {
	{ { "A", "A", "A", "A" }, "nodes", "" },
	{ { "A", "B", "B", "A" }, "nodes", "" },
	{ { "A", "A", "A", "B" }, "nodes", "fail same: the same on all nodes | A on n1; A, B on n2\n" },
	{ { "A", "A", "A", "A" }, "ranks", "" },
	{ { "A", "A", "A", "B" }, "ranks", "fail same n2 rank=3 gpu=b: the same on all ranks: A (3 of 4) | B\n" },
	{ { "A", "A", "B", "B" }, "ranks", "fail same: the same on all ranks | A on ranks 0-1; B on ranks 2-3\n" },
	{ { "A", NULL, "A", "A" }, "ranks", "inconclusive same n1 rank=1: the same on all ranks | not measured\n" },
	{ { "A", NULL, "A", "A" }, "nodes", "inconclusive same n1 rank=1: the same on all nodes | not measured\n" },
};

TEST_EACH(ranks_are_compared_one_by_one_or_by_node, name_table)
{
	char checks[128];
	struct muster_run *run = names(name_table[_i].values);
	snprintf(checks, sizeof checks, "'same':{'metric':'gpu.name','same_across':'%s','source':'s'}",
		name_table[_i].across);
	ck_assert_str_eq(fixture_found(run, checks), name_table[_i].found);
}

TEST(what_another_check_condemned_is_left_out_of_the_comparison)
{
	static const char *const values[] = { "A", "A", "A", "B" };
	struct muster_run *run = names(values);
	ck_assert_str_eq(
		fixture_found(run, "'same':{'metric':'gpu.name','same_across':'nodes','source':'s','after':'name'},"
				   "'name':{'metric':'gpu.name','equals':'A','source':'s'}"),
		"fail name n2 rank=3 gpu=b: A | B\n");
}

/* "VALUE/MADE_BY" of each rank. */
static const struct {
	const char *sums[4], *found;
} sum_table[] = {
	{ { "1/a", "1/a", "1/a", "2/b" }, "" },
	{ { "1/a", "2/b", "1/a", "2/b" }, "" },
	{ { "1/a", "1/a", "2/a", "2/b" },
		"fail same n1 rank=2 gpu=g2: the same on all ranks within made_by a: 1 (2 of 3) | 2\n" },
	{ { "1/a", "2/a", "3/b", "3/b" },
		"fail same: the same on all ranks within made_by a | 1 on rank 0; 2 on rank 1\n" },
	{ { "1/a", "2/a", NULL, "1/a" },
		"fail same n1 rank=1 gpu=g1: the same on all ranks within made_by a: 1 (2 of 3) | 2\n"
		"inconclusive same n1 rank=2: the same on all ranks within each made_by | not measured\n" },
};

TEST_EACH(ranks_within_a_label_are_compared_with_their_like, sum_table)
{
	struct muster_run *run = fixture_new_run();
	struct muster_node *node = fixture_node(run, "n1", 4);
	for (int i = 0; i < 4; i++) {
		const char *sum = sum_table[_i].sums[i];
		char labels[64];
		if (!sum)
			continue;
		snprintf(labels, sizeof labels, "gpu=g%d precision=bf16 made_by=%s", i, sum + 2);
		fixture_sample(run, &node->ranks[i].samples, "gpu.gemm_checksum", labels,
			muster_string(muster_arena_string_n(run->arena, sum, 1)));
	}
	ck_assert_str_eq(
		fixture_found(run,
			"'same':{'metric':'gpu.gemm_checksum','same_across':'ranks','within':'made_by','source':'s'}"),
		sum_table[_i].found);
}

TEST(long_lists_are_cut)
{
	struct muster_run *run = fixture_new_run();
	for (int i = 0; i < 200; i++) {
		char name[32], value[32];

		snprintf(name, sizeof name, "node%03d", i);
		snprintf(value, sizeof value, "v%d", i % 2 ? i : 0); /* 100 of 200: no majority */
		struct muster_node *node = fixture_node(run, muster_arena_string(run->arena, name), 1);
		fixture_sample(run, &node->samples, "node.driver_version", NULL, muster_string(value));
	}
	struct muster_report *report = fixture_report(run, SAME_DRIVER, false);
	ck_assert_uint_eq(report->finding_count, 1);
	const char *seen = report->findings[0].observed;
	ck_assert_msg(strncmp(seen, "v0 on node000, node002, node004,", 32) == 0, "%s", seen);
	ck_assert_ptr_nonnull(strstr(seen, " and 88 more; v1 on node001;"));
	ck_assert_ptr_nonnull(strstr(seen, "; and 95 more values"));
	ck_assert_uint_lt(strlen(seen), 400);
}

TEST(padded_names_make_ranges)
{
	static const char *const values[] = { "a", "b", "c", "a", "b", "c", "a" };
	struct muster_run *run = fixture_new_run();
	for (int i = 0; i < 7; i++) {
		static const char *const nodes[] = { "g008", "x1", "y", "g009", "x2", "y2", "g010" };
		struct muster_node *node = fixture_node(run, nodes[i], 1);

		fixture_sample(run, &node->samples, "node.driver_version", NULL, muster_string(values[i]));
	}
	struct muster_report *report = fixture_report(run, SAME_DRIVER, false);
	ck_assert_str_eq(report->findings[0].observed, "a on g[008-010]; b on x1, x2; c on y, y2");
}

TEST_MAIN(.teardown = fixture_done)

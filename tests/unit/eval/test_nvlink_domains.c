/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvlink_domains.c - NVLink domains: counted, and asked for by `when` */
#include "check_main.h"
#include "eval_fixture.h"

#include "eval/nvlink_domains.h"
#include "muster/run_data.h"

#define ZERO "00000000-0000-0000-0000-000000000000"
#define RACK_A "a0000000-0000-0000-0000-000000000001"
#define RACK_B "b0000000-0000-0000-0000-000000000002"

/* A metric like that of the catalogue, so that the count can be tried with any samples. */
static const struct muster_metric clique = {
	.name = "gpu.fabric_clique",
	.type = MUSTER_NUMBER,
	.scope = MUSTER_SCOPE_GPU,
	.labels = { "gpu", "cluster" },
	.meaning = "clique",
};

/* Nodes of two GPUs: for each the cluster's UUID (NULL: no sample) and the clique (below 0: a null). */
static const struct {
	struct {
		const char *name, *clusters[2];
		double cliques[2];
		bool missing;
	} nodes[4];
	size_t count, domains, fewest_nodes;
} table[] = {
	{ { { "n1", { NULL, NULL }, { 0, 0 }, false }, { "n2", { NULL, NULL }, { 0, 0 }, false } }, 2, 2, 1 },
	{ { { "n1", { ZERO, ZERO }, { 0, 0 }, false }, { "n2", { ZERO, ZERO }, { 0, 0 }, false } }, 2, 2, 1 },
	{ { { "n1", { "", "" }, { 1, 1 }, false } }, 1, 1, 1 },
	{ { { "n1", { RACK_A, RACK_A }, { 7, 7 }, false }, { "n2", { RACK_A, RACK_A }, { 7, 7 }, false } }, 2, 1, 2 },
	{ { { "n1", { RACK_A, RACK_A }, { 7, 7 }, false }, { "n2", { RACK_A, RACK_A }, { 8, 8 }, false } }, 2, 2, 1 },
	{ { { "n1", { RACK_A, RACK_A }, { 7, 7 }, false }, { "n2", { RACK_B, RACK_B }, { 7, 7 }, false } }, 2, 2, 1 },
	{ { { "n1", { RACK_A, RACK_A }, { 7, 7 }, false }, { "n2", { RACK_B, RACK_B }, { 7, 7 }, false },
		  { "n3", { RACK_A, RACK_A }, { 7, 7 }, false }, { "n4", { RACK_B, RACK_B }, { 7, 7 }, false } },
		4, 2, 2 },
	/* one of the node's GPUs is out of the fabric: the node is in it all the same */
	{ { { "n1", { RACK_A, ZERO }, { 7, 0 }, false }, { "n2", { RACK_A, RACK_A }, { 7, 7 }, false } }, 2, 1, 2 },
	{ { { "n1", { RACK_A, NULL }, { 7, 0 }, false }, { "n2", { RACK_A, RACK_A }, { 7, -1 }, false } }, 2, 1, 2 },
	/* a null says nothing of a fabric */
	{ { { "n1", { RACK_A, RACK_A }, { -1, -1 }, false }, { "n2", { RACK_A, RACK_A }, { 7, 7 }, false } }, 2, 2, 1 },
	/* cliques that differ in the last of many digits */
	{ { { "n1", { RACK_A, RACK_A }, { 1000001, 1000001 }, false },
		  { "n2", { RACK_A, RACK_A }, { 1000002, 1000002 }, false } },
		2, 2, 1 },
	/* GPUs of one node in two fabrics */
	{ { { "n1", { RACK_A, RACK_B }, { 7, 7 }, false } }, 1, 2, 1 },
	/* nodes of which nothing came */
	{ { { "n1", { RACK_A, RACK_A }, { 7, 7 }, false }, { "n2", { NULL, NULL }, { 0, 0 }, true },
		  { "?", { NULL, NULL }, { 0, 0 }, true } },
		3, 1, 1 },
	{ { { "n1", { NULL, NULL }, { 0, 0 }, true } }, 1, 0, 0 },
};

static struct muster_run *nodes_make(int row)
{
	struct muster_run *run = fixture_new_run();
	for (size_t n = 0; n < table[row].count; n++) {
		struct muster_node *node = fixture_node(run, table[row].nodes[n].name, 2);

		for (size_t g = 0; g < 2; g++) {
			struct muster_label *labels = muster_arena_alloc(run->arena, 2 * sizeof *labels);
			double value = table[row].nodes[n].cliques[g];
			const char *cluster = table[row].nodes[n].clusters[g];

			if (table[row].nodes[n].missing)
				node->ranks[g].missing = "no message";
			if (!cluster)
				continue;
			labels[0] = (struct muster_label){ "gpu", muster_string(g ? "g1" : "g0") };
			labels[1] = (struct muster_label){ "cluster",
				muster_string(muster_arena_string(run->arena, cluster)) };
			muster_samples_add(&node->ranks[g].samples,
				(struct muster_sample){ .metric = &clique,
					.labels = labels,
					.label_count = 2,
					.value = value < 0 ? muster_null() : muster_number(value),
					.reason = value < 0 ? "not supported" : NULL });
		}
	}
	return run;
}

TEST_EACH(gpus_of_one_cluster_and_clique_are_one_domain, table)
{
	struct muster_run *run = nodes_make(_i);
	struct muster_nvlink_domains domains = muster_nvlink_domains_of(run, &clique);
	ck_assert_uint_eq(domains.count, table[_i].domains);
	ck_assert_uint_eq(domains.fewest_nodes, table[_i].fewest_nodes);
}

/* Before there was such a metric, every node that reported was a domain. */
TEST_EACH(without_the_metric_each_node_is_a_domain, table)
{
	size_t nodes = 0;
	struct muster_run *run = nodes_make(_i);
	for (size_t n = 0; n < table[_i].count; n++)
		nodes += !table[_i].nodes[n].missing;
	ck_assert_uint_eq(muster_nvlink_domains_of(run, NULL).count, nodes);
}

static const struct {
	const char *when, *skipped;
} whens[] = {
	{ "{'domains':2}", NULL },
	{ "{'domains':{'min':2}}", NULL },
	{ "{'domains':{'max':2}}", NULL },
	{ "{'domains':2,'nodes':2}", NULL },
	{ "{'domains':1}", "only for runs of 1 NVLink domain (this run has 2)" },
	{ "{'domains':{'max':1}}", "only for runs of at most 1 NVLink domain (this run has 2)" },
	{ "{'domains':{'min':3}}", "only for runs of 3 NVLink domains or more (this run has 2)" },
	{ "{'domains':{'min':3,'max':9}}", "only for runs of 3 to 9 NVLink domains (this run has 2)" },
	{ "{'domains':1,'nodes':1}", "only for runs of 1 node (this run has 2)" },
};

/* On machines whose NVLink ends at the node, domains are nodes; a third one, which sent nothing, does not count. */
TEST_EACH(a_check_may_be_for_runs_of_so_many_domains, whens)
{
	char checks[256];
	struct muster_run *run = fixture_new_run();
	for (int n = 0; n < 2; n++)
		fixture_sample(
			run, &fixture_node(run, n ? "n2" : "n1", 1)->samples, "node.gpu_count", NULL, muster_number(8));
	struct muster_node *unknown = fixture_node(run, "?", 1);
	unknown->ranks[0].missing = "no message";
	snprintf(checks, sizeof checks, "'c':{'metric':'node.gpu_count','equals':8,'source':'s','when':%s}",
		whens[_i].when);
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_uint_eq(report->domains, 2);
	ck_assert_pstr_eq(report->tallies[0].skipped, whens[_i].skipped);
	ck_assert_uint_eq(report->tallies[0].count[MUSTER_PASS], whens[_i].skipped ? 0 : 2);
}

/* The same from the catalogue's own metric: nodes of one rack, and the clique compared within the rack. */
TEST(a_run_counts_by_the_fabric_probe)
{
	struct muster_run *run = fixture_new_run();
	for (int n = 0; n < 4; n++) {
		static const char *const names[] = { "n1", "n2", "n3", "n4" };
		struct muster_node *node = fixture_node(run, names[n], 1);

		fixture_sample(run, &node->ranks[0].samples, "gpu.fabric_clique",
			n < 3 ? "gpu=g cluster=" RACK_A : "gpu=g cluster=" RACK_B, muster_number(n == 1 ? 8 : 7));
	}
	struct muster_report *report = fixture_report(run,
		"'same':{'metric':'gpu.fabric_clique','same_across':'nodes','within':'cluster','source':'s'},"
		"'racks':{'metric':'gpu.fabric_clique','max':7,'source':'s','when':{'domains':2}}",
		false);
	ck_assert_uint_eq(report->domains, 3);
	ck_assert_str_eq(fixture_findings(report),
		"fail same n2 rank=1 gpu=g: the same on all nodes within cluster " RACK_A ": 7 (2 of 3) | 8\n");
	ck_assert_str_eq(report->tallies[1].skipped, "only for runs of 2 NVLink domains (this run has 3)");
}

TEST_MAIN(.teardown = fixture_done)

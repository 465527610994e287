/* SPDX-License-Identifier: Apache-2.0 */
/* test_peers.c - how many places of one kind judge one of them, the same for all checks that compare values of one run
 */
#include "check_main.h"
#include "run_text.h"

#include "eval/derive.h"

/* So many nodes of one rank, the last one of which has the bad value. */
enum { COUNTS = 6 };
static const int counts[COUNTS] = { 1, 2, 3, 5, 6, 8 };

#define H2D "gpu.h2d_gbps gpu=g"
#define LINKS "gpu.c2c_links gpu=g"
#define COMPUTE "rank.compute_ms"

/* The worst finding among so many nodes, by its first letter; a dash is none. */
static const struct {
	const char *sample, *good, *bad, *check, *wanted[COUNTS];
} table[] = {
	{ H2D, "26", "13", "'metric':'gpu.h2d_gbps','min_of_median':0.8", { "s", "s", "w", "w", "f", "f" } },
	{ H2D, "13", "26", "'metric':'gpu.h2d_gbps','max_of_median':1.2", { "s", "s", "w", "w", "f", "f" } },
	{ H2D, "26", "13", "'metric':'gpu.h2d_gbps','min_of_median':0.8,'severity':'warn'",
		{ "s", "s", "w", "w", "w", "w" } },
	{ H2D, "26", "13", "'metric':'gpu.h2d_gbps','slower_than_peers':{'fail':0.1}",
		{ "s", "s", "w", "w", "f", "f" } },
	{ H2D, "26", "25", "'metric':'gpu.h2d_gbps','slower_than_peers':{'fail':0.1,'warn':0.02}",
		{ "s", "s", "w", "w", "w", "w" } },
	{ COMPUTE, "10", "20", "'metric':'rank.compute_ms','slower_than_peers':{'fail':0.1}",
		{ "s", "s", "w", "w", "f", "f" } },
	/* all are as they should be */
	{ H2D, "26", "26", "'metric':'gpu.h2d_gbps','min_of_median':0.8", { "s", "s", "-", "-", "-", "-" } },
	/* a threshold beside the comparison needs no others */
	{ H2D, "26", "13", "'metric':'gpu.h2d_gbps','min':20,'min_of_median':0.8", { "f", "f", "f", "f", "f", "f" } },
	{ H2D, "26", "13", "'metric':'gpu.h2d_gbps','min':10,'min_of_median':0.8", { "-", "-", "w", "w", "f", "f" } },
	/* facts do not scatter */
	{ LINKS, "10", "9", "'metric':'gpu.c2c_links','min_of_median':1", { "s", "s", "f", "f", "f", "f" } },
};

static const char *worst_of(const struct muster_report *report)
{
	return report->count[MUSTER_FAIL]   ? "f"
	       : report->count[MUSTER_WARN] ? "w"
	       : report->count[MUSTER_SKIP] ? "s"
					    : "-";
}

TEST_EACH(two_never_judge_each_other_three_warn_and_six_fail, table)
{
	for (int i = 0; i < COUNTS; i++) {
		char lines[2048] = "", check[256];
		size_t used = 0;
		for (int n = 0; n < counts[i]; n++)
			used += (size_t)snprintf(lines + used, sizeof lines - used, "n%d/%d %s %s\n", n, n,
				table[_i].sample, n == counts[i] - 1 ? table[_i].bad : table[_i].good);
		snprintf(check, sizeof check, "'c':{%s,'source':'s'}", table[_i].check);
		struct muster_report *report = fixture_report(run_text_new(lines), check, false);
		ck_assert_msg(strcmp(worst_of(report), table[_i].wanted[i]) == 0, "%d places: %s", counts[i],
			fixture_findings(report));
		ck_assert(report->tallies[0].has_numbers); /* what is not judged is shown */
		fixture_done();
	}
}

/* What a rank exchanges with two others is two samples of one place. */
TEST(samples_of_one_rank_are_one_place)
{
	static const char check[] = "'c':{'metric':'rank.allreduce_us','min_of_median':0.8,'source':'s'}";
	struct muster_report *report = fixture_report(run_text_new("a/0 rank.allreduce_us bytes=8 10\n"
								   "a/0 rank.allreduce_us bytes=16 10\n"
								   "a/1 rank.allreduce_us bytes=8 10\n"
								   "a/1 rank.allreduce_us bytes=16 5\n"),
		check, false);
	ck_assert_str_eq(worst_of(report), "s");
}

/* Exchanges with the next node of a ring, and of two GPUs within each node, 2: through its network adapter: those of
 * the last node are slow, and what is usual is the median over the nodes. */
TEST(exchanges_are_held_against_as_many_that_are_alike)
{
	static const char *const wanted[COUNTS] = { "-", "-", "w", "w", "f", "f" };
	for (int i = 0; i < COUNTS; i++)
		for (int inside = 0; inside < 3; inside++) {
			char lines[4096] = "";
			size_t used = 0;
			int nodes = counts[i];
			for (int r = 0; r < 2 * nodes; r++) {
				int own = r / 2, node = inside ? own : (own + (r % 2 ? nodes - 1 : 1)) % nodes;
				used += (size_t)snprintf(lines + used, sizeof lines - used,
					"n%d/%d = g%d x\nn%d/%d pair.exchange_gbps kind=%s peer_node=n%d peer_gpu=g%d "
					"nic=%s transport=%s %s\n",
					own, inside ? r : own, inside ? r % 2 : 0, own, inside ? r : own,
					inside ? "edge" : "rail", node, inside ? 1 - r % 2 : 0,
					inside == 1 ? "none" : "eth0", inside == 1 ? "SHM" : "NET/Socket",
					own == nodes - 1 || node == nodes - 1 ? "1" : "3");
			}
			struct muster_run *run = run_text_new(lines);
			muster_run_derive(run);
			struct muster_report *report = fixture_report(run,
				"'c':{'metric':'pair.exchange_gbps','share_of':'pair.exchange_usual_gbps','min':0.6,"
				"'optional':true,'when':{'nodes':{'min':3}},'source':'s'}",
				false);
			ck_assert_msg(strcmp(worst_of(report), wanted[i]) == 0, "%d nodes, inside %d: %s", nodes,
				inside, fixture_findings(report));
			fixture_done();
		}
}

/* Rails over NVLink, of two GPUs on each of three nodes: what is usual is the median of six ranks, which is enough. */
TEST(exchanges_over_nvlink_are_held_against_all_gpus)
{
	char lines[4096] = "";
	size_t used = 0;
	for (int i = 0; i < 12; i++) {
		int own = i / 4, gpu = i / 2 % 2, other = (own + 1 + i % 2) % 3;
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"n%d/%d = g%d x\nn%d/%d pair.exchange_gbps kind=rail peer_node=n%d peer_gpu=g%d nic=none "
			"transport=P2P/MNNVL %d\n",
			own, 2 * own + gpu, gpu, own, 2 * own + gpu, other, gpu, own == 2 || other == 2 ? 1 : 3);
	}
	struct muster_run *run = run_text_new(lines);
	muster_run_derive(run);
	struct muster_report *report = fixture_report(run,
		"'c':{'metric':'pair.exchange_gbps','share_of':'pair.exchange_usual_gbps','min':0.6,'source':'s'}",
		false);
	ck_assert_msg(strcmp(worst_of(report), "f") == 0, "%s", fixture_findings(report));
	fixture_done();
}

TEST_MAIN(.teardown = fixture_done)

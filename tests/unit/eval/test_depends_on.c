/* SPDX-License-Identifier: Apache-2.0 */
/* test_depends_on.c - what a failure, a warning, the end of a probe or a missing rank blocks, and what it does not */
#include "check_main.h"
#include "run_text.h"

#define AFTER(more) "'source':'s','after':'first'" more
#define H2D_WARN "'first':{'metric':'gpu.h2d_gbps','min':2,'source':'s','severity':'warn'}"
#define NUMA(more) "'second':{'metric':'gpu.numa_node','equals':1," AFTER(more) "}"

/* The ring of an ND96asr_v4 at sizes of which the first only warns. */
#define RING(mib, id, limits, after)                                                                                   \
	"'" id "':{'metric':'nccl.allreduce_busbw_gbps','where':{'bytes':" mib "}," limits ",'source':'s'" after "}"
#define BUSBW "job nccl.allreduce_busbw_gbps nodes=2 ranks=2 bytes="
#define RANKS "\na/0 = - -\nb/1 = - -"
/* Three sizes, each after the one before, and the first after the state of a port. */
#define SIZES_AFTER_PORT                                                                                               \
	"'first':{'metric':'port.state','equals':'ACTIVE','source':'s'}," RING(                                        \
		"8", "r8", "'min':10", ",'after':'first'") "," RING("64", "r64", "'min':118",                          \
		",'after':'r8'") "," RING("512", "r512", "'min':118", ",'after':'r64'")

/* Speeds of two GPUs of node a and one of b, which are bad, and results; what other programs there are. */
#define OF_EACH(metric, a, b, c) "a/0 " metric a "\na/1 " metric b "\nb/2 " metric c "\n"
#define SPEEDS(users, none, busy)                                                                                      \
	OF_EACH("rank.compute_ms ", "9", "9", "1")                                                                     \
	OF_EACH("gpu.h2d_gbps gpu=", "g0 1", "g1 1", "g0 1")                                                           \
	OF_EACH("gpu.copy_intact gpu=", "g0 false", "g1 true", "g0 true")                                              \
	OF_EACH("gpu.foreign_processes when=start gpu=", "g0 " users, "g1 " none, "g0 " none)                          \
	OF_EACH("gpu.utilisation_before gpu=", "g0 " none, "g1 " busy, "g0 " none)                                     \
	"job nccl.allreduce_busbw_gbps bytes=8 nodes=2 ranks=3 1\n"
#define SPEED_CHECKS                                                                                                   \
	"'intact':{'metric':'gpu.copy_intact','equals':true,'source':'s','optional':true},"                            \
	"'h2d':{'metric':'gpu.h2d_gbps','min':2,'source':'s'},'compute':{'metric':'rank.compute_ms','warn_above':2,"   \
	"'source':'s'},'ring':{'metric':'nccl.allreduce_busbw_gbps','min':9,'source':'s'},"                            \
	"'users':{'metric':'gpu.foreign_processes','max':0,'source':'s','slows':true,'optional':true},"                \
	"'busy':{'metric':'gpu.utilisation_before','warn_above':0.1,'source':'s','slows':true,'optional':true}"
#define UNDECIDED(where, limit)                                                                                        \
	"inconclusive " where ": at least " limit " GB/s, without another program on the GPU (busy) | 1\n"
#define UNDECIDED_RANKS                                                                                                \
	"inconclusive h2d a: at least 2 GB/s, without another program on the GPU (busy) | ranks 0-1: 1\n"
#define UNTOUCHED "fail h2d b rank=2 gpu=g0: at least 2 GB/s | 1\n"
#define NONE_SEEN                                                                                                      \
	"skip users: at most 0 | no value: not supported here (3 GPUs)\n"                                              \
	"skip busy: warning above 0.1 | no value: not supported here (3 GPUs)\n"
#define RECORDED(how) " | recorded, not evaluated: other programs may use the GPU (" how ")"

static const struct {
	const char *run, *checks;
	const char *found;   /* fixture_findings() */
	const char *blocked; /* "check: N by CAUSE" of each check that is blocked somewhere */
	enum muster_status verdict;
} cases[] = {
	/* a warning silences no failure, whatever the order of the sizes */
	{ BUSBW "512 150\n" BUSBW "1024 40\n" BUSBW "2048 41" RANKS,
		RING("512", "r512", "'min':120,'warn_below':155", "") "," RING("1024", "r1g", "'min':120",
			",'after':'r512'") "," RING("2048", "r2g", "'min':120", ",'after':'r1g'"),
		"fail r1g: at least 120 GB/s | 40\n"
		"warn r512: at least 120 GB/s (warning below 155) | 150\n",
		"r2g: 1 by r1g\n", MUSTER_FAIL },
	/* what warns after a warning is blocked, through a check that passed too */
	{ BUSBW "4 227\n" BUSBW "6 300\n" BUSBW "8 227" RANKS,
		RING("4", "r4g", "'min':225,'warn_below':230", "") "," RING("6", "r6g", "'min':225,'warn_below':230",
			",'after':'r4g'") "," RING("8", "r8g", "'min':225,'warn_below':228", ",'after':'r6g'"),
		"warn r4g: at least 225 GB/s (warning below 230) | 227\n", "r8g: 1 by r4g\n", MUSTER_PASS },
	{ BUSBW "4 227\n" BUSBW "8 227" RANKS,
		RING("4", "r4g", "'min':225,'warn_below':230", "") "," RING("8", "r8g", "'min':228", ",'after':'r4g'"),
		"fail r8g: at least 228 GB/s | 227\nwarn r4g: at least 225 GB/s (warning below 230) | 227\n", "",
		MUSTER_FAIL },
	/* a check that can only warn, before one that fails */
	{ "a/0 rank.nccl_transport NET/Socket\nb/1 rank.nccl_transport SHM\n" BUSBW "64 0.4",
		"'shm':{'metric':'rank.nccl_transport','equals':'SHM','source':'s','severity':'warn'}," RING(
			"64", "r64", "'min':5", ",'after':'shm'"),
		"fail r64: at least 5 GB/s | 0.4\nwarn shm a rank=0: SHM | NET/Socket\n", "", MUSTER_FAIL },
	/* ports: one that is down and unused hides no other one, and is not compared when that is a failure */
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\na port.rate_gbps port=p0/1 link_layer=InfiniBand 10\n"
	  "a port.state port=p1/1 link_layer=InfiniBand ACTIVE\na port.rate_gbps port=p1/1 link_layer=InfiniBand 100\n"
	  "b port.state port=p0/1 link_layer=InfiniBand DOWN\nb port.rate_gbps port=p0/1 link_layer=InfiniBand 10\n"
	  "b port.state port=p1/1 link_layer=InfiniBand ACTIVE\nb port.rate_gbps port=p1/1 link_layer=InfiniBand 200\n"
	  "c port.state port=p1/1 link_layer=InfiniBand ACTIVE\nc port.rate_gbps port=p1/1 link_layer=InfiniBand 200\n"
	  "a/0 = - -\nb/1 = - -\nc/2 = - -",
		"'first':{'metric':'port.state','equals':'ACTIVE','source':'s'},"
		"'rate':{'metric':'port.rate_gbps','same_across':'nodes'," AFTER("") "}",
		"fail first a port=p0/1: ACTIVE | DOWN\n"
		"fail rate a port=p1/1: the same on all nodes: 200 Gb/s (2 of 3) | 100\n"
		"fail first b port=p0/1: ACTIVE | DOWN\n",
		"rate: 2 by first on a and 1 more finding\n", MUSTER_FAIL },
	/* compared with others: the failure stands beside the warning, a warning is blocked, alone or without a
	   majority */
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\na port.rate_gbps port=p0/1 link_layer=InfiniBand 100\n"
	  "b port.state port=p0/1 link_layer=InfiniBand ACTIVE\nb port.rate_gbps port=p0/1 link_layer=InfiniBand 200\n"
	  "c port.state port=p0/1 link_layer=InfiniBand ACTIVE\nc port.rate_gbps port=p0/1 link_layer=InfiniBand 200\n"
	  "a/0 = - -\nb/1 = - -\nc/2 = - -",
		"'first':{'metric':'port.state','equals':'ACTIVE','source':'s','severity':'warn'},"
		"'hard':{'metric':'port.rate_gbps','same_across':'nodes'," AFTER(
			"") "},"
			    "'soft':{'metric':'port.rate_gbps','same_across':'nodes'," AFTER(",'severity':'warn'") "}",
		"fail hard a port=p0/1: the same on all nodes: 200 Gb/s (2 of 3) | 100\n"
		"warn first a port=p0/1: ACTIVE | DOWN\n",
		"soft: 1 by first on a\n", MUSTER_FAIL },
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\na port.rate_gbps port=p0/1 link_layer=InfiniBand 100\n"
	  "b port.state port=p0/1 link_layer=InfiniBand ACTIVE\nb port.rate_gbps port=p0/1 link_layer=InfiniBand 200\n"
	  "a/0 = - -\nb/1 = - -",
		"'first':{'metric':'port.state','equals':'ACTIVE','source':'s','severity':'warn'},"
		"'soft':{'metric':'port.rate_gbps','same_across':'nodes'," AFTER(",'severity':'warn'") "}",
		"warn first a port=p0/1: ACTIVE | DOWN\n", "soft: 1 by first on a\n", MUSTER_PASS },
	/* a warning blocks neither a failure nor a pass nor what could not be measured, only a warning */
	{ "a/0 gpu.h2d_gbps gpu=g0 1\na/0 gpu.numa_node gpu=g0 7", H2D_WARN "," NUMA(""),
		"fail second a rank=0 gpu=g0: 1 | 7\nwarn first a rank=0 gpu=g0: at least 2 GB/s | 1\n", "",
		MUSTER_FAIL },
	{ "a/0 gpu.h2d_gbps gpu=g0 1\na/0 gpu.numa_node gpu=g0 7", H2D_WARN "," NUMA(",'severity':'warn'"),
		"warn first a rank=0 gpu=g0: at least 2 GB/s | 1\n", "second: 1 by first on a\n", MUSTER_PASS },
	{ "a/0 gpu.h2d_gbps gpu=g0 1\na/0 gpu.numa_node gpu=g0 1", H2D_WARN "," NUMA(""),
		"warn first a rank=0 gpu=g0: at least 2 GB/s | 1\n", "", MUSTER_PASS },
	{ "a/0 gpu.h2d_gbps gpu=g0 1\na/0 gpu.numa_node gpu=g0 -", H2D_WARN "," NUMA(""),
		"inconclusive second a rank=0 gpu=g0: 1 | no value: not supported here\n"
		"warn first a rank=0 gpu=g0: at least 2 GB/s | 1\n",
		"", MUSTER_INCONCLUSIVE },
	/* of a failure and a warning on one node the failure counts */
	{ "a/0 gpu.h2d_gbps gpu=g0 3\na/0 gpu.h2d_gbps gpu=g1 1\na node.cpus 7",
		"'first':{'metric':'gpu.h2d_gbps','min':2,'warn_below':4,'source':'s'},"
		"'second':{'metric':'node.cpus','equals':1," AFTER("") "}",
		"fail first a rank=0 gpu=g1: at least 2 GB/s (warning below 4) | 1\n"
		"warn first a rank=0 gpu=g0: at least 2 GB/s (warning below 4) | 3\n",
		"second: 1 by first on a\n", MUSTER_FAIL },
	/* a failure of the node ends where a rank is as it should be: what this rank has by itself is found */
	{ "a node.gpu_count 1\na/0 rank.gpu_sharers gpu=g0 1\na/0 rank.cpu_locality outside\n"
	  "a/1 rank.gpu_sharers gpu=g0 -\na/1 rank.cpu_locality outside",
		"'first':{'metric':'node.gpu_count','equals':2,'source':'s'},"
		"'sharers':{'metric':'rank.gpu_sharers','equals':1," AFTER(
			"") "},"
			    "'cpus':{'metric':'rank.cpu_locality','equals':'inside','source':'s','after':'sharers'}",
		"fail first a: 2 | 1\nfail cpus a rank=0: inside | outside\n",
		"sharers: 1 by first on a\ncpus: 1 by first on a\n", MUSTER_FAIL },
	/* a port that is down explains a part of a slow all-reduce, and a transport any part */
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\n" BUSBW "8 20\n" BUSBW "64 59\n" BUSBW "512 10" RANKS,
		SIZES_AFTER_PORT, "fail first a port=p0/1: ACTIVE | DOWN\n",
		"r64: 1 by first on a\nr512: 1 by first on a\n", MUSTER_FAIL },
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\n" BUSBW "8 20\n" BUSBW "64 58\n" BUSBW "512 10" RANKS,
		SIZES_AFTER_PORT, "fail r64: at least 118 GB/s | 58\nfail first a port=p0/1: ACTIVE | DOWN\n",
		"r512: 1 by r64\n", MUSTER_FAIL },
	/* what depends on all nodes is blocked wherever the cause is, and names no neighbour */
	{ "a/0 gpu.fabric_state gpu=g0 bad\na/0 rank.nccl_transport NET\nb/1 gpu.fabric_state gpu=g0 completed\n"
	  "b/1 rank.nccl_transport NET",
		"'first':{'metric':'gpu.fabric_state','equals':'completed','source':'s'},"
		"'mnnvl':{'metric':'rank.nccl_transport','equals':'P2P','anywhere':true," AFTER("") "}",
		"fail first a rank=0 gpu=g0: completed | bad\n", "mnnvl: 2 by first on a\n", MUSTER_FAIL },
	{ "a/0 gpu.fabric_state gpu=g0 bad\na/0 rank.nccl_transport NET\nb/1 gpu.fabric_state gpu=g0 completed\n"
	  "b/1 rank.nccl_transport NET",
		"'first':{'metric':'gpu.fabric_state','equals':'completed','source':'s'},"
		"'mnnvl':{'metric':'rank.nccl_transport','equals':'P2P'," AFTER("") "}",
		"fail first a rank=0 gpu=g0: completed | bad\nfail mnnvl b rank=1: P2P | NET\n",
		"mnnvl: 1 by first on a\n", MUSTER_FAIL },
	/* a listed port that is not there is told beside another one that failed */
	{ "a port.state port=p0/1 link_layer=InfiniBand DOWN\na port.rate_gbps port=p0/1 link_layer=InfiniBand 10\n"
	  "a/0 = - -",
		"'first':{'metric':'port.state','equals':'ACTIVE','source':'s'},"
		"'rate':{'metric':'port.rate_gbps','equals_by':{'label':'port','values':{'p0/1':200,'p1/"
		"1':200}}," AFTER("") "}",
		"fail first a port=p0/1: ACTIVE | DOWN\nfail rate a port=p1/1: 200 Gb/s | not found\n",
		"rate: 1 by first on a\n", MUSTER_FAIL },
	/* a listed GPU that is not there may be so because of what failed on any rank */
	{ "a/0 rank.gpu_sharers gpu=g0 2\na/0 gpu.numa_node gpu=g0 0\na/1 rank.gpu_sharers gpu=g0 2",
		"'first':{'metric':'rank.gpu_sharers','equals':1,'source':'s'},"
		"'numa':{'metric':'gpu.numa_node','equals_by':{'label':'gpu','values':{'g0':0,'g1':1}}," AFTER("") "}",
		"fail first a gpu=g0: 1 | ranks 0-1: 2\n", "numa: 2 by first on a\n", MUSTER_FAIL },
	/* or of what failed on the node, though each rank that is there is as it should be */
	{ "a node.gpu_count 1\na/0 rank.gpu_sharers gpu=g0 1\na/0 gpu.numa_node gpu=g0 0",
		"'first':{'metric':'node.gpu_count','equals':2,'source':'s'},"
		"'sharers':{'metric':'rank.gpu_sharers','equals':1," AFTER(
			"") "},"
			    "'numa':{'metric':'gpu.numa_node','equals_by':{'label':'gpu','values':{'g0':0,'g1':1}},'"
			    "source':'s',"
			    "'after':'sharers'}",
		"fail first a: 2 | 1\n", "numa: 1 by first on a\n", MUSTER_FAIL },
	/* a stranger explains the speeds of its GPU, copies of its node and what all do together; nothing that is wrong
	 */
	{ SPEEDS("1", "0", "0"), SPEED_CHECKS,
		"fail intact a rank=0 gpu=g0: true | false\n"
		"fail users a rank=0 gpu=g0: at most 0 | 1\n" UNTOUCHED
		"warn compute a rank=1: warning above 2 ms | 9\n",
		"h2d: 2 by users on a\ncompute: 1 by users on a\nring: 1 by users on a\n", MUSTER_FAIL },
	/* one that is only a warning leaves a failure undecided */
	{ SPEEDS("0", "0", "0.9"), SPEED_CHECKS,
		"fail intact a rank=0 gpu=g0: true | false\n" UNTOUCHED UNDECIDED("ring", "9") UNDECIDED_RANKS
		"warn compute a rank=0: warning above 2 ms | 9\n"
		"warn busy a rank=1 gpu=g1: warning above 0.1 | 0.9\n",
		"compute: 1 by busy on a\n", MUSTER_FAIL },
	/* where GPUs are shared on purpose, speeds are recorded */
	{ SPEEDS("-", "-", "-") "a/0 rank.gpu_sharing asked\na/1 rank.gpu_sharing asked\nb/2 rank.gpu_sharing asked",
		SPEED_CHECKS,
		"fail intact a rank=0 gpu=g0: true | false\n"
		"skip ring: at least 9 GB/s" RECORDED(
			"asked") "\n"
				 "skip h2d: at least 2 GB/s" RECORDED(
					 "asked") " (3 GPUs)\n"
						  "skip compute a: warning above 2 ms" RECORDED(
							  "asked") " (2 ranks)\n" NONE_SEEN,
		"", MUSTER_FAIL },
	/* with MPS only where another program was seen */
	{ SPEEDS("-", "-", "-") "a/0 rank.gpu_sharing mps\na/1 rank.gpu_sharing mps\n"
				"a/1 gpu.foreign_process gpu=g1 when=start '5~a\nb/2 rank.gpu_sharing exclusive",
		SPEED_CHECKS,
		"fail intact a rank=0 gpu=g0: true | false\n" UNTOUCHED
		"warn compute a rank=0: warning above 2 ms | 9\n"
		"skip ring: at least 9 GB/s" RECORDED("mps") "\n"
							     "skip h2d a: at least 2 GB/s" RECORDED(
								     "mps") " (2 GPUs)\n" NONE_SEEN,
		"", MUSTER_FAIL },
	/* a missing rank blocks what would have come from it, of its node too when it was the only one */
	{ "a/0 gpu.numa_node gpu=g0 1\na/1 missing\na node.cpus 1\nb/2 missing",
		"'numa':{'metric':'gpu.numa_node','equals':1,'source':'s'},"
		"'cpus':{'metric':'node.cpus','equals':1,'source':'s'},"
		"'same':{'metric':'gpu.numa_node','same_across':'nodes','source':'s'}",
		"fail rank.missing a rank=1: a result from every rank | no message\n"
		"fail rank.missing b rank=2: a result from every rank | no message\n",
		"numa: 2 by rank.missing on a and 1 more finding\n"
		"cpus: 1 by rank.missing on b\n"
		"same: 2 by rank.missing on a and 1 more finding\n",
		MUSTER_FAIL },
	/* the rank that broke the all-reduce blocks what the others could not measure in it; what did not matter does
	   not */
	{ "a/0 probe nccl_allreduce not_run - cancelled ring=2\nb/1 probe nccl_allreduce hung - silent ring=2",
		"'t':{'metric':'rank.nccl_transport','equals':'NET/IB','source':'s'}",
		"fail probe.nccl_allreduce b rank=1: probe nccl_allreduce finishes | silent\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | cancelled\n",
		"t: 2 by probe.nccl_allreduce on b\n", MUSTER_FAIL },
	{ "a/0 probe nccl_allreduce not_run - cancelled ring=2\nb/1 missing",
		"'t':{'metric':'rank.nccl_transport','equals':'NET/IB','source':'s'}",
		"fail rank.missing b rank=1: a result from every rank | no message\n"
		"skip probe.nccl_allreduce a rank=0: probe nccl_allreduce finishes | cancelled\n",
		"t: 2 by rank.missing on b\n", MUSTER_FAIL },
	{ "a/0 probe gpu_copy error lib missing",
		"'h2d':{'metric':'gpu.h2d_gbps','min':1,'source':'s','optional':true}",
		"skip probe.gpu_copy a rank=0: probe gpu_copy finishes | missing\n", "", MUSTER_PASS },
};

static const char *blocked_text(const struct muster_report *report)
{
	static char text[1024];
	size_t used = 0, all = 0;
	text[0] = '\0';
	for (size_t i = 0; i < report->tally_count; i++) {
		const struct muster_tally *tally = &report->tallies[i];
		size_t count = tally->count[MUSTER_BLOCKED];
		all += count;
		ck_assert_msg(!count == !tally->blocked_by, "%s", tally->check);
		if (count)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s: %zu by %s\n", tally->check,
				count, tally->blocked_by);
	}
	ck_assert_uint_eq(report->count[MUSTER_BLOCKED], all);
	return text;
}

TEST_EACH(a_failure_blocks_every_result_and_a_warning_only_warnings, cases)
{
	struct muster_run *run = run_text_new(cases[_i].run);
	struct muster_report *report = fixture_report(run, cases[_i].checks, false);
	ck_assert_str_eq(fixture_findings(report), cases[_i].found);
	ck_assert_str_eq(blocked_text(report), cases[_i].blocked);
	ck_assert_int_eq(report->verdict, cases[_i].verdict);
}

/* A value that a failure blocks is no part of the median; one beside a warning is. */
TEST_LOOP(the_median_is_of_values_that_no_failure_blocks, 0, 2)
{
	char checks[256];
	struct muster_run *run =
		run_text_new("a/0 gpu.h2d_gbps gpu=g0 1\na/0 gpu.d2h_gbps gpu=g0 10\na/1 gpu.h2d_gbps gpu=g1 9\n"
			     "a/1 gpu.d2h_gbps gpu=g1 20\na/2 gpu.h2d_gbps gpu=g2 9\na/2 gpu.d2h_gbps gpu=g2 30\n"
			     "a/3 gpu.h2d_gbps gpu=g3 9\na/3 gpu.d2h_gbps gpu=g3 40");
	snprintf(checks, sizeof checks,
		"'first':{'metric':'gpu.h2d_gbps','min':2,'source':'s','severity':'%s'},"
		"'median':{'metric':'gpu.d2h_gbps','min_of_median':0.1,'source':'s','after':'first'}",
		_i ? "warn" : "fail");
	struct muster_report *report = fixture_report(run, checks, false);
	ck_assert_str_eq(report->tallies[1].expected, _i ? "at least 2.5 GB/s (10 % of the median of this run, 25 GB/s)"
							 : "at least 3 GB/s (10 % of the median of this run, 30 GB/s)");
	ck_assert_uint_eq(report->tallies[1].count[MUSTER_PASS], 4);
}

/* A finding lists each check once, however often it blocks it. */
TEST(a_cause_lists_each_check_that_it_blocks_once)
{
	struct muster_run *run = run_text_new("a node.cpus 1\na/0 gpu.numa_node gpu=g0 7\na/0 gpu.h2d_gbps gpu=g0 7\n"
					      "a/1 gpu.numa_node gpu=g1 7\na/1 gpu.h2d_gbps gpu=g1 7");
	struct muster_report *report = fixture_report(run,
		"'first':{'metric':'node.cpus','min':2,'source':'s'},"
		"'numa':{'metric':'gpu.numa_node','equals':1," AFTER(
			"") "},"
			    "'h2d':{'metric':'gpu.h2d_gbps','min':9,'source':'s','after':'numa'}",
		false);
	ck_assert_uint_eq(report->finding_count, 1);
	ck_assert_uint_eq(report->findings[0].blocked_count, 2);
	ck_assert_str_eq(report->findings[0].blocked[0], "numa");
	ck_assert_str_eq(report->findings[0].blocked[1], "h2d");
	ck_assert(!report->tallies[1].has_numbers && !report->tallies[2].has_numbers);
}

TEST_MAIN(.teardown = fixture_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_exchanges.c - slow exchanges become findings that name a GPU, a NIC, a node or a link */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run.h"

enum { NODES_MAX = 4, GPUS_MAX = 4 };

/* Exchanges of some nodes, and what each pair of ranks reaches. */
struct cluster {
	int nodes, gpus;
	bool rack;
	double edge, rail; /* GB/s of a healthy pair */
	const char *slow;  /* "0-1=3 4-8=2": ranks and their GB/s; "0-1=3/9": on the lower rank, on the other one;
			    * "shared": one NIC a node; "unread": NCCL's log names none */
};

static double rate_of(const struct cluster *c, int own, int other, double healthy)
{
	char pair[32];
	snprintf(pair, sizeof pair, "%d-%d=", own < other ? own : other, own < other ? other : own);
	const char *at = strstr(c->slow, pair);
	double low, high;
	while (at && at != c->slow && at[-1] != ' ')
		at = strstr(at + 1, pair);
	if (!at)
		return healthy;
	if (sscanf(at + strlen(pair), "%lf/%lf", &low, &high) == 2)
		return own < other ? low : high;
	return low;
}

static void add_exchange(struct muster_run *run, const struct cluster *c, int own, int other, const char *kind,
	const char *metric, double healthy)
{
	char labels[160], limit[320];
	int node = own / c->gpus, peer = other / c->gpus;
	bool network = node != peer && !c->rack;
	int nic = !network ? 0 : strstr(c->slow, "shared") ? 1 : own % c->gpus + 1;
	snprintf(labels, sizeof labels, "kind=%s peer_node=n%d peer_gpu=g%d nic=%s%.0d transport=%s", kind, peer,
		other % c->gpus, network ? "m0:" : "none", nic, network ? "NET/IB/GDRDMA" : "P2P/CUMEM");
	if (network && strstr(c->slow, "unread"))
		snprintf(labels, sizeof labels, "kind=%s peer_node=n%d peer_gpu=g%d nic=unknown transport=unknown",
			kind, peer, other % c->gpus);
	snprintf(limit, sizeof limit, "%s path=%s link=%s", labels, network ? "network" : "NVLink",
		network ? "NIC" : "NVLink");
	struct muster_samples *samples = &run->nodes[node].ranks[own % c->gpus].samples;
	fixture_sample(run, samples, metric, labels, muster_number(rate_of(c, own, other, healthy)));
	if (strcmp(metric, "pair.exchange_gbps") == 0)
		fixture_sample(run, samples, "pair.exchange_limit_gbps", limit, muster_number(network ? 50 : 450));
}

static void add_pair(struct muster_run *run, const struct cluster *c, int a, int b, const char *kind,
	const char *metric, double healthy)
{
	add_exchange(run, c, a, b, kind, metric, healthy);
	add_exchange(run, c, b, a, kind, metric, healthy);
}

static void make(struct muster_run *run, const struct cluster *c, const char *metric)
{
	static const char *const names[] = { "n0", "n1", "n2", "n3" };
	static const char *const gpus[] = { "g0", "g1", "g2", "g3" };
	fixture_run(run);
	for (int n = 0; n < c->nodes; n++) {
		struct muster_node *node = fixture_node(run, names[n], c->gpus);
		for (int i = 0; i < c->gpus; i++)
			node->ranks[i].gpu = gpus[i];
	}
	for (int n = 0; n < c->nodes; n++) {
		for (int i = 0; i < c->gpus && c->gpus > 1 && (c->gpus > 2 || i == 0); i++)
			add_pair(run, c, n * c->gpus + i, n * c->gpus + (i + 1) % c->gpus, "edge", metric, c->edge);
		for (int i = 0; i < c->gpus && c->nodes > 1 && (c->nodes > 2 || n == 0); i++)
			add_pair(run, c, n * c->gpus + i, (n + 1) % c->nodes * c->gpus + i, "rail", metric, c->rail);
	}
}

#define SHARES                                                                                                         \
	"'e':{'metric':'pair.exchange_gbps','where':{'kind':'edge'},'share_of':'pair.exchange_limit_gbps',"            \
	"'min':0.4,'warn_below':0.5,'source':'s'},"                                                                    \
	"'r':{'metric':'pair.exchange_gbps','where':{'kind':'rail'},'share_of':'pair.exchange_limit_gbps',"            \
	"'min':0.6,'warn_below':0.8,'source':'s'}"
#define MEDIANS                                                                                                        \
	",'m':{'metric':'pair.exchange_gbps','where':{'kind':'edge'},'share_of':'pair.exchange_limit_gbps','min_of_"   \
	"median':0.7,'source':'s'}"

#define OTHERWISE "; their other exchanges are as expected: "
#define WITH_ALL " with all other GPUs that this GPU was paired with" OTHERWISE

/* Status, check, node, rank, GPU and port of each finding, then the end of what is observed. */
static const struct {
	struct cluster cluster;
	const char *checks, *found;
} cases[] = {
	{ { 3, 4, false, 265, 46, "" }, SHARES MEDIANS, "" },
	{ { 1, 1, false, 265, 46, "" }, SHARES MEDIANS, "" },
	/* one GPU: its rails too; checks that say the same are one finding */
	{ { 3, 4, false, 265, 46, "0-1=100 0-3=90 0-4=20 0-8=20" }, SHARES MEDIANS,
		"fail e n0 0 g0 -: slow" WITH_ALL
		"90 GB/s, 20 % of NVLink (450 GB/s) between n0 GPU g0 and n0 GPU g3; 100 GB/s, 22 % of NVLink (450 "
		"GB/s) between n0 GPU g0 and n0 GPU g1; 20 GB/s, 40 % of NIC (50 GB/s) between n0 GPU g0 through "
		"m0:1 and n1 GPU g0 through m0:1; and 1 more\n" },
	/* either end's time counts */
	{ { 1, 4, false, 265, 46, "0-1=100/265 0-3=265/100" }, SHARES,
		"fail e n0 0 g0 -: slow" WITH_ALL
		"100 GB/s, 22 % of NVLink (450 GB/s) between n0 GPU g0 and n0 GPU g1; 100 GB/s, 22 % of NVLink (450 "
		"GB/s) between n0 GPU g0 and n0 GPU g3\n" },
	/* the median knows it where the share only warns */
	{ { 3, 4, false, 300, 46, "1-2=205 2-3=205" }, SHARES MEDIANS,
		"fail m n0 2 g2 -: slow" WITH_ALL
		"205 GB/s, 46 % of NVLink (450 GB/s) between n0 GPU g1 and n0 GPU g2; 205 GB/s, 46 % of NVLink (450 "
		"GB/s) between n0 GPU g2 and n0 GPU g3\n" },
	{ { 1, 4, false, 265, 46, "1-2=200 2-3=200" }, SHARES,
		"warn e n0 2 g2 -: slow" WITH_ALL
		"200 GB/s, 44 % of NVLink (450 GB/s) between n0 GPU g1 and n0 GPU g2; 200 GB/s, 44 % of NVLink (450 "
		"GB/s) between n0 GPU g2 and n0 GPU g3\n" },
	/* a NIC, a node, links */
	{ { 3, 4, false, 265, 46, "1-5=20 5-9=20" }, SHARES,
		"fail r n1 -1 - m0/2: slow through this network adapter to all other nodes" OTHERWISE
		"20 GB/s, 40 % of NIC (50 GB/s) between n0 GPU g1 through m0:2 and n1 GPU g1 through m0:2; 20 GB/s, "
		"40 % of NIC (50 GB/s) between n1 GPU g1 through m0:2 and n2 GPU g1 through m0:2\n" },
	{ { 3, 2, false, 265, 46, "0-2=20 1-3=20 2-4=20 3-5=20" }, SHARES,
		"fail r n1 -1 - -: slow in most exchanges of this node; exchanges without this node are as expected: "
		"20 GB/s, 40 % of NIC (50 GB/s) between n0 GPU g0 through m0:1 and n1 GPU g0 through m0:1; 20 GB/s, "
		"40 % of NIC (50 GB/s) between n0 GPU g1 through m0:2 and n1 GPU g1 through m0:2; 20 GB/s, 40 % of "
		"NIC (50 GB/s) between n1 GPU g0 through m0:1 and n2 GPU g0 through m0:1; and 1 more\n" },
	{ { 1, 2, false, 265, 46, "0-1=100" }, SHARES MEDIANS,
		"fail e n0 -1 - -: slow between these two GPUs; it cannot be decided which of them is the cause, or "
		"the link between them: 100 GB/s, 22 % of NVLink (450 GB/s) between n0 GPU g0 and n0 GPU g1\n" },
	{ { 2, 1, false, 265, 46, "0-1=20" }, SHARES,
		"fail r - -1 - -: slow between these two network adapters; it cannot be decided which of them is the "
		"cause, or the network between them: 20 GB/s, 40 % of NIC (50 GB/s) between n0 GPU g0 through m0:1 "
		"and n1 GPU g0 through m0:1\n" },
	{ { 3, 2, false, 265, 46, "0-2=20 0-4=20 unread" }, SHARES,
		"fail r n0 -1 - -: slow through this network adapter to all other nodes" OTHERWISE
		"20 GB/s, 40 % of NIC (50 GB/s) between n0 GPU g0 and n1 GPU g0; 20 GB/s, 40 % of NIC (50 GB/s) "
		"between n0 GPU g0 and n2 GPU g0\n" },
	{ { 3, 2, false, 265, 46, "0-2=20 0-4=20 shared" }, SHARES,
		"fail r n0 0 g0 -: slow with all GPUs of other nodes that this GPU was paired with" OTHERWISE
		"20 GB/s, 40 % of NIC (50 GB/s) between n0 GPU g0 through m0:1 and n1 GPU g0 through m0:1; 20 GB/s, "
		"40 % of NIC (50 GB/s) between n0 GPU g0 through m0:1 and n2 GPU g0 through m0:1\n" },
	/* a rack's rails go over NVLink */
	{ { 3, 2, true, 700, 700, "2-3=99 0-2=99 2-4=99" }, SHARES,
		"fail r n1 2 g0 -: slow" WITH_ALL
		"99 GB/s, 22 % of NVLink (450 GB/s) between n0 GPU g0 and n1 GPU g0; 99 GB/s, 22 % of NVLink (450 "
		"GB/s) between n1 GPU g0 and n1 GPU g1; 99 GB/s, 22 % of NVLink (450 GB/s) between n1 GPU g0 and n2 "
		"GPU g0\n" },
	{ { 3, 2, false, 100, 46, "" }, SHARES,
		"fail e - -1 - -: slow in most exchanges of the run: all parts share the cause, or several are bad: "
		"100 GB/s, 22 % of NVLink (450 GB/s) between n0 GPU g0 and n0 GPU g1; 100 GB/s, 22 % of NVLink (450 "
		"GB/s) between n1 GPU g0 and n1 GPU g1; 100 GB/s, 22 % of NVLink (450 GB/s) between n2 GPU g0 and n2 "
		"GPU g1\n" },
};

TEST_EACH(slow_exchanges_name_a_part, cases)
{
	struct muster_run run;
	struct muster_report report;
	char text[4096] = "";
	size_t used = 0;
	make(&run, &cases[_i].cluster, "pair.exchange_gbps");
	fixture_judge(&run, cases[_i].checks, false, &report);
	for (size_t i = 0; i < report.finding_count; i++) {
		const struct muster_finding *f = &report.findings[i];
		if (f->status == MUSTER_SKIP)
			continue;
		used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s %d %s %s: %s\n",
			muster_status_name(f->status), f->check, f->node ? f->node : "-", f->rank,
			f->gpu ? f->gpu : "-", f->port ? f->port : "-", f->observed);
		ck_assert_ptr_nonnull(f->advice);
	}
	ck_assert_str_eq(text, cases[_i].found);
	muster_report_done(&report);
	muster_run_done(&run);
}

#define NINE_AND_SEVEN                                                                                                 \
	"9 wrong values that n0 GPU g3 received from n0 GPU g2; 7 wrong values that n0 GPU g1 received from n0 GPU g2"

TEST(wrong_values_name_a_part_at_once)
{
	static const struct cluster cluster = { 1, 4, false, 0, 0, "1-2=7/0 2-3=0/9" };
	struct muster_run run;
	struct muster_report report;
	make(&run, &cluster, "pair.exchange_wrong");
	fixture_judge(&run, "'w':{'metric':'pair.exchange_wrong','equals':0,'source':'s'}", false, &report);
	ck_assert_str_eq(
		fixture_findings(&report), "fail w n0 rank=2 gpu=g2: 0 | wrong values" WITH_ALL NINE_AND_SEVEN "\n");
	muster_report_done(&report);
	muster_run_done(&run);
}

/* One GPU with wrong values in exchanges and collectives is one finding. */
TEST(wrong_values_of_collectives_belong_to_the_same_part)
{
	static const struct cluster cluster = { 1, 4, false, 0, 0, "1-2=7/0 2-3=0/9" };
	static const char checks[] =
		"'w':{'metric':'pair.exchange_wrong','equals':0,'source':'s'},"
		"'g':{'metric':'rank.allgather_wrong','equals':0,'after':'w','anywhere':true,'source':'s'},"
		"'a':{'metric':'rank.alltoall_wrong','equals':0,'after':'g','anywhere':true,'source':'s'}";
	struct muster_run run;
	struct muster_report report;
	for (int with_pairs = 0; with_pairs < 2; with_pairs++) {
		make(&run, &cluster, with_pairs ? "pair.exchange_wrong" : "pair.exchange_us");
		for (size_t r = 0; r < 4; r++) {
			struct muster_samples *samples = &run.nodes[0].ranks[r].samples;
			double wrong = r == 2 ? 24 : r == 3 ? 8 : 0;
			fixture_sample(&run, samples, "rank.allgather_wrong", "bytes=8", muster_number(wrong));
			fixture_sample(&run, samples, "rank.allgather_wrong", "bytes=16", muster_number(2 * wrong));
			fixture_sample(&run, samples, "rank.alltoall_wrong", "bytes=8", muster_number(r == 2 ? 5 : 0));
		}
		fixture_judge(&run, checks, false, &report);
		if (with_pairs)
			ck_assert_str_eq(fixture_findings(&report),
				"fail w n0 rank=2 gpu=g2: 0 | wrong values" WITH_ALL NINE_AND_SEVEN
				"; also wrong: g 24 on rank 2, g 8 on rank 3, a 5 on rank 2\n");
		else
			ck_assert_ptr_nonnull(strstr(fixture_findings(&report),
				"fail g n0 rank=2: 0 | 24 with bytes 8; 48 with bytes 16; also wrong: a 5 on rank 2\n"
				"fail g n0 rank=3: 0 | 8 with bytes 8; 16 with bytes 16\n"));
		ck_assert_uint_eq(muster_report_tally(&report, "a")->count[MUSTER_BLOCKED], 1);
		ck_assert_uint_eq(muster_report_tally(&report, "a")->count[MUSTER_PASS], 3);
		muster_report_done(&report);
		muster_run_done(&run);
	}
}

/* Where no limit is known, nothing applies: one finding, however many exchanges there are and whatever they reach. */
TEST(exchanges_without_a_limit_are_one_finding)
{
	static const struct cluster cluster = { 3, 1, false, 0, 3, "0-1=2 1-2=2.5" };
	const struct muster_metric *limit = muster_metric_find("pair.exchange_limit_gbps");
	struct muster_run run;
	struct muster_report report;
	make(&run, &cluster, "pair.exchange_gbps");
	for (size_t n = 0; n < run.node_count; n++)
		for (size_t i = 0; i < run.nodes[n].ranks[0].samples.count; i++) {
			struct muster_sample *sample = &run.nodes[n].ranks[0].samples.items[i];
			if (sample->metric == limit) {
				sample->value = muster_null();
				sample->reason = "the rate of eth0 is not known";
			}
		}
	fixture_judge(&run,
		"'r':{'metric':'pair.exchange_gbps','share_of':'pair.exchange_limit_gbps','min':0.6,'optional':true,"
		"'source':'s'}",
		false, &report);
	ck_assert_str_eq(fixture_findings(&report),
		"skip r: at least 60 % of pair.exchange_limit_gbps | pair.exchange_limit_gbps has no value (the rate "
		"of eth0 is not known) (6 ranks)\n");
	muster_report_done(&report);
	muster_run_done(&run);
}

/* What comes after a check is blocked at the part, and at both ends of a link; nowhere else. */
TEST(what_comes_after_is_blocked_at_the_part)
{
	static const struct cluster clusters[] = { { 1, 4, false, 265, 46, "1-2=99 2-3=99" },
		{ 1, 4, false, 265, 46, "1-2=99" } };
	for (int i = 0; i < 2; i++) {
		struct muster_run run;
		struct muster_report report;
		make(&run, &clusters[i], "pair.exchange_gbps");
		for (size_t r = 0; r < 4; r++)
			fixture_sample(&run, &run.nodes[0].ranks[r].samples, "rank.compute_ms", NULL, muster_number(9));
		fixture_judge(
			&run, /* c comes after e in whatever order; a part is known after the last check of exchanges */
			"'c':{'metric':'rank.compute_ms','max':5,'after':'e','source':'s'}," SHARES, false, &report);
		ck_assert_uint_eq(muster_report_tally(&report, "c")->count[MUSTER_BLOCKED], i ? 2 : 1);
		ck_assert_uint_eq(muster_report_tally(&report, "e")->count[MUSTER_FAIL], 1);
		for (size_t k = 0; k < report.finding_count; k++)
			if (strcmp(report.findings[k].check, "e") == 0 && report.findings[k].status == MUSTER_FAIL)
				ck_assert_str_eq(report.findings[k].blocked[0], "c");
		muster_report_done(&report);
		muster_run_done(&run);
	}
}

/* A check of exchanges may itself come after one that waits for another check of exchanges, wherever they stand. */
TEST_LOOP(a_check_of_exchanges_waits_for_a_check_that_waits_for_another_one, 0, 2)
{
	static const struct cluster cluster = { 1, 4, false, 265, 46, "" };
	static const char e[] = "'e':{'metric':'pair.exchange_gbps','min':1,'source':'s'}",
			  x[] = "'x':{'metric':'rank.compute_ms','max':5,'after':'e','source':'s'}",
			  y[] = "'y':{'metric':'pair.exchange_gbps','min':300,'after':'x','source':'s'}";
	struct muster_run run;
	struct muster_report report;
	make(&run, &cluster, "pair.exchange_gbps");
	for (size_t r = 0; r < 4; r++)
		fixture_sample(&run, &run.nodes[0].ranks[r].samples, "rank.compute_ms", NULL, muster_number(9));
	fixture_judge(&run,
		_i == 0 ? muster_arena_printf(run.arena, "%s,%s,%s", e, y, x)
			: muster_arena_printf(run.arena, "%s,%s,%s", x, e, y),
		false, &report);
	ck_assert_uint_gt(muster_report_tally(&report, "x")->count[MUSTER_FAIL], 0);
	ck_assert_uint_eq(muster_report_tally(&report, "y")->count[MUSTER_FAIL], 0);
	ck_assert_uint_gt(muster_report_tally(&report, "y")->count[MUSTER_BLOCKED], 0);
	muster_report_done(&report);
	muster_run_done(&run);
}

/* A slow all-reduce of the whole job: where its cause stands, or how to find it. */
TEST(a_slow_job_says_where_to_look)
{
	static const struct {
		const char *profile, *slow, *advice;
		double busbw;
	} jobs[] = {
		{ "standard", "0-1=99 0-3=99", "see e on n0, GPU g0 first: this part makes the whole job slow", 60 },
		{ "standard", "0-1=130 0-3=130",
			"see e on n0, GPU g0 too, but 130 GB/s there do not explain 49 GB/s here: something else is "
			"slow, run muster with --localise always",
			49 },
		{ "standard", "",
			"all exchanges between pairs of ranks are as fast as expected, so no single part is slow: "
			"compare the settings of NCCL",
			60 },
		{ "standard", "1-2=230",
			"no exchange of two ranks is below its threshold, but one is slower than the others and no "
			"faster than the whole job, 230 GB/s between GPU g1 and GPU g2: check the links of these two "
			"first",
			225 },
		{ "standard", "1-2=250",
			"all exchanges between pairs of ranks are as fast as expected, so no single part is slow: "
			"compare the settings of NCCL",
			225 },
		{ "standard", "only values", NULL, 60 }, /* no speed is known */
		{ "quick", NULL, "to find the slow part, run muster with --profile standard", 60 },
		{ "standard", NULL, NULL, 60 },
	};
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		bool only_values = jobs[i].slow && strcmp(jobs[i].slow, "only values") == 0;
		struct cluster cluster = { 1, 4, false, only_values ? 0 : 265, 46, jobs[i].slow ? jobs[i].slow : "" };
		struct muster_run run;
		struct muster_report report;
		const struct muster_finding *finding = NULL;
		if (jobs[i].slow) { /* a part with wrong values does not make the job slow */
			make(&run, &cluster, only_values ? "pair.exchange_wrong" : "pair.exchange_gbps");
			fixture_sample(&run, &run.nodes[0].ranks[2].samples, "pair.exchange_wrong",
				"kind=edge peer_node=n0 peer_gpu=g3 nic=none transport=P2P/CUMEM", muster_number(9));
		} else {
			fixture_run(&run);
			fixture_node(&run, "n0", 4);
		}
		run.job.profile = jobs[i].profile;
		fixture_sample(&run, &run.job.samples, "nccl.allreduce_busbw_gbps", "bytes=64 nodes=1 ranks=4",
			muster_number(jobs[i].busbw));
		fixture_judge(&run,
			"'w':{'metric':'pair.exchange_wrong','equals':0,'optional':true,'source':'s'}," SHARES
			",'ring':{'metric':'nccl.allreduce_busbw_gbps','min':240,'source':'s'}",
			false, &report);
		for (size_t k = 0; k < report.finding_count; k++)
			if (strcmp(report.findings[k].check, "ring") == 0)
				finding = &report.findings[k];
		ck_assert_ptr_nonnull(finding);
		if (jobs[i].advice)
			ck_assert_str_eq(finding->advice, jobs[i].advice);
		else
			ck_assert_ptr_null(finding->advice);
		muster_report_done(&report);
		muster_run_done(&run);
	}
}

/* A peer that the run does not have leaves the sample's own rank. */
TEST(an_exchange_with_an_unknown_rank_is_its_own_finding)
{
	struct muster_run run;
	struct muster_report report;
	fixture_run(&run);
	struct muster_node *node = fixture_node(&run, "n0", 1);
	fixture_sample(&run, &node->ranks[0].samples, "pair.exchange_gbps",
		"kind=edge peer_node=n9 peer_gpu=g1 nic=none transport=unknown", muster_number(3));
	fixture_judge(&run, "'e':{'metric':'pair.exchange_gbps','min':5,'source':'s'}", false, &report);
	ck_assert_str_eq(fixture_findings(&report), "fail e n0 rank=0: at least 5 GB/s | 3\n");
	muster_report_done(&report);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

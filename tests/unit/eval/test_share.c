/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c - checks that divide a speed by its limit, and the shares that reports show */
#include "check_main.h"
#include "run_text.h"

#define H2D(value) "a/0 gpu.h2d_gbps gpu=g " value "\n"
#define PCIE(value) "a/0 gpu.pcie_limit_gbps gpu=g link=PCIe_5.0_x16 " value "\n"
#define C2C(value) "a/0 gpu.c2c_limit_gbps gpu=g link=C2C " value "\n"
#define RING(bytes, value) "job nccl.allreduce_busbw_gbps bytes=" bytes " nodes=1 ranks=2 " value "\n"
#define LIMIT(nodes, ranks, path, value)                                                                               \
	"job nccl.allreduce_limit_gbps nodes=" nodes " ranks=" ranks " path=" path " link=" path " " value "\n"
#define OVER(rank, value, link)                                                                                        \
	"a/" rank " gpu.h2d_gbps gpu=g " value "\na/" rank " gpu.pcie_limit_gbps gpu=g link=" link " 200\n"
#define SHARE "'metric':'gpu.h2d_gbps','share_of':'gpu.pcie_limit_gbps',"
#define BUSBW "'metric':'nccl.allreduce_busbw_gbps','share_of':'nccl.allreduce_limit_gbps',"
#define PER "'min':0.6,'limit_per':{'metric':'gpu.nvlinks','max':10}"
#define COUNTED(links) H2D("30") PCIE("60") "a/0 gpu.nvlinks " links "\n"
#define OF_60 "at least 60 % of gpu.pcie_limit_gbps"
#define EXPECTED "at least 60 % of gpu.pcie_limit_gbps (warning below 70 %)"
#define OF_RING "at least 50 % of nccl.allreduce_limit_gbps"

static const struct {
	const char *run, *check, *found;
} table[] = {
	{ H2D("54") PCIE("60"), SHARE "'min':0.6,'warn_below':0.7", "" },
	{ H2D("42") PCIE("60"), SHARE "'min':0.6,'warn_below':0.7", "" }, /* the limits themselves pass */
	{ H2D("41.9") PCIE("60"), SHARE "'min':0.6,'warn_below':0.7", "warn c a rank=0 gpu=g: " EXPECTED " | 41.9\n" },
	{ H2D("35.9") PCIE("60"), SHARE "'min':0.6,'warn_below':0.7", "fail c a rank=0 gpu=g: " EXPECTED " | 35.9\n" },
	{ H2D("35.9") PCIE("60"), SHARE "'min':0.6,'severity':'warn'",
		"warn c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | 35.9\n" },
	{ H2D("200") PCIE("60"), SHARE "'min':0.6", "" }, /* more than the limit is no error */
	{ H2D("70") PCIE("60"), SHARE "'max':1,'warn_above':0.9",
		"fail c a rank=0 gpu=g: at most 100 % of gpu.pcie_limit_gbps (warning above 90 %) | 70\n" },
	/* no limit, no share: never a pass */
	{ H2D("54") PCIE("-"), SHARE "'min':0.6",
		"inconclusive c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | gpu.pcie_limit_gbps has no "
		"value (not "
		"supported here), observed 54\n" },
	{ H2D("54") PCIE("-"), SHARE "'min':0.6,'optional':true",
		"skip c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | gpu.pcie_limit_gbps has no value (not "
		"supported here), observed 54\n" },
	{ H2D("54"), SHARE "'min':0.6",
		"inconclusive c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | gpu.pcie_limit_gbps was not "
		"measured, observed 54\n" },
	{ H2D("54") PCIE("0"), SHARE "'min':0.6",
		"inconclusive c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | gpu.pcie_limit_gbps is 0 (no "
		"limit), "
		"observed 54\n" },
	{ H2D("-") PCIE("60"), SHARE "'min':0.6",
		"inconclusive c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | no value: not supported "
		"here\n" },
	/* the limit of another GPU, or of another ring, is not this one's */
	{ H2D("54") "a/0 gpu.pcie_limit_gbps gpu=other link=x 900\n", SHARE "'min':0.6,'optional':true",
		"skip c a rank=0 gpu=g: at least 60 % of gpu.pcie_limit_gbps | gpu.pcie_limit_gbps was not measured, "
		"observed 54\n" },
	{ H2D("54") PCIE("60") "b/1 gpu.h2d_gbps gpu=g 20\nb/1 gpu.pcie_limit_gbps gpu=g link=x 30\n"
			       "b/2 gpu.h2d_gbps gpu=h 20\nb/2 gpu.pcie_limit_gbps gpu=h link=x 60\n",
		SHARE "'min':0.6", "fail c b rank=2 gpu=h: at least 60 % of gpu.pcie_limit_gbps | 20\n" },
	{ RING("64", "150") RING("512", "100") LIMIT("2", "4", "network", "25") LIMIT("1", "2", "NVLink", "300"),
		BUSBW "'min':0.5,'where':{'bytes':512}", "fail c: " OF_RING " | 100\n" },
	/* only where the limit is of this kind */
	{ RING("64", "100") LIMIT("1", "2", "NVLink", "300"), BUSBW "'min':0.5,'limit_where':{'path':'NVLink'}",
		"fail c: " OF_RING " | 100\n" },
	{ RING("64", "100") LIMIT("1", "2", "PCIe", "300"), BUSBW "'min':0.5,'limit_where':{'path':'NVLink'}",
		"skip c: " OF_RING " | nccl.allreduce_limit_gbps has path PCIe and not NVLink, observed 100\n" },
	/* with fewer parts than the limit needs, or an unknown number, nothing is said; a run that counts none is
	   judged */
	{ COUNTED("gpu=g 6"), SHARE PER, "fail c a rank=0 gpu=g: " OF_60 " | 30\n" },
	{ COUNTED("gpu=g 5"), SHARE PER,
		"skip c a rank=0 gpu=g: " OF_60 " | gpu.nvlinks is 5: too few to reach gpu.pcie_limit_gbps\n" },
	{ COUNTED("gpu=g -"), SHARE PER,
		"skip c a rank=0 gpu=g: " OF_60 " | gpu.nvlinks has no value: not supported here\n" },
	{ COUNTED("gpu=h 5"), SHARE PER, "fail c a rank=0 gpu=g: " OF_60 " | 30\n" },
	/* the median of the values with such a limit: the other ones are not compared with these */
	{ OVER("0", "90", "NVLink") OVER("1", "100", "NVLink") OVER("2", "20", "PCIe") OVER("3", "20", "PCIe")
			OVER("4", "100", "NVLink") OVER("5", "60", "NVLink"),
		SHARE "'limit_where':{'link':'NVLink'},'min_of_median':0.7",
		"warn c a rank=5 gpu=g: at least 33.25 % of gpu.pcie_limit_gbps (70 % of the median of this run, 47.5 "
		"%); only a warning among 4 GPUs: 6 are needed to fail one | 60\n" },
	/* the median is one of shares: half the rate of half the limit is no less */
	{ H2D("54") PCIE("60") "b/1 gpu.h2d_gbps gpu=h 54\nb/1 gpu.pcie_limit_gbps gpu=h link=x 60\n"
			       "b/2 gpu.h2d_gbps gpu=i 27\nb/2 gpu.pcie_limit_gbps gpu=i link=y 30\n",
		SHARE "'min_of_median':0.8", "" },
	/* beside an absolute threshold */
	{ H2D("54") PCIE("60") "b/1 gpu.h2d_gbps gpu=g 54\nb/1 gpu.pcie_limit_gbps gpu=g link=x 60\n"
			       "b/2 gpu.h2d_gbps gpu=h 40\nb/2 gpu.pcie_limit_gbps gpu=h link=x 60\n",
		SHARE "'min':0.6,'min_of_median':0.8",
		"warn c b rank=2 gpu=h: at least 60 % of gpu.pcie_limit_gbps, at least 72 % of gpu.pcie_limit_gbps (80 "
		"% of the median of this run, 90 %); only a warning among 3 GPUs: 6 are needed to fail one | 40\n" },
};

static struct muster_report *judge(const char *lines, const char *check)
{
	char text[1024];
	struct muster_run *run = run_text_new(lines);
	run_text_rank(run, "a/0");
	snprintf(text, sizeof text, "'c':{%s,'source':'s'}", check);
	return fixture_report(run, text, false);
}

TEST_EACH(a_speed_is_divided_by_its_limit_at_the_same_place, table)
{
	struct muster_report *report = judge(table[_i].run, table[_i].check);
	ck_assert_str_eq(fixture_findings(report), table[_i].found);
}

/* What every speed is shown with, whatever the check asks. */
static const struct {
	const char *run, *check;
	double lowest, highest, limit; /* limit 0: no share */
	const char *of;
} shown[] = {
	{ H2D("54") PCIE("60"), "'metric':'gpu.h2d_gbps','min':50", 0.9, 0.9, 60, "PCIe_5.0_x16" },
	{ H2D("180") PCIE("60") C2C("200"), "'metric':'gpu.h2d_gbps','observe':true", 0.9, 0.9, 200, "C2C" },
	{ H2D("54") PCIE("60") C2C("-"), "'metric':'gpu.h2d_gbps','min':50", 0.9, 0.9, 60, "PCIe_5.0_x16" },
	{ H2D("180") PCIE("60") C2C("200"), SHARE "'min':0.5", 3, 3, 60, "PCIe_5.0_x16" },
	{ H2D("54") PCIE("-"), "'metric':'gpu.h2d_gbps','min':50", 0, 0, 0, NULL },
	{ H2D("54") PCIE("60") "b/1 gpu.h2d_gbps gpu=g 15\nb/1 gpu.pcie_limit_gbps gpu=g link=PCIe_5.0_x8 30\n",
		"'metric':'gpu.h2d_gbps','min':10", 0.5, 0.9, 30, "the limit of each" },
	{ PCIE("60"), "'metric':'gpu.pcie_limit_gbps','min':50", 0, 0, 0, NULL },
};

TEST_EACH(a_check_of_a_speed_has_its_share, shown)
{
	struct muster_report *report = judge(shown[_i].run, shown[_i].check);
	const struct muster_share *share = &report->tallies[0].share;
	ck_assert_int_eq(share->known, shown[_i].limit > 0);
	if (share->known) {
		ck_assert_double_eq_tol(share->lowest, shown[_i].lowest, 1e-9);
		ck_assert_double_eq_tol(share->highest, shown[_i].highest, 1e-9);
		ck_assert_double_eq(share->limit, shown[_i].limit);
		ck_assert_str_eq(share->of, shown[_i].of);
	}
}

TEST(a_finding_has_the_share_of_its_value_and_one_of_several_values_has_none)
{
	struct muster_report *report =
		judge(H2D("30") PCIE("60") "b/1 gpu.h2d_gbps gpu=g 54\nb/1 gpu.pcie_limit_gbps gpu=g link=x 60\n",
			SHARE "'min':0.6");
	ck_assert_uint_eq(report->finding_count, 1);
	ck_assert(report->findings[0].share.known);
	ck_assert_double_eq_tol(report->findings[0].share.lowest, 0.5, 1e-9);

	report = judge(RING("64", "100") RING("512", "110") LIMIT("1", "2", "NVLink", "300"), BUSBW "'min':0.5");
	ck_assert_uint_eq(report->finding_count, 1);
	ck_assert(strstr(report->findings[0].observed, "; 110 with") != NULL);
	ck_assert(!report->findings[0].share.known);
}

TEST_MAIN(.teardown = fixture_done)

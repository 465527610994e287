/* SPDX-License-Identifier: Apache-2.0 */
/* test_slowest.c - the slowest ranks by each figure, and how the summary says it */
#include "check_main.h"
#include "run_text.h"

#include "report/slowest.h"
#include "report/text_summary.h"
#include "unit/report/printed.h"

#define MS(rank, value) "a/" rank " rank.compute_ms " value "\n"
#define EX(rank, kind, value)                                                                                          \
	"a/" rank " pair.exchange_gbps kind=" kind " peer_node=b peer_gpu=g nic=none transport=unknown " value "\n"

static const struct {
	const char *run, *text;
} cases[] = {
	{ "a/0 rank.mpi_size 1\n", "" },
	{ MS("0", "10"), "" }, /* nothing to compare with */
	{ MS("0", "10") MS("1", "10.1") MS("2", "-"), "\nranks: products of 2 ranks are within 2 % of each other\n" },
	{ MS("0", "10") MS("1", "16") MS("2", "11") MS("3", "12") MS("4", "13") MS("5", "14") MS("6", "15"),
		"\nslowest ranks\n  products of a step, alone, ms: 16 rank 1 (a), 15 rank 6 (a), 14 rank 5 (a), 13 "
		"rank 4 "
		"(a), 12 rank 3 (a), fastest 10\n" },
	/* one that is as fast as the fastest one is not slow */
	{ MS("0", "10") MS("1", "10.3") MS("2", "10.1"),
		"\nslowest ranks\n  products of a step, alone, ms: 10.3 rank 1 (a), fastest 10\n" },
	/* of several exchanges the slowest one; a lower rate is slower; kinds by themselves */
	{ EX("0", "edge", "200") EX("0", "edge", "90") EX("1", "edge", "100") EX("0", "rail", "40")
			EX("1", "rail", "40.1") MS("0", "5") MS("1", "5"),
		"\nslowest ranks\n  exchange within the node, GB/s: 90 rank 0 (a), fastest 100\n" },
};

static void report_of(const char *lines)
{
	run_text(&run, lines);
	report = (struct muster_report){ .run = &run };
}

static void print_slowest(const struct muster_report *what, FILE *out)
{
	const struct muster_text_page page = { .report = what, .out = out };
	muster_text_slowest(&page);
}

static void print_json(const struct muster_report *what, FILE *out)
{
	ck_assert_int_eq(muster_report_print_json(what, out, NULL), 0);
}

TEST_EACH(the_slowest_ranks_are_named_where_ranks_differ, cases)
{
	report_of(cases[_i].run);
	ck_assert_str_eq(print_with(print_slowest), cases[_i].text);
}

/* Beside the summary, for other programs; nothing where no two ranks have a value. */
TEST_LOOP(the_json_report_has_the_slowest_ranks, 0, 2)
{
	static const char runs[2][256] = {
		"a/0 = g u\n" EX("0", "rail", "20") EX("1", "rail", "10") MS("1", "8") MS("0", "8"),
		MS("0", "8") "a/1 rank.mpi_size 2\n",
	};
	static const char expected[] = "\"slowest\": {\n"
				       "    \"pair.exchange_gbps.rail\": [\n"
				       "      {\"rank\": 1, \"node\": \"a\", \"value\": 10},\n"
				       "      {\"rank\": 0, \"node\": \"a\", \"gpu\": \"g\", \"value\": 20}\n    ],\n"
				       "    \"rank.compute_ms\": [\n"
				       "      {\"rank\": 0, \"node\": \"a\", \"gpu\": \"g\", \"value\": 8},\n"
				       "      {\"rank\": 1, \"node\": \"a\", \"value\": 8}\n    ]\n  },\n";
	report_of(runs[_i]);
	print_with(print_json);
	if (_i == 0)
		has(expected);
	has_count("\"slowest\"", _i == 0);
}

TEST(markdown_has_a_row_for_each_figure_in_which_ranks_differ)
{
	report_of(MS("0", "10") MS("1", "16") "a/0 rank.step_p50_ms 5\na/1 rank.step_p50_ms 5\n");
	print_with(muster_report_print_markdown);
	const char *table = strstr(text, "\n| slowest");
	ck_assert_msg(table, "%s", text);
	ck_assert_str_eq(table, "\n| slowest ranks by | unit | slowest first |\n|---|---|---|\n"
				"| products of a step, alone | ms | 16 rank 1 \\(a\\), fastest 10 |\n");
}

TEST_MAIN(.teardown = printed_done)

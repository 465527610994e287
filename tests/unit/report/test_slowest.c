/* test_slowest.c - the slowest ranks by each figure, and how the summary says it */
#include "check_main.h"
#include "run_text.h"

#include "report/slowest.h"
#include "report/text_summary.h"

#define MS(rank, value) "a/" rank " rank.compute_ms " value "\n"
#define EX(rank, kind, value)                                                                                          \
	"a/" rank " pair.exchange_gbps kind=" kind " peer_node=b peer_gpu=g nic=none transport=unknown " value "\n"

static const struct {
	const char *run, *text;
} cases[] = {
	{ "a/0 rank.mpi_size 1\n", "" },
	{ MS("0", "10"), "" }, /* nothing to compare with */
	{ MS("0", "10") MS("1", "10.1") MS("2", "-"),
		"\nranks: exchanges, products and steps of 2 ranks are within 2 % of each other\n" },
	{ MS("0", "10") MS("1", "16") MS("2", "11") MS("3", "12") MS("4", "13") MS("5", "14") MS("6", "15"),
		"\nslowest ranks\n  products of a step, alone, ms: 16 rank 1 (a), 15 rank 6 (a), 14 rank 5 (a), 13 "
		"rank 4 "
		"(a), 12 rank 3 (a)\n" },
	/* of several exchanges the slowest one; a lower rate is slower; kinds by themselves */
	{ EX("0", "edge", "200") EX("0", "edge", "90") EX("1", "edge", "100") EX("0", "rail", "40")
			EX("1", "rail", "40.1") MS("0", "5") MS("1", "5"),
		"\nslowest ranks\n  exchange within the node, GB/s: 90 rank 0 (a), 100 rank 1 (a)\n" },
};

START_TEST(the_slowest_ranks_are_named_where_ranks_differ)
{
	struct muster_run run;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	run_text(&run, cases[_i].run);
	const struct muster_report report = { .run = &run };
	const struct muster_text_page page = { .report = &report, .out = out };
	muster_text_slowest(&page);
	fclose(out);
	ck_assert_str_eq(text, cases[_i].text);
	free(text);
	muster_run_done(&run);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("slowest");
	tcase_add_loop_test(tc, the_slowest_ranks_are_named_where_ranks_differ, 0, LENGTH(cases));
	return check_main(tc);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_run.c - nodes and ranks of a run in their order
 */
#include "check_main.h"

#include "muster/run.h"

#include <stdio.h>

static const char *names(const struct muster_run *run)
{
	static char text[64];
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < run->node_count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s ", run->nodes[i].name);
	return text;
}

TEST(ranks_of_a_node_stand_in_ascending_order)
{
	static const int added[] = { 5, 1, 7, 0, 6 }, sorted[] = { 0, 1, 5, 6, 7 };
	struct muster_run run;
	muster_run_init(&run);
	struct muster_node *node = muster_run_add_node(&run, "n");
	for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
		struct muster_rank *rank = muster_node_add_rank(node, added[i]);
		ck_assert_int_eq(rank->rank, added[i]);
		ck_assert_int_eq(rank->local_rank, -1);
	}
	ck_assert_uint_eq(node->rank_count, sizeof sorted / sizeof *sorted);
	for (size_t i = 0; i < node->rank_count; i++)
		ck_assert_int_eq(node->ranks[i].rank, sorted[i]);
	muster_run_done(&run);
}

TEST(nodes_stand_by_their_lowest_rank_and_without_ranks_by_name)
{
	struct muster_run run;
	muster_run_init(&run);
	muster_node_add_rank(muster_run_add_node(&run, "a"), 4);
	muster_run_add_node(&run, "y");
	muster_run_add_node(&run, "?");
	muster_run_add_node(&run, "x");
	muster_run_add_node(&run, "w");
	muster_run_add_node(&run, "z");
	muster_node_add_rank(muster_run_add_node(&run, "b"), 0);
	muster_node_add_rank(&run.nodes[run.node_count - 1], 9);
	muster_run_sort(&run);
	ck_assert_str_eq(names(&run), "w x y z b a ");
	ck_assert_uint_eq(muster_run_known_nodes(&run), 6);
	muster_run_done(&run);
}

TEST(a_node_without_a_name_stays_while_it_has_ranks)
{
	struct muster_run run;
	muster_run_init(&run);
	muster_node_add_rank(muster_run_add_node(&run, "?"), 1);
	muster_node_add_rank(muster_run_add_node(&run, "a"), 0);
	muster_run_sort(&run);
	ck_assert_str_eq(names(&run), "a ? ");
	ck_assert_uint_eq(muster_run_known_nodes(&run), 1);
	muster_run_done(&run);
}

TEST(an_outcome_beyond_the_list_is_unknown)
{
	ck_assert_str_eq(muster_outcome_name(MUSTER_OUTCOME_NOT_RUN), "not_run");
	ck_assert_str_eq(muster_outcome_name(MUSTER_OUTCOME_COUNT), "unknown");
	ck_assert_str_eq(muster_scope_name(MUSTER_SCOPE_PORT), "port");
	ck_assert_str_eq(muster_scope_name(MUSTER_SCOPE_COUNT), "unknown");
}

TEST_MAIN(.setup = NULL)

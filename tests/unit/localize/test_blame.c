/* SPDX-License-Identifier: Apache-2.0 */
/* test_blame.c - who is to blame for trials that failed, and which trials that ran out of time count */
#include "muster/arena.h"
#include "unit/localize/attempts.h"

#include "check_main.h"

enum { ROOM = 64 };

/* Trials of so many nodes, as attempts.h has them, and whom they blame. */
static const struct {
	size_t nodes;
	const char *trials, *blame;
	size_t counted, not_tried;
} cases[] = {
	{ 0, "", "", 0, 0 },
	{ 3, "0 ok; 1 ok; 2 failed", "node 2 alone", 3, 0 },
	/* nodes that are not there count for nothing */
	{ 2, "0 ok; 1 ok; 2 failed; 0-2 failed; 2-0 failed", "", 2, 0 },
	/* the last trial counts, in whichever order its nodes are named */
	{ 2, "0 failed; 0 ok; 1-0 ok; 0-1 failed", "unexplained 1", 4, 0 },
	{ 2, "0-1 failed; 1-0 ok; 1 ok; 1 failed", "node 1 alone", 4, 0 },
	/* a node that failed alone explains its pairs */
	{ 3, "0 failed; 0-1 failed; 0-2 failed; 1-2 failed", "node 0 alone", 4, 0 },
	/* no partner is known to be good; then one is; then it failed with that one alone */
	{ 3, "0-1 failed; 0-2 failed; 1-2 failed", "unexplained 3", 3, 0 },
	{ 4, "0-1 failed; 0-2 failed; 1-3 ok", "node 0", 3, 0 },
	{ 4, "0-1 failed; 1-2 ok; 2-3 ok", "unexplained 1", 3, 0 },
	/* a good partner passed alone and with others */
	{ 4, "1 failed; 0-1 failed; 0-2 failed; 1-3 ok", "node 1 alone", 4, 0 },
	/* one failure with a good partner is too few, whatever a node that fails alone adds */
	{ 4, "0 failed; 0-2 failed; 1-2 failed; 1-3 ok", "node 0 alone", 4, 0 },
	/* nodes that work with no other one and are two or three, or more than a third of all, must have been tried
	   with each other */
	{ 6, "0-1 failed; 0-2 failed; 3-1 failed; 3-2 failed; 1-2 ok; 4-1 ok; 5-1 ok; 0-3 failed", "node 0; node 3", 8,
		0 },
	{ 5, "0-1 failed; 0-2 failed; 3-1 failed; 3-2 failed; 1-2 ok; 4-1 ok", "unexplained 4", 6, 0 },
	{ 5, "0-1 failed; 0-2 failed; 3-1 failed; 3-2 failed; 1-2 ok; 4-1 ok; 0-3 failed", "node 0; node 3", 7, 0 },
	/* one that works with some and fails with two of its own part; the one with most failures explains the others'
	 */
	{ 4, "0-1 ok; 1-2 ok; 2-3 ok; 0-2 failed; 0-3 failed", "node 0", 5, 0 },
	{ 5, "0-1 ok; 1-2 ok; 2-3 ok; 3-4 ok; 0-2 failed; 0-3 failed; 0-4 failed; 1-3 failed; 1-4 failed",
		"node 0; node 1", 9, 0 },
	{ 5, "0-1 ok; 1-2 ok; 2-3 ok; 3-4 ok; 0-2 failed; 0-3 failed; 0-4 failed; 1-4 failed", "node 0; link 1-4", 8,
		0 },
	{ 5, "0-1 ok; 1-2 ok; 2-3 ok; 3-4 ok; 0-2 failed; 0-3 failed; 1-3 failed; 1-4 failed", "node 0; node 1", 8, 0 },
	{ 4, "0-1 ok; 1-2 ok; 2-3 ok; 0-3 failed; 0-2 failed; 1-3 failed", "node 0; link 1-3", 6, 0 },
	/* a link between two good nodes of one part */
	{ 3, "0-1 ok; 1-2 ok; 0-2 failed", "link 0-2", 3, 0 },
	{ 4, "0-1 ok; 2-3 ok; 0-2 failed", "unexplained 1", 3, 0 },
	/* parts: each two of them must have failed in four pairs, or in all, two of which have no node in common */
	{ 4, "0-1 ok; 2-3 ok; 0-2 failed; 1-3 failed", "unexplained 2", 4, 0 },
	{ 4, "0-1 ok; 2-3 ok; 0-2 failed; 0-3 failed; 1-3 failed", "unexplained 3", 5, 0 },
	{ 4, "0-1 ok; 2-3 ok; 0-2 failed; 0-3 failed; 1-3 failed; 1-2 failed", "split 0 2", 6, 0 },
	{ 4, "0-1 ok; 2-3 ok; 0-2 failed; 1-2 failed", "unexplained 2", 4, 0 },
	{ 5, "0-1 ok; 2-3 ok; 3-4 ok; 1-2 failed; 1-3 failed; 1-4 failed", "unexplained 3", 6, 0 },
	{ 5, "0-1 ok; 2-3 ok; 3-4 ok; 1-2 failed; 1-3 failed; 0-4 failed", "unexplained 3", 6, 0 },
	{ 5, "0-1 ok; 2-3 ok; 3-4 ok; 1-2 failed; 1-3 failed; 0-4 failed; 0-3 failed", "split 0 2", 7, 0 },
	{ 7, "0-1 ok; 2-3 ok; 3-4 ok; 4-5 ok; 5-6 ok; 1-2 failed; 1-3 failed; 1-4 failed; 1-5 failed", "unexplained 4",
		9, 0 },
	{ 8, "0-1 ok; 1-2 ok; 2-3 ok; 4-5 ok; 5-6 ok; 6-7 ok; 0-4 failed; 1-5 failed; 2-6 failed; 3-7 failed",
		"split 0 4", 10, 0 },
	/* a node that was tried with no other one may be of both parts; a suspect is of none */
	{ 5, "0-1 ok; 2-3 ok; 4 ok; 0-2 failed; 0-3 failed; 1-3 failed; 1-2 failed", "unexplained 4", 7, 0 },
	{ 5, "0-1 ok; 2-3 ok; 4 failed; 0-2 failed; 0-3 failed; 1-3 failed; 1-2 failed", "node 4 alone; split 0 2", 7,
		0 },
	{ 6, "0-1 ok; 2-3 ok; 4-5 ok; 0-2 failed; 1-3 failed; 0-4 failed; 1-5 failed", "unexplained 4", 7, 0 },
	{ 6,
		"0-1 ok; 2-3 ok; 4-5 ok; 0-2 failed; 1-3 failed; 0-4 failed; 1-5 failed; 2-4 failed; 3-5 failed; "
		"0-3 failed; 1-2 failed; 0-5 failed; 1-4 failed; 2-5 failed",
		"unexplained 11", 14, 0 },
	{ 6,
		"0-1 ok; 2-3 ok; 4-5 ok; 0-2 failed; 1-3 failed; 0-4 failed; 1-5 failed; 2-4 failed; 3-5 failed; "
		"0-3 failed; 1-2 failed; 0-5 failed; 1-4 failed; 2-5 failed; 3-4 failed",
		"split 0 2 4", 15, 0 },
	/* beside what may be a split a node that works with no other is suspected when it failed with every part */
	{ 5, "0-1 ok; 2-3 ok; 0-2 failed; 1-3 failed; 4-0 failed; 4-1 failed", "unexplained 4", 6, 0 },
	{ 5, "0-1 ok; 2-3 ok; 0-2 failed; 1-3 failed; 0-3 failed; 1-2 failed; 4-0 failed; 4-1 failed", "split 0 2", 8,
		0 },
	{ 5, "0-1 ok; 2-3 ok; 0-2 failed; 1-3 failed; 0-3 failed; 1-2 failed; 4-0 failed; 4-3 failed",
		"node 4; split 0 2", 8, 0 },
	/* with each part that has more than one node */
	{ 6, "0-1 ok; 4-5 ok; 0-2 ok; 2-3 failed; 1-3 failed", "unexplained 2", 5, 0 },
	{ 6, "0-1 ok; 4-5 ok; 0-2 ok; 2-3 failed; 1-3 failed; 3-4 failed", "node 3", 6, 0 },
	{ 6, "0-1 ok; 4-5 ok; 0-2 ok; 3 failed", "node 3 alone", 4, 0 },
	{ 12,
		"0-4 failed; 0-5 failed; 1-4 failed; 1-5 failed; 2-4 failed; 2-5 failed; 3-4 failed; 3-5 failed; "
		"4-5 ok; 5-6 ok; 6-7 ok; 7-8 ok; 8-9 ok; 9-10 ok; 10-11 ok",
		"node 0; node 1; node 2; node 3", 15, 0 },
	/* what ran out of time failed only with three times the time of the slowest that passed */
	{ 2, "0 ok 2s; 1 late 6s", "node 1 alone", 2, 0 },
	{ 2, "0 ok 2s; 1 late 5.9s", "", 1, 1 },
	{ 3, "0 ok 1s; 1 ok 2s; 2 ok 1s; 0-1 late 5.9s; 1-2 late 6s; 0-2 ok 1s", "unexplained 1", 5, 1 },
	{ 3, "0 ok 1s; 1 ok 1s; 2 ok 1s; 0-1 late 5.9s; 1-2 late 6s; 0-2 ok 2s", "unexplained 1", 5, 1 },
	/* whichever came first */
	{ 3, "0-1 late 5.9s; 1-2 late 6s; 0-2 ok 2s", "unexplained 1", 2, 1 },
	/* when none passed it needs the full time */
	{ 2, "0 late 8.9s; 1 late 9s", "node 1 alone", 1, 1 },
	{ 2, "0-1 late 8.9s", "", 0, 1 },
	{ 2, "0-1 failed 1s; 0 late 8.9s", "unexplained 1", 1, 1 },
	/* one that tells nothing does not hide an earlier one */
	{ 3, "0-1 ok 1s; 1-2 ok 1s; 0-2 failed; 0-2 late 1s; 0 failed; 0 late 1s", "node 0 alone", 4, 2 },
	{ 3, "0-1 ok 1s; 1-2 ok 1s; 0-2 ok 1s; 0-2 late 3s", "link 0-2", 4, 0 },
};

TEST_EACH(trials_blame, cases)
{
	struct muster_attempt attempts[ROOM];
	struct muster_suspects s;
	char found[1024];
	size_t count = attempts_of(cases[_i].trials, attempts, ROOM);
	muster_suspects_find(attempts, count, cases[_i].nodes, &s);
	describe_blame(&s, found, sizeof found);
	ck_assert_msg(strcmp(found, cases[_i].blame) == 0, "%s: %s, not %s", cases[_i].trials, found, cases[_i].blame);
	ck_assert_uint_eq(s.counted, cases[_i].counted);
	ck_assert_uint_eq(s.not_tried, cases[_i].not_tried);
	muster_suspects_done(&s);
}

TEST(figures_are_of_all_trials)
{
	struct muster_attempt attempts[ROOM];
	struct muster_suspects s;
	size_t count =
		attempts_of("0 ok 1s; 1 ok 2s; 2 ok 3s; 3 failed 9s; 0-1 ok 1s; 0-2 ok 4s; 1-2 ok 2s; 0-3 failed 30s",
			attempts, ROOM);
	muster_suspects_find(attempts, count, 4, &s);
	ck_assert_double_eq(s.slowest, 4);
	ck_assert_uint_eq(s.suspected, 1);
	ck_assert_uint_eq(s.nodes[0].passed, 2);
	ck_assert_uint_eq(s.nodes[0].failed, 1);
	ck_assert_uint_eq(s.nodes[3].trial, 3);
	ck_assert_uint_eq(muster_suspects_edge(&s, 2, 1)->trial, 6);
	ck_assert_ptr_null(muster_suspects_edge(&s, 2, 3));
	ck_assert(muster_suspects_good(&s, 0) && !muster_suspects_good(&s, 3));
	muster_suspects_done(&s);
}

TEST(edges_that_are_not_explained_are_known_one_by_one)
{
	struct muster_attempt attempts[ROOM];
	struct muster_suspects s;
	/* in the order of the edges: 0-1 ok, 0-2 and 0-3 across the split, 0-4 to a node of no part, two more across,
	   2-3 ok */
	size_t count = attempts_of(
		"0-1 ok; 2-3 ok; 0-2 failed; 0-3 failed; 1-2 failed; 1-3 failed; 0-4 failed", attempts, ROOM);
	const bool explained[] = { true, true, true, false, true, true, true };
	muster_suspects_find(attempts, count, 5, &s);
	ck_assert_uint_eq(s.edge_count, 7);
	for (size_t i = 0; i < 7; i++)
		ck_assert_msg(muster_suspects_explain(&s, i) == explained[i], "edge %zu", i);
	ck_assert_uint_eq(s.unexplained, 1);
	muster_suspects_done(&s);
}

TEST_MAIN(.setup = NULL)

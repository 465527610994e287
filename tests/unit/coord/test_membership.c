/* SPDX-License-Identifier: Apache-2.0 */
/* test_membership.c - ranks that said hello become nodes in the order of their lowest ranks */
#include "coord/membership.h"
#include "util/text.h"

#include "check_main.h"
#include <stdio.h>
#include <string.h>

static struct muster_arena *arena;
static struct muster_membership members;

static void setup(void)
{
	arena = muster_arena_new();
}

static void teardown(void)
{
	muster_membership_done(&members);
	ck_assert_ptr_null(members.members);
	muster_arena_free(arena);
}

/* Ranks' nodes in a text: "a a b -" are four ranks, the last without a hello. Host: "boot-" and the name. */
static void hellos(const char *text)
{
	int ranks = 1;
	char name[16], host[32];
	for (const char *at = text; *at; at++)
		ranks += *at == ' ';
	muster_membership_init(&members, ranks, arena);
	for (int rank = 0; rank < ranks; rank++) {
		size_t length = strcspn(text, " ");
		snprintf(name, sizeof name, "%.*s", (int)length, text);
		snprintf(host, sizeof host, "boot-%s", name);
		if (*name != '-')
			ck_assert(muster_membership_hello(&members, rank, name, host));
		text += length + (text[length] == ' ');
	}
}

/* Nodes as "name:rank,rank,;" in their order. */
static const char *nodes(void)
{
	static char text[256];
	*text = '\0';
	for (size_t node = 0; node < members.node_count; node++) {
		size_t count, length = strlen(text);
		const int *ranks = muster_membership_ranks(&members, node, &count);
		length += (size_t)snprintf(text + length, sizeof text - length, "%s:", members.names[node]);
		for (size_t i = 0; i < count; i++)
			length += (size_t)snprintf(text + length, sizeof text - length, "%d,", ranks[i]);
		snprintf(text + length, sizeof text - length, ";");
		ck_assert_int_eq(members.leaders[node], ranks[0]);
		for (size_t i = 0; i < count; i++) {
			ck_assert_uint_eq((size_t)members.members[ranks[i]].node_index, node);
			ck_assert_ptr_eq(members.members[ranks[i]].node, members.names[node]);
		}
	}
	return text;
}

static const struct {
	const char *hellos, *nodes;
	int here;
} placements[] = {
	{ "a", "a:0,;", 1 },
	{ "a a b b", "a:0,1,;b:2,3,;", 4 },        /* blocks */
	{ "a b a b a", "a:0,2,4,;b:1,3,;", 5 },    /* in turn */
	{ "z y y a z", "z:0,4,;y:1,2,;a:3,;", 5 }, /* names do not matter */
	{ "- b a - b", "b:1,4,;a:2,;", 3 },        /* without rank 0 */
	{ "a - - -", "a:0,;", 1 },                 /* alone */
	{ "- -", "", 0 },                          /* nobody */
	{ "c c c d e e f", "c:0,1,2,;d:3,;e:4,5,;f:6,;", 7 },
};

TEST_EACH(nodes_are_in_the_order_of_their_lowest_ranks, placements)
{
	hellos(placements[_i].hellos);
	ck_assert_int_eq(members.here_count, placements[_i].here);
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), placements[_i].nodes);
}

TEST(hosts_of_one_name_are_told_apart)
{
	static const char *const hosts[] = { "x", "y", "x", "z", "y", "x" };
	muster_membership_init(&members, 6, arena);
	for (int rank = 0; rank < 6; rank++)
		muster_membership_hello(&members, rank, "n", hosts[rank]);
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "n:0,2,5,;n#2:1,4,;n#3:3,;");
}

TEST(a_second_host_of_a_name_gets_one_that_no_node_has)
{
	static const char *const names[] = { "n", "n", "n#2", "n", "n#2", "n#3" };
	static const char *const hosts[] = { "a", "b", "c", "d", "e", "f" };
	muster_membership_init(&members, 6, arena);
	for (int rank = 0; rank < 6; rank++)
		muster_membership_hello(&members, rank, names[rank], hosts[rank]);
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "n:0,;n#4:1,;n#2:2,;n#5:3,;n#2#2:4,;n#3:5,;");
}

TEST(one_host_of_two_names_is_two_nodes)
{
	muster_membership_init(&members, 2, arena);
	muster_membership_hello(&members, 0, "a", "x");
	muster_membership_hello(&members, 1, "b", "x");
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "a:0,;b:1,;");
}

TEST(hosts_without_a_boot_are_told_by_their_names)
{
	muster_membership_init(&members, 3, arena);
	muster_membership_hello(&members, 0, "a", "");
	muster_membership_hello(&members, 1, "b", "");
	muster_membership_hello(&members, 2, "a", "");
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "a:0,2,;b:1,;");
}

TEST(the_first_hello_of_a_rank_counts)
{
	hellos("a - -");
	ck_assert(!muster_membership_hello(&members, 0, "b", "boot-b"));
	ck_assert_int_eq(members.here_count, 1);
	ck_assert(!muster_membership_complete(&members));
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "a:0,;");
}

TEST(hellos_are_complete_when_each_rank_said_one_or_died)
{
	hellos("a a - -");
	ck_assert(!muster_membership_complete(&members));
	muster_membership_gone(&members, 2);
	ck_assert(!muster_membership_complete(&members));
	ck_assert(muster_membership_hello(&members, 3, "b", "boot-b"));
	ck_assert(muster_membership_complete(&members));
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "a:0,1,;b:3,;");
}

TEST(a_rank_that_died_after_its_hello_is_of_no_node)
{
	hellos("a b -");
	muster_membership_gone(&members, 0);
	ck_assert_int_eq(members.here_count, 1);
	ck_assert_int_eq(members.gone_count, 1);
	ck_assert(!muster_membership_complete(&members));
	muster_membership_gone(&members, 2);
	ck_assert(muster_membership_complete(&members));
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "b:1,;");
	ck_assert(!members.members[0].here);
}

TEST(a_rank_dies_once)
{
	hellos("a - -");
	muster_membership_gone(&members, 1);
	muster_membership_gone(&members, 1);
	ck_assert_int_eq(members.gone_count, 1);
	ck_assert(!muster_membership_complete(&members));
	ck_assert(!muster_membership_hello(&members, 1, "b", "boot-b")); /* it was still on its way */
	ck_assert_int_eq(members.here_count, 1);
	ck_assert(!muster_membership_complete(&members));
	ck_assert(muster_membership_hello(&members, 2, "b", "boot-b"));
	ck_assert(muster_membership_complete(&members));
}

TEST(names_are_copied)
{
	char name[] = "a", host[] = "x";
	muster_membership_init(&members, 1, arena);
	muster_membership_hello(&members, 0, name, host);
	*name = *host = '?';
	ck_assert_str_eq(members.members[0].host, "x");
	muster_membership_close(&members);
	ck_assert_str_eq(nodes(), "a:0,;");
}

/* _i: whether ranks are placed over the nodes in turn. */
TEST_LOOP(many_nodes_are_numbered_quickly, 0, 2)
{
	enum { NODES = 16384, RANKS = 8 * NODES };
	char name[16];
	muster_membership_init(&members, RANKS, arena);
	for (int rank = 0; rank < RANKS; rank++) {
		snprintf(name, sizeof name, "n%d", _i ? rank % NODES : rank / 8);
		muster_membership_hello(&members, rank, name, name);
	}
	ck_assert(muster_membership_complete(&members));
	double began_ms = muster_now_ms();
	muster_membership_close(&members);
	double took_ms = muster_now_ms() - began_ms;
	ck_assert_uint_eq(members.node_count, NODES);
	for (size_t node = 0; node < NODES; node++) {
		size_t count;
		const int *ranks = muster_membership_ranks(&members, node, &count);
		ck_assert_uint_eq(count, 8);
		for (size_t i = 0; i < count; i++)
			ck_assert_uint_eq((size_t)ranks[i], _i ? i * NODES + node : node * 8 + i);
	}
	/* it takes some 10 ms; comparing each rank with each node takes minutes */
	ck_assert_msg(took_ms < 2000, "%.0f ms", took_ms);
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200)

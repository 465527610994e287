/* SPDX-License-Identifier: Apache-2.0 */
/* test_drained_nodes.c - how many nodes of a partition muster has drained, and whether these are too many */
#include "check_main.h"
#include "muster/arena.h"
#include "slurm/drain.h"

#include <string.h>
#include <time.h>

static const struct {
	const char *text;
	bool ok, is_share;
	int number;
} limits[] = {
	{ "0", true, false, 0 },
	{ "8", true, false, 8 },
	{ "1000000", true, false, 1000000 },
	{ "0%", true, true, 0 },
	{ "10%", true, true, 10 },
	{ "100%", true, true, 100 },
	{ "", false, false, 0 },
	{ "%", false, false, 0 },
	{ "101%", false, false, 0 },
	{ "1000001", false, false, 0 },
	{ "-1", false, false, 0 },
	{ "1.5", false, false, 0 },
	{ "5 %", false, false, 0 },
	{ "5%%", false, false, 0 },
	{ "00000000000000000000001", false, false, 0 },
};

TEST_EACH(a_limit_is_a_number_or_a_share, limits)
{
	struct muster_drained_most most = { .number = -7 };
	struct muster_error err;
	int rc = muster_drained_most_parse(&most, limits[_i].text, &err);
	ck_assert_msg((rc == 0) == limits[_i].ok, "%s", limits[_i].text);
	if (rc < 0) {
		ck_assert_int_eq(most.number, -7);
		ck_assert_int_eq((int)err.code, MUSTER_EUSAGE);
		return;
	}
	ck_assert(most.is_set);
	ck_assert(most.is_share == limits[_i].is_share);
	ck_assert_int_eq(most.number, limits[_i].number);
}

#define OURS "muster(health): copy.h2d: slow"

static const struct {
	const char *name, *text, *most;
	enum muster_code code; /* MUSTER_OK: n1 may be drained */
} cases[] = {
	{ "no other", "n1|p|idle|none\nn2|p|idle|none\n", "1", MUSTER_OK },
	{ "none at all", "n1|p|idle|none\nn2|p|idle|none\n", "0", MUSTER_EUSAGE },
	{ "one other is the limit", "n1|p|idle|none\nn2|p|drained|" OURS "\n", "1", MUSTER_EUSAGE },
	{ "one other, two may be", "n1|p|idle|none\nn2|p|drained|" OURS "\n", "2", MUSTER_OK },
	{ "the node itself does not count", "n1|p|drained|" OURS "\nn2|p|idle|none\n", "1", MUSTER_OK },
	{ "a person's counts too", "n1|p|idle|none\nn2|p|drained|muster: x\n", "1", MUSTER_EUSAGE },
	{ "one that is back in service", "n1|p|idle|none\nn2|p|idle|" OURS "\n", "1", MUSTER_OK },
	{ "one with a job", "n1|p|idle|none\nn2|p|draining|" OURS "\n", "1", MUSTER_EUSAGE },
	{ "one that does not respond", "n1|p|idle|none\nn2|p|drained*|" OURS "\n", "1", MUSTER_EUSAGE },
	{ "those of others do not", "n1|p|idle|none\nn2|p|drained|fan is loud\nn3|p|down|Not responding\n", "1",
		MUSTER_OK },
	{ "a reason with our separator", "n1|p|idle|none\nn2|p|drained|muster: a|b|c\n", "1", MUSTER_EUSAGE },
	{ "another partition", "n1|p|idle|none\nn2|q|drained|" OURS "\n", "1", MUSTER_OK },
	{ "both partitions of the node", "n1|p|idle|none\nn1|q|idle|none\nn2|q|drained|" OURS "\nn3|p|idle|none\n", "1",
		MUSTER_EUSAGE },
	{ "names that begin alike", "n1|p|idle|none\nn11|p|idle|none\nn1|pp|idle|none\nn2|pp|idle|none\n", "1",
		MUSTER_OK },
	{ "blanks of a column", "n1  |p  |idle|none\nn2  |p  |drained|" OURS "\n", "1", MUSTER_EUSAGE },
	{ "a share of two is one", "n1|p|idle|none\nn2|p|idle|none\n", "10%", MUSTER_OK },
	{ "and no more", "n1|p|idle|none\nn2|p|drained|" OURS "\n", "10%", MUSTER_EUSAGE },
	{ "a share is rounded down", "n1|p|idle|none\nn2|p|drained|" OURS "\nn3|p|idle|none\n", "60%", MUSTER_EUSAGE },
	{ "two thirds of three", "n1|p|idle|none\nn2|p|drained|" OURS "\nn3|p|idle|none\n", "67%", MUSTER_OK },
	{ "a share of nothing", "n1|p|idle|none\n", "0%", MUSTER_EUSAGE },
	{ "no such node", "n2|p|idle|none\n", "1", MUSTER_EPROTOCOL },
	{ "nothing", "", "1", MUSTER_EPROTOCOL },
	{ "other lines", "sinfo says this\nn1|p\nn1|p|idle|none", "1", MUSTER_OK },
};

/* A check with a limit in all. Each line gets the time of its reason, which these cases do not care about. */
static int check_nodes(const char *text, const char *node, bool already, const struct muster_drained_most *most,
	struct muster_error *err)
{
	const struct muster_drained_limits all = { .at_most = *most };
	char timed[2048] = "", *out = timed;
	for (int bars = 0; *text; text++) {
		*out++ = *text;
		bars = *text == '\n' ? 0 : bars + (*text == '|');
		if (*text == '|' && bars == 3)
			out = stpcpy(out, "2026-11-29T12:00:00|");
	}
	return muster_drained_nodes_check(timed, node, already, &all, NULL, 0, 0, err);
}

TEST_EACH(a_node_is_drained_when_few_others_are, cases)
{
	struct muster_drained_most most;
	struct muster_error err = { .code = MUSTER_OK };
	ck_assert_int_eq(muster_drained_most_parse(&most, cases[_i].most, &err), 0);
	int rc = check_nodes(cases[_i].text, "n1", false, &most, &err);
	ck_assert_msg(rc == (cases[_i].code == MUSTER_OK ? 0 : -1), "%s: %d", cases[_i].name, rc);
	ck_assert_msg(rc == 0 || err.code == cases[_i].code, "%s: %s", cases[_i].name, err.text);
}

TEST(the_refusal_names_the_partition)
{
	struct muster_drained_most most;
	struct muster_error err;
	ck_assert_int_eq(muster_drained_most_parse(&most, "1", &err), 0);
	ck_assert_int_eq(check_nodes("n1|h100|idle|none\nn2|h100|drained|muster: x\n", "n1", false, &most, &err), -1);
	ck_assert_str_eq(err.text, "muster has drained 1 other of 2 nodes in partition h100, and at most 1 may be "
				   "drained: if so many nodes fail, the nodes are seldom the cause");
	ck_assert_int_eq(check_nodes("n1|h100|idle|none\nn2|h100|drained|muster: x\n", "n1", true, &most, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "; undrained again"));
}

#define AT(time, state) "|p|" state "|" time "|muster: x\n"
#define NOW "2026-11-29T12:00:00"

/* n1 to n4 are in one partition, and n1 to n3 in one rack. */
static const struct {
	const char *name, *text;
	int per_hour, per_rack;
	bool allowed;
} within[] = {
	{ "none yet", "n1|p|idle|Unknown|none\nn2|p|idle|Unknown|none\n", 1, 1, true },
	{ "one 59 minutes ago", "n1|p|idle|Unknown|none\nn4" AT("2026-11-29T11:01:00", "drained"), 1, 1, false },
	{ "one an hour ago", "n1|p|idle|Unknown|none\nn4" AT("2026-11-29T11:00:00", "drained"), 1, 1, true },
	{ "one that is back", "n1|p|idle|Unknown|none\nn4" AT("2026-11-29T11:59:00", "idle"), 1, 1, true },
	{ "a time that is not known counts", "n1|p|idle|Unknown|none\nn4" AT("Unknown", "drained"), 1, 1, false },
	{ "of its rack", "n1|p|idle|Unknown|none\nn3" AT("2026-11-29T11:59:00", "drained"), 9, 1, false },
	{ "of its rack, by others", "n1|p|idle|Unknown|none\nn3|p|drained|" NOW "|fan\n", 9, 1, true },
	{ "of its rack, long ago", "n1|p|idle|Unknown|none\nn3" AT("2026-11-28T11:59:00", "drained"), 9, 1, true },
	{ "of another rack", "n1|p|idle|Unknown|none\nn4" AT("2026-11-29T11:59:00", "drained"), 9, 1, true },
	{ "in two partitions, once", "n1|p|idle|U|none\nn3|q|drained|" NOW "|muster: x\nn3" AT(NOW, "drained"), 9, 2,
		true },
};

TEST_EACH(few_are_drained_in_an_hour_and_of_a_rack, within)
{
	static const char *const rack[] = { "n1", "n2", "n3" };
	const struct muster_drained_limits few = { .per_hour = { true, false, within[_i].per_hour },
		.per_rack = within[_i].per_rack };
	struct muster_error err = { .code = MUSTER_OK };
	struct tm noon = { .tm_year = 126, .tm_mon = 10, .tm_mday = 29, .tm_hour = 12, .tm_isdst = -1 };
	int rc = muster_drained_nodes_check(within[_i].text, "n1", false, &few, rack, 3, (int64_t)mktime(&noon), &err);
	ck_assert_msg((rc == 0) == within[_i].allowed, "%s: %s", within[_i].name, rc ? err.text : "allowed");
}

static const struct {
	const char *text, *nodes;
} racks[] = {
	{ "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] "
	  "Switches=leaf[1-2]\n",
		"n1 n2" },
	{ "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4]\nSwitchName=leaf Level=0 LinkSpeed=1 Nodes=n[1,4]",
		"n1 n4" },
	{ "BlockName=b1 BlockIndex=0 Nodes=n[1-3] BlockSize=18\nBlockName=b2 BlockIndex=1 Nodes=n4 BlockSize=18\n",
		"n1 n2 n3" },
	{ "BlockName=b2 BlockIndex=1 Nodes=n4\n", "" },
	{ "SwitchName=leaf Level=0 LinkSpeed=1 Nodes=n[1-\n", "" },
	{ "No topology information available\n", "" },
	{ "", "" },
};

TEST_EACH(the_rack_is_the_lowest_switch_or_the_block, racks)
{
	struct muster_arena *arena = muster_arena_new();
	const char *const *names = NULL;
	size_t count;
	char found[256] = "";
	muster_rack_read(racks[_i].text, "n1", arena, &names, &count);
	for (size_t i = 0; i < count; i++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "", names[i]);
	ck_assert_str_eq(found, racks[_i].nodes);
	muster_arena_free(arena);
}

TEST_MAIN(.setup = NULL)

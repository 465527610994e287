/* SPDX-License-Identifier: Apache-2.0 */
/* bench_localize.c - how long rank 0 thinks about one round of trials, and how that grows with the nodes
 *
 * bench_localize NODES...: for each number of nodes and each kind of fault, the search for the cause is played from the
 * full ring that failed to its end. A round's time is that of planning it, noting how its rings ended, and asking
 * whether all is explained, who is left for a full ring, and how much time the next round needs.
 */
#include "muster/arena.h"
#include "localize/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What is wrong between two different nodes, or with a node together with others. */
struct muster_fault {
	const char *name;
	bool (*is_bad)(size_t node, size_t nodes);
	bool (*fails)(size_t a, size_t b, size_t nodes); /* a < b */
};

static bool is_middle(size_t node, size_t nodes)
{
	return node == nodes / 2;
}

static bool is_third(size_t node, size_t nodes)
{
	(void)nodes;
	return node % 3 == 0;
}

static bool is_half(size_t node, size_t nodes)
{
	return node >= nodes / 2;
}

static bool is_any(size_t node, size_t nodes)
{
	(void)nodes;
	(void)node;
	return true;
}

static bool are_cut(size_t a, size_t b, size_t nodes)
{
	return is_half(a, nodes) != is_half(b, nodes);
}

static bool are_odd_and_even(size_t a, size_t b, size_t nodes)
{
	(void)nodes;
	return a % 2 != b % 2;
}

static bool are_of_other_racks(size_t a, size_t b, size_t nodes)
{
	(void)nodes;
	return a / 64 != b / 64;
}

static bool are_one_link(size_t a, size_t b, size_t nodes)
{
	return a == nodes / 8 && b == nodes / 8 * 7;
}

/* Five of a hundred pairs, always the same ones. */
static bool are_unlucky(size_t a, size_t b, size_t nodes)
{
	unsigned long long mixed = (a * nodes + b) * 0x9e3779b97f4a7c15u;
	return ((mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u >> 32) % 100 < 5;
}

static const struct muster_fault faults[] = {
	{ "one bad node", is_middle, NULL },
	{ "every third node bad", is_third, NULL },
	{ "half of the nodes bad", is_half, NULL },
	{ "no pair works", is_any, NULL },
	{ "two halves", NULL, are_cut },
	{ "two halves, mixed", NULL, are_odd_and_even },
	{ "racks of 64", NULL, are_of_other_racks },
	{ "one bad link", NULL, are_one_link },
	{ "5 % of all pairs fail", NULL, are_unlucky },
};

/* Whether a ring works; of large ones only neighbours are looked at, and the one bad link. */
static bool works(const struct muster_fault *fault, const size_t *members, size_t count, size_t nodes)
{
	bool bad = false, fails = false;
	for (size_t i = 0; i < count; i++) {
		bad = bad || (count > 1 && fault->is_bad && fault->is_bad(members[i], nodes));
		fails = fails || (i > 0 && fault->fails && fault->fails(members[i - 1], members[i], nodes));
	}
	if (fault->fails == are_one_link) {
		size_t found = 0;
		for (size_t i = 0; i < count; i++)
			found += members[i] == nodes / 8 || members[i] == nodes / 8 * 7;
		fails = found == 2;
	}
	return !fails && !bad;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct muster_allreduce_timing {
	size_t rounds;
	double longest_s, total_s;
};

static void add(struct muster_allreduce_timing *timing, double seconds)
{
	timing->total_s += seconds;
	if (seconds > timing->longest_s)
		timing->longest_s = seconds;
}

/* The members of each team one behind the other; from: where each team's begin, and one more. */
static void sort_by_team(const size_t *teams, size_t nodes, size_t count, size_t *ret_members, size_t *ret_from)
{
	for (size_t i = 0; i <= count + 1; i++)
		ret_from[i] = 0;
	for (size_t i = 0; i < nodes; i++)
		if (teams[i] != MUSTER_NO_GROUP)
			ret_from[teams[i] + 2]++;
	for (size_t i = 1; i <= count + 1; i++)
		ret_from[i] += ret_from[i - 1];
	for (size_t i = 0; i < nodes; i++)
		if (teams[i] != MUSTER_NO_GROUP)
			ret_members[ret_from[teams[i] + 1]++] = i;
}

static struct muster_allreduce_timing localise(const struct muster_fault *fault, size_t nodes)
{
	struct muster_plan plan;
	struct muster_allreduce_timing timing = { 0 };
	size_t *teams = muster_calloc(nodes, sizeof *teams), *members = muster_calloc(nodes, sizeof *members);
	size_t *from = muster_calloc(nodes + 2, sizeof *from), count;
	bool *rest = muster_calloc(nodes, sizeof *rest);
	muster_plan_init(&plan, nodes);
	for (size_t i = 0; i < nodes; i++)
		members[i] = i;
	muster_plan_note(&plan, members, nodes, (struct muster_plan_result){ .status = MUSTER_TRIAL_FAILED });
	for (;;) {
		double start = cpu_s();
		count = muster_plan_next(&plan, teams);
		double planned = cpu_s() - start;
		if (count == 0)
			break;
		sort_by_team(teams, nodes, count, members, from);
		start = cpu_s();
		for (size_t team = 0; team < count; team++) {
			const size_t *these = members + from[team];
			size_t size = from[team + 1] - from[team];
			struct muster_plan_result tried = { .seconds = 1 };
			if (works(fault, these, size, nodes))
				tried.status = MUSTER_TRIAL_OK;
			muster_plan_note(&plan, these, size, tried);
		}
		muster_plan_explained(&plan);
		muster_plan_rest(&plan, rest);
		muster_plan_least_ms(&plan);
		add(&timing, planned + cpu_s() - start);
		timing.rounds++;
	}
	muster_plan_done(&plan);
	free(teams);
	free(members);
	free(from);
	free(rest);
	return timing;
}

int main(int argc, char **argv)
{
	printf("| nodes | what is wrong | rounds | longest round | all rounds |\n|---|---|---|---|---|\n");
	for (int i = 1; i < argc; i++) {
		char *end;
		errno = 0;
		unsigned long nodes = strtoul(argv[i], &end, 10);
		if (errno || end == argv[i] || *end || nodes < 2 || nodes > 1000000) {
			fprintf(stderr, "bench_localize: \"%s\" is no number of nodes\n", argv[i]);
			return 2;
		}
		for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
			struct muster_allreduce_timing timing = localise(&faults[f], nodes);
			printf("| %lu | %s | %zu | %.1f ms | %.1f ms |\n", nodes, faults[f].name, timing.rounds,
				1e3 * timing.longest_s, 1e3 * timing.total_s);
			fflush(stdout);
		}
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive_placement.c - the worst placed rank of a node, and which ranks those are */
#include "check_main.h"
#include "run_text.h"

#include "eval/derive.h"
#include "muster/run_data.h"

#define CPUS(place, list) place " rank.cpu_list " list "\n"
#define SHARE(place, value) place " rank.near_share " value "\n"

static const struct {
	const char *run, *metric, *nodes;
} cases[] = {
	{ SHARE("a/0", "1") SHARE("a/1", "0.25") SHARE("b/2", "1"), "node.near_share", "a 0.25\nb 1\n" },
	{ SHARE("a/0", "0") SHARE("a/1", "1") SHARE("a/2", "0"), "node.near_share_ranks", "a 0, 2\n" },
	/* a rank whose GPU nobody can place */
	{ SHARE("a/0", "-") SHARE("a/1", "1") SHARE("a/2", "1"), "node.near_share", "a 1\n" },
	{ SHARE("a/0", "-") SHARE("a/1", "1") SHARE("a/2", "1"), "node.near_share_ranks", "a 1, 2\n" },
	{ SHARE("a/0", "0") SHARE("a/1", "-"), "node.near_share_ranks", "a 0\n" },
	{ SHARE("a/0", "-") SHARE("a/1", "-"), "node.near_share", "a no value: not supported here\n" },
	/* a run that has it keeps it */
	{ SHARE("a/0", "0") "a node.near_share 7\n", "node.near_share", "a 7\n" },
	/* CPUs of its own, one for several, all for all */
	{ CPUS("a/0", "0-3") CPUS("a/1", "4-5"), "node.cores_each", "a 2\n" },
	{ CPUS("a/0", "0-3") CPUS("a/1", "4-5"), "node.cores_each_ranks", "a 1\n" },
	{ CPUS("a/0", "0-0") CPUS("a/1", "0-0") CPUS("a/2", "8-9"), "node.cores_each", "a 0.5\n" },
	{ CPUS("a/0", "0-7") CPUS("a/1", "0-7"), "node.cores_each", "a 4\n" },
	{ "a node.cpus 4\n" CPUS("a/0", "0-0") CPUS("a/1", "0-0"), "node.cores_each", "a 0.5\n" },
	{ "a node.cpus 3\n" CPUS("a/0", "0-0") CPUS("a/1", "0-0"), "node.cores_each",
		"a no value: the node has 3 cores for 2 ranks\n" },
	{ CPUS("a/0", "-") CPUS("a/1", "4-4"), "node.cores_each", "a 1\n" },
};

TEST_EACH(the_worst_rank_of_a_node_is_found, cases)
{
	char text[256] = "", value[64];
	size_t used = 0;
	struct muster_run *run = run_text_new(cases[_i].run);
	muster_run_derive_placement(run);
	for (size_t i = 0; i < run->node_count; i++) {
		const struct muster_sample *sample = muster_sample_named(&run->nodes[i].samples, cases[_i].metric);
		if (sample)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s %s%s%s\n", run->nodes[i].name,
				muster_value_text(sample->value, value, sizeof value), sample->reason ? ": " : "",
				sample->reason ? sample->reason : "");
	}
	ck_assert_str_eq(text, cases[_i].nodes);
}

TEST_MAIN(.teardown = fixture_done)

/* SPDX-License-Identifier: Apache-2.0 */
/* test_placement.c - the nodes of each switch or block */
#include "check_main.h"
#include "eval_fixture.h"
#include "muster/run.h"
#include "slurm/placement.h"

static const struct {
	size_t count;
	const char *places[4]; /* of node-1, node-2 ...; NULL: unknown, "?": a node without a name */
	const char *text;
} rows[] = {
	{ 3, { "s0.s1", "s0.s2", "s0.s1" }, "s0.s1=node-[1,3] s0.s2=node-2" },
	{ 4, { "s10", "s9", "s10", "s9" }, "s9=node-[2,4] s10=node-[1,3]" },
	{ 3, { NULL, "s0", NULL }, "s0=node-2 (unknown)=node-[1,3]" },
	{ 3, { "s0", "?", "s0" }, "s0=node-[1,3]" },
	{ 2, { NULL, NULL }, "" },
	{ 1, { "s0" }, "s0=node-1" },
	{ 1, { NULL }, "" },
};

TEST_EACH(nodes_are_listed_by_place, rows)
{
	struct muster_run run;
	struct muster_placement placement;
	char text[512] = "";
	fixture_run(&run);
	for (size_t i = 0; i < rows[_i].count; i++) {
		const char *place = rows[_i].places[i];
		const char *name =
			place && strcmp(place, "?") == 0 ? "?" : muster_arena_printf(run.arena, "node-%zu", i + 1);
		struct muster_node *node = fixture_node(&run, name, 1);
		if (place && strcmp(place, "?") != 0)
			fixture_sample(&run, &node->samples, "node.slurm_topology", NULL, muster_string(place));
	}
	muster_placement_make(&run, &placement);
	for (size_t i = 0; i < placement.count; i++) {
		const struct muster_node_block *block = &placement.places[i];
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%s", i ? " " : "",
			block->name ? block->name : "(unknown)", block->nodes);
	}
	ck_assert_str_eq(text, rows[_i].text);
	muster_placement_done(&placement);
	ck_assert_uint_eq(placement.count, 0);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)

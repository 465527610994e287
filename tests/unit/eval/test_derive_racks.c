/* SPDX-License-Identifier: Apache-2.0 */
/* test_derive_racks.c - how even steps are within a rack, and whether the ranks of racks follow each other */
#include "check_main.h"
#include "run_text.h"

#include "eval/derive.h"
#include "muster/run_data.h"

#define STEP(place, model, ms) place " gpu.name gpu=g " model "\n" place " rank.step_compute_ms " ms "\n"
#define RACK(place, clique) place " gpu.fabric_clique gpu=g cluster=a0 " clique "\n"
#define SLURM(node, rank, place) node " node.slurm_topology " place "\n" node "/" rank " rank.step_p50_ms 1\n"

/* All samples of the job after the derivation. */
static const struct {
	const char *run, *job;
} cases[] = {
	{ "a/0 rank.step_p50_ms 1\n", "" },
	/* without racks all ranks of one model are compared; of two models the wider one counts */
	{ STEP("a/0", "X", "10") STEP("a/1", "X", "11"), "job.step_spread all, all ranks: 0.09524\n" },
	{ STEP("a/0", "X", "10") STEP("a/1", "Y", "20") STEP("b/2", "Y", "22") STEP("b/3", "X", "10"),
		"job.step_spread all, all ranks: 0.09524\n" },
	{ STEP("a/0", "X", "10") STEP("a/1", "X", "10") STEP("a/2", "X", "10") STEP("a/3", "X", "16"),
		"job.step_spread all, all ranks: 0.6\n" },
	{ STEP("a/0", "X", "10") STEP("a/1", "Y", "11"),
		"job.step_spread all, all ranks: no value: no two ranks have the same GPU model\n" },
	{ STEP("a/0", "X", "10") STEP("a/1", "X", "-"),
		"job.step_spread all, all ranks: no value: no two ranks have the same GPU model\n" },
	/* racks by themselves; who is in none is not compared */
	{ STEP("a/0", "X", "10") RACK("a/0", "1") STEP("a/1", "X", "11") RACK("a/1", "1") STEP("b/2", "X", "20")
			RACK("b/2", "2") STEP("b/3", "X", "20") RACK("b/3", "2"),
		"job.step_spread rack, rack a0/1: 0.09524\njob.step_spread rack, rack a0/2: 0\n" },
	{ STEP("a/0", "X", "10") RACK("a/0", "1") STEP("a/1", "X", "10") RACK("a/1", "1") STEP("b/2", "X", "20"),
		"job.step_spread rack, rack a0/1: 0\n" },
	/* the order of racks */
	{ RACK("a/0", "1") RACK("b/1", "2") RACK("c/2", "1"), "job.rack_order: a, c, b\n" },
	{ RACK("a/0", "2") RACK("b/1", "2") RACK("c/2", "1"), "" },
	{ RACK("a/0", "1") RACK("a/2", "1") RACK("b/1", "2") RACK("b/3", "2"), "job.rack_order: a, b\n" },
	{ RACK("n1/0", "1") RACK("n2/1", "1") RACK("n3/2", "2") RACK("n4/3", "1") RACK("n5/4", "2"),
		"job.rack_order: n1, n2, n4, n3, n5\n" },
	/* the same, by Slurm's topology */
	{ SLURM("a", "0", "s0.s1") SLURM("b", "1", "s0.s2") SLURM("c", "2", "s0.s1"), "job.rack_order: a, c, b\n" },
	{ SLURM("a", "0", "s0.s1") SLURM("b", "1", "s0.s1") SLURM("c", "2", "s0.s2"), "" },
	{ SLURM("a", "0", "s0.s1") SLURM("b", "1", "-"), "" },
	/* a run that has them keeps them */
	{ RACK("a/0", "1") RACK("b/1", "2") RACK("c/2", "1") "job job.rack_order x\n", "job.rack_order: x\n" },
	{ STEP("a/0", "X", "10") STEP("a/1", "X", "11") "job job.step_spread kind=all among=all 7\n",
		"job.step_spread all, all: 7\n" },
};

TEST_EACH(racks_are_found, cases)
{
	char text[1024] = "";
	size_t used = 0;
	struct muster_run *run = run_text_new(cases[_i].run);
	muster_run_derive_racks(run);
	for (size_t i = 0; i < run->job.samples.count; i++) {
		const struct muster_sample *sample = &run->job.samples.items[i];
		char value[256];
		used += (size_t)snprintf(text + used, sizeof text - used, "%s", sample->metric->name);
		for (size_t k = 0; k < sample->label_count; k++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", k ? ", " : " ",
				sample->labels[k].value.string);
		used += (size_t)snprintf(text + used, sizeof text - used, ": %s%s%s\n",
			muster_value_text(sample->value, value, sizeof value), sample->reason ? ": " : "",
			sample->reason ? sample->reason : "");
	}
	ck_assert_str_eq(text, cases[_i].job);
}

TEST_MAIN(.teardown = fixture_done)

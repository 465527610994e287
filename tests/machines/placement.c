/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c - what muster says of ranks that run on given CPUs of a machine that is not this one
 *
 * placement CONFIGS BUS-ID=CPU,CPU,...[@NODE] ...: one node, one rank for each GPU. @NODE: the memory policy of the
 * rank binds to this NUMA node. The machine comes from $HWLOC_XMLFILE and $MUSTER_ROOT. Prints the RDMA devices near
 * each rank's GPU, and the status of each check of affinity in configs/generic-nvidia.json.
 */
#include "eval/derive.h"
#include "muster/evaluate.h"
#include "muster/run.h"
#include "probes/context.h"
#include "system/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct muster_probe muster_probe_affinity;

static struct muster_run run;
static int bound_to = -1;

__attribute__((visibility("default"))) int hwloc_get_membind(
	hwloc_topology_t topology, hwloc_bitmap_t set, hwloc_membind_policy_t *policy, int flags)
{
	(void)flags;
	hwloc_bitmap_copy(set, hwloc_topology_get_topology_nodeset(topology));
	if (bound_to >= 0)
		hwloc_bitmap_only(set, (unsigned int)bound_to);
	*policy = bound_to >= 0 ? HWLOC_MEMBIND_BIND : HWLOC_MEMBIND_FIRSTTOUCH;
	return 0;
}

static void add_number(struct muster_samples *samples, const char *name, double number)
{
	const struct muster_metric *metric = muster_metric_find(name);
	muster_samples_add(samples, (struct muster_sample){ .metric = metric, .value = muster_number(number) });
}

/* Into the rank's samples; those of this probe have no labels. */
static void take_sample(void *arg, const struct muster_sample *sample)
{
	struct muster_sample kept = *sample;
	if (kept.value.type == MUSTER_STRING)
		kept.value.string = muster_arena_string(run.arena, kept.value.string);
	kept.reason = muster_arena_string(run.arena, kept.reason);
	muster_samples_add(arg, kept);
}

static void take_step(void *arg, const char *text)
{
	(void)arg, (void)text;
}

static void place_rank(struct muster_node *node, int number, char *place)
{
	static const struct muster_probe_sink sink = { .sample = take_sample, .step = take_step };
	struct muster_rank *rank = muster_node_add_rank(node, number);
	struct muster_gpu gpu = { .visible = 1 };
	struct muster_error err;
	char *cpus = strchr(place, '='), *memory = strchr(place, '@');
	*cpus = *memory = '\0';
	bound_to = (int)strtol(memory + 1, NULL, 10);
	setenv("MACHINE_CPUS", cpus + 1, 1);
	snprintf(gpu.bus_id, sizeof gpu.bus_id, "%s", place);
	struct muster_probe_ctx ctx = { .probe = &muster_probe_affinity,
		.env = { .root = getenv("MUSTER_ROOT"), .gpu = &gpu },
		.sink = &sink,
		.arg = &rank->samples };
	if (muster_probe_affinity.run(&ctx, &err) < 0)
		fprintf(stderr, "rank %d: %s\n", number, err.text);
	rank->local_rank = number;
	add_number(&rank->samples, "rank.local_rank", number);
	printf("nics %d %s\n", number, muster_sample_text(&rank->samples, "rank.near_nics", "unknown"));
}

int main(int argc, char **argv)
{
	struct muster_expect expect;
	struct muster_report report;
	struct muster_error err;
	muster_run_init(&run);
	struct muster_node *node = muster_run_add_node(&run, "node-1");
	hwloc_topology_t topology = muster_topology(&err);
	if (!topology || muster_expect_load(argv[1], "generic-nvidia", NULL, &expect, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	add_number(&node->samples, "node.cpus", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
	for (int i = 2; i < argc; i++)
		place_rank(node, run.job.ranks++, argv[i]);
	muster_run_derive(&run);
	muster_evaluate(&run, &expect, false, &report);
	for (const struct muster_tally *tally = report.tallies; tally < report.tallies + report.tally_count; tally++)
		for (size_t status = 0; status < MUSTER_STATUS_COUNT; status++) /* a node has one in each check */
			if (tally->count[status] > 0 && strncmp(tally->check, "affinity.", strlen("affinity.")) == 0)
				printf("%s %s\n", tally->check, muster_status_names[status]);
	return 0;
}

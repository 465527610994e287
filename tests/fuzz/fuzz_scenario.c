/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scenario.c - a scenario file of any bytes: refused with one line, or it makes a cluster whose masks are masks */
#include "fuzz.h"

#include "util/text.h"
#include "sim/fault.h"
#include "sim/scenario.h"
#include "util/cpuset.h"

#include <string.h>

enum { NODES_MAX = 8 };

static void check_cluster(const struct muster_sim_cluster *cluster)
{
	struct muster_error err;
	for (size_t i = 0; i < cluster->rank_count; i++) {
		const struct muster_sim_rank *rank = &cluster->ranks[i];
		FUZZ_CHECK(rank->node >= 0 && (size_t)rank->node < cluster->node_count, "rank %zu", i);
		hwloc_bitmap_t cpus = muster_cpuset_parse_mask(rank->cpu_mask, &err);
		FUZZ_CHECK(cpus, "%s", err.text);
		FUZZ_CHECK(!hwloc_bitmap_iszero(cpus), "rank %zu has no CPU", i);
		hwloc_bitmap_free(cpus);
	}
	for (size_t i = 0; i < cluster->node_count; i++) {
		const struct muster_sim_node *node = &cluster->nodes[i];
		for (size_t j = 0; j < node->gpu_count; j++)
			FUZZ_CHECK(node->gpus[j].bus_id && node->gpus[j].name && node->gpus[j].h2d_gbps > 0 &&
					   node->gpus[j].nvlinks_active >= 0,
				"GPU %zu of node %zu", j, i);
		for (size_t j = 0; j < node->port_count; j++)
			FUZZ_CHECK(node->ports[j].pci && node->ports[j].rate, "port %zu of node %zu", j, i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct muster_sim_scenario scenario;
	struct muster_sim_hardware hardware;
	struct muster_sim_cluster cluster;
	struct muster_error err;
	muster_sim_scenario_init(&scenario);
	if (muster_sim_scenario_read(&scenario, fuzz_file(0, bytes, size), &err) < 0) {
		fuzz_check_error(&err);
		FUZZ_CHECK(err.code == MUSTER_EUSAGE, "%s", err.text);
		FUZZ_CHECK(strstr(err.text, "/proc/self/fd/"), "no file is named: %s", err.text);
	} else {
		struct muster_arena *arena = muster_arena_new();
		scenario.nodes = scenario.nodes < 1 ? 1 : scenario.nodes < NODES_MAX ? scenario.nodes : NODES_MAX;
		const char *sku = scenario.sku ? scenario.sku : "Standard_ND96asr_v4";
		if (muster_sim_hardware_read(MUSTER_SOURCE_DIR "/src/sim/hardware", sku, arena, &hardware, &err) < 0 ||
			muster_sim_scenario_build(&scenario, &hardware, arena, "/none", &cluster, &err) < 0)
			fuzz_check_error(&err);
		else
			check_cluster(&cluster);
		muster_arena_free(arena);
	}
	muster_sim_scenario_done(&scenario);
	return 0;
}

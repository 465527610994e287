/* SPDX-License-Identifier: Apache-2.0 */
/* write_node.c - one healthy simulated node as files, for tests of what reads a machine without MPI
 *
 * usage: write_node HARDWARE-DIRECTORY SKU DIRECTORY     prints the node's root
 */
#include "sim/fs.h"
#include "sim/scenario.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_scenario scenario;
	struct muster_sim_hardware hardware;
	struct muster_sim_cluster cluster;
	struct muster_error err = { 0 };
	int failed = argc != 4;
	if (failed) {
		fputs("usage: write_node HARDWARE-DIRECTORY SKU DIRECTORY\n", stderr);
		muster_arena_free(arena);
		return 2;
	}
	muster_sim_scenario_init(&scenario);
	scenario.sku = argv[2];
	scenario.nodes = 1;
	failed = muster_sim_hardware_read(argv[1], scenario.sku, arena, &hardware, &err) < 0 ||
		 muster_sim_scenario_build(&scenario, &hardware, arena, argv[3], &cluster, &err) < 0 ||
		 muster_sim_generate(&cluster, &hardware, &err) < 0;
	if (failed)
		fprintf(stderr, "%s\n", err.text);
	else
		puts(cluster.nodes[0].directory);
	muster_sim_scenario_done(&scenario);
	muster_arena_free(arena);
	return failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sim_fixture.h - for tests: two healthy or broken simulated nodes */
#ifndef TEST_SIM_FIXTURE_H
#define TEST_SIM_FIXTURE_H

#include "sim/scenario.h"

#include <check.h>

#define SIM_HARDWARE_DIR MUSTER_SOURCE_DIR "/src/sim/hardware"
#define SIM_SKU "Standard_ND96asr_v4"
#define SIM_SKU_RACK "Standard_ND128isr_NDR_GB200_v6"
#define SIM_SKU_VGPU "Standard_NC288ds_xl_RTXPro6000_v6"

/* Build the scenario's cluster; its arena is the cluster's. */
static inline int sim_build(const struct muster_sim_scenario *scenario, const char *directory,
	struct muster_sim_hardware *hardware, struct muster_sim_cluster *ret, struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	if (muster_sim_hardware_read(SIM_HARDWARE_DIR, scenario->sku, arena, hardware, err) == 0 &&
		muster_sim_scenario_build(scenario, hardware, arena, directory, ret, err) == 0)
		return 0;
	muster_arena_free(arena);
	return -1;
}

/* Two nodes of a machine type with one fault (NULL: none). */
static inline int sim_two_of(const char *sku, const char *fault, const char *cpu_masks, struct muster_sim_cluster *ret,
	struct muster_error *err)
{
	struct muster_sim_scenario scenario;
	struct muster_sim_hardware hardware;
	muster_sim_scenario_init(&scenario);
	scenario.sku = sku;
	scenario.nodes = 2;
	scenario.cpu_masks = cpu_masks;
	if (fault)
		muster_sim_scenario_add_fault(&scenario, fault);
	int rc = sim_build(&scenario, "/nowhere", &hardware, ret, err);
	muster_sim_scenario_done(&scenario);
	return rc;
}

static inline int sim_two_nodes(
	const char *fault, const char *cpu_masks, struct muster_sim_cluster *ret, struct muster_error *err)
{
	return sim_two_of(SIM_SKU, fault, cpu_masks, ret, err);
}

#endif

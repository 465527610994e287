/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - what to simulate: a machine type, how many nodes, what is broken, which CPUs the ranks get
 *
 * The life of a scenario: muster_sim_scenario_init(); the options of the command line are written into it; _read() adds
 * what a file says; muster_sim_scenario_build() makes a cluster of it and of the machine type's hardware, which
 * launch.c writes as files; muster_sim_scenario_done().
 *
 * It comes from a JSON file, the command line, or both. JSON form, every key optional:
 *   { "sku": "Standard_ND96asr_v4", "nodes": 2, "faults": ["h2d-slow@node1/gpu4=11.2"], "cpu_masks": "ffffff,..." }
 */
#ifndef MUSTER_SIM_SCENARIO_H
#define MUSTER_SIM_SCENARIO_H

#include "sim/hardware.h"

#define MUSTER_SIM_NODES_MAX 128

struct muster_sim_scenario {
	struct muster_arena *arena; /* has the faults and the texts of a file; other texts are argv's */
	const char *sku;            /* NULL: not said */
	int nodes;                  /* 0: not said */
	const char **faults;        /* "KIND@WHERE[=VALUE]", in the order given */
	size_t fault_count, fault_room;
	const char *cpu_masks; /* as srun's mask_cpu list, one mask for each local rank; NULL: the right ones */
	const char *noise;     /* path of the noise that all nodes play; NULL: none */
	int noise_seed;        /* of the moment at which a node begins in it; from 1 on, 0: not given */
	bool alone;            /* without a launcher: ranks are not bound to CPUs, and no job script sets variables */
};

/* The cluster UUID of a rack's NVLink fabric, racks counted from 0; in arena. */
const char *muster_sim_fabric_cluster(struct muster_arena *arena, const char *sku, size_t rack);

/* Give the port at index of a node's, nodes counted from 0, the GUID, GID and LID that no other has. */
void muster_sim_port_identify(struct muster_sim_port *port, struct muster_arena *arena, size_t node, size_t index);

/* The CPUs of one NUMA node of the node, by its os_index (-1: of all of them), as a mask in arena. */
const char *muster_sim_numa_mask(struct muster_arena *arena, const struct muster_sim_node *node, int numa_node);

/* A copy in arena of an array, with room for one element more. */
void *muster_sim_copy(struct muster_arena *arena, const void *from, size_t count, size_t size);

void muster_sim_scenario_init(struct muster_sim_scenario *scenario);
void muster_sim_scenario_done(struct muster_sim_scenario *scenario);

/* Read a scenario file. What the command line has set already stays; faults of the file are added. */
int muster_sim_scenario_read(struct muster_sim_scenario *scenario, const char *path, struct muster_error *err);
void muster_sim_scenario_add_fault(struct muster_sim_scenario *scenario, const char *fault);

/* The cluster that the scenario asks for: the machine's hardware for each node, one rank for each of its GPUs, faults
 * applied. Its arena is the one that hardware was read into, and is the cluster's from then on. directory is where the
 * cluster will be written. Whatever the scenario has wrong is MUSTER_EUSAGE. */
int muster_sim_scenario_build(const struct muster_sim_scenario *scenario, const struct muster_sim_hardware *hardware,
	struct muster_arena *arena, const char *directory, struct muster_sim_cluster *ret, struct muster_error *err);

#endif

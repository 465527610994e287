/* SPDX-License-Identifier: Apache-2.0 */
/* machine_parts.h - what is on a node, as the picture of the node draws it: NUMA nodes with their CPUs, GPUs and ports
 *
 * machine.c makes one for each picture (muster_machine_make), draws it (muster_machine_draw) and releases it. Each GPU
 * and port has the index of its NUMA node in `numas`. Those whose NUMA node is not known go to the only one there is,
 * or else to a NUMA node that is not known and comes last.
 */
#ifndef MUSTER_REPORT_HTML_MACHINE_PARTS_H
#define MUSTER_REPORT_HTML_MACHINE_PARTS_H

#include "muster/arena.h"
#include "muster/finding.h"

#include <hwloc.h>

struct muster_node;
struct muster_rank;
struct muster_run;

struct muster_html_node;

/* The CPUs that a rank may use, on one NUMA node. */
struct muster_machine_mask {
	const struct muster_rank *rank;
	hwloc_const_cpuset_t cpus; /* all of the rank's */
	bool near;                 /* the rank's GPU is on this NUMA node, or its NUMA node is not known */
};

struct muster_machine_numa {
	bool known;
	int index, package;  /* of the operating system; package: -1 when not known */
	hwloc_cpuset_t cpus; /* empty when not known */
	const char *list;    /* "24-47"; NULL when not known */
	struct muster_machine_mask *masks;
	size_t mask_count;
};

struct muster_machine_gpu {
	const char *bus_id, *name;      /* name: NULL when not known */
	int index;                      /* as nvidia-smi counts on the node; -1: not known */
	const struct muster_rank *rank; /* NULL: none took it */
	size_t numa;                    /* place in numas */
	enum muster_status status;
	const char *link;   /* "PCIe 4.0 x16", "C2C 10 x 45 GB/s"; NULL */
	const char *now;    /* the link while copies ran, where it was less: "3.0 x8"; NULL */
	const char *bridge; /* NVLinks: "12 x 25 GB/s"; NULL: none is up, or not known */
	int clique;         /* GPUs of one number reach each other over NVLink, from 0; -1: none */
	size_t peers;       /* of its clique, that it reaches */
};

struct muster_machine_port {
	const char *name;
	const char *state; /* "ACTIVE, 200 Gb/s" */
	size_t numa;
	enum muster_status status;
};

struct muster_machine {
	struct muster_arena *arena;
	const struct muster_node *node;
	struct muster_machine_numa *numas; /* by package, then number; last, if needed, the one that is not known */
	size_t numa_count;
	struct muster_machine_gpu *gpus;
	size_t gpu_count;
	struct muster_machine_port *ports;
	size_t port_count;
	size_t *clique_sizes; /* GPUs of each clique */
	int cliques;
	hwloc_cpuset_t *sets; /* the CPUs of the ranks, which masks point to */
	size_t set_count;
};

/* What is on the node; texts are the arena's or the run's. */
void muster_machine_make(
	const struct muster_run *run, const struct muster_html_node *place, struct muster_machine *ret);
/* Draw the node of this index of the run. */
struct muster_html;
void muster_machine_draw(const struct muster_machine *machine, const struct muster_html *page, size_t index);
void muster_machine_done(struct muster_machine *machine);

#endif

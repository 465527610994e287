/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h - what can be broken in a simulated cluster: the language of faults, their table, and the
 * functions that carry faults out
 *
 * A fault is written KIND@WHERE[=VALUE]: "h2d-slow@node1/gpu4=11.2". WHERE is a node ("node1", counted from 1), a GPU
 * of a node by its CUDA index ("node2/gpu4"; the node alone is all of its GPUs), an RDMA device of a node
 * ("node1/mlx5_ib3"), a NUMA node by its place in the description ("node1/numa0") or a rank ("rank5").
 *
 * Who does what: fault.c reads the text and finds the place; the row of the kind in fault_kinds.c says which field of
 * the place VALUE sets and which function does more; the functions are in fault_gpu.c, fault_network.c, fault_node.c,
 * fault_rank.c and fault_log.c. A kind that only sets a field needs no function.
 *
 * A fault changes facts of the simulated hardware and nothing else; what muster makes of it is not known here.
 */
#ifndef MUSTER_SIM_FAULT_H
#define MUSTER_SIM_FAULT_H

#include "sim/cluster.h"
#include "sim/fault_misbehave.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the WHERE of a kind names, and with it the type of the struct that the row's offset is in. */
enum muster_fault_where {
	AT_NODE = 0,
	AT_GPU, /* written as a node: each of its GPUs */
	AT_PORT,
	AT_RANK,
	AT_NUMA,
	AT_SCRATCH,     /* of a node, which is named */
	AT_FOLDER,      /* the folder that all nodes share, as a node sees it, which is named */
	AT_NODE_OR_GPU, /* written as a node: the node as a whole, with gpu NULL */
	AT_COUNT
};

/* One fault while it is applied, to one place. All pointers but `fault` lead into the cluster, which owns the parts. */
struct muster_fault;
struct muster_fault_target {
	const struct muster_fault *fault;
	struct muster_sim_cluster *cluster;
	struct muster_sim_node *node;     /* named by WHERE, or that of the rank; never NULL in change() and apply() */
	struct muster_sim_gpu *gpu;       /* WHERE is a GPU; else NULL */
	struct muster_sim_port *port;     /* WHERE is a port */
	struct muster_sim_rank *rank;     /* WHERE is a rank */
	struct muster_sim_numa *numa;     /* WHERE is a NUMA node */
	struct muster_sim_volume *volume; /* WHERE is a scratch or a folder */
	void *place;                      /* the one of these that WHERE names; before, the cluster */
	const char *value;                /* VALUE or its default; NULL when there is neither. The cluster's */
	double number;                    /* the same as a number, or its place in the fault's words */
};

/* Break it; apply() may find that it cannot. */
typedef void muster_fault_change(const struct muster_fault_target *t);
typedef int muster_fault_apply(const struct muster_fault_target *t, struct muster_error *err);

/* What a fault needs of the machine. muster_fault_lack() has the test and the message of each; without the need the
 * fault would be accepted and change nothing that muster can see, or would read what is not there. */
enum muster_fault_need {
	NEEDS_NOTHING = 0,
	NEEDS_ADAPTER,   /* the node's first RDMA device, which no earlier fault has removed */
	NEEDS_C2C,       /* links between GPU and CPU, as Grace has them */
	NEEDS_COHERENCE, /* a CoherentGPUMemoryMode of the driver */
	NEEDS_FABRIC,
	NEEDS_FIRST_GPU, /* the node's first GPU, which no earlier fault has removed */
	NEEDS_GPU,       /* the same of the GPU that WHERE names, if it names one */
	NEEDS_IMEX,
	NEEDS_LICENCE, /* a vGPU's */
	NEEDS_MIG,
	NEEDS_NEIGHBOURS, /* another GPU on the node, or NVLink to other nodes */
	NEEDS_NVLINKS,
	NEEDS_PEERS,     /* CUDA's access to another GPU of the node */
	NEEDS_PLUGIN,    /* a network plugin of NCCL */
	NEEDS_RACK,      /* NVLink to other nodes */
	NEEDS_STRIPES,   /* a scratch over several disks */
	NEEDS_TOPO_FILE, /* NCCL's, and two NUMA nodes to swap in it */
};

/* A row of the table of kinds. Many kinds set one field of what WHERE names, and that is all; change() or apply() does
 * what a field cannot, and is called after the field is set. Example:
 *
 *   { "h2d-slow", AT_GPU, "GB/s", "11.2", "copies ...", SETS_WITHIN(gpu, h2d_gbps, NUMBER, 0.001, 10000),
 *     .change = muster_fault_copies_slow }
 *
 * refuses a VALUE outside of 0.001 to 10000 and writes VALUE into gpu->h2d_gbps; muster_fault_copies_slow() then lowers
 * the GPU's rate for copies of all GPUs at once, which is never above that of a copy alone. */
struct muster_fault {
	const char *name;
	enum muster_fault_where where;
	const char *value;         /* what VALUE is: "GB/s"; NULL when the fault takes none */
	const char *default_value; /* NULL when there is none, or it depends on WHERE */
	const char *help;          /* one line */
	enum muster_fault_need needs;
	const char *library;     /* whose functions answer: "cuda", "nvml" */
	enum muster_sim_how how; /* and how they do */
	const char *shown_by;    /* a metric that a run must have measured to show the fault; NULL: each run shows it */
	const char *asks;        /* the options with which a run measures that: "--profile standard --storage" */
	const char *answer;      /* function of NVML without which the fault cannot show on the GPU; NULL: it can */
	muster_fault_change *change;
	muster_fault_apply *apply;
	/* How VALUE becomes the field, which is `size` bytes at `offset` of what WHERE names:
	 *
	 *   NOTHING     VALUE is left to apply()
	 *   CLEARED     no VALUE; false, 0 or NULL. sweep() takes out GPUs and ports whose address is NULL
	 *   TRUE        no VALUE
	 *   TEXT        VALUE as it is written
	 *   APPENDED    VALUE as one more element of a list of texts
	 *   INT         a whole number from low to high; with `words`, the place of VALUE among them
	 *   NUMBER      a number from low to high
	 *   WHOLE       the same without its fraction, for a field of whole numbers beyond an int
	 *
	 * With size 0 an INT or a NUMBER is only read, into target->number, for change() or apply(). */
	enum { SET_NOTHING, SET_CLEARED, SET_TRUE, SET_TEXT, SET_APPENDED, SET_INT, SET_NUMBER, SET_WHOLE } set;
	size_t offset, size, count_offset; /* count_offset: of APPENDED, to a list of texts */
	double low, high;                  /* of an INT, a NUMBER and a WHOLE */
	const char *const *words;          /* VALUE is one of these; NULL: any text */
	size_t word_count;
};

extern const struct muster_fault muster_fault_kinds[]; /* sorted by name */
extern const size_t muster_fault_kind_count;

/* What the machine lacks for the fault, as a sentence; NULL: nothing. */
const char *muster_fault_lack(const struct muster_fault_target *t);

/* VALUE as a number within bounds. -1 with err. */
int muster_fault_number(const char *value, double low, double high, double *ret, struct muster_error *err);

/* The text up to end, or all of it where end is NULL; the cluster's. */
const char *muster_fault_until(const struct muster_fault_target *t, const char *text, const char *end);

/* The list with one text more, which is the cluster's. */
void muster_fault_append(const struct muster_fault_target *t, const char ***list, size_t *count, const char *text);

#define MUSTER_FAULT_EXTRA_DEVICE "mlx5_extra"

/* fault_gpu.c, fault_network.c, fault_rank.c, fault_node.c, fault_log.c */
muster_fault_change muster_fault_copies_slow, muster_fault_ecc_uncorrected, muster_fault_hbm_slow,
	muster_fault_clock_locked, muster_fault_power_limit, muster_fault_gemm_slow, muster_fault_hot,
	muster_fault_power_brake, muster_fault_power_cap, muster_fault_rack, muster_fault_clique, muster_fault_ib_down,
	muster_fault_ib_init, muster_fault_roce, muster_fault_memory_channel, muster_fault_volume_slow,
	muster_fault_scratch_full, muster_fault_scratch_missing;
muster_fault_apply muster_fault_mig, muster_fault_memory_bad, muster_fault_memory_held, muster_fault_stranger,
	muster_fault_stranger_late, muster_fault_nvlink_down, muster_fault_nvlink_errors, muster_fault_c2c_down,
	muster_fault_ib_rate, muster_fault_ib_extra, muster_fault_counter, muster_fault_nic_port_down,
	muster_fault_net_bad, muster_fault_cut, muster_fault_link_bad, muster_fault_link_slow, muster_fault_cpu_mask,
	muster_fault_duplicate_gpu, muster_fault_dies, muster_fault_answer, muster_fault_driver_drift,
	muster_fault_driver_library, muster_fault_module_missing, muster_fault_env, muster_fault_disk_missing,
	muster_fault_daemon_dead, muster_fault_volume_stalls, muster_fault_raid_degraded, muster_fault_xid,
	muster_fault_aer, muster_fault_flap, muster_fault_logged, muster_fault_lines, muster_fault_disk_dead,
	muster_fault_kernel_line, muster_fault_governor;

/* -- for the rest of the simulator -- */

/* Break the cluster in each of the ways, in order. A WHERE counts in the healthy cluster, whatever was broken before.
 * Anything wrong with a fault is MUSTER_EUSAGE, and names the fault. */
int muster_sim_faults_apply(
	struct muster_sim_cluster *cluster, const char *const *texts, size_t count, struct muster_error *err);

/* Say of each fault that the run in this report cannot show what it did not measure, and the option for it. -1 with err
 * when the report cannot be read. */
int muster_sim_faults_unmeasured(
	const char *const *texts, size_t count, const char *report, FILE *out, struct muster_error *err);

/* The table for people, one fault a line. */
void muster_sim_fault_kinds_print(FILE *out);

#endif

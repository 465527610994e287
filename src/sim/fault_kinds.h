/* fault_kinds.h - what the language of faults, their table, and those that break things share
 *
 * A fault changes facts of the simulated hardware and nothing else; what muster makes of it is not known here.
 */
#ifndef MUSTER_SIM_FAULT_KINDS_H
#define MUSTER_SIM_FAULT_KINDS_H

#include "sim/fault.h"

#include <stdbool.h>
#include <stddef.h>

struct fault_target {
	struct muster_sim_cluster *cluster;
	struct muster_sim_node *node;
	struct muster_sim_gpu *gpu;   /* WHERE is a GPU */
	struct muster_sim_port *port; /* WHERE is a port */
	struct muster_sim_rank *rank; /* WHERE is a rank */
};

/* Break it. value is VALUE or its default; NULL when there is neither. */
typedef int fault_apply(const struct fault_target *t, const char *value, struct muster_error *err);

/* A fault either only sets one field of what WHERE names, or apply() breaks it. */
struct fault {
	struct muster_sim_fault_kind kind;
	fault_apply *apply;
	enum { SET_NOTHING, SET_TRUE, SET_TEXT, SET_INT, SET_NUMBER } set;
	size_t offset;
	double low, high; /* of a number */
};

extern const struct fault fault_kinds[]; /* sorted by name */
extern const size_t fault_kind_count;

/* VALUE as a number within bounds; as one of the words, of which NULL is the last: its index. -1 with err. */
int fault_number(const char *value, double low, double high, double *ret, struct muster_error *err);
int fault_word(const char *value, const char *const *words, struct muster_error *err);

/* A text that lives as long as the cluster; a list of them that has one more. */
const char *fault_keep(const struct fault_target *t, const char *text);
void fault_append(const struct fault_target *t, const char ***list, size_t *count, const char *text);

#define FAULT_EXTRA_DEVICE "mlx5_extra"

/* fault_gpu.c, fault_nvlink.c, fault_infiniband.c, fault_barrier.c, fault_rank.c, fault_node.c */
fault_apply fault_gpu_missing, fault_h2d_slow, fault_d2h_slow, fault_ecc_uncorrected, fault_mig, fault_unlicensed;
fault_apply fault_nvlink_down, fault_c2c_down, fault_rack, fault_clique, fault_imex_missing, fault_fabric_state,
	fault_fabric_status, fault_fabric_health;
fault_apply fault_ib_down, fault_ib_init, fault_ib_rate, fault_ib_missing, fault_ib_extra, fault_counter;
fault_apply fault_net_bad, fault_cut, fault_link_bad;
fault_apply fault_cpu_mask, fault_duplicate_gpu, fault_dies, fault_nccl_hang;
fault_apply fault_driver_drift, fault_lib_missing, fault_env, fault_topo_stale, fault_disk_missing;

#endif

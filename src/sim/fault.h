/* fault.h - what can be broken in a simulated cluster
 *
 * A fault is written KIND@WHERE[=VALUE]: "h2d-slow@node1/gpu4=11.2". WHERE is a node ("node1", counted from 1), a GPU
 * of a node by its CUDA index ("node2/gpu4"), an RDMA device of a node ("node1/mlx5_ib3") or a rank ("rank5").
 */
#ifndef MUSTER_SIM_FAULT_H
#define MUSTER_SIM_FAULT_H

#include "sim/cluster.h"

#include <stdio.h>

/* Break the cluster in each of the ways, in order. A WHERE counts in the healthy cluster, whatever was broken before.
 * Anything wrong with a fault is MUSTER_EUSAGE, and names the fault. */
int muster_sim_faults_apply(
	struct muster_sim_cluster *cluster, const char *const *texts, size_t count, struct muster_error *err);

/* The table for people, one fault a line. */
void muster_sim_fault_kinds_print(FILE *out);

#endif

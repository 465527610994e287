/* fs_host.h - what the kernel of a simulated node shows of its GPUs' driver, its processes and its settings */
#ifndef MUSTER_SIM_FS_HOST_H
#define MUSTER_SIM_FS_HOST_H

#include "sim/cluster.h"
#include "sim/fs_tree.h"

/* Enter the directory of a PCI device behind a switch whose ACS sends everything to the root complex. */
void muster_sim_switch_enter(struct muster_sim_tree *t, const char *bus_id);

/* The directories of the PCI devices exist. */
void muster_sim_host_write(struct muster_sim_tree *t, const struct muster_sim_node *node);

#endif

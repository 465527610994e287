/* fs_disks.h - the disks of a simulated node, and the file systems on them, as its kernel shows them */
#ifndef MUSTER_SIM_FS_DISKS_H
#define MUSTER_SIM_FS_DISKS_H

#include "sim/cluster.h"
#include "sim/fs_tree.h"

/* sysfs, dev/, proc/self/mountinfo, and a folder for each place where a file system is mounted. */
void muster_sim_disks_write(struct muster_sim_tree *t, const struct muster_sim_node *node);

#endif

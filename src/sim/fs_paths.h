/* fs_paths.h - the applications' folder of a simulated node, as a shared file system would show it */
#ifndef MUSTER_SIM_FS_PATHS_H
#define MUSTER_SIM_FS_PATHS_H

#include "sim/cluster.h"
#include "sim/fs_tree.h"

/* The paths that may be missing on a node, or have another content: a folder, one in it, and a file of that one. */
extern const char *const muster_sim_paths[3];

void muster_sim_paths_write(struct muster_sim_tree *t, const struct muster_sim_node *node);

#endif

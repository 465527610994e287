/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - which GPU of its node a bus id is, and how people read it */
#ifndef MUSTER_MODEL_GPU_H
#define MUSTER_MODEL_GPU_H

#include "muster/run_data.h"

/* The index of the GPU as nvidia-smi counts on the node, GPUs that are hidden from the job included; -1 when it is not
 * known, or when node or bus_id is NULL. */
int muster_node_gpu_index(const struct muster_node *node, const char *bus_id);

/* "GPU 3 (000b:00:00.0)"; of index -1 "GPU 000b:00:00.0"; "GPU ?" when bus_id is NULL. malloc'd */
char *muster_gpu_text(const char *bus_id, int index);
/* The same of a GPU of this node; the text is the arena's. */
const char *muster_node_gpu_text(struct muster_arena *arena, const struct muster_node *node, const char *bus_id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* hidden_gpus.h - whether every GPU of the node is hidden from this process */
#ifndef MUSTER_WORKER_HIDDEN_GPUS_H
#define MUSTER_WORKER_HIDDEN_GPUS_H

#include <stddef.h>

/* A sentence when CUDA_VISIBLE_DEVICES hides all GPUs that NVML shows from CUDA, or when a cgroup, a container or file
 * modes hide all GPUs of the PCI bus; else "". root is the prefix of /sys, /proc and /dev. */
void muster_gpus_hidden(const char *root, char *ret, size_t size);

#endif

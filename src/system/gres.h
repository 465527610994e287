/* SPDX-License-Identifier: Apache-2.0 */
/* gres.h - GPUs in what Slurm writes of generic resources
 *
 * A list of NAME[:TYPE][:COUNT][(IDX:…)], "gpu:a100-sxm4-80gb:8(IDX:0-7),nic(CNT:2)"; also "gres/gpu:8" and
 * "gres/gpu=8". A count may end in K, M or G, 1024 and its powers; without a count there is one. A type may hold
 * digits, dashes, dots.
 */
#ifndef MUSTER_SYSTEM_GRES_H
#define MUSTER_SYSTEM_GRES_H

#include "muster/error.h"

#include <stddef.h>

/* The GPUs of all types in the list; other resources do not count. */
int muster_gres_gpus(const char *list, size_t length, long *ret, struct muster_error *err);

/* The same of a list that has only GPUs, as in SLURM_GPUS_PER_NODE: [TYPE:]COUNT, "a100:4,h100:2". */
int muster_gres_gpus_alone(const char *list, long *ret, struct muster_error *err);

/* GPUs on each node of a job, of the job's record that `scontrol --details show job` prints. Code MUSTER_EUSAGE if the
 * job has no GPUs, or not as many on each node. */
int muster_gres_of_job(const char *record, long *ret, struct muster_error *err);

#endif

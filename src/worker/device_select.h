/* SPDX-License-Identifier: Apache-2.0 */
/* device_select.h - which GPU a rank takes */
#ifndef MUSTER_WORKER_DEVICE_SELECT_H
#define MUSTER_WORKER_DEVICE_SELECT_H

#include "muster/probe.h"

/* Start NVML and CUDA (cuInit). A missing NVML alone is no error: the probes that need NVML report that. -1 with err
 * when CUDA does not start. */
int muster_device_open(struct muster_probe_ctx *ctx, struct muster_error *err);

/* Choose the rank's GPU: a single visible GPU ("only-visible"), else the one with
 * the number of the local rank in CUDA's order ("local-rank"), or none for a rank beyond the visible GPUs ("none", with
 * why_none). -1 with err when a call of CUDA fails; ret is filled as far as known. */
int muster_device_select(struct muster_probe_ctx *ctx, struct muster_gpu *ret, struct muster_error *err);

/* The library that a worker died of at this step: "nvml", "cuda"; NULL when it is neither, or not known. */
const char *muster_device_died_of(const char *step);

/* Without a library: the GPU that the rank would have had, by its local rank and the order of the bus, where nothing
 * chooses the GPUs. Only its bus id is known then. */
void muster_device_assume(struct muster_probe_ctx *ctx, struct muster_gpu *ret);

/* Make the primary context of the chosen GPU, and make it current. -1 with err. */
int muster_device_use(struct muster_probe_ctx *ctx, struct muster_gpu *gpu, struct muster_error *err);

/* For a rank that no launcher has bound: bind this thread, which runs the probes, to the CPUs near the GPU. Without
 * effect when these are unknown or not allowed; the affinity probe reports that. */
void muster_device_bind_cpus(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu);

/* The name of the path to host memory that the GPU shares with other GPUs: ranks with the same name take turns when
 * copies are timed. The PCI tree of a virtual machine is flat, so the path is the NUMA node ("numa3"); where the kernel
 * does not know the NUMA node, all GPUs of the host have the name "host". Returns out. */
const char *muster_device_path(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu, char *out, size_t size);

#endif

/* device_select.h - which GPU a rank takes */
#ifndef MUSTER_WORKER_DEVICE_SELECT_H
#define MUSTER_WORKER_DEVICE_SELECT_H

#include "muster/probe.h"

/* Start NVML and CUDA (cuInit). A missing NVML alone is no error: the probes that need it say so. */
int muster_device_open(struct muster_probe_ctx *ctx, struct muster_error *err);

/* Choose the rank's GPU and make its primary context current: one visible GPU is the one ("only-visible"); else the
 * local rank's in CUDA's order ("local-rank"); a rank beyond the visible GPUs has none ("none", with why_none).
 * -1 with err when CUDA could not say. ret is filled as far as things are known. */
int muster_device_select(struct muster_probe_ctx *ctx, struct muster_gpu *ret, struct muster_error *err);

/* For a rank that no launcher has put anywhere: this thread, which runs the probes, goes to the CPUs near the GPU. It
 * stays where it is when they are not known or not allowed; the affinity probe tells. */
void muster_device_bind_cpus(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu);

/* What the GPU shares with others on its way to host memory, as a name: GPUs with the same name take turns when copies
 * are timed. The PCI tree of a virtual machine is flat, so it is the NUMA node; where the kernel does not know that,
 * all GPUs of the host have one name. Returns out. */
const char *muster_device_path(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu, char *out, size_t size);

#endif

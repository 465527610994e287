/* device.h - NVML for the rank's own GPU */
#ifndef MUSTER_PROBES_GPU_DEVICE_H
#define MUSTER_PROBES_GPU_DEVICE_H

#include "muster/probe.h"
#include "vendor/nvml.h"

/* NVML's functions, when it shows the rank's GPU, whose handle is gpu->nvml_device. NULL with err when it cannot be
 * opened, or does not show the GPU that CUDA gave to the rank. */
const struct muster_nvml *muster_gpu_nvml(const struct muster_gpu *gpu, struct muster_error *err);

#endif

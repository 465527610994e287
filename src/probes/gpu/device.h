/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - the rank's own GPU: NVML for it, what its parts can do at most, its MIG instance
 *
 * For the probes of one GPU (gpu, gpu_state, gpu_errors, gpu_users, fabric, gpu_load and others), which must not ask
 * for another one: CUDA and NVML count GPUs in different orders, and the worker has joined both by the bus id.
 */
#ifndef MUSTER_PROBES_GPU_DEVICE_H
#define MUSTER_PROBES_GPU_DEVICE_H

#include "vendor/cuda.h"
#include "vendor/nvml.h"
#include "vendor/nvml_gpus.h"
#include "muster/probe.h"

/* NVML's functions, when it shows the rank's GPU, whose handle is gpu->nvml_device. NULL with err when it cannot be
 * opened, or does not show the GPU that CUDA gave to the rank. */
const struct muster_nvml *muster_gpu_nvml(const struct muster_gpu *gpu, struct muster_error *err);

/* CUDA's functions, when CUDA has started and given the rank its GPU. NULL with err, which says why it has not. */
const struct muster_cuda *muster_gpu_cuda(const struct muster_gpu *gpu, struct muster_error *err);

/* Whether the GPU's memory is the system's as well, as on Grace: the kernel may have pages in it. False where CUDA does
 * not say. */
bool muster_gpu_is_coherent(const struct muster_cuda *cuda, const struct muster_gpu *gpu);

/* The GPU's place in its fabric, always in the newest form of the struct. Tried in this order: version 3, version 2
 * (its summary of the health stays 0), then nvmlDeviceGetGpuFabricInfo of R525, which has no health at all. 0, or -1
 * with err. no_health: MUSTER_OK, or why mask and summary of the health are missing. */
int muster_gpu_fabric(const struct muster_nvml *nvml, nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *ret,
	struct muster_error *no_health, struct muster_error *err);

/* The other GPUs that NVML shows and reaches over NVLink, through switches or not, by bus id. -1 with the first err
 * when NVML does not say it of one of them, or shows no other GPU; ret has the GPUs that are known even then. The
 * caller releases ret with muster_nvml_gpus_done. */
int muster_gpu_nvlink_peers(
	const struct muster_nvml *nvml, nvmlDevice_t device, struct muster_nvml_gpus *ret, struct muster_error *err);

/* ---- limits: each from published figures, and none measured on this GPU ---- */
/* GB/s that a PCIe link carries in one direction after encoding; 0 for a generation that is not known. */
double muster_gpu_pcie_gbps(unsigned int generation, unsigned int lanes);

/* GB/s of memory that moves data on both edges of its clock (HBM, GDDR), as NVML gives the clock. */
double muster_gpu_memory_gbps(int bus_bits, unsigned int clock_mhz);

/* TFLOP/s of dense BF16 matrix products; 0 where no figure is published for the compute capability. */
double muster_gpu_matmul_bf16_tflops(int major, int minor, int multiprocessors, unsigned int clock_mhz);

struct muster_gpu_instance {
	char profile[32];           /* "3g.20gb" */
	double memory_mib;          /* of the instance */
	unsigned int slices;        /* of the GPU's seven compute slices */
	unsigned int memory_slices; /* of the GPU's eight memory slices, 1 at least; from the sizes of the memory */
};

/* The instance of the GPU `device` that has this UUID ("MIG-..."). 0, or -1 with err. */
int muster_gpu_instance_find(const struct muster_nvml *nvml, nvmlDevice_t device, const char *uuid,
	struct muster_gpu_instance *ret, struct muster_error *err);

#endif

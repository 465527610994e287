/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_gpus.h - every GPU that NVML counts on the node, also one that it cannot reach */
#ifndef MUSTER_VENDOR_NVML_GPUS_H
#define MUSTER_VENDOR_NVML_GPUS_H

#include "vendor/nvml.h"

struct muster_nvml_gpu {
	nvmlDevice_t device;
	char bus_id[32];           /* sysfs form; "" when NVML gives no handle of the GPU, or no bus id */
	struct muster_error error; /* why bus_id is "": it names the call and the GPU's number in NVML's order */
};

struct muster_nvml_gpus {
	struct muster_nvml_gpu *items; /* in NVML's order */
	size_t count;
	size_t reached; /* those that have a bus id */
};

/* -1 with err when NVML is missing or does not count its GPUs. The caller releases ret with muster_nvml_gpus_done. */
int muster_nvml_gpus_list(struct muster_nvml_gpus *ret, struct muster_error *err);
/* The bus ids of the GPUs that are reached, separated by spaces; the caller frees the text. */
char *muster_nvml_gpus_text(const struct muster_nvml_gpus *gpus);
void muster_nvml_gpus_done(struct muster_nvml_gpus *gpus);

#endif

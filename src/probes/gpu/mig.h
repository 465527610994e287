/* mig.h - the MIG instance that a rank has; a part of the probe gpu */
#ifndef MUSTER_PROBES_GPU_MIG_H
#define MUSTER_PROBES_GPU_MIG_H

#include "vendor/nvml.h"

struct muster_gpu_instance {
	char profile[32];           /* "3g.20gb" */
	double memory_mib;          /* of the instance */
	unsigned int slices;        /* of the GPU's seven compute slices */
	unsigned int memory_slices; /* of the GPU's eight memory slices */
};

/* The instance of the GPU `device` that has this UUID ("MIG-..."). 0, or -1 with err. */
int muster_gpu_instance_find(const struct muster_nvml *nvml, nvmlDevice_t device, const char *uuid,
	struct muster_gpu_instance *ret, struct muster_error *err);

#endif

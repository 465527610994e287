/* mig.c - the MIG instance that a rank has */
#include "probes/gpu/mig.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int muster_gpu_instance_find(const struct muster_nvml *nvml, nvmlDevice_t device, const char *uuid,
	struct muster_gpu_instance *ret, struct muster_error *err)
{
	nvmlDevice_t instance;
	nvmlDeviceAttributes_t attributes = { 0 };
	nvmlMemory_t memory = { 0 };
	char name[128] = "";
	if (muster_nvml_mig_instance(nvml, device, uuid, &instance, err) < 0 ||
		MUSTER_NVML(nvml, err, nvmlDeviceGetName, instance, name, sizeof name) < 0 ||
		MUSTER_NVML(nvml, err, nvmlDeviceGetAttributes_v2, instance, &attributes) < 0 ||
		MUSTER_NVML(nvml, err, nvmlDeviceGetMemoryInfo, device, &memory) < 0)
		return -1;
	const char *mark = strstr(name, "MIG "); /* "NVIDIA A100-SXM4-40GB MIG 3g.20gb" */
	double whole_mib = (double)memory.total / (1 << 20);
	*ret = (struct muster_gpu_instance){ .memory_mib = (double)attributes.memorySizeMB,
		.slices = attributes.computeInstanceSliceCount };
	if (!mark || ret->slices < 1 || ret->slices > 7 || !(ret->memory_mib > 0 && ret->memory_mib <= whole_mib))
		return muster_fail(err, MUSTER_EVENDOR,
			"NVML describes the MIG instance %s as \"%s\", %u slices, %g MiB", uuid, name, ret->slices,
			ret->memory_mib);
	snprintf(ret->profile, sizeof ret->profile, "%s", mark + strlen("MIG "));
	/* an instance has a little less than its slices of the memory */
	ret->memory_slices = (unsigned int)fmax(1, round(ret->memory_mib * 8 / whole_mib));
	return 0;
}

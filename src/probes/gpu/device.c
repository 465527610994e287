/* device.c - NVML for the rank's own GPU */
#include "probes/gpu/device.h"

const struct muster_nvml *muster_gpu_nvml(const struct muster_gpu *gpu, struct muster_error *err)
{
	const struct muster_nvml *nvml = muster_nvml(err);
	if (nvml && gpu->has_nvml)
		return nvml;
	if (nvml)
		muster_fail(
			err, MUSTER_EVENDOR, "NVML does not show GPU %s, which CUDA gave to this rank", gpu->bus_id);
	return NULL;
}

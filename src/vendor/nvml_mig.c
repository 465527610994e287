/* nvml_mig.c - the device of a MIG instance */
#include "vendor/nvml.h"

#include <string.h>
#include <strings.h>

int muster_nvml_mig_instance(const struct muster_nvml *nvml, nvmlDevice_t device, const char *uuid, nvmlDevice_t *ret,
	struct muster_error *err)
{
	unsigned int most = 0;
	char found[96];
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetMaxMigDeviceCount, device, &most) < 0)
		return -1;
	for (unsigned int i = 0; i < most; i++) {
		nvmlDevice_t instance;
		if (nvml->nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance) != NVML_SUCCESS ||
			nvml->nvmlDeviceGetUUID(instance, found, sizeof found) != NVML_SUCCESS ||
			strcasecmp(found, uuid) != 0)
			continue;
		*ret = instance;
		return 0;
	}
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "NVML lists no MIG instance %s on the GPU", uuid);
}

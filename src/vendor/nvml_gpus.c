/* nvml_gpus.c - every GPU that NVML counts on the node, also one that it cannot reach */
#include "vendor/nvml_gpus.h"

#include "system/sysfs.h"
#include "muster/arena.h"

#include <stdlib.h>

static int describe(const struct muster_nvml *nvml, unsigned int index, struct muster_nvml_gpu *gpu)
{
	nvmlPciInfo_t pci;
	struct muster_error *err = &gpu->error;
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetHandleByIndex_v2, index, &gpu->device) == 0 &&
		MUSTER_NVML(nvml, err, nvmlDeviceGetPciInfo_v3, gpu->device, &pci) == 0 &&
		muster_bus_id_normalise(pci.busId, gpu->bus_id, sizeof gpu->bus_id, err) == 0)
		return 0;
	return muster_wrap(err, "GPU %u in NVML's order", index);
}

int muster_nvml_gpus_list(struct muster_nvml_gpus *ret, struct muster_error *err)
{
	unsigned int count;
	const struct muster_nvml *nvml = muster_nvml(err);
	if (!nvml || MUSTER_NVML(nvml, err, nvmlDeviceGetCount_v2, &count) < 0)
		return -1;
	struct muster_nvml_gpus gpus = { .items = muster_calloc(count, sizeof *gpus.items), .count = count };
	for (unsigned int i = 0; i < count; i++)
		gpus.reached += describe(nvml, i, &gpus.items[i]) == 0;
	*ret = gpus;
	return 0;
}

void muster_nvml_gpus_done(struct muster_nvml_gpus *gpus)
{
	free(gpus->items);
	*gpus = (struct muster_nvml_gpus){ 0 };
}

char *muster_nvml_gpus_text(const struct muster_nvml_gpus *gpus)
{
	char *list = muster_strdup("");
	for (size_t i = 0; i < gpus->count; i++) {
		char *longer = muster_asprintf(
			"%s%s%s", list, *list && *gpus->items[i].bus_id ? " " : "", gpus->items[i].bus_id);
		free(list);
		list = longer;
	}
	return list;
}

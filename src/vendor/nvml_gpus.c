/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_gpus.c - every GPU that NVML counts on the node, also one that it cannot reach
 *
 * A GPU that NVML cannot reach gets no handle, or no PCI address, but NVML still counts it. Such a GPU stays in the
 * list with the error, so that its number in NVML's order is known.
 */
#include "vendor/nvml_gpus.h"

#include "system/sysfs.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <strings.h>

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
	char *list = NULL;
	for (size_t i = 0; i < gpus->count; i++)
		if (*gpus->items[i].bus_id)
			muster_list_add(&list, " ", "%s", gpus->items[i].bus_id);
	return list ? list : muster_strdup("");
}

/* ---- a field value of NVML as a number, whatever its type ---- */

/* NVML says with each value which member of the union it has set; the type of one field differs from driver to driver.
 */
int muster_nvml_field_number(const struct muster_nvml *nvml, struct muster_error *err, const nvmlFieldValue_t *value,
	const char *name, double *ret)
{
	if (muster_nvml_check(nvml, value->nvmlReturn, err, name) < 0)
		return -1;
	switch (value->valueType) {
	case NVML_VALUE_TYPE_DOUBLE: *ret = value->value.dVal; return 0;
	case NVML_VALUE_TYPE_UNSIGNED_INT: *ret = value->value.uiVal; return 0;
	case NVML_VALUE_TYPE_UNSIGNED_LONG: *ret = (double)value->value.ulVal; return 0;
	case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: *ret = (double)value->value.ullVal; return 0;
	case NVML_VALUE_TYPE_SIGNED_LONG_LONG: *ret = (double)value->value.sllVal; return 0;
	case NVML_VALUE_TYPE_SIGNED_INT: *ret = value->value.siVal; return 0;
	}
	return muster_fail(err, MUSTER_EVENDOR, "%s: a value of unknown type %d", name, (int)value->valueType);
}

int muster_nvml_field(const struct muster_nvml *nvml, struct muster_error *err, nvmlDevice_t device, unsigned int field,
	const char *name, unsigned int scope, double *ret)
{
	nvmlFieldValue_t value = { .fieldId = field, .scopeId = scope };
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetFieldValues, device, 1, &value) < 0)
		return -1;
	return muster_nvml_field_number(nvml, err, &value, name, ret);
}

/* ---- the device of a MIG instance ---- */

/* All places for instances of the GPU are tried. A place without an instance answers with an error. */
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

/* nvml_field.c - a field value of NVML as a number, whatever its type */
#include "vendor/nvml.h"

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

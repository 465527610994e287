/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - NVML, opened at run time */
#ifndef MUSTER_VENDOR_NVML_H
#define MUSTER_VENDOR_NVML_H

#include "vendor/nvml_abi.h"
#include "muster/error.h"

struct muster_nvml {
#define X(symbol, parameters) nvmlReturn_t(*symbol) parameters;
	MUSTER_NVML_FUNCTIONS(X)
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	const char *(*nvmlErrorString)(nvmlReturn_t result);
};

/* The functions, opened and nvmlInit_v2'd on the first call; NULL with err when the library is missing or refuses. */
const struct muster_nvml *muster_nvml(struct muster_error *err);

/* What nvmlInit_v2 answered, -1 without the library. The library's version, if it gives one. */
int muster_nvml_start(char *ret_version, unsigned int size);

/* As muster_cuda_check. NOT_SUPPORTED and FUNCTION_NOT_FOUND give MUSTER_ENOTSUPPORTED, NO_PERMISSION
 * MUSTER_ENOPERMISSION. */
int muster_nvml_check(const struct muster_nvml *nvml, nvmlReturn_t result, struct muster_error *err, const char *call);

/* Call one of the functions: 0, or -1 with err, which names it. MUSTER_NVML(nvml, err, nvmlDeviceGetCount_v2, &count)
 */
#define MUSTER_NVML(nvml, err, function, ...) muster_nvml_check(nvml, (nvml)->function(__VA_ARGS__), err, #function)

/* One field value of the device as a number. scope: which link, for fields that have one. name is the field's, for err.
 * 0, or -1 with err. MUSTER_NVML_FIELD(nvml, err, device, NVML_FI_DEV_NVLINK_GET_SPEED, 3, &mbps) */
int muster_nvml_field(const struct muster_nvml *nvml, struct muster_error *err, nvmlDevice_t device, unsigned int field,
	const char *name, unsigned int scope, double *ret);
#define MUSTER_NVML_FIELD(nvml, err, device, field, scope, ret)                                                        \
	muster_nvml_field(nvml, err, device, field, #field, scope, ret)

/* The same of a value that nvmlDeviceGetFieldValues has filled in. */
int muster_nvml_field_number(const struct muster_nvml *nvml, struct muster_error *err, const nvmlFieldValue_t *value,
	const char *name, double *ret);

/* The device of the MIG instance of a GPU that has this UUID ("MIG-..."): 0, or -1 with err. */
int muster_nvml_mig_instance(const struct muster_nvml *nvml, nvmlDevice_t device, const char *uuid, nvmlDevice_t *ret,
	struct muster_error *err);

#endif

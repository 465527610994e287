/* nvml.h - NVML, opened at run time */
#ifndef MUSTER_VENDOR_NVML_H
#define MUSTER_VENDOR_NVML_H

#include "vendor/nvml_abi.h"
#include "muster/error.h"

#include <stddef.h>

struct muster_nvml {
#define X(symbol, parameters) nvmlReturn_t(*symbol) parameters;
	MUSTER_NVML_FUNCTIONS(X)
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	const char *(*nvmlErrorString)(nvmlReturn_t result);
};

/* The functions, opened and nvmlInit_v2'd on the first call; NULL with err when the library is missing or refuses. */
const struct muster_nvml *muster_nvml(struct muster_error *err);

/* As muster_cuda_check. NOT_SUPPORTED and FUNCTION_NOT_FOUND give MUSTER_ENOTSUPPORTED, NO_PERMISSION
 * MUSTER_ENOPERMISSION. */
int muster_nvml_check(const struct muster_nvml *nvml, nvmlReturn_t result, struct muster_error *err, const char *call);

/* One field value (NVML_FI_...) of the device as a number. scope: which link, for fields that have one. name is the
 * field's, for err. 0, or -1 with err. */
int muster_nvml_field(const struct muster_nvml *nvml, nvmlDevice_t device, unsigned int field, unsigned int scope,
	const char *name, double *ret, struct muster_error *err);

/* "00000001:00:00.0" (NVML) to "0001:00:00.0" (sysfs): lower case; the domain keeps more than four digits only if
 * needed. */
int muster_bus_id_normalise(const char *bus_id, char *ret, size_t size, struct muster_error *err);

#endif

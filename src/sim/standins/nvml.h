/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - the parts of libnvidia-ml.so.1's stand-in and what they know of each other
 *
 * nvml.c has the library and its devices, nvml_links.c PCIe, NVLink and fabric, nvml_fields.c field values, clocks and
 * heat, nvml_errors.c what devices remember of errors, nvml_processes.c memory and who uses a device.
 *
 * Most functions give one fact of the scenario's GPU, in NVML's unit: the macros GIVES, GIVES_TWO, GIVES_TEXT and
 * GIVES_CLOCK write such a function in one line. Some facts depend on what this process does with the GPU (base.h,
 * struct muster_standin_use): heat, clocks and power, a late stranger, counters that rise. While the process has not
 * loaded CUDA's stand-in, the GPU is idle.
 */
#ifndef MUSTER_SIM_STANDINS_NVML_H
#define MUSTER_SIM_STANDINS_NVML_H

#include "vendor/nvml_abi.h"
#include "sim/cluster.h"
#include "sim/standins/base.h"

#include <stdbool.h>

#define X(symbol, parameters) MUSTER_STANDIN_EXPORT nvmlReturn_t symbol parameters;
MUSTER_NVML_FUNCTIONS(X)
MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
MUSTER_STANDIN_EXPORT const char *nvmlErrorString(nvmlReturn_t result);

struct nvmlDevice_st {
	const struct muster_sim_gpu *gpu;
	bool instance; /* the MIG instance of a divided GPU */
};

/* SUCCESS when NVML is up, the device is one of ours, the other arguments are as they should be, and the scenario does
 * not say that the device lacks the function. */
nvmlReturn_t muster_simnvml_check(nvmlDevice_t device, bool arguments_ok, const char *function);
/* The call ends here when it cannot go on. */
#define ENTER(entered)                                                                                                 \
	do {                                                                                                           \
		nvmlReturn_t answer = (entered);                                                                       \
		if (answer != NVML_SUCCESS)                                                                            \
			return answer;                                                                                 \
	} while (0)
#define REQUIRE(device, arguments_ok) ENTER(muster_simnvml_check(device, arguments_ok, __func__))

/* length: bytes of ret. INSUFFICIENT_SIZE when the text with its NUL is longer; ret is not written then. */
nvmlReturn_t muster_simnvml_copy_text(const char *text, char *ret, unsigned int length);
nvmlEnableState_t muster_simnvml_enabled(bool yes);

/* What this process does with the device's GPU; all 0 when it has not loaded CUDA. */
struct muster_standin_use muster_simnvml_use(nvmlDevice_t device);

/* A counter of errors of one NVLink, as one of the fields; false when the device has no such counter. */
bool muster_simnvml_link_errors(nvmlDevice_t device, unsigned int field, unsigned int link, double *ret);
/* The same of PCIe. */
bool muster_simnvml_pcie_errors(nvmlDevice_t device, unsigned int field, double *ret);

/* A call that gives one fact of the device, or two; a text; a clock, which is of the SMs or of the memory. `value` and
 * so on are expressions that use `device`. A function that does more, or asks for other arguments, is written out.
 */
#define GIVES(symbol, kind, value)                                                                                     \
	nvmlReturn_t symbol(nvmlDevice_t device, kind *ret)                                                            \
	{                                                                                                              \
		REQUIRE(device, ret != NULL);                                                                          \
		*ret = (kind)(value);                                                                                  \
		return NVML_SUCCESS;                                                                                   \
	}
#define GIVES_TWO(symbol, kind, one, other)                                                                            \
	nvmlReturn_t symbol(nvmlDevice_t device, kind *ret_one, kind *ret_other)                                       \
	{                                                                                                              \
		REQUIRE(device, ret_one != NULL && ret_other != NULL);                                                 \
		*ret_one = (kind)(one);                                                                                \
		*ret_other = (kind)(other);                                                                            \
		return NVML_SUCCESS;                                                                                   \
	}
#define GIVES_TEXT(symbol, text)                                                                                       \
	nvmlReturn_t symbol(nvmlDevice_t device, char *ret, unsigned int length)                                       \
	{                                                                                                              \
		REQUIRE(device, ret != NULL);                                                                          \
		return muster_simnvml_copy_text(text, ret, length);                                                    \
	}
#define GIVES_CLOCK(symbol, sm, memory)                                                                                \
	nvmlReturn_t symbol(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)                              \
	{                                                                                                              \
		REQUIRE(device, mhz && (unsigned int)type <= NVML_CLOCK_MEM);                                          \
		*mhz = (unsigned int)(type == NVML_CLOCK_MEM ? (memory) : (sm));                                       \
		return NVML_SUCCESS;                                                                                   \
	}

#endif

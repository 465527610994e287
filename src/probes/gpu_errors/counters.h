/* counters.h - what NVML counts of the errors of a GPU's links; a part of the probe gpu_errors
 *
 * Counters of the GPU's life: only their increase says something, and healthy links have some errors of most kinds.
 */
#ifndef MUSTER_PROBES_GPU_ERRORS_COUNTERS_H
#define MUSTER_PROBES_GPU_ERRORS_COUNTERS_H

#include "vendor/nvml.h"

#include <stdbool.h>
#include <stddef.h>

/* The kinds of errors of an NVLink. The kinds that checks of the profile standard use come first; not every generation
 * has each kind. */
enum muster_nvlink_error {
	MUSTER_NVLINK_RECOVERY, /* the link lost its partner; NVLink 5: and did not find it again */
	MUSTER_NVLINK_REPLAY,   /* a packet was sent again */
	MUSTER_NVLINK_CRC_FLIT,
	MUSTER_NVLINK_JUDGED,                               /* null where the GPU does not have them */
	MUSTER_NVLINK_LINK_RECOVERY = MUSTER_NVLINK_JUDGED, /* of NVLink 5: the link lost its partner */
	MUSTER_NVLINK_STANDARD,
	MUSTER_NVLINK_CRC_DATA = MUSTER_NVLINK_STANDARD,
	MUSTER_NVLINK_ECC_DATA,
	MUSTER_NVLINK_RECEIVE,
	MUSTER_NVLINK_INTEGRITY,
	MUSTER_NVLINK_EFFECTIVE,
	MUSTER_NVLINK_SYMBOL,
	MUSTER_NVLINK_ERRORS
};
extern const char *const muster_nvlink_error_names[MUSTER_NVLINK_ERRORS];

enum { MUSTER_PCIE_ERRORS = 13 };
extern const char *const muster_pcie_error_names[MUSTER_PCIE_ERRORS]; /* "replay" is the first */

struct muster_nvlink_errors {
	bool known[MUSTER_NVLINK_ERRORS];
	double links[MUSTER_NVLINK_ERRORS][NVML_NVLINK_MAX_LINKS];
	struct muster_error why[MUSTER_NVLINK_ERRORS]; /* unless known */
};

struct muster_pcie_errors {
	bool known[MUSTER_PCIE_ERRORS];
	double counts[MUSTER_PCIE_ERRORS];
	struct muster_error why[MUSTER_PCIE_ERRORS];
};

/* Read the first `kinds` kinds of all links. On Hopper, each link and kind is a call of nearly 1 ms. */
void muster_nvlink_errors_read(
	const struct muster_nvml *nvml, nvmlDevice_t device, size_t kinds, struct muster_nvlink_errors *ret);
/* The sum over the links. */
double muster_nvlink_errors_sum(const struct muster_nvlink_errors *errors, size_t kind);

void muster_pcie_errors_read(const struct muster_nvml *nvml, nvmlDevice_t device, struct muster_pcie_errors *ret);

#endif

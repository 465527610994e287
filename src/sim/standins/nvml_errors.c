/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_errors.c - what a device remembers of its errors
 *
 * Which counters a GPU has depends on its generation, which the compute capability tells:
 *
 *   before Ampere (below 8)       retired pages
 *   from Ampere on (8 and more)   remapped rows, SRAM errors
 *   before Blackwell (below 10)   errors of NVLinks by nvmlDeviceGetNvLinkErrorCounter()
 *   from Blackwell on (10)        the same, and more kinds of them, as field values
 *
 * Counters of links are of the GPU's whole life: those of a healthy one are not all 0, and a fault shows as an
 * increase.
 */
#include "sim/standins/nvml.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* -- errors of the memory -- */

nvmlReturn_t nvmlDeviceGetTotalEccErrors(
	nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long *errors)
{
	REQUIRE(device, errors && (unsigned int)type <= NVML_MEMORY_ERROR_TYPE_UNCORRECTED &&
				(unsigned int)counter <= NVML_AGGREGATE_ECC);
	const struct muster_sim_gpu *gpu = device->gpu;
	if (!gpu->ecc)
		return NVML_ERROR_NOT_SUPPORTED;
	const double counts[2][2] = {
		[NVML_MEMORY_ERROR_TYPE_CORRECTED] = { gpu->ecc_corrected_volatile, gpu->ecc_corrected_aggregate },
		[NVML_MEMORY_ERROR_TYPE_UNCORRECTED] = { gpu->ecc_uncorrected_volatile,
			gpu->ecc_uncorrected_aggregate },
	};
	*errors = (unsigned long long)counts[type][counter];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable,
	unsigned int *pending, unsigned int *failed)
{
	REQUIRE(device, correctable && uncorrectable && pending && failed);
	if (device->gpu->compute_major < 8 || device->gpu->mig_slices > 0) /* before Ampere, or divided */
		return NVML_ERROR_NOT_SUPPORTED;
	*correctable = (unsigned int)device->gpu->remap_correctable;
	*uncorrectable = (unsigned int)device->gpu->remap_uncorrectable;
	*pending = device->gpu->remap_pending;
	*failed = device->gpu->remap_failed;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, nvmlEnableState_t *pending)
{
	REQUIRE(device, pending != NULL);
	if (device->gpu->compute_major >= 8) /* they remap rows instead */
		return NVML_ERROR_NOT_SUPPORTED;
	*pending = muster_simnvml_enabled(device->gpu->remap_pending);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t *status)
{
	REQUIRE(device, status != NULL);
	if (status->version != nvmlEccSramErrorStatus_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (!device->gpu->ecc || device->gpu->compute_major < 8)
		return NVML_ERROR_NOT_SUPPORTED;
	if (geteuid() != 0)
		return NVML_ERROR_NO_PERMISSION;
	*status = (nvmlEccSramErrorStatus_t){ .version = status->version,
		.bThresholdExceeded = device->gpu->sram_exceeded };
	return NVML_SUCCESS;
}

/* -- errors of links: counters of a life, some of which are not 0 on a healthy device -- */

#define LINK_WITH_ERRORS 3 /* the one whose counters rise, where there are so many */

static const struct {
	nvmlNvLinkErrorCounter_t counter;
	unsigned int field; /* of NVLink 5; 0: there is no such counter */
	size_t rises;       /* offset of what the work of this process adds; 0: nothing */
	double life;        /* on the first link */
} link_errors[] = {
	{ NVML_NVLINK_ERROR_DL_REPLAY, 0, offsetof(struct muster_sim_gpu, nvlink_replays), 0 },
	{ NVML_NVLINK_ERROR_DL_RECOVERY, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS,
		offsetof(struct muster_sim_gpu, nvlink_recoveries), 0 },
	{ NVML_NVLINK_ERROR_DL_CRC_FLIT, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS,
		offsetof(struct muster_sim_gpu, nvlink_crc_errors), 0 },
	{ NVML_NVLINK_ERROR_DL_CRC_DATA, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS, 0, 9 },
	{ NVML_NVLINK_ERROR_DL_ECC_DATA, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS, 0, 13 },
};
enum { LINK_ERRORS = sizeof link_errors / sizeof *link_errors };

/* The errors of a kind (a row of the table) on a link. They rise once the process has done work on the GPU, on link 3,
 * or on link 0 of a GPU with fewer links. */
static double count_link_errors(nvmlDevice_t device, size_t kind, unsigned int link)
{
	const struct muster_sim_gpu *gpu = device->gpu;
	unsigned int links = (unsigned int)gpu->nvlinks, bad = links > LINK_WITH_ERRORS ? LINK_WITH_ERRORS : 0;
	double count = link == 0 ? link_errors[kind].life : 0, rise = 0;
	if (muster_simnvml_use(device).worked && link == bad && link_errors[kind].rises > 0)
		memcpy(&rise, (const char *)gpu + link_errors[kind].rises, sizeof rise);
	return count + rise;
}

/* Counters of NVLink 5 are field values, those before are not. */
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(
	nvmlDevice_t device, unsigned int link, nvmlNvLinkErrorCounter_t kind, unsigned long long *count)
{
	REQUIRE(device, count && link < NVML_NVLINK_MAX_LINKS && (unsigned int)kind < LINK_ERRORS);
	if (link >= (unsigned int)device->gpu->nvlinks || device->gpu->compute_major >= 10)
		return NVML_ERROR_NOT_SUPPORTED;
	*count = (unsigned long long)count_link_errors(device, kind, link);
	return NVML_SUCCESS;
}

/* A counter of NVLink 5 that the table does not have is 0. */
bool muster_simnvml_link_errors(nvmlDevice_t device, unsigned int field, unsigned int link, double *ret)
{
	if (device->gpu->compute_major < 10 || link >= (unsigned int)device->gpu->nvlinks)
		return false;
	*ret = 0;
	for (size_t i = 0; i < LINK_ERRORS; i++)
		if (link_errors[i].field == field)
			*ret = count_link_errors(device, i, link);
	return field >= NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS &&
	       field <= NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS;
}

/* Counters of PCIe in the GPU's life, the same on each healthy one: 188 recoveries, because a link that changes its
 * speed goes through recovery, and 4 bad packets, which are no fault. A vGPU has none of these counters. */
bool muster_simnvml_pcie_errors(nvmlDevice_t device, unsigned int field, double *ret)
{
	if (field != NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER &&
		(field < NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS || field > NVML_FI_DEV_PCIE_COUNT_LANE_ERROR))
		return false;
	*ret = field == NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER ? 188 : field == NVML_FI_DEV_PCIE_COUNT_BAD_TLP ? 4 : 0;
	return *device->gpu->vgpu_product == '\0';
}

GIVES(nvmlDeviceGetPcieReplayCounter, unsigned int, muster_simnvml_use(device).worked ? device->gpu->pcie_replays : 0)

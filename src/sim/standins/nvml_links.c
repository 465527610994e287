/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_links.c - what NVML says of a device's links: PCIe, NVLink, and the fabric that NVLink joins
 *
 * NVLinks have numbers from 0, and those below nvlinks_active are up. The fabric is that of NVSwitches: state, status
 * and UUID say whether the GPU has joined, the clique which GPUs reach each other, and the health mask holds fields of
 * two bits (and the configuration's of more).
 */
#include "sim/standins/nvml.h"

#include <stdio.h>
#include <string.h>

GIVES(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, device->gpu->pcie_gen)
GIVES(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, device->gpu->pcie_gen_max)
GIVES(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, device->gpu->pcie_width)
GIVES(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, device->gpu->pcie_width_max)

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	REQUIRE(device, active && link < NVML_NVLINK_MAX_LINKS);
	if (link >= (unsigned int)device->gpu->nvlinks)
		return NVML_ERROR_NOT_SUPPORTED;
	*active = muster_simnvml_enabled(link < (unsigned int)device->gpu->nvlinks_active);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(
	nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t *status)
{
	REQUIRE(device, status && what == NVML_P2P_CAPS_INDEX_NVLINK);
	REQUIRE(other, other != device);
	bool joined = muster_standin_is_joined(device->gpu, other->gpu);
	*status = joined ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
	return NVML_SUCCESS;
}

/* -- fabric -- */

/* What all versions of the call give. GPUs before Hopper have no fabric that NVML tells of. */
static nvmlReturn_t fill_fabric(const struct muster_sim_gpu *gpu, nvmlGpuFabricInfo_t *ret)
{
	if (gpu->compute_major < 9)
		return NVML_ERROR_NOT_SUPPORTED;
	memset(ret, 0, sizeof *ret);
	muster_standin_hex("the UUID of a fabric", gpu->fabric_cluster, ret->clusterUuid, sizeof ret->clusterUuid);
	ret->status = (nvmlReturn_t)gpu->fabric_status;
	ret->cliqueId = (unsigned int)gpu->fabric_clique;
	ret->state = (nvmlGpuFabricState_t)gpu->fabric_state;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	REQUIRE(device, info != NULL);
	return fill_fabric(device->gpu, info);
}

/* The summary of a health mask, as version 3 gives it: unhealthy when a field says yes, or the configuration is other
 * than "nothing wrong"; a mask of 0 (nothing is said) has the summary 0.
 */
static unsigned char summarise_health(unsigned int mask)
{
	if (mask == 0)
		return 0;
	unsigned int wrong = mask >> NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION &
			     NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION;
	bool bad = wrong > NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE;
	for (unsigned int shift = 0; shift < NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION; shift += 2)
		bad = bad || (mask >> shift & NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW) ==
				     NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE;
	return bad ? NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY : NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY;
}

/* The caller's struct is as long as its version says: version 2 ends before the summary. */
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	nvmlGpuFabricInfo_t first;
	REQUIRE(device, info != NULL);
	if (info->version != nvmlGpuFabricInfo_v2 && info->version != nvmlGpuFabricInfo_v3)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	ENTER(fill_fabric(device->gpu, &first));
	memcpy(info->clusterUuid, first.clusterUuid, sizeof info->clusterUuid);
	info->status = first.status;
	info->cliqueId = first.cliqueId;
	info->state = first.state;
	info->healthMask = (unsigned int)device->gpu->fabric_health;
	if (info->version == nvmlGpuFabricInfo_v3)
		info->healthSummary = summarise_health(info->healthMask);
	return NVML_SUCCESS;
}

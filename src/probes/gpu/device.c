/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the rank's own GPU: NVML for it, what its parts can do at most, its MIG instance */
#include "probes/gpu/device.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct muster_nvml *muster_gpu_nvml(const struct muster_gpu *gpu, struct muster_error *err)
{
	const struct muster_nvml *nvml = muster_nvml(err);
	if (nvml && gpu->has_nvml)
		return nvml;
	if (nvml)
		muster_fail(
			err, MUSTER_EVENDOR, "NVML does not show GPU %s, which CUDA gave to this rank", gpu->bus_id);
	return NULL;
}

const struct muster_cuda *muster_gpu_cuda(const struct muster_gpu *gpu, struct muster_error *err)
{
	const struct muster_cuda *cuda = muster_cuda(err);
	if (!cuda || gpu->cuda_device >= 0)
		return cuda;
	muster_fail(err, gpu->why_code, "%s", gpu->why_none);
	return NULL;
}

bool muster_gpu_is_coherent(const struct muster_cuda *cuda, const struct muster_gpu *gpu)
{
	int yes = 0;
	return cuda->cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
		       gpu->cuda_device) == CUDA_SUCCESS &&
	       yes;
}

/* The GPU itself is skipped by its handle: its status stays UNKNOWN. A GPU that NVML lists without a handle may be
 * joined or not, so the answer is then incomplete. */
int muster_gpu_nvlink_peers(
	const struct muster_nvml *nvml, nvmlDevice_t device, struct muster_nvml_gpus *ret, struct muster_error *err)
{
	struct muster_error why;
	size_t joined = 0;
	int result = 0;
	*ret = (struct muster_nvml_gpus){ 0 };
	if (muster_nvml_gpus_list(ret, err) < 0)
		return -1;
	if (ret->count < 2)
		result = muster_fail(err, MUSTER_ENOTSUPPORTED, "NVML shows only this GPU");
	for (size_t i = 0; i < ret->count; i++) {
		nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
		struct muster_nvml_gpu *other = &ret->items[i];
		int asked = 0;
		if (!*other->bus_id) {
			why = other->error;
			asked = -1;
		} else if (other->device != device) {
			asked = MUSTER_NVML(nvml, &why, nvmlDeviceGetP2PStatus, device, other->device,
				NVML_P2P_CAPS_INDEX_NVLINK, &status);
			if (asked < 0)
				muster_wrap(&why, "GPU %zu", i);
		}
		if (asked < 0 && result == 0)
			*err = why;
		result = asked < 0 ? -1 : result;
		if (status == NVML_P2P_STATUS_OK)
			ret->items[joined++] = *other; /* the GPUs that NVLink reaches move to the front, in place */
	}
	ret->count = joined;
	return result;
}

/* ---- what a GPU's parts can do at most, by published figures ---- */

double muster_gpu_pcie_gbps(unsigned int generation, unsigned int lanes)
{
	/* Transfers a second on each lane, and the share of the bits that is left after encoding: PCI Express Base
	 * Specification 6.0 (8b/10b, 128b/130b; 242 of the 256 bytes of a FLIT). */
	static const struct {
		double gigatransfers, left;
	} generations[] = {
		[1] = { 2.5, 8.0 / 10 },
		[2] = { 5, 8.0 / 10 },
		[3] = { 8, 128.0 / 130 },
		[4] = { 16, 128.0 / 130 },
		[5] = { 32, 128.0 / 130 },
		[6] = { 64, 242.0 / 256 },
	};
	if (generation >= sizeof generations / sizeof *generations)
		return 0;
	return generations[generation].gigatransfers * generations[generation].left * lanes / 8;
}

/* Two transfers of the whole bus in each clock. */
double muster_gpu_memory_gbps(int bus_bits, unsigned int clock_mhz)
{
	return bus_bits / 8.0 * clock_mhz * 2 / 1e3;
}

double muster_gpu_matmul_bf16_tflops(int major, int minor, int multiprocessors, unsigned int clock_mhz)
{
	/* Dense operations for each multiprocessor and clock; a multiply-add is two. Sources: NVIDIA A100 Tensor Core
	 * GPU Architecture (1,024 multiply-adds), NVIDIA H100 Tensor Core GPU Architecture (twice the A100). Blackwell
	 * by its data sheets: 2.5 PFLOP/s of a GPU of GB200 NVL72 are 148 multiprocessors x 8,192 x 2,062 MHz, and one
	 * of GB300 NVL72 has as many. */
	static const struct {
		int major, minor;
		double operations;
	} published[] = {
		{ 8, 0, 2048 },
		{ 9, 0, 4096 },
		{ 10, 0, 8192 },
		{ 10, 3, 8192 },
	};
	for (size_t i = 0; i < sizeof published / sizeof *published; i++)
		if (published[i].major == major && published[i].minor == minor)
			return published[i].operations * multiprocessors * clock_mhz / 1e6;
	return 0;
}

/* ---- the MIG instance that a rank has ---- */

/* NVML gives the compute slices of an instance, and of its memory the size alone. The profile is the end of the name.
 * What is not plausible (no profile in the name, slices beyond seven, more memory than the GPU has) is an error,
 * because limits are made of it. */
int muster_gpu_instance_find(const struct muster_nvml *nvml, nvmlDevice_t device, const char *uuid,
	struct muster_gpu_instance *ret, struct muster_error *err)
{
	nvmlDevice_t instance;
	nvmlDeviceAttributes_t attributes = { 0 };
	nvmlMemory_t memory = { 0 };
	char name[128] = "";
	if (muster_nvml_mig_instance(nvml, device, uuid, &instance, err) < 0 ||
		MUSTER_NVML(nvml, err, nvmlDeviceGetName, instance, name, sizeof name) < 0 ||
		MUSTER_NVML(nvml, err, nvmlDeviceGetAttributes_v2, instance, &attributes) < 0 ||
		MUSTER_NVML(nvml, err, nvmlDeviceGetMemoryInfo, device, &memory) < 0)
		return -1;
	const char *mark = strstr(name, "MIG "); /* "NVIDIA A100-SXM4-40GB MIG 3g.20gb" */
	double whole_mib = (double)memory.total / (1 << 20);
	*ret = (struct muster_gpu_instance){ .memory_mib = (double)attributes.memorySizeMB,
		.slices = attributes.computeInstanceSliceCount };
	if (!mark || ret->slices < 1 || ret->slices > 7 || !(ret->memory_mib > 0 && ret->memory_mib <= whole_mib))
		return muster_fail(err, MUSTER_EVENDOR,
			"NVML describes the MIG instance %s as \"%s\", %u slices, %g MiB", uuid, name, ret->slices,
			ret->memory_mib);
	snprintf(ret->profile, sizeof ret->profile, "%s", mark + strlen("MIG "));
	/* an instance has a little less than its slices of the memory */
	ret->memory_slices = (unsigned int)fmax(1, round(ret->memory_mib * 8 / whole_mib));
	return 0;
}

int muster_gpu_fabric(const struct muster_nvml *nvml, nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *ret,
	struct muster_error *no_health, struct muster_error *err)
{
	nvmlGpuFabricInfo_t first = { 0 };
	*ret = (nvmlGpuFabricInfo_v3_t){ .version = nvmlGpuFabricInfo_v3 };
	*no_health = (struct muster_error){ 0 };
	nvmlReturn_t result = nvml->nvmlDeviceGetGpuFabricInfoV(device, ret);
	if (result == NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
		*ret = (nvmlGpuFabricInfo_v3_t){ .version = nvmlGpuFabricInfo_v2 };
		result = nvml->nvmlDeviceGetGpuFabricInfoV(device, ret);
	}
	if (muster_nvml_check(nvml, result, no_health, "nvmlDeviceGetGpuFabricInfoV") == 0)
		return 0;
	if (result != NVML_ERROR_FUNCTION_NOT_FOUND && result != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) {
		*err = *no_health;
		return -1;
	}
	if (MUSTER_NVML(nvml, err, nvmlDeviceGetGpuFabricInfo, device, &first) < 0)
		return -1;
	ret->status = first.status;
	ret->cliqueId = first.cliqueId;
	ret->state = first.state;
	memcpy(ret->clusterUuid, first.clusterUuid, sizeof ret->clusterUuid);
	return 0;
}

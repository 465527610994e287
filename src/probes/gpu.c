/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - what the rank's GPU is and how it feels
 *
 * run is called once on each rank that has a GPU, alone. Every NVML call may answer "not supported" or "no permission"
 * (vGPUs, containers): that is a null with NVML's reason, and the rest goes on. Nothing here changes a mode or a clock.
 * Without NVML the probe fails after what CUDA and sysfs say; where CUDA does not start it yields what NVML knows, and
 * then fails with CUDA's reason.
 *
 * The order: what CUDA and sysfs say, which needs no NVML; identity and modes, which decide how the rest is to be read
 * (a MIG instance has a part of the GPU's link and memory, a vGPU shares them with other machines); links, clocks and
 * limits; heat and errors; the other GPUs last.
 *
 * A limit is a fact, not a measurement: generation x lanes of PCIe, links x speed of NVLink, bus x clock of the memory,
 * multiprocessors x clock x published operations. Shares of measured rates are taken of these. Where a part of it is
 * not known the limit is null, and the rate is judged by other checks alone.
 *
 *   limit                          whole GPU   MIG instance                        vGPU
 *   gpu.pcie_limit_gbps            yes         compute slices / 7 of the link      yes
 *   gpu.nvlink_limit_gbps          yes         yes                                 if it says links and speed
 *   gpu.memory_limit_gbps          yes         memory slices / 8 of the memory     null
 *   gpu.matmul_bf16_limit_tflops   yes         by its own multiprocessors (CUDA)   null
 */
#include "vendor/cuda.h"
#include "vendor/nvml.h"
#include "vendor/nvml_gpus.h"
#include "system/sysfs.h"
#include "probes/metrics.h"
#include "probes/gpu/device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A limit: "link" says of what, in words ("PCIe 5.0 x16"). */
#define LIMIT_METRIC(name, ...) NUMBER(GPU, name, GB_PER_S, DRIFTS, __VA_ARGS__, .labels = { "gpu", "link" })

static const struct muster_metric metrics[] = {
	GPU_TEXT("gpu.name", FACT, NOTHING, "name as NVML gives it",
		SHOWN(IN(GPUS, 30, "GPUs of the ranks", .counted = true), IN(RANKS, 30, "model"),
			IN(TICKET, 80, "model"))),
	GPU_TEXT("gpu.uuid", FACT, TEXT, "UUID as NVML gives it", SHOWN(IN(TICKET, 110, "UUID"))),
	GPU_TEXT("gpu.vbios", FACT, NOTHING, "VBIOS version", SHOWN(IN(GPUS, 50, "VBIOS"))),
	GPU_TEXT("gpu.serial", FACT, SERIAL, "serial number of the board",
		SHOWN(IN(GPUS, 70, "serial number", .own = true), IN(TICKET, 90, "serial number"),
			IN(AZURE, 40, "SerialNumber", .optional = true))),
	GPU_TEXT("gpu.board_part", FACT, NOTHING, "part number of the board",
		SHOWN(IN(GPUS, 60, "board part number"), IN(TICKET, 100, "board part number"),
			IN(AZURE, 50, "ModelNumber", .optional = true))),
	GPU_NUMBER("gpu.nvml_index", NONE, FACT, "index in NVML order", .gpu_index = MUSTER_GPU_INDEX),
	GPU_NUMBER("gpu.cuda_index", NONE, FACT, "index in the order of this rank's CUDA"),
	GPU_NUMBER("gpu.numa_node", NONE, FACT, "NUMA node from sysfs; no value when the kernel does not know (-1)",
		.if_null = "the kernel does not know the NUMA nodes of PCI devices, so ranks and buffers may be on the "
			   "wrong socket: look for numa=off or acpi=off in /proc/cmdline, and compare cat "
			   "/sys/bus/pci/devices/*/numa_node with another node of this machine type; if only this node "
			   "has -1, redeploy it, else boot another kernel"),
	GPU_NUMBER("gpu.memory_mib", MEBIBYTES, FACT, "memory as NVML gives it, reserved part included",
		SHOWN(IN(GPUS, 40, "GPU memory"))),
	GPU_TEXT("gpu.compute_capability", FACT, NOTHING, "compute capability: \"8.0\"",
		SHOWN(IN(GPUS, 80, "compute capability", .second = "gpu.multiprocessors", .between = ", ",
			.after = " multiprocessors"))),
	GPU_FLAG("gpu.ecc", FACT, "ECC is enabled", SHOWN(IN(GPUS, 170, "ECC is on"))),
	GPU_FLAG("gpu.mig", FACT, "MIG mode is enabled", SHOWN(IN(GPUS, 180, "MIG is on"))),
	GPU_TEXT("gpu.mig_profile", FACT, NOTHING, "profile of the rank's MIG instance: \"3g.20gb\"",
		SHOWN(IN(GPUS, 190, "MIG profile", .optional = true))),
	GPU_NUMBER("gpu.mig_memory_mib", MEBIBYTES, FACT, "memory of the rank's MIG instance"),
	GPU_NUMBER("gpu.mig_slices", NONE, FACT, "compute slices of the rank's MIG instance, of seven"),
	GPU_FLAG(
		"gpu.persistence", FACT, "persistence mode is enabled", SHOWN(IN(GPUS, 200, "persistence mode is on"))),
	GPU_TEXT("gpu.virtualization", FACT, NOTHING,
		"how this system has the GPU: none (bare metal), passthrough, vgpu, host-vgpu, host-vsga",
		SHOWN(IN(GPUS, 210, "virtualization"))),
	GPU_TEXT("gpu.vgpu_product", FACT, NOTHING, "licensed product of the vGPU; no value for other devices"),
	GPU_FLAG("gpu.vgpu_licensed", FACT, "the vGPU has a licence; no value for other devices"),
	GPU_NUMBER("gpu.pcie_gen", NONE, DRIFTS, "PCIe generation of the link now (drops when idle)"),
	GPU_NUMBER("gpu.pcie_gen_max", NONE, MORE, "PCIe generation that GPU and slot allow",
		SHOWN(IN(GPUS, 90, "PCIe link", .second = "gpu.pcie_width_max", .between = ".0 x"))),
	GPU_NUMBER("gpu.pcie_width", NONE, DRIFTS, "PCIe lanes now"),
	GPU_NUMBER("gpu.pcie_width_max", NONE, MORE, "PCIe lanes that GPU and slot allow"),
	LIMIT_METRIC("gpu.pcie_limit_gbps", "what the PCIe link that GPU and slot allow can carry in one direction"),
	GPU_NUMBER("gpu.nvlinks", NONE, MORE, "NVLinks that are up",
		SHOWN(IN(GPUS, 100, "NVLinks", .second = "gpu.nvlink_gbps", .between = " x "),
			IN(PAGE_GPUS, 80, "NVLinks"))),
	GPU_NUMBER("gpu.nvlink_gbps", GB_PER_S, MORE, "speed of one NVLink, each direction"),
	GPU_NUMBER("gpu.nvlink_peers", NONE, MORE, "other GPUs of the node that NVML reaches over NVLink"),
	GPU_TEXT("gpu.nvlink_peer_gpus", DRIFTS, NOTHING, "bus ids of these, separated by spaces; \"none\""),
	LIMIT_METRIC("gpu.nvlink_limit_gbps", "NVLinks that are up times their speed, one direction"),
	GPU_NUMBER("gpu.sm_clock_mhz", MHZ, DRIFTS, "SM clock now"),
	GPU_NUMBER("gpu.sm_clock_app_mhz", MHZ, FACT, "application clock of the SMs",
		SHOWN(IN(GPUS, 150, "SM clock: of applications"))),
	GPU_NUMBER("gpu.sm_clock_allowed_mhz", MHZ, FACT,
		"highest SM clock, or the application clock where that is lower; no value for a vGPU",
		.called = "the clock that the settings allow"),
	GPU_NUMBER("gpu.sm_clock_max_mhz", MHZ, FACT, "highest SM clock", SHOWN(IN(GPUS, 140, "SM clock: highest"))),
	GPU_NUMBER("gpu.mem_clock_mhz", MHZ, DRIFTS, "memory clock now"),
	GPU_NUMBER("gpu.mem_clock_max_mhz", MHZ, FACT, "highest memory clock",
		SHOWN(IN(GPUS, 160, "memory clock: highest"))),
	GPU_NUMBER("gpu.multiprocessors", NONE, FACT, "multiprocessors (SMs)"),
	GPU_NUMBER("gpu.memory_bus_bits", BITS, FACT, "width of the memory bus"),
	GPU_NUMBER("gpu.memory_limit_gbps", GB_PER_S, DRIFTS,
		"what the memory can move: width of its bus, times its highest clock, times 2",
		.called = "the memory's limit"),
	GPU_NUMBER("gpu.matmul_bf16_limit_tflops", TFLOP_PER_S, DRIFTS,
		"dense BF16 matrix products: multiprocessors, times the highest SM clock, times the published "
		"operations; no value where none are published",
		.called = "the BF16 limit"),
	GPU_TEXT("gpu.throttle_reasons", DRIFTS, NOTHING,
		"active reasons for lower clocks, separated by spaces; \"none\""),
	GPU_NUMBER("gpu.temperature_celsius", CELSIUS, DRIFTS, "GPU temperature"),
	GPU_NUMBER("gpu.power_watts", WATTS, DRIFTS, "power draw now"),
	GPU_NUMBER("gpu.power_limit_watts", WATTS, FACT, "enforced power limit", SHOWN(IN(GPUS, 130, "power limit"))),
	GPU_NUMBER("gpu.ecc_uncorrected_volatile", NONE, LESS, "uncorrected ECC errors since the driver was loaded"),
	GPU_NUMBER("gpu.ecc_uncorrected_aggregate", NONE, LESS, "uncorrected ECC errors in the life of the GPU"),
	GPU_NUMBER("gpu.ecc_corrected_volatile", NONE, LESS, "corrected ECC errors since the driver was loaded"),
	GPU_NUMBER("gpu.remapped_correctable", NONE, LESS, "rows remapped because of correctable errors"),
	GPU_NUMBER("gpu.remapped_uncorrectable", NONE, LESS, "rows remapped because of uncorrectable errors"),
	GPU_FLAG("gpu.remap_pending", FACT, "a row remap, or the retirement of a page, is pending until a GPU reset"),
	GPU_FLAG("gpu.remap_failed", FACT, "a row remap has failed: the GPU has no spare rows left"),
};

/* One GPU as NVML knows it. */
struct view {
	struct muster_probe_ctx *ctx;
	const struct muster_nvml *nvml;
	nvmlDevice_t device;
	const char *bus_id;
	struct muster_error why; /* of the last call that gave nothing; a call that went well leaves it as it was */
	/* highest clocks, for the limits; 0: unknown */
	unsigned int sm_mhz, memory_mhz;
	bool mig;                            /* the GPU is divided */
	struct muster_gpu_instance instance; /* of the rank, then; without slices when it is not known */
	bool vgpu;                           /* other machines may use the same GPU */
	bool fewer_units; /* matrix units, than other GPUs of its compute capability have in a multiprocessor: an H20 */
};

/* Ask NVML for something of the GPU: 0, or -1 with v->why, which the next ASK may overwrite. */
#define ASK(v, function, ...) MUSTER_NVML((v)->nvml, &(v)->why, function, (v)->device, __VA_ARGS__)

/* The value that a call gave, or null with the reason in v->why when result is negative. */
static void yield(const struct view *v, const char *metric, int result, struct muster_value value)
{
	muster_emit_read(v->ctx, metric, v->bus_id, result, value, &v->why);
}

/* A limit and the words for it. */
static void yield_limit(const struct view *v, const char *metric, const char *link, int result, double gbps)
{
	const struct muster_value labels[] = { muster_string(v->bus_id), muster_string(link) };
	muster_emit_read_with(v->ctx, metric, labels, 2, result, muster_number(gbps), &v->why);
}

/* The H20 is recognised by its name, with which that of the H200 begins as well. */
static void measure_identity(struct view *v)
{
	char text[128] = "";
	unsigned int index = 0;
	nvmlMemory_t memory = { 0 };
	muster_step(v->ctx, "NVML: name and memory of GPU %s", v->bus_id);
	yield(v, "gpu.name", ASK(v, nvmlDeviceGetName, text, sizeof text), muster_string(text));
	const char *model = strstr(text, "H20");
	v->fewer_units = model && model[3] != '0';
	yield(v, "gpu.uuid", ASK(v, nvmlDeviceGetUUID, text, sizeof text), muster_string(text));
	yield(v, "gpu.vbios", ASK(v, nvmlDeviceGetVbiosVersion, text, sizeof text), muster_string(text));
	yield(v, "gpu.serial", ASK(v, nvmlDeviceGetSerial, text, sizeof text), muster_string(text));
	yield(v, "gpu.board_part", ASK(v, nvmlDeviceGetBoardPartNumber, text, sizeof text), muster_string(text));
	int result = ASK(v, nvmlDeviceGetIndex, &index);
	yield(v, "gpu.nvml_index", result, muster_number(index));
	result = ASK(v, nvmlDeviceGetMemoryInfo, &memory);
	yield(v, "gpu.memory_mib", result, muster_number((double)memory.total / (1 << 20)));
}

static void measure_modes(struct view *v)
{
	nvmlEnableState_t mode = NVML_FEATURE_DISABLED, pending;
	unsigned int mig = NVML_DEVICE_MIG_DISABLE, mig_pending;
	muster_step(v->ctx, "NVML: ECC and MIG mode of GPU %s", v->bus_id);
	int result = ASK(v, nvmlDeviceGetEccMode, &mode, &pending);
	yield(v, "gpu.ecc", result, muster_boolean(mode == NVML_FEATURE_ENABLED));
	result = ASK(v, nvmlDeviceGetMigMode, &mig, &mig_pending);
	v->mig = result == 0 && mig == NVML_DEVICE_MIG_ENABLE;
	yield(v, "gpu.mig", result, muster_boolean(mig == NVML_DEVICE_MIG_ENABLE));
}

/* The rank's MIG instance, by the UUID that CUDA gave. One that is not found has no slices, and its limits are null. */
static void measure_instance(struct view *v)
{
	const char *uuid = muster_probe_env(v->ctx)->gpu->uuid;
	struct muster_gpu_instance *instance = &v->instance;
	muster_step(v->ctx, "NVML: MIG instance of GPU %s", v->bus_id);
	int result = v->mig ? muster_gpu_instance_find(v->nvml, v->device, uuid, instance, &v->why)
			    : muster_fail(&v->why, MUSTER_ENOTSUPPORTED, "MIG mode is not enabled");
	if (result < 0)
		*instance = (struct muster_gpu_instance){ .slices = 0 };
	yield(v, "gpu.mig_profile", result, muster_string(instance->profile));
	yield(v, "gpu.mig_memory_mib", result, muster_number(instance->memory_mib));
	yield(v, "gpu.mig_slices", result, muster_number(instance->slices));
}

/* The driver that keeps a vGPU initialised is the host's. */
static void measure_persistence(struct view *v)
{
	nvmlEnableState_t mode = NVML_FEATURE_DISABLED;
	int result = ASK(v, nvmlDeviceGetPersistenceMode, &mode);
	if (result == 0 && v->vgpu)
		result = muster_fail(&v->why, MUSTER_ENOTSUPPORTED, "the GPU is a vGPU: its host has the mode");
	yield(v, "gpu.persistence", result, muster_boolean(mode == NVML_FEATURE_ENABLED));
}

static const char *const virtualizations[] = {
	[NVML_GPU_VIRTUALIZATION_MODE_NONE] = "none",
	[NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH] = "passthrough",
	[NVML_GPU_VIRTUALIZATION_MODE_VGPU] = "vgpu",
	[NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU] = "host-vgpu",
	[NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA] = "host-vsga",
};

/* The first feature that is switched on in the vGPU. 0, or -1 with v->why. */
static int find_licence(struct view *v, nvmlGridLicensableFeature_t *ret)
{
	nvmlGridLicensableFeatures_t features = { 0 };
	const size_t room = sizeof features.gridLicensableFeatures / sizeof *features.gridLicensableFeatures;
	if (ASK(v, nvmlDeviceGetGridLicensableFeatures_v4, &features) < 0)
		return -1;
	for (size_t i = 0; i < features.licensableFeaturesCount && i < room; i++)
		if (features.gridLicensableFeatures[i].featureEnabled) {
			*ret = features.gridLicensableFeatures[i];
			ret->productName[sizeof ret->productName - 1] = '\0';
			return 0;
		}
	return muster_fail(&v->why, MUSTER_ENOTSUPPORTED,
		"nvmlDeviceGetGridLicensableFeatures_v4 lists %u features, none of them enabled",
		features.licensableFeaturesCount);
}

static void measure_virtualization(struct view *v)
{
	nvmlGpuVirtualizationMode_t mode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
	nvmlGridLicensableFeature_t licence = { 0 };
	char other[32];
	muster_step(v->ctx, "NVML: virtualization, licence and persistence mode of GPU %s", v->bus_id);
	int result = ASK(v, nvmlDeviceGetVirtualizationMode, &mode);
	const char *name =
		(size_t)mode < sizeof virtualizations / sizeof *virtualizations ? virtualizations[mode] : other;
	snprintf(other, sizeof other, "mode %d", (int)mode);
	yield(v, "gpu.virtualization", result, muster_string(name));
	v->vgpu = result == 0 && mode == NVML_GPU_VIRTUALIZATION_MODE_VGPU;

	if (result == 0 && mode != NVML_GPU_VIRTUALIZATION_MODE_VGPU)
		result = muster_fail(
			&v->why, MUSTER_ENOTSUPPORTED, "the GPU is not a vGPU: its virtualization mode is %s", name);
	if (result == 0)
		result = find_licence(v, &licence);
	yield(v, "gpu.vgpu_product", result, muster_string(licence.productName));
	yield(v, "gpu.vgpu_licensed", result, muster_boolean(licence.featureState != 0));
}

/* The limit follows from the highest link that GPU and slot allow together: an idle GPU lowers its generation. */
static void measure_pcie(struct view *v)
{
	unsigned int number = 0, generation = 0, lanes = 0;
	char link[64] = "PCIe";
	muster_step(v->ctx, "NVML: PCIe link of GPU %s", v->bus_id);
	int result = ASK(v, nvmlDeviceGetCurrPcieLinkGeneration, &number);
	yield(v, "gpu.pcie_gen", result, muster_number(number));
	result = ASK(v, nvmlDeviceGetCurrPcieLinkWidth, &number);
	yield(v, "gpu.pcie_width", result, muster_number(number));
	result = ASK(v, nvmlDeviceGetMaxPcieLinkWidth, &lanes);
	yield(v, "gpu.pcie_width_max", result, muster_number(lanes));
	int other = ASK(v, nvmlDeviceGetMaxPcieLinkGeneration, &generation);
	yield(v, "gpu.pcie_gen_max", other, muster_number(generation));

	double gbps = muster_gpu_pcie_gbps(generation, lanes);
	result = result < 0 ? result : other;
	if (result == 0 && gbps <= 0)
		result = muster_fail(&v->why, MUSTER_ENOTSUPPORTED,
			"the speed of PCIe generation %u with %u lanes is not known", generation, lanes);
	if (result == 0 && v->mig && v->instance.slices == 0)
		result = muster_fail(
			&v->why, MUSTER_ENOTSUPPORTED, "MIG mode is enabled: an instance has a part of the PCIe link");
	if (result == 0 && v->mig) { /* at least its slices of the link: all instances may copy at once */
		gbps = gbps * v->instance.slices / 7;
		snprintf(link, sizeof link, "PCIe %u.0 x%u, %u of 7 slices", generation, lanes, v->instance.slices);
	} else if (result == 0) {
		snprintf(link, sizeof link, "PCIe %u.0 x%u", generation, lanes);
	}
	yield_limit(v, "gpu.pcie_limit_gbps", link, result, gbps);
}

/* Links that are up, asked one by one until INVALID_ARGUMENT says that there are no more. NOT_SUPPORTED has two
 * meanings: the GPU has no such link, or a vGPU does not say. Where every link answers so, the link count tells these
 * apart: 0 gives the value 0, more gives null. 0, or -1 with v->why. */
static int count_nvlinks(struct view *v, double *ret)
{
	double up = 0, links;
	unsigned int silent = 0, asked = 0;
	for (; asked < NVML_NVLINK_MAX_LINKS; asked++) {
		nvmlEnableState_t state = NVML_FEATURE_DISABLED;
		nvmlReturn_t result = v->nvml->nvmlDeviceGetNvLinkState(v->device, asked, &state);
		if (result == NVML_ERROR_INVALID_ARGUMENT)
			break;
		if (muster_nvml_check(v->nvml, result, &v->why, "nvmlDeviceGetNvLinkState") == 0)
			up += state == NVML_FEATURE_ENABLED;
		else if (result == NVML_ERROR_NOT_SUPPORTED)
			silent++;
		else
			return muster_wrap(&v->why, "NVLink %u", asked);
	}
	if (silent == asked &&
		MUSTER_NVML_FIELD(v->nvml, &v->why, v->device, NVML_FI_DEV_NVLINK_LINK_COUNT, 0, &links) < 0)
		return -1;
	if (silent == asked && links > 0)
		return muster_fail(&v->why, MUSTER_ENOTSUPPORTED,
			"nvmlDeviceGetNvLinkState is not supported for any of the %g NVLinks", links);
	*ret = up;
	return 0;
}

/* MB/s of one link in one direction. Hopper and later have no common speed and are asked link by link; the first link
 * that gives a speed counts. 0, or -1 with v->why, which is about the common speed. */
static int ask_nvlink_speed(struct view *v, double *ret)
{
	double mbps = 0;
	if (MUSTER_NVML_FIELD(v->nvml, &v->why, v->device, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, 0, &mbps) == 0)
		muster_fail(&v->why, MUSTER_ENOTSUPPORTED, "NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON is %g", mbps);
	for (unsigned int link = 0; mbps <= 0 && link < NVML_NVLINK_MAX_LINKS; link++)
		MUSTER_NVML_FIELD(v->nvml, NULL, v->device, NVML_FI_DEV_NVLINK_GET_SPEED, link, &mbps);
	if (mbps <= 0)
		return -1;
	*ret = mbps;
	return 0;
}

static void measure_nvlink(struct view *v)
{
	double links = 0, mbps = 0;
	char link[64] = "NVLink";
	struct muster_nvml_gpus peers;
	muster_step(v->ctx, "NVML: NVLinks of GPU %s", v->bus_id);
	int up = count_nvlinks(v, &links), result = up;
	yield(v, "gpu.nvlinks", up, muster_number(links));
	if (result == 0 && links < 1)
		result = muster_fail(&v->why, MUSTER_ENOTSUPPORTED, "no NVLink is up");
	else /* a vGPU may tell the speed where it does not tell the links */
		result = ask_nvlink_speed(v, &mbps);
	yield(v, "gpu.nvlink_gbps", result, muster_number(mbps / 1000));
	if (result == 0 && up < 0)
		result = muster_fail(&v->why, MUSTER_ENOTSUPPORTED, "how many NVLinks are up is not known");
	if (result == 0)
		snprintf(link, sizeof link, "NVLink (%g x %.1f)", links, mbps / 1000);
	yield_limit(v, "gpu.nvlink_limit_gbps", link, result, links * mbps / 1000);

	muster_step(v->ctx, "NVML: GPUs that GPU %s reaches over NVLink", v->bus_id);
	result = muster_gpu_nvlink_peers(v->nvml, v->device, &peers, &v->why);
	char *names = muster_nvml_gpus_text(&peers);
	yield(v, "gpu.nvlink_peers", result, muster_number((double)peers.count));
	yield(v, "gpu.nvlink_peer_gpus", result, muster_string(*names ? names : "none"));
	free(names);
	muster_nvml_gpus_done(&peers);
}

static const struct {
	unsigned long long bit;
	const char *name;
} throttles[] = {
	{ nvmlClocksThrottleReasonGpuIdle, "idle" },
	{ nvmlClocksThrottleReasonApplicationsClocksSetting, "application-clocks" },
	{ nvmlClocksThrottleReasonSwPowerCap, "sw-power-cap" },
	{ nvmlClocksThrottleReasonHwSlowdown, "hw-slowdown" },
	{ 0x10, "sync-boost" },
	{ nvmlClocksThrottleReasonSwThermalSlowdown, "sw-thermal" },
	{ nvmlClocksThrottleReasonHwThermalSlowdown, "hw-thermal" },
	{ nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "hw-power-brake" },
	{ 0x100, "display-clocks" },
};

/* The names of the bits, separated by spaces; bits without a name in hex; "none". */
static void describe_throttle(unsigned long long mask, char *ret, size_t size)
{
	size_t used = 0;
	for (size_t i = 0; i < sizeof throttles / sizeof *throttles; i++) {
		if (!(mask & throttles[i].bit))
			continue;
		used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? " " : "", throttles[i].name);
		mask &= ~throttles[i].bit;
	}
	if (mask)
		snprintf(ret + used, size - used, "%s0x%llx", used ? " " : "", mask);
	else if (used == 0)
		snprintf(ret, size, "none");
}

/* The highest clocks stay in v for the limits. Without an application clock the allowed clock is the highest one. */
static void measure_clocks(struct view *v)
{
	static const struct {
		const char *now, *highest;
		nvmlClockType_t type;
	} clocks[] = {
		{ "gpu.sm_clock_mhz", "gpu.sm_clock_max_mhz", NVML_CLOCK_SM },
		{ "gpu.mem_clock_mhz", "gpu.mem_clock_max_mhz", NVML_CLOCK_MEM },
	};
	unsigned long long mask = 0;
	char names[256] = "";
	int result;
	muster_step(v->ctx, "NVML: clocks of GPU %s", v->bus_id);
	for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
		unsigned int mhz = 0, *highest = clocks[i].type == NVML_CLOCK_SM ? &v->sm_mhz : &v->memory_mhz;
		result = ASK(v, nvmlDeviceGetClockInfo, clocks[i].type, &mhz);
		yield(v, clocks[i].now, result, muster_number(mhz));
		result = ASK(v, nvmlDeviceGetMaxClockInfo, clocks[i].type, &mhz);
		*highest = result == 0 ? mhz : 0;
		yield(v, clocks[i].highest, result, muster_number(mhz));
	}
	unsigned int app_mhz = 0;
	result = ASK(v, nvmlDeviceGetApplicationsClock, NVML_CLOCK_SM, &app_mhz);
	yield(v, "gpu.sm_clock_app_mhz", result, muster_number(app_mhz));
	double allowed = result == 0 && app_mhz < v->sm_mhz ? app_mhz : v->sm_mhz;
	result = v->sm_mhz && !v->vgpu ? 0
				       : muster_fail(&v->why, v->vgpu ? MUSTER_ENOTSUPPORTED : MUSTER_EVENDOR,
						 v->vgpu ? "the GPU is a vGPU: its host has the clock"
							 : "the highest SM clock is not known");
	yield(v, "gpu.sm_clock_allowed_mhz", result, muster_number(allowed));
	result = ASK(v, nvmlDeviceGetCurrentClocksThrottleReasons, &mask);
	describe_throttle(mask, names, sizeof names);
	yield(v, "gpu.throttle_reasons", result, muster_string(names));
}

static void measure_heat(struct view *v)
{
	unsigned int number = 0;
	muster_step(v->ctx, "NVML: temperature and power of GPU %s", v->bus_id);
	int result = ASK(v, nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU, &number);
	yield(v, "gpu.temperature_celsius", result, muster_number(number));
	result = ASK(v, nvmlDeviceGetPowerUsage, &number);
	yield(v, "gpu.power_watts", result, muster_number(number / 1000.0));
	result = ASK(v, nvmlDeviceGetEnforcedPowerLimit, &number);
	yield(v, "gpu.power_limit_watts", result, muster_number(number / 1000.0));
}

static void measure_errors(struct view *v)
{
	static const struct {
		const char *metric;
		nvmlMemoryErrorType_t type;
		nvmlEccCounterType_t counter;
	} counters[] = {
		{ "gpu.ecc_uncorrected_volatile", NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC },
		{ "gpu.ecc_uncorrected_aggregate", NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC },
		{ "gpu.ecc_corrected_volatile", NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC },
	};
	unsigned int correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
	int result;
	muster_step(v->ctx, "NVML: ECC errors and remapped rows of GPU %s", v->bus_id);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
		unsigned long long errors = 0;
		result = ASK(v, nvmlDeviceGetTotalEccErrors, counters[i].type, counters[i].counter, &errors);
		yield(v, counters[i].metric, result, muster_number((double)errors));
	}
	result = ASK(v, nvmlDeviceGetRemappedRows, &correctable, &uncorrectable, &pending, &failed);
	yield(v, "gpu.remapped_correctable", result, muster_number(correctable));
	yield(v, "gpu.remapped_uncorrectable", result, muster_number(uncorrectable));
	yield(v, "gpu.remap_failed", result, muster_boolean(failed != 0));
	if (result < 0) { /* before Ampere, whole pages are retired */
		nvmlEnableState_t pages = NVML_FEATURE_DISABLED;
		result = ASK(v, nvmlDeviceGetRetiredPagesPendingStatus, &pages);
		pending = pages == NVML_FEATURE_ENABLED;
	}
	yield(v, "gpu.remap_pending", result, muster_boolean(pending != 0));
}

/* What the CUDA driver knows of the GPU, for the limits. Each of the three has a result, 0 or -1, and a reason. */
struct shape {
	int major, minor, multiprocessors, bus_bits; /* major, minor: the compute capability */
	int capability_result, multiprocessors_result, bus_result;
	struct muster_error no_capability, no_multiprocessors, no_bus;
};

static int ask_cuda(const struct muster_gpu *gpu, CUdevice_attribute attribute, int *ret, struct muster_error *err)
{
	const struct muster_cuda *cuda = muster_gpu_cuda(gpu, err);
	return cuda ? MUSTER_CUDA(cuda, err, cuDeviceGetAttribute, ret, attribute, gpu->cuda_device) : -1;
}

static void ask_shape(const struct muster_gpu *gpu, struct shape *ret)
{
	ret->capability_result =
		ask_cuda(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &ret->major, &ret->no_capability);
	if (ret->capability_result == 0)
		ret->capability_result =
			ask_cuda(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &ret->minor, &ret->no_capability);
	ret->multiprocessors_result = ask_cuda(
		gpu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &ret->multiprocessors, &ret->no_multiprocessors);
	ret->bus_result = ask_cuda(gpu, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &ret->bus_bits, &ret->no_bus);
	if (ret->bus_result == 0 && ret->bus_bits < 1)
		ret->bus_result = muster_fail(
			&ret->no_bus, MUSTER_ENOTSUPPORTED, "CUDA gives a memory bus of %d bits", ret->bus_bits);
}

/* What comes from elsewhere: the CUDA driver and sysfs. */
static void measure_beside_nvml(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu, struct shape *ret_shape)
{
	struct shape shape = { 0 };
	struct muster_error why;
	char path[PATH_MAX], capability[32];
	long node = -1;
	muster_emit_result(ctx, "gpu.cuda_index", gpu->bus_id, gpu->cuda_device < 0 ? -1 : 0,
		muster_number(gpu->cuda_device), gpu->why_none);

	muster_step(ctx, "CUDA: compute capability, multiprocessors and memory bus of GPU %s", gpu->bus_id);
	ask_shape(gpu, &shape);
	snprintf(capability, sizeof capability, "%d.%d", shape.major, shape.minor);
	muster_emit_read(ctx, "gpu.compute_capability", gpu->bus_id, shape.capability_result, muster_string(capability),
		&shape.no_capability);
	muster_emit_read(ctx, "gpu.multiprocessors", gpu->bus_id, shape.multiprocessors_result,
		muster_number(shape.multiprocessors), &shape.no_multiprocessors);
	muster_emit_read(ctx, "gpu.memory_bus_bits", gpu->bus_id, shape.bus_result, muster_number(shape.bus_bits),
		&shape.no_bus);

	muster_root_path(ctx, path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", gpu->bus_id);
	int result = muster_sysfs_natural(path, &node, &why);
	muster_emit_read(ctx, "gpu.numa_node", gpu->bus_id, result, muster_number((double)node), &why);
	*ret_shape = shape;
}

/* What memory and matrix units can do at their highest clocks, or null with the reason: MUSTER_ENOTSUPPORTED where the
 * kind of GPU has no such limit, MUSTER_EVENDOR where a number that the limit follows from could not be read. */
static void measure_limits(struct view *v, const struct shape *shape)
{
	const char *shared = v->vgpu ? "the GPU is a vGPU, and other machines may use the same GPU" : NULL;
	const char *why = shared;
	struct muster_error unread;
	char text[128];
	double gbps = muster_gpu_memory_gbps(shape->bus_bits, v->memory_mhz);
	if (v->mig)
		gbps = gbps * v->instance.memory_slices / 8;
	if (v->mig && v->instance.slices == 0)
		why = "MIG mode is enabled: an instance has a part of the memory";
	else if (shape->bus_result < 0)
		why = shape->no_bus.text;
	else if (v->memory_mhz == 0)
		why = "the highest memory clock is not known";
	bool failed = why && !shared && (shape->bus_result < 0 || v->memory_mhz == 0);
	muster_fail(&unread, failed ? MUSTER_EVENDOR : MUSTER_ENOTSUPPORTED, "%s", why ? why : "");
	muster_emit_read(v->ctx, "gpu.memory_limit_gbps", v->bus_id, why ? -1 : 0, muster_number(gbps), &unread);

	double tflops = muster_gpu_matmul_bf16_tflops(shape->major, shape->minor, shape->multiprocessors, v->sm_mhz);
	snprintf(text, sizeof text,
		"no operations per multiprocessor and clock are published for compute capability %d.%d", shape->major,
		shape->minor);
	why = shared                         ? shared
	      : v->fewer_units               ? "this GPU has fewer matrix units than others of its compute capability"
	      : shape->capability_result < 0 ? shape->no_capability.text
	      : shape->multiprocessors_result < 0 ? shape->no_multiprocessors.text
	      : v->sm_mhz == 0                    ? "the highest SM clock is not known"
	      : tflops <= 0                       ? text
						  : NULL;
	failed = shape->capability_result < 0 || shape->multiprocessors_result < 0 || v->sm_mhz == 0;
	muster_fail(&unread, failed && !shared && !v->fewer_units ? MUSTER_EVENDOR : MUSTER_ENOTSUPPORTED, "%s",
		why ? why : "");
	muster_emit_read(
		v->ctx, "gpu.matmul_bf16_limit_tflops", v->bus_id, why ? -1 : 0, muster_number(tflops), &unread);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	struct shape shape;
	measure_beside_nvml(ctx, gpu, &shape);
	muster_step(ctx, "NVML: open");
	struct view v = {
		.ctx = ctx, .nvml = muster_gpu_nvml(gpu, err), .device = gpu->nvml_device, .bus_id = gpu->bus_id
	};
	if (!v.nvml)
		return -1;
	measure_identity(&v);
	measure_modes(&v);
	measure_instance(&v);
	measure_virtualization(&v);
	measure_persistence(&v);
	measure_pcie(&v);
	measure_clocks(&v);
	measure_limits(&v, &shape);
	measure_heat(&v);
	measure_errors(&v);
	/* last: this asks NVML about other GPUs too, and a broken one may make the call hang */
	measure_nvlink(&v);
	return gpu->why_code == MUSTER_OK ? 0 : muster_fail(err, gpu->why_code, "%s", gpu->why_none);
}

const struct muster_probe muster_probe_gpu = {
	.name = "gpu",
	.summary = "inventory, modes, clocks and errors of the rank's GPU",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.by_nvml = true,
	.deadline_ms = 15000,
	.order = 30,
	METRICS(metrics),
	.run = run,
};

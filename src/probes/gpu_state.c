/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_state.c - settings of the rank's GPU, those that it boots with, and its firmware
 *
 * A setting that all GPUs of a node have may be wrong on all of them, and a comparison of GPUs does not show it. So
 * this probe yields what the settings are compared with: the values that the GPU boots with. The present
 * values are those of the probe gpu. What NVML does not say is null with NVML's reason.
 *
 * nvmlDeviceValidateInforom reads the whole InfoROM (70 ms on an H200) and so runs in the longer profiles alone. Its
 * answer NVML_ERROR_CORRUPTED_INFOROM is a fact, every other error a null.
 */
#include "muster/arena.h"
#include "util/text.h"
#include "vendor/nvml.h"
#include "probes/metrics.h"
#include "probes/gpu/device.h"

#include <stdlib.h>

static const struct muster_metric metrics[] = {
	GPU_NUMBER("gpu.power_default_watts", WATTS, FACT, "power limit that the GPU boots with",
		.called = "the default power limit"),
	GPU_NUMBER("gpu.power_requested_watts", WATTS, FACT,
		"power limit that was requested last; the enforced one may be lower, as by the BMC",
		.called = "the requested power limit"),
	GPU_NUMBER("gpu.sm_clock_app_default_mhz", MHZ, FACT, "application clock of the SMs that the GPU boots with",
		.called = "the default application clock"),
	GPU_TEXT("gpu.pending_changes", FACT, NOTHING,
		"modes (ECC, MIG) and repairs (channel, TPC) that a reset or reboot will change; \"none\"",
		SHOWN(IN(GPUS, 185, "a reset will change"))),
	GPU_TEXT("gpu.compute_mode", FACT, NOTHING, "default, exclusive-thread, prohibited, exclusive-process",
		SHOWN(IN(GPUS, 195, "compute mode"))),
	GPU_NUMBER("gpu.bar1_mib", MEBIBYTES, FACT, "BAR1: the window through which other devices reach the memory",
		SHOWN(IN(GPUS, 45, "BAR1"))),
	GPU_FLAG("gpu.inforom_valid", FACT,
		"the checksums of the InfoROM are right; no value in the profile quick (it takes 70 ms on an H200)"),
	GPU_TEXT("gpu.inforom", FACT, NOTHING, "version of the InfoROM's image", SHOWN(IN(GPUS, 52, "InfoROM"))),
	GPU_TEXT("gpu.gsp_firmware", FACT, NOTHING, "version of the firmware of the GPU System Processor (GSP)",
		SHOWN(IN(GPUS, 54, "GSP firmware"))),
};

/* By nvmlComputeMode_t, whose values begin at 0. */
static const char *const compute_modes[] = { "default", "exclusive-thread", "prohibited", "exclusive-process" };

/* "mode 4" for one that muster does not know */
static const char *mode_name(nvmlComputeMode_t mode, char *other, size_t size)
{
	snprintf(other, size, "mode %d", (int)mode);
	return mode < sizeof compute_modes / sizeof *compute_modes ? compute_modes[mode] : other;
}

/* Yield the value that a call of the device has set, or null with the call's error. */
#define YIELD(metric, value, function, ...)                                                                            \
	do {                                                                                                           \
		int result = MUSTER_NVML(nvml, &why, function, gpu->nvml_device, __VA_ARGS__);                         \
		muster_emit_read(ctx, metric, gpu->bus_id, result, value, &why);                                       \
	} while (0)

/* What a reset or a reboot will change, as one text: "ECC: on, will be off; repair of a TPC"; "none". Three calls, of
 * which a GPU may support any: the text has those that answered. Only where none did it is null, with the reason of the
 * last call (ECC). */
static void measure_pending(struct muster_probe_ctx *ctx, const struct muster_gpu *gpu, const struct muster_nvml *nvml)
{
	struct muster_error why;
	nvmlDevice_t device = gpu->nvml_device;
	nvmlEnableState_t ecc = NVML_FEATURE_DISABLED, ecc_next = ecc;
	nvmlRepairStatus_t repair = { .version = nvmlRepairStatus_v1 };
	unsigned int mig = NVML_DEVICE_MIG_DISABLE, mig_next = mig;
	char *list = NULL;
	muster_step(ctx, "NVML: pending modes and repairs of GPU %s", gpu->bus_id);
	bool has_repairs = MUSTER_NVML(nvml, &why, nvmlDeviceGetRepairStatus, device, &repair) == 0;
	bool has_mig = MUSTER_NVML(nvml, &why, nvmlDeviceGetMigMode, device, &mig, &mig_next) == 0;
	bool has_ecc = MUSTER_NVML(nvml, &why, nvmlDeviceGetEccMode, device, &ecc, &ecc_next) == 0;
	if (has_ecc && ecc != ecc_next)
		muster_list_add(&list, "; ", "ECC: %s", ecc ? "on, will be off" : "off, will be on");
	if (has_mig && mig != mig_next)
		muster_list_add(&list, "; ", "MIG: %s", mig ? "on, will be off" : "off, will be on");
	if (has_repairs && repair.bChannelRepairPending)
		muster_list_add(&list, "; ", "repair of a memory channel");
	if (has_repairs && repair.bTpcRepairPending)
		muster_list_add(&list, "; ", "repair of a TPC");
	muster_emit_read(ctx, "gpu.pending_changes", gpu->bus_id, has_ecc || has_mig || has_repairs ? 0 : -1,
		muster_string(list ? list : "none"), &why);
	free(list);
}

static int run(struct muster_probe_ctx *ctx, struct muster_error *err)
{
	const struct muster_gpu *gpu = muster_probe_env(ctx)->gpu;
	const struct muster_nvml *nvml = muster_gpu_nvml(gpu, err);
	struct muster_error why;
	nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
	nvmlBAR1Memory_t bar1 = { 0 };
	unsigned int mw = 0, mhz = 0;
	char text[96] = "";
	if (!nvml)
		return -1;
	measure_pending(ctx, gpu, nvml);
	muster_step(ctx, "NVML: power limits, clocks, compute mode and BAR1 of GPU %s", gpu->bus_id);
	YIELD("gpu.sm_clock_app_default_mhz", muster_number(mhz), nvmlDeviceGetDefaultApplicationsClock, NVML_CLOCK_SM,
		&mhz);
	YIELD("gpu.power_default_watts", muster_number(mw / 1e3), nvmlDeviceGetPowerManagementDefaultLimit, &mw);
	YIELD("gpu.power_requested_watts", muster_number(mw / 1e3), nvmlDeviceGetPowerManagementLimit, &mw);
	YIELD("gpu.compute_mode", muster_string(mode_name(mode, text, sizeof text)), nvmlDeviceGetComputeMode, &mode);
	YIELD("gpu.bar1_mib", muster_number((double)bar1.bar1Total / (1 << 20)), nvmlDeviceGetBAR1MemoryInfo, &bar1);

	muster_step(ctx, "NVML: InfoROM and GSP firmware of GPU %s", gpu->bus_id);
	YIELD("gpu.inforom", muster_string(text), nvmlDeviceGetInforomImageVersion, text, sizeof text);
	YIELD("gpu.gsp_firmware", muster_string(text), nvmlDeviceGetGspFirmwareVersion, text);
	if (muster_probe_env(ctx)->profile == MUSTER_QUICK) {
		muster_emit_null_for(
			ctx, "gpu.inforom_valid", gpu->bus_id, "the profile quick does not check it: it takes 70 ms");
		return 0;
	}
	nvmlReturn_t valid = nvml->nvmlDeviceValidateInforom(gpu->nvml_device);
	bool bad = valid == NVML_ERROR_CORRUPTED_INFOROM;
	int result = bad ? 0 : muster_nvml_check(nvml, valid, &why, "nvmlDeviceValidateInforom");
	muster_emit_read(ctx, "gpu.inforom_valid", gpu->bus_id, result, muster_boolean(!bad), &why);
	return 0;
}

const struct muster_probe muster_probe_gpu_state = {
	.name = "gpu_state",
	.summary = "settings of the rank's GPU, those that it boots with, and its firmware",
	.scope = MUSTER_SCOPE_RANK,
	.needs_gpu = true,
	.by_nvml = true,
	.deadline_ms = 15000,
	.order = 31,
	METRICS(metrics),
	.run = run,
};

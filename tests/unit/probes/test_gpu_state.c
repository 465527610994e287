/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_state.c - a GPU's settings and those that it boots with, against a scripted NVML */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <stdio.h>
#include <string.h>

extern const struct muster_probe muster_probe_gpu_state;

#define BUS_ID "0001:00:00.0"

static struct probe_fake *context;

/* What NVML answers: the result of all calls, and of single ones where that is SUCCESS. */
static struct {
	int result, app_result, inforom_result, repair_result, ecc_result, mode_result;
	int compute_mode, ecc, ecc_next, mig, mig_next, channel, tpc;
} script;

#define ANSWER(own) (nvmlReturn_t)(script.result ? script.result : (own))
#define GIVE(name, type, value, own)                                                                                   \
	static nvmlReturn_t name(nvmlDevice_t device, type *ret)                                                       \
	{                                                                                                              \
		ck_assert_ptr_eq(device, &script);                                                                     \
		*ret = (type)(value);                                                                                  \
		return ANSWER(own);                                                                                    \
	}
GIVE(give_default_limit, unsigned int, 700000, 0)
GIVE(give_requested_limit, unsigned int, 500000, 0)
GIVE(give_compute_mode, nvmlComputeMode_t, script.compute_mode, script.mode_result)

static nvmlReturn_t give_app_default(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	ck_assert(device == (nvmlDevice_t)(void *)&script && type == NVML_CLOCK_SM);
	*mhz = 1095;
	return ANSWER(script.app_result);
}

static nvmlReturn_t give_ecc(nvmlDevice_t device, nvmlEnableState_t *now, nvmlEnableState_t *next)
{
	(void)device;
	*now = (nvmlEnableState_t)script.ecc;
	*next = (nvmlEnableState_t)script.ecc_next;
	return ANSWER(script.ecc_result);
}

static nvmlReturn_t give_mig(nvmlDevice_t device, unsigned int *now, unsigned int *next)
{
	(void)device;
	*now = (unsigned int)script.mig;
	*next = (unsigned int)script.mig_next;
	return ANSWER(0);
}

static nvmlReturn_t give_repair(nvmlDevice_t device, nvmlRepairStatus_t *status)
{
	(void)device;
	ck_assert_uint_eq(status->version, 0x100000c); /* as NVIDIA's own binding for Python has it */
	status->bChannelRepairPending = (unsigned int)script.channel;
	status->bTpcRepairPending = (unsigned int)script.tpc;
	return ANSWER(script.repair_result);
}

static nvmlReturn_t give_bar1(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
	(void)device;
	*memory = (nvmlBAR1Memory_t){ .bar1Total = 131072ull << 20, .bar1Used = 1 };
	return ANSWER(0);
}

static nvmlReturn_t give_inforom(nvmlDevice_t device, char *text, unsigned int length)
{
	(void)device;
	snprintf(text, length, "G520.0200.00.05");
	return ANSWER(0);
}

static nvmlReturn_t give_gsp(nvmlDevice_t device, char *text)
{
	(void)device;
	snprintf(text, 64, "580.95.05"); /* NVML_GSP_FIRMWARE_VERSION_BUF_SIZE */
	return ANSWER(0);
}

static nvmlReturn_t validate(nvmlDevice_t device)
{
	(void)device;
	return ANSWER(script.inforom_result);
}

static void setup(void)
{
	static const struct fake_knob knobs[] = {
		FAKE_KNOB("result", script.result),
		FAKE_KNOB("app_result", script.app_result),
		FAKE_KNOB("inforom_result", script.inforom_result),
		FAKE_KNOB("repair_result", script.repair_result),
		FAKE_KNOB("ecc_result", script.ecc_result),
		FAKE_KNOB("mode_result", script.mode_result),
		FAKE_KNOB("compute_mode", script.compute_mode),
		FAKE_KNOB("ecc_next", script.ecc_next),
		FAKE_KNOB("mig_next", script.mig_next),
		FAKE_KNOB("mig", script.mig),
		FAKE_KNOB("channel", script.channel),
		FAKE_KNOB("tpc", script.tpc),
		{ NULL, NULL, 0 },
	};
	context = fake_new(&muster_probe_gpu_state);
	context->knobs = knobs;
	context->place = BUS_ID;
	fake_gpu(context, BUS_ID, "GPU-1");
	context->gpu.has_nvml = true;
	context->gpu.nvml_device = (nvmlDevice_t)(void *)&script;
	memset(&script, 0, sizeof script);
	script.ecc = script.ecc_next = 1;
	scripted_nvml = (struct muster_nvml){
		.nvmlDeviceGetPowerManagementDefaultLimit = give_default_limit,
		.nvmlDeviceGetPowerManagementLimit = give_requested_limit,
		.nvmlDeviceGetComputeMode = give_compute_mode,
		.nvmlDeviceGetDefaultApplicationsClock = give_app_default,
		.nvmlDeviceGetEccMode = give_ecc,
		.nvmlDeviceGetMigMode = give_mig,
		.nvmlDeviceGetRepairStatus = give_repair,
		.nvmlDeviceGetBAR1MemoryInfo = give_bar1,
		.nvmlDeviceGetInforomImageVersion = give_inforom,
		.nvmlDeviceGetGspFirmwareVersion = give_gsp,
		.nvmlDeviceValidateInforom = validate,
	};
	fake_given(context, "profile=1");
}

static void teardown(void)
{
	fake_free(context);
}

#define PENDING(text) "gpu.pending_changes '" text
static const struct fake_row rows[] = {
	{ "each value is what NVML says", NULL,
		"gpu.power_default_watts 700 | gpu.power_requested_watts 500 | gpu.sm_clock_app_default_mhz 1095 | "
		"gpu.compute_mode 'default | gpu.bar1_mib 131072 | "
		"gpu.inforom 'G520.0200.00.05 | gpu.gsp_firmware '580.95.05 | gpu.inforom_valid true | "
		"gpu.pending_changes 'none" },
	{ "the profile quick does not check the InfoROM", "profile=0", "gpu.inforom_valid -*takes 70 ms" },
	{ "a driver without application clocks", "app_result=26",
		"gpu.sm_clock_app_default_mhz -*nvmlDeviceGetDefaultApplicationsClock*" },
	{ "ECC will change", "ecc_next=0", PENDING("ECC: on, will be off") },
	{ "MIG will change", "mig_next=1", PENDING("MIG: off, will be on") },
	{ "MIG is on and will be off", "mig=1", PENDING("MIG: on, will be off") },
	{ "repairs wait", "channel=1 | tpc=1", PENDING("repair of a memory channel; repair of a TPC") },
	{ "all at once", "ecc_next=0 | mig_next=1 | tpc=1",
		PENDING("ECC: on, will be off; MIG: off, will be on; repair of a TPC") },
	{ "a driver that knows no repairs", "repair_result=13 | channel=1", PENDING("none") },
	{ "a GPU without ECC", "ecc_result=3 | ecc_next=0 | mig_next=1", PENDING("MIG: off, will be on") },
	{ "exclusive", "compute_mode=3", "gpu.compute_mode 'exclusive-process" },
	{ "prohibited", "compute_mode=2", "gpu.compute_mode 'prohibited" },
	{ "a mode of the future", "compute_mode=4", "gpu.compute_mode 'mode 4" },
	{ "of a divided GPU the instances have the mode", "mode_result=3",
		"gpu.compute_mode -*nvmlDeviceGetComputeMode*" },
	{ "a corrupted InfoROM is a value", "inforom_result=14", "gpu.inforom_valid false | gpu.inforom '*" },
	{ "an InfoROM that is not there is none", "inforom_result=3",
		"gpu.inforom_valid -*nvmlDeviceValidateInforom*" },
	{ "what NVML refuses is null", "result=3",
		"gpu.power_default_watts -* | gpu.power_requested_watts -* | gpu.sm_clock_app_default_mhz -* | "
		"gpu.compute_mode -* | gpu.bar1_mib -* | gpu.inforom -* | "
		"gpu.gsp_firmware -* | gpu.inforom_valid -* | gpu.pending_changes -*nvmlDeviceGetEccMode*" },
	{ "a GPU that NVML does not show", "has_nvml=0", "error '*NVML does not show GPU " BUS_ID "*" },
};

TEST_EACH(settings_beside_those_that_the_gpu_boots_with, rows)
{
	fake_case(context, &rows[_i]);
	if (context->gpu.has_nvml)
		fake_complete(context, NULL);
}

TEST_MAIN(.setup = setup, .teardown = teardown)

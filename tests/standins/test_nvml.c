/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml.c - libnvidia-ml.so.1's stand-in does what NVML's documentation says
 */
#include "standins/example.h"

#include "vendor/nvml_abi.h"

#include "check_main.h"
#include <string.h>
#include <unistd.h>

static struct {
#define X(symbol, parameters) nvmlReturn_t(*symbol) parameters;
	MUSTER_NVML_FUNCTIONS(X)
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	const char *(*nvmlErrorString)(nvmlReturn_t result);
} nvml;

#define OK(call) ck_assert_int_eq(nvml.call, NVML_SUCCESS)
#define GIVES(code, call) ck_assert_int_eq(nvml.call, code)

static void start(void)
{
	example_start(example_cluster(), 5); /* on the second node */
	void *library = example_open("libnvidia-ml.so.1");
#define X(symbol, parameters) example_find(library, #symbol, &nvml.symbol, sizeof nvml.symbol);
	MUSTER_NVML_FUNCTIONS(X)
	MUSTER_NVML_OPTIONAL_FUNCTIONS(X)
#undef X
	example_find(library, "nvmlErrorString", &nvml.nvmlErrorString, sizeof nvml.nvmlErrorString);
}

static nvmlDevice_t begin(unsigned int index)
{
	nvmlDevice_t device;
	OK(nvmlInit_v2());
	OK(nvmlDeviceGetHandleByIndex_v2(index, &device));
	return device;
}

TEST(nothing_works_unless_initialised)
{
	unsigned int count;
	char text[96];
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlSystemGetDriverVersion(text, sizeof text));
	OK(nvmlInit_v2());
	OK(nvmlInit_v2());
	OK(nvmlDeviceGetCount_v2(&count));
	ck_assert_uint_eq(count, EXAMPLE_GPUS);
	ck_assert_str_eq(nvml.nvmlErrorString(NVML_ERROR_NOT_FOUND), "A query to find an object was unsuccessful");
}

TEST(texts_need_room_for_all_of_them)
{
	nvmlDevice_t device = begin(0);
	char text[96];
	OK(nvmlSystemGetDriverVersion(text, sizeof text));
	ck_assert_str_eq(text, "580.126.16");
	OK(nvmlSystemGetDriverVersion(text, 11));
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlSystemGetDriverVersion(text, 10));
	OK(nvmlSystemGetNVMLVersion(text, sizeof text));
	ck_assert_str_eq(text, "13.580.126.16");
	OK(nvmlDeviceGetName(device, text, sizeof text));
	ck_assert_str_eq(text, "Example GPU");
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetName(device, text, 4));
	OK(nvmlDeviceGetUUID(device, text, sizeof text));
	ck_assert_str_eq(text, "GPU-abc00000-0123-4567-89ab-cdef00000001");
	OK(nvmlDeviceGetVbiosVersion(device, text, sizeof text));
	ck_assert_str_eq(text, "92.00.45.00.03");
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetName(device, NULL, 4));
}

TEST(devices_are_found_by_index_and_by_any_spelling_of_the_bus_id)
{
	nvmlDevice_t device = begin(2), found;
	unsigned int index;
	nvmlPciInfo_t pci;
	static const char *const spellings[] = { "0003:0a:00.0", "00000003:0A:00.0", "3:a:0" };
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		OK(nvmlDeviceGetHandleByPciBusId_v2(spellings[i], &found));
		ck_assert_ptr_eq(found, device);
	}
	GIVES(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2("0003:0b:00.0", &found));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByPciBusId_v2("somewhere", &found));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(EXAMPLE_GPUS, &found));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetIndex((nvmlDevice_t)(void *)&pci, &index));
	OK(nvmlDeviceGetIndex(device, &index));
	ck_assert_uint_eq(index, 2);
	OK(nvmlDeviceGetPciInfo_v3(device, &pci));
	ck_assert_str_eq(pci.busId, "00000003:0A:00.0");
	ck_assert_str_eq(pci.busIdLegacy, "0003:0A:00.0");
	ck_assert_uint_eq(pci.domain, 3);
	ck_assert_uint_eq(pci.bus, 10);
}

TEST(numbers_are_the_scenarios_in_nvmls_units)
{
	nvmlDevice_t device = begin(0);
	nvmlMemory_t memory;
	nvmlEnableState_t state, pending;
	unsigned int number, other, third, fourth;
	unsigned long long mask;
	int major, minor;
	OK(nvmlDeviceGetMemoryInfo(device, &memory));
	ck_assert_uint_eq(memory.total, 1024ull << 20);
	OK(nvmlDeviceGetEccMode(device, &state, &pending));
	ck_assert_int_eq(state, NVML_FEATURE_ENABLED);
	OK(nvmlDeviceGetPersistenceMode(device, &state));
	ck_assert_int_eq(state, NVML_FEATURE_ENABLED);
	OK(nvmlDeviceGetMigMode(device, &number, &other));
	ck_assert_uint_eq(number, NVML_DEVICE_MIG_DISABLE);
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetMigMode(begin(3), &number, &other));
	OK(nvmlDeviceGetCurrPcieLinkGeneration(device, &number));
	ck_assert_uint_eq(number, 3);
	OK(nvmlDeviceGetMaxPcieLinkGeneration(device, &number));
	ck_assert_uint_eq(number, 4);
	OK(nvmlDeviceGetCurrPcieLinkWidth(device, &number));
	ck_assert_uint_eq(number, 8);
	OK(nvmlDeviceGetMaxPcieLinkWidth(device, &number));
	ck_assert_uint_eq(number, 16);
	OK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &number));
	ck_assert_uint_eq(number, 210);
	OK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &number));
	ck_assert_uint_eq(number, 1215);
	OK(nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_SM, &number));
	ck_assert_uint_eq(number, 1410);
	OK(nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_MEM, &number));
	ck_assert_uint_eq(number, 1216);
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetClockInfo(device, (nvmlClockType_t)9, &number));
	OK(nvmlDeviceGetCurrentClocksThrottleReasons(device, &mask));
	ck_assert_uint_eq(mask, 0x20);
	OK(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &number));
	ck_assert_uint_eq(number, 33);
	OK(nvmlDeviceGetPowerUsage(device, &number));
	ck_assert_uint_eq(number, 55250);
	OK(nvmlDeviceGetEnforcedPowerLimit(device, &number));
	ck_assert_uint_eq(number, 400000);
	OK(nvmlDeviceGetRemappedRows(device, &number, &other, &third, &fourth));
	ck_assert_uint_eq(number, 5);
	ck_assert_uint_eq(other, 6);
	ck_assert_uint_eq(third, 0);
	ck_assert_uint_eq(fourth, 1);
	OK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
	ck_assert_int_eq(major, 8);
	ck_assert_int_eq(minor, 0);
}

TEST(each_kind_of_ecc_error_has_its_count)
{
	nvmlDevice_t device = begin(0);
	unsigned long long errors;
	OK(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, &errors));
	ck_assert_uint_eq(errors, 1);
	OK(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC, &errors));
	ck_assert_uint_eq(errors, 2);
	OK(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC, &errors));
	ck_assert_uint_eq(errors, 3);
	OK(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC, &errors));
	ck_assert_uint_eq(errors, 4);
	GIVES(NVML_ERROR_INVALID_ARGUMENT,
		nvmlDeviceGetTotalEccErrors(device, (nvmlMemoryErrorType_t)2, NVML_VOLATILE_ECC, &errors));
}

TEST(nvlinks_are_up_down_or_not_there)
{
	nvmlDevice_t device = begin(0);
	nvmlEnableState_t state;
	nvmlFieldValue_t fields[3] = { { .fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT },
		{ .fieldId = NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON }, { .fieldId = 9999 } };
	for (unsigned int link = 0; link < 12; link++) {
		OK(nvmlDeviceGetNvLinkState(device, link, &state));
		ck_assert_int_eq(state, link < 11 ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED);
	}
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetNvLinkState(device, 12, &state));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetNvLinkState(device, 18, &state));
	OK(nvmlDeviceGetFieldValues(device, 3, fields));
	ck_assert_int_eq(fields[0].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[0].value.uiVal, 12);
	ck_assert_int_eq(fields[1].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[1].value.uiVal, 25781);
	ck_assert_int_eq(fields[1].valueType, NVML_VALUE_TYPE_UNSIGNED_INT);
	ck_assert_int_ne(fields[2].nvmlReturn, NVML_SUCCESS);
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetFieldValues(device, 0, fields));
}

TEST(nvlink_joins_neighbours_and_nobody_to_itself)
{
	nvmlDevice_t device = begin(0), other;
	nvmlGpuP2PStatus_t status;
	for (unsigned int i = 1; i < 4; i++) {
		OK(nvmlDeviceGetHandleByIndex_v2(i, &other));
		OK(nvmlDeviceGetP2PStatus(device, other, NVML_P2P_CAPS_INDEX_NVLINK, &status));
		ck_assert_int_eq(status, i == 1 ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED);
	}
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetP2PStatus(device, device, NVML_P2P_CAPS_INDEX_NVLINK, &status));
}

static struct muster_sim_cluster *cluster;

/* The first GPU of the second node, to be changed before begin_changed(). */
static struct muster_sim_gpu *change(void)
{
	example_end();
	cluster = example_cluster();
	return &cluster->nodes[1].gpus[0];
}

static nvmlDevice_t begin_changed(void)
{
	example_start(cluster, 5);
	return begin(0);
}

TEST(a_function_that_the_scenario_calls_unsupported_is_so_on_that_gpu_alone)
{
	static const char *names[] = { "nvmlDeviceGetPowerUsage", "nvmlDeviceGetNvLinkState",
		"nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetCurrPcieLinkWidth" };
	struct muster_sim_gpu *gpu = change();
	gpu->compute_major = 9; /* older ones have no fabric */
	gpu->unsupported = names;
	gpu->unsupported_count = 4;
	nvmlDevice_t device = begin_changed();
	nvmlGpuFabricInfo_t first;
	nvmlGpuFabricInfoV_t newer = { .version = nvmlGpuFabricInfo_v3 };
	nvmlEnableState_t state;
	unsigned int number;
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetPowerUsage(device, &number));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetNvLinkState(device, 0, &state));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetCurrPcieLinkWidth(device, &number));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetGpuFabricInfo(device, &first));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetPowerUsage(device, NULL));
	OK(nvmlDeviceGetGpuFabricInfoV(device, &newer));
	OK(nvmlDeviceGetEnforcedPowerLimit(device, &number));
	OK(nvmlDeviceGetPowerUsage(begin(1), &number));
}

TEST(settings_are_beside_those_that_the_gpu_boots_with)
{
	struct muster_sim_gpu *gpu = change();
	gpu->power_requested_watts = 250;
	gpu->power_default_watts = 300;
	gpu->sm_clock_app_default_mhz = 1095;
	gpu->compute_mode = NVML_COMPUTEMODE_EXCLUSIVE_PROCESS;
	gpu->bar1_mib = 256;
	gpu->ecc_changes = gpu->mig_changes = gpu->inforom_bad = true;
	gpu->inforom = "G520.0200.00.05";
	gpu->repair_pending = 2;
	nvmlDevice_t device = begin_changed();
	unsigned int number, other;
	char text[64];
	nvmlComputeMode_t mode;
	nvmlBAR1Memory_t bar1;
	nvmlEnableState_t now, next;
	nvmlRepairStatus_t repair = { .version = nvmlRepairStatus_v1 };
	OK(nvmlDeviceGetPowerManagementLimit(device, &number));
	ck_assert_uint_eq(number, 250000);
	OK(nvmlDeviceGetPowerManagementDefaultLimit(device, &number));
	ck_assert_uint_eq(number, 300000);
	OK(nvmlDeviceGetDefaultApplicationsClock(device, NVML_CLOCK_SM, &number));
	ck_assert_uint_eq(number, 1095);
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetDefaultApplicationsClock(device, (nvmlClockType_t)9, &number));
	OK(nvmlDeviceGetComputeMode(device, &mode));
	ck_assert_int_eq(mode, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
	OK(nvmlDeviceGetBAR1MemoryInfo(device, &bar1));
	ck_assert_uint_eq(bar1.bar1Total, 256ull << 20);
	GIVES(NVML_ERROR_CORRUPTED_INFOROM, nvmlDeviceValidateInforom(device));
	ck_assert_str_eq(nvml.nvmlErrorString(NVML_ERROR_CORRUPTED_INFOROM), "infoROM is corrupted");
	OK(nvmlDeviceGetInforomImageVersion(device, text, sizeof text));
	GIVES(NVML_ERROR_INSUFFICIENT_SIZE, nvmlDeviceGetInforomImageVersion(device, text, 3));
	OK(nvmlDeviceGetGspFirmwareVersion(device, text));
	ck_assert_str_eq(text, "580.126.16");
	OK(nvmlDeviceGetEccMode(device, &now, &next));
	ck_assert(now != next);
	OK(nvmlDeviceGetMigMode(device, &number, &other));
	ck_assert(number != other);
	OK(nvmlDeviceGetRepairStatus(device, &repair));
	ck_assert(repair.bChannelRepairPending == 0 && repair.bTpcRepairPending == 1);
	repair.version = 0;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetRepairStatus(device, &repair));
}

TEST(the_applications_clock_is_not_the_highest_one)
{
	nvmlDevice_t device = begin(0);
	unsigned int mhz;
	OK(nvmlDeviceGetApplicationsClock(device, NVML_CLOCK_SM, &mhz));
	ck_assert_uint_eq(mhz, 1095);
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetApplicationsClock(device, (nvmlClockType_t)9, &mhz));
}

/* Version 2 of the struct ends where the summary begins. */
TEST(the_fabric_is_told_in_the_version_that_is_asked_for_and_no_byte_more)
{
	static const unsigned char uuid[16] = { 0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f, 0x40, 0x81, 0x92, 0xa3, 0xb4, 0xc5,
		0xd6, 0xe7, 0xf8, 0x09 };
	struct muster_sim_gpu *gpu = change();
	gpu->compute_major = 9;
	gpu->fabric_state = NVML_GPU_FABRIC_STATE_COMPLETED;
	gpu->fabric_cluster = "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809";
	gpu->fabric_clique = 32766;
	gpu->fabric_health = 0xa9;
	nvmlDevice_t device = begin_changed();
	nvmlGpuFabricInfo_t first;
	nvmlGpuFabricInfoV_t info = { .version = nvmlGpuFabricInfo_v2, .healthSummary = 77 };
	OK(nvmlDeviceGetGpuFabricInfo(device, &first));
	ck_assert_mem_eq(first.clusterUuid, uuid, sizeof uuid);
	ck_assert_int_eq(first.state, NVML_GPU_FABRIC_STATE_COMPLETED);
	ck_assert_uint_eq(first.cliqueId, 32766);
	OK(nvmlDeviceGetGpuFabricInfoV(device, &info));
	ck_assert_mem_eq(info.clusterUuid, uuid, sizeof uuid);
	ck_assert_uint_eq(info.healthMask, 0xa9);
	ck_assert_uint_eq(info.healthSummary, 77);
	info.version = nvmlGpuFabricInfo_v3;
	OK(nvmlDeviceGetGpuFabricInfoV(device, &info));
	ck_assert_uint_eq(info.healthSummary, NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY);
	info.version = (unsigned int)sizeof info;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetGpuFabricInfoV(device, &info));
	info.version = (unsigned int)sizeof info | 4u << 24;
	GIVES(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetGpuFabricInfoV(device, &info));
	GIVES(NVML_ERROR_INVALID_ARGUMENT, nvmlDeviceGetGpuFabricInfoV(device, NULL));
}

/* nvml.h: "For Hopper or newer", "For Ampere or newer", "Requires root/admin permissions". */
TEST(older_gpus_and_users_are_told_less)
{
	struct muster_sim_gpu *gpu = change();
	gpu->compute_major = 7;
	nvmlDevice_t device = begin_changed(), ampere;
	unsigned int n;
	nvmlEccSramErrorStatus_t sram = { .version = nvmlEccSramErrorStatus_v1 };
	nvmlGpuFabricInfoV_t fabric = { .version = nvmlGpuFabricInfo_v3 };
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetRemappedRows(device, &n, &n, &n, &n));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetSramEccErrorStatus(device, &sram));
	OK(nvmlDeviceGetHandleByIndex_v2(1, &ampere));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetGpuFabricInfoV(ampere, &fabric));
	GIVES(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetGpuFabricInfo(ampere, &(nvmlGpuFabricInfo_t){ 0 }));
	GIVES(geteuid() == 0 ? NVML_SUCCESS : NVML_ERROR_NO_PERMISSION, nvmlDeviceGetSramEccErrorStatus(ampere, &sram));
	if (geteuid() == 0 && seteuid(65534) == 0) {
		GIVES(NVML_ERROR_NO_PERMISSION, nvmlDeviceGetSramEccErrorStatus(ampere, &sram));
		ck_assert_int_eq(seteuid(0), 0);
	}
}

TEST(a_field_is_unknown_to_nvml_or_not_there_on_the_gpu)
{
	nvmlFieldValue_t fields[] = { { .fieldId = NVML_FI_DEV_C2C_LINK_COUNT },
		{ .fieldId = NVML_FI_DEV_C2C_LINK_GET_STATUS }, { .fieldId = 9999 } };
	OK(nvmlDeviceGetFieldValues(begin(0), 3, fields));
	ck_assert_int_eq(fields[0].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(fields[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(fields[2].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
}

TEST(the_nvlinks_of_a_newer_gpu_have_each_their_own_speed)
{
	nvmlFieldValue_t fields[] = { { .fieldId = NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON },
		{ .fieldId = NVML_FI_DEV_NVLINK_GET_SPEED, .scopeId = 10 },
		{ .fieldId = NVML_FI_DEV_NVLINK_GET_SPEED, .scopeId = 11 },
		{ .fieldId = NVML_FI_DEV_NVLINK_GET_SPEED, .scopeId = 12 } };
	change()->compute_major = 9;
	OK(nvmlDeviceGetFieldValues(begin_changed(), 4, fields));
	ck_assert_int_eq(fields[0].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	ck_assert_uint_eq(fields[1].value.uiVal, 25781);
	ck_assert_int_eq(fields[2].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[2].value.uiVal, 0); /* it is down */
	ck_assert_int_eq(fields[3].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
}

TEST(c2c_links_are_asked_one_by_one)
{
	nvmlFieldValue_t fields[] = { { .fieldId = NVML_FI_DEV_C2C_LINK_COUNT },
		{ .fieldId = NVML_FI_DEV_C2C_LINK_GET_STATUS, .scopeId = 9 },
		{ .fieldId = NVML_FI_DEV_C2C_LINK_GET_MAX_BW, .scopeId = 9 },
		{ .fieldId = NVML_FI_DEV_C2C_LINK_GET_MAX_BW, .scopeId = 10 } };
	struct muster_sim_gpu *gpu = change();
	gpu->c2c_links = 10;
	gpu->c2c_mbps = 44712;
	OK(nvmlDeviceGetFieldValues(begin_changed(), 4, fields));
	ck_assert_int_eq(fields[0].nvmlReturn, NVML_SUCCESS);
	ck_assert_uint_eq(fields[0].value.uiVal, 10);
	ck_assert_uint_eq(fields[1].value.uiVal, 1);
	ck_assert_uint_eq(fields[2].value.uiVal, 44712);
	ck_assert_int_eq(fields[2].nvmlReturn, NVML_SUCCESS);
	ck_assert_int_eq(fields[3].nvmlReturn, NVML_ERROR_INVALID_ARGUMENT);
}

static const struct {
	const char *virtualization, *product;
	bool licensed;
	nvmlGpuVirtualizationMode_t mode;
} vgpus[] = {
	{ "none", "", false, NVML_GPU_VIRTUALIZATION_MODE_NONE },
	{ "passthrough", "", false, NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH },
	{ "vgpu", "NVIDIA Virtual Compute Server", true, NVML_GPU_VIRTUALIZATION_MODE_VGPU },
	{ "vgpu", "NVIDIA Virtual Compute Server", false, NVML_GPU_VIRTUALIZATION_MODE_VGPU },
};

TEST_EACH(a_vgpu_has_a_product_and_a_licence_or_not, vgpus)
{
	struct muster_sim_gpu *gpu = change();
	gpu->virtualization = vgpus[_i].virtualization;
	gpu->vgpu_product = vgpus[_i].product;
	gpu->vgpu_licensed = vgpus[_i].licensed;
	nvmlDevice_t device = begin_changed();
	nvmlGpuVirtualizationMode_t mode;
	nvmlGridLicensableFeatures_t features;
	OK(nvmlDeviceGetVirtualizationMode(device, &mode));
	ck_assert_int_eq(mode, vgpus[_i].mode);
	OK(nvmlDeviceGetGridLicensableFeatures_v4(device, &features));
	ck_assert_uint_eq(features.licensableFeaturesCount, *vgpus[_i].product ? 1 : 0);
	ck_assert_int_eq(features.isGridLicenseSupported, *vgpus[_i].product ? 1 : 0);
	ck_assert_str_eq(features.gridLicensableFeatures[0].productName, vgpus[_i].product);
	ck_assert_uint_eq(features.gridLicensableFeatures[0].featureState, vgpus[_i].licensed);
}

TEST_MAIN(.setup = start, .teardown = example_end)

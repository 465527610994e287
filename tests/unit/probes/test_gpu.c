/* test_gpu.c - a GPU's facts against a scripted NVML and CUDA driver
 *
 * The scripts below stand where src/vendor/ would open the vendor's libraries.
 */
#include "check_main.h"
#include "probe_fake.h"

#include "vendor_fakes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct muster_probe muster_probe_gpu;

#define BUS_ID "0001:00:00.0"

static struct probe_fake *context;

/* What NVML answers; the result of every call that is not scripted on its own is `result`. */
static struct {
	nvmlReturn_t result, link_result, count_result;
	unsigned int links, links_up; /* links beyond `links` are invalid arguments */
	double link_count;
	nvmlReturn_t speed_result;
	unsigned int common_mbps, link_mbps; /* link_mbps: of link 3, the others have none */
	unsigned long long throttle;
	bool mig;
	const char *instance; /* NVML's name of the rank's MIG instance; NULL: NVML lists none */
	unsigned int slices;
	nvmlGpuVirtualizationMode_t mode;
	nvmlReturn_t licence_result;
	nvmlGridLicensableFeatures_t licences;
	CUdevice_attribute no_attribute; /* CUDA refuses this one */
	int minor;
	unsigned int generation_max, lanes_max;
	unsigned int gpus, joined; /* of the node, and those of them that NVLink reaches; the first one is ours */
	nvmlReturn_t p2p_result, rows_result, pages_result;
	bool pages_pending;
} script;
static char devices[16]; /* their addresses are NVML's handles */

static nvmlReturn_t give_text(nvmlDevice_t device, char *text, unsigned int length)
{
	bool of_instance = device == (nvmlDevice_t)(void *)&devices[15];
	snprintf(text, length, "%s", of_instance ? script.instance : "a text");
	return script.result;
}

static nvmlReturn_t give_uuid(nvmlDevice_t device, char *text, unsigned int length)
{
	bool of_instance = device == (nvmlDevice_t)(void *)&devices[15];
	snprintf(text, length, "%s", of_instance ? "MIG-1" : "a text");
	return script.result;
}

/* Functions that give one number each. */
#define GIVE(name, value)                                                                                              \
	static nvmlReturn_t name(nvmlDevice_t device, unsigned int *number)                                            \
	{                                                                                                              \
		(void)device;                                                                                          \
		*number = (value);                                                                                     \
		return script.result;                                                                                  \
	}
GIVE(give_index, 16)
GIVE(give_generation, 4)
GIVE(give_generation_max, script.generation_max)
GIVE(give_width, 8)
GIVE(give_width_max, script.lanes_max)
GIVE(give_milliwatts, 55500)
GIVE(give_milliwatts_max, 700000)
#undef GIVE

static nvmlReturn_t give_count(unsigned int *count)
{
	*count = script.gpus;
	return script.result;
}

static nvmlReturn_t give_handle(unsigned int index, nvmlDevice_t *device)
{
	*device = (nvmlDevice_t)(void *)&devices[index];
	return script.result;
}

static nvmlReturn_t give_pci(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	snprintf(pci->busId, sizeof pci->busId, "%08X:00:00.0", (unsigned)((char *)device - devices + 1));
	return script.result;
}

static nvmlReturn_t give_p2p(
	nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t *status)
{
	ck_assert_ptr_eq(device, &devices[0]);
	ck_assert_int_eq(what, NVML_P2P_CAPS_INDEX_NVLINK);
	*status =
		(char *)other - devices < (ptrdiff_t)script.joined ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
	return script.p2p_result;
}

static nvmlReturn_t give_memory(nvmlDevice_t device, nvmlMemory_t *memory)
{
	(void)device;
	*memory = (nvmlMemory_t){ .total = 40960ull << 20, .free = 1, .used = 2 };
	return script.result;
}

static nvmlReturn_t give_ecc(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	(void)device;
	*current = NVML_FEATURE_ENABLED;
	*pending = NVML_FEATURE_DISABLED;
	return script.result;
}

static nvmlReturn_t give_mig(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	(void)device;
	*current = script.mig;
	*pending = !script.mig;
	return script.result;
}

static nvmlReturn_t give_most(nvmlDevice_t device, unsigned int *count)
{
	(void)device;
	*count = script.instance ? 7 : 0;
	return script.result;
}

/* The instance has the third place. */
static nvmlReturn_t give_instance(nvmlDevice_t device, unsigned int index, nvmlDevice_t *instance)
{
	(void)device;
	*instance = (nvmlDevice_t)(void *)&devices[15];
	return index == 2 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t give_attributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	ck_assert_ptr_eq(device, &devices[15]);
	*attributes = (nvmlDeviceAttributes_t){ .computeInstanceSliceCount = script.slices, .memorySizeMB = 19968 };
	return NVML_SUCCESS;
}

static nvmlReturn_t give_mode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	(void)device;
	*mode = NVML_FEATURE_ENABLED;
	return script.result;
}

static nvmlReturn_t give_link(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	(void)device;
	if (link >= script.links)
		return NVML_ERROR_INVALID_ARGUMENT;
	*active = link < script.links_up ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return script.link_result;
}

static nvmlReturn_t give_fields(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	(void)device;
	for (int i = 0; i < count; i++)
		if (values[i].fieldId == NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON) {
			values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
			values[i].value.uiVal = script.common_mbps;
			values[i].nvmlReturn = script.speed_result ? script.speed_result : script.result;
		} else if (values[i].fieldId == NVML_FI_DEV_NVLINK_GET_SPEED) {
			values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
			values[i].value.uiVal = values[i].scopeId == 3 ? script.link_mbps : 0;
			values[i].nvmlReturn = script.link_mbps ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
		} else if (values[i].fieldId == NVML_FI_DEV_NVLINK_LINK_COUNT) {
			values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
			values[i].value.ullVal = (unsigned long long)script.link_count;
			values[i].nvmlReturn = script.count_result;
		} else {
			values[i].nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
		}
	return NVML_SUCCESS;
}

static nvmlReturn_t give_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	(void)device;
	*mhz = type == NVML_CLOCK_SM ? 1410 : 1215;
	return script.result;
}

static nvmlReturn_t give_clock_max(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	nvmlReturn_t result = give_clock(device, type, mhz);
	*mhz += 1;
	return result;
}

static nvmlReturn_t refuse_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
	(void)device, (void)type, (void)mhz;
	return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t give_throttle(nvmlDevice_t device, unsigned long long *reasons)
{
	(void)device;
	*reasons = script.throttle;
	return script.result;
}

static nvmlReturn_t give_heat(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)
{
	(void)device;
	(void)sensor;
	*celsius = 31;
	return script.result;
}

static nvmlReturn_t give_errors(
	nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long *errors)
{
	(void)device;
	*errors = 100ull + 10ull * type + counter;
	return script.result;
}

static nvmlReturn_t give_rows(nvmlDevice_t device, unsigned int *correctable, unsigned int *uncorrectable,
	unsigned int *pending, unsigned int *failed)
{
	(void)device;
	*correctable = 3;
	*uncorrectable = 1;
	*pending = 1;
	*failed = 0;
	return script.rows_result ? script.rows_result : script.result;
}

static nvmlReturn_t give_pages(nvmlDevice_t device, nvmlEnableState_t *pending)
{
	(void)device;
	*pending = script.pages_pending ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return script.pages_result ? script.pages_result : script.result;
}

static nvmlReturn_t give_virtualization(nvmlDevice_t device, nvmlGpuVirtualizationMode_t *mode)
{
	(void)device;
	*mode = script.mode;
	return script.result;
}

static nvmlReturn_t give_licences(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)
{
	(void)device;
	*features = script.licences;
	return script.licence_result;
}

static CUresult give_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR  ? 9
		 : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT    ? 132
		 : attribute == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH ? 5120
									    : script.minor;
	return attribute == script.no_attribute ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static void setup(void)
{
	scripted_nvml = (struct muster_nvml){
		.nvmlDeviceGetName = give_text,
		.nvmlDeviceGetUUID = give_uuid,
		.nvmlDeviceGetVbiosVersion = give_text,
		.nvmlDeviceGetSerial = give_text,
		.nvmlDeviceGetBoardPartNumber = give_text,
		.nvmlDeviceGetRetiredPagesPendingStatus = give_pages,
		.nvmlDeviceGetIndex = give_index,
		.nvmlDeviceGetMemoryInfo = give_memory,
		.nvmlDeviceGetEccMode = give_ecc,
		.nvmlDeviceGetMigMode = give_mig,
		.nvmlDeviceGetMaxMigDeviceCount = give_most,
		.nvmlDeviceGetMigDeviceHandleByIndex = give_instance,
		.nvmlDeviceGetAttributes_v2 = give_attributes,
		.nvmlDeviceGetPersistenceMode = give_mode,
		.nvmlDeviceGetCurrPcieLinkGeneration = give_generation,
		.nvmlDeviceGetMaxPcieLinkGeneration = give_generation_max,
		.nvmlDeviceGetCurrPcieLinkWidth = give_width,
		.nvmlDeviceGetMaxPcieLinkWidth = give_width_max,
		.nvmlDeviceGetNvLinkState = give_link,
		.nvmlDeviceGetCount_v2 = give_count,
		.nvmlDeviceGetHandleByIndex_v2 = give_handle,
		.nvmlDeviceGetPciInfo_v3 = give_pci,
		.nvmlDeviceGetP2PStatus = give_p2p,
		.nvmlDeviceGetFieldValues = give_fields,
		.nvmlDeviceGetClockInfo = give_clock,
		.nvmlDeviceGetMaxClockInfo = give_clock_max,
		.nvmlDeviceGetCurrentClocksThrottleReasons = give_throttle,
		.nvmlDeviceGetTemperature = give_heat,
		.nvmlDeviceGetPowerUsage = give_milliwatts,
		.nvmlDeviceGetEnforcedPowerLimit = give_milliwatts_max,
		.nvmlDeviceGetTotalEccErrors = give_errors,
		.nvmlDeviceGetRemappedRows = give_rows,
		.nvmlDeviceGetVirtualizationMode = give_virtualization,
		.nvmlDeviceGetGridLicensableFeatures_v4 = give_licences,
		.nvmlDeviceGetApplicationsClock = give_clock,
	};
	scripted_cuda = (struct muster_cuda){ .cuDeviceGetAttribute = give_attribute };
	context = fake_new(&muster_probe_gpu);
	fake_gpu(context, BUS_ID, "GPU-1");
	context->gpu.has_nvml = true;
	context->gpu.nvml_device = (nvmlDevice_t)(void *)&devices[0];
	fake_file(context, "/sys/bus/pci/devices/" BUS_ID "/numa_node", "1\n");
	nvml_missing = cuda_missing = false;
	memset(&script, 0, sizeof script);
	script.minor = 1;
	script.generation_max = 5;
	script.lanes_max = 16;
	script.gpus = 8;
	script.joined = 8;
	script.links = script.links_up = 12;
	script.common_mbps = 25000;
	script.mode = NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH;
}

static void teardown(void)
{
	fake_free(context);
}

static void measure(void)
{
	struct muster_error err;
	ck_assert_msg(muster_probe_gpu.run(&context->ctx, &err) == 0, "%s", err.text);
	fake_complete(context, NULL);
	ck_assert_str_eq(context->steps,
		"CUDA: compute capability, multiprocessors and memory bus of GPU " BUS_ID
		"\nNVML: open\nNVML: name and memory of GPU " BUS_ID "\n"
		"NVML: ECC and MIG mode of GPU " BUS_ID "\n"
		"NVML: MIG instance of GPU " BUS_ID "\n"
		"NVML: virtualization, licence and persistence mode of GPU " BUS_ID "\nNVML: PCIe link of GPU " BUS_ID
		"\n"
		"NVML: clocks of GPU " BUS_ID "\nNVML: temperature and power of GPU " BUS_ID
		"\nNVML: ECC errors and remapped rows of GPU " BUS_ID "\n"
		/* last, so that a hang there leaves everything else */
		"NVML: NVLinks of GPU " BUS_ID "\nNVML: GPUs that GPU " BUS_ID " reaches over NVLink\n");
}

static const struct {
	const char *metric;
	double number;
} numbers[] = {
	{ "gpu.nvml_index", 16 },
	{ "gpu.cuda_index", 0 },
	{ "gpu.numa_node", 1 },
	{ "gpu.memory_mib", 40960 },
	{ "gpu.pcie_gen", 4 },
	{ "gpu.pcie_gen_max", 5 },
	{ "gpu.pcie_width", 8 },
	{ "gpu.pcie_width_max", 16 },
	{ "gpu.nvlinks", 12 },
	{ "gpu.nvlink_gbps", 25 },
	{ "gpu.nvlink_peers", 7 },
	{ "gpu.nvlink_limit_gbps", 300 },
	{ "gpu.multiprocessors", 132 },
	{ "gpu.memory_bus_bits", 5120 },
	{ "gpu.memory_limit_gbps", 1556.48 },
	{ "gpu.sm_clock_mhz", 1410 },
	{ "gpu.sm_clock_app_mhz", 1410 },
	{ "gpu.sm_clock_max_mhz", 1411 },
	{ "gpu.mem_clock_mhz", 1215 },
	{ "gpu.mem_clock_max_mhz", 1216 },
	{ "gpu.temperature_celsius", 31 },
	{ "gpu.power_watts", 55.5 },
	{ "gpu.power_limit_watts", 700 },
	{ "gpu.ecc_uncorrected_volatile", 110 },
	{ "gpu.ecc_uncorrected_aggregate", 111 },
	{ "gpu.ecc_corrected_volatile", 100 },
	{ "gpu.remapped_correctable", 3 },
	{ "gpu.remapped_uncorrectable", 1 },
};

TEST(an_instance_has_its_slices_of_the_limits)
{
	script.mig = true;
	script.instance = "NVIDIA A100-SXM4-40GB MIG 3g.20gb";
	script.slices = 3;
	snprintf(context->gpu.uuid, sizeof context->gpu.uuid, "MIG-1");
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.mig_profile", BUS_ID), "3g.20gb");
	ck_assert_double_eq(fake_number(context, "gpu.mig_memory_mib", BUS_ID), 19968);
	ck_assert_double_eq(fake_number(context, "gpu.mig_slices", BUS_ID), 3);
	/* 19,968 of 40,960 MiB are four of eight slices */
	ck_assert_double_eq_tol(fake_number(context, "gpu.memory_limit_gbps", BUS_ID), 1556.48 / 2, 1e-9);
	const struct muster_sample *pcie = fake_sample(context, "gpu.pcie_limit_gbps", BUS_ID, NULL);
	ck_assert_double_eq_tol(pcie->value.number, 63.015 * 3 / 7, 0.01);
	ck_assert_str_eq(pcie->labels[1].value.string, "PCIe 5.0 x16, 3 of 7 slices");
}

TEST_LOOP(an_instance_that_nvml_describes_wrongly_has_no_limits, 0, 3)
{
	script.mig = true;
	script.instance = _i == 0 ? "NVIDIA A100-SXM4-40GB" : "NVIDIA A100-SXM4-40GB MIG 3g.20gb";
	script.slices = _i == 0 ? 3 : 9;
	snprintf(context->gpu.uuid, sizeof context->gpu.uuid, _i == 2 ? "MIG-2" : "MIG-1");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.mig_profile", BUS_ID), "MIG instance MIG-"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.memory_limit_gbps", BUS_ID), "a part of the memory"));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.pcie_limit_gbps", BUS_ID), "a part of the PCIe link"));
}

TEST_LOOP(gpus_that_remap_no_rows_retire_pages, 0, 2)
{
	script.rows_result = NVML_ERROR_NOT_SUPPORTED;
	script.pages_pending = _i == 1;
	measure();
	ck_assert_int_eq(fake_boolean(context, "gpu.remap_pending", BUS_ID), _i == 1);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.remap_failed", BUS_ID), "nvmlDeviceGetRemappedRows"));
	fake_forget(context);
	script.pages_result = NVML_ERROR_NOT_SUPPORTED;
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.remap_pending", BUS_ID), "RetiredPagesPending"));
}

TEST(the_persistence_mode_of_a_vgpu_is_its_hosts)
{
	measure();
	ck_assert(fake_boolean(context, "gpu.persistence", BUS_ID));
	fake_forget(context);
	script.mode = NVML_GPU_VIRTUALIZATION_MODE_VGPU;
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.persistence", BUS_ID), "the GPU is a vGPU"));
}

TEST_EACH(every_number_comes_in_the_unit_of_its_metric, numbers)
{
	measure();
	ck_assert_double_eq_tol(fake_number(context, numbers[_i].metric, BUS_ID), numbers[_i].number, 1e-9);
}

/* gbps 0: null */
static const struct {
	unsigned int generation, lanes;
	double gbps;
	const char *link;
} buses[] = {
	{ 1, 16, 4, "PCIe 1.0 x16" },
	{ 2, 16, 8, "PCIe 2.0 x16" },
	{ 3, 16, 15.754, "PCIe 3.0 x16" },
	{ 4, 16, 31.508, "PCIe 4.0 x16" },
	{ 4, 8, 15.754, "PCIe 4.0 x8" },
	{ 5, 16, 63.015, "PCIe 5.0 x16" },
	{ 6, 16, 121, "PCIe 6.0 x16" },
	{ 7, 16, 0, "the speed of PCIe generation 7 with 16 lanes is not known" },
	{ 0, 16, 0, "the speed of PCIe generation 0 with 16 lanes is not known" },
	{ 5, 0, 0, "the speed of PCIe generation 5 with 0 lanes is not known" },
};

TEST_EACH(the_limit_of_pcie_is_what_is_left_after_encoding, buses)
{
	script.generation_max = buses[_i].generation;
	script.lanes_max = buses[_i].lanes;
	measure();
	const struct muster_sample *limit = fake_sample(context, "gpu.pcie_limit_gbps", BUS_ID, NULL);
	if (buses[_i].gbps <= 0) {
		ck_assert_str_eq(limit->reason, buses[_i].link);
		return;
	}
	ck_assert_double_eq_tol(limit->value.number, buses[_i].gbps, 5e-4);
	ck_assert_str_eq(muster_sample_label(limit, "link")->string, buses[_i].link);
	fake_forget(context);
	script.mig = true;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.pcie_limit_gbps", BUS_ID),
		"MIG mode is enabled: an instance has a part of the PCIe link");
}

TEST(a_link_that_is_down_lowers_the_limit_of_nvlink)
{
	script.links_up = 11;
	measure();
	const struct muster_sample *limit = fake_sample(context, "gpu.nvlink_limit_gbps", BUS_ID, NULL);
	ck_assert_double_eq_tol(limit->value.number, 275, 1e-9);
	ck_assert_str_eq(muster_sample_label(limit, "link")->string, "NVLink (11 x 25.0)");
	fake_forget(context);
	script.links_up = 0;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.nvlink_limit_gbps", BUS_ID), "no NVLink is up");
}

TEST(a_vgpu_with_a_speed_and_no_links_has_no_limit)
{
	script.links = 18;
	script.link_result = script.count_result = NVML_ERROR_NOT_SUPPORTED;
	measure();
	ck_assert_double_eq(fake_number(context, "gpu.nvlink_gbps", BUS_ID), 25);
	ck_assert_str_eq(fake_reason(context, "gpu.nvlink_limit_gbps", BUS_ID), "how many NVLinks are up is not known");
}

TEST(nvlink_reaches_some_of_the_other_gpus)
{
	script.joined = 2;
	measure();
	ck_assert_double_eq(fake_number(context, "gpu.nvlink_peers", BUS_ID), 1);
	ck_assert_str_eq(fake_string(context, "gpu.nvlink_peer_gpus", BUS_ID), "0002:00:00.0");
	fake_forget(context);
	script.joined = 3;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.nvlink_peer_gpus", BUS_ID), "0002:00:00.0 0003:00:00.0");
	fake_forget(context);
	script.joined = 1;
	measure();
	ck_assert_double_eq(fake_number(context, "gpu.nvlink_peers", BUS_ID), 0);
	ck_assert_str_eq(fake_string(context, "gpu.nvlink_peer_gpus", BUS_ID), "none");
	fake_forget(context);
	script.p2p_result = NVML_ERROR_FUNCTION_NOT_FOUND;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.nvlink_peers", BUS_ID), "GPU 1: nvmlDeviceGetP2PStatus: result 13");
	ck_assert_str_eq(
		fake_reason(context, "gpu.nvlink_peer_gpus", BUS_ID), "GPU 1: nvmlDeviceGetP2PStatus: result 13");
	fake_forget(context);
	script.gpus = 1; /* a container that shows one */
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.nvlink_peers", BUS_ID), "NVML shows only this GPU");
}

TEST(matrix_products_have_a_limit_where_operations_are_published)
{
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.matmul_bf16_limit_tflops", BUS_ID),
		"no operations per multiprocessor and clock are published for compute capability 9.1");
	fake_forget(context);
	script.minor = 0;
	measure();
	/* an H100's 132 multiprocessors x 4,096 x 1,411 MHz */
	ck_assert_double_eq_tol(fake_number(context, "gpu.matmul_bf16_limit_tflops", BUS_ID), 762.888, 1e-3);
	fake_forget(context);
	script.no_attribute = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
	measure();
	ck_assert_str_eq(
		fake_reason(context, "gpu.matmul_bf16_limit_tflops", BUS_ID), "cuDeviceGetAttribute: result 1");
	fake_forget(context);
	script.no_attribute = CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.memory_limit_gbps", BUS_ID), "cuDeviceGetAttribute: result 1");
	fake_forget(context);
	script.no_attribute = 0;
	scripted_nvml.nvmlDeviceGetMaxClockInfo = refuse_clock;
	measure();
	ck_assert_str_eq(
		fake_reason(context, "gpu.memory_limit_gbps", BUS_ID), "the highest memory clock is not known");
	ck_assert_str_eq(
		fake_reason(context, "gpu.matmul_bf16_limit_tflops", BUS_ID), "the highest SM clock is not known");
}

static nvmlReturn_t give_h20(nvmlDevice_t device, char *name, unsigned int length)
{
	(void)device;
	snprintf(name, length, "NVIDIA H20");
	return NVML_SUCCESS;
}

static nvmlReturn_t give_h200(nvmlDevice_t device, char *name, unsigned int length)
{
	(void)device;
	snprintf(name, length, "NVIDIA H200");
	return NVML_SUCCESS;
}

TEST(a_model_with_fewer_matrix_units_has_no_limit_of_them)
{
	script.minor = 0;
	scripted_nvml.nvmlDeviceGetName = give_h20;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.matmul_bf16_limit_tflops", BUS_ID),
		"this GPU has fewer matrix units than others of its compute capability");
	fake_forget(context);
	scripted_nvml.nvmlDeviceGetName = give_h200;
	measure();
	ck_assert_double_gt(fake_number(context, "gpu.matmul_bf16_limit_tflops", BUS_ID), 0);
}

TEST(a_gpu_of_which_others_have_a_part_has_no_limits)
{
	script.minor = 0;
	script.mig = true;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.memory_limit_gbps", BUS_ID),
		"MIG mode is enabled: an instance has a part of the memory");
	fake_forget(context);
	script.mig = false;
	script.mode = NVML_GPU_VIRTUALIZATION_MODE_VGPU;
	measure();
	static const char *const why = "the GPU is a vGPU, and other machines may use the same GPU";
	ck_assert_str_eq(fake_reason(context, "gpu.memory_limit_gbps", BUS_ID), why);
	ck_assert_str_eq(fake_reason(context, "gpu.matmul_bf16_limit_tflops", BUS_ID), why);
}

TEST(modes_and_texts_are_what_nvml_says)
{
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.name", BUS_ID), "a text");
	ck_assert_str_eq(fake_string(context, "gpu.compute_capability", BUS_ID), "9.1");
	ck_assert(fake_boolean(context, "gpu.ecc", BUS_ID));
	ck_assert(!fake_boolean(context, "gpu.mig", BUS_ID));
	ck_assert(fake_boolean(context, "gpu.remap_pending", BUS_ID));
	ck_assert(!fake_boolean(context, "gpu.remap_failed", BUS_ID));
	fake_forget(context);
	script.mig = true;
	measure();
	ck_assert(fake_boolean(context, "gpu.mig", BUS_ID));
}

TEST(what_nvml_refuses_is_null_with_its_reason_and_never_zero)
{
	script.result = script.link_result = script.count_result = NVML_ERROR_NOT_SUPPORTED;
	measure();
	size_t nulls = 0;
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		nulls += sample->value.type == MUSTER_NULL && strstr(sample->reason, ": result 3") != NULL;
	}
	/* all but what sysfs and the CUDA driver tell, the two limits at highest clocks, which name the clock, and
	 * three facts of a MIG instance, which name MIG mode */
	ck_assert_uint_eq(nulls, muster_probe_gpu.metric_count - 10);
}

static const struct {
	const char *what;
	unsigned int links, up;
	nvmlReturn_t link_result, count_result;
	double link_count;
	double expected; /* -1: null */
} links[] = {
	{ "all up", 12, 12, NVML_SUCCESS, NVML_SUCCESS, 12, 12 },
	{ "as many as NVML can name", 99, 99, NVML_SUCCESS, NVML_SUCCESS, 18, 18 },
	{ "one down", 12, 11, NVML_SUCCESS, NVML_SUCCESS, 12, 11 },
	{ "all down", 12, 0, NVML_SUCCESS, NVML_SUCCESS, 12, 0 },
	{ "a GPU without any", 18, 0, NVML_ERROR_NOT_SUPPORTED, NVML_SUCCESS, 0, 0 },
	{ "a GPU without any, by argument", 0, 0, NVML_SUCCESS, NVML_SUCCESS, 0, 0 },
	{ "links that do not tell", 18, 0, NVML_ERROR_NOT_SUPPORTED, NVML_SUCCESS, 12, -1 },
	{ "a vGPU that tells nothing", 18, 0, NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED, 0, -1 },
	{ "a lost GPU", 18, 0, NVML_ERROR_GPU_IS_LOST, NVML_SUCCESS, 12, -1 },
};

TEST_EACH(nvlinks_that_are_up_are_counted, links)
{
	script.links = links[_i].links;
	script.links_up = links[_i].up;
	script.link_result = links[_i].link_result;
	script.count_result = links[_i].count_result;
	script.link_count = links[_i].link_count;
	measure();
	if (links[_i].expected < 0)
		ck_assert_msg(*fake_reason(context, "gpu.nvlinks", BUS_ID), "%s", links[_i].what);
	else
		ck_assert_msg(fake_number(context, "gpu.nvlinks", BUS_ID) == links[_i].expected, "%s", links[_i].what);
	if (links[_i].expected == 0)
		ck_assert_str_eq(fake_reason(context, "gpu.nvlink_gbps", BUS_ID), "no NVLink is up");
}

static const struct {
	nvmlReturn_t common_result;
	unsigned int common_mbps, link_mbps;
	double expected; /* 0: null */
	const char *reason;
} speeds[] = {
	{ NVML_SUCCESS, 25000, 0, 25, NULL },
	{ NVML_ERROR_NOT_SUPPORTED, 0, 26562, 26.562, NULL },
	{ NVML_SUCCESS, 0, 26562, 26.562, NULL },
	{ NVML_ERROR_NOT_SUPPORTED, 0, 0, 0, "NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: result 3" },
	{ NVML_SUCCESS, 0, 0, 0, "NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON is 0" },
};

TEST_EACH(the_speed_of_nvlinks_is_common_to_all_or_asked_link_by_link, speeds)
{
	script.speed_result = speeds[_i].common_result;
	script.common_mbps = speeds[_i].common_mbps;
	script.link_mbps = speeds[_i].link_mbps;
	measure();
	if (speeds[_i].reason)
		ck_assert_str_eq(fake_reason(context, "gpu.nvlink_gbps", BUS_ID), speeds[_i].reason);
	else
		ck_assert_double_eq_tol(fake_number(context, "gpu.nvlink_gbps", BUS_ID), speeds[_i].expected, 1e-9);
}

static const struct {
	unsigned long long mask;
	const char *names;
} throttles[] = {
	{ 0, "none" },
	{ 0x1, "idle" },
	{ 0x4, "sw-power-cap" },
	{ 0x5, "idle sw-power-cap" },
	{ 0x8, "hw-slowdown" },
	{ 0x20, "sw-thermal" },
	{ 0x40, "hw-thermal" },
	{ 0x80, "hw-power-brake" },
	{ 0x113, "idle application-clocks sync-boost display-clocks" },
	{ 0xe8, "hw-slowdown sw-thermal hw-thermal hw-power-brake" },
	{ 0x8000000000000001, "idle 0x8000000000000000" },
	{ 0x200, "0x200" },
};

TEST_EACH(each_reason_for_lower_clocks_has_a_name, throttles)
{
	script.throttle = throttles[_i].mask;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.throttle_reasons", BUS_ID), throttles[_i].names);
}

static const struct {
	nvmlGpuVirtualizationMode_t mode;
	const char *name;
} modes[] = {
	{ NVML_GPU_VIRTUALIZATION_MODE_NONE, "none" },
	{ NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH, "passthrough" },
	{ NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU, "host-vgpu" },
	{ NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA, "host-vsga" },
	{ (nvmlGpuVirtualizationMode_t)5, "mode 5" },
};

TEST_EACH(what_is_no_vgpu_has_no_licence_and_says_why, modes)
{
	script.mode = modes[_i].mode;
	script.licences.licensableFeaturesCount = 1;
	script.licences.gridLicensableFeatures[0].featureEnabled = 1;
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.virtualization", BUS_ID), modes[_i].name);
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.vgpu_product", BUS_ID), modes[_i].name));
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.vgpu_licensed", BUS_ID), "not a vGPU"));
}

TEST(a_vgpu_is_licensed_by_the_feature_that_is_enabled)
{
	script.mode = NVML_GPU_VIRTUALIZATION_MODE_VGPU;
	script.licences = (nvmlGridLicensableFeatures_t){ .isGridLicenseSupported = 1,
		.licensableFeaturesCount = 2,
		.gridLicensableFeatures = { { .productName = "Not This", .featureState = 1 },
			{ .productName = "NVIDIA Virtual Compute Server", .featureEnabled = 1 } } };
	measure();
	ck_assert_str_eq(fake_string(context, "gpu.virtualization", BUS_ID), "vgpu");
	ck_assert_str_eq(fake_string(context, "gpu.vgpu_product", BUS_ID), "NVIDIA Virtual Compute Server");
	ck_assert(!fake_boolean(context, "gpu.vgpu_licensed", BUS_ID));
	fake_forget(context);
	script.licences.gridLicensableFeatures[1].featureState = 1;
	measure();
	ck_assert(fake_boolean(context, "gpu.vgpu_licensed", BUS_ID));
}

TEST(a_vgpu_whose_licence_nvml_does_not_tell_is_not_taken_for_unlicensed)
{
	script.mode = NVML_GPU_VIRTUALIZATION_MODE_VGPU;
	script.licences.licensableFeaturesCount = 99; /* more than there is room for: none of them is enabled */
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.vgpu_licensed", BUS_ID), "none of them enabled"));
	fake_forget(context);
	script.licence_result = NVML_ERROR_FUNCTION_NOT_FOUND;
	measure();
	ck_assert_str_eq(
		fake_reason(context, "gpu.vgpu_product", BUS_ID), "nvmlDeviceGetGridLicensableFeatures_v4: result 13");
	ck_assert_str_eq(fake_string(context, "gpu.virtualization", BUS_ID), "vgpu");
}

TEST_LOOP(half_a_compute_capability_is_none, 0, 3)
{
	static const struct {
		CUdevice_attribute refused;
		bool missing;
		const char *why;
	} cases[] = {
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, false, "cuDeviceGetAttribute: result 1" },
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, false, "cuDeviceGetAttribute: result 1" },
		{ CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, true, "CUDA driver: libcuda.so.1 cannot be opened" },
	};
	script.no_attribute = cases[_i].refused;
	cuda_missing = cases[_i].missing;
	measure();
	ck_assert_str_eq(fake_reason(context, "gpu.compute_capability", BUS_ID), cases[_i].why);
}

TEST(numa_node_minus_one_is_unknown_and_not_a_node)
{
	fake_file(context, "/sys/bus/pci/devices/" BUS_ID "/numa_node", "-1\n");
	measure();
	ck_assert_ptr_nonnull(strstr(fake_reason(context, "gpu.numa_node", BUS_ID), "numa_node is -1"));
}

TEST(without_nvml_the_probe_could_not_tell_and_names_the_library)
{
	struct muster_error err;
	nvml_missing = true;
	ck_assert_int_eq(muster_probe_gpu.run(&context->ctx, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_ELIB);
	ck_assert_ptr_nonnull(strstr(err.text, "libnvidia-ml.so.1"));
	ck_assert_double_eq(fake_number(context, "gpu.numa_node", BUS_ID), 1);
}

TEST(a_gpu_that_nvml_does_not_show_is_an_error)
{
	struct muster_error err;
	context->gpu.has_nvml = false;
	ck_assert_int_eq(muster_probe_gpu.run(&context->ctx, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, BUS_ID));
}

TEST_MAIN(.setup = setup, .teardown = teardown)

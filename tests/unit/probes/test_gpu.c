/* SPDX-License-Identifier: Apache-2.0 */
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
	nvmlReturn_t result, link_result, count_result, clock_result;
	unsigned int links, links_up; /* links beyond `links` are invalid arguments */
	double link_count;
	nvmlReturn_t speed_result;
	unsigned int common_mbps, link_mbps; /* link_mbps: of link 3, the others have none */
	unsigned long long throttle;
	bool mig;
	const char *name;
	const char *instance; /* NVML's name of the rank's MIG instance; NULL: NVML lists none */
	unsigned int slices;
	nvmlGpuVirtualizationMode_t mode;
	nvmlReturn_t licence_result;
	nvmlGridLicensableFeatures_t licences;
	CUdevice_attribute no_attribute; /* CUDA refuses this one */
	int major, minor;
	unsigned int generation_max, lanes_max;
	unsigned int gpus, joined; /* of the node, and those of them that NVLink reaches; the first one is ours */
	nvmlReturn_t p2p_result, rows_result, pages_result;
	bool pages_pending;
} script;
static char devices[16]; /* their addresses are NVML's handles */

static nvmlReturn_t give_text(nvmlDevice_t device, char *text, unsigned int length)
{
	bool of_instance = device == (nvmlDevice_t)(void *)&devices[15];
	snprintf(text, length, "%s", of_instance ? script.instance : script.name);
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
	return script.clock_result ? script.clock_result : result;
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
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR  ? script.major
		 : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT    ? 132
		 : attribute == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH ? 5120
									    : script.minor;
	return attribute == script.no_attribute ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

#define KNOB(field) FAKE_KNOB(#field, script.field)
#define FEATURE(field, number, name) FAKE_KNOB(name, script.licences.gridLicensableFeatures[number].field)

static const struct fake_knob knobs[] = { KNOB(result), KNOB(link_result), KNOB(count_result), KNOB(clock_result),
	KNOB(links), KNOB(links_up), KNOB(link_count), KNOB(speed_result), KNOB(common_mbps), KNOB(link_mbps),
	KNOB(throttle), KNOB(mig), KNOB(name), KNOB(instance), KNOB(slices), KNOB(mode), KNOB(licence_result),
	KNOB(no_attribute), KNOB(major), KNOB(minor), KNOB(generation_max), KNOB(lanes_max), KNOB(gpus), KNOB(joined),
	KNOB(p2p_result), KNOB(rows_result), KNOB(pages_result), KNOB(pages_pending),
	FAKE_KNOB("licences", script.licences.licensableFeaturesCount), FEATURE(featureState, 1, "licensed"),
	FEATURE(featureEnabled, 0, "other_enabled"), FEATURE(featureEnabled, 1, "enabled"),
	FAKE_KNOB("nvml_missing", nvml_missing), FAKE_KNOB("cuda_missing", cuda_missing), { .name = NULL } };

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
	context->knobs = knobs;
	context->place = BUS_ID;
	memset(&script, 0, sizeof script);
	script.licences.isGridLicenseSupported = 1;
	snprintf(script.licences.gridLicensableFeatures[0].productName, 128, "Not This");
	script.licences.gridLicensableFeatures[0].featureState = 1;
	snprintf(script.licences.gridLicensableFeatures[1].productName, 128, "NVIDIA Virtual Compute Server");
	fake_given(context,
		"nvml_missing=0 | cuda_missing=0 | major=9 | minor=1 | generation_max=5 | lanes_max=16 | gpus=8 | "
		"joined=8 | links=12 | "
		"links_up=12 | common_mbps=25000 | mode=1 | name=a text | /sys/bus/pci/devices/" BUS_ID "/numa_node=1");
}

static void teardown(void)
{
	fake_free(context);
}

#define FACT "every number comes in the unit of its metric", NULL
#define INSTANCE "mig=1 | instance=NVIDIA A100-SXM4-40GB MIG 3g.20gb | "
#define NO_INSTANCE                                                                                                    \
	"gpu.mig_profile -*MIG instance MIG-* | gpu.memory_limit_gbps -*a part of the memory* | "                      \
	"gpu.pcie_limit_gbps -*a part of the PCIe link*"
#define PART_OF_PCIE "gpu.pcie_limit_gbps -MIG mode is enabled: an instance has a part of the PCIe link"
#define BUS(generation, lanes, gbps)                                                                                   \
	{ "PCIe " generation, "generation_max=" generation " | lanes_max=" lanes,                                      \
		"gpu.pcie_limit_gbps gpu=" BUS_ID " link=PCIe~" generation ".0~x" lanes " " gbps "~5e-4" },            \
	{                                                                                                              \
		"PCIe of an instance", "generation_max=" generation " | lanes_max=" lanes " | mig=1", PART_OF_PCIE     \
	}
#define NO_BUS(generation, lanes)                                                                                      \
	{                                                                                                              \
		"no such PCIe", "generation_max=" generation " | lanes_max=" lanes,                                    \
			"gpu.pcie_limit_gbps -the speed of PCIe generation " generation " with " lanes                 \
			" lanes is not known"                                                                          \
	}
#define P2P_REFUSED "-GPU 1: nvmlDeviceGetP2PStatus: result 13"
#define OF_OTHERS "-the GPU is a vGPU, and other machines may use the same GPU"
#define LINKS(links, up, count) "links=" links " | links_up=" up " | link_count=" count
#define NO_LINKS "gpu.nvlinks 0 | gpu.nvlink_gbps -no NVLink is up"
#define THROTTLED(mask, names)                                                                                         \
	{                                                                                                              \
		"reasons for lower clocks", "throttle=" mask, "gpu.throttle_reasons '" names                           \
	}
#define NO_VGPU(mode, name)                                                                                            \
	{                                                                                                              \
		"what is no vGPU has no licence", "mode=" mode " | licences=1 | other_enabled=1",                      \
			"gpu.virtualization '" name " | gpu.vgpu_product -*" name                                      \
			"* | gpu.vgpu_licensed -*not a vGPU*"                                                          \
	}
#define VGPU "mode=2 | licences=2 | enabled=1 | "

static const struct fake_row rows[] = {
	{ FACT, "gpu.nvml_index 16" },
	{ FACT, "gpu.cuda_index 0" },
	{ FACT, "gpu.numa_node 1" },
	{ FACT, "gpu.memory_mib 40960" },
	{ FACT, "gpu.pcie_gen 4" },
	{ FACT, "gpu.pcie_gen_max 5" },
	{ FACT, "gpu.pcie_width 8" },
	{ FACT, "gpu.pcie_width_max 16" },
	{ FACT, "gpu.nvlinks 12" },
	{ FACT, "gpu.nvlink_gbps 25~1e-9" },
	{ FACT, "gpu.nvlink_peers 7" },
	{ FACT, "gpu.nvlink_limit_gbps 300~1e-9" },
	{ FACT, "gpu.multiprocessors 132" },
	{ FACT, "gpu.memory_bus_bits 5120" },
	{ FACT, "gpu.memory_limit_gbps 1556.48~1e-9" },
	{ FACT, "gpu.sm_clock_mhz 1410" },
	{ FACT, "gpu.sm_clock_app_mhz 1410" },
	{ FACT, "gpu.sm_clock_max_mhz 1411" },
	{ FACT, "gpu.sm_clock_allowed_mhz 1410" },
	{ "of a vGPU the clock is its host's", "mode=2", "gpu.sm_clock_allowed_mhz -*the GPU is a vGPU*" },
	{ "no highest clock", "clock_result=3", "gpu.sm_clock_allowed_mhz !the highest SM clock is not known" },
	{ FACT, "gpu.mem_clock_mhz 1215" },
	{ FACT, "gpu.mem_clock_max_mhz 1216" },
	{ FACT, "gpu.temperature_celsius 31" },
	{ FACT, "gpu.power_watts 55.5~1e-9" },
	{ FACT, "gpu.power_limit_watts 700~1e-9" },
	{ FACT, "gpu.ecc_uncorrected_volatile 110" },
	{ FACT, "gpu.ecc_uncorrected_aggregate 111" },
	{ FACT, "gpu.ecc_corrected_volatile 100" },
	{ FACT, "gpu.remapped_correctable 3" },
	{ FACT, "gpu.remapped_uncorrectable 1" },
	{ "modes and texts are what NVML says", NULL,
		"gpu.name 'a text | gpu.compute_capability '9.1 | gpu.ecc true | gpu.mig false | "
		"gpu.remap_pending true | gpu.remap_failed false" },
	{ "MIG mode", "mig=1", "gpu.mig true" },
	{ "NUMA node -1 is unknown and not a node", "/sys/bus/pci/devices/" BUS_ID "/numa_node=-1",
		"gpu.numa_node -*numa_node is -1*" },
	{ "half a compute capability is none: major", "no_attribute=75",
		"gpu.compute_capability -cuDeviceGetAttribute: result 1" },
	{ "half a compute capability is none: minor", "no_attribute=76",
		"gpu.compute_capability -cuDeviceGetAttribute: result 1" },
	{ "no compute capability without CUDA", "cuda_missing=1",
		"gpu.compute_capability -CUDA driver: libcuda.so.1 cannot be opened" },

	/* 19,968 of 40,960 MiB are four of eight slices */
	{ "an instance has its slices of the limits", INSTANCE "slices=3 | uuid=MIG-1",
		"gpu.mig_profile '3g.20gb | gpu.mig_memory_mib 19968 | gpu.mig_slices 3 | "
		"gpu.memory_limit_gbps 778.24~1e-9 | "
		"gpu.pcie_limit_gbps gpu=" BUS_ID " link=PCIe~5.0~x16,~3~of~7~slices 27.0064~0.01" },
	{ "an instance without a profile has no limits",
		"mig=1 | instance=NVIDIA A100-SXM4-40GB | slices=3 | uuid=MIG-1", NO_INSTANCE },
	{ "an instance with too many slices has no limits", INSTANCE "slices=9 | uuid=MIG-1", NO_INSTANCE },
	{ "an instance that NVML does not list has no limits", INSTANCE "slices=9 | uuid=MIG-2", NO_INSTANCE },
	{ "GPUs that remap no rows retire pages: none pending", "rows_result=3",
		"gpu.remap_pending false | gpu.remap_failed -*nvmlDeviceGetRemappedRows*" },
	{ "GPUs that remap no rows retire pages: pending", "rows_result=3 | pages_pending=1",
		"gpu.remap_pending true | gpu.remap_failed -*nvmlDeviceGetRemappedRows*" },
	{ "neither rows nor pages", "rows_result=3 | pages_result=3", "gpu.remap_pending -*RetiredPagesPending*" },
	{ "the persistence mode", NULL, "gpu.persistence true" },
	{ "the persistence mode of a vGPU is its host's", "mode=2", "gpu.persistence -*the GPU is a vGPU*" },

	BUS("1", "16", "4"),
	BUS("2", "16", "8"),
	BUS("3", "16", "15.754"),
	BUS("4", "16", "31.508"),
	BUS("4", "8", "15.754"),
	BUS("5", "16", "63.015"),
	BUS("6", "16", "121"),
	NO_BUS("7", "16"),
	NO_BUS("0", "16"),
	NO_BUS("5", "0"),

	{ "a link that is down lowers the limit of NVLink", "links_up=11",
		"gpu.nvlink_limit_gbps gpu=" BUS_ID " link=NVLink~(11~x~25.0) 275~1e-9" },
	{ "without links there is no limit", "links_up=0", "gpu.nvlink_limit_gbps -no NVLink is up" },
	{ "a vGPU with a speed and no links has no limit", "links=18 | link_result=3 | count_result=3",
		"gpu.nvlink_gbps 25 | gpu.nvlink_limit_gbps -how many NVLinks are up is not known" },
	{ "NVLink reaches one other GPU", "joined=2", "gpu.nvlink_peers 1 | gpu.nvlink_peer_gpus '0002:00:00.0" },
	{ "NVLink reaches two other GPUs", "joined=3", "gpu.nvlink_peer_gpus '0002:00:00.0 0003:00:00.0" },
	{ "NVLink reaches no other GPU", "joined=1", "gpu.nvlink_peers 0 | gpu.nvlink_peer_gpus 'none" },
	{ "NVML does not tell", "joined=1 | p2p_result=13",
		"gpu.nvlink_peers " P2P_REFUSED " | gpu.nvlink_peer_gpus " P2P_REFUSED },
	{ "a container that shows one", "joined=1 | p2p_result=13 | gpus=1",
		"gpu.nvlink_peers -NVML shows only this GPU" },

	{ "no operations are published for 9.1", NULL,
		"gpu.matmul_bf16_limit_tflops -no operations per multiprocessor and clock are published for compute "
		"capability 9.1" },
	{ "an H100's 132 multiprocessors x 4,096 x 1,411 MHz", "minor=0", "gpu.matmul_bf16_limit_tflops 762.888~1e-3" },
	{ "Blackwell has twice as many operations", "major=10 | minor=0",
		"gpu.matmul_bf16_limit_tflops 1525.776~1e-3" },
	{ "and so has Blackwell Ultra", "major=10 | minor=3", "gpu.matmul_bf16_limit_tflops 1525.776~1e-3" },
	{ "no number of multiprocessors", "minor=0 | no_attribute=16",
		"gpu.matmul_bf16_limit_tflops !cuDeviceGetAttribute: result 1" },
	{ "no width of the memory's bus", "minor=0 | no_attribute=37",
		"gpu.memory_limit_gbps -cuDeviceGetAttribute: result 1" },
	{ "no clocks", "minor=0 | clock_result=3",
		"gpu.memory_limit_gbps -the highest memory clock is not known | "
		"gpu.matmul_bf16_limit_tflops -the highest SM clock is not known" },
	{ "a model with fewer matrix units has no limit of them", "minor=0 | name=NVIDIA H20",
		"gpu.matmul_bf16_limit_tflops -this GPU has fewer matrix units than others of its compute "
		"capability" },
	{ "a model with a longer name has", "minor=0 | name=NVIDIA H200", "gpu.matmul_bf16_limit_tflops >0" },
	{ "an instance has a part of the memory", "minor=0 | mig=1",
		"gpu.memory_limit_gbps -MIG mode is enabled: an instance has a part of the memory" },
	{ "of a vGPU others have a part", "minor=0 | mode=2",
		"gpu.memory_limit_gbps " OF_OTHERS " | gpu.matmul_bf16_limit_tflops " OF_OTHERS },

	{ "all NVLinks up", LINKS("12", "12", "12"), "gpu.nvlinks 12" },
	{ "as many as NVML can name", LINKS("99", "99", "18"), "gpu.nvlinks 18" },
	{ "one down", LINKS("12", "11", "12"), "gpu.nvlinks 11" },
	{ "all down", LINKS("12", "0", "12"), NO_LINKS },
	{ "a GPU without any", LINKS("18", "0", "0") " | link_result=3", NO_LINKS },
	{ "a GPU without any, by argument", LINKS("0", "0", "0"), NO_LINKS },
	{ "links that do not tell", LINKS("18", "0", "12") " | link_result=3", "gpu.nvlinks -?*" },
	{ "a vGPU that tells nothing", LINKS("18", "0", "0") " | link_result=3 | count_result=3", "gpu.nvlinks -?*" },
	{ "a lost GPU", LINKS("18", "0", "12") " | link_result=15", "gpu.nvlinks -?*" },
	{ "the speed of NVLinks is common to all", "common_mbps=25000", "gpu.nvlink_gbps 25~1e-9" },
	{ "or asked link by link", "speed_result=3 | common_mbps=0 | link_mbps=26562", "gpu.nvlink_gbps 26.562~1e-9" },
	{ "a common speed of 0 is none", "common_mbps=0 | link_mbps=26562", "gpu.nvlink_gbps 26.562~1e-9" },
	{ "no speed", "speed_result=3 | common_mbps=0",
		"gpu.nvlink_gbps -NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: result 3" },
	{ "a speed of 0", "common_mbps=0", "gpu.nvlink_gbps -NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON is 0" },

	THROTTLED("0", "none"),
	THROTTLED("0x1", "idle"),
	THROTTLED("0x4", "sw-power-cap"),
	THROTTLED("0x5", "idle sw-power-cap"),
	THROTTLED("0x8", "hw-slowdown"),
	THROTTLED("0x20", "sw-thermal"),
	THROTTLED("0x40", "hw-thermal"),
	THROTTLED("0x80", "hw-power-brake"),
	THROTTLED("0x113", "idle application-clocks sync-boost display-clocks"),
	THROTTLED("0xe8", "hw-slowdown sw-thermal hw-thermal hw-power-brake"),
	THROTTLED("0x8000000000000001", "idle 0x8000000000000000"),
	THROTTLED("0x200", "0x200"),

	NO_VGPU("0", "none"),
	NO_VGPU("1", "passthrough"),
	NO_VGPU("3", "host-vgpu"),
	NO_VGPU("4", "host-vsga"),
	NO_VGPU("5", "mode 5"),
	{ "a vGPU's product is the feature that is enabled", VGPU,
		"gpu.virtualization 'vgpu | gpu.vgpu_product 'NVIDIA Virtual Compute Server | gpu.vgpu_licensed "
		"false" },
	{ "a vGPU with a licence", VGPU "licensed=1", "gpu.vgpu_licensed true" },
	/* more features than there is room for */
	{ "a vGPU without an enabled feature is not taken for unlicensed", "mode=2 | licences=99",
		"gpu.vgpu_licensed -*none of them enabled*" },
	{ "a vGPU whose licence NVML does not tell", "mode=2 | licence_result=13",
		"gpu.vgpu_product -nvmlDeviceGetGridLicensableFeatures_v4: result 13 | gpu.virtualization 'vgpu" },
};

static void play(const struct fake_row *row)
{
	fake_case(context, row);
	fake_complete(context, NULL);
	fake_expect(context,
		"steps 'CUDA: compute capability, multiprocessors and memory bus of GPU " BUS_ID "; NVML: open; "
		"NVML: name and memory of GPU " BUS_ID "; NVML: ECC and MIG mode of GPU " BUS_ID "; "
		"NVML: MIG instance of GPU " BUS_ID "; "
		"NVML: virtualization, licence and persistence mode of GPU " BUS_ID "; NVML: PCIe link of GPU " BUS_ID
		"; NVML: clocks of GPU " BUS_ID "; NVML: temperature and power of GPU " BUS_ID "; "
		"NVML: ECC errors and remapped rows of GPU " BUS_ID "; "
		/* last, so that a hang there leaves everything else */
		"NVML: NVLinks of GPU " BUS_ID "; NVML: GPUs that GPU " BUS_ID " reaches over NVLink",
		row->name);
}

TEST_EACH(facts_of_a_gpu_are_what_its_driver_says, rows)
{
	play(&rows[_i]);
}

TEST(what_nvml_refuses_is_null_with_its_reason_and_never_zero)
{
	play(&(struct fake_row){ "nothing", "result=3 | link_result=3 | count_result=3", "" });
	size_t nulls = 0;
	for (size_t i = 0; i < context->samples.count; i++) {
		const struct muster_sample *sample = &context->samples.items[i];
		nulls += sample->value.type == MUSTER_NULL && strstr(sample->reason, ": result 3") != NULL;
	}
	/* all but what sysfs and the CUDA driver tell, two limits and what settings allow, which name the highest
	 * clock, and three facts of a MIG instance, which name MIG mode */
	ck_assert_uint_eq(nulls, muster_probe_gpu.metric_count - 11);
}

TEST(without_nvml_the_probe_could_not_tell_and_names_the_library)
{
	fake_case(context,
		&(struct fake_row){ "no NVML", "nvml_missing=1", "error '*libnvidia-ml.so.1* | gpu.numa_node 1" });
	ck_assert_int_eq(context->error.code, MUSTER_ELIB);
}

TEST(a_gpu_that_nvml_does_not_show_is_an_error)
{
	fake_case(context, &(struct fake_row){ "not in NVML", "has_nvml=0", "error '*" BUS_ID "*" });
}

TEST_MAIN(.setup = setup, .teardown = teardown)

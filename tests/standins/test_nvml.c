/* test_nvml.c - libnvidia-ml.so.1's stand-in does what NVML's documentation says
 */
#include "standins/example.h"

#include "bind/nvml_abi.h"

#include <check.h>
#include <string.h>

static struct {
#define X(symbol, parameters) nvmlReturn_t(*symbol) parameters;
	MUSTER_NVML_FUNCTIONS(X)
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

START_TEST(nothing_works_unless_initialised)
{
	unsigned int count;
	char text[96];
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlSystemGetDriverVersion(text, sizeof text));
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
	OK(nvmlInit_v2());
	OK(nvmlInit_v2());
	OK(nvmlShutdown());
	OK(nvmlDeviceGetCount_v2(&count));
	ck_assert_uint_eq(count, EXAMPLE_GPUS);
	OK(nvmlShutdown());
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
	ck_assert_str_eq(nvml.nvmlErrorString(NVML_ERROR_NOT_FOUND), "A query to find an object was unsuccessful");
}
END_TEST

START_TEST(texts_need_room_for_all_of_them)
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
END_TEST

START_TEST(devices_are_found_by_index_and_by_any_spelling_of_the_bus_id)
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
END_TEST

START_TEST(numbers_are_the_scenarios_in_nvmls_units)
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
END_TEST

START_TEST(each_kind_of_ecc_error_has_its_count)
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
END_TEST

START_TEST(nvlinks_are_up_down_or_not_there)
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
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_nvml");
	TCase *tests = tcase_create("nvml");
	tcase_add_checked_fixture(tests, start, example_end);
	tcase_add_test(tests, nothing_works_unless_initialised);
	tcase_add_test(tests, texts_need_room_for_all_of_them);
	tcase_add_test(tests, devices_are_found_by_index_and_by_any_spelling_of_the_bus_id);
	tcase_add_test(tests, numbers_are_the_scenarios_in_nvmls_units);
	tcase_add_test(tests, each_kind_of_ecc_error_has_its_count);
	tcase_add_test(tests, nvlinks_are_up_down_or_not_there);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
